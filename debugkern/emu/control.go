package emu

import (
	"fmt"
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// control executes an instruction that changes the flow of the current group, whose pc stands at it. m is the
// lanes that execute it. It reports whether the warp has to stop for now.
func (w *warp) control(in *inst, m uint32) (stop bool) {
	g := &w.groups[w.cur]
	switch in.flow {
	case flowSync:
		return w.syncLanes(in, m)
	case flowBranch:
		return w.branch(in, m, in.target)
	case flowBrx:
		return w.brx(in, m)
	case flowBarrier:
		if m == 0 {
			g.pc++
			return false
		}
		return w.arrive(in, m)
	case flowExit:
		g.pc++
		w.exit(m)
		return w.alive == 0 || w.blk.released
	case flowCall:
		w.callFunc(in, m)
		return w.blk.broken || w.blk.err != nil
	case flowRet:
		w.ret(m)
		return w.alive == 0
	case flowAsync:
		if in.aligned && m != 0 && m != g.mask {
			w.partExecutes(in, m, g.mask)
		}
		g.pc++
		if m != 0 {
			in.run(w, in, m)
		}
		return w.blk.err != nil
	case flowTry:
		w.tryWait(in, m)
	case flowCluster:
		if in.aligned && m != 0 && m != g.mask {
			w.partExecutes(in, m, g.mask)
		}
		w.clusterWait(in, m)
	case flowWarpgroup:
		return w.warpgroup(in, m)
	case flowRegisters:
		return w.setRegisters(in, m)
	case flowAlloca:
		if m != 0 && !w.allocate(in, m) {
			return true
		}
		g.pc++
	case flowTrap:
		if m != 0 {
			w.trap(in, m)
			return true
		}
		g.pc++
	}
	return false
}

// syncLanes runs a .sync instruction once every lane that it names is here.
func (w *warp) syncLanes(in *inst, m uint32) bool {
	g := &w.groups[w.cur]
	if m != 0 {
		need := w.named(in, m) & w.alive
		if need&^g.mask != 0 {
			if in.bar != nil && in.bar.op == barWarp && w.joinWarpSync(in, need) {
				return false
			}
			g.wait, g.need = waitLanes, need
			w.blk.clock-- // counted when it executes
			return false
		}
		if in.aligned && m != w.alive {
			w.partExecutes(in, m, w.alive)
		}
		if in.class == target.ClassShuffle && !in.probe {
			w.members(in, m)
		}
		in.run(w, in, m)
	}
	g.pc++
	if w.blk.sched.apart {
		w.scatter()
	}
	return false
}

// partExecutes reports an instruction that all threads of a warp have to execute together (.aligned) and that
// only lanes m of those that came to it do: the others are switched off by its guard.
func (w *warp) partExecutes(in *inst, m, came uint32) {
	kind := target.Barrier
	if in.src.Kind().Wgmma() {
		kind = target.Wgmma
	}
	w.blk.report(w, in, bits.TrailingZeros32(m)&31, kind, variable{}, place{}, fmt.Sprintf(
		"%s is executed by lanes %s of warp %d and not by lanes %s, which its guard switches off: "+
			"all threads of the warp must execute it", in.src.Opcode(), laneRanges(m), w.id,
		laneRanges(came&^m)), "")
}

// named is the lanes that a .sync instruction names, over the executing lanes.
func (w *warp) named(in *inst, m uint32) uint32 {
	s := in.c
	if w.u32[s]&stUniform != 0 {
		return w.r32[s][0]
	}
	var need uint32
	r := w.full32(s)
	for ; m != 0; m &= m - 1 {
		need |= r[bits.TrailingZeros32(m)&31]
	}
	return need
}

// gathered is the lanes that stand at bar.warp.sync instructions, those of the current group among them.
func (w *warp) gathered() uint32 {
	code := w.blk.p.code
	here := w.groups[w.cur].mask
	for i := range w.groups {
		g := &w.groups[i]
		if bar := code[g.pc].bar; i != w.cur && g.wait == waitLanes && bar != nil && bar.op == barWarp {
			here |= g.mask
		}
	}
	return here
}

// joinWarpSync lets lanes that wait at different bar.warp.sync instructions for each other go on together.
func (w *warp) joinWarpSync(in *inst, need uint32) bool {
	code, here := w.blk.p.code, w.gathered()
	if need&^here != 0 {
		return false
	}
	if w.blk.watched {
		w.joined(in, here)
	}
	for i := range w.groups {
		g := &w.groups[i]
		bar := code[g.pc].bar
		if bar != nil && bar.op == barWarp && (i == w.cur || g.wait == waitLanes) {
			g.wait = waitNone
			g.pc++
		}
	}
	return true
}

// branch sends the lanes of m to target and the others on.
func (w *warp) branch(in *inst, m uint32, to int32) bool {
	g := &w.groups[w.cur]
	if m == 0 {
		g.pc++
		return false
	}
	back := to <= g.pc
	if back {
		w.timed.went |= m
	}
	if back && in.loop >= 0 && m != 0 {
		w.goRound(in.loop, m)
	}
	if m == g.mask {
		g.pc = to
	} else {
		// g stays the part that goes on; the taken part is new.
		taken := group{pc: to, mask: m, back: g.back, stack: append([]int32(nil), g.stack...)}
		g.mask &^= m
		g.pc++
		w.groups = append(w.groups, taken)
		if back {
			w.cur = len(w.groups) - 1
		}
		g = &w.groups[len(w.groups)-1]
	}
	if !back {
		return false
	}
	switch g.back++; {
	case len(w.groups) == 1:
		g.back, g.yielded = 0, false
	case g.back >= yieldAfter:
		g.back, g.yielded = 0, true
	}
	return w.wentRound()
}

// wentRound counts a backward branch, and reports whether the warp's turn is over with it.
func (w *warp) wentRound() bool {
	w.spins++
	if a := w.blk.async; a != nil {
		a.stall.went |= 1 << w.id
	}
	if x := w.blk.wait; x != nil {
		if w.backs++; w.backs >= x.every {
			w.backs = 0
			if w.cycles() {
				w.spins = yieldAfter
			}
		}
	}
	return w.spins >= yieldAfter || w.blk.cancelled()
}

// brx branches each lane by its index.
func (w *warp) brx(in *inst, m uint32) bool {
	g := &w.groups[w.cur]
	if m == 0 {
		g.pc++
		return false
	}
	idx := w.full32(in.a)
	rest := g.mask &^ m
	here := g.pc
	stack := g.stack
	parts := map[int32]uint32{}
	var order []int32
	for l := m; l != 0; l &= l - 1 {
		i := bits.TrailingZeros32(l) & 31
		k := min(idx[i], uint32(len(in.targets)-1))
		to := in.targets[k]
		if parts[to] == 0 {
			order = append(order, to)
		}
		parts[to] |= 1 << i
	}
	g.mask, g.pc = parts[order[0]], order[0]
	for _, to := range order[1:] {
		w.groups = append(w.groups, group{pc: to, mask: parts[to], stack: append([]int32(nil), stack...)})
	}
	if rest != 0 {
		w.groups = append(w.groups, group{pc: here + 1, mask: rest, stack: append([]int32(nil), stack...)})
	}
	return w.wentRound()
}

// exit ends lanes.
func (w *warp) exit(m uint32) {
	if m == 0 {
		return
	}
	w.alive &^= m
	for i := 0; i < len(w.groups); {
		if w.groups[i].mask &^= m; w.groups[i].mask == 0 {
			w.groups = append(w.groups[:i], w.groups[i+1:]...)
			continue
		}
		i++
	}
	w.cur = 0
	w.blk.exited()
}

// callOp is a call of a function of the module, or of one that the emulator provides.
type callOp struct {
	provided func(w *warp, in *inst, m uint32)
	copies   []paramCopy // arguments into the callee's parameters
	results  []paramCopy // and its results back; at the call's return
	indirect *indirectOp // of a call through a register
	frame    *stackFrame // the caller's, where it is on the stack
	into     *stackFrame // the callee's; of a call through a register it is the target's
}

// paramCopy copies bytes from the caller's frame to the callee's, or back.
type paramCopy struct{ to, from, size int }

func (w *warp) callFunc(in *inst, m uint32) {
	g := &w.groups[w.cur]
	if in.call.provided != nil {
		if m != 0 {
			in.call.provided(w, in, m)
		}
		g.pc++
		return
	}
	if m == 0 {
		g.pc++
		return
	}
	if in.call.indirect != nil {
		w.callIndirect(in, m)
		return
	}
	if !w.enter(in, in.call.frame, in.call.into, in.call.copies, m) {
		return
	}
	here := g.pc
	stack := append(append([]int32(nil), g.stack...), here)
	if m == g.mask {
		g.pc, g.stack = in.target, stack
		return
	}
	g.mask &^= m
	g.pc++
	w.groups = append(w.groups, group{pc: in.target, mask: m, stack: stack})
}

func (w *warp) ret(m uint32) {
	g := &w.groups[w.cur]
	if len(g.stack) == 0 {
		g.pc++
		w.exit(m)
		return
	}
	if m == 0 {
		g.pc++
		return
	}
	from := g.stack[len(g.stack)-1]
	c := w.blk.p.code[from].call
	results, callee := c.results, c.into
	if c.indirect != nil {
		t := c.indirect.of(w.blk.p.code[g.pc].fn)
		results, callee = t.results, t.into
	}
	w.leave(callee, c.frame, results, m)
	stack := append([]int32(nil), g.stack[:len(g.stack)-1]...)
	if m == g.mask {
		g.pc, g.stack = from+1, stack
		return
	}
	g.mask &^= m
	g.pc++
	w.groups = append(w.groups, group{pc: from + 1, mask: m, stack: stack})
}

func (d *decoder) bra() {
	d.out.flow, d.out.class = flowBranch, target.ClassBranch
	op := d.arg(0)
	if op.Kind != ptx.OpLabel {
		d.unmodelled()
	}
	d.out.target = int32(d.base) + op.Target
}

func (d *decoder) brx() {
	d.out.flow, d.out.class = flowBrx, target.ClassBranch
	d.out.a = d.src32(0, 32)
	for _, t := range d.arg(1).Targets {
		d.out.targets = append(d.out.targets, int32(d.base)+t)
	}
	if len(d.out.targets) == 0 {
		d.fail("brx.idx: its .branchtargets are not known")
	}
}

func (d *decoder) exit() { d.out.flow, d.out.class = flowExit, target.ClassExit }

func (d *decoder) ret() {
	d.out.flow, d.out.class = flowRet, target.ClassBranch
	if d.fn.Entry {
		d.out.class = target.ClassExit
	}
}

func (d *decoder) trap() { d.out.flow, d.out.class = flowTrap, target.ClassExit }

// nothing decodes hints. A cache policy is a number that only hints take.
func (d *decoder) nothing() {
	if d.in.HasDest() {
		d.out.d = d.dst64(0)
		d.out.run = func(w *warp, in *inst, mask uint32) { w.store64(in.d, &row64{}, mask) }
		return
	}
	d.out.run = func(*warp, *inst, uint32) {}
}

// callOp decodes a call: the module's own function, or vprintf and its like.
func (d *decoder) callOp() {
	d.out.flow, d.out.class = flowCall, target.ClassBranch
	callee := d.arg(1)
	c := &callOp{frame: d.stacks[d.fn]}
	d.out.call = c
	if callee.Func == nil {
		d.indirectCall(c)
		return
	}
	args, rets := d.arg(2).Elems, d.arg(0).Elems
	f := d.p.module.Definition(callee.Func)
	if f.Proto {
		if c.provided = provided(f.Name); c.provided == nil {
			d.fail("call of %s, which the module does not define, is not modelled", f.Name)
		}
		for i := range args {
			c.copies = append(c.copies, paramCopy{from: d.argument(&args[i]), size: args[i].Var.Size})
		}
		for i := range rets {
			c.results = append(c.results, paramCopy{to: d.argument(&rets[i]), size: rets[i].Var.Size})
		}
		d.providedHeap(f.Name, c)
		return
	}
	if len(args) != len(f.Params) || len(rets) != len(f.Return) {
		d.fail("call of %s with %d arguments and %d results; it has %d and %d", f.Name, len(args), len(rets),
			len(f.Params), len(f.Return))
	}
	for i := range args {
		c.copies = append(c.copies, paramCopy{
			d.localAddr(f.Params[i]), d.argument(&args[i]), min(args[i].Var.Size, f.Params[i].Size),
		})
	}
	for i := range rets {
		c.results = append(c.results, paramCopy{
			d.argument(&rets[i]), d.localAddr(f.Return[i]), min(rets[i].Var.Size, f.Return[i].Size),
		})
	}
	c.into = d.stacks[f]
	d.require(f)
	d.calls = append(d.calls, pendingCall{d.base + d.in.Index, f})
}

// providedHeap checks a call of malloc or free, which take and return 64 bits.
func (d *decoder) providedHeap(name string, c *callOp) {
	if name != "malloc" && name != "free" {
		return
	}
	d.p.heap = true
	wide := func(cs []paramCopy) bool { return len(cs) == 1 && cs[0].size == 8 }
	if !wide(c.copies) || len(c.results) > 0 && !wide(c.results) || name == "free" && len(c.results) > 0 {
		d.fail("call of %s with other arguments or results than the device's runtime has", name)
	}
}

// argument returns the frame offset of a call's .param operand.
func (d *decoder) argument(op *ptx.Operand) int {
	if op.Var == nil {
		d.fail("a call argument that is no .param variable is not modelled")
	}
	return d.localAddr(op.Var)
}
