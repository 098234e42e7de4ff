package gates

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/file"
	"tilescope/debugkern/text"
)

// fill sets every string within v, however deep, to x.
func fill(v reflect.Value, x string, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(x)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), x, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), x, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), x, depth+1)
		}
	}
}

// TestHostileTextInTheArtefacts: with one hostile text everywhere in a document, COMPARE.md keeps its tables,
// has no markup and nothing hidden, and the JSON artefacts have nothing hidden and decode to the same text.
func TestHostileTextInTheArtefacts(t *testing.T) {
	for _, evil := range []string{
		"a|b", "<script>alert(1)</script>", "&lt;", "x\n\n# head\n| a | b |", "`code`",
		"[a](https://example.org)", "*b* _c_", "\x1b]52;c;ZXZpbA==\x07", "\u009b31m", "\u202egnp.exe",
		"a\u200bb", "a\rb", "\\|", "\\",
	} {
		var d Doc
		fill(reflect.ValueOf(&d).Elem(), evil, 0)
		dir := t.TempDir()
		if err := d.write(file.New(), dir); err != nil {
			t.Fatal(err)
		}
		md, err := os.ReadFile(filepath.Join(dir, CompareFile))
		if err != nil {
			t.Fatal(err)
		}
		shown(t, evil, string(md))
		// nothing in a code span means anything
		inline := strings.ReplaceAll(string(md), text.MarkdownCode(evil+" "+evil), "")
		if strings.Contains(inline, "<script") ||
			strings.Contains(strings.ReplaceAll(inline, `\](`, ""), "](") {
			t.Errorf("%q is markup in\n%s", evil, md)
		}
		columns := 0
		for line := range strings.Lines(string(md)) {
			n := bars(line)
			if strings.HasPrefix(line, "# ") && line != "# Gates: "+text.Markdown(evil)+"\n" {
				t.Errorf("%q makes the heading %q", evil, line)
			}
			if strings.HasPrefix(line, "|") && columns > 0 && n != columns {
				t.Errorf("%q makes %d bars of %d in %q", evil, n, columns, line)
			}
			columns = n
		}
		b, err := os.ReadFile(filepath.Join(dir, PerfFile))
		if err != nil {
			t.Fatal(err)
		}
		shown(t, evil, string(b))
		var back PerfBaseline
		if err := json.Unmarshal(b, &back); err != nil || back.Targets[0].Target != evil ||
			back.Targets[0].Performance.Reason != evil {
			t.Errorf("%q became %q, %v", evil, back.Targets[0].Target, err)
		}
	}
}

// bars counts the column separators of a table's row: bars that no backslash makes text.
func bars(line string) int {
	n := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			n++
		}
	}
	return n
}

func shown(t *testing.T, evil, s string) {
	t.Helper()
	if i := strings.IndexFunc(s, func(r rune) bool { return text.Hidden(r) && r != '\n' }); i >= 0 {
		t.Errorf("%q: hidden characters at %.20q", evil, s[i:])
	}
}
