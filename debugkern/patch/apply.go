package patch

import (
	"fmt"
	"slices"
	"strings"
)

// Apply applies patches, in order, to the texts that read returns, and returns the texts that they change, by
// name. Each patch is written against the unpatched texts: where its lines are no longer at the number that
// it states they are found elsewhere, if they stand in exactly one place; a line that an earlier patch has
// changed is a conflict. Errors are *Error, or read's.
func Apply(read func(name string) (string, error), patches ...*Patch) (map[string]string, error) {
	all, err := ApplyMarked(read, patches...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(all))
	for name, x := range all {
		out[name] = x.Text
	}
	return out, nil
}

// Marked is a text that patches have changed, and where.
type Marked struct {
	Text string
	// Lines are the numbers, from 1, of the lines that were added, and of those before which lines were
	// removed and none was added.
	Lines []int
}

// ApplyMarked applies patches as Apply does, and reports which lines of the texts they have changed.
func ApplyMarked(read func(name string) (string, error), patches ...*Patch) (map[string]Marked, error) {
	texts := map[string]*sheet{}
	for _, p := range patches {
		for _, f := range p.Files {
			s := texts[f.Name]
			if s == nil {
				text, err := read(f.Name)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", p.Name, f.Name, err)
				}
				s = newSheet(f.Name, text)
				texts[f.Name] = s
			}
			if err := s.apply(p, f); err != nil {
				return nil, err
			}
		}
	}
	out := make(map[string]Marked, len(texts))
	for name, s := range texts {
		out[name] = Marked{s.String(), s.marked()}
	}
	return out, nil
}

// sheet is a text while patches are applied to it.
type sheet struct {
	name     string
	original []string
	lines    []sheetLine
	removed  map[int]*Patch // by number in the original: who removed that line
}

// sheetLine is one line: of the original (number from 1), or added by a patch.
type sheetLine struct {
	text   string
	number int    // 0 for a line that was added
	by     *Patch // who added it
}

func newSheet(name, text string) *sheet {
	s := &sheet{name: name, original: split(text), removed: map[int]*Patch{}}
	for i, line := range s.original {
		s.lines = append(s.lines, sheetLine{text: line, number: i + 1})
	}
	return s
}

// split cuts a text into lines with their ends.
func split(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	return slices.DeleteFunc(lines, func(l string) bool { return l == "" })
}

func (s *sheet) String() string {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(l.text)
	}
	return b.String()
}

// marked lists the changed lines, by their number in the text as it is now.
func (s *sheet) marked() (out []int) {
	next := 1 // number in the original of the line that would follow
	for i, l := range s.lines {
		switch {
		case l.number == 0:
			out = append(out, i+1)
		case l.number != next && (i == 0 || s.lines[i-1].number != 0):
			out = append(out, i+1)
			next = l.number + 1
		default:
			next = l.number + 1
		}
	}
	return out
}

// apply applies one patch's hunks.
func (s *sheet) apply(p *Patch, f File) error {
	free := 1 // first line of the original that no hunk of this patch has taken
	for i := range f.Hunks {
		h := &f.Hunks[i]
		start, err := s.place(p, i, h, free)
		if err != nil {
			return err
		}
		if err := s.replace(p, i, h, start); err != nil {
			return err
		}
		free = start + len(h.old())
	}
	for _, l := range s.lines[:max(0, len(s.lines)-1)] {
		if !strings.HasSuffix(l.text, "\n") {
			return &Error{File: p.Name, Msg: fmt.Sprintf("%s would go on behind %s", s.name, quote(l.text))}
		}
	}
	return nil
}

// place finds the lines of a hunk in the original: at the line that it states or, where they are not there,
// at the only line from free on that has them. It returns the number of the first.
func (s *sheet) place(p *Patch, i int, h *Hunk, free int) (int, error) {
	old := h.old()
	at := func(line int) bool {
		return line >= free && line-1+len(old) <= len(s.original) &&
			slices.Equal(s.original[line-1:line-1+len(old)], old)
	}
	if at(h.Start) {
		return h.Start, nil
	}
	var found []int
	for line := free; line-1+len(old) <= len(s.original); line++ {
		if at(line) {
			found = append(found, line)
		}
	}
	switch len(found) {
	case 0:
		line, why := s.mismatch(h)
		return 0, &Error{p.Name, line, fmt.Sprintf("hunk %d does not apply to %s: %s", i+1, s.name, why)}
	case 1:
		return found[0], nil
	}
	return 0, &Error{
		p.Name, h.Line,
		fmt.Sprintf(
			"hunk %d is not at line %d of %s, and its lines stand at %d places (lines %d and %d): give it "+
				"more lines around the change", i+1, h.Start, s.name, len(found), found[0], found[1]),
	}
}

// mismatch says which line of a hunk is the first that the original has not at the stated place: its line in
// the diff, and what stands there.
func (s *sheet) mismatch(h *Hunk) (line int, why string) {
	number := h.Start
	for _, e := range h.Edits {
		if e.Op == '+' {
			continue
		}
		if number > len(s.original) {
			return e.Line, fmt.Sprintf("it has %d lines, and the hunk expects %s at line %d", len(s.original),
				quote(e.Text), number)
		}
		if have := s.original[number-1]; have != e.Text {
			return e.Line, fmt.Sprintf("line %d is %s, and the hunk expects %s", number, quote(have),
				quote(e.Text))
		}
		number++
	}
	return h.Line, "its lines are not there" // at the stated place they are, but another hunk has taken them
}

// quote shows a line, and how it ends where that is not a line feed.
func quote(line string) string {
	text := strings.TrimSuffix(line, "\n")
	switch {
	case strings.HasSuffix(line, "\r\n"):
		return fmt.Sprintf("%q (with CR LF at its end)", clip(strings.TrimSuffix(text, "\r")))
	case text == line:
		return fmt.Sprintf("%q (without a line feed)", clip(text))
	}
	return fmt.Sprintf("%q", clip(text))
}

// replace puts a hunk's new lines in place of the original's lines from start on, which must all be as they
// were, with nothing added between them.
func (s *sheet) replace(p *Patch, i int, h *Hunk, start int) error {
	at := slices.IndexFunc(s.lines, func(l sheetLine) bool { return l.number == start })
	number, k := start, at
	var lines []sheetLine
	for _, e := range h.Edits {
		if e.Op == '+' {
			lines = append(lines, sheetLine{text: e.Text, by: p})
			continue
		}
		if by := s.changed(k, number); by != nil {
			return &Error{
				p.Name, e.Line,
				fmt.Sprintf("hunk %d cannot be combined with %s, which changes line %d of %s too", i+1,
					by.Name, number, s.name),
			}
		}
		if e.Op == ' ' {
			lines = append(lines, s.lines[k])
		} else {
			s.removed[number] = p
		}
		number, k = number+1, k+1
	}
	s.lines = slices.Replace(s.lines, at, k, lines...)
	return nil
}

// changed returns the patch that has removed a line of the original, or has added one before it, nil where
// lines[k] is that line. k is -1 where the first line of a hunk is gone.
func (s *sheet) changed(k, number int) *Patch {
	if by := s.removed[number]; by != nil {
		return by
	}
	if s.lines[k].number != number {
		return s.lines[k].by
	}
	return nil
}
