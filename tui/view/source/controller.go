// Package source is the Source view: one block executed step by step, both ways: its CUDA source, PTX,
// registers by lane, a shared array and the warps, all at the same moment.
//
// The one idea: a walk is used by one command at a time. A motion runs in the background and answers with a
// copy of everything the panes show, so that nothing on screen is of two moments.
//
// It must not know how a block is executed.
package source

import (
	"context"
	"fmt"
	"math/bits"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/scene"
	"tilescope/debugkern/walk"
	"tilescope/tui/keymap"
	listing "tilescope/tui/pane/source"
	"tilescope/tui/theme"
	"tilescope/tui/view"
	"tilescope/tui/view/source/lists"
	"tilescope/tui/view/source/ptx"
	"tilescope/tui/view/source/registers"
	"tilescope/tui/view/source/shared"
	"tilescope/tui/view/source/warps"
)

// Parts of the view, in the order of the focus key.
const (
	partCode      view.Part = "source"
	partPTX       view.Part = "ptx"
	partRegisters view.Part = "registers"
	partShared    view.Part = "shared"
	partWarps     view.Part = "warps"
	partWatches   view.Part = "watches"
	partList      view.Part = "list"
	partNone      view.Part = ""
)

// Controller is the Source view.
type Controller struct {
	*view.Context
	w, h   int
	at     view.Part
	sizes  sizes
	zoomed bool // the focused part is drawn alone

	code   *listing.Pane
	ptx    *ptx.Pane
	regs   *registers.Pane
	shared *shared.Pane
	warps  *warps.Pane
	// of watches, where there are any, and on top of the lower panes of breakpoints or calls
	watches, lists *lists.Pane
	list           listKind
	beneath        view.Part // that had the focus before the list

	walk     walking
	restored bool   // breakpoints or watches of an earlier session have not been announced yet
	search   string // what / looks for, "" for nothing
}

// sizes are what a person added to the computed sizes.
type sizes struct{ code, low int }

// New returns the Source view.
func New(c *view.Context) *Controller {
	return &Controller{
		Context: c, code: listing.New(c.Theme), ptx: ptx.New(c.Theme), regs: registers.New(c.Theme),
		shared: shared.New(c.Theme), warps: warps.New(c.Theme),
		watches: lists.New(c.Theme), lists: lists.New(c.Theme), walk: walking{others: map[string]stopSet{}},
	}
}

// Actions that no other view has.
const (
	stepUnit   keymap.Action = "step"
	stepBack   keymap.Action = "step-back"
	stepOver   keymap.Action = "step-over"
	overBack   keymap.Action = "step-over-back"
	unit       keymap.Action = "unit"
	runOn      keymap.Action = "run-on"
	runBack    keymap.Action = "run-back"
	breakpoint keymap.Action = "breakpoint"
	stepOut    keymap.Action = "step-out"
	listStops  keymap.Action = "breakpoints"
	clearStops keymap.Action = "clear-breakpoints"
	listFrames keymap.Action = "calls"
	watchCell  keymap.Action = "watch"
	prevWarp   keymap.Action = "previous-warp"
	nextWarp   keymap.Action = "next-warp"
	nextEvent  keymap.Action = "next-event"
	prevEvent  keymap.Action = "previous-event"
)

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	const g = "Stepping"
	return keymap.Layer{Name: view.Source, Tab: "Src", Uses: []keymap.Use{
		{Action: keymap.Format, Help: "registers: by type, hexadecimal, signed, pairs of f16"},
		{Action: keymap.Follow, Help: "source, PTX and kv tile follow the warp and each other"},
		{
			Action: keymap.Who,
			Help:   "who wrote this register or shared cell: go to the last write, then the one before",
			Hint:   "who",
		},
		{Action: keymap.Search, Help: "search in the source, or in the PTX where that has the focus"},
		{Action: keymap.NextBad, Name: "next-match", Help: "next line that a search matches"},
		{Action: keymap.PrevBad, Name: "previous-match", Help: "line before that a search matches"},
		{Action: keymap.Open, Help: "run to this line (until); step this warp; open this cell in Tile"},
		{Action: keymap.Toggle, Name: "toggle-breakpoint", Help: "enable or disable the breakpoint here"},
		{Action: keymap.Back, Help: "the moment before the last motion, as after r or R too far; in a block that has not " +
			"moved, cursor back"},
		{Action: keymap.Forward, Help: "the moment from which u went back; in a block that has not moved, cursor forward"},
		{Action: keymap.Heat, Name: "strip", Help: "registers: values by lane as a strip, on and off"},
	}, Own: []keymap.Binding{
		{Action: stepUnit, Keys: []string{"s", ">"}, Label: "s >", Help: "one step on (step)", Counts: true,
			Hint: "step", Group: g},
		{Action: stepBack, Keys: []string{"<", keymap.Backspace}, Label: "<",
			Help: "one step back (reverse-step; also Backspace)", Hint: "back", Group: g, Counts: true},
		{Action: stepOver, Keys: []string{"S", ")"}, Label: "S )",
			Help: "step over (next): to the next line of this function, or of its caller", Group: g,
			Counts: true},
		{Action: overBack, Keys: []string{"("}, Label: "(",
			Help: "step over, back (reverse-next): to the line before of this function", Group: g, Counts: true},
		{
			Action: unit, Keys: []string{"U"}, Label: "U",
			Help: "unit of s and <: line, instruction, barrier, probe, warp, block, event",
			Hint: "unit", Group: g,
		},
		{
			Action: runOn, Keys: []string{"r"}, Label: "r",
			Help: "run to the next breakpoint or the end", Hint: "run",
			Group: g,
		},
		{
			Action: runBack, Keys: []string{"R"}, Label: "R",
			Help: "run back to the breakpoint before or the start",
			Hint: "reverse", Group: g,
		},
		{Action: breakpoint, Keys: []string{"b"}, Label: "b",
			Help: "breakpoint on this line; in SHARED on a change of this cell (:break for stages, " +
				":condition N EXPR for a condition)",
			Hint:  "break",
			Group: g},
		{Action: stepOut, Keys: []string{"^"}, Label: "^",
			Help: "step out of the function that was inlined here", Group: g},
		{Action: listStops, Keys: []string{"!"}, Label: "!",
			Help:  "breakpoints with conditions and how often each was hit: Space on and off, b deletes",
			Group: g},
		{Action: clearStops, Keys: []string{"B"}, Label: "B", Help: "delete all breakpoints", Group: g},
		{Action: listFrames, Keys: []string{";"}, Label: ";",
			Help: "calls that lead here: Enter shows the line", Group: g},
		{Action: watchCell, Keys: []string{"="}, Label: "=",
			Help: "watch this register or cell (:watch takes an expression); in WATCHES end it; in BREAKPOINTS " +
				"write the condition", Group: g},
		{Action: nextEvent, Keys: []string{"a"}, Label: "a",
			Help:  "next asynchronous event: an operation is issued or lands, a phase of an mbarrier is complete",
			Group: g, Counts: true},
		{Action: prevEvent, Keys: []string{"A"}, Label: "A", Help: "asynchronous event before", Group: g,
			Counts: true},
		{Action: prevWarp, Keys: []string{","}, Label: ",", Help: "step the warp before", Group: g,
			Counts: true},
		{Action: nextWarp, Keys: []string{"."}, Label: ".", Help: "step the next warp", Group: g,
			Counts: true},
	}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.Format: v.nextFormat,
		keymap.Follow: v.toggleFollow,
		keymap.Who: func(string) tea.Cmd {
			if !v.Movable() {
				return v.NothingYet()
			}
			return v.whoHere()
		},
		keymap.Open:    func(string) tea.Cmd { return v.openHere() },
		keymap.Back:    func(string) tea.Cmd { return v.retrace(-1) },
		keymap.Forward: func(string) tea.Cmd { return v.retrace(1) },
		keymap.NextBad: func(string) tea.Cmd { return v.nextMatch(1) },
		keymap.PrevBad: func(string) tea.Cmd { return v.nextMatch(-1) },
		stepUnit:       func(string) tea.Cmd { return v.stepUnit(1) },
		stepBack:       func(string) tea.Cmd { return v.stepUnit(-1) },
		stepOver:       func(string) tea.Cmd { return v.stepOver(1) },
		overBack:       func(string) tea.Cmd { return v.stepOver(-1) },
		nextEvent:      func(string) tea.Cmd { return v.stepEvent(1) },
		prevEvent:      func(string) tea.Cmd { return v.stepEvent(-1) },
		runOn:          func(string) tea.Cmd { return v.runWalk(1) },
		runBack:        func(string) tea.Cmd { return v.runWalk(-1) },
		stepOut:        func(string) tea.Cmd { return v.stepOut(1) },
		listStops:      func(string) tea.Cmd { return v.openList(listBreaks) },
		clearStops:     func(string) tea.Cmd { return v.deleteBreaks("") },
		listFrames:     func(string) tea.Cmd { return v.openList(listCalls) },
		watchCell: func(arg string) tea.Cmd {
			if !v.Movable() {
				return v.NothingYet()
			}
			return v.watchHere(arg)
		},
		keymap.Toggle: v.toggleHere,
		keymap.Heat:   v.toggleStrip,
		breakpoint:    v.toggleBreak,
		unit:          v.nextUnit,
		nextWarp:      func(string) tea.Cmd { return v.turnWarp(1) },
		prevWarp:      func(string) tea.Cmd { return v.turnWarp(-1) },
	}
}

// SetTheme implements view.View.
func (v *Controller) SetTheme(th *theme.Theme) {
	v.code.SetTheme(th)
	v.ptx.SetTheme(th)
	v.regs.SetTheme(th)
	v.shared.SetTheme(th)
	v.warps.SetTheme(th)
	v.watches.SetTheme(th)
	v.lists.SetTheme(th)
}

// Parts implements view.View. A list that is open comes last.
func (v *Controller) Parts() []view.Part {
	parts := []view.Part{partCode, partPTX, partRegisters, partShared, partWarps}
	if len(v.walk.watches) > 0 {
		parts = append(parts, partWatches)
	}
	if v.list != listNone {
		parts = append(parts, partList)
	}
	return parts
}

// OfRun implements view.Dependent.
func (v *Controller) OfRun() (whole, fails bool) { return true, true }

// Edge goes to the first or last row or column; of source and PTX to the end of the line at the cursor.
func (v *Controller) Edge(rows, cols int) tea.Cmd {
	const far = 1 << 20
	switch {
	case v.at == partWarps:
		return v.Move(far*(rows+cols), 0)
	case cols > 0 && v.at == partCode:
		return v.ended(v.code.End())
	case cols > 0 && v.at == partPTX:
		return v.ended(v.ptx.End())
	}
	return v.Move(far*rows, far*cols)
}

// Text implements view.Copier.
func (v *Controller) Text() string {
	if v.Run == nil {
		return ""
	}
	return v.walkText()
}

// EditLine implements view.Editable.
func (v *Controller) EditLine() (file string, line int, ok bool) {
	file, line = v.code.Cursor()
	return file, line, file != "" && line > 0
}

// Busy says what is under way and how far it has come.
func (v *Controller) Busy() (what string, waits bool) {
	s := &v.walk
	switch {
	case !s.busy:
		return "", false
	case s.walk == nil:
		return s.what, true
	}
	return fmt.Sprintf("%s · step %d", s.what, s.walk.Clock()), true
}

// Cancel implements view.Worker: what the motion answers says that it was cancelled.
func (v *Controller) Cancel() bool {
	if v.walk.busy {
		v.walk.stop()
	}
	return v.walk.busy
}

// Close implements view.Closer.
func (v *Controller) Close() { v.walk.stop() }

// shown reports whether the view is on screen.
func (v *Controller) shown() bool { return v.Root.Showing() == view.Source }

// followed reports whether a view is on screen that shows the block where it stands.
func (v *Controller) followed() bool { return v.shown() || v.Root.Showing() == view.Pipeline }

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case view.NewRun:
		v.walk.drop()
		v.walk.turnTo(v.kernel())
		v.follow(v.SourceOf)
		v.showLists()
	case view.Ran:
		v.announce()
	case view.Shown, view.Moved:
		return v.loadWalk()
	case view.NumbersChanged:
		v.shared.SetFormat(v.Numbers.Format)
	case walkedMsg:
		return v.walked(msg)
	case walkTickMsg:
		return v.walkTicked(msg)
	}
	return nil
}

// nextFormat is the key of number formats: of the shared array's cells, as in Tile, or of the registers.
func (v *Controller) nextFormat(string) tea.Cmd {
	if v.at != partShared {
		v.Say("registers: " + v.regs.NextFormat().String())
		return nil
	}
	v.Numbers.Format = v.Numbers.Format.Next()
	v.Say("numbers: " + v.Numbers.Format.String())
	cmd := v.Root.Announce(view.NumbersChanged{})
	v.showWalk(false)
	return tea.Batch(cmd, v.Root.Changed())
}

// toggleStrip shows registers as strips by lane, or not.
func (v *Controller) toggleStrip(string) tea.Cmd {
	v.Say("registers: strips by lane " + view.OnOff(v.regs.ToggleStrip()))
	return nil
}

func (v *Controller) toggleFollow(string) tea.Cmd {
	v.Follow = !v.Follow
	v.Say(v.Worded("source, PTX and kv tile follow the warp: ") + view.OnOff(v.Follow))
	v.showWalk(v.Follow)
	return v.Root.Changed()
}

// ToConflict implements races.Stepper: the block before the earlier side of a conflict's access.
func (v *Controller) ToConflict(sc *scene.Scene) tea.Cmd {
	a := sc.Accesses[min(sc.Pair[0], sc.Pair[1])]
	b := sc.Accesses[max(sc.Pair[0], sc.Pair[1])]
	c := v.Cursor
	c.Block, c.KVTile = sc.Request.Block, max(0, a.KVTile)
	v.Jump(v.Run.Nearest(c))
	var show tea.Cmd
	if sc.Writers != nil {
		row, col := v.cellAt(sc.Request.Variable, sc.Request.Index)
		show = v.showCell(sc.Request.Variable, row, col)
	}
	said := fmt.Sprintf("before the conflict on %s: warp %d here, warp %d at step %d", sc.Request.Variable,
		a.Warp, b.Warp, b.Step)
	return tea.Batch(show, v.inSource("going to the conflict",
		func(ctx context.Context, w walk.Walk) (answer, error) {
			if _, err := w.Seek(ctx, a.Step); err != nil {
				return answer{lane: -1}, err
			}
			w.SetWarp(a.Warp)
			return answer{said: said, lane: bits.TrailingZeros32(a.Lanes)}, nil
		}))
}
