package pipe

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// Parts of the view, as the pane counts them.
const (
	partTimeline view.Part = "pipe"
	partDetail   view.Part = "detail"
)

var parts = []view.Part{Timeline: partTimeline, Detail: partDetail}

// Diagnosis is why the run on screen went wrong. The Races view has it.
type Diagnosis interface {
	// Diagnose shows the diagnosis of the request on screen, and starts one where there is none.
	Diagnose() tea.Cmd
	// Causes are those found so far of the run on screen, and whether that is all there will be.
	Causes() (causes []diagnose.Cause, over bool)
}

// Controller is the Pipe view.
type Controller struct {
	*view.Context
	view.OnePane
	pane      *Pane
	search    string
	diagnosis Diagnosis
}

// New returns the Pipe view. Causes are asked of d.
func New(c *view.Context, d Diagnosis) *Controller {
	p := NewPane(c.Theme)
	return &Controller{Context: c, OnePane: view.NewOnePane(p, parts), pane: p, diagnosis: d}
}

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	return keymap.Layer{Name: view.Pipe, Uses: []keymap.Use{
		{Action: keymap.NextBad, Hint: "next bad"}, {Action: keymap.PrevBad}, {Action: keymap.Search},
		{Action: keymap.Filter},
		{Action: keymap.Open, Help: "open this tile, at its first bad cell, in Tile", Hint: "open"},
		{Action: keymap.Diagnose, Hint: "diagnose",
			Help: "diagnose, in view Races: every checker, several schedules, causes with proof"},
	}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.NextBad:  func(string) tea.Cmd { return v.next(1) },
		keymap.PrevBad:  func(string) tea.Cmd { return v.next(-1) },
		keymap.Open:     func(string) tea.Cmd { return v.open() },
		keymap.Diagnose: func(string) tea.Cmd { return v.diagnosis.Diagnose() },
	}
}

// OfRun implements view.Dependent.
func (v *Controller) OfRun() (whole, fails bool) { return true, true }

// Move goes through stages and kv tiles, or scrolls the detail.
func (v *Controller) Move(rows, cols int) tea.Cmd {
	switch {
	case v.Focused() == partDetail:
		return v.Scrolled(v.pane.Scroll(rows + cols))
	case rows != 0:
		return v.StepStage(rows)
	}
	return v.StepTile(cols)
}

// Edge goes to the first or last stage or kv tile.
func (v *Controller) Edge(rows, cols int) tea.Cmd {
	const far = 1 << 20
	if v.Focused() != partTimeline {
		return v.Move(far*(rows+cols), 0)
	}
	if !v.Movable() {
		return v.NothingYet()
	}
	c, list := v.Cursor, v.Stages()
	switch {
	case len(list) == 0:
		return v.NothingHere()
	case rows < 0:
		c.Stage = list[0]
	case rows > 0:
		c.Stage = list[len(list)-1]
	default:
		c.KVTile = far * cols
	}
	return v.GoTo(c)
}

// Page goes to the block before or after, or scrolls the detail by half a page.
func (v *Controller) Page(dir int) tea.Cmd {
	if v.Focused() == partTimeline {
		return v.StepBlock(dir)
	}
	return v.Move(dir*max(1, v.pane.H/2), 0)
}

// Grow implements view.Grower.
func (v *Controller) Grow(n int) (tea.Cmd, bool) {
	if v.Focused() == partTimeline {
		n = -n
	}
	v.pane.Grow(n)
	return nil, true
}

// Click goes to the place under the mouse; a second click opens it.
func (v *Controller) Click(x, y int) tea.Cmd {
	at, where, ok := v.pane.Hit(x, y)
	v.Root.Focus(parts[where])
	if !ok {
		return nil
	}
	if at == v.At() {
		return v.open()
	}
	c := v.Cursor
	kv := c.KVTile
	c.Place = at
	if sp := v.Run.Plan.Stage(at.Stage); !sp.PerTile {
		c.KVTile = kv
	}
	return v.GoTo(c)
}

// Wheel implements view.View.
func (v *Controller) Wheel(x, y, rows, cols int) tea.Cmd {
	if _, over := v.pane.hitBlock(x, y); over {
		return v.Quietly(func() tea.Cmd { return v.StepBlock(view.Sign(rows)) })
	}
	if _, where, _ := v.pane.Hit(x, y); where != Timeline {
		v.pane.Scroll(rows)
		return nil
	}
	return v.Quietly(func() tea.Cmd { return v.Move(view.Sign(rows), cols) })
}

// Search implements view.Searcher.
func (v *Controller) Search(text string) error {
	v.search = text
	v.pane.SetMatch(text)
	return nil
}

// Here implements view.Searcher.
func (v *Controller) Here() (back func() tea.Cmd) {
	scroll, c := v.pane.Here(), v.Cursor
	return func() tea.Cmd {
		scroll()
		if v.Movable() && v.Cursor != c {
			return v.GoTo(c)
		}
		return nil
	}
}

// Filter implements view.Filterer.
func (v *Controller) Filter(text string) error {
	v.pane.SetFilter(text)
	return nil
}

// Text implements view.Copier.
func (v *Controller) Text() string {
	if v.Run == nil {
		return ""
	}
	return v.pane.Text()
}

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case view.Drawn:
		v.show()
	case view.Moved:
		v.pane.SetPlace(v.At())
		v.pane.SetTile(v.Tiles.Views[v.At()])
	case view.TileRead, view.NewRun, view.Paired:
		v.pane.SetTile(v.Tiles.Views[v.At()])
	case view.CausesFound:
		v.pane.SetCauses(v.diagnosis.Causes())
	}
	return nil
}

// show gives the pane the run on screen, or what the request will have.
func (v *Controller) show() {
	if v.Run == nil {
		v.pane.SetData(Data{Plan: v.Outline(), Message: v.Idle()})
	} else {
		v.pane.SetData(Data{
			Tile: v.Tiles.Views[v.At()],
			Run:  v.Outcome(), Plan: v.Run.Plan, Viewer: v.Run.Viewer, Summary: v.Run.Summary,
			Changes: v.Run.Changes, Patch: v.PatchOf,
			Hint: fmt.Sprintf(
				"this may also have spoilt what was captured: %s diagnoses which comes first",
				v.Keys.LabelIn(view.Pipe, keymap.Diagnose)),
		})
	}
	v.pane.SetPlace(v.At())
	v.pane.SetTile(v.Tiles.Views[v.At()])
}

// next goes to a match while a search is active, else to a bad cell: a stage of that name before a line of
// the detail, and bad cells by their word.
func (v *Controller) next(dir int) tea.Cmd {
	if v.search == "" || v.search == "bad" {
		return v.NextBad(dir)
	}
	if v.Movable() && !strings.EqualFold(v.search, string(v.Cursor.Stage)) {
		for _, s := range v.Stages() {
			if strings.EqualFold(v.search, string(s)) {
				c := v.Cursor
				c.Stage = s
				v.Say(fmt.Sprintf("stage %s", s))
				return v.GoTo(c)
			}
		}
	}
	if !v.pane.FindDetail(v.search, dir) {
		v.Complain("no match for " + v.search)
	}
	return nil
}

// open shows the cursor's tile: at the cell that the search for bad cells has led to, else at the stage's
// first bad cell where that lies in it.
func (v *Controller) open() tea.Cmd {
	if !v.Movable() {
		return v.NothingYet()
	}
	c := v.PlaceOf(v.Cursor)
	if first, ok := v.firstBadIn(c.Place); ok && !v.AtFound() {
		return tea.Batch(v.Root.Open(view.Tile), v.GoTo(first))
	}
	return v.Root.Open(view.Tile)
}

// firstBadIn is the stage's first bad cell where it lies in that very tile.
func (v *Controller) firstBadIn(p debugkern.Place) (debugkern.Cell, bool) {
	c, ok := v.Run.BadOf(p.Stage.String())
	return c, ok && v.PlaceOf(c).Place == p
}
