package check

import (
	"sort"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// wayGraph is the control flow of a function and who comes where in it. It answers where a synchronisation
// could stand: on every way from one access to the other, and under as few conditions as possible.
type wayGraph struct {
	*cfg.Graph
	uniform *Uniformity
}

// waysIn analyses a function, once.
func waysIn(graphs map[*ptx.Func]*wayGraph, fn *ptx.Func) *wayGraph {
	f := graphs[fn]
	if f == nil {
		u := UniformityOf(fn)
		f = &wayGraph{u.graph, u}
		graphs[fn] = f
	}
	return f
}

// conditions counts the branches that decide whether a block executes.
func (g *wayGraph) conditions(b int) int {
	n := 0
	for _, c := range g.uniform.deciders[b] {
		if c != b && len(g.Succ[c]) > 1 { // a guarded exit is no branch
			n++
		}
	}
	return n
}

// rounds reports whether a point lies in a loop that no pair is in with both of its accesses: threads come to
// it as often as each of them goes around.
func (g *wayGraph) rounds(at int, pairs [][2]int) bool {
	x := g.Of[at]
	from := g.Reach(x, -1, false)
	if !from[x] {
		return false
	}
	with := func(i int) bool { b := g.Of[i]; return from[b] && g.Reach(b, -1, false)[x] }
	for _, p := range pairs {
		if with(p[0]) && with(p[1]) {
			return false
		}
	}
	return true
}

// lastWait is the last wait for copies that every way from instruction a to instruction b passes; a itself
// where there is none.
func (g *wayGraph) lastWait(a, b int) int {
	last := a
	for i, in := range g.Func.Body {
		if in.Kind() == isa.WaitAsync && in.Guard == nil && i+1 < len(g.Func.Body) && g.Cuts(i, a, b) &&
			g.Cuts(i+1, a, b) {
			last = i
		}
	}
	return last
}

// place finds the point that cuts every way of all pairs, of those that allowed accepts, under the fewest
// conditions and then the first after the first access of the first pair. ok is false where there is none.
func (g *wayGraph) place(pairs [][2]int, allowed func(at int) bool) (at int, ok bool) {
	var points []int
	for _, p := range pairs {
		points = append(points, p[0]+1, p[1])
	}
	points = append(points, g.Start[:len(g.Start)-1]...)
	type choice struct{ conditions, distance, at int }
	var best []choice
	seen := map[int]bool{}
	for _, x := range points {
		if seen[x] || x >= len(g.Func.Body) {
			continue
		}
		seen[x] = true
		cut := allowed(x)
		for _, p := range pairs {
			cut = cut && g.Cuts(x, p[0], p[1])
		}
		if cut {
			conditions := g.conditions(g.Of[x])
			if g.rounds(x, pairs) {
				conditions++
			}
			d := x - pairs[0][0]
			if d <= 0 {
				d += len(g.Func.Body)
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
