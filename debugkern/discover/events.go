package discover

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// event is a value that an instruction gave a lane's register: an atom times a number.
type event struct {
	atom                   int32
	pc                     int32
	n                      int32 // how often the lane had executed the instruction before
	step                   int32
	coef                   float32
	warp, lane, dest, part uint8
}

// site is one instruction that makes values which are followed, with its events in the order of execution.
type site struct {
	pc     int
	events []event
	others []other
	frag   *isa.Fragment // of the accumulator; nil: no matrix product
	impure bool          // it made values that are not followed, and no floating-point numbers
	ran    []uint32      // by warp: the lanes that executed it
}

// other is a floating-point value that an instruction made and that is nothing of attention: a number, or
// what is not followed.
type other struct {
	n                      int32
	warp, lane, dest, part uint8
	kind                   otherKind
}

// otherKind says what an other is.
type otherKind uint8

const (
	unknown otherKind = iota // it is not followed
	numeral                  // a number: what maxima of nothing are
	nought                   // 0: what sums of nothing are
)

// repeats reports whether some lane executed the instruction again.
func (s *site) repeats() bool {
	return len(s.events) > 0 && s.events[len(s.events)-1].n > 0
}

// mixed is one execution of a matrix product that adds weights times elements: what it multiplied.
type mixed struct {
	pc, n, warp int
	step        int32
	swapped     bool      // the weights are operand B
	weights     [][]int32 // by row of the weights' operand, then k: the score; 0: a weight that is 0
	elements    [][]int32 // by row of the other operand, then k: index of the element, -1: a zero
}

// stored is a value that was stored to an argument.
type stored struct {
	x            value
	arg, element int32
	warp, lane   uint8
	pc           int32
}

// recorder collects what an interpretation shows.
type recorder struct {
	d     *domain
	sites map[int]*site
	mixed []*mixed
	open  *mixed
	store []stored
	wrote map[element1]bool // what the block stores to
	// executions of an instruction, by instruction and thread
	count map[int][]executed
}

type executed struct{ n, step int32 }

// element1 is an element of an argument.
type element1 struct{ arg, element int32 }

func newRecorder(d *domain) *recorder {
	r := &recorder{d: d, sites: map[int]*site{}, count: map[int][]executed{}, wrote: map[element1]bool{}}
	d.fed = r.fed
	return r
}

// times is how often the lane of an operation had executed the instruction before.
func (r *recorder) times(op *lineage.Op) int32 {
	list := r.count[op.PC]
	thread := op.Warp*32 + op.Lane
	if thread >= len(list) {
		list = append(list, make([]executed, thread+32-len(list))...)
		r.count[op.PC] = list
	}
	e := &list[thread]
	if e.n == 0 || e.step != int32(op.Index) {
		e.n++
		e.step = int32(op.Index)
	}
	return e.n - 1
}

// executed is how often the thread that executed an instruction most often did so.
func (r *recorder) executed(pc int) int32 {
	most := int32(0)
	for _, e := range r.count[pc] {
		most = max(most, e.n)
	}
	return most
}

// see is called for every value that an operation made.
func (r *recorder) see(op *lineage.Op, x value) {
	n := r.times(op)
	f := &r.d.forms[x]
	a, coef, ok := f.single()
	kind := atomKind(0)
	if ok {
		kind = r.d.atoms[a].kind
	}
	s := r.sites[op.PC]
	if s == nil {
		s = &site{pc: op.PC}
		if op.Form.Kind.Product() {
			s.frag = op.Instr.Fragment(isa.ClassD)
		}
		r.sites[op.PC] = s
	}
	for op.Warp >= len(s.ran) {
		s.ran = append(s.ran, 0)
	}
	s.ran[op.Warp] |= 1 << op.Lane
	switch kind {
	case product, maximum, power, weighted:
	default:
		what := unknown
		switch {
		case x == 0 || f.n > 0:
		case zero(f):
			what = nought
		default:
			what = numeral
		}
		if s.frag == nil && !r.d.operation(op).writesReal() {
			s.impure = s.impure || what == unknown
			return
		}
		s.others = append(roomy(s.others), other{
			n: n, warp: uint8(op.Warp), lane: uint8(op.Lane), dest: uint8(op.Dest), part: uint8(op.Part),
			kind: what,
		})
		return
	}
	s.events = append(roomy(s.events), event{
		atom: a, coef: float32(coef), pc: int32(op.PC), n: n, step: int32(op.Index), warp: uint8(op.Warp),
		lane: uint8(op.Lane), dest: uint8(op.Dest), part: uint8(op.Part),
	})
}

// fed is called for every element of a matrix product, before see.
func (r *recorder) fed(op *lineage.Op, a, b []value, out value) {
	f := &r.d.forms[out]
	if at, _, ok := f.single(); !ok || r.d.atoms[at].kind != weighted {
		return
	}
	m := r.open
	if m == nil || m.step != int32(op.Index) {
		d := op.Instr.Fragment(isa.ClassD)
		if d == nil {
			return
		}
		m = &mixed{
			pc: op.PC, n: int(r.times(op)), warp: op.Warp, step: int32(op.Index),
			weights: make([][]int32, d.Rows), elements: make([][]int32, d.Cols),
		}
		if m.swapped = !r.weights(a) && r.weights(b); m.swapped {
			m.weights, m.elements = m.elements, m.weights
		}
		r.open = m
		r.mixed = append(r.mixed, m)
	}
	wr, er := op.Row, op.Col
	if m.swapped {
		wr, er, a, b = er, wr, b, a
	}
	if wr < len(m.weights) && m.weights[wr] == nil {
		m.weights[wr] = r.indices(a, power)
	}
	if er < len(m.elements) && m.elements[er] == nil {
		m.elements[er] = r.indices(b, element)
	}
}

// weights reports whether an operand's row has weights.
func (r *recorder) weights(list []value) bool {
	for _, x := range list {
		if a, _, ok := r.d.forms[x].single(); ok && r.d.atoms[a].kind == power {
			return true
		}
	}
	return false
}

// indices is the score, or the index, of each atom of a kind; -1 where a value is another, but of a weight
// that is 0, which is 0.
func (r *recorder) indices(list []value, kind atomKind) []int32 {
	out := make([]int32, len(list))
	for i, x := range list {
		f := &r.d.forms[x]
		a, _, ok := f.single()
		switch {
		case ok && r.d.atoms[a].kind == kind:
			out[i] = r.d.atoms[a].idx
		case kind == element || x == 0 || !zero(f):
			out[i] = -1
		}
	}
	return out
}

// stores is called for every value that is stored to global memory.
func (r *recorder) stores(s *lineage.Store, x value) {
	if s.Arg < 0 {
		return
	}
	at := element1{int32(s.Arg), int32(s.Element)}
	r.wrote[at] = true
	if x == 0 {
		return
	}
	f := &r.d.forms[x]
	for i := range int(f.n) {
		switch r.d.atoms[f.atom[i]].kind {
		case quotient, logarithm, weighted, power, maximum, product:
			r.store = append(r.store, stored{
				x: x, arg: int32(s.Arg), element: int32(s.Element), warp: uint8(s.Warp), lane: uint8(s.Lane),
				pc: int32(s.PC),
			})
			return
		}
	}
}

// footprint is where one block reads and writes the arguments, by instruction: the first and the last
// element, by its position.
type footprint struct {
	view          target.View
	reach         map[int]*span
	out           map[int]span2
	loads, stores int // elements
}

// span is the lowest and highest address that an instruction accessed.
type span struct {
	lo, hi        uint64
	load, store   bool
	events, lanes int
}

// span2 is a span by position in an argument.
type span2 struct {
	arg         string
	lo, hi      []int
	load, store bool
}

// View implements target.Viewer.
func (f *footprint) View(v target.View) { f.view = v }

// Interests implements target.Interested.
func (f *footprint) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAsync, target.ClassAtomic,
		target.ClassBulkRead)
}

// Event implements target.Observer.
func (f *footprint) Event(e *target.Event) {
	addr, mask := e.Addr, e.Mask
	switch {
	case e.Class == target.ClassBulkRead:
		f.bulk(e)
		return
	case e.Class == target.ClassAsync:
		addr, mask = e.Addr2, f.copying(e)
	case e.Space != target.SpaceGlobal:
		return
	}
	if addr == nil {
		return
	}
	load := e.Class != target.ClassStore
	s := f.span(e, load, !load || e.Class == target.ClassAtomic)
	s.lanes += bits.OnesCount32(mask)
	for lane := range 32 {
		if mask>>lane&1 == 0 {
			continue
		}
		if s.store {
			f.stores++
		} else {
			f.loads++
		}
		f.add(s, addr[lane], max(e.Bytes, 1))
	}
}

// span is what an event's instruction has accessed, the event counted.
func (f *footprint) span(e *target.Event, load, store bool) *span {
	s := f.reach[e.PC]
	if s == nil {
		s = &span{lo: ^uint64(0), load: load, store: store}
		f.reach[e.PC] = s
	}
	s.events++
	return s
}

// add widens a span by bytes of an allocation.
func (f *footprint) add(s *span, addr uint64, n int) {
	if _, hi, _ := f.view.Extent(addr); hi > 0 {
		s.lo, s.hi = min(s.lo, addr), max(s.hi, addr+uint64(n)-1)
	}
}

// bulk notes what a bulk or tensor copy reads from global memory, or writes there.
func (f *footprint) bulk(e *target.Event) {
	load, store := e.Transfer.From == target.SpaceGlobal, e.Transfer.To == target.SpaceGlobal
	if !load && !store {
		return
	}
	s := f.span(e, load, store)
	e.Transfer.Pieces(func(to, from uint64, n int) {
		if load && from != target.Filled {
			f.loads += n
			s.lanes += n
			f.add(s, from, n)
		}
		if store {
			f.stores += n
			s.lanes += n
			f.add(s, to, n)
		}
	})
}

// signature identifies which instructions accessed global memory how often, and by how many lanes: blocks
// that have it in common went the same way.
func (f *footprint) signature() uint64 {
	h := fnv.New64a()
	for _, pc := range slices.Sorted(maps.Keys(f.reach)) {
		fmt.Fprintln(h, pc, f.reach[pc].events, f.reach[pc].lanes)
	}
	return h.Sum64()
}

// copying is the lanes of a cp.async that read something: not those whose source has 0 bytes, or is ignored.
func (f *footprint) copying(e *target.Event) uint32 {
	mask := e.Mask
	for i := 3; i < len(e.Instr.Args); i++ {
		switch op := &e.Instr.Args[i]; {
		case op.Kind == ptx.OpInt && op.Imm == 0:
			return 0
		case op.Kind != ptx.OpReg:
		case e.Func.Regs[op.Reg].Type.Bits() == 64: // a cache policy
		default:
			ignored := e.Func.Regs[op.Reg].Type == ptx.Pred // else it is the number of bytes
			for lane, v := range f.view.Register(e.Warp, e.Func, op.Reg) {
				if ignored && (v != 0) != op.Neg || !ignored && uint32(v) == 0 {
					mask &^= 1 << lane
				}
			}
		}
	}
	return mask
}

// End implements target.Ender.
func (f *footprint) End() {
	f.out = map[int]span2{}
	for pc, s := range f.reach {
		if s.lo > s.hi {
			continue
		}
		arg, lo := f.view.Name(target.SpaceGlobal, s.lo)
		other, hi := f.view.Name(target.SpaceGlobal, s.hi)
		if arg != "" && arg == other {
			f.out[pc] = span2{arg: arg, lo: lo, hi: hi, load: s.load, store: s.store}
		}
	}
}
