package lineage

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// describe says what the operation of some nodes is, those of a group; chain: some go on with results of
// others.
func (x *folder) describe(f *Fold, members []int32, group int32, chain bool) {
	f.Count = len(members)
	var totals []int32
	for _, n := range members {
		if !x.used[n] {
			totals = push(totals, n)
		}
	}
	f.Last = make([]Ref, len(totals))
	for i, n := range totals {
		f.Last[i] = x.g.Nodes[n]
	}
	x.operation(f, members, totals, group, chain)
}

// extent is what a total is made of: steps and terms, once each, and as often as they enter.
type extent struct{ steps, terms, stepWays, termWays int }

// mostTotals is how many totals of a group are measured, and mostSteps the steps of them.
const (
	mostTotals = 64
	mostSteps  = 1 << 16
)

// extents measures the totals of a group: the smallest and the largest.
func (x *folder) extents(totals []int32, group int32) (least, most extent) {
	work := 0
	for i, n := range totals {
		if i >= mostTotals || work > mostSteps {
			break
		}
		e := x.within(n, group)
		work += e.steps
		if i == 0 {
			least, most = e, e
			continue
		}
		least = extent{
			min(least.steps, e.steps), min(least.terms, e.terms), min(least.stepWays, e.stepWays),
			min(least.termWays, e.termWays),
		}
		most = extent{
			max(most.steps, e.steps), max(most.terms, e.terms), max(most.stepWays, e.stepWays),
			max(most.termWays, e.termWays),
		}
	}
	return least, most
}

// within counts, of one total of a group, the steps of its sum or extreme, and what is added or compared.
func (x *folder) within(n, group int32) extent {
	type ways struct{ steps, terms int }
	seen, ends := map[int32]ways{}, map[end]bool{}
	var visit func(n int32) ways
	visit = func(n int32) ways {
		if w, known := seen[n]; known {
			return w
		}
		w := ways{steps: 1}
		in := x.instr(n)
		for _, e := range x.g.Uses(n) {
			if e.Kind != ByValue || !accumulates(in, int(e.Operand)) {
				continue
			}
			tos := []end{{leaf: true, to: e.To}}
			if !e.Leaf {
				tos = x.past(e.To)
			}
			for _, to := range tos {
				switch {
				// what a sum or an extreme begins with is none of its terms
				case to.leaf && x.g.Leaves[to.to].Kind == LeafImmediate:
				case to.leaf || x.find(x.class[to.to]) != group:
					ends[end{leaf: to.leaf, to: to.to}] = true
					w.terms++
				default:
					o := visit(to.to)
					w.steps, w.terms = min(w.steps+o.steps, 1<<30), min(w.terms+o.terms, 1<<30)
				}
			}
		}
		seen[n] = w
		return w
	}
	w := visit(n)
	return extent{len(seen), len(ends), w.steps, w.terms}
}

// operation words what the nodes did; chain: some go on with results of others.
func (x *folder) operation(f *Fold, members, totals []int32, group int32, chain bool) {
	n := members[0]
	r := x.g.Nodes[n]
	s := x.t.steps.at(int(r.Step))
	fl := &x.t.flows[s.pc]
	in := fl.in
	switch fl.kind {
	case flowProduct, flowAsyncProduct:
		k := max(fl.f.k, 1)
		if fl.f.k == 0 && fl.f.a != nil {
			k = fl.f.a.Cols
		}
		least, most := x.extents(totals, group)
		text := fmt.Sprintf("sum of %s products", span(k*least.steps, k*most.steps))
		f.Op = each(len(f.Last), repeated(text, k*most.steps, k*most.stepWays))
		return
	case flowLoad, flowLoadRows, flowLoadTile:
		f.Where = x.memory(f, members)
		f.Op = "loaded from " + f.Where
		return
	case flowStore, flowStoreRows, flowStoreTile:
		f.Where = x.memory(f, members)
		f.Op = "stored to " + f.Where
		return
	case flowCopy:
		f.Where = x.memory(f, members)
		f.Op = "copied to " + f.Where
		return
	case flowAtomic:
		f.Where = x.memory(f, members)
		f.Op = updates(in) + f.Where
		return
	}
	if chain {
		least, most := x.extents(totals, group)
		f.Op = each(len(f.Last), chained(in, least, most))
		return
	}
	f.Op = formula(in)
	f.Op = each(len(members), f.Op)
}

// span writes a range of counts.
func span(lo, hi int) string {
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

// each says that there are several values of a kind.
func each(n int, what string) string {
	if n > 1 {
		return fmt.Sprintf("%s, %d values", what, n)
	}
	return what
}

// repeated adds to a sum how many terms there are where some enter more than once.
func repeated(what string, once, often int) string {
	if often > once {
		return fmt.Sprintf("%s, %d with repeats", what, often)
	}
	return what
}

// chained words sums or extremes over several steps.
func chained(in *ptx.Instr, least, most extent) string {
	terms := span(least.terms, most.terms)
	switch in.Op {
	case "max":
		return fmt.Sprintf("maximum of %s values", terms)
	case "min":
		return fmt.Sprintf("minimum of %s values", terms)
	case "fma", "mad":
		return repeated(fmt.Sprintf("sum of %s products", span(least.steps, most.steps)), most.steps,
			most.stepWays)
	}
	return repeated(fmt.Sprintf("sum of %s terms", terms), most.terms, most.termWays)
}

// updates words an atomic.
func updates(in *ptx.Instr) string {
	for _, m := range in.Mods {
		switch m {
		case "add":
			return "atomically added to "
		case "exch":
			return "exchanged with "
		case "cas", "min", "max", "and", "or", "xor", "inc", "dec":
			return "atomic " + m + " on "
		}
	}
	return "atomic on "
}

// formula writes an instruction as a function of its operands a, b and c.
func formula(in *ptx.Instr) string {
	form := in.Form()
	if form.Kind == isa.Convert {
		if ts := in.Types(); len(ts) == 2 {
			return fmt.Sprintf("%s as %s", ts[1], ts[0])
		}
	}
	n := max(len(in.Args)-1, 0)
	names := strings.Split("abcdefgh", "")[:min(n, 8)]
	if form.Real != nil && in.Type().Float() {
		if len(form.Infix) == n-1 && n > 1 {
			text := names[0]
			for i, op := range form.Infix {
				text += " " + op + " " + names[i+1]
			}
			return text
		}
	}
	name := in.Op
	for _, m := range in.Mods {
		if form.Kind == isa.Compare && form.HasMod(m) && compares[m] {
			name += "." + m
		}
	}
	return name + "(" + strings.Join(names, ", ") + ")"
}

var compares = map[string]bool{
	"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true, "ltu": true, "gtu": true,
	"leu": true, "geu": true,
	"equ": true, "neu": true, "lo": true, "ls": true, "hi": true, "hs": true,
}

// memory names the memory that nodes load or store.
func (x *folder) memory(f *Fold, members []int32) string {
	type piece struct {
		v    *Variable
		a    *alloc
		at   []int
		size int
	}
	var pieces []*piece
	find := func(v *Variable, a *alloc, size int) *piece {
		for _, p := range pieces {
			if p.v == v && p.a == a {
				return p
			}
		}
		p := &piece{v: v, a: a, size: size}
		pieces = append(pieces, p)
		return p
	}
	for _, n := range members {
		addr, space, bytes, ok := x.t.place(x.g.Nodes[n])
		if !ok {
			continue
		}
		if space == target.SpaceShared {
			v := x.t.Variable(addr)
			if v == nil {
				continue
			}
			size := max(v.DType.Size(), 1)
			p := find(v, nil, size)
			for b := uint64(0); b < uint64(bytes); b += uint64(size) {
				p.at = push(p.at, int(addr+b-v.Lo)/size)
			}
			continue
		}
		if i := x.t.allocAt(addr); i >= 0 {
			a := &x.t.allocs[i]
			p := find(nil, a, a.size)
			p.at = push(p.at, int(addr-a.lo)/a.size)
		}
	}
	var out []string
	for _, p := range pieces {
		if p.v != nil {
			f.DType = p.v.DType
		} else {
			f.DType = p.a.dtype
		}
		switch {
		case p.v != nil && p.v.DType.Size() > 0:
			out = append(out, p.v.Name+Box(p.v.Dims, p.at))
		case p.v != nil:
			out = append(out, p.v.Name+Box(nil, p.at))
		case p.a.arg >= 0:
			out = append(out, p.a.name+BoxOf(x.t.launch.Args[p.a.arg].Buffer, p.at))
		case p.a.name == "":
			out = append(out, "the capture buffer")
		default:
			out = append(out, p.a.name+Box(nil, p.at))
		}
	}
	if len(out) == 0 {
		return "memory"
	}
	return strings.Join(out, " and ")
}

// Memory names the memory that a value was loaded from, or that a store put it into: "half_sum[1][0]";
// "memory" where it has no name.
func (t *Trace) Memory(r Ref) string {
	x := &folder{t: t, g: &Graph{Nodes: []Ref{r}}}
	return x.memory(&Fold{}, []int32{0})
}

// place is the memory that a node's bytes were loaded from or stored to.
func (t *Trace) place(r Ref) (addr uint64, space target.Space, n int, ok bool) {
	s := t.steps.at(int(r.Step))
	f := &t.flows[s.pc]
	w := walker{t: t}
	lane := int(r.Lane)
	var a *access
	off := int(r.Lo)
	switch {
	case f.kind == flowStoreTile && r.Index == InMemory:
		a = t.accesses.at(int(s.aux) + int(r.Part))
	case f.kind == flowLoadTile:
		for k := range int(s.n) {
			b := t.accesses.at(int(s.aux) + k)
			f.tileParts(b, func(reg, lo, size, at int) {
				if reg == int(r.Index)%f.f.d.Distinct() && off >= lo && off < lo+size && a == nil {
					a, off = b, at+off-lo
				}
			})
			if a != nil {
				break
			}
		}
	case f.kind == flowLoadRows:
		row, col := f.f.d.Cell(lane, off/2)
		lane = (8*int(r.Index) + row) & 31
		a, off = w.accessOf(s, lane), 2*col
	case f.kind == flowLoad:
		a, off = w.accessOf(s, lane), int(r.Index)*min(f.size, 8)+off
	case f.kind == flowAtomic:
		a = w.accessOf(s, lane)
	default:
		a = w.accessOf(s, lane)
	}
	if a == nil {
		return 0, 0, 0, false
	}
	return t.addr(a, lane) + uint64(off), a.space, int(r.N), true
}

// nameLeaf words the leaves of a fold.
func (x *folder) nameLeaf(f *Fold, list []int32) {
	l := f.Leaf
	f.Count = len(list)
	switch l.Kind {
	case LeafElement, LeafElsewhere:
		var at []int
		for _, i := range list {
			at = append(at, x.g.Leaves[i].Element)
		}
		slices.Sort(at)
		f.Elements = at
		f.Where = l.Name + BoxOf(x.t.launch.Args[l.Arg].Buffer, at)
		f.Op = f.Where
		if l.Kind == LeafElsewhere {
			f.Op += ", written by another block"
		}
	case LeafScalar:
		f.Where = l.Name
		f.Op = l.Name
	case LeafImmediate:
		f.Op = immediate(l.Bits, x.typeOf(f))
	case LeafSpecial:
		f.Op = l.Name
	case LeafConstant:
		f.Where = l.Name
		f.Op = "initial contents of " + l.Name
	case LeafFill:
		f.Where = "filled by the tensor map"
		f.Op = f.Where
	case LeafCut:
		f.Op = fmt.Sprintf("cut %d", l.Cut)
	default:
		name := l.Name
		if v := x.t.Variable(l.Addr); name == "" && l.Space == target.SpaceShared && v != nil {
			var at []int
			for _, i := range list {
				at = append(at, int(x.g.Leaves[i].Addr-v.Lo)/max(v.DType.Size(), 1))
			}
			name = v.Name + Box(v.Dims, at)
		}
		if name == "" {
			name = l.Space.String() + " memory"
		}
		f.Where, f.Op = name, name+", never written"
	}
}

// typeOf is the type of the instruction that reads a leaf.
func (x *folder) typeOf(f *Fold) ptx.Type {
	if f.Source == nil {
		return ptx.TypeNone
	}
	return x.t.Type(f.Ref)
}

// immediate writes a constant.
func immediate(bits uint64, t ptx.Type) string {
	v := uint32(bits)
	switch f := math.Float32frombits(v); {
	case t == ptx.F64:
		return fmt.Sprintf("%v", math.Float64frombits(bits))
	case t == ptx.F32, t.Bits() == 32 && math.IsInf(float64(f), 0),
		t == ptx.B32 && v > 1<<20 && math.Abs(float64(f)) > 1e-20 && math.Abs(float64(f)) < 1e20:
		return fmt.Sprintf("%v", f) // of a number as of bits: a float where it looks like one
	}
	if s := int64(bits); s < 0 && s > -1<<31 {
		return fmt.Sprint(s)
	}
	return fmt.Sprint(bits)
}

// BoxOf writes elements of a buffer, by their places in its memory, as Box does: by index, or by place where
// one of them is in a gap between elements and so has no index.
func BoxOf(b *target.Buffer, at []int) string {
	if b.Strides == nil {
		return Box(b.Dims, at)
	}
	elements := make([]int, len(at))
	for i, place := range at {
		index, ok := probes.IndexAt(place, b.Dims, b.Strides)
		if !ok {
			return Box(nil, at)
		}
		for d, k := range index {
			elements[i] = elements[i]*b.Dims[d] + k
		}
	}
	return Box(b.Dims, elements)
}

// Box writes a set of elements of a tensor with these dimensions, by flat index: "[0][1][17][0..63]" where
// they are a box, with steps ("0..62 by 2"), else some runs of them. dims nil: one dimension.
func Box(dims []int, at []int) string {
	at = slices.Clone(at)
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) == 0 {
		return ""
	}
	if len(dims) == 0 {
		dims = []int{at[len(at)-1] + 1}
	}
	coords := make([][]int, len(dims))
	for _, e := range at {
		for d := len(dims) - 1; d >= 0; d-- {
			n := max(dims[d], 1)
			c := e % n
			if d == 0 {
				c = e
			}
			coords[d] = append(coords[d], c)
			e /= n
		}
	}
	total := 1
	for d := range coords {
		slices.Sort(coords[d])
		coords[d] = slices.Compact(coords[d])
		total *= len(coords[d])
	}
	if total == len(at) {
		text := ""
		for _, c := range coords {
			text += "[" + steps(c) + "]"
		}
		return text
	}
	return runs(dims, at)
}

// steps writes sorted numbers: a range, one with a step, or a list.
func steps(c []int) string {
	if len(c) == 1 {
		return fmt.Sprint(c[0])
	}
	by := c[1] - c[0]
	for i := 2; i < len(c); i++ {
		if c[i]-c[i-1] != by {
			by = 0
			break
		}
	}
	switch {
	case by == 1:
		return fmt.Sprintf("%d..%d", c[0], c[len(c)-1])
	case by > 1 && len(c) > 2:
		return fmt.Sprintf("%d..%d by %d", c[0], c[len(c)-1], by)
	}
	var parts []string
	for i := 0; i < len(c); {
		j := i
		for j+1 < len(c) && c[j+1] == c[j]+1 {
			j++
		}
		if len(parts) == 6 {
			return strings.Join(parts, ",") + fmt.Sprintf(",… (%d)", len(c))
		}
		if j > i+1 {
			parts = append(parts, fmt.Sprintf("%d..%d", c[i], c[j]))
		} else {
			j = i
			parts = append(parts, fmt.Sprint(c[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// runs writes elements that are no box, by runs in the last dimension.
func runs(dims []int, at []int) string {
	const most = 3
	var parts []string
	last := max(dims[len(dims)-1], 1)
	n := 0
	for i := 0; i < len(at); n++ {
		j := i
		for j+1 < len(at) && at[j+1] == at[j]+1 && at[j+1]/last == at[i]/last {
			j++
		}
		if n < most {
			parts = append(parts, Box(dims, at[i:j+1]))
		}
		i = j + 1
	}
	text := strings.Join(parts, ", ")
	if n > most {
		text += fmt.Sprintf(", … (%d elements)", len(at))
	}
	return text
}
