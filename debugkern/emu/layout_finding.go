package emu

import (
	"fmt"
	"slices"

	"tilescope/debugkern/target"
)

// mismatch is where the layout that 16 bytes of an operand were written in does not fit the one that they are
// read in: what they should be, seen from the bytes before, and what they are.
type mismatch struct {
	i, j       int // of the operand, as tile.unit has them
	want, have unit
	across     bool // between groups of 8 lines, which the stride or leading offset gives the distance of
	panels     bool // between boxes
}

// operandLayout compares the layout that an operand of a wgmma is read in with the one that it was written
// in, and notes what is read.
func (b *block) operandLayout(in *inst, w *warp, t *tile, name string, rows int, chain sliceRead) {
	l := b.async.layout
	if l == nil || l.boxes == nil || t.size == 0 {
		return
	}
	if bad := l.compare(t, rows); bad != nil {
		b.layoutFinding(in, w, t, name, bad)
		return
	}
	u, ok := l.at(t.unit(0, 0))
	if !ok || t.start >= uint64(len(b.shared)) {
		return
	}
	x := &l.boxes[u.box]
	g := &l.groups[x.group]
	g.used = true
	t.each(rows, func(_, _ int, at uint64) {
		if v, ok := l.at(at); ok {
			y := &l.boxes[v.box]
			y.read[y.index(v)] = true
		}
	})
	chain.operand, chain.line, chain.chunk = name, u.line, u.chunk
	if slices.Contains(x.slices, chain) {
		if g.again == nil {
			g.again = &againRead{
				in: in, warp: w.id, operand: name, addr: t.start, products: 1, chain: chain,
				major: t.major, lines: int(2 * descriptorUnit / t.size),
			}
		}
		if g.again.chain == chain {
			g.again.products++
		}
		return
	}
	x.slices = append(x.slices, chain)
}

// nextSlice says where the next slice along k of a tile lies: 32 bytes of its lines, or as many lines as a
// product takes.
func (l *layouts) nextSlice(g *boxGroup) string {
	a, x := g.again, &l.boxes[g.boxes[0]]
	const slice = 2 * descriptorUnit
	switch {
	case a.major:
		return fmt.Sprintf("%d bytes, which is %d lines of %d", a.lines*x.pitch, a.lines, x.pitch)
	case x.bytes >= 2*slice:
		return fmt.Sprintf("%d bytes within a line of %d", slice, x.pitch)
	}
	return fmt.Sprintf("the distance of %d boxes, whose lines have %d bytes", max(slice/x.bytes, 1), x.bytes)
}

// compare returns the first place where an operand does not fit what was written; nil where it does, or where
// that is not known.
func (l *layouts) compare(t *tile, rows int) (bad *mismatch) {
	lineOf, chunkOf := func(i, j int) int { return i }, func(i, j int) int { return j }
	if t.major {
		lineOf, chunkOf = chunkOf, lineOf
	}
	step := func(i, j, fromI, fromJ int) {
		if bad != nil {
			return
		}
		from, known := l.at(t.unit(uint64(fromI), uint64(fromJ)))
		have, ok := l.at(t.unit(uint64(i), uint64(j)))
		if !known || !ok {
			return
		}
		lines, chunks := lineOf(i, j)-lineOf(fromI, fromJ), chunkOf(i, j)-chunkOf(fromI, fromJ)
		m := mismatch{i: i, j: j, want: from, have: have, across: lines == 8}
		m.want.line, m.want.chunk = from.line+lines, from.chunk+chunks
		switch {
		case from.box != have.box: // side by side, boxes of one tile have the same lines
			x, y := &l.boxes[from.box], &l.boxes[have.box]
			m.panels = true
			if chunks == 0 || x.group != y.group || x.lines != y.lines || from.line == have.line {
				return
			}
			m.want.box, m.want.line, m.want.chunk = have.box, from.line, have.chunk
		case m.want == have:
			return
		case m.across && have.chunk == from.chunk && (have.line-from.line)%8 == 0:
			return // groups of 8 lines in another order, or the same ones again
		}
		bad = &m
	}
	t.each(rows, func(i, j int, _ uint64) {
		switch line, chunk := lineOf(i, j), chunkOf(i, j); {
		case chunk > 0 && !t.major:
			step(i, j, i, j-1)
		case chunk > 0:
			step(i, j, i-1, j)
		case line%8 > 0 && !t.major:
			step(i, j, i-1, j)
		case line%8 > 0:
			step(i, j, i, j-1)
		case line > 0 && !t.major:
			step(i, j, i-8, j)
		case line > 0:
			step(i, j, i, j-8)
		}
	})
	return bad
}

// swizzleName is how a descriptor's swizzle is called in maps.
func (t *tile) swizzleName() string {
	if t.span == coreBytes {
		return "none"
	}
	return fmt.Sprintf("%dB", t.span)
}

// layoutFinding reports an operand of a wgmma that is read in another layout than it was written in.
func (b *block) layoutFinding(in *inst, w *warp, t *tile, name string, bad *mismatch) {
	l := b.async.layout
	x := &l.boxes[bad.have.box]
	v := b.variableAt(target.SpaceShared, x.lo)
	msg := fmt.Sprintf(
		"%s reads operand %s in another layout than %s was written in: the copy by map %s at %s wrote lines of %d bytes, swizzle %s, and the descriptor (%s) takes chunk %d of line %d of the box for chunk %d of line %d",
		in.src.Opcode(), name, v, x.name, x.in.where(), x.pitch, x.swizzle, t, bad.have.chunk, bad.have.line,
		bad.want.chunk, bad.want.line)
	b.layoutReport(w, in, x.in, v, x.lo, msg, t.remedy(x, bad))
}

// remedy says what to change, with a place for the line of the reader.
func (t *tile) remedy(x *boxLayout, bad *mismatch) string {
	offset, had := "stride", t.stride
	if t.major && t.span == coreBytes {
		offset, had = "leading", t.leading
	}
	switch {
	case t.swizzleName() != x.swizzle.String():
		return fmt.Sprintf("swizzle %s in the matrix descriptor at %%s, or swizzle %s in tensor map %s", x.swizzle,
			t.swizzleName(), x.name)
	case bad.panels && t.major && t.span == coreBytes:
		return fmt.Sprintf("a stride offset that is the distance of boxes of %d bytes, in place of %d, in the matrix descriptor at %%s",
			x.hi-x.lo, t.stride)
	case bad.panels:
		return fmt.Sprintf("a leading offset that is the distance of boxes of %d bytes, in place of %d, in the matrix descriptor at %%s",
			x.hi-x.lo, t.leading)
	case bad.across:
		return fmt.Sprintf("a %s offset of %d bytes in place of %d in the matrix descriptor at %%s", offset,
			8*x.pitch, had)
	case t.span == coreBytes:
		return fmt.Sprintf("lines of 16 bytes, or a swizzle, in tensor map %s: a descriptor without swizzle, as at %%s, reads 8 lines of 16 bytes each",
			x.name)
	}
	return fmt.Sprintf("a start address in the matrix descriptor at %%s within the first %d bytes of a line, and lines of %d bytes in tensor map %s",
		t.span-32, t.span, x.name)
}

// layoutReport adds a finding of two places: the reader, and the copy that wrote.
func (b *block) layoutReport(w *warp, in, wrote *inst, v variable, addr uint64, msg, missing string) {
	b.reportMissing(w, in, 0, target.Layout, v, place{space: target.SpaceShared, addr: addr}, msg, missing)
	f := b.found.byKey[findingKey{kind: target.Layout, source: *w.called(in), name: v.name}]
	if f != nil && f.Other == nil {
		f.Other = wrote.source()
	}
}

// neverRead reports the tiles that bytes from lo up to hi belong to, and of which products of one sum have
// read one slice along k again and again, and others never: the descriptor does not advance.
func (b *block) neverRead(lo, hi uint64) {
	l := b.async.layout
	for i := range l.groups {
		g := &l.groups[i]
		overlaps := func(n int) bool { return l.boxes[n].lo < hi && l.boxes[n].hi > lo }
		if !slices.ContainsFunc(g.boxes, overlaps) {
			continue
		}
		b.unadvanced(g)
		*g = boxGroup{}
	}
}

// unadvanced is neverRead for one tile.
func (b *block) unadvanced(g *boxGroup) {
	l, a := b.async.layout, g.again
	if a == nil {
		return
	}
	read, all := 0, 0
	for _, n := range g.boxes {
		for _, r := range l.boxes[n].read {
			if all++; r {
				read++
			}
		}
	}
	if read == all {
		return
	}
	x := &l.boxes[g.boxes[0]]
	v := b.variableAt(target.SpaceShared, x.lo)
	msg := fmt.Sprintf(
		"%s: %d products of one sum read the same slice of operand %s, at shared address %#x, of the tile %s that the copy by map %s at %s wrote; %d of the tile's %d bytes are read by no product",
		a.in.src.Opcode(), a.products, a.operand, a.addr, v, x.name, x.in.where(), (all-read)*descriptorUnit,
		all*descriptorUnit)
	b.layoutReport(b.warps[a.warp], a.in, x.in, v, x.lo, msg, fmt.Sprintf(
		"a start address that advances from product to product by %s, in the descriptor of operand %s at %%s",
		l.nextSlice(g), a.operand))
}

// endLayouts looks at the tiles that are left when the block ends.
func (b *block) endLayouts() {
	if l := b.async.layout; l != nil && l.boxes != nil {
		b.neverRead(0, ^uint64(0))
	}
}

// storeLayout compares the layout that a tensor store reads a box in with the one that it was written in.
func (b *block) storeLayout(w *warp, in *inst, t *tensorBox) {
	l := b.async.layout
	if l == nil || l.boxes == nil {
		return
	}
	type shift struct{ lines, chunks int }
	shifts := map[int]shift{}
	for i := range t.m.Rows() {
		bad := false
		var have, want unit
		t.chunks(i, 0, t.m.RowBytes(), func(addr uint64, from, to int) {
			for k := from; k < to && !bad; k += descriptorUnit {
				u, ok := l.at(addr + uint64(k-from))
				if !ok {
					continue
				}
				s := shift{u.line - i, u.chunk - k/descriptorUnit}
				first, seen := shifts[u.box]
				if !seen {
					shifts[u.box] = s
				} else if s != first {
					bad, have = true, u
					want = unit{u.box, i + first.lines, k/descriptorUnit + first.chunks}
				}
			}
		})
		if !bad {
			continue
		}
		x := &l.boxes[have.box]
		v := b.variableAt(target.SpaceShared, x.lo)
		b.layoutReport(w, in, x.in, v, x.lo, fmt.Sprintf(
			"%s by %s reads %s in another layout than it was written in: the copy by map %s at %s wrote lines of %d bytes, swizzle %s, and this one reads lines of %d bytes, swizzle %s: chunk %d of line %d is taken for chunk %d of line %d",
			in.src.Opcode(), t.m.which(), v, x.name, x.in.where(), x.pitch, x.swizzle, t.m.Pitch(),
			t.m.Swizzle, have.chunk, have.line, want.chunk, want.line),
			fmt.Sprintf("swizzle %s and lines of %d bytes in the map of the copy at %%s, or swizzle %s in tensor map %s",
				x.swizzle, x.bytes, t.m.Swizzle, x.name))
		return
	}
}
