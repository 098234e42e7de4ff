package emu

import (
	"math/bits"

	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// loops finds the natural loops of a function. Each instruction gets the outermost loop around it that holds
// a block barrier (a walk over tiles), each back edge of an outermost loop that loop's number.
func (d *decoder) loops(g *cfg.Graph) {
	code := d.p.code[d.base : d.base+len(g.Func.Body)]
	bodies := g.Loops()
	walks := make(map[int]bool, len(bodies)) // head → a block of the loop has a barrier
	for h, body := range bodies {
		for b := range body {
			if holdsBarrier(code[g.Start[b]:g.Start[b+1]]) {
				walks[h] = true
				break
			}
		}
	}
	for b := range g.Succ {
		head, size := -1, 0
		for h, body := range bodies {
			if n := len(body); body[b] && (n > size || n == size && h < head) {
				head, size = h, n
			}
		}
		if head < 0 {
			continue
		}
		id := d.loopNumber(g.Func, head)
		last := g.Start[b+1] - 1
		for i := g.Start[b]; i <= last; i++ {
			code[i].around = id
			if walks[head] {
				code[i].inLoop = id
			}
		}
		if in := &code[last]; in.flow == flowBranch && int(in.target)-d.base == g.Start[head] {
			in.loop = id
		}
	}
}

// holdsBarrier reports whether one of the instructions is a barrier of the block.
func holdsBarrier(code []inst) bool {
	for i := range code {
		if code[i].flow == flowBarrier {
			return true
		}
	}
	return false
}

// loopNumber numbers the loop with that head block.
func (d *decoder) loopNumber(f *ptx.Func, head int) int32 {
	k := loopKey{f, head}
	id, ok := d.loopIDs[k]
	if !ok {
		id = int32(d.p.nloops)
		d.p.nloops++
		d.loopIDs[k] = id
	}
	return id
}

type loopKey struct {
	f    *ptx.Func
	head int
}

// goRound counts a back edge that the lanes m take.
func (w *warp) goRound(loop int32, m uint32) {
	if m == w.alive {
		w.loops[loop]++
		return
	}
	if w.ahead == nil {
		w.ahead = make([][32]int32, len(w.loops))
	}
	for ; m != 0; m &= m - 1 {
		w.ahead[loop][bits.TrailingZeros32(m)&31]++
	}
}

// rounds is how often a lane has gone round a loop, -1 for no loop.
func (w *warp) rounds(loop int32, lane int) int {
	if loop < 0 {
		return -1
	}
	n := int(w.loops[loop])
	if w.ahead != nil {
		n += int(w.ahead[loop][lane&31])
	}
	return n
}

// tile is the iteration of the walk over tiles that a lane is in at an instruction, -1 outside one.
func (w *warp) tile(in *inst, lane int) int { return w.rounds(in.inLoop, lane) }

// iteration is how often a lane has gone round the outermost loop around an instruction, -1 outside one.
func (w *warp) iteration(in *inst, lane int) int { return w.rounds(in.around, lane) }
