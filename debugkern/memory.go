package debugkern

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"

	"tilescope/debugkern/build"
	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/probes"
)

// What a run of a kernel without stages has to show: its arguments, before and after the launch, each a tile
// of the launch. Of a kernel with stages, outputs that are compared and that no stage is cut out of.

// memory is the bytes of an argument of the plan's Memory before or after the launch, as they lie there; nil
// where nothing was written to it before.
func (st *runState) memory(sp *probes.StagePlan) []byte {
	if !sp.Capture.Before {
		return st.result.Outputs[sp.Capture.Output]
	}
	for _, a := range st.launch.Args {
		if a.Name == sp.Capture.Output && a.Buffer != nil {
			return a.Buffer.Init
		}
	}
	return nil
}

// elements is the elements of an argument's tile, or as many marks of their bytes, out of
// the argument's memory.
func elements(sp *probes.StagePlan, memory []byte) []byte {
	return probes.Arg{DType: sp.DType, Dims: sp.Capture.Dims, Strides: sp.Capture.Strides}.Gather(memory)
}

// nameShared gives the plan the shared arrays of a kernel without stages whose manifest names none.
func (e *execution) nameShared() error {
	f := e.st.build.Module.Func(e.r.plan.Entry)
	if f == nil || !e.r.plan.Stageless() || len(e.r.plan.Shared) > 0 {
		return nil
	}
	units := e.st.build.Outline.AllUnits()
	if units == nil && e.r.sel.Manifest.PTX == "" {
		s, err := build.Sources(e.ctx, e.r.sel)
		if err != nil {
			return err
		}
		units = append(units, hostcode.Read(e.r.sel.Manifest.SourcePath(), s.Text))
	}
	plan := *e.r.plan
	plan.Shared = scaffold.SharedArrays(e.st.build.Module, f, scaffold.SourceOf(units...), e.r.plan.DynShared)
	for i := range plan.Shared {
		a := &plan.Shared[i]
		if t := map[probes.DType]probes.DType{probes.U32: probes.F32,
			probes.U64: probes.F64}[a.DType]; t != 0 && units == nil && sharesFloats(f, t.Size()) {
			a.DType = t // to be shown as such
		}
	}
	e.r.plan = &plan
	return nil
}

// sharesFloats reports whether all that a kernel loads from and stores to shared memory in elements of
// some bytes are floats.
func sharesFloats(f *ptx.Func, size int) bool {
	any := false
	for _, in := range f.Body {
		if in.Op != "ld" && in.Op != "st" || in.Space() != ptx.SpaceShared || in.Type().Bytes() != size {
			continue
		}
		if !in.Type().Float() {
			return false
		}
		any = true
	}
	return any
}

// memoryTile is an argument as a tile. A list that does not fill its last row is followed by zeros:
// see TileView.Elems.
func (st *runState) memoryTile(sp *probes.StagePlan) probes.Tile {
	t := probes.Tile{DType: sp.DType, Rows: sp.Rows, Cols: sp.Cols}
	data := elements(sp, st.memory(sp))
	if data == nil {
		return t
	}
	size := sp.Rows * sp.Cols * sp.DType.Size()
	if len(data) < size {
		data = append(bytes.Clone(data), make([]byte, size-len(data))...)
	}
	t.Data = data[:size]
	written := st.result.Written[sp.Capture.Output]
	if sp.Capture.Before {
		written = st.writtenBefore(sp.Capture.Output)
	}
	if written != nil {
		t.Absent = unwritten(elements(sp, written), sp)
	}
	return t
}

// writtenBefore says which bytes of an argument were written before the launch; nil: all.
func (st *runState) writtenBefore(name string) []byte {
	for i := range st.launch.Args {
		if a := &st.launch.Args[i]; a.Name == name && a.Buffer != nil {
			return a.Buffer.Written
		}
	}
	return nil
}

// unwritten marks the elements of which the launch left a byte that nobody has written; nil: none.
func unwritten(written []byte, sp *probes.StagePlan) []bool {
	var out []bool
	size := sp.DType.Size()
	for i := range probes.Elems(sp.Capture.Dims) {
		if bytes.IndexByte(written[i*size:(i+1)*size], 0) < 0 {
			continue
		}
		if out == nil {
			out = make([]bool, sp.Rows*sp.Cols)
		}
		out[i] = true
	}
	return out
}

// memoryView is an argument's tile, next to what it is compared with.
func (r *Run) memoryView(p Place, sp *probes.StagePlan) *TileView {
	other, _ := r.OtherTile(p)
	v := &TileView{
		Place: p, Plan: sp, Got: r.state.memoryTile(sp), ValidRows: sp.Rows, ValidCols: sp.Cols,
		Elems:   probes.Elems(sp.Capture.Dims),
		Verdict: r.Tile(p), Other: other,
	}
	if !sp.Capture.Before {
		v.Previous = r.state.previous(sp)
	}
	if d := r.state.judged.Whole(sp.Stage); d != nil {
		v.Local, v.Global, v.Mirrored, v.LocalBound, v.GlobalBound = d.Local, d.Global, d.Mirrored,
			d.LocalBound, d.GlobalBound
	}
	return v
}

// previous is the tile of an argument before the launch; no rows where nothing was written to it before.
func (st *runState) previous(sp *probes.StagePlan) probes.Tile {
	for i := range st.r.plan.Memory {
		if b := &st.r.plan.Memory[i]; b.Capture.Before && b.Capture.Output == sp.Capture.Output {
			return st.memoryTile(b)
		}
	}
	return probes.Tile{}
}

// outputs lists the pointer arguments of a kernel without stages as the launch left them; of one with stages
// those that are compared.
func (e *execution) outputs() []report.CheckOutput {
	var out []report.CheckOutput
	for i := range e.r.plan.Memory {
		sp := &e.r.plan.Memory[i]
		if sp.Capture.Before {
			continue
		}
		data := e.st.memory(sp)
		sum := sha256.Sum256(data)
		o := report.CheckOutput{
			Name: sp.Capture.Output, DType: sp.DType.String(), Dims: sp.Capture.Dims,
			Digest: hex.EncodeToString(sum[:]),
		}
		if s := sp.Capture.Strides; s != nil {
			o.Dims = []int{probes.MemoryElems(o.Dims, s)}
		}
		o.Recorded, _ = e.recorded(sp, data)
		if e.covered != nil {
			n := e.covered[o.Name].Whole(sp.DType.Size())
			o.Written = &n
		}
		out = append(out, o)
	}
	return out
}

// memoryDigest is the digest of a kernel without stages: SHA-256 over the raw digests of its pointer
// arguments, as check's document has it. The error is ctx's.
func (st *runState) memoryDigest(ctx context.Context) (string, error) {
	all := sha256.New()
	for i := range st.r.plan.Memory {
		sp := &st.r.plan.Memory[i]
		if sp.Capture.Before {
			continue
		}
		h := sha256.New()
		data := st.memory(sp)
		for len(data) > 0 {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			n := min(len(data), digestChunk)
			h.Write(data[:n])
			data = data[n:]
		}
		all.Write(h.Sum(nil))
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}
