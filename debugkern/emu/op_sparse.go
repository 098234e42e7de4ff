package emu

import (
	"fmt"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Products of a sparse A. The tensor core multiplies the elements of A that are there with the elements of B
// that the metadata choose for them, and adds the products as it does those of a dense A of as many columns:
// what stands in B elsewhere is not looked at.

// sparseOp is the metadata side of such a product.
type sparseOp struct {
	*isa.Metadata
	word     int32 // slot of the metadata
	selector int
}

// multiplySparse decodes mma.sp d, a, b, c, metadata, selector.
func (d *decoder) multiplySparse() {
	m := d.out.mma
	if ts := d.in.Types(); len(ts) == 4 && ts[0] == ptx.F16 && ts[1].Bits() == 8 {
		d.unmodelled() // ptxas has it for no chip up to sm_100
	}
	d.multiplyAny()
	s := &sparseOp{Metadata: d.in.Form().Metadata(d.in.Mods)}
	if s.Metadata == nil {
		d.unmodelled()
	}
	s.word = d.src32(4, 32)
	if op := d.arg(5); op.Kind == ptx.OpInt && op.Imm < uint64(s.Selectors()) {
		s.selector = int(op.Imm)
	} else {
		d.fail("%s: the sparsity selector must be below %d", d.in.Opcode(), s.Selectors())
	}
	m.sparse, d.out.run = s, runMultiplySparse
}

func runMultiplySparse(w *warp, in *inst, mask uint32) {
	m := in.mma
	var a [tensorMaxA]uint64
	var b [tensorMaxB]uint64
	var c [tensorMaxC]uint64
	w.gatherMatrix(a[:], &m.a, mask)
	w.gatherMatrix(b[:], &m.b, mask)
	w.gatherMatrix(c[:], &m.c, mask)
	words := w.full32(m.sparse.word)
	model, depth, all, cols := w.blk.p.model, m.a.Cols, m.b.Cols, m.frag.Cols
	var from [128]int
	var chosen [128]uint64
	for row := range m.frag.Rows {
		m.sparse.columns(w, in, words, row, from[:depth&127])
		for col := range cols {
			for e, k := range from[:depth&127] {
				chosen[e&127] = b[col*all+k]
			}
			x := &c[row*cols+col]
			*x = m.dot(model, a[row*depth:][:depth], chosen[:depth&127], *x)
		}
	}
	w.blk.counts.MMAOutputs += uint64(m.frag.Rows * cols)
	w.scatterMatrix(&m.frag, c[:], mask)
}

// columns finds the column of each element of a row of A.
func (s *sparseOp) columns(w *warp, in *inst, words *row32, row int, from []int) {
	each := len(from) / s.Chunks
	for chunk := range s.Chunks {
		lane, at := s.At(row, chunk, s.selector)
		positions := words[lane&31] >> at & 15
		if !s.Defined(positions) {
			w.blk.undefinedPositions(w, in, lane, row, chunk, positions)
		}
		for e := chunk * each; e < (chunk+1)*each; e++ {
			from[e] = s.Column(e, positions)
		}
	}
}

// undefinedPositions reports metadata that the ISA gives no meaning.
func (b *block) undefinedPositions(w *warp, in *inst, lane, row, chunk int, positions uint32) {
	if b.again(target.Layout, w, in, lane) {
		return
	}
	s := in.mma.sparse
	first := chunk * s.Chunk
	why := "two equal positions"
	switch {
	case s.Chunk == 2:
		why = "neither 0b0100 nor 0b1110"
	case s.Ordered && positions&3 != positions>>2:
		why = "positions in falling order"
	}
	b.report(w, in, lane, target.Layout, variable{}, place{}, fmt.Sprintf(
		"the metadata of %s for row %d, columns %d to %d of A are 0b%04b: %s, which the ISA leaves undefined",
		in.src.Opcode(), row, first, first+s.Chunk-1, positions, why), "")
}
