package view

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
)

// Fact is something known of a run: its name and its text.
type Fact struct{ Name, Text string }

// Known is what the run on screen has shown, for views that have room before their own work is started; nil
// where none answers the request on screen.
func (x *Context) Known() []Fact {
	r := x.Outcome().Current()
	if r == nil || x.Run.Plan == nil {
		return nil
	}
	var out []Fact
	say := func(name, format string, args ...any) {
		out = append(out, Fact{name, fmt.Sprintf(format, args...)})
	}
	say("verdict", "%s %s", x.Theme.VerdictMark(r.Verdict), r.Outcome())
	if !x.Unjudged() {
		say("stages", "%s", x.stageMarks(r))
	}
	if c, ok := x.Run.FirstBad(); ok {
		x.sayFirstBad(r.Stage(c.Stage.String()), say)
	}
	if o := r.Output; o != nil {
		errors := fmt.Sprintf("max error %s, mean error %s", o.Most(), o.Size(o.MeanAbs, "%.3g"))
		if odd := o.Odd(); odd != "" {
			errors = odd
		}
		say("output", "%s %s against %s: %s, %.3g %% of cells over the tolerance",
			x.Theme.VerdictMark(o.Verdict), o.Verdict, o.Against(), errors, 100*float64(o.BadFraction))
	}
	if c := r.Cost; c.WarpInstructions > 0 { // a GPU does not count them
		text := fmt.Sprintf("%d warp instructions", c.WarpInstructions)
		if c.MMAOutputs > 0 {
			text += fmt.Sprintf(", %d mma outputs", c.MMAOutputs)
		}
		say("counted", "%s, over %d blocks", text, len(x.Run.Viewer.Blocks()))
	}
	say("took", "build %.0f ms, run %.0f ms, compare %.0f ms", float64(r.Cost.BuildMS),
		float64(r.Cost.RunMS), float64(r.Cost.CompareMS))
	if p := r.Resources; p != nil {
		say("ptxas", "%d registers, %d shared bytes, %d spilled, for %s", p.Registers, p.SharedBytes,
			p.SpillStoreBytes+p.SpillLoadBytes, p.Arch)
	}
	return out
}

// stageMarks are the stages with the marks of their verdicts.
func (x *Context) stageMarks(r *report.Run) string {
	marks := make([]string, len(r.Stages))
	for i := range r.Stages {
		marks[i] = r.Stages[i].Name + " " + x.Theme.VerdictMark(r.Stages[i].Verdict)
	}
	return strings.Join(marks, ", ")
}

// sayFirstBad adds the first bad cell of a stage, and what its errors look like.
func (x *Context) sayFirstBad(d *report.Stage, say func(name, format string, args ...any)) {
	b, sp := d.FirstBad, x.Run.Plan.Stage(probes.Stage(d.Name))
	at := d.Name + " " + b.Block.String()
	if tile := TileText(x.Run.Plan, sp, b.KVTile); tile != "" {
		at += " " + tile
	}
	if sp != nil {
		at += " " + cell.Name(sp, b.Row, b.Col)
	}
	if b.Source != nil {
		at += ", " + b.WrittenAt()
	}
	say("first bad", "%s: got %s, want %s", at, cell.Long(float64(b.Got)), cell.Long(float64(b.Want)))
	if text := b.FollowsText(); text != "" {
		say("", "%s", text)
	}
	if pattern := cell.Pattern(d); pattern != "" {
		say("pattern", "%s", pattern)
	}
}
