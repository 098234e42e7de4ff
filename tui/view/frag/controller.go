package frag

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// introspector is offered by engines that can read fragment layouts back.
type introspector interface {
	Lut(ctx context.Context, req debugkern.Request, pick fragment.Filter) (*report.Lut, error)
	TableFile(ctx context.Context, req debugkern.Request, path string) (*fragment.Table, error)
}

// tabled is offered by runs whose kernel may have tables of fragments of its own.
type tabled interface {
	Lookups(ctx context.Context) ([]fragment.Table, error)
}

var (
	_ introspector = (*debugkern.Session)(nil)
	_ tabled       = (*debugkern.Run)(nil)
)

// Parts of the view, as the pane counts them.
const (
	partGrid  view.Part = "lanes"
	partCells view.Part = "tile"
	partBanks view.Part = "banks"
)

var parts = []view.Part{Grid: partGrid, Tile: partCells, Banks: partBanks}

// Writers says who wrote the cell under the cursor. The Tile view does.
type Writers interface{ AskWho(string) tea.Cmd }

// Controller is the Frag view.
type Controller struct {
	*view.Context
	view.OnePane
	pane    *Pane
	writers Writers
	known   fragments
}

// New returns the Frag view. Who wrote a cell is asked of w.
func New(c *view.Context, w Writers) *Controller {
	p := NewPane(c.Theme)
	return &Controller{Context: c, OnePane: view.NewOnePane(p, parts), pane: p, writers: w}
}

// Actions that no other view has.
const (
	nextFrag   keymap.Action = "next-fragment"
	prevFrag   keymap.Action = "previous-fragment"
	introspect keymap.Action = "introspect"
	matrix     keymap.Action = "matrix"
)

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	const g = "Fragment"
	return keymap.Layer{Name: view.Frag, Uses: []keymap.Use{
		{Action: keymap.NextBad, Help: "next entry that the table has wrong, else bad cell"},
		{Action: keymap.PrevBad, Help: "the one before"},
		{Action: keymap.Format, Name: "show", Help: "the tile shows lane, element, owners, value, error",
			Hint: "show"},
		{Action: keymap.Diff, Name: "table", Help: "grid shows the kernel's own table, or the hardware's map",
			Hint: "table"},
		{Action: keymap.Who},
		{Action: keymap.How, Name: "swizzle", Help: "XOR swizzle of the bank strip: none, n&1, n&3, n&7",
			Hint: "swizzle"},
		{Action: keymap.Grow, Name: "leading-up", Help: "leading dimension up"},
		{Action: keymap.Shrink, Name: "leading-down", Help: "leading dimension down"},
	}, Own: []keymap.Binding{
		{Action: nextFrag, Keys: []string{"o"}, Label: "o",
			Help: "next fragment of the instruction: acc a b, type, row or col; :fragment has mma and ldmatrix",
			Hint: "fragment", Group: g},
		{Action: prevFrag, Keys: []string{"O"}, Label: "O", Help: "previous fragment", Group: g},
		{Action: introspect, Keys: []string{"I"}, Label: "I",
			Help: "introspect on the other backend: emulator, GPU", Group: g},
		{Action: matrix, Keys: []string{"M"}, Label: "M",
			Help: "moved by each lane, or as ldmatrix", Group: g},
	}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.NextBad: func(string) tea.Cmd { return v.fragNext(1) },
		keymap.PrevBad: func(string) tea.Cmd { return v.fragNext(-1) },
		keymap.Format: func(string) tea.Cmd {
			v.Say("the tile shows: " + v.pane.NextShow().String())
			return nil
		},
		keymap.Diff:   func(string) tea.Cmd { return v.toggleTable() },
		keymap.Who:    v.writers.AskWho,
		keymap.Grow:   func(string) tea.Cmd { return v.stepLD(1) },
		keymap.Shrink: func(string) tea.Cmd { return v.stepLD(-1) },
		nextFrag:      func(string) tea.Cmd { return v.nextFragment(1) },
		prevFrag:      func(string) tea.Cmd { return v.nextFragment(-1) },
		introspect:    v.otherBackend,
		keymap.How: func(string) tea.Cmd {
			v.Say("swizzle: " + v.pane.NextSwizzle())
			return nil
		},
		matrix: func(string) tea.Cmd {
			v.Say("moved " + v.pane.ToggleMatrix())
			return nil
		},
	}
}

// OfRun implements view.Dependent: the hardware's maps stand whether or not a request could run.
func (v *Controller) OfRun() (whole, fails bool) { return true, false }

// Text implements view.Copier.
func (v *Controller) Text() string { return v.pane.CellText() }

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case view.Shown, view.Ran:
		v.sameTarget()
		return v.loadFragments()
	case view.Reset:
		for _, what := range v.restore() {
			msg.Back(what)
		}
	case view.Drawn, view.Moved, view.TileRead, view.WriterFound, view.NumbersChanged:
		v.showLive()
	case mappedMsg:
		return v.mapped(msg)
	case tableMsg:
		return v.tableFound(msg)
	case headerMsg:
		return v.headerRead(msg)
	}
	return nil
}

// Lane draws the lane at the cursor, for the right column of a wide Tile view.
func (v *Controller) Lane(w, h int) []string {
	v.showLive()
	return v.pane.Side(w, h)
}
