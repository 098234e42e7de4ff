package debugkern

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"tilescope/configs"
	"tilescope/debugkern/build"
	"tilescope/debugkern/target"
	"tilescope/kernels"
	"tilescope/probes"
)

// Blocks lists the captured blocks in launch order.
func (r *Run) Blocks() []probes.Dim3 { return slices.Clone(r.state.blocks()) }

// Tiles is the first captured kv tile of a block and how many follow.
func (r *Run) Tiles(block probes.Dim3) (lo, n int) {
	return r.Range.LoopTiles(r.Plan, block)
}

// Tile returns the verdict of one tile.
func (r *Run) Tile(p Place) TileVerdict {
	v := r.state.judged.Tile(p.Stage, p.Block, p.KVTile)
	return TileVerdict{
		Verdict: v.Verdict.String(), Bad: int(v.Bad), Tainted: int(v.Tainted), Cells: int(v.Cells),
		MaxAbs: v.MaxAbs, Nonfinite: int(v.Nonfinite),
		Absent: int(v.Absent),
	}
}

// Captured is the stages whose tiles the run took, under a gate those that it leaves on.
func (r *Run) Captured() probes.StageSet { return r.state.r.stages }

// View returns one tile with its references.
func (r *Run) View(p Place) (*TileView, error) {
	sp := r.Plan.Stage(p.Stage)
	if sp == nil {
		return nil, fmt.Errorf("kernel %s has no stage %s", r.Plan.Kernel, p.Stage)
	}
	if sp.OfLaunch() {
		return r.memoryView(p, sp), nil
	}
	if r.Plan.Gate.Injected.Has(p.Stage) {
		return r.injectedView(p, sp), nil
	}
	d, err := r.state.judged.Compare(p.Stage, p.Block, p.KVTile)
	if err != nil {
		return nil, err
	}
	other, _ := r.OtherTile(p)
	if !sp.Referenced() {
		d.Local, d.Global, d.Mirrored, d.LocalBound, d.GlobalBound, d.NoLocal = nil, nil, nil, nil, nil, nil
	}
	return &TileView{
		Other: other,
		Place: p, Plan: sp, Got: r.state.Tile(p.Stage, p.Block, p.KVTile), Local: d.Local, Global: d.Global,
		Mirrored:   d.Mirrored,
		LocalBound: d.LocalBound, GlobalBound: d.GlobalBound, ValidRows: d.ValidRows, ValidCols: d.ValidCols,
		NoLocal: d.NoLocal, Verdict: r.Tile(p),
	}, nil
}

// leftView is a tile as the launch left it, without references. The place is one of the block's.
func (r *Run) leftView(p Place, sp *probes.StagePlan) *TileView {
	if r.Plan.Gate.Injected.Has(p.Stage) {
		return r.injectedView(p, sp)
	}
	rows, cols := sp.ValidRows.At(p.Block, p.KVTile), sp.ValidCols.At(p.Block, p.KVTile)
	return &TileView{
		Place: p, Plan: sp, Got: r.state.Tile(p.Stage, p.Block, p.KVTile), Verdict: r.Tile(p),
		ValidRows: min(max(rows, 0), sp.Rows), ValidCols: min(max(cols, 0), sp.Cols),
	}
}

// injectedView is a tile that the gate injects into the launch. A place that the block does not have gives a
// tile that is not reached.
func (r *Run) injectedView(p Place, sp *probes.StagePlan) *TileView {
	v := &TileView{
		Place: p, Plan: sp, Injected: true, Verdict: r.Tile(p),
		Got:       probes.Tile{DType: sp.DType, Rows: sp.Rows, Cols: sp.Cols},
		ValidRows: sp.ValidRows.At(p.Block, p.KVTile), ValidCols: sp.ValidCols.At(p.Block, p.KVTile),
	}
	lo, n := r.Tiles(p.Block)
	if slices.Contains(r.Blocks(), p.Block) && (!sp.PerTile || p.KVTile >= lo && p.KVTile < lo+n) {
		v.Got = r.state.ref.Injected(p.Stage, p.Block, p.KVTile)
	}
	return v
}

// NextBad finds the nearest bad cell of a stage in the contract's order: kv tile, block,
// row, column; it wraps.
func (r *Run) NextBad(from Cell, dir int) (Cell, bool) {
	for step, p := range r.around(from.Place, dir) {
		if v := r.Tile(p); v.Bad == 0 && v.Tainted == 0 {
			continue
		}
		if c, ok := r.badIn(p, from, dir, step); ok {
			return c, true
		}
	}
	return Cell{}, false
}

// around goes through the tiles of a place's stage in the contract's order (dir 1) or against it (dir -1),
// from that place and round the end until it is there again: that place comes first, as step 0, and last.
func (r *Run) around(from Place, dir int) iter.Seq2[int, Place] {
	return func(yield func(int, Place) bool) {
		places := r.Places(from.Stage)
		at, n := max(0, slices.Index(places, from)), len(places)
		for step := 0; step <= n; step++ {
			if !yield(step, places[((at+dir*step)%n+n)%n]) {
				return
			}
		}
	}
}

// Places lists a stage's tiles in the contract's order.
func (r *Run) Places(s probes.Stage) []Place {
	sp := r.Plan.Stage(s)
	if sp == nil || sp.OfLaunch() {
		return []Place{{Stage: s}}
	}
	blocks, tiles := r.Blocks(), 1
	if sp.PerTile {
		tiles = r.Range.TileN
	}
	places := make([]Place, 0, tiles*len(blocks))
	for kv := range tiles {
		for _, b := range blocks {
			if sp.PerTile {
				places = append(places, Place{s, b, r.Range.TileLo + kv})
			} else {
				places = append(places, Place{s, b, 0})
			}
		}
	}
	return places
}

// badIn finds the first bad cell of a tile in a direction: past from where this is from's own
// tile (step 0), anywhere else from the tile's edge; the last step comes back to from's tile for
// the cells on its other side.
func (r *Run) badIn(p Place, from Cell, dir, step int) (Cell, bool) {
	v, err := r.View(p)
	if err != nil || !v.Got.Reached() {
		return Cell{}, false
	}
	local := v.Verdict.Bad > 0
	rows, cols := v.ValidRows, v.ValidCols
	i := 0
	if dir < 0 {
		i = rows*cols - 1
	}
	if step == 0 {
		i = from.Row*cols + from.Col + dir
	}
	for ; i >= 0 && i < rows*cols; i += dir {
		row, col := i/cols, i%cols
		if v.Bad(row, col, local) {
			return Cell{p, row, col}, true
		}
	}
	return Cell{}, false
}

// Bad reports whether a compared cell exceeds its local (or else its global) bound. Not-finite cells exceed
// every bound but that of a reference that is not finite either. A cell that was not captured exceeds none.
func (v *TileView) Bad(row, col int, local bool) bool {
	if !v.Referenced() || !v.Judged(row, col, local) {
		return false
	}
	i := row*v.Plan.Cols + col
	ref, bound := v.Global, v.GlobalBound
	if local {
		ref, bound = v.Local, v.LocalBound
	}
	d := v.Got.At(row, col) - ref[i]
	return !(d <= bound[i] && -d <= bound[i])
}

// sameBits reports whether the emulator, run as well as the GPU, has the same bits in a cell: then its writer
// is the GPU's.
func (r *Run) sameBits(c Cell) bool {
	a, b := r.state.Tile(c.Stage, c.Block, c.KVTile), r.state.traced.Tile(c.Stage, c.Block, c.KVTile)
	return a.Captured(c.Row, c.Col) && a.Same(b, c.Row, c.Col)
}

// Writer executes the cell's block again and returns who wrote it last before it was captured; nil for a cell
// that holds what was there before the kernel.
func (r *Run) Writer(ctx context.Context, c Cell) (*target.WriteSite, error) {
	tracer, ok := r.state.kernel.(target.CellTracer)
	if !ok && r.state.tracer != nil && r.sameBits(c) {
		tracer, ok = r.state.tracer.(target.CellTracer)
	}
	if !ok {
		return nil, target.ErrNoTracer
	}
	sp := r.Plan.Stage(c.Stage)
	if sp == nil {
		return nil, fmt.Errorf("kernel %s has no stage %s", r.Plan.Kernel, c.Stage)
	}
	if sp.OfLaunch() {
		return r.memoryWriter(ctx, tracer, sp, c)
	}
	size := sp.DType.Size()
	cell := target.TracedCell{Size: size}
	if sp.Capture.Kind == probes.CaptureOutput {
		at := sp.InArgument(c.Block, c.KVTile)
		if c.Row >= at.Rows || c.Col >= at.Cols {
			return nil, fmt.Errorf("row %d, column %d lies past the output", c.Row, c.Col)
		}
		cell.Arg = sp.Capture.Output
		cell.Offset = uint64(r.Plan.Arg(cell.Arg).Place(at.Element(c.Row, c.Col)) * size)
	} else {
		off, err := r.state.offset(sp, c)
		if err != nil {
			return nil, err
		}
		cell.Offset = off
	}
	return tracer.WhoWrote(ctx, r.state.launch, c.Block, cell)
}

// Source returns the lines of a CUDA source of this run: of the text that was compiled, the patches of
// its faults applied. Of a run that was never executed there are none.
func (r *Run) Source(file string) []string {
	if r.state == nil {
		return nil
	}
	m, b := r.Selection.Manifest, r.state.build
	if _, patched := build.PatchedText(b.Patched, file); !patched {
		if lines, ok := b.BuiltText(m, file); ok { // its file may have changed since
			return lines
		}
	}
	return build.Text(context.Background(), m, b.Patched, file)
}

// Patches returns the paths of the patches that the run's faults changed a source or header by,
// nil where none did.
func (r *Run) Patches(file string) []string {
	t, _ := build.PatchedText(r.state.build.Patched, file)
	return t.Patches
}

// Changes returns which of the run's faults changed a source or header by a patch, and the lines, from 1, of
// Source that differ from the file on disk; nil where none did.
func (r *Run) Changes(file string) (faults []string, lines []int) {
	return changesOf(r.Selection, r.state.build.Patched, file)
}

// changesOf returns which faults of a selection changed a file by a patch, and which lines differ.
func changesOf(sel *configs.Selection, changed map[string]build.Patched, file string) (faults []string,
	lines []int) {
	t, ok := build.PatchedText(changed, file)
	if !ok {
		return nil, nil
	}
	for _, p := range sel.Patches() {
		if slices.Contains(t.Patches, p.Path) || slices.Contains(t.Patches, kernels.Folder+p.Path) {
			faults = append(faults, p.Fault)
		}
	}
	return faults, t.Lines
}

// SourceText returns the lines of a source of a request's target, "" standing for the manifest's own, by base
// name, with the patches of its faults applied: for a run that failed and so has no Run. nil where it cannot
// be read.
func (s *Session) SourceText(ctx context.Context, req Request, file string) []string {
	m, _, changed := s.sourcesOf(ctx, req)
	if m == nil {
		return nil
	}
	if file == "" {
		file = m.SourcePath()
	}
	return build.Text(ctx, m, changed, file)
}

// SourceChanges is Run.Changes of a request that failed and so has no Run, for a file by SourceText's rules.
func (s *Session) SourceChanges(ctx context.Context, req Request, file string) (faults []string,
	lines []int) {
	m, sel, changed := s.sourcesOf(ctx, req)
	if sel == nil {
		return nil, nil
	}
	if file == "" {
		file = m.SourcePath()
	}
	return changesOf(sel, changed, file)
}

// sourcesOf returns a request's manifest, its selection, and the files that the patches of its faults change;
// nil for what cannot be read.
func (s *Session) sourcesOf(ctx context.Context, req Request) (m *configs.Manifest, sel *configs.Selection,
	changed map[string]build.Patched) {
	m, variant, err := s.catalogue.Open(ctx, req.Target)
	if err != nil {
		return nil, nil, nil
	}
	if sel, err = m.Select(variant, req.Set, req.Faults, req.Gate); err != nil {
		return m, nil, nil
	}
	if src, err := build.Sources(ctx, sel); err == nil {
		changed = src.Changed
	}
	return m, sel, changed
}
