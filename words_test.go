package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unclear are phrases that a reader has to decode, each with a plainer one. What users are shown has none of
// them. The list grows by what readers stumble over.
var unclear = map[string]string{
	`at most 0 ulp`:                        "max error 0.00097 (0 ulp)",
	`of them no numbers`:                   "512 NaN",
	`built by none`:                        "PTX given",
	`beside`:                               "next to, compared with",
	`besides`:                              "in addition to",
	`told`:                                 "reported, printed",
	`held`:                                 "stored, compared with",
	`nobody`:                               "never, no thread",
	`at hand`:                              "available",
	`under way`:                            "running, pending",
	`for want of`:                          "without",
	`in front of`:                          "before",
	`feeds? [^.;:]*in|fed in`:              "injects, injected",
	`puts? [a-z ]*right`:                   "fixes, fixed",
	`comes? in (here|there)`:               "enters here",
	`(came|comes?) to (no|the|it|an?|its)`: "reaches",
	`means nothing|has no meaning`:         "is not bound, is not allowed",
	`gives? way`:                           "is replaced",
	`asked for`:                            "requested, required",
	`any more`:                             "no longer",
	`exclude each other`:                   "cannot be combined",
	`is taken once`:                        "is captured once",
	`stands? (below|next to|there|as)`:     "is listed below",
	`(goes|leads) there`:                   "opens that place",
	`what (it|they) (says?|is|are) for`:    "its purpose",
	`does not come`:                        "does not arrive",
}

// TestWords looks for unclear phrases in the strings of the program: messages, labels, help.
func TestWords(t *testing.T) {
	type rule struct {
		re     *regexp.Regexp
		better string
	}
	var rules []rule
	for phrase, better := range unclear {
		rules = append(rules, rule{regexp.MustCompile(`(?i)\b(` + phrase + `)\b`), better})
	}
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() &&
			(name == "testdata" || name == "tuitest" || strings.HasPrefix(name, ".") && name != ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(l.Value)
			if err != nil || !strings.Contains(text, " ") {
				return true
			}
			seen++
			for _, r := range rules {
				if found := r.re.FindString(text); found != "" {
					t.Errorf("%s: %q in %q; write: %s", files.Position(l.Pos()), found, text, r.better)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 2000 {
		t.Errorf("only %d texts were read", seen)
	}
}
