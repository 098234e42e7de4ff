package debugkern

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// resolved is a request checked against its manifest: nothing in it can be refused any more.
type resolved struct {
	req      Request
	sel      *configs.Selection
	plan     *probes.Plan
	stages   probes.StageSet
	rng      probes.Range
	layout   *probes.Layout
	schedule target.Schedule
	uniform  bool
	memory   *budget.Budget
	chip     *fp.Model // whose arithmetic the reference mirrors
	// cells: stages captured in another order than row-major: the cell of each element
	cells map[probes.Stage][]int
}

// DefaultShape is the shape of a request that names none.
const DefaultShape = "validation"

// Unopened is the error of a target that is not in the catalogue, or whose manifest cannot be read: a usage
// error, unless ctx ended.
func Unopened(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &report.Error{Code: report.CodeUsage, Err: err}
}

// resolve checks a request. Inputs that bring their own shape and elements override the request's; nil:
// inputs are made from its seed. Where ctx ends first, the error is its.
func (s *Session) resolve(
	ctx context.Context, req Request, shape *probes.Shape, values configs.Values,
) (*resolved, error) {
	m, variant, err := s.catalogue.Open(ctx, req.Target)
	if err != nil {
		return nil, Unopened(ctx, err)
	}
	r := &resolved{req: req, memory: s.mem, chip: s.chip.Arithmetic}
	if r.sel, err = m.Select(variant, req.Set, req.Faults, req.Gate); err != nil {
		return nil, &report.Error{Code: report.CodeUsage, Err: err}
	}
	if err := r.sel.AddCompile(configs.Compile{
		Include: req.Include, Defines: req.Define, Std: req.Std, Instantiate: req.Instantiate,
	}); err != nil {
		return nil, &report.Error{Code: report.CodeUsage, Err: err}
	}
	if len(r.sel.Patches()) > 0 {
		if _, err := build.Sources(ctx, r.sel); err != nil {
			return nil, err
		}
	}
	switch req.Inject {
	case "", "reference":
	case "uniform":
		if r.uniform = true; !m.Uniform(r.sel.Gate) {
			return nil, &report.Error{Code: report.CodeUsage, Err: m.NotUniform(r.sel.Gate)}
		}
	default:
		return nil, report.Usagef("--inject %q: expected reference or uniform", req.Inject)
	}
	if shape == nil {
		name := req.Shape
		if name == "" {
			name = DefaultShape
		}
		sh, err := m.ParseShape(name)
		if err != nil {
			return nil, &report.Error{Code: report.CodeUsage, Err: err}
		}
		shape = &sh
	}
	if values == nil {
		values = configs.Seeded(req.Seed)
	}
	if r.plan, err = r.sel.ResolveFor(ctx, *shape, values); err != nil {
		var coded *report.Error
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &coded): // of the inputs
			return nil, err
		}
		return nil, &report.Error{Code: report.CodeUsage, Err: err}
	}
	if r.schedule, err = ParseSchedule(req.Schedule); err != nil {
		return nil, err
	}
	if err := req.CheckCounts(); err != nil {
		return nil, err
	}
	if err := r.capture(s.limit); err != nil {
		return nil, err
	}
	return r, r.affordable()
}

// CheckCounts refuses limits and numbers that are negative, with an error of CodeUsage. Session.Run does so
// too; it is for those who execute a request themselves.
func (r Request) CheckCounts() error {
	switch {
	case r.Timeout < 0:
		return report.Usagef("--timeout %s: expected a duration above 0", r.Timeout)
	case r.Device < 0:
		return report.Usagef("--device %d: expected a whole number from 0 on", r.Device)
	case r.Repeat < 0:
		return report.Usagef("--repeat %d: expected a whole number from 1 on", r.Repeat)
	case r.Resident < 0:
		return report.Usagef("--resident %d: expected a number of blocks, or 0 for what the chip holds",
			r.Resident)
	}
	return nil
}

// capture decides what is captured, and refuses what does not fit.
func (r *resolved) capture(limit int64) error {
	var err error
	if r.rng, err = rangeOf(r.plan, r.req.Blocks, r.req.Tiles); err != nil {
		return err
	}
	if r.stages, err = stagesOf(r.plan, r.req.Stages); err != nil {
		return err
	}
	r.layout = probes.NewLayout(r.plan, r.stages, r.rng)
	if limit > 0 && r.layout.CaptureBytes > uint64(limit) {
		return report.Usagef("capturing %s blocks × %d %ss takes %s, over capture.max (%s): %s", r.rng.N,
			r.rng.TileN, r.plan.Work.TileName(),
			bytesText(r.layout.CaptureBytes), bytesText(uint64(limit)), r.fitting(uint64(limit)))
	}
	return nil
}

// fitting names a --blocks or --tiles that stays under the limit.
func (r *resolved) fitting(limit uint64) string {
	one := probes.NewLayout(r.plan, r.stages, probes.Range{
		Lo: r.rng.Lo, N: probes.Dim3{1, 1, 1}, TileLo: r.rng.TileLo, TileN: r.rng.TileN,
	})
	if n := int(limit / max(one.CaptureBytes, 1)); n >= 1 {
		n = min(n, r.rng.N[0])
		return fmt.Sprintf("--blocks %d-%d,%d,%d would fit", r.rng.Lo[0], r.rng.Lo[0]+n-1,
			r.rng.Lo[1], r.rng.Lo[2])
	}
	tile := one.CaptureBytes / uint64(max(r.rng.TileN, 1))
	n := max(1, int(limit/max(tile, 1))-1)
	return fmt.Sprintf("--blocks %d,%d,%d --tiles %d-%d would fit", r.rng.Lo[0], r.rng.Lo[1], r.rng.Lo[2],
		r.rng.TileLo, r.rng.TileLo+n-1)
}

func bytesText(n uint64) string {
	const units = "KMGTPE"
	v, u := float64(n), -1
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	if u < 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %ciB", v, units[u])
}

func stageNames(set probes.StageSet) string {
	var names []string
	for _, s := range set {
		names = append(names, s.String())
	}
	return strings.Join(names, " ")
}

// ParseSchedule reads --schedule; what it refuses is a usage error.
func ParseSchedule(s string) (target.Schedule, error) {
	sch, err := target.ParseSchedule(s)
	if err != nil {
		return sch, report.Usagef("%w", err)
	}
	return sch, nil
}
