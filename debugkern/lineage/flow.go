package lineage

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// flowKind says how an instruction's results come from its operands.
type flowKind uint8

const (
	flowNone    flowKind = iota // no register and no memory gets a value
	flowCompute                 // parts of the destination are computed from the same parts of the sources
	// flowBytes: each byte of the destination is a byte of a source, or made of some (flow.bytes)
	flowBytes
	flowPermute   // prmt with selectors that are known at execution only
	flowSelect    // one of two sources, by a predicate
	flowShuffle   // the source of another lane
	flowVote      // made of the sources of all member lanes
	flowProduct   // mma, wmma.mma
	flowTranspose // movmatrix
	flowLoad      // ld: each register is an element of memory
	flowStore     // st
	flowLoadRows  // ldmatrix
	flowStoreRows // stmatrix
	flowLoadTile  // wmma.load
	flowStoreTile // wmma.store
	flowAtomic    // atom, red
	flowCopy      // cp.async, and (flow.bulk) cp.async.bulk
	// flowAsyncProduct: wgmma, in a warp in which it lands
	flowAsyncProduct
)

// source is a register or constant that an instruction takes: bytes lo to lo+n of it.
type source struct {
	reg   int32 // index in Func.Regs; -1: none
	lo, n uint8
	form  sourceForm
	arg   uint8 // number of the operand
	typ   ptx.Type
	bits  uint64 // of an immediate
	name  string // of a special register or symbol
}

type sourceForm uint8

const (
	fromRegister sourceForm = iota
	fromImmediate
	fromSpecial
)

// dest is a destination register; reg -1 for a sink.
type dest struct {
	reg   int32
	bytes uint8
}

// byteFlow is where one byte of a destination comes from: byte of a source (src at least 0), zero (isZero),
// or made of the bytes that deps marks, by source.
type byteFlow struct {
	src, byte int8
	deps      [3]uint8
}

const (
	isMade = -1
	isZero = -2
)

// flow is what the text of an instruction says of its data flow.
type flow struct {
	in      *ptx.Instr
	form    *isa.Form
	kind    flowKind
	integer bool // the result is an integer: made of indices, it is an index
	dst     []dest
	src     []source // operands whose values the result is made of
	addr    []source // registers of addresses and of what else says where (stride, size)
	control []source // predicates that choose
	parts   int      // of flowCompute: numbers in the destination
	spread  bool     // of flowCompute: source j is part (parts-1-j) of the destination
	bytes   []byteFlow
	size    int // bytes of an element in memory
	lanes   *[32]uint8
	f       fragments
	bulk    bool // of flowCopy: a bulk operation, whose lanes are pieces
}

// fragments are the layouts of a matrix instruction, with the first of the sources that each
// operand's registers are.
type fragments struct {
	d, a, b, c *isa.Fragment
	at         [3]int // of A, B, C in src
	n, k       int    // of a wgmma: columns of D, and the extent of the sum
}

// flowOf reads an instruction.
func flowOf(f *ptx.Func, in *ptx.Instr) flow {
	x := flow{in: in, form: in.Form(), parts: 1}
	r := reader{f: f, x: &x}
	k := x.form.Kind
	switch k {
	case isa.Branch, isa.Return, isa.Exit, isa.Call, isa.Trap, isa.Breakpoint, isa.Fence, isa.CommitAsync,
		isa.WaitAsync, isa.WarpBarrier:
		return x
	case isa.BranchIndexed:
		r.operand(&in.Args[0], 0, &x.control)
		return x
	}
	if in.HasDest() {
		r.dests(&in.Args[0])
	}
	x.integer = !computesFloat(in)
	switch k {
	case isa.Load, isa.LoadMatrix, isa.LoadFragment, isa.Store, isa.StoreMatrix, isa.StoreFragment,
		isa.Atomic, isa.Reduce, isa.CopyAsync:
		r.memory(k)
	case isa.Multiply:
		r.product()
	case isa.WgmmaMultiply:
		r.wgmma()
	case isa.BulkCopy:
		x.kind, x.bulk, x.dst = flowCopy, true, nil
		for i := range in.Args {
			r.operand(&in.Args[i], i, &x.addr)
		}
	case isa.MoveMatrix:
		x.kind = flowTranspose
		r.sources(1)
	case isa.Shuffle:
		r.shuffle()
	case isa.Vote:
		x.kind = flowVote
		r.sources(1)
		if n := len(x.src); in.Op != "activemask" && n > 1 { // the member mask says who takes part
			x.control = append(x.control, x.src[n-1])
			x.src = x.src[:n-1]
		}
	case isa.Select:
		x.kind = flowSelect
		r.operand(&in.Args[1], 1, &x.src)
		r.operand(&in.Args[2], 2, &x.src)
		r.operand(&in.Args[3], 3, &x.control)
	case isa.SelectBySign:
		x.kind = flowCompute
		r.operand(&in.Args[1], 1, &x.src)
		r.operand(&in.Args[2], 2, &x.src)
		r.operand(&in.Args[3], 3, &x.control)
	case isa.Move, isa.ConvertAddress:
		r.move()
	case isa.Logic, isa.Bits:
		r.logic()
	case isa.Convert:
		r.convert()
	case isa.Hint, isa.SetRegisters:
	default:
		if len(x.dst) > 0 {
			x.kind = flowCompute
			r.sources(1)
			r.packed()
		}
	}
	return x
}

// computesFloat reports whether the instruction's result is a floating-point number.
func computesFloat(in *ptx.Instr) bool {
	ts := in.Types()
	if len(ts) == 0 {
		return false
	}
	switch in.Kind() {
	case isa.Compare, isa.TestFloat: // a predicate, but of numbers
		return ts[len(ts)-1].Float()
	case isa.Convert:
		return ts[0].Float()
	case isa.Multiply:
		return true
	}
	return ts[len(ts)-1].Float()
}

// reader fills in a flow.
type reader struct {
	f *ptx.Func
	x *flow
}

func regBytes(f *ptx.Func, reg int32) uint8 {
	return uint8(max(f.Regs[reg].Type.Bits()/8, 1))
}

func (r *reader) dests(op *ptx.Operand) {
	switch op.Kind {
	case ptx.OpReg:
		r.x.dst = append(r.x.dst, dest{op.Reg, regBytes(r.f, op.Reg)})
	case ptx.OpVec, ptx.OpPair, ptx.OpList:
		for i := range op.Elems {
			r.dests(&op.Elems[i])
		}
	default:
		r.x.dst = append(r.x.dst, dest{reg: -1})
	}
}

// sources takes the operands from number first on.
func (r *reader) sources(first int) {
	for i := first; i < len(r.x.in.Args); i++ {
		r.operand(&r.x.in.Args[i], i, &r.x.src)
	}
}

// operand appends what one operand names.
func (r *reader) operand(op *ptx.Operand, arg int, to *[]source) {
	s := source{reg: -1, arg: uint8(arg), typ: r.x.in.Type(), n: 8}
	switch op.Kind {
	case ptx.OpReg:
		s.reg, s.n = op.Reg, regBytes(r.f, op.Reg)
	case ptx.OpInt, ptx.OpF32, ptx.OpF64:
		s.form, s.bits = fromImmediate, op.Imm
		if s.typ = immediateType(op, s.typ); s.typ.Bytes() > 0 {
			s.n = uint8(min(s.typ.Bytes(), 8))
		}
	case ptx.OpSpecial:
		s.form, s.name = fromSpecial, op.Name
		if op.Comp >= 0 {
			s.name += "." + string("xyzw"[op.Comp&3])
		}
	case ptx.OpSym:
		s.form, s.name = fromSpecial, op.Name
		if op.Var != nil {
			s.name = op.Var.Demangled
		}
	case ptx.OpAddr:
		if op.Base != ptx.BaseReg {
			return
		}
		s.reg, s.n = op.Reg, regBytes(r.f, op.Reg)
	case ptx.OpVec, ptx.OpPair, ptx.OpList:
		for i := range op.Elems {
			r.operand(&op.Elems[i], arg, to)
		}
		return
	default:
		return
	}
	*to = append(*to, s)
}

// immediateType is the type whose bits an immediate operand has.
func immediateType(op *ptx.Operand, t ptx.Type) ptx.Type {
	switch {
	case op.Kind == ptx.OpF32:
		return ptx.F32
	case op.Kind == ptx.OpF64 && t != ptx.F32:
		return ptx.F64
	}
	return t
}

// packed finds instructions on pairs of numbers.
func (r *reader) packed() {
	x := r.x
	switch x.in.Type() {
	case ptx.F16x2, ptx.BF16x2, ptx.F32x2, ptx.U16x2, ptx.S16x2:
		if len(x.dst) == 1 && x.dst[0].bytes >= 4 {
			x.parts = 2
		}
	}
}

// memory reads the address, and what is stored.
func (r *reader) memory(k isa.Kind) {
	x, in := r.x, r.x.in
	for i := range in.Args {
		if op := &in.Args[i]; op.Kind == ptx.OpAddr {
			r.operand(op, i, &x.addr)
		}
	}
	x.size = in.Type().Bytes()
	switch k {
	case isa.Load:
		x.kind = flowLoad
	case isa.Store:
		x.kind = flowStore
		r.operand(&in.Args[1], 1, &x.src)
	case isa.LoadMatrix:
		x.kind, x.f.d = flowLoadRows, isa.Matrix8(in.Has("trans"))
	case isa.StoreMatrix:
		x.kind, x.f.d = flowStoreRows, isa.Matrix8(in.Has("trans"))
		r.operand(&in.Args[1], 1, &x.src)
	case isa.LoadFragment:
		x.kind, x.f.d = flowLoadTile, in.Fragment(x.form.Args[0].Class)
		r.rest(2)
	case isa.StoreFragment:
		x.kind, x.f.d = flowStoreTile, in.Fragment(x.form.Args[1].Class)
		r.operand(&in.Args[1], 1, &x.src)
		r.rest(2)
	case isa.Atomic:
		x.kind = flowAtomic
		for i := 2; i < len(in.Args); i++ {
			r.operand(&in.Args[i], i, &x.src)
		}
	case isa.Reduce:
		x.kind = flowAtomic
		for i := 1; i < len(in.Args); i++ {
			r.operand(&in.Args[i], i, &x.src)
		}
	case isa.CopyAsync:
		x.kind = flowCopy
		r.rest(3)
	}
}

// rest takes registers that say where, or how much.
func (r *reader) rest(first int) {
	for i := first; i < len(r.x.in.Args); i++ {
		if op := &r.x.in.Args[i]; op.Kind == ptx.OpReg {
			r.operand(op, i, &r.x.addr)
		}
	}
}

func (r *reader) product() {
	x, in := r.x, r.x.in
	x.f = fragments{
		d: in.Fragment(isa.ClassD), a: in.Fragment(isa.ClassA), b: in.Fragment(isa.ClassB),
		c: in.Fragment(isa.ClassC),
	}
	for i := 1; i <= 3 && i < len(in.Args); i++ {
		x.f.at[i-1] = len(x.src)
		r.operand(&in.Args[i], i, &x.src)
	}
	if x.kind = flowProduct; x.f.d == nil || x.f.a == nil || x.f.b == nil || x.f.c == nil {
		x.kind = flowVote // anything of anything
	}
}

// shuffle reads shfl: the lanes that it takes from are in the text where its operands are.
func (r *reader) shuffle() {
	x, in := r.x, r.x.in
	x.kind = flowShuffle
	r.operand(&in.Args[1], 1, &x.src)
	for _, i := range []int{2, 3} {
		if op := &in.Args[i]; op.Kind != ptx.OpInt {
			r.operand(op, i, &x.addr)
		}
	}
	if b, c := &in.Args[2], &in.Args[3]; b.Kind == ptx.OpInt && c.Kind == ptx.OpInt {
		x.lanes = new([32]uint8)
		for i := range x.lanes {
			x.lanes[i] = shuffleSource(in, i, int(b.Imm), int(c.Imm))
		}
	}
}

// shuffleSource is the lane that lane i takes its value from (PTX ISA, shfl.sync).
func shuffleSource(in *ptx.Instr, i, b, c int) uint8 {
	clamp, segment := c&31, c>>8&31
	last, first := i&segment|clamp&^segment, i&segment
	b &= 31
	j, ok := i, false
	switch {
	case in.Has("up"):
		j = i - b
		ok = j >= last
	case in.Has("down"):
		j = i + b
		ok = j <= last
	case in.Has("bfly"):
		j = i ^ b
		ok = j <= last
	default:
		j = first | b&^segment
		ok = j <= last
	}
	if !ok {
		j = i
	}
	return uint8(j & 31)
}

// move reads mov and cvta: copies, packs and unpacks.
func (r *reader) move() {
	x, in := r.x, r.x.in
	x.kind = flowBytes
	r.operand(&in.Args[1], 1, &x.src)
	vec := in.Args[1].Kind == ptx.OpVec
	each := int(x.total())
	if vec && len(x.src) > 0 {
		each = in.Type().Bytes() / len(x.src)
	}
	if len(x.dst) == 1 && x.dst[0].bytes == 1 && !vec { // a predicate
		each = 1
	}
	for i := range int(x.total()) {
		b := byteFlow{src: isZero}
		if j := i / max(each, 1); j < len(x.src) {
			if at := i % max(each, 1); at < int(x.src[j].n) {
				b.src, b.byte = int8(j), int8(at)
			}
		}
		x.bytes = append(x.bytes, b)
	}
}

// total is the bytes of all destinations; sinks of an unpack count as the others.
func (x *flow) total() (n uint8) {
	each := uint8(0)
	for _, d := range x.dst {
		each = max(each, d.bytes)
	}
	for i := range x.dst {
		if x.dst[i].reg < 0 {
			x.dst[i].bytes = each
		}
		n += x.dst[i].bytes
	}
	return n
}

// convert reads cvt.
func (r *reader) convert() {
	x, in := r.x, r.x.in
	x.kind = flowCompute
	r.sources(1)
	ts := in.Types()
	if len(ts) < 2 || len(x.src) == 0 || len(x.dst) != 1 {
		return
	}
	to, from := ts[0], ts[1]
	for i := range x.src {
		if n := from.Bytes(); n > 0 && x.src[i].reg >= 0 && !in.Has("pack") {
			x.src[i].n = min(x.src[i].n, uint8(n))
		}
	}
	switch {
	case in.Has("pack"):
		return
	case packedType(to) && len(x.src) == 2 && x.src[1].n >= 4: // the first source is the high half
		x.parts, x.spread = 2, true
	case packedType(to) && packedType(from):
		x.parts = 2
	case !to.Float() && !from.Float() && !in.Has("sat") && !(from.Signed() && to.Bytes() > from.Bytes()):
		r.resize(min(to.Bytes(), from.Bytes()), to)
	}
}

// resize is an integer conversion that keeps the low bytes; a signed result fills its register with its sign.
func (r *reader) resize(keep int, to ptx.Type) {
	x := r.x
	x.kind = flowBytes
	for i := range int(x.dst[0].bytes) {
		b := byteFlow{src: isZero}
		switch {
		case i < keep && i < int(x.src[0].n):
			b.src, b.byte = 0, int8(i)
		case i >= to.Bytes() && to.Signed() && keep > 0:
			b.src, b.deps[0] = isMade, 1<<(keep-1)
		}
		x.bytes = append(x.bytes, b)
	}
}

func packedType(t ptx.Type) bool {
	switch t {
	case ptx.F16x2, ptx.BF16x2, ptx.E4M3x2, ptx.E5M2x2:
		return true
	}
	return false
}
