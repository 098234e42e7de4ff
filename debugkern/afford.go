package debugkern

import (
	"errors"
	"fmt"
	"runtime"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/check"
	"tilescope/probes"
)

// needs is what a run takes by its manifest, shape and options alone, before inputs are made. What the kernel's own
// declarations add is known once it is loaded: the emulator adds it up before it executes anything.
func (r *resolved) needs() budget.Sum {
	p := r.plan
	var sum budget.Sum
	n := budget.Mul(p.Shape.B, p.Shape.H, p.Shape.S, p.Shape.D)
	encoded := int64(2)
	if p.Quant != nil {
		encoded = 1
	}
	sum.Add("inputs", budget.Mul(3, 4+encoded, n), "")
	writable := int64(0)
	for _, a := range p.Args {
		if !a.Pointer {
			continue
		}
		bytes := int64(a.DType.Size())
		for _, d := range a.Dims {
			bytes = budget.Mul(bytes, int64(d))
		}
		if a.Role != probes.RoleInput { // contents, and which of them were written
			writable = budget.Add(writable, bytes)
			bytes = budget.Mul(2, bytes)
		}
		sum.Add("arguments", bytes, "")
	}
	sum.Add("captures", budget.Add(budget.Mul(2, r.layout.CaptureBytes), budget.Mul(r.layout.InjectBytes, 1)), r.captureHint())
	sum.Add("reference and judging", r.judging(n), "")
	procs := int64(runtime.GOMAXPROCS(0))
	blocks := budget.Mul(p.Grid[0], p.Grid[1], p.Grid[2])
	if r.req.Check != 0 {
		shared := int64(p.DynShared)
		for _, a := range p.Shared {
			if a.Within == "" {
				shared = budget.Add(shared, int64(a.Bytes))
			}
		}
		sum.Add("checkers", check.Needs(r.req.Check, shared, writable, min(procs, blocks), blocks), "without diagnose they need nothing")
	}
	return sum
}

// judging is what references and comparisons take: exact blocks that are kept, one for each core, and attention over whole
// heads of n elements.
func (r *resolved) judging(n int64) int64 {
	m, k, d := int64(1), int64(1), int64(r.plan.Shape.D)
	for i := range r.plan.Stages {
		switch sp := &r.plan.Stages[i]; sp.Stage {
		case probes.StageK, probes.StageV:
			k = max(k, int64(sp.Rows))
		case probes.StageS, probes.StageP:
			m, k = max(m, int64(sp.Rows)), max(k, int64(sp.Cols))
		default:
			m = max(m, int64(sp.Rows))
		}
	}
	tile := budget.Add(budget.Mul(2, k, d), budget.Mul(2, m, k), 2*m, budget.Mul(m, d))
	block := budget.Mul(8, int64(r.plan.Work.MaxTiles), tile)
	kept := min(budget.Mul(4, block), budget.Add(budget.Mul(2, block), 64<<20))
	workers := min(int64(runtime.GOMAXPROCS(0)), budget.Mul(r.rng.N[0], r.rng.N[1], r.rng.N[2]))
	return budget.Add(kept, budget.Mul(workers, block), budget.Mul(2, 8, n))
}

// captureHint says which --blocks takes the least memory for captures, and how much; "" where it is taken already.
func (r *resolved) captureHint() string {
	one := probes.Range{Lo: r.rng.Lo, N: probes.Dim3{1, 1, 1}, TileLo: r.rng.TileLo, TileN: r.rng.TileN}
	if one.N == r.rng.N {
		return ""
	}
	l := probes.NewLayout(r.plan, r.stages, one)
	return fmt.Sprintf("--blocks %d,%d,%d would make it %s", one.Lo[0], one.Lo[1], one.Lo[2], budget.Text(budget.Mul(2, l.CaptureBytes)))
}

// affordable refuses what is over memory.max.
func (r *resolved) affordable() error {
	sum := r.needs()
	if err := sum.Within(r.memory.Limit()); err != nil {
		return usage("%s at %s %w", r.plan.Kernel, r.plan.Shape, err)
	}
	return nil
}

// overMemory makes an error about memory that a launch was refused for one of usage: nothing was executed. Any other error
// stays as it is.
func overMemory(err error) error {
	var over *budget.Refused
	if errors.As(err, &over) {
		return &Error{Code: CodeUsage, Err: err}
	}
	return err
}
