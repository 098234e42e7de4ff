package fragment

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
)

// lutName is the table that a header must define.
const lutName = "WMMA_ACCUM_LUT"

var (
	// lutComment finds comments, and the quoted text in which none begins. The last comment may lack its end.
	lutComment = regexp.MustCompile(`(?s)"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|//[^\n]*|/\*.*?(?:\*/|\z)`)
	lutShape   = `\s*\[\s*32\s*\]\s*\[\s*8\s*\]\s*\[\s*2\s*\][^={;]*=\s*`
	lutToken   = regexp.MustCompile(`^\s*([{},]|[-+]?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)`)
	lutSuffix  = regexp.MustCompile(`[uUlL]+$`)
)

// parseLut reads the initialiser of name[32][8][2] out of a C or C++ header: 32 lanes of 8 pairs, all of
// them. lines are those of the text, from 1, where the pairs begin.
func parseLut(text, name string) (lanes [][]report.Cell16, lines [][]int, err error) {
	whole := text
	text, err = withoutComments(text)
	if err != nil && strings.Contains(whole, name) {
		return nil, nil, err
	}
	at := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + lutShape).FindStringIndex(text)
	if at == nil {
		return nil, nil, fmt.Errorf(
			"no initialised %s[32][8][2] in it%s; `tilescope lut --header` prints one that is right", name,
			otherTable(text, name))
	}
	p := &lutParser{text: text[at[1]:]}
	p.next()
	err = p.braced(func() error {
		var elems []report.Cell16
		var at []int
		if err := p.braced(func() error {
			at = append(at, 1+strings.Count(text[:len(text)-len(p.text)], "\n"))
			c, err := p.pair()
			elems = append(elems, c)
			return err
		}); err != nil {
			return fmt.Errorf("%s[%d]: %w", name, len(lanes), err)
		}
		if len(elems) != tableElements {
			return fmt.Errorf("%s[%d] has %d pairs, expected %d", name, len(lanes), len(elems), tableElements)
		}
		lanes, lines = append(lanes, elems), append(lines, at)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("line %d: %w", 1+strings.Count(text[:len(text)-len(p.text)], "\n"), err)
	} else if len(lanes) != tableLanes {
		err = fmt.Errorf("%s has %d lanes, expected %d", name, len(lanes), tableLanes)
	}
	return lanes, lines, err
}

// otherTable says what a header without comments has under the table's name in its place; "" for nothing.
func otherTable(text, name string) string {
	at := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b((?:\s*\[[^\]]*\])*)\s*([={]?)`).
		FindStringSubmatchIndex(text)
	if at == nil {
		return ""
	}
	line := 1 + strings.Count(text[:at[0]], "\n")
	what := name + strings.Join(strings.Fields(text[at[2]:at[3]]), "")
	if at[4] == at[5] {
		what += " without values"
	}
	return fmt.Sprintf(": line %d has %s", line, what)
}

// withoutComments puts a blank in the place of each comment, and as many line ends as it has. One that is not
// closed is an error: a compiler sees nothing after it.
func withoutComments(text string) (string, error) {
	var err error
	var out strings.Builder
	at := 0
	for _, m := range lutComment.FindAllStringIndex(text, -1) {
		comment := text[m[0]:m[1]]
		if comment[0] != '/' {
			continue
		}
		if strings.HasPrefix(comment, "/*") && (len(comment) < 4 || !strings.HasSuffix(comment, "*/")) {
			err = fmt.Errorf("line %d: a comment that is not closed", 1+strings.Count(text[:m[0]], "\n"))
		}
		out.WriteString(text[at:m[0]] + " " + strings.Repeat("\n", strings.Count(comment, "\n")))
		at = m[1]
	}
	return out.String() + text[at:], err
}

// lutParser reads nested braces of integers; tok is the token in hand, "" past the last one that can be read.
type lutParser struct{ text, tok string }

func (p *lutParser) next() {
	m := lutToken.FindStringSubmatch(p.text)
	if p.tok = ""; m != nil {
		p.tok, p.text = m[1], p.text[len(m[0]):]
	}
}

// found names the token in hand, or what stands where none can be read.
func (p *lutParser) found() string {
	rest := strings.Fields(p.text)
	switch {
	case p.tok != "":
		return strconv.Quote(p.tok)
	case len(rest) == 0:
		return "the end of the file"
	}
	return fmt.Sprintf("%.20q", rest[0])
}

// braced reads {item, item, …}, a last comma allowed.
func (p *lutParser) braced(item func() error) error {
	if p.tok != "{" {
		return fmt.Errorf("expected {, found %s", p.found())
	}
	p.next()
	for p.tok != "}" {
		if err := item(); err != nil {
			return err
		}
		switch p.tok {
		case ",":
			p.next()
		case "}":
		default:
			return fmt.Errorf("expected , or }, found %s", p.found())
		}
	}
	p.next()
	return nil
}

func (p *lutParser) pair() (report.Cell16, error) {
	var c []int
	err := p.braced(func() error {
		v, err := strconv.ParseInt(lutSuffix.ReplaceAllString(p.tok, ""), 0, 32)
		if err != nil {
			return fmt.Errorf("expected an integer, found %s", p.found())
		}
		c = append(c, int(v))
		p.next()
		return nil
	})
	if err == nil && len(c) != 2 {
		err = errors.New("expected a pair {row, column}")
	}
	if err != nil {
		return report.Cell16{}, err
	}
	return report.Cell16(c), nil
}
