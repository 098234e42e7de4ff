package debugkern

import (
	"errors"
	"fmt"
	"runtime"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/check"
	"tilescope/debugkern/checked"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// needs is what a run takes by its manifest, shape and options alone, before inputs are made. What the
// kernel's own declarations add is computed once it is loaded: the emulator adds it up before it executes
// anything.
func (r *resolved) needs() budget.Sum {
	p := r.plan
	var sum budget.Sum
	sum.Add(inputsPart, inputBytes(p), "")
	writable := int64(0)
	for _, a := range p.Args {
		if !a.Pointer {
			continue
		}
		bytes := budget.Mul(int64(a.DType.Size()), int64(a.MemoryElems()))
		if a.Role != probes.RoleInput { // contents, and which of them were written
			writable = budget.Add(writable, bytes)
			bytes = budget.Mul(2, bytes)
		}
		sum.Add("arguments", bytes, "")
	}
	sum.Add("captures", budget.Add(captureBytes(r.layout), budget.Mul(r.layout.InjectBytes)), r.captureHint())
	blocksKept, each := r.judging()
	sum.Add(judgingPart, budget.Add(blocksKept, each, exactOutputBytes(p)), "")
	procs := int64(runtime.GOMAXPROCS(0))
	blocks := budget.Mul(p.Grid[0], p.Grid[1], p.Grid[2])
	if r.req.Check != 0 {
		shared := int64(p.DynShared)
		for _, a := range p.Shared {
			if a.Within == "" {
				shared = budget.Add(shared, int64(a.Bytes))
			}
		}
		sum.Add(checked.MemoryPart, check.Needs(r.req.Check, check.Load{
			Shared: shared, Writable: writable, Threads: int64(p.Block.Count()), Registers: namedRegisters,
			AtOnce: min(procs, blocks), Blocks: blocks,
		}), "without diagnose they need nothing")
	}
	return sum
}

// What the parts of a run's memory are called, where they are added up and where they are reserved.
const (
	inputsPart  = "inputs"
	judgingPart = "reference and judging"
)

// namedRegisters is how many registers a kernel is taken to name before it is loaded.
const namedRegisters = 1 << 10

// inputBytes is what the inputs take as numbers and as the kernel gets them.
func inputBytes(p *probes.Plan) int64 {
	n := int64(0)
	for i := range p.Inputs {
		in := &p.Inputs[i]
		each := int64(4)
		switch t := p.Args[in.Arg].DType; {
		case !in.Coded && !t.Float():
			each = 8
		case t != probes.F32:
			each += int64(t.Size())
		}
		n = budget.Add(n, budget.Mul(each, budget.Elements(in.Dims)))
	}
	return n
}

// exactOutputBytes is what the exact output takes: from the inputs as they were made, and as
// the kernel gets them.
func exactOutputBytes(p *probes.Plan) int64 { return budget.Mul(2, 8, budget.Elements(p.OutputDims())) }

// judging is what references and comparisons take: exact blocks that are cached, and for each core one, and
// loaded tiles.
func (r *resolved) judging() (kept, each int64) {
	block := budget.Mul(8, int64(r.plan.Work.MaxTiles), int64(r.plan.TileElems()))
	kept = min(budget.Mul(4, block), budget.Add(budget.Mul(2, block), 64<<20))
	workers := min(int64(runtime.GOMAXPROCS(0)), budget.Mul(r.rng.N[0], r.rng.N[1], r.rng.N[2]))
	return kept, budget.Mul(workers, budget.Add(block, ref.LoadedBytes(r.plan)))
}

// captureHint returns which --blocks takes the least memory for captures, and how much; "" where it is taken
// already.
func (r *resolved) captureHint() string {
	one := probes.Range{Lo: r.rng.Lo, N: probes.Dim3{1, 1, 1}, TileLo: r.rng.TileLo, TileN: r.rng.TileN}
	if one.N == r.rng.N {
		return ""
	}
	l := probes.NewLayout(r.plan, r.stages, one)
	return fmt.Sprintf("--blocks %d,%d,%d would make it %s", one.Lo[0], one.Lo[1], one.Lo[2],
		budget.Text(captureBytes(l)))
}

// captureBytes is what captures take: all of them, and for each block in execution its own, with which
// bytes of it are written.
func captureBytes(l *probes.Layout) int64 {
	atOnce := min(int64(runtime.GOMAXPROCS(0)), int64(l.Range.N.Count()))
	return budget.Add(budget.Mul(l.CaptureBytes), budget.Mul(2, atOnce, budget.Mul(l.BlockBytes())))
}

// affordable refuses what is over memory.max.
func (r *resolved) affordable() error {
	sum := r.needs()
	if err := sum.Within(r.memory.Limit()); err != nil {
		return report.Usagef("%s at %s %w", r.plan.Kernel, r.plan.Shape, err)
	}
	return nil
}

// OutOfMemory reports that what memory.max allows was used up: it is no verdict about the kernel.
func OutOfMemory(err error) bool {
	var full *budget.Exhausted
	return errors.As(err, &full)
}

// overMemory makes an error about memory that a launch was refused for one of usage: nothing was executed.
// Any other error stays as it is.
func overMemory(err error) error {
	var over *budget.Refused
	if errors.As(err, &over) {
		return &report.Error{Code: report.CodeUsage, Err: err}
	}
	return err
}
