package debugkern

import (
	"context"
	"encoding/binary"
	"io"
	"math"

	"tilescope/debugkern/input"
	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// Dump writes the run as a NumPy archive, in the layout of CONTRACT.md: inputs, output, and for every
// captured stage its tiles and their exact reference, cells outside the valid range 0 in both.
func (r *Run) Dump(ctx context.Context, w io.Writer) error {
	z := npy.NewWriter(w)
	if r.Plan.Stageless() {
		return r.dumpMemory(z)
	}
	r.dumpInputs(z)
	for i := range r.Plan.Stages {
		sp := &r.Plan.Stages[i]
		if !r.state.r.stages.Has(sp.Stage) || !r.Plan.Gate.Judged.Has(sp.Stage) {
			continue
		}
		if err := r.dumpStage(ctx, z, sp); err != nil {
			return err
		}
	}
	out := z.Array("blocks", npy.I32, r.Range.N.Count(), 3)
	for _, b := range r.Blocks() {
		out.Write([]byte{
			byte(b[0]), byte(b[0] >> 8), byte(b[0] >> 16), byte(b[0] >> 24), byte(b[1]), byte(b[1] >> 8),
			byte(b[1] >> 16), byte(b[1] >> 24), byte(b[2]), byte(b[2] >> 8), byte(b[2] >> 16),
			byte(b[2] >> 24),
		})
	}
	for i := range r.Plan.Memory {
		r.dumpArgument(z, &r.Plan.Memory[i])
	}
	return z.Close()
}

// dumpMemory writes the arguments of a kernel without stages as check does: after the launch under their
// names, before it as in_NAME.
func (r *Run) dumpMemory(z *npy.Writer) error {
	for i := range r.Plan.Memory {
		r.dumpArgument(z, &r.Plan.Memory[i])
	}
	return z.Close()
}

// dumpArgument writes an argument, and what it is compared with as ref_NAME.
func (r *Run) dumpArgument(z *npy.Writer, sp *probes.StagePlan) {
	z.Array(sp.Stage.String(), input.RawArrayType(sp.DType), sp.Capture.Dims...).
		Write(elements(sp, r.state.memory(sp)))
	if m, ok := r.state.expected.Exact(sp.Stage, probes.Dim3{}, 0); ok {
		z.Array("ref_"+sp.Stage.String(), npy.F64, sp.Capture.Dims...).
			Write(f64Bytes(m.Data[:probes.Elems(sp.Capture.Dims)]))
	}
}

// dumpInputs writes each input as the kernel takes it, the scales of codes, and the numbers before
// encoding; and the output.
func (r *Run) dumpInputs(z *npy.Writer) {
	for _, t := range r.state.inputs.Tensors {
		z.Array(t.Name, input.RawArrayType(t.DType), t.Dims...).Write(t.Bytes())
		if t.Wide != nil {
			z.Array(t.Name+"x", npy.F64, t.Dims...).Write(t.Bytes())
		}
		if t.Coded {
			z.Array(t.Name+"s", npy.F32, len(t.Scales)).Write(input.Float32Bytes(t.Scales))
		}
		if t.X != nil {
			z.Array(t.Name+"x", npy.F32, t.Dims...).Write(input.Float32Bytes(t.X))
		}
	}
	first := r.Plan.Output()
	if first != nil && r.state.output != nil && r.Plan.Gate.Judged.Has(first.Stage) {
		z.Array(first.Stage.String(), input.RawArrayType(r.state.outputType()), r.Plan.OutputDims()...).
			Write(r.state.output)
	}
	written := probes.StageSet{}
	for i := range r.Plan.Stages {
		sp := &r.Plan.Stages[i]
		c := &sp.Capture
		name := probes.Stage(c.Output)
		out := r.state.outputs[c.Output]
		if c.Kind != probes.CaptureOutput || out == nil || !r.Plan.Gate.Judged.Has(sp.Stage) ||
			c.Output == first.Capture.Output || written.Has(name) {
			continue
		}
		written = append(written, name)
		z.Array(c.Output, input.RawArrayType(sp.DType), c.Dims...).Write(out)
	}
}

// dumpStage writes tile_X, captured_X and ref_X [blocks, kv_tiles, rows, cols].
func (r *Run) dumpStage(ctx context.Context, z *npy.Writer, sp *probes.StagePlan) error {
	tiles := 1
	if sp.PerTile {
		tiles = r.Range.TileN
	}
	blocks := r.Blocks()
	cells := sp.Rows * sp.Cols
	out := z.Array("tile_"+sp.Stage.String(), input.RawArrayType(sp.DType), len(blocks), tiles,
		sp.Rows, sp.Cols)
	for _, b := range blocks {
		for kv := range tiles {
			t := r.state.Tile(sp.Stage, b, r.kv(sp, kv))
			out.Write(clip(t, sp, b, r.kv(sp, kv)))
		}
	}
	out = z.Array("captured_"+sp.Stage.String(), npy.Bool, len(blocks), tiles, sp.Rows, sp.Cols)
	for _, b := range blocks {
		for kv := range tiles {
			out.Write(capturedBytes(r.state.Tile(sp.Stage, b, r.kv(sp, kv)), sp))
		}
	}
	out = z.Array("ref_"+sp.Stage.String(), npy.F64, len(blocks), tiles, sp.Rows, sp.Cols)
	row := make([]float64, cells)
	for _, b := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		for kv := range tiles {
			clear(row)
			if m, ok := r.state.exact(sp.Stage, b, r.kv(sp, kv)); ok {
				rows, cols := sp.ValidRows.At(b, r.kv(sp, kv)), sp.ValidCols.At(b, r.kv(sp, kv))
				for i := range rows {
					copy(row[i*sp.Cols:i*sp.Cols+cols], m.Row(i)[:cols])
				}
			}
			out.Write(f64Bytes(row))
		}
	}
	return z.Err()
}

// kv is the kv tile of the i-th slot of a stage.
func (r *Run) kv(sp *probes.StagePlan, i int) int {
	if !sp.PerTile {
		return 0
	}
	return r.Range.TileLo + i
}

// capturedBytes returns for each cell of a tile 1 where it was captured, else 0.
func capturedBytes(t probes.Tile, sp *probes.StagePlan) []byte {
	out := make([]byte, sp.Rows*sp.Cols)
	for i := range out {
		if t.Captured(i/sp.Cols, i%sp.Cols) {
			out[i] = 1
		}
	}
	return out
}

// clip returns a tile's bytes with the cells outside the valid range 0; a tile not reached is all 0.
func clip(t probes.Tile, sp *probes.StagePlan, b probes.Dim3, kv int) []byte {
	size := sp.DType.Size()
	out := make([]byte, sp.Rows*sp.Cols*size)
	if !t.Reached() {
		return out
	}
	cols := sp.ValidCols.At(b, kv)
	for i := range sp.ValidRows.At(b, kv) {
		at := i * sp.Cols * size
		copy(out[at:at+cols*size], t.Data[at:])
	}
	return out
}

// f64Bytes are numbers as an array has them.
func f64Bytes(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
