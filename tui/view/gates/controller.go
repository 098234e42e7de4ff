package gates

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/gates"
	"tilescope/debugkern/text"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

var _ gates.Runner = (*debugkern.Session)(nil)

// Parts of the view, as the pane counts them.
const (
	partGates   view.Part = "gates"
	partNumbers view.Part = "numbers"
)

var parts = []view.Part{Table: partGates, Numbers: partNumbers}

// Controller is the Gates view.
type Controller struct {
	*view.Context
	view.OnePane
	pane  *Pane
	sweep sweep
}

// New returns the Gates view.
func New(c *view.Context) *Controller {
	p := NewPane(c.Theme)
	return &Controller{Context: c, OnePane: view.NewOnePane(p, parts), pane: p}
}

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	return keymap.Layer{Name: view.Gates, Tab: "Gate", Uses: []keymap.Use{
		{Action: keymap.NextBad, Name: "next-red", Help: "next red variant or case"},
		{Action: keymap.PrevBad, Name: "previous-red", Help: "the one before"},
		{Action: keymap.Open, Help: "open the variant, or the case under the cursor, in Pipe", Hint: "open"},
		{Action: keymap.Toggle, Name: "judge-variant", Help: "judge this variant"},
		{Action: keymap.Again, Name: "judge", Help: "judge every variant, or go on where it was cancelled",
			Hint: "judge"},
		{Action: keymap.AgainEmu, Name: "judge-on-emulator", Help: "judge every variant on the emulator"},
	}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.NextBad: func(string) tea.Cmd { return v.Scrolled(v.pane.NextRed(1)) },
		keymap.PrevBad: func(string) tea.Cmd { return v.Scrolled(v.pane.NextRed(-1)) },
		keymap.Open:    func(string) tea.Cmd { return v.openGate() },
		keymap.Toggle: func(string) tea.Cmd {
			return v.startSweep([]string{v.pane.Selected().Target},
				v.Req.Backend)
		},
		keymap.Again:    func(string) tea.Cmd { return v.startSweep(v.gateRows(), v.NextRequest().Backend) },
		keymap.AgainEmu: func(string) tea.Cmd { return v.startSweep(v.gateRows(), "emu") },
	}
}

// Move implements view.View.
func (v *Controller) Move(rows, cols int) tea.Cmd { return v.Scrolled(v.pane.Move(rows + cols)) }

// Wheel implements view.View.
func (v *Controller) Wheel(x, y, rows, _ int) tea.Cmd {
	v.pane.Scroll(x, y, view.Sign(rows))
	return nil
}

// Grow implements view.Grower.
func (v *Controller) Grow(n int) (tea.Cmd, bool) {
	if v.Focused() == partNumbers {
		n = -n
	}
	v.pane.Grow(n)
	return nil, true
}

// Text implements view.Copier.
func (v *Controller) Text() string { return "tilescope gates " + text.Shell(v.pane.Selected().Target) }

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case view.Drawn, view.RequestChanged:
		v.showGates()
	case sweepMsg:
		return v.sweeping(msg)
	case judgedMsg:
		return v.judged(msg)
	case sweptMsg:
		return v.swept(msg)
	}
	return nil
}
