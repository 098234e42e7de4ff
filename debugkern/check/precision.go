package check

import (
	"maps"
	"math"
	"sort"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Precision runs a second computation along with the kernel's: every float of one block has a shadow, what it
// would be had no operation rounded since its inputs were read, in float64. An operation loses bits where its
// result agrees with its shadow in fewer bits than its worst operand did (and than its type has): a
// difference of values that are nearly equal loses the bits that they share, a conversion to f16 loses all of
// them past 65504 and some below 2^-14.
//
// Bits lost on the way may not matter: exp(s - m) forgives what s - m has lost where the difference is small.
// So a loss also says what it came to: the error of what the block left in global memory whose largest part
// it is to blame for.
func precisionKind() kind {
	return kind{
		set: Precision, start: startPrecision,
		findings: func(*Checker, []unit) []target.Finding { return nil },
	}
}

// Loss is a source line that lost bits.
type Loss struct {
	Source *target.Source
	// Caller: in the kernel's own body, where Source is in a function that was inlined; nil where it is not
	Caller    *target.Source
	Operation string // "sub.rn.f32"
	// Cause: "cancellation", "overflow", "underflow" (f16 subnormals among them), "rounding"
	Cause    string
	Bits     float64 // lost by the operation, at worst
	Got      float64 // its result then, and what it should have been
	Exact    float64
	Operands []float64 // of an operation on at most three values
	Warp     int
	Lane     int
	KVTile   int
	Count    int // results that lost at least lossBits bits
	// Out is how many bits of what the block left in global memory are wrong, at worst, where this line made
	// the largest part of the error: of the bits that the stored type has, relative to the largest value that
	// the same instruction stored.
	Out      float64
	Variable string // the cell
	Index    []int
}

// lossBits is what an operation has to lose to be blamed for what others handed it; below, the largest
// part of the error is.
const lossBits = 2

// outBits is how many wrong bits of an output are worth a line; rounding the output itself makes none wrong.
const outBits = 0.75

// Losses returns the lines of the block under study that lost bits, worst first by what they did to the
// output, then by the bits they lost. It must not be called while a block executes.
func (c *Checker) Losses() []Loss {
	var out []Loss
	for _, x := range c.unitsOf(Precision) {
		for _, l := range x.(*precisionUnit).losses {
			if l.Bits >= lossBits || l.Out >= outBits {
				out = append(out, l.Loss)
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		if a.Out != b.Out {
			return a.Out > b.Out
		}
		return a.Bits > b.Bits
	})
	return out
}

func startPrecision(b *block) unit {
	if b.id != b.checker.options.Block {
		return nil
	}
	return &precisionUnit{
		id: b.id, view: b.view, tags: newTags[shade](), at: map[int]*loss{}, lines: map[lossKey]*loss{},
	}
}

// shade is a value's shadow: what it should be, the bits that it has, and which loss made the largest
// part of the difference (a number from 1; 0: none). bits tell a shadow that a value has lost by an
// instruction that is not followed.
type shade struct {
	exact float64
	bits  uint64
	width uint8 // of the value, in bits; 0: no shadow
	blame int32
}

type lossKey struct {
	source target.Source
	op     string
}

type loss struct {
	Loss
	number int32
}

type precisionUnit struct {
	id     probes.Dim3
	view   target.View
	x      executing
	tags   *tags[shade]
	losses []*loss
	at     map[int]*loss
	lines  map[lossKey]*loss
	// constants are the registers of functions that are numbers of the text, by their bits
	constants map[*ptx.Func]map[int32]uint64
}

// End implements target.Ender.
func (u *precisionUnit) End() { u.tags = nil }

func (u *precisionUnit) Interests() target.ClassSet { return u.Follows() }
func (u *precisionUnit) Follows() target.ClassSet {
	return target.Classes(target.ClassALU, target.ClassLoad, target.ClassStore, target.ClassAtomic,
		target.ClassAsync, target.ClassShuffle, target.ClassMMA)
}

// Event implements target.Observer.
func (u *precisionUnit) Event(e *target.Event) {
	first := u.x.add(u.view, e)
	if first && e.Instr.Kind().Updates() {
		u.before()
	}
}

// After implements target.Follower.
func (u *precisionUnit) After(*target.Event) {
	x := &u.x
	x.finish()
	if to, from, args, ok := arithmetic(x.Instr); ok {
		u.compute(to, from, args)
		return
	}
	if acc, c, ab, ok := product(x.Instr); ok {
		u.multiply(acc, c, ab)
		return
	}
	if x.Instr.Kind().Updates() {
		u.accumulate()
		return
	}
	if u.tags.move(x) && x.Class == target.ClassStore && !x.Probe {
		u.stored()
	}
}

// operand is one value with its shadow.
type operand struct {
	got, exact float64
	blame      int32
}

func (o operand) err() float64 { return math.Abs(o.got - o.exact) }

// shaded finds the shadow of the k-th value of a register; a value that has none is exact.
func shaded(t numberType, raw uint64, tags *[32][unitsMax]shade, lane, k int) operand {
	v := t.part(raw, k)
	o := operand{got: t.value(v)}
	o.exact = o.got
	if tags != nil {
		if s := &tags[lane][k*t.bits/16]; int(s.width) == t.bits && s.bits == v {
			o.exact, o.blame = s.exact, s.blame
		}
	}
	return o
}

// compute is float arithmetic.
func (u *precisionUnit) compute(to, from numberType, args []int) {
	x := &u.x
	if len(x.dst) == 0 {
		return
	}
	f := exactly(x.Instr)
	var out [32][unitsMax]shade
	var sources [3]*[32][unitsMax]shade
	for i, a := range args {
		if i < len(sources) {
			sources[i] = u.tags.operand(x, &x.Instr.Args[a])
		}
	}
	if f == nil || len(args) > len(sources) {
		u.tags.set(x, x.dests()[0], nil)
		return
	}
	rounds := u.rounding(to, args)
	each(x.Mask, func(lane int) {
		for k := range to.n {
			if rounds > 0 { // what is left of the operands is not to be compared
				v := to.part(x.dst[0][lane], k)
				if got := to.value(v); math.Abs(got) >= rounds/2 {
					out[lane][k*to.bits/16] = shade{got, v, uint8(to.bits), 0}
					continue
				}
			}
			var ops [3]operand
			n := 0
			for i, a := range args {
				if len(x.src[a]) == 0 {
					continue
				}
				part := k
				if from.n < to.n { // cvt.f16x2.f32 d, a, b: a goes to the upper half
					if part = 0; i != len(args)-1-k {
						continue
					}
				}
				ops[n] = shaded(from, x.src[a][0][lane], sources[i], lane, part)
				n++
			}
			v := to.part(x.dst[0][lane], k)
			r := operand{got: to.value(v), exact: f(ops[0].exact, ops[1].exact, ops[2].exact)}
			local := math.Abs(r.got - f(ops[0].got, ops[1].got, ops[2].got))
			r.blame = u.judge(to, r, ops[:n], local, lane)
			out[lane][k*to.bits/16] = shade{r.exact, v, uint8(to.bits), r.blame}
		}
	})
	u.tags.set(x, x.dests()[0], &out)
}

// rounding is the constant that an operation adds so that its result is rounded to a whole number, or a
// half: so large that the result has no bits below it; 0 where it adds none. What is rounded so was meant
// to be, as by the exponential of the CUDA math library, and is exact as it is.
func (u *precisionUnit) rounding(to numberType, args []int) float64 {
	in := u.x.Instr
	switch in.Op {
	case "add", "sub":
	case "fma", "mad":
		args = args[len(args)-1:]
	default:
		return 0
	}
	least := math.Ldexp(1, to.precision()-1)
	for _, a := range args {
		if c := math.Abs(u.constant(to, &in.Args[a])); c >= least && !math.IsInf(c, 0) {
			return c
		}
	}
	return 0
}

// constant is the number that an operand has in the text, or that the one instruction which writes it moves
// there; 0 where it is none.
func (u *precisionUnit) constant(t numberType, o *ptx.Operand) float64 {
	switch o.Kind {
	case ptx.OpF32, ptx.OpF64, ptx.OpInt:
		return t.value(o.Imm)
	case ptx.OpReg:
		if u.constants[u.x.Func] == nil {
			if u.constants == nil {
				u.constants = map[*ptx.Func]map[int32]uint64{}
			}
			u.constants[u.x.Func] = constantsOf(u.x.Func)
		}
		return t.value(u.constants[u.x.Func][o.Reg])
	}
	return 0
}

// constantsOf lists the registers of a function that one instruction writes, which moves a number there.
func constantsOf(fn *ptx.Func) map[int32]uint64 {
	out, writes := map[int32]uint64{}, map[int32]int{}
	for _, in := range fn.Body {
		for _, r := range in.Dests(nil) {
			writes[r]++
		}
		if in.Kind() != isa.Move || len(in.Args) != 2 || in.Args[0].Kind != ptx.OpReg {
			continue
		}
		switch o := &in.Args[1]; o.Kind {
		case ptx.OpF32, ptx.OpF64, ptx.OpInt:
			out[in.Args[0].Reg] = o.Imm
		}
	}
	maps.DeleteFunc(out, func(r int32, _ uint64) bool { return writes[r] > 1 })
	return out
}

// exactly is what an instruction computes, unrounded; nil where a shadow makes no sense of it
// (rounding to whole numbers).
func exactly(in *ptx.Instr) func(a, b, c float64) float64 {
	f := in.Form().Real
	if in.Kind() == isa.Convert {
		for _, m := range []string{"rni", "rzi", "rmi", "rpi"} {
			if in.Has(m) {
				return nil
			}
		}
	}
	if f != nil && in.Has("sat") {
		return func(a, b, c float64) float64 { return min(max(f(a, b, c), 0), 1) }
	}
	if f != nil && in.Has("relu") {
		return func(a, b, c float64) float64 { return max(f(a, b, c), 0) }
	}
	return f
}

// noise is how far below its operands a result of the shadow itself means nothing.
const noise = 1 << 40

// good is how many of a type's bits a value has right. least is the magnitude below which
// nothing is expected of it.
func good(bits int, got, exact, least float64) float64 {
	switch err := math.Abs(got - exact); {
	case got == exact || math.IsNaN(exact) || math.IsInf(exact, 0):
		return float64(bits)
	case math.IsNaN(err) || math.IsInf(err, 0):
		return 0
	default:
		return min(max(-math.Log2(err/max(math.Abs(exact), least)), 0), float64(bits))
	}
}

// judge decides what is to blame for the error of a result, and counts what this operation lost.
func (u *precisionUnit) judge(to numberType, r operand, ops []operand, local float64, lane int) int32 {
	if r.got == r.exact || math.IsNaN(r.exact) || math.IsInf(r.exact, 0) {
		return 0
	}
	largest, before := 0.0, float64(to.precision())
	for _, o := range ops {
		if finite(o.exact) {
			largest = max(largest, math.Abs(o.exact))
		}
	}
	least := largest / noise
	worst := operand{}
	for _, o := range ops {
		before = min(before, good(to.precision(), o.got, o.exact, least))
		if e := o.err(); e > worst.err() {
			worst = o
		}
	}
	lost := before - good(to.precision(), r.got, r.exact, least)
	if lost < lossBits && (local <= r.err()/2 || math.IsNaN(local)) && worst.blame > 0 {
		return worst.blame
	}
	return u.lost(to, r, ops, lost, lane)
}

// lost counts bits lost here, and returns the loss's number.
func (u *precisionUnit) lost(to numberType, r operand, ops []operand, bits float64, lane int) int32 {
	x := &u.x
	l := u.at[x.PC]
	if l == nil {
		src := target.Blame(x.Func, x.Instr.Index)
		key := lossKey{*src, x.Instr.Opcode()}
		if l = u.lines[key]; l == nil {
			l = &loss{number: int32(len(u.losses) + 1)}
			l.Source, l.Caller, l.Operation, l.Bits = src, caller(&x.Event, src), x.Instr.Opcode(), -1
			u.lines[key] = l
			u.losses = append(u.losses, l)
		}
		u.at[x.PC] = l
	}
	if bits >= lossBits {
		l.Count++
	}
	if bits = max(bits, 0); bits > l.Bits {
		l.Bits, l.Got, l.Exact, l.Warp, l.Lane, l.KVTile = bits, r.got, r.exact, x.Warp, lane, x.KVTile
		l.Cause = lossCause(to, x.Instr, r, ops)
		l.Operands = l.Operands[:0]
		if len(ops) <= 3 {
			for _, o := range ops {
				l.Operands = append(l.Operands, o.got)
			}
		}
	}
	return l.number
}

// lossCause says why bits were lost.
func lossCause(to numberType, in *ptx.Instr, r operand, ops []operand) string {
	largest, normal := 0.0, math.Ldexp(1, to.smallest())
	for _, o := range ops {
		largest = max(largest, math.Abs(o.got))
	}
	switch {
	case !finite(r.got):
		return "overflow"
	case r.exact != 0 && math.Abs(r.exact) < normal && math.Abs(r.got) <= normal:
		return "underflow"
	case in.Op == "cvt" || in.Op == "mul" || in.Op == "div" || len(ops) < 2:
		return "rounding"
	case math.Abs(r.exact) < largest/2:
		return "cancellation"
	}
	return "rounding"
}

// stored judges what a store leaves in global memory.
func (u *precisionUnit) stored() {
	x := &u.x
	t := numbers(x.Instr.Type())
	for j := range x.parts {
		p := &x.parts[j]
		if p.space != target.SpaceGlobal {
			continue
		}
		largest := 0.0
		each(p.mask, func(lane int) {
			for off := 0; off < p.bytes; off += 2 {
				if s := u.tags.mem[x.at(p, lane, off)]; s.width > 0 && finite(s.exact) {
					largest = max(largest, math.Abs(s.exact))
				}
			}
		})
		each(p.mask, func(lane int) {
			for off := 0; off < p.bytes; off += 2 {
				if s := u.tags.mem[x.at(p, lane, off)]; s.width > 0 && s.blame > 0 {
					u.left(t, s, largest, p.addr[lane]+uint64(off))
				}
			}
		})
	}
}

// left notes the error of a value in global memory with the loss that is to blame for it. t is the store's
// type, where that is of floats; halves go as b16 or in pairs.
func (u *precisionUnit) left(t numberType, s shade, largest float64, addr uint64) {
	if t.bits != int(s.width) {
		t = numbers(map[uint8]ptx.Type{16: ptx.F16, 32: ptx.F32, 64: ptx.F64}[s.width])
	}
	wrong := float64(t.precision()) - good(t.precision(), t.value(s.bits), s.exact, largest)
	if l := u.losses[s.blame-1]; wrong > l.Out {
		l.Out = wrong
		l.Variable, l.Index = u.view.Name(target.SpaceGlobal, addr)
	}
}
