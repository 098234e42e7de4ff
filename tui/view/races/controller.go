package races

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// Parts of the view, as the pane counts them.
const (
	partStory    view.Part = "story"
	partFindings view.Part = "findings"
	partFinding  view.Part = "about"
	partSides    view.Part = "source"
	partWriters  view.Part = "cells"
	partSchedule view.Part = "schedule"
)

var (
	parts = []view.Part{Story: partStory, List: partFindings, About: partFinding, Sides: partSides,
		Cells: partWriters, Strip: partSchedule}
	// order is that of the focus key. The last two are not always on screen.
	order = []view.Part{partFindings, partFinding, partSides, partStory, partWriters, partSchedule}
)

// Stepper goes to a moment of a block. The Source view does.
type Stepper interface {
	// ToLine goes to the moment at which a warp of a block comes to a line.
	ToLine(m view.Moment) tea.Cmd
	// ToConflict goes before the earlier access of a conflict.
	ToConflict(sc *scene.Scene) tea.Cmd
}

// Controller is the Races view.
type Controller struct {
	*view.Context
	view.OnePane
	pane     *Pane
	stepper  Stepper
	inquirer Investigator // nil where the engine cannot be asked
	race     inquiry
	search   string
	causes   []diagnose.Cause // of a diagnosis of the run on screen
	errors   []report.Finding // that it found, or the run itself
	over     bool             // that diagnosis has ended
}

// New returns the Races view. It steps to a finding by s.
func New(c *view.Context, s Stepper) *Controller {
	p := NewPane(c.Theme)
	v := &Controller{Context: c, OnePane: view.NewOnePane(p, parts), pane: p, stepper: s}
	if e, ok := c.Engine.(*debugkern.Session); ok {
		v.inquirer = session{e}
	} else if e, ok := c.Engine.(Investigator); ok {
		v.inquirer = e
	}
	return v
}

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	return keymap.Layer{Name: view.Races, Tab: "Race", Uses: []keymap.Use{
		{Action: keymap.NextBad, Name: "next-finding", Help: "next finding"},
		{Action: keymap.PrevBad, Name: "previous-finding", Help: "previous finding"},
		{Action: keymap.Diagnose, Hint: "diagnose"},
		{Action: keymap.BoundUp, Name: "open-tile", Help: "open the finding in Tile"},
		{Action: keymap.Search, Help: "search the list: race, a variable, a line"},
		{Action: keymap.Filter, Help: "show only what matches: race, error, advice, a variable"},
		{Action: keymap.Open, Name: "open-source", Help: "the line in Source", Hint: "source"},
		{Action: keymap.Toggle, Name: "fold", Help: "fold or unfold advice"},
	}, Own: []keymap.Binding{
		{Action: whatIf, Keys: []string{"i"}, Label: "i",
			Help: "what if it were fixed, or this synchronisation removed: virtually, nothing is compiled",
			Hint: "what if", Group: "Races"},
		{Action: replay, Keys: []string{"p"}, Label: "p",
			Help: "replay a schedule in which the race happens and most cells of its block are wrong, once; again: end that", Hint: "replay", Group: "Races"},
	}}
}

// Actions that no other view has.
const (
	whatIf keymap.Action = "what-if"
	replay keymap.Action = "replay"
)

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.Open:     func(string) tea.Cmd { return v.openFinding() },
		keymap.Diagnose: func(string) tea.Cmd { return v.diagnose() },
		keymap.BoundUp:  func(string) tea.Cmd { return v.findingTile() },
		keymap.NextBad:  func(string) tea.Cmd { return v.nextFinding(1) },
		keymap.PrevBad:  func(string) tea.Cmd { return v.nextFinding(-1) },
		keymap.Toggle:   func(string) tea.Cmd { return v.foldAdvice() },
		whatIf:          func(string) tea.Cmd { return v.whatIf() },
		replay:          func(string) tea.Cmd { return v.replay() },
	}
}

// Commands implements view.Commander.
func (v *Controller) Commands() []view.Command {
	return []view.Command{{Group: view.RunCommands, Name: string(keymap.Diagnose),
		Help: "why the run is wrong: every checker, several schedules, causes with proof, in view Races",
		Do:   func(string) tea.Cmd { return v.Diagnose() }}}
}

// Parts implements view.View.
func (v *Controller) Parts() []view.Part {
	switch {
	case v.pane.Accessless():
		return order[:len(order)-2]
	case v.pane.Hanging():
		return order[:len(order)-1]
	}
	return order
}

// OfRun implements view.Dependent: a diagnosis is of the request, not of the run on screen.
func (v *Controller) OfRun() (whole, fails bool) { return !v.diagnosing(), !v.diagnosing() }

// Move implements view.View. Before the terminal has had room for a view no part has the focus.
func (v *Controller) Move(rows, cols int) tea.Cmd {
	return v.moveIn(max(Story, slices.Index(parts, v.Focused())), rows+cols)
}

// Click focuses the part under the mouse; in the list it chooses, and a second click opens.
func (v *Controller) Click(x, y int) tea.Cmd {
	was := v.selected()
	where, ok := v.pane.Hit(x, y)
	v.Root.Focus(parts[where])
	switch {
	case ok && was != nil && was == v.selected():
		return v.openFinding()
	case ok:
		return v.askScene()
	}
	return nil
}

// Wheel implements view.View.
func (v *Controller) Wheel(x, y, rows, _ int) tea.Cmd {
	return v.Quietly(func() tea.Cmd { return v.moveIn(v.pane.Under(x, y), view.Sign(rows)) })
}

// Filter implements view.Filterer.
func (v *Controller) Filter(text string) error {
	v.pane.SetFilter(text)
	return nil
}

// Matching implements view.Counter: the rows of the list.
func (v *Controller) Matching() int { return len(v.pane.rows) }

// Search implements view.Searcher.
func (v *Controller) Search(text string) error {
	v.search = text
	return nil
}

// Here implements view.Searcher.
func (v *Controller) Here() (back func() tea.Cmd) {
	list := v.pane.Here()
	return func() tea.Cmd {
		list()
		return v.askScene()
	}
}

// Text implements view.Copier.
func (v *Controller) Text() string { return v.pane.Text() }

// SourceLine implements view.Located.
func (v *Controller) SourceLine() (file string, line int, ok bool) {
	if at := v.underCursor(); at != nil {
		return at.File, at.Line, true
	}
	return "", 0, false
}

// Causes are what a diagnosis of the run on screen has found so far, and whether it has ended.
func (v *Controller) Causes() (causes []diagnose.Cause, over bool) { return v.causes, v.over }

// Found implements view.Diagnoser.
func (v *Controller) Found() (errors []report.Finding, causes int) { return v.errors, len(v.causes) }

// HasCauses implements view.Diagnoser.
func (v *Controller) HasCauses() bool { return v.over && len(v.causes) > 0 }

// phases are what a diagnosis does, by the phase that it reports.
var phases = map[string]string{
	"resolve": "reading the kernel", "inputs": "making inputs", "reference": "computing the reference",
	"build": "building", "load": "loading", "run": "running",
	"compare": "comparing", "explain": "explaining errors", "schedules": "trying schedules",
	"perturb": "trying delays",
}

// Under is how far a diagnosis has come: "diagnosis: trying schedules block 0,0,0 3/24".
func Under(p debugkern.Progress) string {
	if words := phases[p.Phase]; words != "" {
		p.Phase = words
	}
	return strings.TrimSuffix("diagnosis: "+view.PlainProgress(p), ": ")
}

// Busy implements view.Worker.
func (v *Controller) Busy() (what string, waits bool) {
	switch {
	case v.race.active:
		return view.Since(Under(v.race.last), v.race.ran), false
	case v.race.trying:
		return view.Since("trying", v.race.triedFor), false
	}
	return "", false
}

// Cancel implements view.Worker.
func (v *Controller) Cancel() bool { return v.cancelRace() }

// Uncover implements view.Covered: the answer of a what-if on what the cursor is on is closed.
func (v *Controller) Uncover() bool {
	key := v.lookKey()
	if key == "" || v.lookOf(key).Tried == nil {
		return false
	}
	v.lookOf(key).Tried = nil
	v.showLook()
	return true
}

// Close implements view.Closer.
func (v *Controller) Close() { v.race.stop() }

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case view.Drawn, view.RequestChanged:
		v.showRaces()
	case view.Second:
		v.secondPassed()
	case view.Shown, view.Ran:
		return v.askScene()
	case view.SourceChanged: // a diagnosis of the source before it changed is of another kernel
		v.race.stop()
		v.race = inquiry{seq: v.race.seq + 1}
	default:
		return v.raceMsg(msg)
	}
	return nil
}
