package flags

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// Parts of the view, as the pane counts them.
const (
	partList  view.Part = "flags"
	partAbout view.Part = "about"
)

var parts = []view.Part{List: partList, About: partAbout}

// Controller is the Flags view.
type Controller struct {
	*view.Context
	view.OnePane
	pane *Pane

	search   string
	a        *Pinned // the run pinned as A
	repinned bool    // what an earlier session pinned has been run again
	versus   versus
	ahead    ahead
	stale    bool     // the pane's list is of another request or run
	faultsOf faultsOf // what faults was made for
	faults   []Item
}

// New returns the Flags view.
func New(c *view.Context) *Controller {
	p := NewPane(c.Theme)
	return &Controller{Context: c, OnePane: view.NewOnePane(p, parts), pane: p}
}

// Actions that no other view has.
const (
	pin       keymap.Action = "pin"
	unpin     keymap.Action = "unpin"
	bisection keymap.Action = "bisect"
	compare   keymap.Action = "compare"
)

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	const g = "Comparing"
	return keymap.Layer{Name: view.Flags, Tab: "Flag", Uses: []keymap.Use{
		{Action: keymap.NextBad}, {Action: keymap.PrevBad},
		{Action: keymap.Search, Help: "search: text of a name"}, {Action: keymap.Filter},
		{Action: keymap.Open, Help: "toggle and run again, as Space"},
		{Action: keymap.Toggle, Hint: "toggle"},
	}, Own: []keymap.Binding{
		{
			Action: pin, Keys: []string{"a"}, Label: "a",
			Help: "pin this run as A; later runs, B, are compared with it",
			Hint: "pin A", Group: g,
		},
		{Action: unpin, Keys: []string{"A"}, Label: "A", Help: "unpin A", Group: g},
		{Action: bisection, Keys: []string{"B"}, Label: "B",
			Help:  "bisect: smallest set of flags and faults between A and B that turns the verdict",
			Hint:  "bisect",
			Group: g},
		{Action: compare, Keys: []string{"C"}, Label: "C",
			Help: "compare A with B, kernel against kernel, tile by tile", Hint: "compare", Group: g},
	}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.NextBad: func(string) tea.Cmd { return v.find(1) },
		keymap.PrevBad: func(string) tea.Cmd { return v.find(-1) },
		keymap.Open:    func(string) tea.Cmd { return v.open() },
		keymap.Toggle:  func(string) tea.Cmd { return v.toggle() },
		pin:            v.pin,
		unpin:          v.unpin,
		bisection:      v.bisect,
		compare:        v.compare,
	}
}

// Commands implements view.Commander.
func (v *Controller) Commands() []view.Command {
	g := view.RunCommands
	return []view.Command{
		{Group: g, Name: "pin", Help: "pin this run as A", Do: v.pin},
		{Group: g, Name: "unpin", Help: "unpin A", Do: v.unpin},
		{Group: g, Name: "bisect", Help: "smallest set of flags between A and B that turns the verdict",
			Do: v.bisect},
		{Group: g, Name: "compare", Arg: "[RTOL[,ATOL]]",
			Help: "A with B, kernel against kernel, bit for bit or within a tolerance", Do: v.compareWithin},
	}
}

// Move moves through the list; h and l change a value there.
func (v *Controller) Move(rows, cols int) tea.Cmd {
	switch {
	case v.Focused() == partAbout:
		rows += cols
	case cols != 0:
		return v.change(cols)
	}
	return tea.Batch(v.Scrolled(v.pane.Move(rows)), v.aimAhead())
}

// Click selects a switch; a second click switches it.
func (v *Controller) Click(x, y int) tea.Cmd {
	was := v.pane.Selected()
	where, ok := v.pane.Hit(x, y)
	if where == About {
		v.Root.Focus(partAbout)
		return nil
	}
	v.Root.Focus(partList)
	if ok && was == v.pane.Selected() {
		return v.toggle()
	}
	return nil
}

// Wheel implements view.View.
func (v *Controller) Wheel(_, _, rows, _ int) tea.Cmd {
	v.pane.Move(view.Sign(rows))
	return nil
}

// Grow implements view.Grower.
func (v *Controller) Grow(n int) (tea.Cmd, bool) {
	if v.Focused() == partAbout {
		n = -n
	}
	v.pane.Grow(n)
	return nil, true
}

// Search implements view.Searcher.
func (v *Controller) Search(text string) error {
	v.search = text
	v.pane.SetMatch(text)
	return nil
}

// Here implements view.Searcher.
func (v *Controller) Here() (back func() tea.Cmd) {
	scroll := v.pane.Here()
	return func() tea.Cmd {
		scroll()
		return nil
	}
}

// Filter implements view.Filterer.
func (v *Controller) Filter(text string) error {
	v.pane.SetFilter(text)
	return nil
}

// find goes to the next or previous match of the search.
func (v *Controller) find(dir int) tea.Cmd {
	switch {
	case v.search == "":
		v.Say("nothing is searched for: / starts a search")
	case !v.pane.Find(v.search, dir):
		v.Complain("no match for " + v.search)
	}
	return nil
}

// Text implements view.Copier.
func (v *Controller) Text() string { return request.CommandLine(v.Req) }

// Close implements view.Closer.
func (v *Controller) Close() { v.ahead.stop() }

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case view.Drawn, view.RequestChanged:
		v.stale = true
		v.refreshShown()
	case view.Shown:
		v.refreshShown()
	case view.Started:
		v.ahead.stop()
	case view.NewRun:
		v.versus.comparison = nil
	case view.Ran:
		cmd := tea.Batch(v.repin(), v.aimAhead())
		if next := v.versus.waiting; next.run == msg.Gen && next.do != nil {
			v.versus.waiting = waiting{}
			return tea.Batch(cmd, next.do())
		}
		return cmd
	case view.Failed:
		v.versus.waiting = waiting{}
	case bisectedMsg:
		v.bisected(msg)
	case pairedMsg:
		return v.paired(msg)
	case pinnedMsg:
		v.repinnedRun(msg)
	case aheadDueMsg:
		return v.aheadDue(msg)
	}
	return nil
}

// open is Enter: a switch, or what was found out of A and B.
func (v *Controller) open() tea.Cmd {
	if v.Focused() == partAbout {
		return v.openVersus()
	}
	return v.toggle()
}

// toggle switches what the Flags view's cursor is on.
func (v *Controller) toggle() tea.Cmd {
	it := v.pane.Selected()
	if it == nil {
		v.Say("nothing to switch")
		return nil
	}
	switch it.Kind {
	case Variant:
		return v.ChooseVariant(it.Name)
	case Flag:
		return v.StepFlag(it.Name, 1)
	case Gate:
		return v.ChooseGate(probes.GateNamed(it.Name))
	case Fault:
		return v.ToggleFault(it.Name)
	case Shape:
		return v.ChooseShape(it.Name)
	case Inject, Backend, Schedule, Landing, Builder:
		return v.chooseSetting(it)
	}
	return v.Root.Ask(":", "seed ")
}

// change is h and l in the Flags view: the next or previous value.
func (v *Controller) change(n int) tea.Cmd {
	it := v.pane.Selected()
	switch {
	case it == nil:
		v.Say("nothing to change")
	case it.Kind == Seed:
		seed := v.Req.Seed
		if n < 0 && seed == 0 {
			v.Say("seeds count from 0")
			return nil
		}
		return v.ChooseSeed(seed + uint64(n))
	case it.Kind == Flag:
		return v.StepFlag(it.Name, n)
	case it.Kind == Schedule && it.Value != "":
		return v.stepScheduleSeed(it, n)
	default:
		v.Say("space switches; h l change a flag's value or a seed")
	}
	return nil
}
