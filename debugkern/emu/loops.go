package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
)

// flowGraph is the control flow between the basic blocks of a function.
type flowGraph struct {
	start []int // first instruction of each block, and the end
	of    []int // block of each instruction
	succ  [][]int
	pred  [][]int
	order []int // reverse postorder
	idom  []int // immediate dominator, -1 where not reachable
}

// loops finds the natural loops of f: a branch to a block that dominates it is a back edge, and the loop is what reaches the
// branch without passing that block. Each instruction gets the outermost loop around it that holds a block barrier (a walk
// over tiles), each back edge of an outermost loop that loop's number.
func (d *decoder) loops(f *ptx.Func) {
	if len(f.Body) == 0 {
		return
	}
	code := d.p.code[d.base : d.base+len(f.Body)]
	g := ptxFlow(f)
	bodies := g.naturalLoops()
	for b := range g.succ {
		head, size := -1, 0
		for h, body := range bodies {
			if n := len(body); body[b] && (n > size || n == size && h < head) {
				head, size = h, n
			}
		}
		if head < 0 {
			continue
		}
		id, walk := int32(-1), false
		for in := range bodies[head] {
			for i := g.start[in]; i < g.start[in+1]; i++ {
				walk = walk || code[i].flow == flowBarrier
			}
		}
		id = d.loopNumber(f, head)
		last := g.start[b+1] - 1
		for i := g.start[b]; i <= last; i++ {
			code[i].around = id
			if walk {
				code[i].inLoop = id
			}
		}
		if in := &code[last]; in.flow == flowBranch && int(in.target)-d.base == g.start[head] {
			in.loop = id
		}
	}
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

// newFlowGraph cuts n instructions into blocks; flow gives an instruction's branch targets and whether the next one can
// follow it.
func newFlowGraph(n int, flow func(i int) (targets []int, falls bool)) *flowGraph {
	leader := make([]bool, n+1)
	leader[0] = true
	for i := range n {
		targets, falls := flow(i)
		for _, t := range targets {
			leader[min(t, n)] = true
		}
		if len(targets) > 0 || !falls {
			leader[i+1] = true
		}
	}
	g := &flowGraph{of: make([]int, n+1)}
	for i := range n {
		if leader[i] {
			g.start = append(g.start, i)
		}
		g.of[i] = len(g.start) - 1
	}
	blocks := len(g.start)
	g.start = append(g.start, n)
	g.succ, g.pred = make([][]int, blocks), make([][]int, blocks)
	edge := func(from, to int) {
		if to < n {
			g.succ[from] = append(g.succ[from], g.of[to])
			g.pred[g.of[to]] = append(g.pred[g.of[to]], from)
		}
	}
	for b := range blocks {
		targets, falls := flow(g.start[b+1] - 1)
		for _, t := range targets {
			edge(b, t)
		}
		if falls {
			edge(b, g.start[b+1])
		}
	}
	g.dominators()
	return g
}

// dominators is the iterative algorithm of Cooper, Harvey and Kennedy.
func (g *flowGraph) dominators() {
	n := len(g.succ)
	number := make([]int, n)
	seen := make([]bool, n)
	type frame struct{ b, next int }
	stack := []frame{{0, 0}}
	seen[0] = true
	var post []int
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(g.succ[top.b]) {
			s := g.succ[top.b][top.next]
			top.next++
			if !seen[s] {
				seen[s] = true
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		post = append(post, top.b)
		stack = stack[:len(stack)-1]
	}
	for i := len(post) - 1; i >= 0; i-- {
		number[post[i]] = len(g.order)
		g.order = append(g.order, post[i])
	}
	g.idom = make([]int, n)
	for i := range g.idom {
		g.idom[i] = -1
	}
	g.idom[0] = 0
	for changed := true; changed; {
		changed = false
		for _, b := range g.order[1:] {
			best := -1
			for _, p := range g.pred[b] {
				switch {
				case g.idom[p] < 0:
				case best < 0:
					best = p
				default:
					x, y := p, best
					for x != y {
						for number[x] > number[y] {
							x = g.idom[x]
						}
						for number[y] > number[x] {
							y = g.idom[y]
						}
					}
					best = x
				}
			}
			if best >= 0 && g.idom[b] != best {
				g.idom[b], changed = best, true
			}
		}
	}
}

func (g *flowGraph) dominates(a, b int) bool {
	for g.idom[b] >= 0 {
		if a == b {
			return true
		}
		if b == g.idom[b] {
			break
		}
		b = g.idom[b]
	}
	return false
}

// naturalLoops returns the blocks of each loop by its head.
func (g *flowGraph) naturalLoops() map[int]map[int]bool {
	loops := map[int]map[int]bool{}
	for _, b := range g.order {
		for _, h := range g.succ[b] {
			if !g.dominates(h, b) {
				continue
			}
			body := loops[h]
			if body == nil {
				body = map[int]bool{h: true}
				loops[h] = body
			}
			work := []int{b}
			for len(work) > 0 {
				x := work[len(work)-1]
				work = work[:len(work)-1]
				if !body[x] {
					body[x] = true
					work = append(work, g.pred[x]...)
				}
			}
		}
	}
	return loops
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
