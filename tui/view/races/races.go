// Package races is the Races view's pane: the story of a diagnosis, findings grouped by cause, and of the
// finding under the cursor what it says, both sides' source, who touched each cell of the variable, and
// when which warp ran.
//
// The one idea: everything below the list is about one finding, so there is one cursor, in the list, and what
// is drawn beside it is looked up for it and shown when it arrives.
//
// It must not know sessions, schedules' names or keys; what a diagnosis costs is somebody else's affair.
package races

import (
	"slices"
	"strings"

	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/walk"
	"tilescope/probes"
	"tilescope/tui/pane/source"
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
	Findings  []report.Finding
	Causes    []diagnose.Cause
	Barriers  []diagnose.BarrierDoc
	Diagnosed bool        // the story is a diagnosis'
	Running   bool        // a diagnosis is under way: more may be found
	Ran       string      // for how long it has, "" at first
	Pending   bool        // the run whose findings these will be is under way
	Partly    bool        // not every checker watched the run
	Under     string      // what else the panes show where it is not what the findings are of: a replay
	Hint      string      // what to do where nothing is known yet
	Work      probes.Work // what the iterations of the loop over tiles are called
	Source    func(file string) []string
	PTX       func() (name string, text []string) // what was opened, where that is PTX
	Patch     func(file string) source.Patch      // what patches have changed of it
}

// Look is what was looked up for the finding under the cursor.
type Look struct {
	Scene *scene.Scene
	Hang  *walk.Hang // why the block cannot continue, where the finding is that it cannot
	Note  string     // instead of a scene: what it waits for, why there is none
	None  bool       // there are no accesses to show: a cause in arithmetic
	Tried []string   // what a what-if came to
}

// Pane draws the view.
type Pane struct {
	theme.Frame[int]
	data  Data
	look  Look
	shown int // the detail that a small screen shows

	rows   []row
	at     int
	moved  bool // somebody has moved it since a diagnosis began
	first  int  // first row shown
	open   [numFolds]bool
	folds  [numFolds][]row // what can be folded, folded or not
	filter string
	scroll [numParts]int
	seen   *stripMarks       // in the strip as it was drawn last, nil before that
	short  *strings.Replacer // of the data, see shortPaths
}

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane {
	p := &Pane{Frame: theme.NewFrame(th, 0), shown: About, short: strings.NewReplacer()}
	p.Focus = List
	return p
}

// SetData shows other findings. The cursor stays on its finding where it is still there.
func (p *Pane) SetData(d Data) {
	was, at := "", p.at
	if p.at < len(p.rows) {
		was = p.identity(p.rows[p.at])
	}
	if d.Running && !p.data.Running {
		p.moved = false
		p.first, p.scroll = 0, [numParts]int{} // they were of another diagnosis
	}
	if d.Under != p.data.Under { // it stands first
		p.scroll[About] = 0
	}
	p.data, p.short = d, shortPaths(&d)
	p.regroup()
	if !p.moved { // nobody has chosen one since the diagnosis began: the first cause is what it is about
		was, at = "", 0
	}
	for i, r := range p.rows {
		if was != "" && p.identity(r) == was {
			at = i
			break
		}
	}
	p.at = max(0, min(at, len(p.rows)-1))
}

// SetLook shows what was looked up for the finding under the cursor.
func (p *Pane) SetLook(l Look) {
	if !slices.Equal(l.Tried, p.look.Tried) { // it stands first
		p.scroll[About] = 0
	}
	p.look, p.Changed = l, true
}

// Accessless reports whether what the cursor is on has no accesses to show: its source takes their room.
func (p *Pane) Accessless() bool { return p.look.None || p.OnFold() }

// SetFocus says which part has the focus, -1 for none.
func (p *Pane) SetFocus(part int) {
	p.Frame.SetFocus(part)
	if part >= About && part != p.shown && !(part == Strip && p.Hanging()) {
		p.shown, p.Changed = part, true
	}
}

// Scroll moves a part other than the list and reports whether it moved.
func (p *Pane) Scroll(part, n int) bool {
	was := p.scroll[part]
	p.scroll[part] += n
	p.Changed = true
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
