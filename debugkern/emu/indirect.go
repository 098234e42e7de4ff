package emu

import (
	"fmt"
	"math/bits"

	"tilescope/debugkern/ptx"
)

// Calls through registers. A function has an address where the program takes one; a call goes to the function
// at the address that each lane has, and lanes that call different functions part. Which functions a call may
// reach is decided by the number and the sizes of arguments and results.

// codeWindow is where the addresses of functions begin: in no memory.
const codeWindow = uint64(1)<<46 + 4<<40

// codeAddress is the address of the function with a number in program.funcs.
func codeAddress(i int) uint64 { return codeWindow | uint64(i)<<4 }

// functionAddress is a function's address; the function becomes part of the program.
func (d *decoder) functionAddress(f *ptx.Func) uint64 {
	f = d.p.module.Definition(f)
	if f.Proto {
		d.fail("the address of %s, which the module does not define, is not modelled", f.Name)
	}
	d.require(f)
	for i, g := range d.order {
		if g == f {
			return codeAddress(i)
		}
	}
	panic("BUG: a required function is not there")
}

// indirectOp is a call through a register.
type indirectOp struct {
	address int32 // slot
	targets map[uint64]*callTarget
}

// callTarget is a function that the call may reach.
type callTarget struct {
	fn              *ptx.Func
	entry           int32
	copies, results []paramCopy
	into            *stackFrame
}

// of is the target that a function is.
func (o *indirectOp) of(f *ptx.Func) *callTarget {
	for _, t := range o.targets {
		if t.fn == f {
			return t
		}
	}
	panic("BUG: a return from a function that was not called")
}

// framePart is a call's argument or result in the caller's frame.
type framePart struct{ off, size int }

// pendingIndirect is a call whose targets are found once all functions are there.
type pendingIndirect struct {
	op         *indirectOp
	args, rets []framePart
}

func (d *decoder) indirectCall(c *callOp) {
	callee := d.arg(1)
	if callee.Kind != ptx.OpReg {
		d.fail("this form of an indirect call is not modelled")
	}
	c.indirect = &indirectOp{address: d.source(callee, bank64, 64), targets: map[uint64]*callTarget{}}
	p := pendingIndirect{op: c.indirect}
	for i := range d.arg(0).Elems {
		p.rets = append(p.rets, d.framePart(&d.arg(0).Elems[i]))
	}
	if len(d.in.Args) > 2 {
		for i := range d.arg(2).Elems {
			p.args = append(p.args, d.framePart(&d.arg(2).Elems[i]))
		}
	}
	d.byValue = append(d.byValue, p)
}

func (d *decoder) framePart(op *ptx.Operand) framePart {
	off := d.argument(op)
	return framePart{off, op.Var.Size}
}

// linkIndirect gives the calls through registers their targets.
func (d *decoder) linkIndirect() {
	for _, p := range d.byValue {
		for i, f := range d.order {
			if f.Entry || !fits(p.args, f.Params) || !fits(p.rets, f.Return) {
				continue
			}
			t := &callTarget{fn: f, entry: int32(d.entry[f]), into: d.stacks[f]}
			for j, v := range f.Params {
				t.copies = append(t.copies, paramCopy{d.localAddr(v), p.args[j].off, v.Size})
			}
			for j, v := range f.Return {
				t.results = append(t.results, paramCopy{p.rets[j].off, d.localAddr(v), v.Size})
			}
			p.op.targets[codeAddress(i)] = t
		}
	}
}

// fits reports whether a call's parts are what a function declares.
func fits(parts []framePart, vars []*ptx.Var) bool {
	if len(parts) != len(vars) {
		return false
	}
	for i, v := range vars {
		if parts[i].size != v.Size {
			return false
		}
	}
	return true
}

// callIndirect calls the function of the first lane, with all lanes that call the same; the
// others stay at the call.
func (w *warp) callIndirect(in *inst, m uint32) {
	g := &w.groups[w.cur]
	addresses := *w.full64(in.call.indirect.address)
	first := bits.TrailingZeros32(m) & 31
	to := addresses[first]
	t := in.call.indirect.targets[to]
	if t == nil {
		w.endWithTrap(in, m,
			fmt.Sprintf(
				"a call through a register to %#x, where no function of the call's arguments and results begins",
				to), "")
		return
	}
	same := uint32(0)
	for l := m; l != 0; l &= l - 1 {
		if lane := bits.TrailingZeros32(l) & 31; addresses[lane] == to {
			same |= 1 << lane
		}
	}
	if !w.enter(in, in.call.frame, t.into, t.copies, same) {
		return
	}
	stack := append(append([]int32(nil), g.stack...), g.pc)
	if same == g.mask {
		g.pc, g.stack = t.entry, stack
		return
	}
	if g.mask &^= same; same == m { // the others are guarded off
		g.pc++
	}
	w.groups = append(w.groups, group{pc: t.entry, mask: same, stack: stack})
}
