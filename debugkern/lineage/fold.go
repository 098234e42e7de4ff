package lineage

import (
	"cmp"
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Tree is a lineage folded by operation: values that the same operation of the source made are one node, and
// so are the steps of a sum or a maximum that go on with each other's results. An operation of a loop that
// takes what it made in an iteration before leads back to its own node, or to one above it.
type Tree struct {
	Roots []*Fold // what the walk began with; Folds[0] is the first
	Folds []*Fold
}

// Fold is values that one operation made, or leaves of one kind.
type Fold struct {
	ID   int
	Kind Kind // by which kind of dependence it is reached: the strongest
	// Op: for a person: "sum of 64 products", "ex2(a)", "stored to sP[3][0..63]", "K[0][1][17][0..63]"
	Op     string
	Instr  string // the opcode; "" of a leaf
	Source *target.Source
	Line   int // the last line, of an operation over several
	Warps  []int
	Lanes  []int
	Count  int   // values
	Last   []Ref // the values that are used outside: of a sum the total
	Of     []Branch
	Leaf   *Leaf        // of a leaf one of its leaves
	DType  probes.DType // of the elements, where a variable in memory has a type
	// Elements are, of a leaf that is elements of an argument, which: by flat index, sorted.
	Elements []int
	Where    string // the elements or the variable: "K[0][1][17][0..63]"
	Ref      Ref    // the value by which it was found first
}

// Branch is an operand of a fold.
type Branch struct {
	Kind    Kind
	Operand int // of the instruction, from 0 for the first; -1: none
	To      *Fold
}

// folder builds a tree.
type folder struct {
	g      *Graph
	t      *Trace
	pc     []int32 // by node
	class  []int32 // by node: its group, -1 where it is passed over
	groups []group
	parent []int32 // of the groups, to merge them
	self   []end   // by node: itself
	ends   [][]end // of those that are
	endsOf []int32 // by node: one more than its number in ends, 0 where it has none yet
	places []place // by PC
	used   []bool  // by node: another of its group goes on with it
}

// group is the nodes of one operation.
type group struct {
	key     int32 // copies of one operation have the same
	members []int32
}

// end is what an edge leads to, past the nodes that only move values: a node, or a leaf with the
// node that reads it.
type end struct {
	leaf bool
	kind Kind
	to   int32
	by   int32 // the node that has the edge to a leaf, -1
}

// place is where an instruction comes from.
type place struct {
	known bool
	at    *target.Source
	key   int32 // of opcode and line
}

// Fold folds a graph into a tree.
func (g *Graph) Fold() *Tree {
	x := &folder{
		g: g, t: g.Trace, self: make([]end, len(g.Nodes)), endsOf: make([]int32, len(g.Nodes)),
		places: make([]place, len(g.Trace.flows)), used: make([]bool, len(g.Nodes)),
	}
	x.classify()
	x.chain()
	x.copies()
	x.gather()
	return x.tree()
}

// place finds where an instruction comes from.
func (x *folder) place(pc int32, keys map[string]int32) *place {
	p := &x.places[pc]
	if p.known {
		return p
	}
	in := x.t.flows[pc].in
	f := x.t.funcs[x.t.owner[pc]]
	p.known, p.at = true, target.Blame(f, int(pc-x.t.base[f]))
	key := in.Opcode()
	if in.Loc != nil { // copies that a compiler made of a loop or an inlined function have a line in common
		key = fmt.Sprintf("%s|%s:%d", key, p.at.File, p.at.Line)
	}
	k, known := keys[key]
	if !known {
		k = int32(len(keys))
		keys[key] = k
	}
	p.key = k
	return p
}

// shows reports whether a node is an operation that the tree has.
func (x *folder) shows(n int32) bool {
	r := x.g.Nodes[n]
	s := x.t.steps.at(int(r.Step))
	f := &x.t.flows[s.pc]
	switch f.kind {
	case flowBytes, flowPermute:
		return !f.moves(r)
	case flowShuffle, flowTranspose, flowSelect, flowNone:
		return false
	case flowLoad, flowLoadRows, flowLoadTile:
		return x.far(s) && !x.leafOnly(n) && !f.in.Loc.Within(target.IsProbe)
	case flowStore, flowStoreRows, flowStoreTile, flowCopy:
		return x.far(s) && !f.in.Loc.Within(target.IsProbe)
	}
	return true
}

// moves reports whether the bytes of a value are bytes of a source.
func (f *flow) moves(r Ref) bool {
	if f.kind == flowPermute {
		return true
	}
	at := int(r.Lo)
	for _, d := range f.dst[:r.Index] {
		at += int(d.bytes)
	}
	for i := at; i < at+int(r.N) && i < len(f.bytes); i++ {
		if f.bytes[i].src == isMade {
			return false
		}
	}
	return true
}

// far reports whether a step accesses memory that other threads see.
func (x *folder) far(s *step) bool {
	if s.n == 0 {
		return false
	}
	sp := x.t.accesses.at(int(s.aux)).space
	return sp == target.SpaceShared || sp == target.SpaceGlobal || sp == target.SpaceConst
}

// leafOnly reports whether a node has leaves alone.
func (x *folder) leafOnly(n int32) bool {
	for _, e := range x.g.Uses(n) {
		if !e.Leaf && e.Kind == ByValue {
			return false
		}
	}
	return true
}

// classify puts the nodes into groups, by instruction.
func (x *folder) classify() {
	x.pc, x.class = make([]int32, len(x.g.Nodes)), make([]int32, len(x.g.Nodes))
	byPC, keys := map[int32]int32{}, map[string]int32{}
	for n := range x.g.Nodes {
		x.class[n] = -1
		pc := x.t.steps.at(int(x.g.Nodes[n].Step)).pc
		x.pc[n], x.self[n] = pc, end{to: int32(n), by: -1}
		x.place(pc, keys)
		if !x.shows(int32(n)) {
			continue
		}
		k, known := byPC[pc]
		if !known {
			k = int32(len(x.groups))
			byPC[pc] = k
			x.groups = append(x.groups, group{key: x.places[pc].key})
			x.parent = append(x.parent, k)
		}
		x.class[n] = k
		x.groups[k].members = append(x.groups[k].members, int32(n))
	}
}

func (x *folder) find(k int32) int32 {
	for x.parent[k] != k {
		x.parent[k] = x.parent[x.parent[k]]
		k = x.parent[k]
	}
	return k
}

// accumulates reports whether an operation adds to, or takes the extreme of, an operand that may be
// its own result before.
func accumulates(in *ptx.Instr, operand int) bool {
	switch in.Op {
	case "fma", "mad":
		return operand == 3
	case "add", "max", "min":
		return operand == 1 || operand == 2
	}
	return in.Kind() == isa.Multiply && operand == 3 || in.Kind() == isa.WgmmaMultiply && operand == 0
}

// instr is the instruction of a node.
func (x *folder) instr(n int32) *ptx.Instr {
	return x.t.flows[x.pc[n]].in
}

// chain merges the groups of sums and extremes that go on with each other.
func (x *folder) chain() {
	for n := range x.g.Nodes {
		k := x.class[n]
		if k < 0 {
			continue
		}
		in := x.instr(int32(n))
		for _, e := range x.g.Uses(int32(n)) {
			if e.Leaf || e.Kind != ByValue || !accumulates(in, int(e.Operand)) {
				continue
			}
			for _, to := range x.past(e.To) {
				if to.leaf || to.kind != ByValue || x.class[to.to] < 0 {
					continue
				}
				if o := x.instr(to.to); o.Op == in.Op && o.Type() == in.Type() {
					x.parent[x.find(x.class[to.to])] = x.find(k)
				}
			}
		}
	}
}

// role is what one group is for another: which operand, how.
type role struct {
	of      int32
	operand int8
	kind    Kind
	to      int32
}

// roles lists which groups are operands of which.
func (x *folder) roles() []role {
	of := make([][]role, len(x.groups)) // each has few
	for n := range x.g.Nodes {
		k := x.class[n]
		if k < 0 {
			continue
		}
		for _, e := range x.g.Uses(int32(n)) {
			if e.Leaf {
				continue
			}
			for _, to := range x.past(e.To) {
				if to.leaf {
					continue
				}
				if r := (role{
					k, e.Operand, max(e.Kind, to.kind), x.class[to.to],
				}); !slices.Contains(of[k], r) {
					of[k] = append(of[k], r)
				}
			}
		}
	}
	return slices.Concat(of...)
}

// copies merges the groups that are copies of one operation and the same operand of one group,
// until there are none.
func (x *folder) copies() {
	roles := x.roles()
	for merged := true; merged; {
		merged = false
		first := map[role]int32{}
		for _, r := range roles {
			c := x.find(r.to)
			r.of, r.to = x.find(r.of), x.groups[r.to].key
			if o, known := first[r]; !known {
				first[r] = c
			} else if o = x.find(o); o != c {
				x.parent[c] = o
				merged = true
			}
		}
	}
}

// gather gives merged groups their members.
func (x *folder) gather() {
	for k := range x.groups {
		if to := x.find(int32(k)); to != int32(k) {
			x.groups[to].members = append(x.groups[to].members, x.groups[k].members...)
			x.groups[k].members = nil
		}
	}
}

// past is what a node is, or where it only moves values, what these are.
func (x *folder) past(n int32) []end {
	if x.class[n] >= 0 {
		return x.self[n : n+1]
	}
	if k := x.endsOf[n]; k > 0 {
		return x.ends[k-1]
	}
	var out []end
	uses := x.g.Uses(n)
	if len(uses) == 1 && !uses[0].Leaf && uses[0].Kind == ByValue { // it is the same
		out, uses = x.past(uses[0].To), nil
	}
	for _, e := range uses {
		if e.Leaf {
			out = append(out, end{true, e.Kind, e.To, n})
			continue
		}
		for _, to := range x.past(e.To) {
			to.kind = max(to.kind, e.Kind)
			if !slices.Contains(out, to) {
				out = append(out, to)
			}
		}
	}
	x.ends = push(x.ends, out)
	x.endsOf[n] = int32(len(x.ends))
	return out
}

// grower makes the folds, from the roots down.
type grower struct {
	*folder
	tree   *Tree
	folds  []*Fold // by group
	leaves map[leafKey]*Fold
	key    leafKey // the last one, and its fold
	fold   *Fold
	marks  []*marks // by fold
	work   []int32
}

// leafKey is what leaves have in common that are one fold: who reads them, as which operand,
// where, and what they are.
type leafKey struct {
	of, operand, key int32
	kind             Kind
	leaf             LeafKind
	arg, cut         int
	name             string
	bits             uint64
}

// marks are the threads and lines of a fold, and its leaves.
type marks struct {
	lanes uint32
	warps []uint64 // bits
	pc    int32    // the last one
	pcs   map[int32]bool
	list  []int32  // leaves
	parts []uint64 // bits: which leaves are in list
}

// set sets a bit, and reports whether it was set.
func set(b *[]uint64, i int) (was bool) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	w := &(*b)[i/64]
	was = *w>>(i%64)&1 != 0
	*w |= 1 << (i % 64)
	return was
}

func (x *folder) tree() *Tree {
	g := &grower{
		folder: x, tree: &Tree{}, folds: make([]*Fold, len(x.groups)), leaves: map[leafKey]*Fold{},
	}
	for _, e := range x.g.Roots {
		if e.Leaf {
			g.to(nil, e.Kind, -1, end{true, e.Kind, e.To, -1})
			continue
		}
		for _, to := range x.past(e.To) {
			g.to(nil, e.Kind, -1, to)
		}
	}
	for len(g.work) > 0 {
		k := g.work[0]
		g.work = g.work[1:]
		g.grow(g.folds[k], x.groups[k].members)
	}
	for _, f := range g.tree.Folds {
		if list := g.marks[f.ID].list; list != nil {
			x.nameLeaf(f, list)
		}
		g.settle(f)
	}
	return g.tree
}

// grow describes a fold and reaches what its members are made of.
func (g *grower) grow(f *Fold, members []int32) {
	k, chain := g.find(g.class[members[0]]), false // chain: some go on with results of others
	for _, n := range members {
		g.at(f, g.g.Nodes[n])
		in := g.instr(n)
		for _, e := range g.g.Uses(n) {
			if e.Leaf {
				g.to(f, e.Kind, int(e.Operand), end{true, e.Kind, e.To, n})
				continue
			}
			for _, to := range g.past(e.To) {
				own := !to.leaf && g.find(g.class[to.to]) == k
				if own && e.Kind == ByValue {
					g.used[to.to] = true
					chain = chain || accumulates(in, int(e.Operand))
				}
				if own && accumulates(in, int(e.Operand)) {
					continue // its own result before
				}
				g.to(f, max(e.Kind, to.kind), int(e.Operand), to)
			}
		}
	}
	g.describe(f, members, k, chain)
	slices.SortStableFunc(f.Of, func(a, b Branch) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Operand, b.Operand))
	})
}

// to makes what an edge leads to a fold, and a branch of from's.
func (g *grower) to(from *Fold, kind Kind, operand int, to end) {
	if kind != ByValue {
		operand = -1
	}
	var f *Fold
	if to.leaf {
		f = g.leaf(from, kind, operand, to)
	} else {
		k := g.find(g.class[to.to])
		if f = g.folds[k]; f == nil {
			f = g.add(&Fold{Kind: kind, Ref: g.g.Nodes[to.to]})
			g.folds[k] = f
			g.work = append(g.work, k)
		}
		f.Kind = min(f.Kind, kind)
	}
	if from == nil {
		if !slices.Contains(g.tree.Roots, f) {
			g.tree.Roots = append(g.tree.Roots, f)
		}
		return
	}
	if b := (Branch{kind, operand, f}); !slices.Contains(from.Of, b) {
		from.Of = append(from.Of, b)
	}
}

// add numbers a fold.
func (g *grower) add(f *Fold) *Fold {
	f.ID = len(g.tree.Folds)
	g.tree.Folds = append(g.tree.Folds, f)
	g.marks = append(g.marks, &marks{pc: -1, pcs: map[int32]bool{}})
	return f
}

// leaf is the fold of a leaf: those that one operand reads at one place are one.
func (g *grower) leaf(from *Fold, kind Kind, operand int, to end) *Fold {
	l := &g.g.Leaves[to.to]
	k := leafKey{
		of: -1, operand: int32(operand), key: -1, kind: kind, leaf: l.Kind, arg: l.Arg, cut: l.Cut,
		name: l.Name, bits: l.Bits,
	}
	if from != nil {
		k.of = int32(from.ID)
	}
	if to.by >= 0 {
		k.key = g.places[g.pc[to.by]].key
	}
	f := g.fold
	if f == nil || k != g.key {
		if f = g.leaves[k]; f == nil {
			f = g.add(&Fold{Kind: kind, Leaf: l})
			g.leaves[k] = f
		}
		g.key, g.fold = k, f
	}
	if to.by >= 0 {
		f.Ref = g.g.Nodes[to.by]
		g.at(f, f.Ref)
	}
	if m := g.marks[f.ID]; !set(&m.parts, int(to.to)) {
		m.list = append(m.list, to.to)
	}
	return f
}

// at adds where a value was made to a fold.
func (g *grower) at(f *Fold, r Ref) {
	s, m := g.t.steps.at(int(r.Step)), g.marks[f.ID]
	m.lanes |= 1 << g.t.lane(s, int(r.Lane))
	set(&m.warps, int(s.warp))
	if m.pc == s.pc || m.pcs[s.pc] {
		return
	}
	m.pcs[s.pc] = true
	m.pc = s.pc
	if f.Instr == "" {
		f.Instr = g.t.flows[s.pc].in.Opcode()
	}
	switch src := g.places[s.pc].at; {
	case f.Source == nil:
		f.Source, f.Line = src, src.Line
	case f.Source.File != src.File:
	case src.Line < f.Source.Line:
		f.Source = src
	default:
		f.Line = max(f.Line, src.Line)
	}
}

// settle lists the threads of a fold.
func (g *grower) settle(f *Fold) {
	m := g.marks[f.ID]
	for l := range 32 {
		if m.lanes>>l&1 != 0 {
			f.Lanes = append(f.Lanes, l)
		}
	}
	for w := range 64 * len(m.warps) {
		if m.warps[w/64]>>(w%64)&1 != 0 {
			f.Warps = append(f.Warps, w)
		}
	}
}
