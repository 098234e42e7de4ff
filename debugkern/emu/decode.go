package emu

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// decoders decode an instruction by its kind; nil: the kind is not modelled. The table is never changed.
var decoders = [isa.Kinds]func(*decoder){
	isa.Arith: (*decoder).arith, isa.Logic: (*decoder).logic, isa.Bits: (*decoder).bitField,
	isa.Special: (*decoder).special1, isa.Compare: (*decoder).compare, isa.TestFloat: (*decoder).testp,
	isa.Select: (*decoder).selp, isa.SelectBySign: (*decoder).slct, isa.Move: (*decoder).mov,
	isa.Convert: (*decoder).cvt, isa.ConvertAddress: (*decoder).cvta, isa.TestSpace: (*decoder).isspacep,
	isa.Load: (*decoder).ld, isa.Store: (*decoder).st, isa.Atomic: (*decoder).atom,
	isa.Reduce: (*decoder).atom, isa.CopyAsync: (*decoder).copyAsync, isa.CommitAsync: (*decoder).commitAsync,
	isa.WaitAsync: (*decoder).waitAsync, isa.LoadFragment: (*decoder).loadFragment,
	isa.StoreFragment: (*decoder).storeFragment, isa.Multiply: (*decoder).multiply,
	isa.LoadMatrix: (*decoder).loadMatrix, isa.StoreMatrix: (*decoder).storeMatrix,
	isa.MoveMatrix: (*decoder).moveMatrix, isa.Shuffle: (*decoder).shfl, isa.Vote: (*decoder).vote,
	isa.Barrier: (*decoder).barrier, isa.WarpBarrier: (*decoder).warpBarrier, isa.Fence: (*decoder).fence,
	isa.Branch: (*decoder).bra, isa.BranchIndexed: (*decoder).brx, isa.Call: (*decoder).callOp,
	isa.Return: (*decoder).ret, isa.Exit: (*decoder).exit, isa.Trap: (*decoder).trap,
	isa.Breakpoint: (*decoder).trap, isa.Hint: (*decoder).hint, isa.Alloca: (*decoder).alloca,
	isa.SetRegisters: (*decoder).maxNReg,
	isa.SaveStack:    (*decoder).saveStack, isa.MBarrier: (*decoder).mbarrier, isa.BulkCopy: (*decoder).bulk,
	isa.ArriveAsync: (*decoder).arriveCopies, isa.CommitBulk: (*decoder).commitBulk,
	isa.WaitBulk: (*decoder).waitBulk, isa.ClusterBarrier: (*decoder).clusterBarrier,
	isa.ClusterAddress: (*decoder).clusterAddress, isa.ReplaceMap: (*decoder).replaceMap,
	isa.CopyMap: (*decoder).copyMap,

	isa.WgmmaMultiply: (*decoder).wgmma, isa.WgmmaSparse: (*decoder).wgmmaSparse,
	isa.WgmmaFence: (*decoder).wgmmaFence, isa.WgmmaCommit: (*decoder).wgmmaCommit,
	isa.WgmmaWait: (*decoder).wgmmaWait,
}

// decoder turns PTX functions into a program. It reports what is not modelled by panicking with a *ptx.Error,
// which load recovers.
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
	stacks  map[*ptx.Func]*stackFrame // of functions whose variables lie on the stack
	shared  map[*ptx.Var]int
	entry   map[*ptx.Func]int // first instruction of each function
	order   []*ptx.Func
	share   bool             // registers share slots
	moved   map[int32]uint32 // see movedConstants
	movedOf *ptx.Func
	calls   []pendingCall
	byValue []pendingIndirect
	loopIDs map[loopKey]int32
	refused *[]*ptx.Error // collects what is not modelled; nil: the first ends the decoding

	ctx   context.Context
	steps int
}

// cancelled is what the decoder unwinds with once its context has ended.
type cancelled struct{}

// lookEvery is how many steps of decoding and its analyses are made between two looks at the context:
// under a millisecond's.
const lookEvery = 1 << 10

// step counts steps of work, some n at once, and ends the decoding with the context.
func (d *decoder) step(n int) {
	if d.steps += n; d.steps < lookEvery {
		return
	}
	d.steps = 0
	if d.ctx.Err() != nil {
		panic(cancelled{})
	}
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

// load decodes the entry of a module; share lets registers share slots. What is not modelled is listed whole.
func load(ctx context.Context, c *chip.Chip, m *ptx.Module, name string, share bool) (*program, error) {
	p, err := decode(ctx, c, m, name, share, nil)
	var first *ptx.Error
	if !errors.As(err, &first) {
		return p, err
	}
	list, err := Refusals(ctx, c, m, name)
	if err != nil || len(list) < 2 {
		return nil, cmp.Or(err, error(first))
	}
	return nil, ptx.Errors(list)
}

// decode is load; with refused, what is not modelled is collected there and does nothing in the program.
func decode(
	ctx context.Context, c *chip.Chip, m *ptx.Module, name string, share bool, refused *[]*ptx.Error,
) (p *program, err error) {
	f := m.Func(name)
	if f == nil || !f.Entry {
		return nil, &ptx.Error{
			Pos: ptx.Pos{File: m.Name, Line: 1, Col: 1}, Msg: fmt.Sprintf("no entry %q", name),
		}
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ptx.Error:
			p, err = nil, r
		case cancelled:
			p, err = nil, ctx.Err()
		default:
			panic(r)
		}
	}()
	d := &decoder{
		ctx: ctx, share: share, refused: refused,
		p: &program{
			chip: c, model: c.Arithmetic, module: m, entry: f, n32: 1, n64: 1,
			regs: map[*ptx.Func][]regSlot{}, dynBase: -1, carry: -1,
			params: f.ParamBytes(),
		},
		consts: map[constKey]int32{}, sregs: map[sregKey]int32{}, symIdx: map[any]int{},
		glob:  map[*ptx.Var]int{},
		local: map[*ptx.Var]int{}, stacks: map[*ptx.Func]*stackFrame{}, shared: map[*ptx.Var]int{},
		entry: map[*ptx.Func]int{}, loopIDs: map[loopKey]int32{},
	}
	if m.AddressSize != 64 {
		return nil, &ptx.Error{Pos: f.Pos, Msg: "32-bit addressing is not modelled"}
	}
	d.clusters()
	d.layShared()
	d.findStacks()
	d.require(f)
	for i := 0; i < len(d.order); i++ { // grows as calls are found, and addresses of functions
		d.function(d.order[i])
		d.reachGlobals()
	}
	for _, c := range d.calls {
		d.p.code[c.at].target = int32(d.entry[c.callee])
	}
	d.linkIndirect()
	d.endStacks()
	d.p.npred = max(d.p.npred, 1)
	d.p.base, d.p.funcs = d.entry, d.order
	d.p.findWidths()
	d.p.watchLayouts()
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
	g := cfg.New(f)
	d.registers(g)
	d.beginFrame(f)
	d.frame(f)
	d.p.code = append(d.p.code, make([]inst, len(f.Body)+1)...)
	for i, in := range f.Body {
		d.step(1)
		d.collect(i, in)
	}
	// Falling off the end is a return.
	end := &d.p.code[d.base+len(f.Body)]
	d.in, d.out = &ptx.Instr{Pos: f.End, Op: "ret", Index: len(f.Body)}, end
	*end = newInst(d.in, f, len(f.Body))
	d.ret()
	d.watchRegisters(f)
	d.loops(g)
	d.provenance(f)
}

// registers gives each register of a function a slot: its own, or one shared over time.
func (d *decoder) registers(g *cfg.Graph) {
	f := g.Func
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
	clocks := clockRegisters(f)
	if d.share {
		d.shareSlots(g, slots, clocks)
	}
	d.p.regs[f] = slots
	d.noteClocks(f, clocks)
}

// frame places the function's local variables, and parameters of calls, in the lane's frame: each has one
// place there, or one in a frame on the stack.
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

// localAddr is the offset of a variable in its frame.
func (d *decoder) localAddr(v *ptx.Var) int {
	if off, ok := d.local[v]; ok {
		return off
	}
	align := max(v.Align, 1)
	if fr := d.stackOf(v); fr != nil {
		off := (fr.size + align - 1) &^ (align - 1)
		fr.size, d.local[v] = off+v.Size, off
		return off
	}
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
	decode := decoders[in.Kind()]
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

func (d *decoder) unmodelled() {
	if d.in.Kind() == isa.Texture {
		d.fail("%s is not modelled: where the elements of textures and surfaces lie, and how they are filtered, is in descriptors that only a driver makes",
			d.in.Opcode())
	}
	d.fail("%s is not modelled", d.in.Opcode())
}

// typ is the instruction's (last) type.
func (d *decoder) typ() ptx.Type { return d.in.Type() }

func (d *decoder) has(mod string) bool { return d.in.Has(mod) }

// reachGlobals adds the variables that initialisers of others point to.
func (d *decoder) reachGlobals() {
	for i := 0; i < len(d.p.globals); i++ {
		for _, r := range d.p.globals[i].Relocs {
			if v := d.p.module.Var(r.Sym); v != nil &&
				(v.Space == ptx.SpaceGlobal || v.Space == ptx.SpaceConst) {
				d.place(v)
			} else if f := d.p.module.Func(r.Sym); f != nil && !f.Entry {
				d.functionAddress(f)
			}
		}
	}
}
