package lineage

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Query says what a walk backwards follows, and where it ends.
type Query struct {
	Address bool // registers that form addresses, too
	Control bool // guards, branches and predicates that choose, too
	// Nodes is the most values that are visited, 0: DefaultNodes.
	Nodes int
	// Cut ends the walk at bytes of memory, as a step finds them: they are a leaf of kind LeafCut with the
	// number that it returns. CutValue does at a value. Either may be nil.
	Cut      func(Place) (int, bool)
	CutValue func(Ref) (int, bool)
}

// DefaultNodes is the most values that a walk visits without a limit of its own.
const DefaultNodes = 4 << 20

// Edge is that a value depends on a node of the graph, or (Leaf) on a leaf.
type Edge struct {
	Kind    Kind
	Operand int8
	Leaf    bool
	To      int32 // index in Graph.Nodes, or in Graph.Leaves
}

// Graph is a value's lineage: nodes are values that lanes got from steps, edges lead to what they are made
// of. It has no cycles. Nodes and edges that several values share are there once.
type Graph struct {
	Trace  *Trace
	Roots  []Edge // what the walk began with
	Nodes  []Ref
	Leaves []Leaf
	// Truncated: Query.Nodes was reached, and values that were found last have no uses.
	Truncated bool

	edges []Edge
	first []uint32 // by node: where its edges begin
}

// Uses are the edges from a node: what the value is made of.
func (g *Graph) Uses(n int32) []Edge {
	if int(n)+1 >= len(g.first) {
		return nil
	}
	return g.edges[g.first[n]:g.first[n+1]]
}

// Walk follows what bytes of memory are made of, backwards to the leaves. The error is that of ctx.
func (t *Trace) Walk(ctx context.Context, p Place, q Query) (*Graph, error) {
	return t.WalkAll(ctx, []Place{p}, q)
}

// WalkAll follows what bytes at several places are made of.
func (t *Trace) WalkAll(ctx context.Context, ps []Place, q Query) (*Graph, error) {
	w := walker{t: t, address: q.Address, control: q.Control}
	for _, p := range ps {
		if p.At < 0 {
			p.At = t.steps.n
		}
		w.bytes(p, ByValue, 0)
	}
	return t.explore(ctx, w.out, q)
}

// WalkValue follows what a value is made of. Bytes lo to lo+n of it are, where n is 0, all of them.
func (t *Trace) WalkValue(ctx context.Context, r Ref, q Query) (*Graph, error) {
	return t.explore(ctx, []Use{{Kind: ByValue, Ref: r}}, q)
}

// WalkValues follows what several values are made of.
func (t *Trace) WalkValues(ctx context.Context, refs []Ref, q Query) (*Graph, error) {
	roots := make([]Use, len(refs))
	for i, r := range refs {
		roots[i] = Use{Kind: ByValue, Ref: r}
	}
	return t.explore(ctx, roots, q)
}

// explorer builds a graph.
type explorer struct {
	g      *Graph
	q      Query
	slots  []int32                           // by step: one more than its number in parts; nil: few are found
	parts  chunked[[parts]int32]             // by part of its results: one more than the number in lanes
	lanes  chunked[[32]int32]                // one more than the node that was first found there of each lane
	nodes  map[uint64]int32                  // the other ones
	pages  map[leafPage]*[leafPageSize]int32 // one more than the leaf that an element is
	page   *[leafPageSize]int32
	at     leafPage // of page
	leaves map[Leaf]int32
	w      walker
}

func (t *Trace) explore(ctx context.Context, roots []Use, q Query) (*Graph, error) {
	if q.Nodes == 0 {
		q.Nodes = DefaultNodes
	}
	x := &explorer{
		g: &Graph{Trace: t}, q: q, nodes: map[uint64]int32{},
		pages: map[leafPage]*[leafPageSize]int32{}, leaves: map[Leaf]int32{},
	}
	x.w = walker{t: t, address: q.Address, control: q.Control, cut: q.Cut}
	x.g.Roots = slices.Clone(x.edges(roots))
	x.g.edges = x.g.edges[:0]
	for i := 0; i < len(x.g.Nodes); i++ {
		if i&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(x.g.Nodes) > q.Nodes {
			x.g.Truncated = true
			break
		}
		x.w.out = x.w.out[:0]
		x.w.uses(x.g.Nodes[i])
		x.g.first = push(x.g.first, uint32(len(x.g.edges)))
		x.edges(x.w.out)
	}
	x.g.first = append(x.g.first, uint32(len(x.g.edges)))
	return x.g, nil
}

// key is the reference as a number: no two that are found are the same.
func (r Ref) key() uint64 {
	return uint64(r.Step)<<32 | uint64(r.Lane&31)<<27 | uint64(r.Index)<<19 | uint64(r.Lo&31)<<14 |
		uint64(r.N&31)<<9 | uint64(r.Part)
}

// edges appends what uses lead to.
func (x *explorer) edges(uses []Use) []Edge {
	first := len(x.g.edges)
	for i := range uses {
		u := &uses[i]
		e := Edge{Kind: u.Kind, Operand: u.Operand}
		l := u.Leaf
		if l == nil && x.q.CutValue != nil {
			if id, cut := x.q.CutValue(u.Ref); cut {
				l = &Leaf{Kind: LeafCut, Arg: -1, Cut: id}
			}
		}
		if l != nil {
			e.Leaf, e.To = true, x.leaf(l)
		} else {
			e.To = x.node(u.Ref)
		}
		x.g.edges = push(x.g.edges, e)
	}
	return x.g.edges[first:]
}

// push appends to a long list. It doubles what is too short, so that elements are copied about once each.
func push[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 1<<10))
	}
	return append(list, v)
}

// always is what a chunked list asks for memory where nothing limits it.
func always() bool { return true }

// parts is how many parts of a step's results are found without hashing.
const parts = 16

// few is how many values are found by hashing alone: tables as large as the trace cost more than that.
const few = 1 << 11

// node is the number of a value. Most lanes of a step have one: it is found without hashing.
func (x *explorer) node(r Ref) int32 {
	if x.slots == nil {
		key := r.key()
		to, known := x.nodes[key]
		if !known {
			to = x.add(r)
			x.nodes[key] = to
			if len(x.g.Nodes) > few {
				x.tabulate()
			}
		}
		return to
	}
	first := x.slot(r)
	if *first == 0 {
		*first = x.add(r) + 1
		return *first - 1
	}
	if x.g.Nodes[*first-1] == r {
		return *first - 1
	}
	key := r.key()
	to, known := x.nodes[key]
	if !known {
		to = x.add(r)
		x.nodes[key] = to
	}
	return to
}

// slot is where the value that was first found of a part of a step's results in a lane has its number.
func (x *explorer) slot(r Ref) *int32 {
	step := &x.slots[r.Step]
	if *step == 0 {
		x.parts.add(always)
		*step = int32(x.parts.n)
	}
	slot := &x.parts.at(int(*step) - 1)[int(4*r.Index+r.Lo+2*r.Part)%parts]
	if *slot == 0 {
		x.lanes.add(always)
		*slot = int32(x.lanes.n)
	}
	return &x.lanes.at(int(*slot) - 1)[r.Lane&31]
}

// tabulate makes tables of the values that were found so far.
func (x *explorer) tabulate() {
	x.slots = make([]int32, x.g.Trace.steps.n)
	clear(x.nodes)
	for i, r := range x.g.Nodes {
		if first := x.slot(r); *first == 0 {
			*first = int32(i) + 1
		} else {
			x.nodes[r.key()] = int32(i)
		}
	}
}

func (x *explorer) add(r Ref) int32 {
	x.g.Nodes = push(x.g.Nodes, r)
	return int32(len(x.g.Nodes) - 1)
}

func (x *explorer) leaf(l *Leaf) int32 {
	to := int32(len(x.g.Leaves))
	if l.Kind == LeafElement {
		at := leafPage{l.Arg, l.Element / leafPageSize}
		if x.page == nil || x.at != at {
			x.at, x.page = at, x.pages[at]
			if x.page == nil {
				x.page = new([leafPageSize]int32)
				x.pages[at] = x.page
			}
		}
		id := &x.page[l.Element%leafPageSize]
		if *id > 0 {
			return *id - 1
		}
		*id = to + 1
	} else {
		if at, known := x.leaves[*l]; known {
			return at
		}
		x.leaves[*l] = to
	}
	x.g.Leaves = push(x.g.Leaves, *l)
	return to
}

// order lists the nodes so that each comes before what it is made of.
func (g *Graph) order() []int32 {
	out := make([]int32, 0, len(g.Nodes))
	state := make([]int32, len(g.Nodes)) // how many edges were looked at, plus one
	var stack []int32
	visit := func(e Edge) {
		if !e.Leaf && state[e.To] == 0 {
			state[e.To] = 1
			stack = append(stack, e.To)
		}
	}
	for _, root := range g.Roots {
		visit(root)
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			if k, uses := int(state[n])-1, g.Uses(n); k < len(uses) {
				state[n]++
				visit(uses[k])
				continue
			}
			out = append(out, n)
			stack = stack[:len(stack)-1]
		}
	}
	slices.Reverse(out)
	return out
}

// times is how often something is reached, by the weakest kind of edge on the way.
type times [3]uint64

func (a *times) add(b times, k Kind) {
	for i, n := range b {
		to := max(Kind(i), k)
		if a[to] > math.MaxUint64-n {
			a[to] = math.MaxUint64
			continue
		}
		a[to] += n
	}
}

// Elements counts for every leaf in how many ways the roots depend on it: by value alone, over some address,
// over some control. They come in the order of kind, argument and element.
func (g *Graph) Elements() []Count {
	nodes, leaves := make([]times, len(g.Nodes)), make([]times, len(g.Leaves))
	flow := func(e Edge, n times) {
		if e.Leaf {
			leaves[e.To].add(n, e.Kind)
		} else {
			nodes[e.To].add(n, e.Kind)
		}
	}
	for _, e := range g.Roots {
		flow(e, times{1})
	}
	for _, n := range g.order() {
		for _, e := range g.Uses(n) {
			flow(e, nodes[n])
		}
	}
	out := make([]Count, len(leaves))
	for i, l := range g.Leaves {
		out[i] = Count{l, leaves[i]}
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Arg, b.Arg),
			cmp.Compare(a.Element, b.Element), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Bits, b.Bits), cmp.Compare(a.Addr, b.Addr))
	})
	return out
}

// Address is where byte offset of argument arg's buffer lies; ok is false for one that the
// block did not access.
func (t *Trace) Address(arg, offset int) (addr uint64, ok bool) {
	for i := range t.allocs {
		if a := &t.allocs[i]; a.arg == arg {
			return a.lo + uint64(offset), uint64(offset) < a.hi-a.lo
		}
	}
	return 0, false
}
