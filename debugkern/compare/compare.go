// Package compare lays two kernels' tiles over each other, bit for bit or within a tolerance: two requests,
// or two runs that exist already.
//
// The one idea: tiles of two kernels belong together where they compute the same part of the problem, by
// the positions that both manifests name, whatever the tilings. It says where two kernels differ, not
// which of them is right.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Capturer executes requests up to their tiles. A *debugkern.Session is one.
type Capturer interface {
	Describe(ctx context.Context, req debugkern.Request) (*debugkern.Subject, error)
	CaptureOn(
		ctx context.Context, req debugkern.Request, other *debugkern.Outcome,
		progress func(debugkern.Progress),
	) (*debugkern.Outcome, error)
}

var _ Capturer = (*debugkern.Session)(nil)

// Run executes a and b on the same inputs and compares every tile that both capture, within a tolerance,
// where it is nil bit for bit. It returns a *report.Error as Session.Run does; where a kernel did not build,
// load or run there is a document as well as the error. progress may be nil.
func Run(
	ctx context.Context, on Capturer, a, b debugkern.Request, within *report.Tolerance,
	progress func(debugkern.Progress),
) (*report.Comparison, error) {
	if err := sameProblem(ctx, on, a, b); err != nil {
		return nil, err
	}
	c := newComparison(a, b, within)
	var sides [2]*debugkern.Outcome
	for i, req := range []debugkern.Request{a, b} {
		o, err := on.CaptureOn(ctx, req, sides[0], progress)
		if err != nil {
			return failed(c, i, err), err
		}
		describe(&c.Targets[i], o.Document())
		sides[i] = o
	}
	c.Backend = sides[0].Document().Backend
	for i, o := range sides {
		if slices.ContainsFunc(o.Result().Findings, func(f target.Finding) bool {
			return f.Kind == target.Varies
		}) {
			note(c, "%s varies from launch to launch: what differs may be chance", "AB"[i:i+1])
		}
	}
	return c, outcomes(c, sides[0], sides[1])
}

// Runs compares two finished runs of the same shape and seed as Run does, without executing anything.
func Runs(a, b *debugkern.Run, within *report.Tolerance) (*report.Comparison, error) {
	if err := sameRuns(a, b); err != nil {
		return nil, err
	}
	c := newComparison(a.Request, b.Request, within)
	for i, r := range []*debugkern.Run{a, b} {
		describe(&c.Targets[i], r.Report)
	}
	c.Backend = a.Report.Backend
	return c, outcomes(c, a.Outcome(), b.Outcome())
}

func newComparison(a, b debugkern.Request, within *report.Tolerance) *report.Comparison {
	c := &report.Comparison{
		Schema: report.CompareSchema, Gate: a.Gate.String(), Inject: a.Inject, Seed: a.Seed,
		Tolerance: within, Verdict: report.Equal, Stages: []report.StageComparison{}, OnlyA: []string{},
		OnlyB: []string{}, Notes: []string{},
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

// failed makes the comparison the document of a run that has no verdict.
func failed(c *report.Comparison, side int, err error) *report.Comparison {
	run, why := report.OfSide(side, err)
	if run == nil {
		return nil
	}
	describe(&c.Targets[side], run)
	c.Verdict, c.Shape, c.Backend, c.Error = report.Failed, run.Shape, run.Backend, why
	return c
}

// describe fills a side from what is determined of its run.
func describe(d *report.Side, run *report.Run) {
	d.Kernel, d.Flags, d.Faults, d.Builder, d.Cross = run.Kernel, run.Flags, run.Faults,
		run.Backend.Builder, run.Cross
}

// sameProblem checks both requests, and that a shape's name means the same in both manifests.
func sameProblem(ctx context.Context, on Capturer, a, b debugkern.Request) error {
	if a.Inputs != "" { // the file defines the shape, and is read later
		return nil
	}
	ra, errA := on.Describe(ctx, a)
	rb, errB := on.Describe(ctx, b)
	if err := cmp.Or(errA, errB); err != nil {
		if a.Shape == "" { // no shape that fits only one of them
			return err
		}
		a.Shape, b.Shape = "", ""
		da, errA := on.Describe(ctx, a)
		db, errB := on.Describe(ctx, b)
		if errA == nil && errB == nil {
			if other := sameDimensions(a, b, da.Shape, db.Shape); other != nil {
				return other
			}
		}
		return err
	}
	x, y := ra.Shape, rb.Shape
	if err := sameDimensions(a, b, x, y); err != nil {
		return err
	}
	if x != y {
		form := x.Names()
		if !x.IsListed() {
			for i := range form {
				form[i] += "=…"
			}
		}
		return report.Usagef("shape %s is %s for %s and %s for %s: give --shape %s", a.Shape, x,
			a.Target, y, b.Target, strings.Join(form, ","))
	}
	return nil
}

// sameDimensions refuses targets whose problems have different dimensions: no shape is one of both.
func sameDimensions(a, b debugkern.Request, x, y probes.Shape) error {
	if slices.Equal(x.Names(), y.Names()) {
		return nil
	}
	return report.Usagef("%s has the dimensions %s and %s has %s: no shape fits both, so they cannot be compared",
		a.Target, strings.Join(x.Names(), ","), b.Target, strings.Join(y.Names(), ","))
}

// outcomes fills the document from two executions.
func outcomes(c *report.Comparison, a, b *debugkern.Outcome) error {
	pa, pb := a.Plan(), b.Plan()
	c.Shape = pa.Shape
	if (pa.Quant == nil) != (pb.Quant == nil) || pa.Quant != nil && *pa.Quant != *pb.Quant {
		note(c, "the two encode the same inputs differently: their tiles cannot be equal to the bit but by chance")
	}
	var first *report.DifferingCell
	for _, sp := range pa.Tiles() {
		s := sp.Stage
		inA, inB := a.Captures(s), b.Captures(s)
		switch {
		case inA && inB:
			doc := compareStage(a, b, s, c.Tolerance)
			if doc.First != nil && (first == nil || doc.First.KVTile < first.KVTile) {
				first, c.First = doc.First, doc.Name
			}
			c.Stages = append(c.Stages, doc)
		case inA:
			c.OnlyA = append(c.OnlyA, s.String())
		}
	}
	for _, sp := range pb.Tiles() {
		if s := sp.Stage; b.Captures(s) && !a.Captures(s) {
			c.OnlyB = append(c.OnlyB, s.String())
		}
	}
	c.Output = compareOutput(a, b, c.Tolerance)
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
	case slices.Contains(verdicts, report.Within):
		c.Verdict = report.Within
	case slices.Contains(verdicts, report.Equal):
		c.Verdict = report.Equal
	default:
		return report.Usagef("%s and %s capture no stage that could be compared", c.Targets[0].Target,
			c.Targets[1].Target)
	}
	return nil
}
