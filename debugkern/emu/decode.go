package emu

import (
	"fmt"
	"math"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// decoder turns PTX functions into a program. It reports what is not modelled by panicking with a *ptx.Error, which load
// recovers.
type decoder struct {
	p       *program
	fn      *ptx.Func
	in      *ptx.Instr
	out     *inst
	base    int // index in the program of the function's first instruction
	consts  map[constKey]int32
	sregs   map[sregKey]int32
	symIdx  map[any]int // *ptx.Var or parameter offset -> index in program.syms
	glob    map[*ptx.Var]int
	local   map[*ptx.Var]int
	shared  map[*ptx.Var]int
	entry   map[*ptx.Func]int // first instruction of each function
	order   []*ptx.Func
	share   bool             // registers share slots
	moved   map[int32]uint32 // see movedConstants
	movedOf *ptx.Func
	calls   []pendingCall
	loopIDs map[loopKey]int32
}

type pendingCall struct {
	at     int
	callee *ptx.Func
}

type constKey struct {
	b bank
	v uint64
}

type sregKey struct {
	name string
	comp int8
	b    bank
}

// load decodes the entry of a module; share lets registers share slots.
func load(model *fp.Model, m *ptx.Module, name string, share bool) (p *program, err error) {
	f := m.Func(name)
	if f == nil || !f.Entry {
		return nil, &ptx.Error{Pos: ptx.Pos{File: m.Name, Line: 1, Col: 1}, Msg: fmt.Sprintf("no entry %q", name)}
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ptx.Error:
			p, err = nil, r
		default:
			panic(r)
		}
	}()
	d := &decoder{
		share: share,
		p: &program{
			model: model, module: m, entry: f, n32: 1, n64: 1, regs: map[*ptx.Func][]regSlot{}, dynBase: -1,
			params: f.ParamBytes(),
		},
		consts: map[constKey]int32{}, sregs: map[sregKey]int32{}, symIdx: map[any]int{}, glob: map[*ptx.Var]int{},
		local: map[*ptx.Var]int{}, shared: map[*ptx.Var]int{}, entry: map[*ptx.Func]int{}, loopIDs: map[loopKey]int32{},
	}
	if m.AddressSize != 64 {
		return nil, &ptx.Error{Pos: f.Pos, Msg: "32-bit addressing is not modelled"}
	}
	d.layShared()
	d.require(f)
	for i := 0; i < len(d.order); i++ { // grows as calls are found
		d.function(d.order[i])
	}
	for _, c := range d.calls {
		d.p.code[c.at].target = int32(d.entry[c.callee])
	}
	d.p.npred = max(d.p.npred, 1)
	d.p.base, d.p.funcs = d.entry, d.order
	d.reachGlobals()
	return d.p, nil
}

// require puts a function in the queue of those to decode.
func (d *decoder) require(f *ptx.Func) {
	for _, g := range d.order {
		if g == f {
			return
		}
	}
	d.order = append(d.order, f)
}

// layShared gives shared variables their addresses.
func (d *decoder) layShared() {
	p := d.p
	p.shared = p.module.SharedLayout(p.entry)
	p.nstatic = ptx.StaticShared(p.shared)
	for _, s := range p.shared {
		d.shared[s.Var] = s.Addr
		if s.Dynamic {
			p.dynBase = s.Addr
		}
	}
}

// function decodes one function behind what is there already.
func (d *decoder) function(f *ptx.Func) {
	d.fn, d.base = f, len(d.p.code)
	d.entry[f] = d.base
	d.registers(f)
	d.frame(f)
	d.p.code = append(d.p.code, make([]inst, len(f.Body)+1)...)
	for i, in := range f.Body {
		d.instruction(i, in)
	}
	// Falling off the end is a return.
	end := &d.p.code[d.base+len(f.Body)]
	d.in, d.out = &ptx.Instr{Pos: f.End, Op: "ret", Index: len(f.Body)}, end
	*end = newInst(d.in, f, len(f.Body))
	d.ret()
	d.loops(f)
	d.provenance(f)
}

// registers gives each register of f a slot: its own, or one shared over time.
func (d *decoder) registers(f *ptx.Func) {
	slots := make([]regSlot, len(f.Regs))
	for i, r := range f.Regs {
		slots[i].bank = bankOf(r) // an operand that names one without a bank is refused
		switch {
		case slots[i].bank == bankPred:
			slots[i].slot = int32(d.p.npred)
			d.p.npred++
		case slots[i].bank != bankNone && !d.share:
			slots[i].slot = d.slot(slots[i].bank)
		}
	}
	if d.share && len(f.Body) > 0 {
		d.shareSlots(f, slots)
	}
	d.p.regs[f] = slots
}

// frame places the function's local variables, and parameters of calls, in the lane's frame. Functions do not recurse, so
// every variable has one place.
func (d *decoder) frame(f *ptx.Func) {
	vars := f.Vars
	if !f.Entry {
		vars = append(append(append([]*ptx.Var{}, f.Params...), f.Return...), vars...)
	}
	for _, v := range vars {
		if v.Space == ptx.SpaceLocal || v.Space == ptx.SpaceParam {
			d.localAddr(v)
		}
	}
}

func (d *decoder) localAddr(v *ptx.Var) int {
	if off, ok := d.local[v]; ok {
		return off
	}
	align := max(v.Align, 1)
	off := (d.p.frame + align - 1) &^ (align - 1)
	d.p.frame = off + v.Size
	d.local[v] = off
	d.p.locals = append(d.p.locals, localVar{v, off, v.Size})
	return off
}

// instruction decodes body index i.
func (d *decoder) instruction(i int, in *ptx.Instr) {
	d.in, d.out = in, &d.p.code[d.base+i]
	*d.out = newInst(in, d.fn, i)
	d.out.probe = in.Loc.Within(target.IsProbe)
	if g := in.Guard; g != nil {
		d.out.guard, d.out.guardNeg = d.p.regs[d.fn][g.Reg].slot, g.Neg
	}
	decode := decoders[in.Op]
	if decode == nil {
		d.unmodelled()
	}
	decode(d)
	if d.out.run == nil && d.out.flow == flowNext {
		panic("BUG: " + in.Opcode() + " decodes to nothing")
	}
}

// fail refuses the instruction.
func (d *decoder) fail(format string, args ...any) {
	panic(&ptx.Error{Pos: d.in.Pos, Msg: fmt.Sprintf(format, args...)})
}

func (d *decoder) unmodelled() { d.fail("%s is not modelled", d.in.Opcode()) }

// arg returns operand i.
func (d *decoder) arg(i int) *ptx.Operand {
	if i >= len(d.in.Args) {
		d.fail("%s: operand %d is missing", d.in.Opcode(), i+1)
	}
	return &d.in.Args[i]
}

// typ is the instruction's (last) type.
func (d *decoder) typ() ptx.Type { return d.in.Type() }

func (d *decoder) has(mod string) bool { return d.in.Has(mod) }

// reg returns where a register operand lives.
func (d *decoder) reg(op *ptx.Operand) regSlot {
	if op.Kind != ptx.OpReg || op.Comp >= 0 {
		d.fail("%s: this operand form is not modelled", d.in.Opcode())
	}
	s := d.p.regs[d.fn][op.Reg]
	if s.bank == bankNone {
		d.fail("%s: a register of type %s is not modelled", d.in.Opcode(), d.fn.Regs[op.Reg].Type)
	}
	return s
}

// constant returns a slot that always holds v.
func (d *decoder) constant(b bank, v uint64) int32 {
	if v == 0 {
		return 0
	}
	k := constKey{b, v}
	s, ok := d.consts[k]
	if !ok {
		s = d.slot(b)
		d.consts[k] = s
		d.p.consts = append(d.p.consts, constSlot{b, s, v})
	}
	return s
}

func (d *decoder) slot(b bank) int32 {
	if b == bank64 {
		d.p.n64++
		return int32(d.p.n64 - 1)
	}
	d.p.n32++
	return int32(d.p.n32 - 1)
}

// value returns the value of a constant operand.
func (d *decoder) value(op *ptx.Operand) (uint64, bool) {
	switch op.Kind {
	case ptx.OpInt, ptx.OpF32, ptx.OpF64:
		return op.Imm, true
	case ptx.OpSym:
		return d.address(op), true
	case ptx.OpSpecial:
		if op.Name == "WARP_SZ" {
			return 32, true
		}
	}
	return 0, false
}

// src32 returns the slot of a source of at most 32 bits; bits masks immediates.
func (d *decoder) src32(i, bits int) int32 { return d.source(d.arg(i), bank32, bits) }

func (d *decoder) src64(i int) int32 { return d.source(d.arg(i), bank64, 64) }

// source returns the slot of a source operand in a bank.
func (d *decoder) source(op *ptx.Operand, b bank, bits int) int32 {
	if v, ok := d.value(op); ok {
		if op.Kind == ptx.OpF64 && bits == 32 {
			v = uint64(math.Float32bits(float32(math.Float64frombits(v))))
		}
		if bits < 64 {
			v &= 1<<bits - 1
		}
		return d.constant(b, v)
	}
	if op.Kind == ptx.OpSpecial {
		return d.special(op, b)
	}
	s := d.reg(op)
	if s.bank != b {
		d.fail("%s: a %s register is not modelled here", d.in.Opcode(), d.fn.Regs[op.Reg].Type)
	}
	return s.slot
}

// special returns the slot of a special register.
func (d *decoder) special(op *ptx.Operand, b bank) int32 {
	if !knownSreg(op.Name, b) {
		d.fail("special register %s is not modelled", op.Name)
	}
	k := sregKey{op.Name, op.Comp, b}
	s, ok := d.sregs[k]
	if !ok {
		s = d.slot(b)
		d.sregs[k] = s
		d.p.sregs = append(d.p.sregs, sregSlot{s, op.Name, op.Comp, b == bank64})
	}
	return s
}

// dst32 returns the slot of the destination; a sink gets a slot nobody reads.
func (d *decoder) dst32(i int) int32 { return d.dest(d.arg(i), bank32) }
func (d *decoder) dst64(i int) int32 { return d.dest(d.arg(i), bank64) }

func (d *decoder) dest(op *ptx.Operand, b bank) int32 {
	if op.Kind == ptx.OpSink {
		return d.scratch(b)
	}
	s := d.reg(op)
	if s.bank != b {
		d.fail("%s: a %s register is not modelled as its destination", d.in.Opcode(), d.fn.Regs[op.Reg].Type)
	}
	return s.slot
}

// scratch is a slot for results that nobody wants.
func (d *decoder) scratch(b bank) int32 {
	k := constKey{b + 100, 0}
	s, ok := d.consts[k]
	if !ok {
		s = d.slot(b)
		d.consts[k] = s
	}
	return s
}

// dstPred sets the predicate destination from a plain operand or a pair.
func (d *decoder) dstPred(op *ptx.Operand) int32 {
	if op.Kind == ptx.OpSink {
		return -1
	}
	s := d.reg(op)
	if s.bank != bankPred {
		d.fail("%s: a predicate is expected", d.in.Opcode())
	}
	return s.slot
}

// srcPred sets the predicate source.
func (d *decoder) srcPred(i int) {
	op := d.arg(i)
	if op.Kind == ptx.OpInt { // a constant predicate: slot -1 reads as true
		d.out.pc, d.out.negC = -1, op.Imm == 0
		return
	}
	s := d.reg(op)
	if s.bank != bankPred {
		d.fail("%s: a predicate is expected", d.in.Opcode())
	}
	d.out.pc, d.out.negC = s.slot, op.Neg
}

// address is the value of a symbol operand: its address in its own space.
func (d *decoder) address(op *ptx.Operand) uint64 {
	if op.Func != nil || op.Var == nil {
		d.fail("the address of %s is not modelled", op.Name)
	}
	_, addr := d.place(op.Var)
	return addr + uint64(op.Off)
}

// place returns space and address of a variable.
func (d *decoder) place(v *ptx.Var) (target.Space, uint64) {
	switch v.Space {
	case ptx.SpaceShared:
		return target.SpaceShared, uint64(d.shared[v])
	case ptx.SpaceLocal:
		return target.SpaceLocal, uint64(d.localAddr(v))
	case ptx.SpaceParam:
		if v.Func != nil && v.Func.Entry && isParam(v) {
			return target.SpaceParam, uint64(v.Offset)
		}
		return target.SpaceLocal, uint64(d.localAddr(v))
	case ptx.SpaceGlobal, ptx.SpaceConst:
		i, ok := d.glob[v]
		if !ok {
			i = len(d.p.globals)
			d.glob[v] = i
			d.p.globals = append(d.p.globals, v)
		}
		return spaceOf(v.Space), allocBase(i)
	}
	d.fail("%s variables are not modelled", v.Space)
	return 0, 0
}

// isParam reports whether v is one of its entry's own parameters, rather than the argument of a call in its body.
func isParam(v *ptx.Var) bool {
	for _, p := range v.Func.Params {
		if p == v {
			return true
		}
	}
	return false
}

// reachGlobals adds the variables that initialisers of others point to.
func (d *decoder) reachGlobals() {
	for i := 0; i < len(d.p.globals); i++ {
		for _, r := range d.p.globals[i].Relocs {
			if v := d.p.module.Var(r.Sym); v != nil && (v.Space == ptx.SpaceGlobal || v.Space == ptx.SpaceConst) {
				d.place(v)
			}
		}
	}
}
