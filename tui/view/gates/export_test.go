package gates

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/gates"
	"tilescope/tui/view"
)

// What tests of the controller look at.

func (v *Controller) Pane() *Pane       { return v.pane }
func (v *Controller) Running() bool     { return v.sweep.running }
func (v *Controller) Docs() int         { return len(v.sweep.docs) }
func (v *Controller) Targets() []string { return v.gateRows() }

// Judge stores a verdict as one that was judged by the request on screen.
func (v *Controller) Judge(doc *gates.TargetDoc) {
	j := v.judgedBy()
	j.doc = doc
	v.sweep.docs = map[string]judgement{doc.Target: j}
	v.showGates()
}

// Sweeping is how far a task's sweep has come.
func Sweeping(t view.Task, p gates.Progress) tea.Msg {
	return sweepMsg{gen: t.Gen, p: p, until: t.Ctx}
}

// Select puts the cursor on a variant.
func (p *Pane) Select(target string) {
	if i := slices.IndexFunc(p.data.Rows, func(r Row) bool {
		return r.Target == target
	}); i >= 0 && i != p.sel {
		p.sel, p.line, p.first = i, 0, 0
		p.explain()
	}
}
