package emu

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/target"
)

// A wgmma is issued by the four warps of a warpgroup, which meet at it. It reads shared memory and
// accumulators, and writes the accumulators, when it lands: at the latest when one of the warps waits for it,
// and in the order in which the warpgroup issued them. A wait of one warp is for the whole product, of all
// four warps.

// product is a wgmma under way.
type product struct {
	in        *inst
	warpgroup int
	seq       uint64 // products of the warpgroup are numbered as they are issued, from 1
	a, b      tile
	fresh     bool // what the accumulators hold is not added
	wrong     bool // its descriptors are, so that it has no result
}

// wgmmaWarp is a warp's state of products.
type wgmmaWarp struct {
	issued uint64   // number of the last product issued
	last   *inst    // that product
	waited uint64   // number of the last one that is known to be complete
	groups []uint64 // committed and not waited for: the last product of each
	// past is the last wgmma.wait_group that came to products in no group, which it does not wait for, and
	// pastSeq the number of the last of them
	past    *inst
	pastSeq uint64
	epoch   uint64 // wgmma.fence executed, plus one
	fenced  bool
	fence   *inst // the last wgmma.fence, and the number of the last product issued before it
	before  uint64
	regs    []wgmmaRegister // by slot
}

func (s *wgmmaWarp) clone() *wgmmaWarp {
	if s == nil {
		return nil
	}
	t := *s
	t.groups, t.regs = slices.Clone(s.groups), slices.Clone(s.regs)
	return &t
}

// committed is the number of the last product that is in a group.
func (s *wgmmaWarp) committed() uint64 {
	if n := len(s.groups); n > 0 {
		return s.groups[n-1]
	}
	return s.waited
}

// passed is the wait that came to a product and did not wait for it, because it is in no group; nil: none.
func (s *wgmmaWarp) passed(product uint64) *inst {
	if s.past == nil || product > s.pastSeq || product <= s.committed() {
		return nil
	}
	return s.past
}

// wait notes that all groups but the last pending ones are complete.
func (s *wgmmaWarp) wait(in *inst, pending int) {
	if s.issued > s.committed() {
		s.past, s.pastSeq = in, s.issued
	}
	if n := len(s.groups) - pending; n > 0 {
		s.waited = max(s.waited, s.groups[n-1])
		s.groups = slices.Clone(s.groups[n:])
	}
}

// warpgroup brings the lanes of a warp to a wgmma, and issues it once the four warps are there.
func (w *warp) warpgroup(in *inst, m uint32) (stop bool) {
	if !w.whole(in, m) {
		return false
	}
	b := w.blk
	g := &w.groups[w.cur]
	members := b.warpgroupOf(w)
	if len(members) < wgmmaWarps {
		b.shortWarpgroup(w, in, len(members))
		b.broken = true
		return true
	}
	w.issueRegisters(in)
	g.wait = waitWarpgroup
	for _, o := range members {
		if len(o.groups) != 1 || o.groups[0].wait != waitWarpgroup || o.groups[0].pc != g.pc {
			return false
		}
	}
	for _, o := range members {
		o.groups[0].wait = waitNone
		o.groups[0].pc++
	}
	b.released = true
	b.issueProduct(in, members)
	return b.broken || b.err != nil || b.halted || b.sched.eager
}

// warpgroupOf is the warps of a warp's warpgroup: the last one of a block may have fewer than four.
func (b *block) warpgroupOf(w *warp) []*warp {
	first := w.id / wgmmaWarps * wgmmaWarps
	return b.warps[first:min(first+wgmmaWarps, len(b.warps))]
}

// shortWarpgroup reports an instruction of four warps in a warpgroup that has fewer.
func (b *block) shortWarpgroup(w *warp, in *inst, warps int) {
	b.wgmmaFinding(w, in, nil, fmt.Sprintf("%s is of four warps, and the last warpgroup of the block has %d",
		in.src.Opcode(), warps), "")
}

// whole reports whether all threads of the warp have come to an instruction of its warpgroup. Those that have
// wait for the others, or go on where none of them executes it.
func (w *warp) whole(in *inst, m uint32) bool {
	g := &w.groups[w.cur]
	switch {
	case m == 0:
		g.pc++
		return false
	case w.alive&^g.mask != 0:
		g.wait, g.need = waitLanes, w.alive
		w.blk.clock-- // counted when it executes
		return false
	case m != g.mask || w.exists != allLanes || w.alive != w.exists:
		w.blk.wgmmaFinding(w, in, nil, fmt.Sprintf("%s is executed by %d of the 32 threads of a warp",
			in.src.Opcode(), bits.OnesCount32(m)), "")
	}
	return true
}

// issueProduct puts the product of a warpgroup under way.
func (b *block) issueProduct(in *inst, members []*warp) {
	op, w := in.wgmma, members[0]
	p := product{
		in: in, warpgroup: w.id / wgmmaWarps, seq: w.wgmma.issued, fresh: w.predicate(in)&1 == 0,
	}
	p.b = b.operandTile(in, members, op.bDesc, "B", op.n, op.transB, &p.wrong)
	if !op.inRegs {
		p.a = b.operandTile(in, members, op.aDesc, "A", 64, op.transA, &p.wrong)
	}
	for _, o := range members {
		if fresh := o.predicate(in) ^ boolMask(!p.fresh); fresh&o.alive != 0 {
			b.wgmmaFinding(o, in, nil, fmt.Sprintf("%s: scale-d is not the same for all threads of the warpgroup",
				in.src.Opcode()), "")
			break
		}
	}
	b.productLayouts(&p, w)
	a := b.async
	a.products = append(a.products, p)
	if b.onAsync != nil {
		b.happened(target.AsyncEvent{Kind: target.AsyncIssued, Operation: b.describeProduct(&p)})
	}
	b.count(target.SpaceShared)
	if a.early {
		b.landProducts(p.warpgroup, p.seq)
	}
}

// productLayouts compares the layouts of a product's operands with those that they were written in.
func (b *block) productLayouts(p *product, w *warp) {
	l, op := b.async.layout, p.in.wgmma
	if l == nil {
		return
	}
	key := chainKey{p.warpgroup, op.d[0]}
	if p.fresh {
		l.chains[key]++
	}
	chain := sliceRead{chain: key, begun: l.chains[key]}
	if !op.inRegs {
		b.operandLayout(p.in, w, &p.a, "A", 64, chain)
	}
	b.operandLayout(p.in, w, &p.b, "B", op.n, chain)
}

// operandTile decodes the descriptor of an operand, which all threads of the warpgroup give alike.
func (b *block) operandTile(
	in *inst, members []*warp, slot int32, name string, rows int, major bool, wrong *bool,
) tile {
	bits := members[0].lane64(slot, 0)
	for _, w := range members {
		for lane := range 32 {
			if w.alive>>lane&1 == 0 {
				continue
			}
			if v := w.lane64(slot, lane); v != bits {
				b.wgmmaFinding(w, in, nil, fmt.Sprintf("%s: the matrix descriptor of %s is not the same for "+
					"all threads of the warpgroup: %#x and %#x", in.src.Opcode(), name, bits, v), "")
				*wrong = true
				return tile{}
			}
		}
	}
	t := newTile(bits, in.wgmma.size, major)
	if why := t.fault(bits, rows, len(b.shared)); why != "" {
		b.wgmmaFinding(members[0], in, nil, fmt.Sprintf("%s, operand %s: %s", in.src.Opcode(), name, why), "")
		*wrong = true
	}
	return t
}

// landProducts lets the products of a warpgroup land, up to a number.
func (b *block) landProducts(warpgroup int, seq uint64) {
	a := b.async
	for i := 0; i < len(a.products); {
		p := a.products[i]
		if p.warpgroup != warpgroup || p.seq > seq {
			i++
			continue
		}
		a.products = slices.Delete(a.products, i, i+1)
		b.landProduct(&p)
	}
}

// landSomeProduct lets the first product of a warpgroup land.
func (b *block) landSomeProduct(i int) {
	p := b.async.products[i]
	first := slices.IndexFunc(b.async.products, func(o product) bool { return o.warpgroup == p.warpgroup })
	b.landProducts(p.warpgroup, b.async.products[first].seq)
}

// wgmmaBuffers are the operands of the product that lands.
type wgmmaBuffers struct {
	rows [256][32]byte
	a    [wgmmaWarps][4][32]uint32
	b    [32][2][32]uint32
	x    fp.AsyncWarp
}

// landProduct computes a product.
func (b *block) landProduct(p *product) {
	op := p.in.wgmma
	b.wrote++
	b.counts.MMAOutputs += 64 * uint64(op.n)
	if b.onAsync != nil {
		b.happened(target.AsyncEvent{Kind: target.AsyncLanded, Operation: b.describeProduct(p)})
	}
	if p.wrong {
		return
	}
	buf := b.async.buffers
	if buf == nil {
		buf = &wgmmaBuffers{}
		b.async.buffers = buf
	}
	b.unwrittenTile(p, &p.b, op.n)
	p.b.read(buf.rows[:op.n], b.shared)
	for i := range op.n / 8 {
		for lane := range 32 {
			row := &buf.rows[8*i+lane>>2]
			buf.b[i][0][lane], buf.b[i][1][lane] = le.Uint32(row[lane&3*4:]), le.Uint32(row[16+lane&3*4:])
		}
	}
	if !op.inRegs {
		b.unwrittenTile(p, &p.a, 64)
		p.a.read(buf.rows[:64], b.shared)
	}
	b.productLands(p)
	members := b.warps[p.warpgroup*wgmmaWarps:][:wgmmaWarps]
	for i, w := range members {
		b.multiplyPart(p, w, i, buf)
	}
	if !b.follows.Has(target.ClassWgmmaLand) {
		return
	}
	for _, w := range members {
		var e target.Event
		w.describe(&e, p.in, w.pcOf(p.in), allLanes)
		e.Class = target.ClassWgmmaLand
		b.followed(&e)
	}
}

// productLands reports that a product is about to read registers and write its accumulators.
func (b *block) productLands(p *product) {
	if !b.observedClasses.Has(target.ClassWgmmaLand) {
		return
	}
	x := &target.Product{Fresh: p.fresh}
	right := p.b
	x.B = right.element
	if !p.in.wgmma.inRegs {
		left := p.a
		x.A = left.element
	}
	for _, w := range b.warps[p.warpgroup*wgmmaWarps:][:wgmmaWarps] {
		var e target.Event
		w.describe(&e, p.in, w.pcOf(p.in), allLanes)
		e.Class, e.Product = target.ClassWgmmaLand, x
		b.deliver(&e)
	}
}

// multiplyPart computes the 16 rows of a product that warp i of its warpgroup has.
func (b *block) multiplyPart(p *product, w *warp, i int, buf *wgmmaBuffers) {
	op, x := p.in.wgmma, &buf.x
	a := &buf.a[i]
	for r := range a {
		if op.inRegs {
			a[r] = *w.full32(op.a[r])
		} else {
			for lane := range 32 {
				row := &buf.rows[16*i+lane>>2+r&1*8]
				a[r][lane] = le.Uint32(row[r>>1*16+lane&3*4:])
			}
		}
		for lane := range 32 {
			a[r][lane] ^= op.negate
		}
		x.A[r] = &a[r]
	}
	x.B, x.D, x.Fresh = buf.b[:op.n/8], x.D[:0], p.fresh
	for _, s := range op.d {
		x.D = append(x.D, w.full32(s))
		w.u32[s] = stFilled
	}
	if op.integer {
		fp.MultiplyAsyncInt(x, op.signed, op.sat)
	} else {
		b.p.model.MultiplyAsync(op.form, x)
	}
}

// unwrittenTile reports bytes of an operand that nobody has written.
func (b *block) unwrittenTile(p *product, t *tile, rows int) {
	done := false
	t.each(rows, func(_, _ int, at uint64) {
		if written := b.swrit[at : at+coreBytes]; !done && !allWritten(written) {
			done = true
			for written[0] != 0 {
				written, at = written[1:], at+1
			}
			w := b.warps[p.warpgroup*wgmmaWarps]
			v := b.variableAt(target.SpaceShared, at)
			name := v.String()
			if v.name == "" {
				name = fmt.Sprintf("shared address %#x", at)
			}
			b.report(w, p.in, 0, target.Uninitialised, v, place{space: target.SpaceShared, addr: at},
				fmt.Sprintf("%s is read before it is written", name), "")
		}
	})
}

// drainProducts ends the products that are under way when the last thread has exited, and reports those that
// no warp has waited for.
func (b *block) drainProducts() {
	for a := b.async; len(a.products) > 0; {
		b.landProducts(a.products[0].warpgroup, a.products[0].seq)
	}
	for _, w := range b.warps {
		if s := w.wgmma; s != nil && s.issued > s.waited {
			says := fmt.Sprintf("the block ends while %s may still read shared memory: ", s.last.src.Opcode())
			if past := s.passed(s.issued); past != nil {
				b.wgmmaFinding(w, s.last, past, says+uncommitted(past), uncommittedLacks)
			} else {
				b.wgmmaFinding(w, s.last, nil, says+"no wgmma.wait_group covers it",
					"wgmma.commit_group and wgmma.wait_group 0 between %s and the end of the kernel")
			}
			s.waited = s.issued
		}
	}
}

// uncommitted says why a wait does not cover a product, and uncommittedLacks what is missing, of the places
// of the wait and of the product.
func uncommitted(wait *inst) string {
	return fmt.Sprintf("%s at %s does not wait for it, as it is in no group: no wgmma.commit_group stands between",
		wait.src.Opcode(), wait.where())
}

const uncommittedLacks = "wgmma.commit_group between %[2]s and %[1]s"

// wgmmaFinding reports a wgmma that is used in a way that has no defined result. other is the instruction
// that it conflicts with, and missing what would order the two, with a place for the line of the first and,
// where there are two, the second. It returns the finding of that place, which may be an earlier one; nil
// where none is kept.
func (b *block) wgmmaFinding(w *warp, in, other *inst, msg, missing string) *target.Finding {
	b.report(w, in, 0, target.Wgmma, variable{}, place{}, msg, "")
	f := b.found.byKey[findingKey{kind: target.Wgmma, source: *w.called(in)}]
	if f == nil || f.Other != nil || f.Missing != "" {
		return f
	}
	if other != nil {
		f.Other = other.source()
	}
	if missing != "" {
		args := []any{f.Source}
		if other != nil {
			args = []any{f.Other, f.Source}
		}
		f.Missing = fmt.Sprintf(missing, args...)
	}
	return f
}

// lacking says which warps of a warpgroup do not come to the wgmma that others wait at; "" where none do.
func (b *block) lacking() string {
	for first := 0; first+wgmmaWarps <= len(b.warps); first += wgmmaWarps {
		var at *inst
		var here, gone []int
		var elsewhere []string
		for _, w := range b.warps[first : first+wgmmaWarps] {
			switch {
			case w.alive == 0:
				gone = append(gone, w.id)
			case len(w.groups) > 0 && w.groups[0].wait == waitWarpgroup &&
				(at == nil || at == &b.p.code[w.groups[0].pc]):
				at, here = &b.p.code[w.groups[0].pc], append(here, w.id)
			default:
				in := &b.p.code[w.groups[0].pc]
				elsewhere = append(elsewhere, fmt.Sprintf("%s stands at %s (%s)", warpList([]int{w.id}),
					in.where(), in.src.Opcode()))
			}
		}
		if at == nil {
			continue
		}
		if len(gone) > 0 {
			elsewhere = append(elsewhere, warpList(gone)+" exited")
		}
		return fmt.Sprintf("; %s at %s needs all four warps of warpgroup %d, and has %s: %s", at.src.Opcode(),
			at.where(), first/wgmmaWarps, warpList(here), strings.Join(elsewhere, ", "))
	}
	return ""
}

// wgmmaRanges is the shared memory that a wgmma reads for one warp: its 16 rows of A, and B.
func (w *warp) wgmmaRanges(in *inst) (out []target.Range) {
	op := in.wgmma
	add := func(slot int32, from, rows int, major bool) {
		bits := w.lane64(slot, 0)
		t := newTile(bits, op.size, major)
		if t.fault(bits, from+rows, len(w.blk.shared)) != "" {
			return
		}
		per := 1
		if major {
			per = coreBytes / op.size
		}
		t.each(from+rows, func(i, _ int, at uint64) {
			if n := len(out); i*per < from {
				return
			} else if n > 0 && out[n-1].Hi == at {
				out[n-1].Hi += coreBytes
				return
			}
			out = append(out, target.Range{Lo: at, Hi: at + coreBytes})
		})
	}
	if !op.inRegs {
		add(op.aDesc, w.id%wgmmaWarps*16, 16, op.transA)
	}
	add(op.bDesc, 0, op.n, op.transB)
	return out
}
