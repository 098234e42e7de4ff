package pipe

import (
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// A kernel without stages has no timeline: the pane lists its arguments, before and after the launch.

const (
	argumentWidth = 18
	typeWidth     = 22
	writtenWidth  = 20
)

func (p *Pane) memoryHead(w int) string {
	judged := ""
	if p.data.Plan.Referenced() {
		judged = "verdict"
	}
	return p.Theme.Line(w).Add(p.Theme.Dim, " argument").Pad(argumentWidth).Add(p.Theme.Dim, "type").
		Pad(argumentWidth+typeWidth).
		Add(p.Theme.Dim, "when").Pad(argumentWidth+typeWidth+8).Add(p.Theme.Dim, "elements written").
		Pad(argumentWidth+typeWidth+8+writtenWidth).Add(p.Theme.Dim, judged).Done()
}

// memoryLine is one argument: its name, type and extents, when it is seen, and how much
// of it the launch wrote.
func (p *Pane) memoryLine(r row, w int) string {
	l := p.Theme.Line(w)
	at, name := r.plan.Stage == p.at.Stage, p.Theme.Text
	l.Pointer(at)
	if at {
		name = p.Theme.Strong
	}
	l.Add(name, p.Theme.Fit(r.plan.Stage.String(), argumentWidth-2)).Pad(argumentWidth)
	l.Add(p.Theme.Dim, p.Theme.Fit(cell.TypeText(r.plan), typeWidth-1)).Pad(argumentWidth + typeWidth)
	if r.plan.Capture.Before {
		return l.Add(p.Theme.Dim, "before").Pad(argumentWidth+typeWidth+8).
			Add(p.Theme.Dim, p.Theme.Fit(contents(p.data.Plan, r.plan.Capture.Output), l.Left())).Done()
	}
	l.Add(p.Theme.Text, "after").Pad(argumentWidth + typeWidth + 8)
	switch o := p.outputOf(r); {
	case o == nil || o.Written == nil:
	case *o.Written == 0:
		l.Add(p.Theme.Dim, "none")
	default:
		l.Add(p.Theme.Text, fmt.Sprintf("%d of %d", *o.Written, probes.Elems(o.Dims)))
	}
	if d := r.doc; d != nil && r.plan.Referenced() {
		style := p.Theme.Verdict(d.Verdict)
		l.Pad(argumentWidth+typeWidth+8+writtenWidth).Add(style, p.Theme.VerdictMark(d.Verdict)+" "+d.Verdict)
		if d.Local.Bad > 0 {
			l.Add(style, fmt.Sprintf(" %s", cell.Count(d.Local.Bad)))
		}
	} else if c := p.change(r.plan.Stage); c != nil && l.Left() > 30+argumentWidth {
		l.Pad(argumentWidth+typeWidth+8+writtenWidth).
			Add(p.Theme.Notice, p.Theme.Fit(view.ChangeText(p.data.Plan, c), l.Left()))
	}
	return l.Done()
}

// contents is what an argument holds before the launch, by the rule that makes it; "" for none.
func contents(plan *probes.Plan, name string) string {
	for i := range plan.Args {
		a := &plan.Args[i]
		if a.Name != name {
			continue
		}
		fill := a.Fill
		if in := plan.Input(name); in != nil {
			fill = in.Fill
		}
		if a.Contents != nil {
			return "from a file"
		}
		return fill.Text()
	}
	return ""
}

// change is how the values of a stage or argument differ from the run before, nil where they do not.
func (p *Pane) change(s probes.Stage) *debugkern.Difference {
	for i := range p.data.Changes {
		if p.data.Changes[i].Plan.Stage == s {
			return &p.data.Changes[i]
		}
	}
	return nil
}

// outputOf is what the report says of an argument after the launch.
func (p *Pane) outputOf(r row) *report.CheckOutput {
	doc := p.data.Run.Report()
	if doc == nil {
		return nil
	}
	for i := range doc.Outputs {
		if doc.Outputs[i].Name == r.plan.Capture.Output {
			return &doc.Outputs[i]
		}
	}
	return nil
}

// changed says how values differ from the run before.
func (p *Pane) changed(x *row, say func(name string, style theme.Style, format string, args ...any)) {
	if c := p.change(x.plan.Stage); c != nil {
		say("changed", p.Theme.Notice, "%s", view.ChangeText(p.data.Plan, c))
	}
}

// memory describes the argument under the cursor.
func (p *Pane) memory(x *row, say func(name string, style theme.Style, format string, args ...any)) {
	say("argument", p.Theme.Text, "%s, %s · Enter shows its values", cell.TypeText(x.plan), x.plan.Help)
	if x.plan.Capture.Before {
		say("name", p.Theme.Dim, "%s is %s as it was before the launch", x.plan.Stage, x.plan.Capture.Output)
		return
	}
	p.changed(x, say)
	o := p.outputOf(*x)
	if o == nil {
		return
	}
	switch {
	case o.Written == nil:
		say("written", p.Theme.Dim, "not observed")
	case *o.Written == 0:
		say("written", p.Theme.Text, "nothing: the launch stored no whole element")
	default:
		say("written", p.Theme.Text, "%d of %d elements", *o.Written, probes.Elems(o.Dims))
	}
	say("sha-256", p.Theme.Dim, "%s", o.Digest)
}
