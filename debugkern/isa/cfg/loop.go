package cfg

// order returns the blocks that can be reached, in reverse postorder, and the place of each block in it.
func (g *Graph) order() (order, number []int) {
	n := len(g.Succ)
	number = make([]int, n)
	seen := make([]bool, n)
	type frame struct{ b, next int }
	stack := []frame{{0, 0}}
	seen[0] = true
	var post []int
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(g.Succ[top.b]) {
			s := g.Succ[top.b][top.next]
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
		number[post[i]] = len(order)
		order = append(order, post[i])
	}
	return order, number
}

// dominators returns the immediate dominator of each block, -1 for a block that cannot be reached (the
// iterative algorithm of Cooper, Harvey and Kennedy).
func (g *Graph) dominators(order, number []int) []int {
	idom := make([]int, len(g.Succ))
	for i := range idom {
		idom[i] = -1
	}
	idom[0] = 0
	common := func(x, y int) int {
		for x != y {
			for number[x] > number[y] {
				x = idom[x]
			}
			for number[y] > number[x] {
				y = idom[y]
			}
		}
		return x
	}
	for changed := true; changed; {
		changed = false
		for _, b := range order[1:] {
			best := -1
			for _, p := range g.Pred[b] {
				switch {
				case idom[p] < 0:
				case best < 0:
					best = p
				default:
					best = common(p, best)
				}
			}
			if best >= 0 && idom[b] != best {
				idom[b], changed = best, true
			}
		}
	}
	return idom
}

// Dominance returns a function that reports whether every way to block b passes block a. No block dominates
// one that cannot be reached.
func (g *Graph) Dominance() func(a, b int) bool {
	idom := g.dominators(g.order())
	return func(a, b int) bool {
		for idom[b] >= 0 && a != b && b != idom[b] {
			b = idom[b]
		}
		return idom[b] >= 0 && a == b
	}
}

// Loops returns the natural loops by their head blocks: a branch to a block that dominates it is a back edge,
// and the loop is the blocks that reach the branch without passing that block.
func (g *Graph) Loops() map[int]map[int]bool {
	loops := map[int]map[int]bool{}
	if len(g.Succ) == 0 {
		return loops
	}
	order, _ := g.order()
	dominates := g.Dominance()
	for _, b := range order {
		for _, h := range g.Succ[b] {
			if !dominates(h, b) {
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
					work = append(work, g.Pred[x]...)
				}
			}
		}
	}
	return loops
}
