package emu

import (
	"fmt"
	"slices"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// wgmmaOp is a wgmma.mma_async: D of 64 rows and n columns is A·B or A·B + D.
type wgmmaOp struct {
	n       int
	form    fp.AsyncMMA
	integer bool // s8 or u8 operands; form is not used then
	signed  bool
	sat     bool
	d       []int32  // slots of the accumulators
	a       [4]int32 // slots of A, where it lies in registers
	inRegs  bool
	aDesc   int32 // slots of the matrix descriptors
	bDesc   int32
	negate  uint32 // bits of a register of A that change where the product is subtracted
	transA  bool   // the operand lies MN-major in shared memory
	transB  bool
	size    int // bytes of an element of A and B
}

// wgmmaWarps is the warps of a warpgroup.
const wgmmaWarps = 4

// wgmmaForms are the types of D, A and B that exist for floating-point operands.
var wgmmaForms = map[[3]ptx.Type]fp.AsyncMMA{
	{ptx.F32, ptx.F16, ptx.F16}:   {A: fp.F16, B: fp.F16, D: fp.F32},
	{ptx.F16, ptx.F16, ptx.F16}:   {A: fp.F16, B: fp.F16, D: fp.F16},
	{ptx.F32, ptx.BF16, ptx.BF16}: {A: fp.BF16, B: fp.BF16, D: fp.F32},
	{ptx.F32, ptx.TF32, ptx.TF32}: {A: fp.TF32, B: fp.TF32, D: fp.F32},
	{ptx.F32, ptx.E4M3, ptx.E4M3}: {A: fp.E4M3, B: fp.E4M3, D: fp.F32},
	{ptx.F32, ptx.E4M3, ptx.E5M2}: {A: fp.E4M3, B: fp.E5M2, D: fp.F32},
	{ptx.F32, ptx.E5M2, ptx.E4M3}: {A: fp.E5M2, B: fp.E4M3, D: fp.F32},
	{ptx.F32, ptx.E5M2, ptx.E5M2}: {A: fp.E5M2, B: fp.E5M2, D: fp.F32},
	{ptx.F16, ptx.E4M3, ptx.E4M3}: {A: fp.E4M3, B: fp.E4M3, D: fp.F16},
	{ptx.F16, ptx.E4M3, ptx.E5M2}: {A: fp.E4M3, B: fp.E5M2, D: fp.F16},
	{ptx.F16, ptx.E5M2, ptx.E4M3}: {A: fp.E5M2, B: fp.E4M3, D: fp.F16},
	{ptx.F16, ptx.E5M2, ptx.E5M2}: {A: fp.E5M2, B: fp.E5M2, D: fp.F16},
}

// wgmma decodes wgmma.mma_async.sync.aligned.shape.types d, a, b, scale-d{, imm-scale-a, imm-scale-b{,
// imm-trans-a}{, imm-trans-b}} (PTX ISA 9.7.15.5).
func (d *decoder) wgmma() {
	d.p.async, d.p.wgmma = true, true
	op := &wgmmaOp{}
	o := d.out
	o.wgmma, o.class, o.flow = op, target.ClassWgmma, flowWarpgroup
	o.c = d.constant(bank32, uint64(allLanes))
	d.warpgroupMods()
	k := d.wgmmaTypes(op)
	d.wgmmaShape(op, k)
	d.wgmmaOperands(op)
	d.srcPred(3)
	d.wgmmaImmediates(op)
}

// warpgroupMods refuses an instruction of warpgroups that lacks what all of them have.
func (d *decoder) warpgroupMods() {
	if !d.has("sync") || !d.has("aligned") {
		d.fail("%s lacks .sync.aligned", d.in.Opcode())
	}
}

// wgmmaTypes decodes the types, and returns the elements along k.
func (d *decoder) wgmmaTypes(op *wgmmaOp) int {
	ts := d.in.Types()
	if len(ts) != 3 {
		d.unmodelled()
	}
	op.sat = d.has("satfinite")
	switch {
	case ts[0] == ptx.S32 && ts[1] == ts[2] && (ts[1] == ptx.S8 || ts[1] == ptx.U8):
		op.integer, op.signed, op.size = true, ts[1] == ptx.S8, 1
		return 32
	case ts[1] == ptx.B1:
		d.fail("%s: products of single bits are not modelled", d.in.Opcode())
	}
	form, ok := wgmmaForms[[3]ptx.Type(ts)]
	if !ok || op.sat {
		d.fail("%s: no wgmma has these types", d.in.Opcode())
	}
	op.form, op.size = form, 32/form.K()
	return form.K()
}

func (d *decoder) wgmmaShape(op *wgmmaOp, k int) {
	i := slices.IndexFunc(d.in.Mods, func(m string) bool { return len(m) > 1 && m[0] == 'm' && m[1] == '6' })
	if i < 0 {
		d.fail("%s: the shape is missing", d.in.Opcode())
	}
	n := 0
	if _, err := fmt.Sscanf(d.in.Mods[i], "m64n%d", &n); err != nil ||
		d.in.Mods[i] != fmt.Sprintf("m64n%dk%d", n, k) || n < 8 || n > 256 || n%8 != 0 ||
		op.integer && n > 32 && n%16 != 0 || op.integer && n == 40 {
		d.fail("%s: no wgmma of these types has the shape %s", d.in.Opcode(), d.in.Mods[i])
	}
	op.n = n
}

// wgmmaOperands decodes d, a and b.
func (d *decoder) wgmmaOperands(op *wgmmaOp) {
	count := op.n / 2
	if op.form.D == fp.F16 && !op.integer {
		count = op.n / 4
	}
	v := d.arg(0)
	if v.Kind != ptx.OpVec || len(v.Elems) != count {
		d.fail("%s: %d registers of accumulators are expected", d.in.Opcode(), count)
	}
	for i := range v.Elems {
		s := d.dest(&v.Elems[i], bank32)
		if slices.Contains(op.d, s) {
			d.fail("%s: a register is named twice as an accumulator", d.in.Opcode())
		}
		op.d = append(op.d, s)
	}
	if a := d.arg(1); a.Kind == ptx.OpVec {
		if len(a.Elems) != len(op.a) {
			d.fail("%s: a fragment of %d registers is expected", d.in.Opcode(), len(op.a))
		}
		for i := range a.Elems {
			op.a[i] = d.source(&a.Elems[i], bank32, 32)
		}
		op.inRegs = true
	} else {
		op.aDesc = d.src64(1)
	}
	op.bDesc = d.src64(2)
}

// wgmmaImmediates decodes the operands behind scale-d: signs of A and B, and how they lie in shared memory.
func (d *decoder) wgmmaImmediates(op *wgmmaOp) {
	want := 6
	switch {
	case op.integer:
		want = 4
	case op.form.K() == 16 && op.inRegs:
		want = 7
	case op.form.K() == 16:
		want = 8
	}
	if len(d.in.Args) != want {
		d.fail("%s takes %d operands, not %d", d.in.Opcode(), want, len(d.in.Args))
	}
	if op.integer {
		return
	}
	signs := uint32(0)
	for i := 4; i < 6; i++ {
		switch v := int64(d.arg(i).Imm); v {
		case -1:
			signs++
		case 1:
		default:
			d.fail("%s: operand %d is %d, not 1 or -1", d.in.Opcode(), i+1, v)
		}
	}
	if signs == 1 {
		op.negate = map[int]uint32{1: 0x80808080, 2: 0x80008000, 4: 0x80000000}[op.size]
	}
	for i := 6; i < want; i++ {
		v := d.arg(i).Imm
		if v > 1 {
			d.fail("%s: operand %d is %d, not 0 or 1", d.in.Opcode(), i+1, int64(v))
		}
		if i == want-1 {
			op.transB = v == 1
		} else {
			op.transA = v == 1
		}
	}
}

// wgmmaSparse refuses the products of a sparse A.
func (d *decoder) wgmmaSparse() { d.fail("%s: a sparse A is not modelled", d.in.Opcode()) }

// wgmmaFence decodes wgmma.fence: what the warp's registers were used for comes before products that are
// issued later.
func (d *decoder) wgmmaFence() {
	d.p.async, d.p.wgmma = true, true
	d.warpgroupMods()
	d.aligned()
	d.out.class = target.ClassWgmmaFence
	d.out.run = func(w *warp, in *inst, _ uint32) {
		s := w.wgmma
		s.fenced, s.fence, s.before = true, in, s.issued
		s.epoch++
	}
}

// wgmmaCommit decodes wgmma.commit_group.
func (d *decoder) wgmmaCommit() {
	d.p.async, d.p.wgmma = true, true
	d.warpgroupMods()
	d.aligned()
	d.out.class = target.ClassWgmmaCommit
	d.out.run = func(w *warp, _ *inst, _ uint32) { w.wgmma.groups = append(w.wgmma.groups, w.wgmma.issued) }
}

// wgmmaWait decodes wgmma.wait_group N.
func (d *decoder) wgmmaWait() {
	d.p.async, d.p.wgmma = true, true
	d.warpgroupMods()
	d.aligned()
	if n := d.arg(0); n.Kind != ptx.OpInt || n.Imm > 7 {
		d.fail("%s takes 0 to 7", d.in.Opcode())
	}
	d.out.class, d.out.imm = target.ClassWgmmaWait, d.arg(0).Imm
	d.out.run = func(w *warp, in *inst, _ uint32) {
		w.blk.landSome()
		w.wgmma.wait(in, int(in.imm))
		w.blk.landProducts(w.id/wgmmaWarps, w.wgmma.waited)
	}
}

// wgmmaRegisters are the registers of a function that wgmma uses while it goes on, and those that are copies
// of them, or are copied to them: compilers put copies between products that the GPU's code does not have.
// They share their slots with no others.
func wgmmaRegisters(f *ptx.Func) map[int32]bool {
	var set map[int32]bool
	var regs []int32
	for _, in := range f.Body {
		if in.Kind() != isa.WgmmaMultiply {
			continue
		}
		if set == nil {
			set = map[int32]bool{}
		}
		regs = in.Args[0].Registers(regs[:0])
		if in.Args[1].Kind == ptx.OpVec {
			regs = in.Args[1].Registers(regs)
		}
		for _, r := range regs {
			set[r] = true
		}
	}
	for again := set != nil; again; {
		again = false
		for _, in := range f.Body {
			if d, s, ok := copied(in); ok && set[d] != set[s] {
				set[d], set[s], again = true, true, true
			}
		}
	}
	return set
}

// copied reports whether an instruction is a copy of a register to another.
func copied(in *ptx.Instr) (to, from int32, ok bool) {
	if in.Kind() != isa.Move || in.Guard != nil || len(in.Args) != 2 {
		return 0, 0, false
	}
	d, s := &in.Args[0], &in.Args[1]
	if d.Kind != ptx.OpReg || s.Kind != ptx.OpReg || d.Comp >= 0 || s.Comp >= 0 || in.Type().Bits() != 32 {
		return 0, 0, false
	}
	return d.Reg, s.Reg, true
}
