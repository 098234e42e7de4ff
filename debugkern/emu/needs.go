package emu

import (
	"fmt"
	"runtime"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/target"
)

// blockBytes is what a block of the grid costs in lists, executed or not.
const blockBytes = 256

// Needs says what memory executing a launch takes, by part, before anything is allocated: what its arguments,
// captures and the kernel's own declarations say. Blocks that wait for each other may need more while they
// execute; they reserve it then.
func (k *Kernel) Needs(l *target.Launch) budget.Sum {
	sum := needs(k.p, l, false)
	n := l.Parallel
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	blocks := budget.Mul(l.Grid[0], l.Grid[1], l.Grid[2])
	sum.Add("lists of blocks", budget.Mul(blocks, blockBytes), fmt.Sprintf("%d blocks", blocks))
	if l.Probe != nil {
		sum.Add("captures", budget.Mul(l.Probe.Layout.CaptureBytes), "")
	}
	perBlock(&sum, k.p, l, k.p.blocksAtOnce(l, int64(n), blocks))
	return sum
}

// resultBytes is what the result of a launch holds, of what needs counts.
func resultBytes(l *target.Launch) int64 {
	n := int64(0)
	for i := range l.Args {
		switch buf := l.Args[i].Buffer; {
		case buf == nil || !buf.Output:
		case buf.Init == nil:
			n = budget.Add(n, int64(buf.Bytes))
		default:
			n = budget.Add(n, int64(len(buf.Init)))
		}
	}
	if l.Probe != nil {
		n = budget.Add(n, budget.Mul(l.Probe.Layout.CaptureBytes))
	}
	return n
}

// needs is what the global memory of a launch takes, without captures. private: of one block that is stepped.
func needs(p *program, l *target.Launch, private bool) budget.Sum {
	var sum budget.Sum
	for _, v := range p.globals {
		n := int64(v.Size)
		if private {
			n = budget.Mul(n, 2)
		}
		sum.Add("module variables", n, "")
	}
	for i := range l.Args {
		buf := l.Args[i].Buffer
		switch {
		case buf == nil:
		case buf.Init == nil: // contents, and which of them were written
			sum.Add("arguments", budget.Mul(2, int64(buf.Bytes)), "")
		default:
			sum.Add("arguments", int64(len(buf.Init)), "")
		}
		// who reads and writes each byte: two bits, of this block and of all
		if buf != nil && (buf.Init == nil || buf.Output) {
			sum.Add("footprints of blocks", int64(max(buf.Bytes, 0)/2), "")
		}
	}
	if l.Probe != nil {
		sum.Add("captures", budget.Mul(l.Probe.Layout.InjectBytes), "")
	}
	return sum
}

// steppedNeeds is what one block that is stepped takes, with one snapshot of it.
func steppedNeeds(p *program, l *target.Launch) budget.Sum {
	sum := needs(p, l, true)
	perBlock(&sum, p, l, 2*int64(p.clusterOf(l).Count()))
	return sum
}

// perBlock adds what n blocks in execution take.
func perBlock(sum *budget.Sum, p *program, l *target.Launch, n int64) {
	threads := int64(32 * ((l.Block.Count() + 31) / 32))
	_, shared := p.sharedBytes(0)
	sum.Add("shared memory", budget.Mul(2, n, budget.Add(int64(shared), int64(l.DynShared))), "")
	sum.Add("local memory", budget.Mul(2, n, threads, int64(p.frame)),
		fmt.Sprintf("%s a thread, %d threads", budget.Text(int64(p.frame)), n*threads))
	if p.heap {
		sum.Add("device heap", budget.Mul(2, n, heapBytes), "")
	}
	if l.Probe != nil { // a block's slots while it executes, and which bytes of them are written
		sum.Add("captures", budget.Mul(2, n, budget.Mul(l.Probe.Layout.BlockBytes())), "")
	}
	sum.Add("registers", budget.Mul(n, threads, 4*int64(p.n32)+8*int64(p.n64)+int64(p.npred)), "")
}
