package check

import (
	"math/bits"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Reach follows undefined values, to prove that one that was read does no harm: bytes of memory that nobody
// wrote, and registers that a shuffle takes from a lane that does not take part. Each place that reads them
// is a source with a bit of its own; a value has the bits of all sources that it is computed from, in
// registers by lane, in shared and local memory by byte. A source does harm as soon as one of its values is
// stored to global memory, is an address, a guard or the target of a branch, or goes into an instruction that
// is not followed here. The probes' instructions are not the kernel's: what they read does no harm.
//
// The rules only ever add: a result has the bits of all operands, but for selp (the predicate and the operand
// chosen), a product of matrices (an element of the result has those of its row of A, its column of B and its
// element of C), xor and sub of a register and itself, and copies through memory. So a source without harm
// has none whatever the undefined bits are.
func reachKind() kind {
	return kind{
		set: Reach, start: startReach, findings: func(*Checker, []unit) []target.Finding { return nil },
	}
}

// Reached is what came of the undefined values that one place reads, over all blocks.
type Reached struct {
	Kind     target.Kind // Uninitialised or Shuffle
	Source   target.Source
	Variable string
	Harm     string // what they came to: "is stored to out"; "" where that is nothing
}

// Reached lists the places that read undefined values, with Reach.
func (c *Checker) Reached() []Reached {
	var out []Reached
	for _, x := range c.unitsOf(Reach) {
		u := x.(*reachUnit)
		for i, s := range u.sources {
			out = append(out, u.reached(i, s))
		}
	}
	return out
}

// reached is what came of source i in this block so far.
func (u *reachUnit) reached(i int, s source) Reached {
	return Reached{
		Kind: s.kind, Source: *target.Blame(s.f, s.index), Variable: s.variable,
		Harm: u.harm[min(i, lastSource)],
	}
}

// lastSource is the bit that all sources share that have none of their own.
const lastSource = 63

// source is a place that reads undefined values.
type source struct {
	kind     target.Kind
	f        *ptx.Func
	index    int
	variable string
}

// reachUnit watches one block.
type reachUnit struct {
	b       *block
	x       executing
	regs    map[registerAt]*[32]uint64
	mem     map[memoryAt]uint64
	sources []source
	number  map[source]int
	harm    [lastSource + 1]string
	guards  map[registerKey]bool // registers that guard an instruction
	exited  []uint32             // by warp
	found   uint64               // of an atomic: the bits of bytes that were not written when it began
}

func startReach(b *block) unit {
	u := &reachUnit{
		b: b, regs: map[registerAt]*[32]uint64{}, mem: map[memoryAt]uint64{}, number: map[source]int{},
		guards: map[registerKey]bool{},
	}
	for _, f := range b.view.Program() {
		for _, in := range f.Body {
			if in.Guard != nil {
				u.guards[registerKey{f, in.Guard.Reg}] = true
			}
		}
	}
	n := b.view.Launch().Block.Count()
	u.exited = make([]uint32, (n+31)/32)
	if n%32 != 0 {
		u.exited[n/32] = ^uint32(0) << (n % 32)
	}
	return u
}

// End implements target.Ender.
func (u *reachUnit) End() { u.regs, u.mem = nil, nil }

func (u *reachUnit) Interests() target.ClassSet {
	return target.AllClasses &^ target.Classes(target.ClassAsyncLand, target.ClassBarrierDone)
}

// Follows asks for the end of an instruction, as its memory accesses may be several events.
func (u *reachUnit) Follows() target.ClassSet { return u.Interests() }

// Event implements target.Observer.
func (u *reachUnit) Event(e *target.Event) {
	if u.x.add(u.b.view, e) {
		u.found = 0
	}
	if e.Class == target.ClassAtomic && len(u.x.parts) > 0 { // afterwards its bytes are written
		p := &u.x.parts[len(u.x.parts)-1]
		each(p.mask, func(lane int) {
			u.found |= u.fetch(p.space, p.addr[lane], lane, p.bytes, p.addr[lane], p.bytes)
		})
	}
}

// After implements target.Follower.
func (u *reachUnit) After(*target.Event) {
	x := &u.x
	if x.Class == target.ClassExit {
		u.exited[x.Warp] |= x.Mask
	}
	switch {
	case len(x.parts) > 0:
		u.access()
	case x.Instr.Kind() == isa.Shuffle:
		u.shuffle()
	case x.Instr.Kind() == isa.Vote && len(x.Instr.Args) > 1:
		u.vote()
	case x.Instr.Kind() == isa.Multiply:
		u.multiply()
	case x.Instr.HasDest():
		u.compute()
	default:
		u.consume()
	}
}

// bit is the bit of a place that reads undefined values.
func (u *reachUnit) bit(kind target.Kind, variable string) uint64 {
	s := source{kind, u.x.Func, u.x.Instr.Index, variable}
	i, known := u.number[s]
	if !known {
		i = len(u.sources)
		u.number[s] = i
		u.sources = append(u.sources, s)
	}
	return 1 << min(i, lastSource)
}

// harmed notes what values with these bits came to.
func (u *reachUnit) harmed(taint uint64, what string) {
	if u.x.Probe {
		return
	}
	for ; taint != 0; taint &= taint - 1 {
		if i := bits.TrailingZeros64(taint) & 63; u.harm[i] == "" {
			u.harm[i] = what + " at " + target.Blame(u.x.Func, u.x.Instr.Index).String()
			if tell := u.b.checker.options.Harmed; tell != nil && i < len(u.sources) {
				tell(u.reached(i, u.sources[i]))
			}
		}
	}
}

// taint is the bits of a register in each lane; nil: none.
func (u *reachUnit) taint(reg int32) *[32]uint64 {
	return u.regs[registerAt{u.x.Warp, registerKey{u.x.Func, reg}}]
}

// set gives the executing lanes of a register their bits. A guard that is undefined decides what executes.
func (u *reachUnit) set(reg int32, t *[32]uint64) {
	key := registerAt{u.x.Warp, registerKey{u.x.Func, reg}}
	old, any := u.regs[key], uint64(0)
	each(u.x.Mask, func(lane int) { any |= t[lane] })
	if any == 0 && old == nil {
		return
	}
	if old == nil {
		old = new([32]uint64)
		u.regs[key] = old
	}
	each(u.x.Mask, func(lane int) { old[lane] = t[lane] })
	if any != 0 && u.guards[key.registerKey] {
		u.harmed(any, "decides what executes")
	}
}

// join adds the bits of an operand's registers, those of the address in one included.
func (u *reachUnit) join(t *[32]uint64, op *ptx.Operand) {
	for _, r := range op.Registers(nil) {
		if s := u.taint(r); s != nil {
			each(u.x.Mask, func(lane int) { t[lane] |= s[lane] })
		}
	}
}

// compute is any instruction that makes registers of registers.
func (u *reachUnit) compute() {
	x := &u.x
	in := x.Instr
	var t [32]uint64
	switch {
	case zeroes(in):
	case in.Kind() == isa.Select && len(in.Args) == 4 && in.Args[3].Kind == ptx.OpReg:
		u.choose(&t)
	default:
		for i := 1; i < len(in.Args); i++ {
			u.join(&t, &in.Args[i])
		}
	}
	for _, r := range x.dests() {
		u.set(r, &t)
	}
}

func (u *reachUnit) choose(t *[32]uint64) {
	x := &u.x
	var a, b [32]uint64
	u.join(&a, &x.Instr.Args[1])
	u.join(&b, &x.Instr.Args[2])
	u.join(t, &x.Instr.Args[3])
	each(x.Mask, func(lane int) {
		if (x.src[3][0][lane] != 0) != x.Instr.Args[3].Neg {
			t[lane] |= a[lane]
		} else {
			t[lane] |= b[lane]
		}
	})
}

// consume is an instruction whose effect is not in registers: what it takes is not followed on.
func (u *reachUnit) consume() {
	var t [32]uint64
	for i := range u.x.Instr.Args {
		u.join(&t, &u.x.Instr.Args[i])
	}
	u.harmed(over(&t, u.x.Mask), "is an operand of "+u.x.Instr.Op)
}

func over(t *[32]uint64, mask uint32) (any uint64) {
	each(mask, func(lane int) { any |= t[lane] })
	return any
}

// shuffle gives every lane the bits of the lane that it reads, and a bit of this place where that one
// does not take part.
func (u *reachUnit) shuffle() {
	x := &u.x
	in := x.Instr
	var from, how, t [32]uint64
	u.join(&from, &in.Args[1])
	for _, i := range []int{2, 3, 4} {
		u.join(&how, &in.Args[i])
	}
	defined := false
	each(x.Mask, func(lane int) {
		j := shuffleSource(in, lane, int(x.src[2][0][lane]), int(x.src[3][0][lane]))
		t[lane] = how[lane] | from[j]
		if x.Mask&uint32(x.src[4][0][lane])>>j&1 == 0 {
			t[lane] |= u.bit(target.Shuffle, "")
		} else {
			defined = true
		}
	})
	u.members(&x.src[4][0], !defined)
	for _, r := range x.dests() {
		u.set(r, &t)
	}
}

// vote combines values of all lanes.
func (u *reachUnit) vote() {
	x := &u.x
	var t [32]uint64
	for i := 1; i < len(x.Instr.Args); i++ {
		u.join(&t, &x.Instr.Args[i])
	}
	any := over(&t, x.Mask)
	for lane := range t {
		t[lane] = any
	}
	if last := len(x.Instr.Args) - 1; len(x.src[last]) == 1 {
		u.members(&x.src[last][0], false)
	}
	for _, r := range x.dests() {
		u.set(r, &t)
	}
}

// members makes an exchange harmful that is itself undefined: a lane that its own mask leaves out, or a mask
// with a lane that could execute it and does not. none: no lane reads a value that is defined, so that the
// exchange is for nothing.
func (u *reachUnit) members(masks *lanes, none bool) {
	x := &u.x
	each(x.Mask, func(lane int) {
		mask := uint32(masks[lane])
		if none || mask>>lane&1 == 0 || mask&^x.Mask&^u.exited[x.Warp] != 0 {
			u.harmed(u.bit(target.Shuffle, ""), "is all that the exchange gives, or its mask is wrong,")
		}
	})
}

// maxSide is the most rows or columns of an accumulator.
const maxSide = 32

// multiply: an element of the result depends on a row of A, a column of B and an element of C, and where A is
// sparse on the metadata of its row.
func (u *reachUnit) multiply() {
	x := &u.x
	fd := x.Instr.Fragment(isa.ClassD)
	if fd == nil {
		u.compute()
		return
	}
	var rows, cols [maxSide]uint64
	var c [maxSide][maxSide]uint64
	u.fragment(1, isa.ClassA, func(row, _ int, t uint64) { rows[row] |= t })
	u.fragment(2, isa.ClassB, func(col, _ int, t uint64) { cols[col] |= t })
	u.fragment(3, isa.ClassC, func(row, col int, t uint64) { c[row][col] |= t })
	u.metadata(&rows)
	for reg, dst := range x.dests() {
		var t [32]uint64
		for lane := range t {
			for k := range fd.PerRegister {
				row, col := fd.Cell(lane, reg*fd.PerRegister+k)
				t[lane] |= rows[row] | cols[col] | c[row][col]
			}
		}
		u.set(dst, &t)
	}
}

// metadata gives the rows of a sparse A what their metadata depend on.
func (u *reachUnit) metadata(rows *[maxSide]uint64) {
	in := u.x.Instr
	m := in.Form().Metadata(in.Mods)
	if m == nil || in.Args[4].Kind != ptx.OpReg {
		return
	}
	t := u.taint(in.Args[4].Reg)
	if t == nil {
		return
	}
	for row := range in.Fragment(isa.ClassA).Rows {
		for chunk := range m.Chunks {
			lane, _ := m.At(row, chunk, int(in.Args[5].Imm))
			rows[row] |= t[lane&31]
		}
	}
}

// fragment goes over the elements of operand i, and the bits of each.
func (u *reachUnit) fragment(i int, c isa.ArgClass, f func(row, col int, t uint64)) {
	frag := u.x.Instr.Fragment(c)
	for reg, op := range elements(&u.x.Instr.Args[i]) {
		if op.Kind != ptx.OpReg {
			continue
		}
		t := u.taint(op.Reg)
		if t == nil {
			continue
		}
		reg %= frag.Distinct() // the registers behind repeat them
		for lane := range 32 {
			for k := range frag.PerRegister {
				row, col := frag.Cell(lane, reg*frag.PerRegister+k)
				f(row, col, t[lane])
			}
		}
	}
}

var _ target.Follower = (*reachUnit)(nil)
