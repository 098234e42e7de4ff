// Package races is the Races view's pane: the story of a diagnosis, findings grouped by cause, and of the finding under the
// cursor what it says, both sides' source, who touched each cell of the variable, and when which warp ran.
//
// The one idea: everything below the list is about one finding, so there is one cursor, in the list, and what is drawn
// beside it is looked up for it and shown when it arrives.
//
// It must not know sessions, schedules' names or keys; what a diagnosis costs is somebody else's affair.
package races

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/tui/theme"
)

// Panes of the view, as focus counts them.
const (
	Story = iota
	List
	About
	Sides
	Cells
	Strip
	numParts
)

// Data is what is shown.
type Data struct {
	Story     []string
	Findings  []debugkern.FindingDoc
	Causes    []diagnose.Cause
	Diagnosed bool   // the story is a diagnosis'
	Hint      string // what to do where nothing is known yet
	Source    func(file string) []string
}

// Look is what was looked up for the finding under the cursor.
type Look struct {
	Scene *debugkern.Scene
	Note  string   // instead of a scene: what it waits for, why there is none
	Tried []string // what a what-if came to
}

// row is one line of the list.
type row struct {
	cause   int // -1: none
	finding int // -1: the cause itself
	fold    bool
}

// Pane draws the view.
type Pane struct {
	th    *theme.Theme
	w, h  int
	data  Data
	look  Look
	focus int
	shown int // the detail that a small screen shows

	rows   []row
	at     int
	first  int // first row shown
	open   bool
	filter string
	scroll [numParts]int

	lines   []string
	changed bool
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{th: th, focus: List, shown: About, changed: true} }

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) { p.th, p.changed = th, true }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if w != p.w || h != p.h {
		p.w, p.h, p.changed = w, h, true
	}
}

// SetData shows other findings. The cursor stays on its finding where it is still there.
func (p *Pane) SetData(d Data) {
	was, at := "", p.at
	if p.at < len(p.rows) {
		was = p.identity(p.rows[p.at])
	}
	p.data = d
	p.regroup()
	for i, r := range p.rows {
		if was != "" && p.identity(r) == was {
			at = i
			break
		}
	}
	p.at = max(0, min(at, len(p.rows)-1))
}

// identity is what a row says: causes told one after the other change its place.
func (p *Pane) identity(r row) string {
	switch {
	case r.fold:
		return "advice"
	case r.finding >= 0:
		f := &p.data.Findings[r.finding]
		return title(f) + f.Message
	}
	return p.data.Causes[r.cause].Title
}

// SetLook shows what was looked up for the finding under the cursor.
func (p *Pane) SetLook(l Look) { p.look, p.changed = l, true }

// SetFocus says which part has the focus, -1 for none.
func (p *Pane) SetFocus(part int) {
	if part != p.focus {
		p.focus, p.changed = part, true
	}
	if part >= About && part != p.shown {
		p.shown, p.changed = part, true
	}
}

// SetFilter shows only findings whose kind, severity, variable or message contains text, "" for all.
func (p *Pane) SetFilter(text string) {
	p.filter = text
	p.regroup()
}

// Fold folds or unfolds what is only advice, and reports whether there is any.
func (p *Pane) Fold() (open, any bool) {
	p.open = !p.open
	p.regroup()
	return p.open, slices.ContainsFunc(p.data.Findings, isAdvice)
}

func isAdvice(f debugkern.FindingDoc) bool { return f.Severity == "advice" }

// Finding is the index of the finding under the cursor: of a cause, its first.
func (p *Pane) Finding() (int, bool) {
	if p.at >= len(p.rows) {
		return 0, false
	}
	r := p.rows[p.at]
	if r.finding >= 0 {
		return r.finding, true
	}
	if r.cause >= 0 {
		if all := p.of(&p.data.Causes[r.cause]); len(all) > 0 {
			return all[0], true
		}
	}
	return 0, false
}

// Cause is the cause under the cursor, or that of the finding there; nil where there is none.
func (p *Pane) Cause() *diagnose.Cause {
	if p.at < len(p.rows) && p.rows[p.at].cause >= 0 {
		return &p.data.Causes[p.rows[p.at].cause]
	}
	return nil
}

// of lists the findings of a cause.
func (p *Pane) of(c *diagnose.Cause) []int {
	list := c.Findings
	if len(list) == 0 && c.Finding >= 0 {
		list = []int{c.Finding}
	}
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i < 0 || i >= len(p.data.Findings) })
}

// regroup makes the list: causes with their findings, errors without a cause, advice.
func (p *Pane) regroup() {
	p.changed = true
	p.rows = p.rows[:0]
	told := map[int]bool{}
	for i := range p.data.Causes {
		c := &p.data.Causes[i]
		if !p.matches(c.Kind + " error " + c.Title + " " + c.Stage) {
			continue
		}
		p.rows = append(p.rows, row{cause: i, finding: -1})
		for _, f := range p.of(c) {
			if told[f] {
				continue
			}
			told[f] = true
			p.rows = append(p.rows, row{cause: i, finding: f})
		}
	}
	advice := 0
	for i := range p.data.Findings {
		f := &p.data.Findings[i]
		switch {
		case told[i] || !p.matches(f.Kind+" "+f.Severity+" "+f.Variable+" "+f.Message):
		case isAdvice(*f):
			advice++
		default:
			p.rows = append(p.rows, row{cause: -1, finding: i})
		}
	}
	if advice > 0 {
		p.rows = append(p.rows, row{cause: -1, finding: -1, fold: true})
		for i := range p.data.Findings {
			f := &p.data.Findings[i]
			if (p.open || p.filter != "") && isAdvice(*f) && !told[i] && p.matches(f.Kind+" "+f.Severity+" "+f.Variable+" "+f.Message) {
				p.rows = append(p.rows, row{cause: -1, finding: i})
			}
		}
	}
	p.at = max(0, min(p.at, len(p.rows)-1))
}

func (p *Pane) matches(text string) bool {
	return p.filter == "" || strings.Contains(strings.ToLower(text), strings.ToLower(p.filter))
}

// Move moves the cursor through the list and reports whether it moved.
func (p *Pane) Move(n int) bool {
	to := max(0, min(p.at+n, len(p.rows)-1))
	moved := to != p.at
	if moved {
		p.at, p.changed = to, true
		p.scroll = [numParts]int{Story: p.scroll[Story]}
	}
	return moved
}

// Next moves to the next (dir 1) or previous finding, round the end, and reports whether there is another.
func (p *Pane) Next(dir int) bool {
	n := len(p.rows)
	for k := 1; k < n; k++ {
		if i := ((p.at+dir*k)%n + n) % n; p.rows[i].finding >= 0 {
			return p.Move(i - p.at)
		}
	}
	return false
}

// OnFold reports whether the cursor is on the line that folds advice.
func (p *Pane) OnFold() bool { return p.at < len(p.rows) && p.rows[p.at].fold }

// Scroll moves a part other than the list and reports whether it moved.
func (p *Pane) Scroll(part, n int) bool {
	was := p.scroll[part]
	p.scroll[part] += n
	p.changed = true
	p.View() // drawing clamps it
	return p.scroll[part] != was
}

// Text is the story and the finding as plain text, for copying.
func (p *Pane) Text() string {
	out := append([]string{}, p.data.Story...)
	for _, e := range p.about() {
		out = append(out, strings.TrimSpace(e.name+" "+e.text))
	}
	return strings.Join(out, "\n") + "\n"
}

// title is a finding in one line.
func title(f *debugkern.FindingDoc) string {
	s := f.Kind
	if f.Variable != "" {
		s += " " + f.Variable
		for _, i := range f.Index {
			s += fmt.Sprintf("[%d]", i)
		}
	}
	if f.Source != nil {
		s += fmt.Sprintf(" line %d", f.Source.Line)
	}
	if f.Other != nil {
		s += fmt.Sprintf("/%d", f.Other.Line)
	}
	if len(f.Warps) > 0 {
		s += " warp " + numbers(f.Warps)
	}
	if f.KVTile >= 0 {
		s += fmt.Sprintf(" kv %d", f.KVTile)
	}
	if f.Count > 1 {
		s += fmt.Sprintf(" ×%d", f.Count)
	}
	return s
}

// numbers writes a short list of numbers: 0,2 or 0-3 or 0,1,5,….
func numbers(list []int) string {
	n := len(list)
	switch {
	case n > 2 && list[n-1]-list[0] == n-1:
		return fmt.Sprintf("%d-%d", list[0], list[n-1])
	case n > 4:
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(list[:4]), "[]"), " ", ",") + ",…"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ",")
}
