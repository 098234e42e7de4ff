package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/probes"
)

// steps lists the stages that the kernel's result is computed by, in order, the inputs and the result aside.
func (q *inquiry) steps() []probes.Stage {
	var out []probes.Stage
	if q.run == nil {
		return nil
	}
	for _, sp := range q.run.Plan.Definitions() {
		if !sp.Loaded && sp.Phase == probes.PhaseEach {
			out = append(out, sp.Stage)
		}
	}
	return out
}

// before lists the stages that a stage is computed from, but for itself.
func (q *inquiry) before(s probes.Stage) []probes.Stage {
	if q.run == nil {
		return nil
	}
	sp := q.run.Plan.Definition(s)
	if sp == nil {
		return nil
	}
	return sp.Operands.Without(probes.StagesOf(s))
}

// unseen keeps those stages that were not captured, so that an error made there is first seen later.
func (q *inquiry) unseen(stages []probes.Stage) []probes.Stage {
	if q.run == nil || q.run.Plan.Gate.Name != probes.GateNone {
		return nil // what a gate leaves out or feeds in is no gap
	}
	seen := q.doc.Judged().Captured()
	return slices.DeleteFunc(slices.Clone(stages), seen.Has)
}

// onlyOutput says that of the steps none was judged, and how to see further; "" where some step was, or a
// cause says so.
func (q *inquiry) onlyOutput() string {
	steps := q.steps()
	missing := q.unseen(steps)
	if q.blind || len(steps) == 0 || len(missing) < len(steps) ||
		!q.doc.Judged().Captured().Meets(q.doc.Judged().Plan.OutputSet()) {
		return ""
	}
	if others := q.doc.Judged().Captured().Without(q.doc.Judged().Plan.OutputSet()); len(others) > 0 {
		list := stageList(missing)
		return fmt.Sprintf("%s %s not judged: %s", list, isAre(strings.Split(list, ", ")), q.toSee(missing))
	}
	return "only the output is judged: " + q.toSee(missing)
}

// toSee says what makes stages seen: naming them in the manifest, or not leaving them out.
func (q *inquiry) toSee(stages []probes.Stage) string {
	left := slices.DeleteFunc(slices.Clone(stages), func(s probes.Stage) bool {
		sp := q.run.Plan.Stage(s)
		return sp == nil || sp.Capture.Kind == probes.CaptureNone
	})
	if len(left) > 0 {
		return fmt.Sprintf("leave out --stages %s, and %s which step goes wrong",
			debugkern.StagesText(q.run.Request.Stages), showing(left, " "))
	}
	file := "the manifest"
	if m := q.run.Selection.Manifest; m.Dir != "" {
		file = filepath.Base(m.File)
	}
	if !slices.ContainsFunc(stages, func(s probes.Stage) bool { return q.run.Plan.Stage(s) == nil }) {
		return fmt.Sprintf("%s which step goes wrong, where %s captures %s (docs/own-kernel.md)",
			showing(stages, " "), file, themIt(strings.Split(stageList(stages), ", ")))
	}
	return fmt.Sprintf("%s which step goes wrong (docs/own-kernel.md)",
		showing(stages, ", added to "+file+", "))
}

// showing begins a sentence about what stages show: "stages S, P show", "stage S shows".
func showing(stages []probes.Stage, between string) string {
	if len(stages) == 1 {
		return "stage " + stages[0].String() + between + "shows"
	}
	return "stages " + stageList(stages) + between + "show"
}

// blindly rewrites a cause whose stage is computed from steps that nobody saw: where the error
// was made is not known.
func (q *inquiry) blindly(c *Cause, stage probes.Stage) {
	missing := q.unseen(q.before(stage))
	if len(missing) == 0 {
		return
	}
	they := stageList(missing)
	if i := strings.LastIndex(they, ", "); i >= 0 {
		they = they[:i] + " and " + they[i+2:]
	}
	c.Title = strings.Replace(c.Title, "arithmetic of stage ", "arithmetic up to stage ", 1)
	c.Proof = append(c.Proof,
		fmt.Sprintf(
			"%s, which %s is computed from, %s not judged, and the reference's taken in their place: the error may be made before",
			they, stage, isAre(strings.Split(they, " and "))))
	c.Advice += q.seeFirst(stage)
	q.blind = true
}

// seeFirst is what an advice about a stage adds where stages that it is computed from were not judged: how to
// see them; else "".
func (q *inquiry) seeFirst(stage probes.Stage) string {
	missing := q.unseen(q.before(stage))
	if len(missing) == 0 {
		return ""
	}
	steps := q.steps()
	inputs := slices.DeleteFunc(missing, func(st probes.Stage) bool { return slices.Contains(steps, st) })
	return "; " + q.toSee(append(inputs, q.unseen(steps)...))
}
