package debugkern

import (
	"context"
	"encoding/binary"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Reach is where one lane's access lies, and the sum that the kernel computed its address by. Products with
// what is the same in the whole launch (constants, scalar arguments) are factors; what comes out of a
// division, a mask or memory is a value like a thread's number.
type Reach struct {
	At         int // the access, in the entry's body
	Warp, Lane int
	Base       string  // the argument or shared variable that the address begins with
	Offset     int64   // bytes from its beginning
	Const      []int64 // of these what is the same in the whole launch, as it is added
	Terms      []Term
}

// Term is one summand of an address.
type Term struct {
	At     int   // the instruction of the entry's body whose result it is
	Value  int64 // of that
	Factor int64 // bytes that the address moves by with one
	Step   int64 // of the counter of a loop: by how much it grows at a time; 0: of anything else
}

// mostReached is how many accesses Reaches returns, or a few more.
const mostReached = 1 << 13

// Reaches executes a block once more and returns the addresses of what instructions of the entry access, as
// far as they are sums, in the order of execution. An access whose sum does not come to its address is left
// out; all reports whether none was, and none was too many. Errors are those of Lineage.
func (r *Run) Reaches(
	ctx context.Context, block probes.Dim3, accesses []int,
) (list []Reach, all bool, err error) {
	x, trace, err := r.recorded(ctx, block)
	if err != nil {
		return nil, false, err
	}
	s := &sums{
		trace: trace, fn: r.Entry(), nodes: map[lineage.Ref]*sum{}, defs: map[int32]int{},
		made: map[*sum]*linear{},
	}
	for _, in := range s.fn.Body {
		for _, reg := range in.Dests(nil) {
			s.defs[reg]++
		}
	}
	of := map[int]bool{}
	for _, i := range accesses {
		of[i] = true
	}
	var found []reached
	all = true
	for i := 0; i < trace.Len(); i++ {
		st := trace.Step(i)
		if !st.Func.Entry || !of[st.Instr.Index] {
			continue
		}
		own := s.addresses(i, st)
		all = all && (len(own) > 0 || st.Mask == 0)
		if found = append(found, own...); len(found) >= mostReached {
			all = false
			break
		}
	}
	if s.bits, err = trace.Values(ctx, x.kernel, s.refs); err != nil {
		return nil, false, err
	}
	for i := range found {
		if a, ok := s.reach(&found[i]); ok {
			list = append(list, a)
		} else {
			all = false
		}
	}
	return list, all, nil
}

// reached is one lane's access.
type reached struct {
	step lineage.Step
	lane int
	addr *sum
	off  int64
}

// sum is how a value was computed.
type sum struct {
	op   rune // '+', '*', '=' (a copy), 'c' (imm), 'v' (a value), 'b' (the address of base)
	of   [2]*sum
	imm  int64
	at   int
	ref  int // in sums.refs, -1: none
	typ  ptx.Type
	base string
	same bool // in the whole launch
	step int64
}

// sums follows values back to what they are summed up of.
type sums struct {
	trace *lineage.Trace
	fn    *ptx.Func
	nodes map[lineage.Ref]*sum
	defs  map[int32]int // how many instructions write a register
	refs  []lineage.Ref
	bits  []uint64
	made  map[*sum]*linear // sums with their products multiplied out
}

// addresses lists the addresses of the lanes of an executed access; none where they are in no one register.
func (s *sums) addresses(i int, st lineage.Step) []reached {
	var addr *ptx.Operand
	for k := range st.Instr.Args {
		if op := &st.Instr.Args[k]; op.Kind == ptx.OpAddr && op.Base == ptx.BaseReg {
			if addr != nil {
				return nil // of a copy there are two
			}
			addr = op
		}
	}
	if addr == nil {
		return nil
	}
	var out []reached
	for lane := range 32 {
		if st.Mask>>lane&1 == 0 {
			continue
		}
		for _, u := range s.trace.Uses(lineage.Ref{Step: uint32(i), Lane: uint8(lane)}, true, false) {
			if u.Kind == lineage.ByAddress && u.Leaf == nil {
				out = append(out, reached{st, lane, s.node(s.register(u.Ref)), addr.Off})
				break
			}
		}
	}
	return out
}

// register is the whole of a register of which a value is bytes.
func (s *sums) register(r lineage.Ref) lineage.Ref {
	st := s.trace.Step(int(r.Step))
	if d := st.Instr.Dests(nil); st.Func.Entry && int(r.Index) < len(d) {
		r.Lo, r.Part, r.N = 0, 0, uint8(s.fn.Regs[d[r.Index]].Type.Bytes())
	}
	return r
}

// node is the sum that a value is.
func (s *sums) node(r lineage.Ref) *sum {
	if n := s.nodes[r]; n != nil {
		return n
	}
	st := s.trace.Step(int(r.Step))
	n := &sum{op: 'v', at: st.Instr.Index, ref: len(s.refs), typ: st.Instr.Type()}
	s.nodes[r] = n
	s.refs = append(s.refs, r)
	if !st.Func.Entry {
		n.at = -1
		return n
	}
	d := st.Instr.Dests(nil)
	several := len(d) != 1 || s.defs[d[0]] > 1
	if several {
		if n.step = s.grows(d); n.typ.Bytes() < 8 {
			return n // a counter is a value of its own
		}
	}
	uses := s.trace.Uses(r, false, false)
	n.same = len(uses) > 0 && !several
	var of []*sum
	for _, u := range uses {
		k := s.use(u, st)
		if len(of) == 0 || of[len(of)-1] != k { // else pieces of one register
			of = append(of, k)
		}
		n.same = n.same && k.same
	}
	s.operate(n, st.Instr, of)
	return n
}

// use is one operand of a step.
func (s *sums) use(u lineage.Use, st lineage.Step) *sum {
	switch l := u.Leaf; {
	case l == nil:
		return s.node(s.register(u.Ref))
	case l.Kind == lineage.LeafImmediate:
		return &sum{op: 'c', imm: extended(l.Bits, st.Instr.Type()), ref: -1, same: true}
	case l.Kind == lineage.LeafScalar:
		a := &s.trace.Launch().Args[l.Arg]
		if a.Buffer != nil {
			return &sum{op: 'b', base: a.Name, ref: -1, same: true}
		}
		var b [8]byte
		copy(b[:], a.Scalar[min(len(a.Scalar), l.Element):])
		bits := binary.LittleEndian.Uint64(b[:])
		return &sum{op: 'c', imm: extended(bits, st.Instr.Type()), ref: -1, same: true}
	case l.Kind == lineage.LeafSpecial && l.Name != "" && l.Name[0] != '%':
		return &sum{op: 'b', base: l.Name, ref: -1, same: true}
	}
	if n, ok := s.sizes()[u.Leaf.Name]; ok {
		return &sum{op: 'c', imm: n, ref: -1, same: true}
	}
	return &sum{op: 'v', at: -1, ref: -1}
}

// sizes are the special registers that are the same in the whole launch.
func (s *sums) sizes() map[string]int64 {
	l, out := s.trace.Launch(), map[string]int64{}
	for a, c := range "xyz" {
		out["%nctaid."+string(c)], out["%ntid."+string(c)] = int64(l.Grid[a]), int64(l.Block[a])
	}
	return out
}

// grows is by how much an instruction that writes its own register makes it larger; 0 where none does.
func (s *sums) grows(d []int32) int64 {
	for _, in := range s.fn.Body {
		if in.Op == "add" && len(d) == 1 && len(in.Args) == 3 && slices.Equal(in.Dests(nil), d) &&
			in.Args[1].Kind == ptx.OpReg && in.Args[1].Reg == d[0] && in.Args[2].Kind == ptx.OpInt {
			return int64(in.Args[2].Imm)
		}
	}
	return 0
}

// operate makes a value that an instruction adds, multiplies or copies the sum of its operands.
func (s *sums) operate(n *sum, in *ptx.Instr, of []*sum) {
	if slices.ContainsFunc(of, func(o *sum) bool { return o.op == 'v' && o.ref < 0 }) {
		return // a thread's number
	}
	two := func(op rune, a, b *sum) *sum { return &sum{op: op, of: [2]*sum{a, b}, ref: -1, at: n.at} }
	switch k := in.Kind(); {
	case len(of) == 1 && (k == isa.Move || k == isa.Convert && !in.Type().Float() ||
		k == isa.ConvertAddress || k == isa.Load && in.Space() == ptx.SpaceParam):
		n.op, n.of[0] = '=', of[0]
	case in.Type().Float():
	case len(of) == 2 && (in.Op == "add" || in.Op == "or"):
		n.op, n.of = '+', [2]*sum{of[0], of[1]}
	case len(of) == 2 && in.Op == "sub":
		n.op, n.of = '+', [2]*sum{of[0], two('*', of[1], &sum{op: 'c', imm: -1, ref: -1, same: true})}
	case len(of) == 2 && in.Op == "mul" && (in.Has("lo") || in.Has("wide")):
		n.op, n.of = '*', [2]*sum{of[0], of[1]}
	case len(of) == 3 && in.Op == "mad" && (in.Has("lo") || in.Has("wide")):
		n.op, n.of = '+', [2]*sum{two('*', of[0], of[1]), of[2]}
	case len(of) > 0 && in.Op == "shl" && in.Args[2].Kind == ptx.OpInt && in.Args[2].Imm < 32:
		n.op, n.of = '*', [2]*sum{of[0], {op: 'c', imm: 1 << in.Args[2].Imm, ref: -1, same: true}}
	}
}

// extended is a number of a type; of one without a sign too, since addresses are summed up modulo 2^64.
func extended(bits uint64, t ptx.Type) int64 {
	if n := t.Bits(); n > 0 && n < 64 {
		return int64(bits<<(64-n)) >> (64 - n)
	}
	return int64(bits)
}

// linear is a sum with its products multiplied out.
type linear struct {
	c     []int64
	terms map[*sum]int64
	bases map[string]int64
	start *sum // of the base: what has its address
}

// reach multiplies an address out; false where it does not come to the value that the register had.
func (s *sums) reach(a *reached) (Reach, bool) {
	l := s.linear(a.addr, 0)
	out := Reach{
		At: a.step.Instr.Index, Warp: a.step.Warp, Lane: a.lane,
		Const: append(slices.Clone(l.c), a.off),
	}
	if len(l.bases) != 1 {
		return out, false
	}
	for name, n := range l.bases {
		if out.Base = name; n != 1 {
			return out, false
		}
	}
	for _, c := range out.Const {
		out.Offset += c
	}
	for _, n := range s.order(l.terms) {
		v, ok := s.value(n)
		if !ok || n.at < 0 {
			return out, false
		}
		if f := l.terms[n]; f != 0 {
			out.Terms = append(out.Terms, Term{At: n.at, Value: v, Factor: f, Step: n.step})
			out.Offset += v * f
		}
	}
	begin, ok := s.value(l.start)
	at, known := s.value(a.addr)
	return out, ok && known && at+a.off == begin+out.Offset
}

// order lists the terms of a sum as they were found.
func (s *sums) order(terms map[*sum]int64) []*sum {
	var out []*sum
	for n := range terms {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *sum) int { return a.ref - b.ref })
	return out
}

// deepestSum bounds how many operations an address may be computed by, one after the other.
const deepestSum = 4096

// linear multiplies a value out.
func (s *sums) linear(n *sum, depth int) *linear {
	l := s.made[n]
	if l == nil {
		l = s.multiplied(n, depth)
		s.made[n] = l
	}
	return l
}

func (s *sums) multiplied(n *sum, depth int) *linear {
	l := &linear{terms: map[*sum]int64{}, bases: map[string]int64{}}
	if v, ok := s.value(n); n.same && ok && !s.based(n) {
		l.c = []int64{v}
		return l
	}
	switch {
	case n.op == 'b' || n.op == '=' && n.of[0].op == 'b':
		name := n.base
		if n.op == '=' {
			name = n.of[0].base
		}
		l.bases[name], l.start = 1, n
		return l
	case depth > deepestSum:
	case n.op == '=':
		return s.linear(n.of[0], depth+1)
	case n.op == '+':
		l.plus(s.linear(n.of[0], depth+1), 1)
		l.plus(s.linear(n.of[1], depth+1), 1)
		return l
	case n.op == '*':
		a, b := s.linear(n.of[0], depth+1), s.linear(n.of[1], depth+1)
		if len(a.terms)+len(a.bases) == 0 {
			a, b = b, a
		}
		if len(b.terms)+len(b.bases) == 0 {
			by := int64(0)
			for _, c := range b.c {
				by += c
			}
			l.plus(a, by)
			return l
		}
	}
	l.terms[n] = 1
	return l
}

// plus adds a multiple.
func (l *linear) plus(b *linear, by int64) {
	for _, c := range b.c {
		if c*by != 0 {
			l.c = append(l.c, c*by)
		}
	}
	for n, f := range b.terms {
		l.terms[n] += f * by
	}
	for name, f := range b.bases {
		l.bases[name] += f * by
	}
	if l.start == nil {
		l.start = b.start
	}
}

// based reports whether a value that is the same in the whole launch is made of an address.
func (s *sums) based(n *sum) bool {
	if n == nil || !n.same {
		return false
	}
	return n.op == 'b' || s.based(n.of[0]) || s.based(n.of[1])
}

// value is the number that a sum came to; false where it is not known.
func (s *sums) value(n *sum) (int64, bool) {
	switch {
	case n == nil:
		return 0, false
	case n.op == 'c':
		return n.imm, true
	case n.ref >= 0:
		if n.typ.Bits() == 32 && !n.wide(s) {
			return extended(s.bits[n.ref], n.typ), true
		}
		return int64(s.bits[n.ref]), true
	case n.op == '+' || n.op == '*':
		a, ok := s.value(n.of[0])
		b, known := s.value(n.of[1])
		if n.op == '*' {
			return a * b, ok && known
		}
		return a + b, ok && known
	}
	return 0, false
}

// wide reports whether an instruction's result has more bits than its operands.
func (n *sum) wide(s *sums) bool {
	return n.at >= 0 && s.fn.Body[n.at].Has("wide")
}
