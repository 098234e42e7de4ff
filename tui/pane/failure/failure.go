// Package failure is the pane of a run that has no verdict: what did not build, load or run, one reason a
// line, in the words of whoever refused.
//
// The one idea: a reason is a place, so the list is a list of places and whoever shows sources
// follows its cursor.
//
// It must not know compilers, sessions or keys.
package failure

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/tui/outcome"
	"tilescope/tui/theme"
)

// Reason is one complaint. Line 0 stands for no place, Col 0 for none known.
type Reason struct {
	File      string
	Line, Col int
	Severity  string // "error", "warning"; "" is an error
	Text      string
}

// Place writes file:line:col, as far as they are known.
func (r *Reason) Place() string {
	switch {
	case r.File == "" || r.Line <= 0:
		return r.File
	case r.Col > 0:
		return fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Col)
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

func (r *Reason) warning() bool { return strings.Contains(r.Severity, "warning") }

// Panes of the view, as focus counts them.
const (
	Reasons = iota
	Source  // drawn by somebody else
)

// Data is what is shown.
type Data struct {
	Stage   string // build, load, launch, run; "" where the request did not come so far
	Asked   bool   // nothing has failed: a launch is asked for
	Of      string // the request
	Reasons []Reason
	Hints   []string        // what can be done, a line each
	Before  outcome.Outcome // the run before, its zero value where there is none
}

// Pane draws the list.
type Pane struct {
	theme.Frame[int]
	data  Data
	at    int
	top   int                // first line shown
	need  struct{ w, h int } // a width, and the height it takes
	drawn []string
	owner []int // the reason that a drawn line belongs to
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, 0)} }

// SetData shows another failure, from its first reason on.
func (p *Pane) SetData(d Data) {
	p.data, p.at, p.top, p.Changed = d, 0, 0, true
	p.need.w = 0
}

// Selected is the reason under the cursor.
func (p *Pane) Selected() (Reason, bool) {
	if p.at < len(p.data.Reasons) {
		return p.data.Reasons[p.at], true
	}
	return Reason{}, false
}

// Move moves the cursor through the reasons and reports whether it moved.
func (p *Pane) Move(n int) bool {
	to := max(0, min(p.at+n, len(p.data.Reasons)-1))
	moved := to != p.at
	p.at, p.Changed = to, p.Changed || moved
	return moved
}

// Hit selects the reason drawn on line y and reports whether there is one.
func (p *Pane) Hit(y int) bool {
	p.View()
	i := p.top + y - 1
	if y < 1 || y >= p.H-1 || i >= len(p.owner) || p.owner[i] < 0 {
		return false
	}
	p.at, p.Changed = p.owner[i], true
	return true
}

// Located reports whether some reason names a place of a source.
func (p *Pane) Located() bool {
	return slices.ContainsFunc(p.data.Reasons, func(r Reason) bool { return r.File != "" })
}

// Text is the list as plain text, for copying.
func (p *Pane) Text() string {
	var b strings.Builder
	for _, r := range p.data.Reasons {
		if at := r.Place(); at != "" {
			b.WriteString(at + ": ")
		}
		b.WriteString(r.Text + "\n")
	}
	return b.String()
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

// Need is the height at which a pane of width w shows everything, borders included.
func (p *Pane) Need(w int) int {
	if w != p.need.w {
		p.write(w - 2)
		p.need.w, p.need.h = w, len(p.drawn)+2
	}
	return p.need.h
}

func (p *Pane) draw() []string {
	if p.W < 20 || p.H < 3 {
		return p.Theme.Blank(p.W, p.H)
	}
	p.write(p.W - 2)
	first, last := 0, 0 // the lines of the reason under the cursor
	for i, o := range p.owner {
		if o == p.at {
			if last == 0 {
				first = i
			}
			last = i + 1
		}
	}
	h := p.H - 2
	p.top = max(min(p.top, first), last-h)
	p.top = max(0, min(p.top, len(p.drawn)-h))
	note := ""
	if n := len(p.data.Reasons); n > 1 {
		note = fmt.Sprintf("%d of %d", p.at+1, n)
	}
	return p.Theme.Box(p.title(), note, p.drawn[p.top:], p.W, p.H, p.Focus == Reasons)
}

func (p *Pane) title() string {
	bad := 0
	for i := range p.data.Reasons {
		if !p.data.Reasons[i].warning() {
			bad++
		}
	}
	if p.data.Asked {
		return "NOT OPENED"
	}
	if p.data.Stage == "" {
		return p.Theme.Glyph.Wrong + " NOT RUN"
	}
	return fmt.Sprintf("%s %s FAILED: %s", p.Theme.Glyph.Wrong, strings.ToUpper(p.data.Stage),
		theme.Count(bad, "error"))
}

// write fills drawn and owner: every reason in full, then the hints.
func (p *Pane) write(w int) {
	p.drawn, p.owner = p.drawn[:0], p.owner[:0]
	add := func(line string, owner int) {
		p.drawn, p.owner = append(p.drawn, line), append(p.owner, owner)
	}
	for i := range p.data.Reasons {
		r := &p.data.Reasons[i]
		mark, style := p.Theme.Glyph.Wrong, p.Theme.Wrong
		if r.warning() {
			mark, style = p.Theme.Glyph.Taint, p.Theme.Taint
		}
		if p.data.Asked {
			mark, style = " ", p.Theme.Notice
		}
		text := r.Text
		if at := r.Place(); at != "" && !strings.HasPrefix(text, at) {
			text = at + ": " + text
		}
		for k, s := range p.Theme.Wrap(text, w-5) {
			l := p.Theme.Line(w)
			body := p.Theme.Text
			if i == p.at {
				body = p.Theme.Strong
			}
			switch {
			case k > 0:
				l.Space(4)
			case i == p.at:
				l.Glyph(p.Theme.Accent, p.Theme.Glyph.Pointer).Space(1).Glyph(style, mark).Space(1)
			default:
				l.Space(2).Glyph(style, mark).Space(1)
			}
			add(l.Add(body, s).Done(), i)
		}
	}
	rest := func(style theme.Style, text string) {
		for _, s := range p.Theme.Wrap(text, w-5) {
			add(p.Theme.Line(w).Space(4).Add(style, s).Done(), -1)
		}
	}
	if p.data.Of != "" {
		rest(p.Theme.Text, "requested: "+p.data.Of)
	}
	if len(p.data.Hints) > 0 {
		add(p.Theme.Line(w).Done(), -1)
	}
	for _, h := range p.data.Hints {
		rest(p.Theme.Notice, h)
	}
	if r := p.data.Before.Report(); r != nil {
		add(p.Theme.Line(w).Done(), -1)
		rest(p.Theme.Title, p.data.Before.Heading())
		rest(p.Theme.Dim, p.Theme.VerdictMark(r.Verdict)+" "+r.Outcome())
	}
}
