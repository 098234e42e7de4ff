package lineage

import (
	"math/bits"
	"sort"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// InMemory is the Ref.Index of what a store, a cp.async or an atomic leaves in memory.
const InMemory = 0xff

// Ref is bytes of what one lane got from one step, or gave to memory: N bytes from byte Lo on of destination
// register Index, or (InMemory) of what it wrote; of a store or wmma.store these are bytes of the access,
// whose first element of a fragment is Part.
type Ref struct {
	Step  uint32
	Lane  uint8
	Index uint8
	Lo, N uint8
	Part  uint8
}

// Use is one thing that a value depends on: another value, or a leaf.
type Use struct {
	Kind Kind
	// Operand is which operand of the instruction it enters by (0 is the first), -1 where it is none:
	// a guard, a branch.
	Operand int8
	Ref     Ref
	Leaf    *Leaf // nil: Ref
}

// Uses lists what a value is made of, one step back: for each operand the value that the register was given,
// for a load who wrote the bytes. Moves, loads, shuffles and copies are steps like any other. Address and
// control dependence are left out by default.
func (t *Trace) Uses(r Ref, address, control bool) []Use {
	w := walker{t: t, address: address, control: control}
	w.uses(r)
	return w.out
}

// Bytes lists who wrote the bytes of memory at a place, or the leaves that they are.
func (t *Trace) Bytes(p Place) []Use {
	w := walker{t: t}
	if p.At < 0 {
		p.At = t.steps.n
	}
	w.bytes(p, ByValue, 0)
	return w.out
}

// walker collects the uses of one value.
type walker struct {
	t       *Trace
	address bool
	control bool
	cut     func(Place) (int, bool)
	out     []Use
	room    []Leaf // for leaves
}

func (w *walker) leaf(kind Kind, operand int, l Leaf) {
	if len(w.room) == 0 {
		w.room = make([]Leaf, 64)
	}
	w.room[0] = l
	w.out = append(w.out, Use{Kind: kind, Operand: int8(operand), Leaf: &w.room[0]})
	w.room = w.room[1:]
}

// register adds bytes lo to lo+n of a source in a lane, as step i finds it.
func (w *walker) register(i int, s *step, src *source, lane, lo, n int, kind Kind) {
	if n <= 0 {
		return
	}
	switch {
	case src.reg < 0 && src.form == fromImmediate:
		w.leaf(kind, int(src.arg), Leaf{Kind: LeafImmediate, Arg: -1, Bits: src.bits})
		return
	case src.reg < 0:
		w.leaf(kind, int(src.arg), Leaf{Kind: LeafSpecial, Arg: -1, Name: src.name})
		return
	}
	fn := int(w.t.owner[s.pc])
	at, dst := w.t.writer(fn, int(s.warp), lane, src.reg, i)
	if at < 0 {
		w.leaf(kind, int(src.arg), Leaf{Kind: LeafUnwritten, Arg: -1, Name: w.t.funcs[fn].RegName(src.reg)})
	} else {
		w.out = append(w.out, Use{
			Kind: kind, Operand: int8(src.arg),
			Ref: Ref{uint32(at), uint8(lane), dst, uint8(lo), uint8(n), 0},
		})
	}
	if w.control {
		w.skipped(fn, int(s.warp), lane, src.reg, at, i)
	}
}

// uses adds what a value is made of.
func (w *walker) uses(r Ref) {
	t := w.t
	i, lane := int(r.Step), int(r.Lane)
	s := t.steps.at(i)
	f := &t.flows[s.pc]
	w.madeOf(i, s, f, r)
	w.around(i, s, f, t.lane(s, lane))
}

// madeOf adds what the result of a step is made of.
func (w *walker) madeOf(i int, s *step, f *flow, r Ref) {
	t := w.t
	lane, lo, n := int(r.Lane), int(r.Lo), int(r.N)
	switch f.kind {
	case flowCompute:
		w.computed(i, s, f, lane, lo, n)
	case flowBytes:
		w.moved(i, s, f, f.bytes, f.src, lane, int(r.Index), lo, n)
	case flowPermute:
		w.moved(i, s, f, permuted(f.in, t.rows.at(int(s.aux))[lane]), f.src[:2], lane, int(r.Index), lo, n)
	case flowSelect:
		src := &f.src[1]
		if s.aux>>lane&1 != 0 {
			src = &f.src[0]
		}
		w.register(i, s, src, lane, lo, n, ByValue)
	case flowShuffle:
		if r.Index > 0 {
			break
		}
		if from := t.from(s, f, lane); s.mask>>from&1 != 0 {
			w.register(i, s, &f.src[0], from, lo, n, ByValue)
		} else {
			w.leaf(ByValue, 1, Leaf{
				Kind: LeafUnwritten, Arg: -1, Name: t.funcs[t.owner[s.pc]].RegName(f.src[0].reg),
			})
		}
	case flowVote:
		for k := range f.src {
			for m := s.mask; m != 0; m &= m - 1 {
				w.register(i, s, &f.src[k], bits.TrailingZeros32(m)&31, 0, int(f.src[k].n), ByValue)
			}
		}
	case flowProduct:
		w.product(i, s, f, lane, int(r.Index), lo, n)
	case flowAsyncProduct:
		w.asyncProduct(i, s, f, lane, int(r.Index), lo, n)
	case flowTranspose:
		for e := lo / 2; e <= (lo+n-1)/2 && e < 2; e++ {
			from, half := transposedFrom(lane, e)
			w.register(i, s, &f.src[0], from, 2*half, 2, ByValue)
		}
	case flowLoad:
		w.loaded(i, s, f, lane, int(r.Index), lo, n)
	case flowLoadRows:
		w.loadedRows(i, s, f, lane, int(r.Index), lo, n)
	case flowLoadTile:
		w.loadedTile(i, s, f, lane, int(r.Index), lo, n)
	case flowAtomic:
		w.atomic(i, s, f, r)
	case flowStore, flowStoreRows, flowStoreTile, flowCopy:
		w.store(i, s, f, r)
	}
}

// computed is arithmetic: the same part of each source.
func (w *walker) computed(i int, s *step, f *flow, lane, lo, n int) {
	if f.parts == 1 || len(f.dst) == 0 {
		for k := range f.src {
			w.register(i, s, &f.src[k], lane, int(f.src[k].lo), int(f.src[k].n), ByValue)
		}
		return
	}
	each := max(int(f.dst[0].bytes)/f.parts, 1)
	for p := lo / each; p <= (lo+n-1)/each && p < f.parts; p++ {
		if f.spread {
			src := &f.src[f.parts-1-p]
			w.register(i, s, src, lane, 0, int(src.n), ByValue)
			continue
		}
		for k := range f.src {
			src := &f.src[k]
			if m := int(src.n) / f.parts; src.reg >= 0 {
				w.register(i, s, src, lane, p*m, m, ByValue)
			} else {
				w.register(i, s, src, lane, 0, int(src.n), ByValue)
			}
		}
	}
}

// moved follows bytes that the text, or the selectors, say where they come from.
func (w *walker) moved(i int, s *step, f *flow, bytes []byteFlow, src []source, lane, dst, lo, n int) {
	at := lo
	for _, d := range f.dst[:dst] {
		at += int(d.bytes)
	}
	end := min(at+n, len(bytes))
	for at < end {
		b := &bytes[at]
		m := 1
		switch {
		case b.src >= 0: // as many as follow each other there
			for at+m < end && bytes[at+m].src == b.src && int(bytes[at+m].byte) == int(b.byte)+m {
				m++
			}
			w.register(i, s, &src[b.src], lane, int(b.byte), m, ByValue)
		case b.src == isMade:
			var deps [3]uint8
			for m = 0; at+m < end && bytes[at+m].src == isMade; m++ {
				for j := range deps {
					deps[j] |= bytes[at+m].deps[j]
				}
			}
			for j := range src {
				w.masked(i, s, &src[j], lane, deps[min(j, 2)])
			}
		}
		at += m
	}
}

// masked adds the bytes of a source that a mask names.
func (w *walker) masked(i int, s *step, src *source, lane int, mask uint8) {
	for mask != 0 {
		lo := bits.TrailingZeros8(mask)
		n := bits.TrailingZeros8(^(mask >> lo))
		w.register(i, s, src, lane, lo, n, ByValue)
		mask &^= uint8(1<<n-1) << lo
	}
}

// product is elements of D: each is made of a row of A, a row of B and an element of C.
func (w *walker) product(i int, s *step, f *flow, lane, dst, lo, n int) {
	d := f.f.d
	size := max(d.Bits/8, 1)
	for p := lo / size; p <= (lo+n-1)/size && p < d.PerRegister; p++ {
		row, col := d.Cell(lane, dst%d.Distinct()*d.PerRegister+p)
		for k := range f.f.a.Cols {
			w.cell(i, s, f, f.f.a, f.f.at[0], row, k)
			w.cell(i, s, f, f.f.b, f.f.at[1], col, k)
		}
		w.cell(i, s, f, f.f.c, f.f.at[2], row, col)
	}
}

// cell adds a cell of an operand of a product.
func (w *walker) cell(i int, s *step, f *flow, frag *isa.Fragment, first, row, col int) {
	at := w.t.inverse(frag)[row*frag.Cols+col]
	reg, part := frag.Register(int(at & 0xff))
	if first+reg < len(f.src) {
		w.register(i, s, &f.src[first+reg], int(at>>8), part*frag.Bits/8, max(frag.Bits/8, 1), ByValue)
	}
}

// accessOf finds the access of a step in which a lane takes part.
func (w *walker) accessOf(s *step, lane int) *access {
	for k := range int(s.n) {
		if a := w.t.accesses.at(int(s.aux) + k); a.mask>>lane&1 != 0 {
			return a
		}
	}
	return nil
}

func (w *walker) loaded(i int, s *step, f *flow, lane, dst, lo, n int) {
	a := w.accessOf(s, lane)
	if a == nil {
		w.leaf(ByValue, 1, Leaf{Kind: LeafUnwritten, Arg: -1, Name: InvalidAccess})
		return
	}
	size := min(f.size, 8)
	if lo >= size { // the upper bytes of a widened element: its sign
		lo, n = max(size-1, 0), 1
	}
	n = min(n, size-lo)
	w.bytes(Place{a.space, w.t.addr(a, lane) + uint64(dst*size+lo), n, int(s.warp)*32 + lane, i}, ByValue, 1)
}

func (w *walker) loadedRows(i int, s *step, f *flow, lane, dst, lo, n int) {
	for e := lo / 2; e <= (lo+n-1)/2 && e < 2; e++ {
		row, col := f.f.d.Cell(lane, e)
		at := (8*dst + row) & 31
		if a := w.accessOf(s, at); a != nil {
			w.bytes(Place{a.space, w.t.addr(a, at) + uint64(2*col), 2, int(s.warp)*32 + at, i}, ByValue, 1)
		}
		w.addresses(i, s, f, at)
	}
}

func (w *walker) loadedTile(i int, s *step, f *flow, lane, dst, lo, n int) {
	reg := dst % f.f.d.Distinct()
	for k := range int(s.n) {
		a := w.t.accesses.at(int(s.aux) + k)
		if a.mask>>lane&1 == 0 {
			continue
		}
		f.tileParts(a, func(r, at, size, off int) {
			if from, to := max(at, lo), min(at+size, lo+n); r == reg && from < to {
				w.bytes(Place{
					a.space, w.t.addr(a, lane) + uint64(off+from-at), to - from, int(s.warp)*32 + lane, i,
				}, ByValue, 1)
			}
		})
	}
}

// atomic: the register has what was in memory; memory has that and the operands.
func (w *walker) atomic(i int, s *step, f *flow, r Ref) {
	lane := int(r.Lane)
	a := w.accessOf(s, lane)
	if a == nil {
		return
	}
	size := min(f.size, 8)
	if r.Index != InMemory || !f.in.Has("exch") {
		w.before(Place{a.space, w.t.addr(a, lane), size, int(s.warp)*32 + lane, i}, lane)
	}
	if r.Index == InMemory {
		for k := range f.src {
			w.register(i, s, &f.src[k], lane, 0, min(size, int(f.src[k].n)), ByValue)
		}
	}
}

// before adds what an atomic found: what lanes before this one left there in the same
// step, or what was there.
func (w *walker) before(p Place, lane int) {
	s := w.t.steps.at(p.At)
	for l := lane - 1; l >= 0; l-- {
		if a := w.accessOf(s, l); a != nil && a.space == p.Space && w.t.addr(a, l) == p.Addr {
			w.out = append(w.out, Use{
				Kind: ByValue, Operand: 1, Ref: Ref{uint32(p.At), uint8(l), InMemory, 0, uint8(p.N), 0},
			})
			return
		}
	}
	w.bytes(p, ByValue, 1)
}

// around adds the registers of addresses, and what decided that the step executed.
func (w *walker) around(i int, s *step, f *flow, lane int) {
	if w.address && f.kind != flowLoadRows {
		w.addresses(i, s, f, lane)
	}
	if !w.control {
		return
	}
	for k := range f.control {
		w.register(i, s, &f.control[k], lane, 0, int(f.control[k].n), ByControl)
	}
	w.guards(i, s, lane)
}

// addresses adds the registers that say where, or which lane.
func (w *walker) addresses(i int, s *step, f *flow, lane int) {
	if !w.address {
		return
	}
	for k := range f.addr {
		w.register(i, s, &f.addr[k], lane, 0, int(f.addr[k].n), ByAddress)
	}
}

// bytes adds who wrote bytes of memory before a step, or the leaves that they are.
func (w *walker) bytes(p Place, kind Kind, operand int) {
	t := w.t
	if w.cut != nil {
		if id, ok := w.cut(p); ok {
			w.leaf(kind, operand, Leaf{Kind: LeafCut, Arg: -1, Cut: id})
			return
		}
	}
	switch p.Space {
	case target.SpaceParam:
		w.parameter(p, kind, operand)
		return
	case target.SpaceNone:
		return
	}
	g := granule{space: p.Space}
	if p.Space == target.SpaceLocal {
		g.warp = uint16(p.Thread / 32)
	}
	for p.N > 0 { // granule by granule
		g.at = p.Addr >> granuleBits
		n := min(p.N, int((g.at+1)<<granuleBits-p.Addr))
		q := p
		q.N = n
		w.within(t.memoryWrites()[g], q, kind, operand)
		p.Addr, p.N = p.Addr+uint64(n), p.N-n
	}
}

// within finds the writers of bytes of one granule, the last first.
func (w *walker) within(list []written, p Place, kind Kind, operand int) {
	t := w.t
	open := uint32(1)<<p.N - 1
	for k := sort.Search(len(list), func(k int) bool { return int(list[k].step) >= p.At }) - 1; k >= 0 &&
		open != 0; k-- {
		s := t.steps.at(int(list[k].step))
		if list[k].access < 0 {
			open = w.passed(int(list[k].step), s, p, open, kind, operand)
			continue
		}
		a := t.accesses.at(int(list[k].access))
		mask := a.mask
		if s.kind == stepLand {
			mask &= s.mask
		}
		if p.Space == target.SpaceLocal {
			mask &= 1 << (p.Thread & 31)
		}
		for m := mask; m != 0 && open != 0; {
			lane := 31 - bits.LeadingZeros32(m) // of lanes that write one place, the last
			m &^= 1 << lane
			addr := t.addr(a, lane)
			from, to := max(addr, p.Addr), min(addr+uint64(a.bytes), p.Addr+uint64(p.N))
			if from >= to {
				continue
			}
			hit := open & (1<<(to-p.Addr) - 1<<(from-p.Addr))
			open &^= hit
			eachRun(hit, func(lo, n int) {
				w.stored(int(list[k].step), s, a, lane, int(p.Addr+uint64(lo)-addr), n, kind, operand)
			})
		}
	}
	eachRun(open, func(lo, n int) {
		q := p
		q.Addr, q.N = p.Addr+uint64(lo), n
		w.initial(q, kind, operand)
	})
}

// eachRun calls do for each run of ones.
func eachRun(m uint32, do func(lo, n int)) {
	for m != 0 {
		lo := bits.TrailingZeros32(m)
		n := bits.TrailingZeros32(^(m >> lo))
		do(lo, n)
		m &^= (1<<n - 1) << lo
	}
}

// stored adds n bytes from byte off on of what a lane wrote by an access of a step.
func (w *walker) stored(i int, s *step, a *access, lane, off, n int, kind Kind, operand int) {
	if s.kind == stepLand { // the step that issued the copy
		i = int(s.aux)
		s = w.t.steps.at(i)
	}
	part := uint8(0)
	for k := range int(s.n) {
		if w.t.accesses.at(int(s.aux)+k) == a {
			part = uint8(k)
		}
	}
	w.out = append(w.out, Use{
		Kind: kind, Operand: int8(operand),
		Ref: Ref{uint32(i), uint8(lane), InMemory, uint8(off), uint8(n), part},
	})
}

// store adds what a lane stored.
func (w *walker) store(i int, s *step, f *flow, r Ref) {
	t := w.t
	if s.kind == stepLand { // what landed was read when the copy was issued
		i = int(s.aux)
		s = t.steps.at(i)
	}
	lane, off, n := int(r.Lane), int(r.Lo), int(r.N)
	switch f.kind {
	case flowStore:
		size := min(f.size, 8)
		for n > 0 {
			m := min(n, size-off%size)
			w.register(i, s, &f.src[off/size], lane, off%size, m, ByValue)
			off, n = off+m, n-m
		}
	case flowStoreRows: // lane points at a row; the halves are of four lanes
		for n > 0 {
			at := t.inverse(f.f.d)[lane%8*8+off/2]
			m := min(n, 2-off%2)
			w.register(i, s, &f.src[lane/8], int(at>>8), int(at&0xff)*2+off%2, m, ByValue)
			off, n = off+m, n-m
		}
	case flowStoreTile:
		f.tileParts(t.accesses.at(int(s.aux)+int(r.Part)), func(reg, lo, size, at int) {
			if from, to := max(at, off), min(at+size, off+n); from < to {
				w.register(i, s, &f.src[reg], lane, lo+from-at, to-from, ByValue)
			}
		})
	case flowCopy: // what was at its source when it was issued
		if size := int(t.combined[uint32(i)]); size > 0 {
			to := t.accesses.at(int(s.aux))
			off, n = off/size*size, (off%size+n+size-1)/size*size
			w.bytes(Place{
				to.space, t.addr(to, lane) + uint64(off), n, int(s.warp) * 32, t.landing(i),
			}, ByValue, 0)
		}
		if f.bulk && t.accesses.at(int(s.aux)+1).mask>>lane&1 == 0 {
			w.leaf(ByValue, 1, Leaf{Kind: LeafFill, Arg: -1})
			return
		}
		from := t.accesses.at(int(s.aux) + 1)
		if n+off > t.copiedBytes(s, lane) || from.mask>>lane&1 == 0 { // it reads less than it writes
			w.leaf(ByValue, 1, Leaf{Kind: LeafFill, Arg: -1})
		}
		if n = min(n, t.copiedBytes(s, lane)-off); n > 0 && from.mask>>lane&1 != 0 {
			w.bytes(Place{
				from.space, t.addr(from, lane) + uint64(off), n, int(s.warp)*32 + lane, i,
			}, ByValue, 1)
		}
	}
}

// passed adds bytes that a call copied into a lane's frame, and returns those that are still open.
func (w *walker) passed(i int, s *step, p Place, open uint32, kind Kind, operand int) uint32 {
	if s.mask>>(p.Thread&31)&1 == 0 {
		return open
	}
	for _, c := range w.t.passes[s.aux] {
		from, to := max(c.To, p.Addr), min(c.To+uint64(c.Size), p.Addr+uint64(p.N))
		if from >= to {
			continue
		}
		hit := open & (1<<(to-p.Addr) - 1<<(from-p.Addr))
		open &^= hit
		eachRun(hit, func(lo, n int) {
			w.bytes(Place{target.SpaceLocal, p.Addr + uint64(lo) - c.To + c.From, n, p.Thread, i},
				kind, operand)
		})
	}
	return open
}

// parameter adds bytes of the kernel's parameters.
func (w *walker) parameter(p Place, kind Kind, operand int) {
	for _, x := range w.t.params() {
		if int(p.Addr) < x.offset || int(p.Addr) >= x.offset+x.size || x.arg >= len(w.t.launch.Args) {
			continue
		}
		w.leaf(kind, operand, Leaf{
			Kind: LeafScalar, Arg: x.arg, Element: int(p.Addr) - x.offset, Name: w.t.launch.Args[x.arg].Name,
		})
		return
	}
	w.leaf(kind, operand, Leaf{Kind: LeafSpecial, Arg: -1, Name: "a parameter"})
}

// initial adds bytes that the block did not write.
func (w *walker) initial(p Place, kind Kind, operand int) {
	t := w.t
	if i := t.allocAt(p.Addr); (p.Space == target.SpaceGlobal || p.Space == target.SpaceConst) && i >= 0 {
		a := &t.allocs[i]
		if a.arg < 0 && a.name == "" { // the capture buffer
			w.leaf(kind, operand, Leaf{Kind: LeafUnwritten, Arg: -1, Space: p.Space})
			return
		}
		if a.arg < 0 {
			w.leaf(kind, operand, Leaf{
				Kind: LeafConstant, Arg: -1, Name: a.name, Space: p.Space, Addr: p.Addr,
			})
			return
		}
		off := int(p.Addr - a.lo)
		for n := p.N; n > 0; {
			m := min(n, a.size-off%a.size)
			l := Leaf{
				Kind: LeafElement, Arg: a.arg, Element: off / a.size, Name: a.name, Space: p.Space,
				Addr: a.lo + uint64(off-off%a.size),
			}
			if t.others[(a.lo+uint64(off))&^3] {
				l.Kind = LeafElsewhere
			}
			w.leaf(kind, operand, l)
			off, n = off+m, n-m
		}
		return
	}
	w.leaf(kind, operand, Leaf{Kind: LeafUnwritten, Arg: -1, Space: p.Space, Addr: p.Addr})
}

// guards adds what decided that a lane executed step i: the guard, and the branches that the
// instruction depends on.
func (w *walker) guards(i int, s *step, lane int) {
	t := w.t
	fn := int(t.owner[s.pc])
	f := t.funcs[fn]
	at := int(s.pc - t.base[f])
	if at >= len(f.Body) {
		return
	}
	if g := f.Body[at].Guard; g != nil && !f.Body[at].Kind().Jumps() {
		w.predicate(fn, s, g, lane, i)
	}
	graph, deciders := t.graph(fn)
	for _, b := range deciders[graph.Of[at]] {
		w.decided(fn, graph, b, s, at, lane, i)
	}
}

// predicate adds a predicate as step i finds it.
func (w *walker) predicate(fn int, s *step, g *ptx.Guard, lane, i int) {
	src := source{reg: g.Reg, n: 1, arg: 0xff}
	mark := len(w.out)
	control := w.control
	w.control = false
	w.register(i, s, &src, lane, 0, 1, ByControl)
	w.control = control
	for k := mark; k < len(w.out); k++ {
		w.out[k].Operand = -1
	}
}

// decided adds the branch at the end of a block that decided about an instruction, when the
// lane last passed it.
func (w *walker) decided(fn int, g *cfg.Graph, block int, s *step, at, lane, i int) {
	last := g.Last(block)
	if last.Guard == nil && last.Kind() != isa.BranchIndexed {
		return
	}
	base := int(w.t.base[w.t.funcs[fn]])
	passed := -1
	for k := g.Start[block]; k < g.Start[block+1]; k++ {
		if block == g.Of[at] && k <= at { // the block was passed in an iteration before
			continue
		}
		passed = max(passed, w.t.before(int(s.warp), base+k, lane, i))
	}
	if passed < 0 && block == g.Of[at] {
		passed = w.t.before(int(s.warp), base+at, lane, i)
	}
	if passed < 0 {
		passed = i - 1
	}
	c := w.t.steps.at(max(passed, 0))
	one := *c
	one.warp, one.pc = s.warp, int32(base+last.Index)
	if last.Guard != nil {
		w.predicate(fn, &one, last.Guard, lane, passed+1)
		return
	}
	for k := range w.t.flows[one.pc].control {
		w.register(passed+1, &one, &w.t.flows[one.pc].control[k], lane, 0, 4, ByControl)
	}
}

// skipped adds the guards and branches that kept a lane from writing a register between steps after and
// before: the value is what it is because they did.
func (w *walker) skipped(fn, warp, lane int, reg int32, after, before int) {
	t := w.t
	defs := t.byPC().defs[fn][reg]
	g, deciders := t.graph(fn)
	for _, d := range defs {
		at := int(d.pc - t.base[t.funcs[fn]])
		if after >= 0 && len(defs) == 1 && t.flows[d.pc].in.Guard == nil {
			continue
		}
		block := g.Of[at]
		if guard := t.flows[d.pc].in.Guard; guard != nil {
			w.passedBy(fn, g.Start[block], at, guard, warp, lane, after, before)
		}
		for _, b := range deciders[block] {
			if last := g.Last(b); last.Guard != nil {
				w.passedBy(fn, g.Start[b], last.Index+1, last.Guard, warp, lane, after, before)
			}
		}
	}
}

// passedBy adds a guard that a lane found after one step and before another, at the end of a run of
// instructions [from, to) of one block.
func (w *walker) passedBy(fn, from, to int, guard *ptx.Guard, warp, lane, after, before int) {
	base := int(w.t.base[w.t.funcs[fn]])
	passed := -1
	for k := from; k < to; k++ {
		passed = max(passed, w.t.before(warp, base+k, lane, before))
	}
	if passed < 0 || passed < after {
		return
	}
	one := *w.t.steps.at(passed)
	w.predicate(fn, &one, guard, lane, passed+1)
}
