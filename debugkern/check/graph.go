package check

import (
	"sort"

	"tilescope/debugkern/ptx"
)

// graph is the control flow between the basic blocks of a function. It answers where a synchronisation could stand: on every way
// from one access to the other, and under as few conditions as possible.
type graph struct {
	fn    *ptx.Func
	start []int // first instruction of each block, and the end
	of    []int // block of each instruction
	succ  [][]int
}

// graphOf cuts a function's body into blocks.
func graphOf(f *ptx.Func) *graph {
	n := len(f.Body)
	leader := make([]bool, n+1)
	leader[0] = true
	for i, in := range f.Body {
		to, falls := next(in)
		for _, t := range to {
			leader[min(int(t), n)] = true
		}
		if len(to) > 0 || !falls || in.Op == "ret" || in.Op == "exit" {
			leader[i+1] = true
		}
	}
	g := &graph{fn: f, of: make([]int, n+1)}
	for i := range n {
		if leader[i] {
			g.start = append(g.start, i)
		}
		g.of[i] = len(g.start) - 1
	}
	g.start = append(g.start, n)
	g.succ = make([][]int, len(g.start)-1)
	for b := range g.succ {
		to, falls := next(f.Body[g.start[b+1]-1])
		for _, t := range to {
			if int(t) < n {
				g.succ[b] = append(g.succ[b], g.of[t])
			}
		}
		if falls && b+1 < len(g.succ) {
			g.succ[b] = append(g.succ[b], b+1)
		}
	}
	return g
}

// next says where an instruction may branch to, and whether the one after it can follow.
func next(in *ptx.Instr) (to []int32, falls bool) {
	falls = in.Guard != nil
	switch in.Op {
	case "bra":
		for i := range in.Args {
			if in.Args[i].Kind == ptx.OpLabel {
				to = append(to, in.Args[i].Target)
			}
		}
		return to, falls
	case "brx":
		for i := range in.Args {
			to = append(to, in.Args[i].Targets...)
		}
		return to, falls
	case "ret", "exit", "trap":
		return nil, falls
	}
	return nil, true
}

// reach marks the blocks that can be come to from the end of block b, without entering block not (-1: any). Back edges are
// left out where ahead is set: what is reached then is reached in the same iteration.
func (g *graph) reach(b, not int, ahead bool) []bool {
	seen := make([]bool, len(g.succ))
	work := []int{b}
	for len(work) > 0 {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range g.succ[x] {
			if s != not && !seen[s] && !(ahead && s <= x) {
				seen[s] = true
				work = append(work, s)
			}
		}
	}
	return seen
}

// follows reports whether instruction b can execute after a in the same iteration of the loops around them.
func (g *graph) follows(a, b int) bool {
	return g.of[a] == g.of[b] && a < b || g.reach(g.of[a], -1, true)[g.of[b]]
}

// cuts reports whether every way from instruction a to instruction b passes the point in front of at.
func (g *graph) cuts(at, a, b int) bool {
	x, from, to := g.of[at], g.of[a], g.of[b]
	if from == to && a < b {
		return x == from && at > a && at <= b
	}
	switch {
	case x == from && at > a, x == to && at <= b:
		return true
	case x == from || x == to:
		return false
	}
	return !g.reach(from, x, false)[to]
}

// conditions counts the branches that decide whether a block executes: those from which one way leads to it surely and another
// need not.
func (g *graph) conditions(b int) int {
	n := 0
	for c := range g.succ {
		if len(g.succ[c]) < 2 || c == b {
			continue
		}
		sure, unsure := false, false
		for _, s := range g.succ[c] {
			if s == b || !g.escapes(s, b) {
				sure = true
			} else {
				unsure = true
			}
		}
		if sure && unsure {
			n++
		}
	}
	return n
}

// escapes reports whether the function can end from block s without block b.
func (g *graph) escapes(s, b int) bool {
	seen := g.reach(s, b, false)
	seen[s] = true
	for i, ok := range seen {
		last := g.fn.Body[g.start[i+1]-1]
		if _, falls := next(last); ok && (last.Op == "ret" || last.Op == "exit" || falls && i == len(g.succ)-1) {
			return true
		}
	}
	return false
}

// rounds reports whether a point lies in a loop that no pair is in with both of its accesses: threads come to it as often as
// each of them goes around.
func (g *graph) rounds(at int, pairs [][2]int) bool {
	x := g.of[at]
	from := g.reach(x, -1, false)
	if !from[x] {
		return false
	}
	with := func(i int) bool { b := g.of[i]; return from[b] && g.reach(b, -1, false)[x] }
	for _, p := range pairs {
		if with(p[0]) && with(p[1]) {
			return false
		}
	}
	return true
}

// lastWait is the last wait for copies that every way from instruction a to instruction b passes; a itself where there is none.
func (g *graph) lastWait(a, b int) int {
	last := a
	for i, in := range g.fn.Body {
		if in.Op == "cp" && (in.Has("wait_group") || in.Has("wait_all")) && in.Guard == nil && i+1 < len(g.fn.Body) && g.cuts(i, a, b) && g.cuts(i+1, a, b) {
			last = i
		}
	}
	return last
}

// place finds the point that cuts every way of all pairs, of those that allowed accepts, under the fewest conditions and then
// the first after the first access of the first pair. ok is false where there is none.
func (g *graph) place(pairs [][2]int, allowed func(at int) bool) (at int, ok bool) {
	var points []int
	for _, p := range pairs {
		points = append(points, p[0]+1, p[1])
	}
	points = append(points, g.start[:len(g.start)-1]...)
	type choice struct{ conditions, distance, at int }
	var best []choice
	seen := map[int]bool{}
	for _, x := range points {
		if seen[x] || x >= len(g.fn.Body) {
			continue
		}
		seen[x] = true
		cut := allowed(x)
		for _, p := range pairs {
			cut = cut && g.cuts(x, p[0], p[1])
		}
		if cut {
			conditions := g.conditions(g.of[x])
			if g.rounds(x, pairs) {
				conditions++
			}
			d := x - pairs[0][0]
			if d <= 0 {
				d += len(g.fn.Body)
			}
			best = append(best, choice{conditions, d, x})
		}
	}
	if len(best) == 0 {
		return 0, false
	}
	sort.Slice(best, func(i, j int) bool {
		a, b := best[i], best[j]
		if a.conditions != b.conditions {
			return a.conditions < b.conditions
		}
		return a.distance < b.distance
	})
	return best[0].at, true
}
