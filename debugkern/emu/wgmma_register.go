package emu

import (
	"fmt"

	"tilescope/debugkern/ptx"
)

// Registers of products under way. A wgmma reads and writes registers after it was issued, so that nothing
// else may touch them until a wgmma.wait_group covers it, and accesses before it have to be ordered by a
// wgmma.fence (PTX ISA, "wgmma.fence"); products of one shape that follow each other need neither. The
// instructions of a program that touch such registers are decoded with a step before their own (touch);
// others, and programs without wgmma, do nothing more than before.
//
// Copies from one register to another are taken as what they are in the GPU's code, where both are one
// register: a copy of an accumulator under way goes on being under way, and what was fenced stays fenced.

// wgmmaRegister is what is known of a register that products use.
type wgmmaRegister struct {
	writer uint64 // number of the last product that writes it
	by     *inst
	copied bool // it has a copy of what that product writes
	reader uint64
	reads  *inst  // the last product that reads it as A
	epoch  uint64 // of the last access by an ordinary instruction; 0: none
	user   *inst  // that instruction, the last write in the epoch where there is one
	wrote  bool   // it writes the register
}

// touched is the registers that an ordinary instruction reads and writes, of those that products use.
type touched struct {
	reads, writes []wgmmaUse
	copies        bool
}

type wgmmaUse struct{ slot, reg int32 }

// watchRegisters decodes the instructions of a function that touch registers of products.
func (d *decoder) watchRegisters(f *ptx.Func) {
	set := wgmmaRegisters(f)
	if set == nil {
		return
	}
	uses := func(op *ptx.Operand) (out []wgmmaUse) {
		for _, r := range op.Registers(nil) {
			if set[r] {
				out = append(out, wgmmaUse{d.p.regs[f][r].slot, r})
			}
		}
		return out
	}
	for i, src := range f.Body {
		in := &d.p.code[d.base+i]
		if src.Kind().Wgmma() || in.run == nil {
			continue
		}
		t := &touched{}
		for j := range src.Args {
			if j == 0 && src.HasDest() {
				t.writes = uses(&src.Args[j])
			} else {
				t.reads = append(t.reads, uses(&src.Args[j])...)
			}
		}
		if len(t.reads)+len(t.writes) == 0 {
			continue
		}
		_, _, t.copies = copied(src)
		t.copies = t.copies && len(t.reads) == 1 && len(t.writes) == 1
		run := in.run
		in.run = func(w *warp, in *inst, mask uint32) {
			w.touch(t, in)
			run(w, in, mask)
		}
	}
}

// touch notes what an ordinary instruction does to registers of products.
func (w *warp) touch(t *touched, in *inst) {
	s := w.wgmma
	if t.copies {
		w.copyRegister(t, in)
		return
	}
	for _, u := range t.reads {
		r := &s.regs[u.slot]
		if r.writer > s.waited {
			w.early(in, r.by, r.writer, u.reg, "is read")
			r.writer = 0
		}
		if r.epoch != s.epoch || !r.wrote {
			r.user, r.wrote = in, false
		}
		r.epoch = s.epoch
	}
	for _, u := range t.writes {
		w.overwrite(in, u)
		s.regs[u.slot] = wgmmaRegister{epoch: s.epoch, user: in, wrote: true}
	}
}

// overwrite reports a write of a register that a product under way uses.
func (w *warp) overwrite(in *inst, u wgmmaUse) {
	s := w.wgmma
	switch r := &s.regs[u.slot]; {
	case r.writer > s.waited && !r.copied:
		w.early(in, r.by, r.writer, u.reg, "is written")
	case r.reader > s.waited:
		w.early(in, r.reads, r.reader, u.reg, "is written")
	}
}

// copyRegister is a copy of one such register to another. A value that is under way has to be there first.
func (w *warp) copyRegister(t *touched, in *inst) {
	s := w.wgmma
	from, to := s.regs[t.reads[0].slot], &s.regs[t.writes[0].slot]
	if from.writer > s.waited {
		w.blk.landProducts(w.id/wgmmaWarps, from.writer)
		from.copied = true
	}
	if from.writer < to.writer || from.writer <= s.waited || to.reader > s.waited {
		w.overwrite(in, t.writes[0])
	}
	from.reader, from.reads = 0, nil
	*to = from
}

// early reports an access to a register of a product under way, whose number is seq.
func (w *warp) early(in, by *inst, seq uint64, reg int32, does string) {
	name := in.fn.RegName(reg)
	role := "an accumulator"
	if by.wgmma.inRegs && namesRegister(&by.src.Args[1], reg) {
		role = "a register of A"
	}
	says := fmt.Sprintf("%s, %s of %s at %s, %s by %s before a wgmma.wait_group covers it", name, role,
		by.src.Opcode(), by.where(), does, in.src.Opcode())
	missing := "wgmma.wait_group between %s and %s"
	if past := w.wgmma.passed(seq); past != nil {
		says += ": " + uncommitted(past)
		missing = "wgmma.commit_group between %[1]s and " + past.where()
	}
	w.blk.wgmmaFinding(w, in, by, says, missing)
}

func namesRegister(op *ptx.Operand, reg int32) bool {
	for _, r := range op.Registers(nil) {
		if r == reg {
			return true
		}
	}
	return false
}

// issueRegisters notes what a wgmma that a warp comes to does to its registers, and reports what is not
// ordered before it.
func (w *warp) issueRegisters(in *inst) {
	s, op := w.wgmma, in.wgmma
	s.issued++
	s.last = in
	if !s.fenced {
		w.blk.wgmmaFinding(w, in, nil, fmt.Sprintf(
			"no wgmma.fence stands before %s, the first of the warp", in.src.Opcode()),
			"wgmma.fence before %s")
		s.fenced = true
	}
	var unfenced unfencedUse
	regs := in.src.Args[0].Registers(nil)
	for i, slot := range op.d {
		r := &s.regs[slot]
		switch {
		case r.reader > s.waited:
			w.early(in, r.reads, r.reader, regs[i], "is written")
		case r.writer > s.waited && r.by.wgmma.n != op.n:
			w.early(in, r.by, r.writer, regs[i], "is used with another shape")
		case r.epoch == s.epoch:
			unfenced.add(regs[i], "an accumulator", r)
		}
		*r = wgmmaRegister{writer: s.issued, by: in}
	}
	regs = nil
	if op.inRegs {
		regs = in.src.Args[1].Registers(nil)
	}
	for i, slot := range op.a {
		if i >= len(regs) {
			break // a constant, or no register
		}
		r := &s.regs[slot]
		switch {
		case r.writer > s.waited:
			w.early(in, r.by, r.writer, regs[i], "is read as A")
		case r.epoch == s.epoch:
			unfenced.add(regs[i], "a register of A", r)
		}
		r.reader, r.reads = s.issued, in
	}
	if unfenced.by != nil {
		w.unfenced(in, &unfenced)
	}
}

// unfencedUse is a use of a product's register that no wgmma.fence orders before it.
type unfencedUse struct {
	reg   int32
	role  string
	by    *inst
	wrote bool
}

// add keeps the first write, else the first read: what a register was written with is what the product needs.
func (x *unfencedUse) add(reg int32, role string, r *wgmmaRegister) {
	if x.by == nil || r.wrote && !x.wrote {
		*x = unfencedUse{reg, role, r.user, r.wrote}
	}
}

// unfenced reports a register that was accessed since the last wgmma.fence. A fence that no product has come
// after stands too early: behind the access it would order all that it orders now.
func (w *warp) unfenced(in *inst, x *unfencedUse) {
	s := w.wgmma
	does := "read"
	if x.wrote {
		does = "written"
	}
	behind, missing := ", with no wgmma.fence behind that", "wgmma.fence between %s and %s"
	switch {
	case s.fence == nil:
	case s.issued-1 == s.before:
		behind = fmt.Sprintf(", behind the wgmma.fence at %s", s.fence.source().Place())
		missing += ": move there the one at " + s.fence.source().Place()
	default:
		behind = fmt.Sprintf(" since the last wgmma.fence, at %s", s.fence.source().Place())
	}
	text := fmt.Sprintf("%s is %s by %s at %s%s, and is %s of %s", in.fn.RegName(x.reg), does,
		x.by.src.Opcode(), x.by.where(), behind, x.role, in.src.Opcode())
	w.blk.wgmmaFinding(w, in, x.by, text, missing)
}
