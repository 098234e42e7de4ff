package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// damage is how far a run's last judged stage is from the reference.
type damage struct {
	stage           string
	max, bound      float64
	bad, cells, nan int
	odd             string // nan in words
}

func damageOf(rep *report.Run) damage {
	for i := len(rep.Stages) - 1; i >= 0; i-- {
		if d := damageAt(&rep.Stages[i]); d.stage != "" {
			return d
		}
	}
	return damage{}
}

// damageAt is how far a stage is from the reference, with no stage where it was not judged.
func damageAt(st *report.Stage) damage {
	if st == nil || st.Verdict == report.Off || st.Global.Cells == 0 {
		return damage{}
	}
	return damage{
		st.Name, float64(st.Global.MaxAbs), float64(st.Global.Bound), st.Global.Bad, st.Global.Cells,
		st.Global.Nonfinite, st.Global.Odd(),
	}
}

// damage is how far a run of the kernel, changed or not, is from the reference: at the last judged stage, or,
// where the kernel as it is has that one right and other outputs wrong, at the last of these.
func (q *inquiry) damage(rep *report.Run) damage {
	if damageOf(q.base.Report).bad > 0 {
		return damageOf(rep)
	}
	outputs := q.run.Plan.Ordered(q.run.Plan.OutputSet())
	for _, out := range slices.Backward(outputs) {
		if damageAt(q.base.Report.Stage(out.String())).bad > 0 {
			return damageAt(rep.Stage(out.String()))
		}
	}
	return damageOf(rep)
}

// wrongOutputs lists the outputs that are wrong in the kernel as it is.
func (q *inquiry) wrongOutputs() (out []string) {
	for _, st := range q.run.Plan.Ordered(q.run.Plan.OutputSet()) {
		if damageAt(q.base.Report.Stage(st.String())).bad > 0 {
			out = append(out, st.String())
		}
	}
	return out
}

// shareGone is the part of the damage that is gone in a run: of several wrong outputs the mean of what is
// gone of each.
func (q *inquiry) shareGone(rep *report.Run) *report.Number {
	all := q.wrongOutputs()
	if len(all) < 2 {
		return q.damage(q.base.Report).share(q.damage(rep))
	}
	var sum float64
	for _, st := range all {
		n := damageAt(q.base.Report.Stage(st)).share(damageAt(rep.Stage(st)))
		if n == nil {
			return nil // it was not judged there
		}
		sum += float64(*n)
	}
	mean := report.Number(sum / float64(len(all)))
	return &mean
}

// damageText is how far a run is from the reference in words: of several wrong outputs each that still is.
func (q *inquiry) damageText(rep *report.Run) string {
	now := q.damage(rep)
	if len(q.wrongOutputs()) < 2 || slices.ContainsFunc(q.wrongOutputs(), func(st string) bool {
		return damageAt(rep.Stage(st)).stage == ""
	}) {
		return now.String()
	}
	return strings.TrimPrefix(q.outputs(rep), "though ")
}

// mostOutputs is how many wrong outputs the first line of a story names.
const mostOutputs = 3

// outputs says how far each wrong output of a run is from the reference, or that none is further off than its
// bound.
func (q *inquiry) outputs(rep *report.Run) string {
	var wrong, right []string
	var all probes.StageSet
	if q.run != nil {
		all = q.run.Plan.Ordered(q.run.Plan.OutputSet())
	}
	for _, out := range all {
		switch d := damageAt(rep.Stage(out.String())); {
		case d.bad > 0:
			wrong = append(wrong, d.String())
		case d.stage != "":
			right = append(right, d.stage)
		}
	}
	switch n := len(wrong); {
	case n > mostOutputs:
		return fmt.Sprintf("%s, and %d outputs more", strings.Join(wrong[:mostOutputs], ", "), n-mostOutputs)
	case n > 0:
		return strings.Join(wrong, ", ")
	case len(right) > 1:
		return "though " + strings.Join(right, ", ") + " are within their bounds"
	}
	if d := damageOf(rep); d.bad > 0 {
		return d.String()
	}
	return "though " + damageOf(rep).String()
}

// against names what the outputs that a story's first line says are off were compared with: " against the
// reference on the kernel's inputs". A document's output is compared with another one, on the
// inputs before they were quantised. "" where no output is off by a number.
func (q *inquiry) against(rep *report.Run) string {
	if !strings.Contains(q.outputs(rep), offBy) {
		return ""
	}
	of := "the kernel's inputs"
	if q.run != nil && len(q.run.Plan.Gate.Injected) > 0 {
		of = fmt.Sprintf("what gate %s injects", q.run.Plan.Gate.Name)
	}
	if st := rep.Stage(q.damage(rep).stage); st != nil && st.Reference.Given() {
		return fmt.Sprintf(" against %s", st.Reference)
	}
	return " against the reference on " + of
}

// share is the part of the damage that is gone. Damage is the largest error times the number of bad
// cells; where some value is NaN or Inf, the number of bad cells, of which the NaN and Inf count twice
// where they become fewer.
func (was damage) share(now damage) *report.Number {
	if was.bad == 0 || was.stage != now.stage {
		return nil
	}
	var n float64
	switch {
	case now.bad == 0:
		n = 1
	case was.nan > now.nan:
		n = 1 - float64(now.bad+now.nan)/float64(was.bad+was.nan)
	case was.nan > 0 || now.nan > 0 || !(was.max > 0):
		n = 1 - float64(now.bad)/float64(was.bad)
	default:
		n = 1 - now.max*float64(now.bad)/(was.max*float64(was.bad))
	}
	v := report.Number(math.Min(1, math.Max(0, n)))
	return &v
}

// weight orders damages: those with cells that are NaN or Inf first, else the largest error times the
// number of bad cells.
func (d damage) weight() float64 {
	if d.nan > 0 {
		return math.MaxFloat64 / 2 * (1 + float64(d.nan)/float64(d.nan+d.cells))
	}
	if d.bad == 0 {
		return 0
	}
	return d.max * float64(d.bad)
}

const offBy = " off by up to "

// String is the damage in words: "O off by up to 0.81 in 30298 of 32768 cells".
func (d damage) String() string {
	switch {
	case d.stage == "":
		return "nothing reached"
	case d.bad == 0:
		return d.stage + " within its bound"
	case d.nan > 0:
		return fmt.Sprintf("%s wrong in %d of %d cells, %s", d.stage, d.bad, d.cells, d.odd)
	}
	return fmt.Sprintf("%s%s%.3g in %d of %d cells", d.stage, offBy, d.max, d.bad, d.cells)
}
