package gates

import (
	"context"
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// ptxas is the gate on registers, shared memory and spills of the build without probes.
func (s *sweep) ptxas(ctx context.Context, sub *subject, t *TargetDoc) error {
	l := sub.about.Limits
	t.PTXAS = PTXASDoc{Limits: ResourceLimits{l.Registers, l.SharedBytes, l.Spills}, Archs: []ArchDoc{}}
	for _, arch := range s.archs(sub) {
		s.step(sub, "ptxas", arch)
		a := ArchDoc{Arch: arch}
		req := s.request(sub)
		req.Shape = sub.shapes[0]
		res, reason, err := s.r.Resources(ctx, req, arch)
		switch {
		case err != nil && failed(err):
			a.Verdict, a.Reason = Red, err.Error()
		case err != nil:
			return err
		case res == nil:
			a.Verdict, a.Reason = NotRun, reason
		default:
			a.Resources = res
			a.Verdict, a.Reason = judgeResources(res, l)
		}
		t.PTXAS.Archs = append(t.PTXAS.Archs, a)
	}
	t.PTXAS.settle()
	return nil
}

// correctness is the gate on results: every shape with every seed.
func (s *sweep) correctness(ctx context.Context, sub *subject, t *TargetDoc) error {
	l := sub.about.Limits
	t.Correctness = CorrectnessDoc{
		Reference: sub.reference(), Limits: OutputLimits{l.MaxAbs, l.MeanAbs, l.BadFraction},
		Cells: []CellDoc{},
	}
	for _, shape := range sub.shapes {
		for _, seed := range s.o.Seeds {
			c, err := s.cell(ctx, sub, shape, seed)
			if err != nil {
				return err
			}
			c.Shape, c.Seed = shape, seed
			t.Correctness.Cells = append(t.Correctness.Cells, *c)
		}
	}
	t.Correctness.settle(len(sub.shapes) * len(s.o.Seeds))
	return nil
}

// cell runs one shape and seed, or finds that it has run: shapes of two names and the same numbers are one.
func (s *sweep) cell(ctx context.Context, sub *subject, shape string, seed uint64) (*CellDoc, error) {
	detail := fmt.Sprintf("%s seed %d", shape, seed)
	s.step(sub, "correctness", detail)
	req := s.request(sub)
	req.Shape, req.Seed = shape, seed
	if !sub.about.Referenced {
		req.Check = debugkern.EveryChecker // findings are all that there is to judge by
	}
	var dims probes.Shape
	if req.Inputs == "" {
		about, err := s.r.Describe(ctx, req)
		if err != nil {
			return nil, err
		}
		dims = about.Shape
	}
	k, err := s.key(ctx, "cell", sub, req, dims)
	if err != nil {
		return nil, err
	}
	var c CellDoc
	if s.o.Ran == nil && s.store.get(k, &c) {
		return &c, nil
	}
	run, err := s.r.Run(ctx, req, func(p debugkern.Progress) {
		s.report(Progress{
			Target: sub.name, Gate: "correctness", Detail: detail + ": " + p.Phase, Done: s.done - 1,
			Total: s.total,
		})
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && failed(err):
		c = CellDoc{
			Dims: dims, Verdict: Red, Reason: err.Error(), Guilty: []string{}, Findings: []FindingCount{},
		}
	case err != nil:
		return nil, err
	default:
		c = judgeCell(run)
		if s.o.Ran != nil {
			if err := s.o.Ran(run); err != nil {
				return nil, err
			}
		}
	}
	return &c, s.store.put(k, &c)
}

// key digests what a measurement depends on: the program, both builds, manifest and inputs, the machine, and
// the request with the names of target and shape taken out.
func (s *sweep) key(
	ctx context.Context, what string, sub *subject, req debugkern.Request, dims probes.Shape, more ...any,
) (string, error) {
	inputs, err := fileDigest(ctx, req.Inputs)
	if err != nil {
		return "", err
	}
	req.Target, req.Shape, req.Inputs, req.Timeout = "", "", "", 0
	env := s.doc.Provenance.Environment
	env.Clocks = nil
	return key(append([]any{
		Schema, what, s.o.Tool, env, sub.about.Kernel, sub.file, sub.about.Limits, sub.about.Faults,
		sub.build, inputs, req, dims,
	}, more...)...)
}

// performance is the gate on speed.
func (s *sweep) performance(ctx context.Context, sub *subject, t *TargetDoc) error {
	req, dims, err := s.timedRequest(ctx, sub)
	if err != nil {
		return err
	}
	p := PerformanceDoc{
		Verdict: NotRun, Shape: req.Shape, Dims: dims, Seed: req.Seed, Against: s.o.Against,
		MinSpeedup: sub.about.Limits.MinSpeedup, Alpha: alpha,
	}
	s.step(sub, "performance", req.Shape)
	defer func() { t.Performance = p }()
	reqs, base := []debugkern.Request{req}, s.baseline
	if base != nil && base.broken != "" {
		p.Reason = fmt.Sprintf("%s does not build: %s", base.name, base.broken)
		base = nil
	} else if base != nil && base.build.PTXSHA256 == sub.build.PTXSHA256 {
		p.Reason = "it is what is compared with"
		base = nil
	} else if base != nil {
		against := req
		against.Target, against.Set, against.Faults = base.name, nil, nil
		reqs = append(reqs, against)
	} else {
		p.Reason = "nothing to compare with (--against TARGET)"
	}
	var against *report.Build
	if base != nil {
		against = base.build
	}
	k, err := s.key(ctx, "time", sub, req, dims, against, s.o.Warmups, s.o.Launches, s.o.FlushL2)
	if err != nil || s.store.get(k, &p) {
		return err
	}
	if err := s.time(ctx, sub, base, reqs, &p); err != nil {
		return err
	}
	return s.store.put(k, &p)
}

// timedRequest is what speed is measured with: mission, or the shape asked for, or the target's first.
func (s *sweep) timedRequest(ctx context.Context, sub *subject) (debugkern.Request, probes.Shape, error) {
	req := s.request(sub)
	req.Seed = s.o.Seeds[0]
	if req.Shape = s.o.Shape; req.Shape == "" {
		req.Shape = timedShape
	}
	about, err := s.r.Describe(ctx, req)
	if err != nil && s.o.Shape == "" {
		req.Shape = sub.shapes[len(sub.shapes)-1]
		about, err = s.r.Describe(ctx, req)
	}
	if err != nil {
		return req, probes.Shape{}, err
	}
	return req, about.Shape, nil
}

// time fills in times where there is a GPU, else the emulator's counts.
func (s *sweep) time(
	ctx context.Context, sub, base *subject, reqs []debugkern.Request, p *PerformanceDoc,
) error {
	timing, reason, err := s.r.Time(ctx, reqs, debugkern.TimeOptions{
		Warmups: s.o.Warmups, Launches: s.o.Launches, FlushL2: s.o.FlushL2,
	})
	switch {
	case err != nil && failed(err):
		p.Verdict, p.Reason = Red, err.Error()
		return nil
	case err != nil:
		return err
	case timing == nil:
		p.Reason = reason
		return s.countBoth(ctx, sub, base, reqs, p)
	}
	p.Environment, p.ClocksAfter = &timing.Environment, timing.ClocksAfter
	p.Times = summarise(timing.Micros[0])
	if base != nil {
		p.Baseline = summarise(timing.Micros[1])
	}
	p.settle()
	return nil
}

func (s *sweep) countBoth(
	ctx context.Context, sub, base *subject, reqs []debugkern.Request, p *PerformanceDoc,
) (err error) {
	if p.Counts, err = s.count(ctx, sub, reqs[0], p.Dims); err != nil || base == nil {
		return err
	}
	p.BaselineCounts, err = s.count(ctx, base, reqs[1], p.Dims)
	return err
}

// count executes a kernel once for its counts; one that fails has none.
func (s *sweep) count(
	ctx context.Context, sub *subject, req debugkern.Request, dims probes.Shape,
) (*report.Counts, error) {
	k := fmt.Sprint(sub.build.PTXSHA256, sub.about.Faults, dims)
	if c, ok := s.counts[k]; ok {
		return c, nil
	}
	c, err := s.r.Count(ctx, req)
	if err != nil && !failed(err) {
		return nil, err
	}
	s.counts[k] = c
	return c, nil
}
