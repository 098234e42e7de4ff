package debugkern

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Compare executes a and b on the same inputs and compares every tile that both capture, bit for bit. It
// returns a *report.Error as Run does; where a kernel did not build, load or run there is a document as well as the
// error.
func (s *Session) Compare(ctx context.Context, a, b Request, progress func(Progress)) (*report.Comparison, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	if err := s.sameProblem(ctx, a, b); err != nil {
		return nil, err
	}
	c := newComparison(a, b)
	var sides [2]*execution
	for i, req := range []Request{a, b} {
		e := &execution{s: s, req: req, progress: progress}
		cross, err := e.capture(ctx)
		describe(&c.Targets[i], e, cross)
		if err != nil {
			return failedComparison(c, i, err), err
		}
		sides[i] = e
	}
	c.Backend = sides[0].header().Backend
	for i, e := range sides {
		if slices.ContainsFunc(e.st.result.Findings, func(f target.Finding) bool { return f.Kind == target.Varies }) {
			note(c, "%s varies from launch to launch: what differs may be chance", "AB"[i:i+1])
		}
	}
	return c, compareStates(c, sides[0].st, sides[1].st)
}

// CompareRuns compares two finished runs of the same shape and seed without executing anything.
func CompareRuns(a, b *Run) (*report.Comparison, error) {
	if err := sameRuns(a, b); err != nil {
		return nil, err
	}
	c := newComparison(a.Request, b.Request)
	for i, r := range []*Run{a, b} {
		c.Targets[i] = report.Side{
			Target: r.Request.Target, Kernel: r.Plan.Kernel, Flags: r.Selection.Flags, Faults: r.Report.Faults,
			Builder: r.Report.Backend.Builder, Cross: r.Report.Cross,
		}
	}
	c.Backend = a.Report.Backend
	return c, compareStates(c, a.state, b.state)
}

func newComparison(a, b Request) *report.Comparison {
	c := &report.Comparison{
		Schema: report.CompareSchema, Gate: a.Gate.String(), Inject: a.Inject, Seed: a.Seed, Verdict: report.Equal,
		Stages: []report.StageComparison{}, OnlyA: []string{}, OnlyB: []string{}, Notes: []string{},
	}
	if c.Inject == "" {
		c.Inject = "reference"
	}
	for i, t := range []string{a.Target, b.Target} {
		c.Targets[i] = report.Side{Target: t, Flags: map[string]int{}, Faults: []string{}, Builder: "none"}
	}
	return c
}

func note(c *report.Comparison, format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// failedComparison makes the comparison the document of a run that has no verdict.
func failedComparison(c *report.Comparison, side int, err error) *report.Comparison {
	run, failed := sideError(side, err)
	if run == nil {
		return nil
	}
	c.Verdict, c.Shape, c.Backend, c.Error = report.Failed, run.Shape, run.Backend, failed
	return c
}

// sideError returns the document of one of two kernels that did not build, load or run, and its error as a document about both
// has it; nil where err is another error. Side 0 is A.
func sideError(side int, err error) (*report.Run, *report.SideError) {
	var coded *report.Error
	if !errors.As(err, &coded) || coded.Report == nil || coded.Report.Error == nil {
		return nil, nil
	}
	return coded.Report, &report.SideError{Side: "ab"[side : side+1], Failure: *coded.Report.Error}
}

func describe(d *report.Side, e *execution, cross *report.Cross) {
	d.Cross = cross
	if e.builder != "" {
		d.Builder = e.builder
	}
	if e.r != nil {
		d.Kernel, d.Flags, d.Faults = e.r.plan.Kernel, e.r.sel.Flags, append(d.Faults, e.r.sel.Faults...)
	}
}

// sameProblem checks both requests, and that a shape's name means the same in both manifests.
func (s *Session) sameProblem(ctx context.Context, a, b Request) error {
	if a.Inputs != "" { // the file defines the shape, and is read later
		return nil
	}
	ra, err := s.resolve(ctx, a, nil)
	if err != nil {
		return err
	}
	rb, err := s.resolve(ctx, b, nil)
	if err != nil {
		return err
	}
	if x, y := ra.plan.Shape, rb.plan.Shape; x != y {
		return report.Usagef("shape %s is %s for %s and %s for %s: give --shape B,H,S,D", a.Shape, x, a.Target, y, b.Target)
	}
	return nil
}

// capture executes a request as Run does, up to its tiles: nothing is judged.
func (e *execution) capture(ctx context.Context) (cross *report.Cross, err error) {
	ctx, cancel := Limited(ctx, e.req.Timeout)
	defer cancel()
	e.ctx = ctx
	for _, step := range []func() error{e.open, e.build, e.launch} {
		if err := step(); err != nil {
			return nil, e.explain(err)
		}
	}
	if cross, err = e.cross(); err != nil {
		return nil, e.explain(err)
	}
	return cross, nil
}

// compareStates fills the document from two executions.
func compareStates(c *report.Comparison, a, b *runState) error {
	pa, pb := a.r.plan, b.r.plan
	c.Shape = pa.Shape
	if (pa.Quant == nil) != (pb.Quant == nil) || pa.Quant != nil && *pa.Quant != *pb.Quant {
		note(c, "the two encode the same inputs differently: their tiles cannot be equal to the bit but by chance")
	}
	var first *report.DifferingCell
	for i := range pa.Stages {
		s := pa.Stages[i].Stage
		inA, inB := captures(a, s), captures(b, s)
		switch {
		case inA && inB:
			doc := compareStage(a, b, s)
			if doc.First != nil && (first == nil || doc.First.KVTile < first.KVTile) {
				first, c.First = doc.First, doc.Name
			}
			c.Stages = append(c.Stages, doc)
		case inA:
			c.OnlyA = append(c.OnlyA, s.String())
		}
	}
	for i := range pb.Stages {
		if s := pb.Stages[i].Stage; captures(b, s) && !captures(a, s) {
			c.OnlyB = append(c.OnlyB, s.String())
		}
	}
	c.Output = compareOutput(a, b)
	return conclude(c)
}

// conclude settles the verdict over what could be compared; nothing at all is bad input.
func conclude(c *report.Comparison) error {
	verdicts := []string{}
	for i := range c.Stages {
		verdicts = append(verdicts, c.Stages[i].Verdict)
	}
	if c.Output != nil {
		verdicts = append(verdicts, c.Output.Verdict)
	}
	switch {
	case slices.Contains(verdicts, report.Differ):
		c.Verdict = report.Differ
	case slices.Contains(verdicts, report.Equal):
		c.Verdict = report.Equal
	default:
		return report.Usagef("%s and %s capture no stage that could be compared", c.Targets[0].Target, c.Targets[1].Target)
	}
	return nil
}

func captures(st *runState, s probes.Stage) bool {
	sp := st.r.plan.Stage(s)
	return sp != nil && sp.Capture.Kind != probes.CaptureNone && st.r.stages.Has(s)
}
