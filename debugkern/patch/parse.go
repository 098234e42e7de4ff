package patch

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Parse reads a unified diff of existing texts, as diff -u and git diff write it; name is the diff's file in
// messages. Before the first text there may be comments of any kind; after that a line that belongs to no
// hunk is an error, as is every hunk whose lines are not those that it counts. Errors are *Error.
func Parse(name string, text []byte) (*Patch, error) {
	p := &parser{patch: &Patch{Name: name}, lines: strings.SplitAfter(string(text), "\n")}
	if n := len(p.lines); p.lines[n-1] == "" {
		p.lines = p.lines[:n-1]
	}
	for p.at < len(p.lines) {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if len(p.patch.Files) == 0 {
		return nil, &Error{
			File: name, Msg: "no unified diff in it; expected a line that begins with --- and one with +++",
		}
	}
	return p.patch, p.complete()
}

type parser struct {
	patch *Patch
	lines []string
	at    int // index of the line that is read next
}

func (p *parser) fail(line int, format string, args ...any) error {
	return &Error{p.patch.Name, line, fmt.Sprintf(format, args...)}
}

// bare is the line at an index without its end; "" past the last.
func (p *parser) bare(i int) string {
	if i >= len(p.lines) {
		return ""
	}
	return strings.TrimRight(p.lines[i], "\r\n")
}

// gitHeader are the lines that git writes before a text's --- line.
var gitHeader = regexp.MustCompile(`^(diff --git |index [0-9a-f]+\.\.[0-9a-f]+)`)

// next reads one text's header, a hunk, or a line between them.
func (p *parser) next() error {
	line := p.bare(p.at)
	switch {
	case strings.HasPrefix(line, "--- ") && strings.HasPrefix(p.bare(p.at+1), "+++ "):
		return p.file()
	case strings.HasPrefix(line, "@@ "):
		return p.hunk()
	case len(p.patch.Files) == 0 || gitHeader.MatchString(line):
		p.at++
		return nil
	}
	return p.fail(p.at+1, "%q belongs to no hunk: the hunk before it has as many lines as it counts",
		clip(line))
}

// complete reports a text without hunks.
func (p *parser) complete() error {
	for _, f := range p.patch.Files {
		if len(f.Hunks) == 0 {
			return p.fail(0, "no hunk for %s", f.Name)
		}
	}
	return nil
}

// file reads the two lines that name a text.
func (p *parser) file() error {
	at := p.at + 1
	from, to := textName(p.bare(p.at)), textName(p.bare(p.at+1))
	p.at += 2
	switch {
	case from == "/dev/null" || to == "/dev/null":
		return p.fail(at, "a patch that adds or removes a file; expected one that changes a file")
	case from != to:
		return p.fail(at, "a patch that renames %q to %q; expected one name", clip(from), clip(to))
	case !local(to):
		return p.fail(at+1, "%q is not the name of a file in the source's folder or below it", clip(to))
	}
	for _, f := range p.patch.Files {
		if f.Name == to {
			return p.fail(at, "%s comes twice; put its hunks together", to)
		}
	}
	p.patch.Files = append(p.patch.Files, File{Name: to})
	return nil
}

// textName takes the name from a --- or +++ line, without a time stamp and the a/ or b/ in front.
func textName(line string) string {
	name, _, _ := strings.Cut(line[4:], "\t")
	if len(name) > 2 && (name[:2] == "a/" || name[:2] == "b/") {
		name = name[2:]
	}
	return name
}

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// noNewline marks the line above as one that ends without a line feed.
const noNewline = `\ `

// hunk reads a hunk's header and as many lines as it counts.
func (p *parser) hunk() error {
	at := p.at + 1
	m := hunkHeader.FindStringSubmatch(p.bare(p.at))
	if m == nil {
		return p.fail(at, "%q is not the header of a hunk; expected @@ -LINE,COUNT +LINE,COUNT @@",
			clip(p.bare(p.at)))
	}
	var n [4]int
	for i, text := range m[1:] {
		if n[i] = 1; text == "" { // a count that is left out
			continue
		}
		v, err := strconv.Atoi(text)
		if err != nil || v > math.MaxInt32 {
			return p.fail(at, "%s is out of range", clip(text))
		}
		n[i] = v
	}
	if len(p.patch.Files) == 0 {
		return p.fail(at, "a hunk before the lines --- and +++ that name its file")
	}
	f := &p.patch.Files[len(p.patch.Files)-1]
	h := Hunk{Line: at, Start: n[0]}
	p.at++
	if err := p.edits(&h, n[1], n[3]); err != nil {
		return err
	}
	switch {
	case n[1] == 0:
		return p.fail(at, "a hunk without any line of the old text: where it belongs cannot be checked")
	case n[0] == 0:
		return p.fail(at, "lines are counted from 1")
	}
	if k := len(f.Hunks); k > 0 && h.Start < f.Hunks[k-1].Start+len(f.Hunks[k-1].old()) {
		return p.fail(at, "hunk %d overlaps hunk %d, or comes before it", k+1, k)
	}
	f.Hunks = append(f.Hunks, h)
	return nil
}

// edits reads a hunk's lines until it has as many old and new ones as counted.
func (p *parser) edits(h *Hunk, olds, news int) error {
	for olds > 0 || news > 0 {
		if p.at >= len(p.lines) {
			return p.fail(p.at, "the file ends within the hunk of line %d", h.Line)
		}
		line := p.lines[p.at]
		op := line[0]
		if line == "\n" || line == "\r\n" { // an empty line that lost its blank on the way
			op, line = ' ', " "+line
		}
		switch op {
		case ' ':
			olds, news = olds-1, news-1
		case '-':
			olds--
		case '+':
			news--
		default:
			return p.fail(p.at+1, "a line of a hunk begins with a blank, - or +; found %q",
				clip(p.bare(p.at)))
		}
		if olds < 0 || news < 0 {
			return p.fail(p.at+1, "the hunk of line %d has other lines than it counts", h.Line)
		}
		p.at++
		h.Edits = append(h.Edits, Edit{op, line[1:], p.at})
		if strings.HasPrefix(p.bare(p.at), noNewline) {
			last := &h.Edits[len(h.Edits)-1]
			last.Text = strings.TrimSuffix(last.Text, "\n")
			p.at++
		}
	}
	return nil
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
