// Package flags is the Flags view's pane: what can be switched (all that changes what the next run
// executes), what it is for or why it is refused, and the run pinned as A beside the one on screen.
//
// The one idea: it shows a list of switches that somebody else made and keeps only a selection; what a switch
// does to the next run is decided outside.
//
// It must not know manifests or sessions.
package flags

import (
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/outcome"
	"tilescope/tui/theme"
)

// Kind is what a switch switches.
type Kind uint8

// The kinds, in the order of the list.
const (
	Flag Kind = iota
	Gate
	Inject
	Fault
	Shape
	Seed
	Backend
	Schedule
	Landing
	Builder
	Variant
)

var headings = [...]string{"FLAGS", "GATE", "INJECTED VALUES", "FAULTS", "SHAPE", "SEED", "BACKEND",
	"SCHEDULE OF THE EMULATOR", "CP.ASYNC LANDS", "BUILDER", "VARIANT"}

// Radio reports whether one of the kind's switches is on at a time.
func (k Kind) Radio() bool { return k != Flag && k != Fault && k != Seed }

// Item is one switch.
type Item struct {
	Kind    Kind
	Name    string
	Value   string // a flag's value, a shape's numbers, the seed; of a fault where it comes from
	On      bool
	Changed bool   // differs from what the variant says
	Help    string // what it is
	Needs   string // the conditions that do not hold and without which it can do nothing
	Refused string // why it cannot be switched now; "" where it can
	Moves   bool   // it can, and then goes to another target or shape: Refused is why not with this one
	Note    string // what switching it changes besides
}

// Pinned is a run to compare with.
type Pinned struct {
	Name   string
	Report *report.Run
}

// Data is what is shown.
type Data struct {
	Items   []Item
	Request string   // what the next run is, in one line
	State   string   // of that request while it has no run: running, not run, failed; else ""
	Reasons []string // why it failed, and what can be done
	Run     outcome.Outcome
	A       *Pinned
	Apart   string // why A is not compared with the run on screen, "" where it is
	B       string // name of the run on screen

	// Compared: heading of the two below where they are of an earlier run than the one on screen, else ""
	Compared   string
	Bisection  *report.Bisection
	Ends       [2]string          // the kernels that were bisected
	Comparison *report.Comparison // of A and B, kernel against kernel
	Against    string             // A's name in the comparison
}

// Panes of the view, as focus counts them.
const (
	List = iota
	About
)

// Pane draws the view.
type Pane struct {
	theme.Frame[int]
	data   Data
	shown  []int // indices of the items that the filter lets through
	sel    int   // index into data.Items
	top    int   // first line of the list
	scroll int   // first line of the right part
	filter string
	match  string
	sought bool // the selection has been moved to a match
	grow   int

	about  int              // lines of the right part
	marks  [numSections]int // where its sections begin
	wanted Section          // to be scrolled to at the next drawing
}

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, 0)} }

// SetData shows another list. The selection stays on the same switch.
func (p *Pane) SetData(d Data) {
	var was Item
	if it := p.Selected(); it != nil {
		was = *it
	}
	p.data, p.Changed = d, true
	if was.Name == "" { // the first list: start on the variant that is on
		p.sel = max(0, slices.IndexFunc(d.Items, func(it Item) bool { return it.On }))
	}
	for i, it := range d.Items {
		if it.Kind == was.Kind && (it.Name == was.Name || it.Kind == Seed) {
			p.sel = i
		}
	}
	p.SetFilter(p.filter)
}

// SetFilter shows only switches whose name or help contains text.
func (p *Pane) SetFilter(text string) {
	p.filter, p.Changed = text, true
	p.shown = p.shown[:0]
	at := -1
	for i, it := range p.data.Items {
		if text == "" || holds(it, text) {
			if i == p.sel {
				at = len(p.shown)
			}
			p.shown = append(p.shown, i)
		}
	}
	if at < 0 && len(p.shown) > 0 {
		p.sel = p.shown[0]
	}
}

// Here returns what selects the switch again that is selected now.
func (p *Pane) Here() (back func()) {
	sel := p.sel
	return func() { p.sel, p.Changed = max(0, min(sel, len(p.data.Items)-1)), true }
}

// SetMatch marks switches that contain text.
func (p *Pane) SetMatch(text string) { p.match, p.sought, p.Changed = text, false, true }

// Find moves the selection to the next (dir 1) or previous item that matches a text. The first time it is one
// that matches best: by its whole name where an item has exactly that name, else by a part of its name or
// value, then by the heading that it stands under, and only where none of these has it by its description.
// From there it goes on through all that are marked.
func (p *Pane) Find(text string, dir int) bool {
	n := len(p.shown)
	least := byDescription
	if !p.sought {
		for _, i := range p.shown {
			least = max(least, matches(p.data.Items[i], text))
		}
	}
	at := p.position()
	for k := 1; k <= n; k++ {
		i := ((at+dir*k)%n + n) % n
		if matches(p.data.Items[p.shown[i]], text) >= least {
			p.sel, p.sought, p.Changed = p.shown[i], true, true
			return true
		}
	}
	return false
}

// matching is how well an item matches a text.
type matching int

const (
	byNothing matching = iota
	byDescription
	byHeading
	byPart // of its name or value
	byName
)

func matches(it Item, text string) matching {
	part := strings.ToLower(text)
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), part) }
	switch {
	case it.Name == text:
		return byName
	case has(it.Name) || has(it.Value):
		return byPart
	case has(headings[it.Kind]):
		return byHeading
	case has(it.Help):
		return byDescription
	}
	return byNothing
}

func holds(it Item, text string) bool { return matches(it, text) != byNothing }

// Selected is the switch under the cursor, or nil.
func (p *Pane) Selected() *Item {
	if p.sel < 0 || p.sel >= len(p.data.Items) {
		return nil
	}
	return &p.data.Items[p.sel]
}

// Nearest lists the switches, those nearest to the selection first.
func (p *Pane) Nearest() []Item {
	var out []Item
	for d := range len(p.data.Items) {
		if i := p.sel - d; i >= 0 {
			out = append(out, p.data.Items[i])
		}
		if i := p.sel + d; d > 0 && i < len(p.data.Items) {
			out = append(out, p.data.Items[i])
		}
	}
	return out
}

func (p *Pane) position() int {
	for i, k := range p.shown {
		if k == p.sel {
			return i
		}
	}
	return 0
}

// Move moves the selection by n switches, or the right part by n lines where that has the focus. It reports
// whether anything moved.
func (p *Pane) Move(n int) bool {
	p.Changed = true
	if p.Focus == About {
		was := p.scroll
		p.scroll = max(0, min(p.scroll+n, p.about-(p.H-2)))
		return p.scroll != was
	}
	if len(p.shown) == 0 {
		return false
	}
	was := p.sel
	p.sel = p.shown[max(0, min(p.position()+n, len(p.shown)-1))]
	p.scroll = 0
	return p.sel != was
}

// Section is a part of what stands beside the list.
type Section uint8

// The sections that can be scrolled to.
const (
	Nothing Section = iota
	Compared
	Bisected
	numSections
)

// ScrollTo brings a section into view.
func (p *Pane) ScrollTo(s Section) { p.wanted, p.Changed = s, true }

// Grow gives the list n columns more or fewer.
func (p *Pane) Grow(n int) {
	p.grow, p.Changed = max(-12, min(24, p.grow+2*n)), true
}
