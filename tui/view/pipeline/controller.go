package pipeline

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// Stepper has the block under a person's hand. View Source is one.
type Stepper interface {
	// Moment is where the block stands; ok is false where none is open, and said says why.
	Moment() (pos walk.Position, warps []target.Warp, said string, ok bool)
	// Async is what is under way there; ok is false for a kernel that has nothing asynchronous.
	Async() (s target.AsyncState, ok bool)
	// Timeline is the block's, nil until Record has recorded it.
	Timeline() *walk.Timeline
	Record() tea.Cmd
	// The steps, forwards or with n < 0 backwards. Each is announced as view.Walked once it has ended.
	StepUnit(n int) tea.Cmd
	StepEvent(n int) tea.Cmd
	RunOn(n int) tea.Cmd
	// SeekTo goes to a moment; warp becomes the current one where it is not negative.
	SeekTo(step uint64, warp int) tea.Cmd
	// UnitName is what StepUnit steps by; NextUnit chooses another.
	UnitName() string
	NextUnit() tea.Cmd
	TurnWarp(n int) tea.Cmd
	view.Worker
}

// parts are the pane's parts, by its numbers.
var parts = []view.Part{Timeline: "timeline", Ring: "ring", Barriers: "mbarriers", Operations: "pending",
	Layout: "layout"}

// Controller is the Pipeline view.
type Controller struct {
	*view.Context
	view.OnePane
	pane    *Pane
	stepper Stepper
	asked   *view.Run // whose block's timeline was requested, at moment of its block
	block   [3]int
}

// New returns the Pipeline view of the block that a stepper has.
func New(c *view.Context, s Stepper) *Controller {
	p := NewPane(c.Theme)
	return &Controller{Context: c, OnePane: view.NewOnePane(p, parts), pane: p, stepper: s}
}

// Actions that the view has as view Source has them.
const (
	stepUnit  keymap.Action = "step"
	stepBack  keymap.Action = "step-back"
	stepBy    keymap.Action = "unit"
	runOn     keymap.Action = "run-on"
	runBack   keymap.Action = "run-back"
	nextEvent keymap.Action = "next-event"
	prevEvent keymap.Action = "previous-event"
	prevWarp  keymap.Action = "previous-warp"
	nextWarp  keymap.Action = "next-warp"
)

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	const g = "Stepping"
	return keymap.Layer{Name: view.Pipeline, Tab: "Pipl", Uses: []keymap.Use{
		{Action: keymap.Open, Help: "go to the moment under the cursor; to an operation's issue in Source"},
	}, Own: []keymap.Binding{
		{Action: nextEvent, Keys: []string{"a"}, Label: "a",
			Help: "next asynchronous event: an operation is issued or lands, a phase of an mbarrier is complete",
			Hint: "event", Group: g, Counts: true},
		{Action: prevEvent, Keys: []string{"A"}, Label: "A", Help: "asynchronous event before", Hint: "back",
			Group: g, Counts: true},
		{Action: stepUnit, Keys: []string{"s", ">"}, Label: "s >", Help: "one step on (step)", Counts: true,
			Hint: "step", Group: g},
		{Action: stepBack, Keys: []string{"<", keymap.Backspace}, Label: "<",
			Help: "one step back (reverse-step; also Backspace)", Group: g, Counts: true},
		{Action: stepBy, Keys: []string{"U"}, Label: "U",
			Help: "unit of s and <: line, instruction, barrier, probe, warp, block, event", Group: g},
		{Action: runOn, Keys: []string{"r"}, Label: "r", Help: "run to the next breakpoint or the end",
			Group: g},
		{Action: runBack, Keys: []string{"R"}, Label: "R",
			Help: "run back to the breakpoint before or the start", Group: g},
		{Action: prevWarp, Keys: []string{","}, Label: ",", Help: "step the warp before", Group: g,
			Counts: true},
		{Action: nextWarp, Keys: []string{"."}, Label: ".", Help: "step the next warp", Group: g,
			Counts: true},
	}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	do := func(f func(n int) tea.Cmd, n int) func(string) tea.Cmd {
		return func(string) tea.Cmd { return f(n) }
	}
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.Open: func(string) tea.Cmd { return v.openHere() },
		nextEvent:   do(v.stepper.StepEvent, 1), prevEvent: do(v.stepper.StepEvent, -1),
		stepUnit: do(v.stepper.StepUnit, 1), stepBack: do(v.stepper.StepUnit, -1),
		runOn: do(v.stepper.RunOn, 1), runBack: do(v.stepper.RunOn, -1),
		prevWarp: do(v.stepper.TurnWarp, -1), nextWarp: do(v.stepper.TurnWarp, 1),
		stepBy: func(string) tea.Cmd {
			cmd := v.stepper.NextUnit()
			v.show()
			return cmd
		},
	}
}

// OfRun implements view.Dependent.
func (v *Controller) OfRun() (whole, fails bool) { return true, true }

// Move implements view.View.
func (v *Controller) Move(rows, cols int) tea.Cmd {
	return v.Scrolled(v.pane.Move(v.part(), rows, cols))
}

// Edge implements view.Edger.
func (v *Controller) Edge(rows, cols int) tea.Cmd {
	const far = 1 << 20
	if v.part() != Timeline {
		return v.Move(far*(rows+cols), 0)
	}
	return v.Move(far*rows, far*cols)
}

// part is the number of the part that has the focus.
func (v *Controller) part() int { return max(Timeline, slices.Index(parts, v.Focused())) }

// Click puts the cursor where the mouse is.
func (v *Controller) Click(x, y int) tea.Cmd {
	v.Root.Focus(parts[v.pane.Hit(x, y)])
	return nil
}

// Wheel implements view.View.
func (v *Controller) Wheel(x, y, rows, cols int) tea.Cmd {
	part, _ := v.pane.Under(x, y)
	v.pane.Move(part, view.Sign(rows), cols)
	return nil
}

// Text implements view.Copier.
func (v *Controller) Text() string { return v.pane.Text(v.part()) }

// Busy implements view.Worker.
func (v *Controller) Busy() (what string, waits bool) { return v.stepper.Busy() }

// Cancel implements view.Worker.
func (v *Controller) Cancel() bool { return v.shown() && v.stepper.Cancel() }

// shown reports whether the view is on screen.
func (v *Controller) shown() bool { return v.Root.Showing() == view.Pipeline }

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case view.NewRun:
		v.asked = nil
		v.show()
	case view.Shown, view.Moved, view.Walked, view.Drawn, view.Failed:
		v.show()
		return v.record()
	}
	return nil
}

// record has the timeline of the block recorded, once for each block that is on screen.
func (v *Controller) record() tea.Cmd {
	pos, _, _, ok := v.stepper.Moment()
	_, async := v.stepper.Async()
	busy, _ := v.stepper.Busy()
	if !v.shown() || !ok || !async || busy != "" || v.stepper.Timeline() != nil ||
		v.asked == v.Run && v.block == pos.Block {
		return nil
	}
	v.asked, v.block = v.Run, pos.Block
	return v.stepper.Record()
}

// show gives the pane the moment on screen.
func (v *Controller) show() {
	pos, warps, said, ok := v.stepper.Moment()
	d := Data{Pos: pos, Warps: warps, Line: v.stepper.Timeline(), Unit: v.stepper.UnitName(), Empty: said}
	if ok {
		var async bool
		if d.State, async = v.stepper.Async(); !async {
			d.Empty = "nothing in this kernel is asynchronous: it has no mbarrier, no bulk or tensor copy, no " +
				"wgmma and no cp.async. View Source steps it."
			d.Line = nil
		}
		if pos.KVTile >= 0 {
			d.Iteration = v.Iteration(pos.KVTile)
		}
	}
	v.pane.SetData(d)
}

// openHere goes to the moment under the chart's cursor, or to the issue of the operation under the cursor.
func (v *Controller) openHere() tea.Cmd {
	if v.part() == Operations {
		f := v.pane.Operation()
		if f == nil {
			v.Say("no operation is under the cursor")
			return nil
		}
		v.Root.Switch(view.Source)
		return tea.Batch(v.Root.Open(view.Source), v.stepper.SeekTo(f.Issued-1, f.Warp))
	}
	step, ok := v.pane.Moment()
	if !ok || v.part() != Timeline {
		v.Say("the timeline's cursor says where to go")
		return nil
	}
	return v.stepper.SeekTo(step, -1)
}
