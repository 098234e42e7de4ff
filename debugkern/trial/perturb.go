package trial

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Perturbation is what seeded delays did to the output of the build without probes on a GPU.
type Perturbation struct {
	Device   string
	Seeds    int // launches, one a seed, seeds from 1 on
	Places   int // instructions that a delay may be inserted before
	Differed int // launches whose O is not the bits of the unperturbed one's
	// Rounding is how many launches' O differs within its bound, which holds for any order, in a kernel that
	// adds floats by atomics: they do not count as Differed.
	Rounding int
	MaxAbs   float64
	Worst    uint64 // the seed with the largest change, 0 where none differed
	Elements int    // of O, that differed with it
	Failed   int    // launches that did not end: counted as having differed
	Failure  string // how the first of them ended
}

// Perturb runs a run's build without probes n times on the run's GPU, each time with other delays before
// accesses to shared memory and synchronisations, and compares O bit for bit with that of the same build
// without delays. tell may be nil. It is a usage error on the emulator, which has schedules to explore
// instead, and under a gate. Errors are those of Session.Run.
func Perturb(
	ctx context.Context, r *debugkern.Run, n int, tell func(done, differed int),
) (*Perturbation, error) {
	on, ok := r.Backend()
	switch {
	case !ok:
		_, err := r.Relaunch(ctx)
		return nil, err
	case on.Name == "emu":
		return nil, report.Usagef(
			"--perturb needs a GPU: %s has no clock to disturb; explore its schedules instead (--schedules N)",
			on.Device)
	case r.Selection.Gate != probes.GateNone:
		return nil, report.Usagef(
			"--perturb runs the build without probes, into which nothing is injected: it cannot be used under gate %s",
			r.Selection.Gate)
	}
	plain, err := r.Relaunch(ctx)
	if err != nil {
		return nil, err
	}
	p := &perturber{ctx: ctx, plain: plain}
	out, err := p.perturb(on, n, tell)
	if err != nil {
		return nil, plain.Explain(err)
	}
	return out, nil
}

// perturber is one perturbation under way.
type perturber struct {
	ctx   context.Context
	plain *debugkern.Relaunch
	base  *debugkern.Outcome

	unordered bool // floats are added in no fixed order, and the base's output is within its bound
}

func (p *perturber) perturb(on target.Info, n int, tell func(done, differed int)) (*Perturbation, error) {
	var err error
	if p.base, err = p.plain.Execute(p.ctx, p.plain.Module()); err != nil {
		return nil, err
	}
	if p.unordered, err = p.base.Unordered(p.ctx); err != nil {
		return nil, err
	}
	out := &Perturbation{Device: on.Device}
	for seed := uint64(1); seed <= uint64(max(n, 0)); seed++ {
		if err := p.seed(seed, out); err != nil {
			return nil, err
		}
		if tell != nil {
			tell(out.Seeds, out.Differed)
		}
	}
	return out, nil
}

// seed launches with one seed's delays and compares.
func (p *perturber) seed(seed uint64, out *Perturbation) error {
	m, places, err := ptx.Perturbed(p.plain.Module(), p.base.Plan().Entry, seed)
	if err != nil {
		return report.Usagef("%w", err)
	}
	now, err := p.plain.Execute(p.ctx, m)
	out.Seeds, out.Places = out.Seeds+1, places
	if fault := (*target.Fault)(nil); errors.As(err, &fault) && p.ctx.Err() == nil {
		out.Differed++
		if out.Failed++; out.Failed == 1 {
			out.Failure, out.Worst, out.MaxAbs = fault.Msg, seed, math.Inf(1)
		}
		return nil
	}
	if err != nil {
		return err
	}
	count := p.elements(now)
	if count == 0 {
		return nil
	}
	if p.unordered {
		within, err := now.OutputWithin(p.ctx)
		if err != nil || within {
			out.Rounding++
			return err
		}
	}
	out.Differed++
	if d := outputChange(p.base, now); out.Worst == 0 || d > out.MaxAbs {
		out.Worst, out.MaxAbs, out.Elements = seed, d, count
	}
	return nil
}

// elements counts the elements of the output that are not the unperturbed launch's.
func (p *perturber) elements(now *debugkern.Outcome) int {
	a, b := p.base.Output(), now.Output()
	size := 1
	if sp := now.Plan().Output(); sp != nil {
		size = sp.DType.Size()
	}
	n := 0
	for i := 0; i+size <= min(len(a), len(b)); i += size {
		if string(a[i:i+size]) != string(b[i:i+size]) {
			n++
		}
	}
	return n
}

// String words the outcome.
func (p *Perturbation) String() string {
	if p.Differed == 0 && p.Rounding > 0 {
		return fmt.Sprintf(
			"under %d of %d seeds of delays on %s O differs, within the bound that holds for any order of its additions",
			p.Rounding, p.Seeds, p.Device)
	}
	if p.Differed == 0 {
		return fmt.Sprintf("O is the same under %d seeds of delays at %d places on %s", p.Seeds,
			p.Places, p.Device)
	}
	if p.Failed == p.Differed {
		return fmt.Sprintf("%d of %d launches with seeds of delays on %s did not end (seed %d): %s", p.Failed,
			p.Seeds, p.Device, p.Worst, p.Failure)
	}
	text := fmt.Sprintf(
		"O differs under %d of %d seeds of delays on %s, by up to %.3g (seed %d, %d elements)", p.Differed,
		p.Seeds, p.Device, p.MaxAbs, p.Worst, p.Elements)
	if p.Failed > 0 {
		text += fmt.Sprintf("; %d launches did not end: %s", p.Failed, p.Failure)
	}
	return text
}
