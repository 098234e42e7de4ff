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

// Tree is a lineage folded by operation: values that the same operation of the source made are one node, and so are the steps of
// a sum or a maximum that go on with each other's results. An operation of a loop that takes what it made in an iteration before leads
// back to its own node, or to one above it.
type Tree struct {
	Root  *Fold // nil where the lineage is a leaf
	Folds []*Fold
}

// Fold is values that one operation made, or leaves of one kind.
type Fold struct {
	ID     int
	Kind   Kind   // by which kind of dependence it is reached: the strongest
	Op     string // for a person: "sum of 64 products", "ex2(a)", "stored to sP[3][0..63]", "K[0][1][17][0..63]"
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
	Where  string       // the elements or the variable: "K[0][1][17][0..63]"
	Ref    Ref          // the value by which it was found first
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
	class  []int32 // by node: its group, -1 where it is passed over
	groups []group
	parent []int32 // of the groups, to merge them
	ends   map[int32][]end
}

// group is the nodes of one operation.
type group struct {
	key     string
	members []int32
}

// end is what an edge leads to, past the nodes that only move values: a node, or a leaf with the node that reads it.
type end struct {
	leaf bool
	to   int32
	by   int32 // the node that has the edge to a leaf, -1
	kind Kind
}

// Fold folds a graph into a tree.
func (g *Graph) Fold() *Tree {
	x := &folder{g: g, t: g.Trace, ends: map[int32][]end{}}
	x.classify()
	x.chain()
	for x.copies() {
	}
	x.gather()
	return x.tree()
}

// shows reports whether a node is an operation that the tree has.
func (x *folder) shows(n int32) bool {
	r := x.g.Nodes[n]
	s := x.t.steps.at(int(r.Step))
	f := &x.t.flows[s.pc]
	switch f.kind {
	case flowBytes, flowPermute:
		return !x.moves(f, r)
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
func (x *folder) moves(f *flow, r Ref) bool {
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
	for _, e := range x.g.Uses[n] {
		if !e.Leaf && e.Kind == ByValue {
			return false
		}
	}
	return true
}

// classify puts the nodes into groups, by instruction.
func (x *folder) classify() {
	x.class = make([]int32, len(x.g.Nodes))
	byPC := map[int32]int32{}
	for n := range x.g.Nodes {
		x.class[n] = -1
		if !x.shows(int32(n)) {
			continue
		}
		pc := x.t.steps.at(int(x.g.Nodes[n].Step)).pc
		k, known := byPC[pc]
		if !known {
			k = int32(len(x.groups))
			byPC[pc] = k
			x.groups = append(x.groups, group{key: x.copyKey(pc)})
			x.parent = append(x.parent, k)
		}
		x.class[n] = k
		x.groups[k].members = append(x.groups[k].members, int32(n))
	}
}

// copyKey is what copies of one operation have in common, that a compiler made of a loop or an inlined function: opcode and line.
func (x *folder) copyKey(pc int32) string {
	in := x.t.flows[pc].in
	if in.Loc == nil {
		return in.Opcode()
	}
	f := x.t.funcs[x.t.owner[pc]]
	at := target.Blame(f, int(pc-x.t.base[f]))
	return fmt.Sprintf("%s|%s:%d", in.Opcode(), at.File, at.Line)
}

func (x *folder) find(k int32) int32 {
	for x.parent[k] != k {
		x.parent[k] = x.parent[x.parent[k]]
		k = x.parent[k]
	}
	return k
}

// accumulates reports whether an operation adds to, or takes the extreme of, an operand that may be its own result before.
func accumulates(in *ptx.Instr, operand int) bool {
	switch in.Op {
	case "fma", "mad":
		return operand == 3
	case "add", "max", "min":
		return operand == 1 || operand == 2
	}
	return in.Kind() == isa.Multiply && operand == 3
}

// instr is the instruction of a node.
func (x *folder) instr(n int32) *ptx.Instr {
	return x.t.flows[x.t.steps.at(int(x.g.Nodes[n].Step)).pc].in
}

// chain merges the groups of sums and extremes that go on with each other.
func (x *folder) chain() {
	for n := range x.g.Nodes {
		k := x.class[n]
		if k < 0 {
			continue
		}
		in := x.instr(int32(n))
		for _, e := range x.g.Uses[n] {
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

// copies merges the groups that are copies of one operation and the same operand of one group. It reports whether there were any.
func (x *folder) copies() (merged bool) {
	type role struct {
		of      int32
		operand int8
		kind    Kind
		key     string
	}
	first := map[role]int32{}
	for n := range x.g.Nodes {
		k := x.class[n]
		if k < 0 {
			continue
		}
		k = x.find(k)
		for _, e := range x.g.Uses[n] {
			if e.Leaf {
				continue
			}
			for _, to := range x.past(e.To) {
				if to.leaf {
					continue
				}
				c := x.find(x.class[to.to])
				r := role{k, e.Operand, max(e.Kind, to.kind), x.groups[x.class[to.to]].key}
				if o, known := first[r]; !known {
					first[r] = c
				} else if o = x.find(o); o != c {
					x.parent[c] = o
					merged = true
				}
			}
		}
	}
	return merged
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
		return []end{{to: n, by: -1}}
	}
	if out, known := x.ends[n]; known {
		return out
	}
	x.ends[n] = nil
	var out []end
	seen := map[end]bool{}
	for _, e := range x.g.Uses[n] {
		if e.Leaf {
			out = append(out, end{true, e.To, n, e.Kind})
			continue
		}
		for _, to := range x.past(e.To) {
			to.kind = max(to.kind, e.Kind)
			if !seen[to] {
				seen[to] = true
				out = append(out, to)
			}
		}
	}
	x.ends[n] = out
	return out
}

// tree makes the folds, from the roots down.
func (x *folder) tree() *Tree {
	out := &Tree{}
	folds := map[int32]*Fold{}
	leaves := map[string]*Fold{}
	elements := map[*Fold][]int32{} // leaves of a fold
	var work []int32
	var reach func(from *Fold, kind Kind, operand int, to end)
	reach = func(from *Fold, kind Kind, operand int, to end) {
		kind = max(kind, to.kind)
		var f *Fold
		if to.leaf {
			f = x.leafFold(out, leaves, elements, from, kind, operand, to)
		} else {
			k := x.find(x.class[to.to])
			if f = folds[k]; f == nil {
				f = &Fold{ID: len(out.Folds), Kind: kind, Ref: x.g.Nodes[to.to]}
				folds[k] = f
				out.Folds = append(out.Folds, f)
				work = append(work, k)
			}
			f.Kind = min(f.Kind, kind)
		}
		if from == nil {
			if out.Root == nil {
				out.Root = f
			}
			return
		}
		b := Branch{kind, operand, f}
		if !slices.Contains(from.Of, b) {
			from.Of = append(from.Of, b)
		}
	}
	for _, e := range x.g.Roots {
		if e.Leaf {
			reach(nil, e.Kind, -1, end{true, e.To, -1, e.Kind})
			continue
		}
		for _, to := range x.past(e.To) {
			reach(nil, e.Kind, -1, to)
		}
	}
	for len(work) > 0 {
		k := work[0]
		work = work[1:]
		f := folds[k]
		x.describe(f, x.groups[k].members)
		for _, n := range x.groups[k].members {
			for _, e := range x.g.Uses[n] {
				if e.Leaf {
					reach(f, e.Kind, int(e.Operand), end{true, e.To, n, e.Kind})
					continue
				}
				for _, to := range x.past(e.To) {
					if !to.leaf && folds[x.find(x.class[to.to])] == f && accumulates(x.instr(n), int(e.Operand)) {
						continue // its own result before
					}
					reach(f, e.Kind, int(e.Operand), to)
				}
			}
		}
		slices.SortStableFunc(f.Of, func(a, b Branch) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Operand, b.Operand))
		})
	}
	for _, f := range out.Folds {
		if list := elements[f]; list != nil {
			x.nameLeaf(f, list)
		}
	}
	return out
}

// leafFold is the fold of a leaf: those that one operand reads at one place are one.
func (x *folder) leafFold(out *Tree, leaves map[string]*Fold, elements map[*Fold][]int32, from *Fold, kind Kind, operand int, to end) *Fold {
	l := &x.g.Leaves[to.to]
	id, line := -1, ""
	if from != nil {
		id = from.ID
	}
	if to.by >= 0 {
		line = x.copyKey(x.t.steps.at(int(x.g.Nodes[to.by].Step)).pc)
	}
	key := fmt.Sprint(id, operand, kind, l.Kind, l.Arg, l.Name, l.Cut, l.Kind == LeafImmediate && l.Bits != 0, l.Bits, line)
	f := leaves[key]
	if f == nil {
		f = &Fold{ID: len(out.Folds), Kind: kind, Leaf: l}
		leaves[key] = f
		out.Folds = append(out.Folds, f)
	}
	if to.by >= 0 {
		f.Ref = x.g.Nodes[to.by]
		x.at(f, f.Ref)
	}
	if list := elements[f]; !slices.Contains(list, to.to) {
		elements[f] = append(list, to.to)
	}
	return f
}

// at adds where a value was made to a fold.
func (x *folder) at(f *Fold, r Ref) {
	s := x.t.steps.at(int(r.Step))
	fn := x.t.funcs[x.t.owner[s.pc]]
	src := target.Blame(fn, int(s.pc-x.t.base[fn]))
	switch {
	case f.Source == nil:
		f.Source, f.Line = src, src.Line
	case f.Source.File == src.File && src.Line < f.Source.Line:
		f.Source = src
	case f.Source.File == src.File:
		f.Line = max(f.Line, src.Line)
	}
	if w := int(s.warp); !slices.Contains(f.Warps, w) {
		f.Warps = append(f.Warps, w)
	}
	if l := int(r.Lane); !slices.Contains(f.Lanes, l) {
		f.Lanes = append(f.Lanes, l)
	}
	if f.Instr == "" {
		f.Instr = x.t.flows[s.pc].in.Opcode()
	}
}
