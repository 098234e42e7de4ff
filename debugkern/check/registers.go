package check

import (
	"fmt"
	"math/bits"
	"sync"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Registers read before they were written are an error where the value gets out: into shared or global
// memory, into an address, or into a branch. Copying one about is none: compilers do that to halves nobody
// looks at, and local memory and the arguments of calls count as copying.
//
// What can be undefined at all is decided from the text (undefinedUses). Where that leaves a possible use,
// the block is followed instruction by instruction: every register that matters has, for each of its bytes,
// the lanes in which it is undefined, and an instruction hands that on from sources to destinations.
func registerKind() kind {
	return kind{set: Registers, start: startRegisters, findings: registerFindings}
}

// definitions remembers what was found out about functions, for all blocks of a launch.
type definitions struct {
	mu sync.Mutex
	of map[*ptx.Func]*undefinedUse
}

func (d *definitions) uses(f *ptx.Func) *undefinedUse {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[*ptx.Func]*undefinedUse{}
	}
	if d.of[f] == nil {
		d.of[f] = undefinedUses(f)
	}
	return d.of[f]
}

func startRegisters(b *block) unit {
	u := &registerUnit{id: b.id, view: b.view, uses: map[*ptx.Func]*undefinedUse{}}
	for _, f := range b.view.Program() {
		if x := b.checker.defined.uses(f); len(x.sinks) > 0 || len(x.guards) > 0 {
			u.uses[f] = x
		}
	}
	if len(u.uses) == 0 {
		return nil
	}
	l := b.view.Launch()
	u.warps = make([]registerState, (l.Block.Count()+31)/32)
	for i := range u.warps {
		u.warps[i] = registerState{regs: map[registerKey]*undefined{}}
	}
	return u
}

type registerUnit struct {
	id    probes.Dim3
	view  target.View
	uses  map[*ptx.Func]*undefinedUse
	warps []registerState
	found causes
}

type registerKey struct {
	f   *ptx.Func
	reg int32
}

// registerState is one warp's registers: those that are not there are as undefined as they began.
type registerState struct {
	regs map[registerKey]*undefined
	last [32]lanePlace
}

// lanePlace is what a lane executed last: instructions between it and the next one had a false guard.
type lanePlace struct {
	f  *ptx.Func
	pc int32 // index in f's body
}

// undefined is the lanes in which a register is undefined, by byte, and the register that it came from.
type undefined struct {
	lanes [8]uint32
	root  registerKey
	read  *ptx.Instr // where the root was first read
}

func (u *undefined) any() uint32 {
	var m uint32
	for _, v := range u.lanes {
		m |= v
	}
	return m
}

// End implements target.Ender.
func (u *registerUnit) End() { u.warps = nil }

func (u *registerUnit) Interests() target.ClassSet {
	return target.AllClasses &^ target.Classes(target.ClassAsyncLand, target.ClassBarrierDone)
}

// Event implements target.Observer.
func (u *registerUnit) Event(e *target.Event) {
	use := u.uses[e.Func]
	if use == nil {
		return
	}
	s := &u.warps[e.Warp]
	u.skipped(s, e, use)
	if e.Instr.Kind().MovesFragment() && e.Value != 0 {
		return // an event for each pair of elements: the first will do
	}
	if use.sinks[e.Instr.Index] && !e.Probe {
		u.sink(s, e, use)
	}
	u.step(s, e, use)
}

// skipped looks at the guards that lanes found false on their way here.
func (u *registerUnit) skipped(s *registerState, e *target.Event, use *undefinedUse) {
	for m := e.Mask; m != 0; m &= m - 1 {
		l := &s.last[bits.TrailingZeros32(m)&31]
		for _, g := range use.guards {
			if l.f != e.Func || g <= int(l.pc) || g >= e.Instr.Index {
				continue
			}
			in := e.Func.Body[g]
			if d := s.at(use, e.Func, in.Guard.Reg); in.Kind().Jumps() && d != nil && d.any()&(m&-m) != 0 {
				u.report(e, in, d, m&-m, "decides a branch", "")
			}
		}
		l.f, l.pc = e.Func, int32(e.Instr.Index)
		switch e.Instr.Kind() {
		case isa.Branch:
			l.pc = e.Instr.Args[0].Target - 1
		case isa.BranchIndexed, isa.Call, isa.Return:
			l.f = nil
		}
	}
}

// at returns the state of a register, nil where all of it is defined.
func (s *registerState) at(use *undefinedUse, f *ptx.Func, reg int32) *undefined {
	if !use.carry.Has(reg) {
		return nil
	}
	k := registerKey{f, reg}
	d := s.regs[k]
	if d == nil {
		d = &undefined{root: k}
		for i := range d.lanes {
			d.lanes[i] = ^uint32(0)
		}
		s.regs[k] = d
	}
	if d.any() == 0 {
		return nil
	}
	return d
}

// sink reports undefined values that the instruction lets out.
func (u *registerUnit) sink(s *registerState, e *target.Event, use *undefinedUse) {
	in := e.Instr
	if in.Guard != nil {
		if d := s.at(use, e.Func, in.Guard.Reg); d != nil && d.any()&e.Mask != 0 {
			u.report(e, in, d, d.any()&e.Mask, "decides whether "+in.Op+" executes", "")
		}
	}
	if in.Kind() == isa.BranchIndexed && in.Args[0].Kind == ptx.OpReg {
		if d := s.at(use, e.Func, in.Args[0].Reg); d != nil && d.any()&e.Mask != 0 {
			u.report(e, in, d, d.any()&e.Mask, "decides a branch", "")
		}
	}
	for i := range in.Args {
		op := &in.Args[i]
		if op.Kind == ptx.OpAddr {
			if op.Base == ptx.BaseReg {
				if d := s.at(use, e.Func, op.Reg); d != nil && d.any()&e.Mask != 0 {
					u.report(e, in, d, d.any()&e.Mask, "is the address of "+in.Op, "")
				}
			}
			continue
		}
		if i == 0 && in.HasDest() || e.Space != target.SpaceShared && e.Space != target.SpaceGlobal {
			continue
		}
		for k, r := range op.Registers(nil) {
			d := s.at(use, e.Func, r)
			if d == nil {
				continue
			}
			if m := d.low(in, k) & e.Mask; m != 0 {
				u.stored(e, in, d, m)
			}
		}
	}
}

// low is the lanes in which the bytes that a store writes are undefined.
func (u *undefined) low(in *ptx.Instr, _ int) uint32 {
	n := in.Type().Bytes()
	if in.Kind().OfWarp() || n == 0 {
		n = 4
	}
	var m uint32
	for _, v := range u.lanes[:min(n, 8)] {
		m |= v
	}
	return m
}

func (u *registerUnit) stored(e *target.Event, in *ptx.Instr, d *undefined, m uint32) {
	name, index := u.view.Name(e.Space, e.Addr[bits.TrailingZeros32(m)&31])
	f := u.report(e, in, d, m, "is stored to "+element(name, index), name)
	f.Index = index
}

// report adds a finding.
func (u *registerUnit) report(
	e *target.Event, in *ptx.Instr, d *undefined, m uint32, what, variable string,
) *target.Finding {
	type cause struct {
		root     registerKey
		line     target.Source
		variable string
	}
	src := target.Blame(e.Func, in.Index)
	k := cause{d.root, *src, variable}
	if old := u.found.seen(k); old != nil {
		old.Count++
		old.Warps, old.Lanes = union(old.Warps, []int{e.Warp}), union(old.Lanes, bitList(uint64(m)))
		return old
	}
	f := target.Finding{
		Kind: target.Uninitialised, Variable: variable, Block: u.id, Warps: []int{e.Warp},
		Lanes: bitList(uint64(m)), KVTile: e.KVTile, Source: src,
		Message: fmt.Sprintf("a value that was never written %s: register %s has none on this path", what,
			d.root.f.RegName(d.root.reg)),
	}
	if variable != "" {
		f.Space = e.Space.String()
	}
	if d.read != nil && d.read != in {
		f.Other = target.Blame(d.root.f, d.read.Index)
		f.Consequence = fmt.Sprintf("it was read first at %s", f.Other)
	}
	u.found.add(k, f)
	return u.found.seen(k)
}

func registerFindings(_ *Checker, us []unit) []target.Finding {
	var blocks []*causes
	for _, x := range us {
		blocks = append(blocks, &x.(*registerUnit).found)
	}
	return mergeCauses(blocks)
}
