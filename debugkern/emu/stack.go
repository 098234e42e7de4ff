package emu

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// The stack of a thread, of programs whose functions call themselves or allocate on it. It is the end of the
// thread's local memory. A function that can come to itself, or that has alloca, has its variables and
// parameters in a frame on the stack, whose address each lane holds in a slot; calling it saves what its
// registers hold, and returning restores that. All other functions have one frame each, and pay nothing.

// stackBytes is the stack of a thread. A GPU has 1 KiB by default, where registers are saved too.
const stackBytes = 16 << 10

// stackFrame is the frame of a function on the stack.
type stackFrame struct {
	fn   *ptx.Func
	base int32 // slot of its address
	size int

	r32, r64 []int32 // slots of its registers, base among them
	pred     []int32
}

// findStacks finds the functions that need frames on the stack.
func (d *decoder) findStacks() {
	calls := map[*ptx.Func][]*ptx.Func{}
	taken := d.addressTaken()
	var visit func(f *ptx.Func)
	visit = func(f *ptx.Func) {
		if _, seen := calls[f]; seen || f.Proto {
			return
		}
		calls[f] = []*ptx.Func{}
		for _, in := range f.Body {
			d.step(1)
			if k := in.Kind(); k == isa.Alloca || k == isa.SaveStack {
				d.p.stacks = true
				if !f.Entry {
					d.onStack(f)
				}
			}
			calls[f] = append(calls[f], d.callees(in, taken)...)
		}
		for _, g := range calls[f] {
			visit(g)
		}
	}
	visit(d.p.entry)
	for _, f := range taken {
		visit(f)
	}
	for f := range calls {
		if reaches(calls, f) {
			d.onStack(f)
		}
	}
}

// onStack gives a function a frame on the stack.
func (d *decoder) onStack(f *ptx.Func) {
	if d.stacks[f] == nil {
		d.stacks[f] = &stackFrame{fn: f}
		d.p.stacks = true
	}
}

// reaches reports whether a function can come to itself.
func reaches(calls map[*ptx.Func][]*ptx.Func, f *ptx.Func) bool {
	seen := map[*ptx.Func]bool{}
	next := slices.Clone(calls[f])
	for len(next) > 0 {
		g := next[len(next)-1]
		if next = next[:len(next)-1]; g == f {
			return true
		}
		if !seen[g] {
			seen[g] = true
			next = append(next, calls[g]...)
		}
	}
	return false
}

// callees lists the functions that an instruction may call; taken is those whose addresses the module takes.
func (d *decoder) callees(in *ptx.Instr, taken []*ptx.Func) (out []*ptx.Func) {
	if in.Kind() != isa.Call || len(in.Args) < 2 {
		return nil
	}
	if f := in.Args[1].Func; f != nil {
		return []*ptx.Func{d.p.module.Definition(f)}
	}
	parts := func(i int) (ps []framePart) {
		if i < len(in.Args) {
			for _, op := range in.Args[i].Elems {
				if op.Var != nil {
					ps = append(ps, framePart{size: op.Var.Size})
				}
			}
		}
		return ps
	}
	for _, f := range taken {
		if fits(parts(2), f.Params) && fits(parts(0), f.Return) {
			out = append(out, f)
		}
	}
	return out
}

// addressTaken lists the functions whose addresses the module takes, in instructions or in
// initialisers of variables.
func (d *decoder) addressTaken() (out []*ptx.Func) {
	add := func(f *ptx.Func) {
		if f = d.p.module.Definition(f); !f.Entry && !f.Proto && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	for _, f := range d.p.module.Funcs {
		for _, in := range f.Body {
			for i := range in.Args {
				if g := in.Args[i].Func; g != nil && !(in.Kind() == isa.Call && i == 1) {
					add(g)
				}
			}
		}
	}
	for _, it := range d.p.module.Items {
		if it.Var == nil {
			continue
		}
		for _, r := range it.Var.Relocs {
			if f := d.p.module.Func(r.Sym); f != nil {
				add(f)
			}
		}
	}
	return out
}

// stackOf is the frame of a variable's function, nil where the variable has one place.
func (d *decoder) stackOf(v *ptx.Var) *stackFrame {
	if v == nil || v.Space != ptx.SpaceLocal && v.Space != ptx.SpaceParam {
		return nil
	}
	return d.stacks[v.Func]
}

// beginFrame gives a frame on the stack the slot of its address.
func (d *decoder) beginFrame(f *ptx.Func) {
	if fr := d.stacks[f]; fr != nil {
		fr.base = d.slot(bank64)
	}
}

// endStacks places the stack behind the frames that have one place, and lists what calls save.
func (d *decoder) endStacks() {
	if !d.p.stacks {
		return
	}
	d.p.stack = (d.p.frame + 15) &^ 15
	d.p.frame = d.p.stack + stackBytes
	for f, fr := range d.stacks {
		fr.r64 = append(fr.r64, fr.base)
		for _, s := range d.p.regs[f] {
			list := map[bank]*[]int32{bankPred: &fr.pred, bank32: &fr.r32, bank64: &fr.r64}[s.bank]
			if list != nil && !slices.Contains(*list, s.slot) {
				*list = append(*list, s.slot)
			}
		}
	}
}

// stackAddress decodes mov of the address of a variable in a frame on the stack.
func (d *decoder) stackAddress(fr *stackFrame, op *ptx.Operand) {
	off := uint64(int64(d.localAddr(op.Var)) + op.Off)
	dst, base := d.reg(d.arg(0)), fr.base
	d.out.run = func(w *warp, _ *inst, mask uint32) {
		t := *w.full64(base)
		for i := range t {
			t[i] += off
		}
		w.storeAny(dst, &t, mask)
	}
}

// frameBase is where a frame of a lane begins: at 0 for those that have one place.
func (w *warp) frameBase(fr *stackFrame, lane int) int {
	if fr == nil {
		return 0
	}
	return int(w.lane64(fr.base, lane))
}

// argFrame is a lane's frame as a call's offsets mean it.
func (w *warp) argFrame(c *callOp, lane int) (data, written []byte) {
	data, written = w.blk.frame(w.id*32 + lane)
	base := w.frameBase(c.frame, lane)
	return data[base:], written[base:]
}

// enter passes arguments from the caller's frames to the callee's, which it makes on the stack where the
// callee has them there. It reports whether there was room; where there was not, the block has ended.
func (w *warp) enter(in *inst, from, to *stackFrame, cs []paramCopy, m uint32) bool {
	for l := m; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		data, written := w.blk.frame(w.id*32 + lane)
		below, base := w.frameBase(from, lane), 0
		if to != nil {
			base = (int(w.sp[lane]) + 15) &^ 15
			if base+to.size > len(data) {
				w.overflow(in, to.fn, l)
				return false
			}
			fill(data[base:base+to.size], 0xff)
			clear(written[base : base+to.size])
			w.save(to, lane)
			w.sp[lane] = uint32(base + to.size)
		}
		for _, c := range cs {
			copy(data[base+c.to:][:c.size], data[below+c.from:][:c.size])
			copy(written[base+c.to:][:c.size], written[below+c.from:][:c.size])
		}
		if to != nil {
			w.full64(to.base)[lane], w.u64[to.base] = uint64(base), stFilled
		}
	}
	return true
}

// leave passes results from the callee's frames to the caller's.
func (w *warp) leave(from, to *stackFrame, cs []paramCopy, m uint32) {
	var results, marks []byte
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		data, written := w.blk.frame(w.id*32 + lane)
		base := w.frameBase(from, lane)
		results, marks = results[:0], marks[:0]
		for _, c := range cs {
			results = append(results, data[base+c.from:][:c.size]...)
			marks = append(marks, written[base+c.from:][:c.size]...)
		}
		if from != nil {
			w.restoreFrame(from, lane)
		}
		below, at := w.frameBase(to, lane), 0
		for _, c := range cs {
			copy(data[below+c.to:][:c.size], results[at:])
			copy(written[below+c.to:][:c.size], marks[at:])
			at += c.size
		}
	}
}

// save pushes what a lane's registers of a function hold, and its stack pointer.
func (w *warp) save(fr *stackFrame, lane int) {
	s := w.saved[lane]
	for _, r := range fr.r32 {
		s = append(s, uint64(w.lane32(r, lane)))
	}
	for _, r := range fr.r64 {
		s = append(s, w.lane64(r, lane))
	}
	for _, p := range fr.pred {
		s = append(s, uint64(w.pred[p]>>lane&1))
	}
	w.saved[lane] = append(s, uint64(w.sp[lane]))
}

// restoreFrame pops what save pushed.
func (w *warp) restoreFrame(fr *stackFrame, lane int) {
	all := w.saved[lane]
	first := len(all) - len(fr.r32) - len(fr.r64) - len(fr.pred) - 1
	s := all[first:]
	for i, r := range fr.r32 {
		w.full32(r)[lane], w.u32[r] = uint32(s[i]), stFilled
	}
	s = s[len(fr.r32):]
	for i, r := range fr.r64 {
		w.full64(r)[lane], w.u64[r] = s[i], stFilled
	}
	s = s[len(fr.r64):]
	for i, p := range fr.pred {
		w.pred[p] = w.pred[p]&^(1<<lane) | uint32(s[i])<<lane
	}
	w.sp[lane], w.saved[lane] = uint32(s[len(fr.pred)]), all[:first]
}

// beginStack empties the stacks of a warp's lanes.
func (w *warp) beginStack() {
	if !w.blk.p.stacks {
		return
	}
	for i := range w.sp {
		w.sp[i], w.saved[i] = uint32(w.blk.p.stack), w.saved[i][:0]
	}
}

// overflow ends the block: a thread has no stack left for f, nil for alloca.
func (w *warp) overflow(in *inst, f *ptx.Func, m uint32) {
	b := w.blk
	b.broken = true
	src, lane := w.called(in), bits.TrailingZeros32(m)&31
	msg := "alloca overflows"
	if f != nil {
		msg = fmt.Sprintf("calling %s here overflows", f.Demangled)
	}
	msg += fmt.Sprintf(" the stack of a thread, %d KiB (a GPU has 1 KiB by default, for saved registers too)",
		stackBytes>>10)
	if n := len(w.groups[w.cur].stack); n > 0 {
		msg += fmt.Sprintf(": %d calls are active", n)
	}
	b.found.add(findingKey{kind: target.OutOfBounds, pc: int32(w.pcOf(in)), source: *src}, target.Finding{
		Kind: target.OutOfBounds, Severity: target.OutOfBounds.Severity(), Message: msg,
		Space: target.SpaceLocal.String(), Block: b.id, Warps: []int{w.id}, Lanes: []int{lane},
		KVTile: w.tile(in, lane), Source: src, Count: 1,
	})
}

// alloca decodes alloca address, bytes{, alignment}.
func (d *decoder) alloca() {
	align := uint64(8)
	if len(d.in.Args) > 2 {
		op := d.arg(2)
		if op.Kind != ptx.OpInt || op.Imm == 0 || op.Imm&(op.Imm-1) != 0 || op.Imm > stackBytes {
			d.fail("%s: the alignment must be a power of two", d.in.Opcode())
		}
		align = op.Imm
	}
	dst := d.reg(d.arg(0))
	size, wide := d.anySource(1, d.typ().Bits())
	d.out.class, d.out.flow = target.ClassALU, flowAlloca
	d.out.alloca = &allocaOp{dst, size, wide, align}
}

// allocaOp is an alloca.
type allocaOp struct {
	dst   regSlot
	size  int32
	wide  bool
	align uint64
}

// allocate executes an alloca; it reports whether there was room.
func (w *warp) allocate(in *inst, m uint32) bool {
	a := in.alloca
	var t row64
	for l := m; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		n := uint64(w.lane32(a.size, lane))
		if a.wide {
			n = w.lane64(a.size, lane)
		}
		at := (uint64(w.sp[lane]) + a.align - 1) &^ (a.align - 1)
		if room := uint64(w.blk.p.frame); at > room || n > room-at {
			w.overflow(in, nil, l)
			return false
		}
		data, written := w.blk.frame(w.id*32 + lane)
		fill(data[at:at+n], 0xff)
		clear(written[at : at+n])
		t[lane], w.sp[lane] = at, uint32(at+n)
	}
	w.storeAny(a.dst, &t, m)
	return true
}

// saveStack decodes stacksave and stackrestore.
func (d *decoder) saveStack() {
	if d.in.HasDest() {
		dst := d.reg(d.arg(0))
		d.out.run = func(w *warp, _ *inst, mask uint32) {
			var t row64
			for i, v := range w.sp {
				t[i] = uint64(v)
			}
			w.storeAny(dst, &t, mask)
		}
		return
	}
	src, wide := d.anySource(0, d.typ().Bits())
	d.out.run = func(w *warp, in *inst, mask uint32) {
		for ; mask != 0; mask &= mask - 1 {
			lane := bits.TrailingZeros32(mask) & 31
			v := uint64(w.lane32(src, lane))
			if wide {
				v = w.lane64(src, lane)
			}
			if p := w.blk.p; v < uint64(p.stack) || v > uint64(w.sp[lane]) {
				w.blk.report(w, in, lane, target.OutOfBounds, variable{},
					place{space: target.SpaceLocal, addr: v},
					fmt.Sprintf("stackrestore of %#x, which is above the top of the stack or below its begin",
						v), "")
				continue
			}
			w.sp[lane] = uint32(v)
		}
	}
}
