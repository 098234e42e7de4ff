// Package consent is the question whether compilers and tools that were found may be loaded and executed:
// where they are, which files, by their digests.
//
// The one idea: what a yes would record is on the screen, path by path, and nothing else is recorded.
//
// It must not know keys, sessions or where consents are recorded.
package consent

import (
	"fmt"

	"tilescope/debugkern/build"
	"tilescope/tui/theme"
)

// Data is what is asked.
type Data struct {
	Consent *build.Consent
	Yes, No string // the keys
	Ready   bool   // it can be answered
}

// Pane draws the question in a box of its own.
type Pane struct {
	theme.Frame[bool]
	data        Data
	first       int // line of the list of files at the top
	list, shown int // lines of the list, and those that there is room for
}

// New returns a pane without a question.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, true)} }

// SetData changes the question; its list starts at the top unless the question is the same.
func (p *Pane) SetData(d Data) {
	if d.Consent != p.data.Consent {
		p.first = 0
	}
	p.data, p.Changed = d, true
}

// Scroll moves the list of files by n lines.
func (p *Pane) Scroll(n int) {
	p.first, p.Changed = max(0, min(p.first+n, p.list-p.shown)), true
}

// View draws the question. The list of files has the lines that the rest leaves.
func (p *Pane) View() []string {
	return p.Draw(func() []string {
		if p.data.Consent == nil {
			return p.Theme.Blank(p.W, p.H)
		}
		above, files, below := p.about(), p.files(), p.answers()
		p.list, p.shown = len(files), max(1, p.H-2-len(above)-len(below))
		p.first = max(0, min(p.first, p.list-p.shown))
		note := ""
		if p.list > p.shown {
			note = fmt.Sprintf("lines %d-%d of %d", p.first+1, min(p.first+p.shown, p.list), p.list)
		}
		lines := append(above, files[p.first:min(p.first+p.shown, p.list)]...)
		for len(lines) < p.H-2-len(below) {
			lines = append(lines, p.Theme.Line(p.W-2).Done())
		}
		return p.Theme.Box("TRUST "+theme.Spelled(p.data.Consent.Covers.Dir)+"?", note,
			append(lines, below...), p.W, p.H, true)
	})
}

// about says why there is a question, and what it is about.
func (p *Pane) about() []string {
	c := p.data.Consent
	lines := p.wrapped(nil, p.Theme.Text, theme.Spelled(c.Reason))
	lines = append(lines, p.Theme.Line(p.W-2).Done())
	lines = append(lines, p.field("directory", c.Covers.Dir)...)
	lines = append(lines, p.field("digest", c.Covers.Digest())...)
	lines = append(lines, p.Theme.Line(p.W-2).Done())
	files := "These " + theme.Count(len(c.Covers.Files), "file") +
		" would be loaded or executed (with the beginning of their SHA-256):"
	if len(c.Covers.Files) == 0 {
		files = "Commands that manifests in this directory and below it name would be executed, whatever they are by then."
	}
	if len(c.Covers.Files) == 1 {
		files = "This file would be loaded or executed (with the beginning of its SHA-256):"
	}
	return p.wrapped(lines, p.Theme.Strong, files)
}

// field is a name and a value, which is broken where it is too long and never cut: a path that is
// cut may be another.
func (p *Pane) field(name, value string) []string {
	var lines []string
	for i, piece := range p.pieces(value, p.W-2-13) {
		l := p.Theme.Line(p.W - 2).Space(1)
		if i == 0 {
			l.Add(p.Theme.Dim, name)
		}
		lines = append(lines, l.Pad(12).Add(p.Theme.Text, piece).Done())
	}
	return lines
}

// files lists what a yes covers.
func (p *Pane) files() []string {
	var lines []string
	for _, f := range p.data.Consent.Covers.Files {
		for i, piece := range p.pieces(f.Path, p.W-2-16) {
			l := p.Theme.Line(p.W - 2).Space(1)
			if i == 0 {
				l.Add(p.Theme.Dim, f.SHA256[:min(12, len(f.SHA256))])
			}
			lines = append(lines, l.Pad(15).Add(p.Theme.Text, piece).Done())
		}
	}
	return lines
}

// answers are the keys and what they do.
func (p *Pane) answers() []string {
	lines := []string{p.Theme.Line(p.W - 2).Done()}
	answer := func(key, what string) {
		for i, s := range p.Theme.Wrap(what, p.W-2-7) {
			l := p.Theme.Line(p.W - 2).Space(1)
			if i == 0 {
				l.Add(p.Theme.Key, key)
			}
			lines = append(lines, l.Pad(6).Add(p.Theme.Text, s).Done())
		}
	}
	if !p.data.Ready {
		return p.wrapped(lines, p.Theme.Dim, p.Theme.Glyph.Ellipsis)
	}
	yes := "trust them: recorded as by `tilescope trust`, until one of them changes; then build again"
	if len(p.data.Consent.Covers.Files) == 0 {
		yes = "trust the directory: recorded as by `tilescope trust`, also for commands that change; then run again"
	}
	answer(p.data.Yes, yes)
	answer(p.data.No, "do not use them, and do not ask again in this session")
	return lines
}

func (p *Pane) wrapped(lines []string, style theme.Style, s string) []string {
	for _, part := range p.Theme.Wrap(s, p.W-4) {
		lines = append(lines, p.Theme.Line(p.W-2).Space(1).Add(style, part).Done())
	}
	return lines
}

// pieces breaks a text, with its hidden characters spelled out, into lines of at most w columns; blanks stay.
func (p *Pane) pieces(s string, w int) []string {
	var out []string
	runes := []rune(theme.Spelled(s))
	for len(runes) > w {
		out = append(out, string(runes[:w]))
		runes = runes[w:]
	}
	return append(out, string(runes))
}
