package tuitest

import (
	"context"
	"fmt"
	"math"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
	"tilescope/tui/cell"
)

// Walk is a block of four warps that execute the same 60 instructions over and over, one warp after the
// other: moment t is warp t/1920 in front of instruction t%60. Three instructions make a line, 20 a barrier,
// 40 a captured tile.
type Walk struct {
	at     int
	warp   int
	block  probes.Dim3
	stop   string
	note   string
	lane   int
	by     int // of breaks, the one that stopped it, -1
	breaks []walk.Breakpoint
	arrays []probes.SharedArray
	Closed bool
	sync   bool          // nothing of it is asynchronous
	block1 chan struct{} // Continue waits for it, or for being called off
}

var unitNames = map[target.Unit]string{
	target.StepInstruction: "instruction", target.StepLine: "line", target.StepBarrier: "barrier",
	target.StepProbe: "probe",
}

const (
	file = "sdpa_fp8_stage_c_wmma.cu"
	turn = 1920 // instructions of a warp
	End  = 4 * turn
)

// Walk opens a block.
func (v *Viewer) Walk(_ context.Context, block probes.Dim3) (walk.Walk, error) {
	return &Walk{block: block, lane: -1, by: -1, stop: "start", arrays: v.run.Plan.Shared,
		sync: v.engine != nil && v.engine.Synchronous, block1: v.hold}, nil
}

func (w *Walk) Position() walk.Position {
	p := walk.Position{Block: w.block, Step: uint64(w.at), Warp: w.warp, PC: -1, Listing: -1, KVTile: -1,
		Stop: w.stop, Note: w.note, Lane: w.lane, Breakpoint: w.by}
	if pc := w.pc(w.warp); pc >= 0 {
		p.PC, p.Listing, p.Mask, p.KVTile = pc, pc, 0xffffffff, min(w.at/600, 1)
		p.Source = &target.Source{File: file, Line: 60 + pc/3}
		if w.by >= 0 && w.by < len(w.breaks) && w.breaks[w.by].Array != "" {
			p.Mask = 1 << 5 // one lane has changed it
			p.Writer = &walk.Writer{PC: pc - 1, Source: &target.Source{File: file, Line: 60 + (pc-1)/3}}
		}
	}
	return p
}

// pc is where a warp stands, -1 where it has ended.
func (w *Walk) pc(warp int) int {
	switch {
	case w.at >= turn*(warp+1):
		return -1
	case w.at < turn*warp:
		return 0
	}
	return w.at % 60
}

func (w *Walk) seek(at int, stop, note string) (walk.Position, error) {
	w.at, w.stop, w.note, w.lane = max(0, min(at, End)), stop, note, -1
	w.by = -1
	w.warp = min(w.at/turn, 3)
	switch w.at {
	case 0:
		w.stop = "start"
	case End:
		w.stop = "end"
	}
	return w.Position(), nil
}

func (w *Walk) Step(_ context.Context, u target.Unit, n int) (walk.Position, error) {
	if u == walk.StepAsync {
		return w.event(n)
	}
	size := map[target.Unit]int{target.StepInstruction: 1, target.StepLine: 3, target.StepBarrier: 20,
		target.StepProbe: 40, walk.StepTurn: turn, walk.StepRound: End}[u]
	at := w.at / size
	if n < 0 && w.at%size > 0 {
		at++
	}
	return w.seek((at+n)*size, unitNames[u],
		map[target.Unit]string{target.StepProbe: "S of kv tile 0 captured"}[u])
}

func (w *Walk) StepOver(ctx context.Context, n int) (walk.Position, error) {
	return w.Step(ctx, target.StepLine, n)
}

func (w *Walk) run(ctx context.Context, dir int) (walk.Position, error) {
	if w.block1 != nil {
		select {
		case <-w.block1:
		case <-ctx.Done():
			return w.Position(), ctx.Err()
		}
	}
	for at := w.at + dir; at > 0 && at < End; at += dir {
		for i := range w.breaks {
			if lane, n, ok := w.hit(&w.breaks[i], at); ok {
				note := fmt.Sprintf("%s:%d", file, w.breaks[i].Line)
				if w.breaks[i].When.Hits != nil {
					note += fmt.Sprintf(", hit %d", n)
				}
				p, err := w.seek(at, "breakpoint", note)
				w.lane, w.by = lane, i
				p.Lane, p.Breakpoint = lane, i
				return p, err
			}
		}
	}
	return w.seek(End*dir, "end", "")
}

// hit reports whether a breakpoint on a line stops at a step, for which lane, and which of its hits that is.
func (w *Walk) hit(b *walk.Breakpoint, at int) (lane, n int, ok bool) {
	lane, ok = w.holds(b, at)
	if !ok {
		return -1, 0, false
	}
	for i := int(b.From); i <= at; i++ {
		if _, ok := w.holds(b, i); ok {
			n++
		}
	}
	return lane, n, b.When.Hits == nil || n > 0 && b.When.Hits.Match(uint64(n))
}

// holds reports whether a breakpoint's place is reached at a step, and its condition holds in some lane. A
// cell of a shared array changes every 90 steps.
func (w *Walk) holds(b *walk.Breakpoint, at int) (lane int, ok bool) {
	switch {
	case b.Array != "":
		return -1, at%90 == 45
	case b.Line == 0 || at%60 != 3*(b.Line-60):
		return -1, false
	}
	if b.When.If == nil {
		return -1, true
	}
	there := &Walk{at: at, warp: min(at/turn, 3), block: w.block, arrays: w.arrays}
	for lane := range 32 {
		if v, err := b.When.If.Eval(there.State(), lane); err == nil && v.Holds() {
			return lane, true
		}
	}
	return -1, false
}

// Hits counts the hits up to now.
func (w *Walk) Hits(context.Context) ([]walk.Hits, error) {
	out := make([]walk.Hits, len(w.breaks))
	for i := range w.breaks {
		warps := map[int]bool{}
		for at := int(w.breaks[i].From); at <= w.at; at++ {
			if _, ok := w.holds(&w.breaks[i], at); ok {
				out[i].Times++
				warps[at/turn] = true
			}
		}
		out[i].Warps = len(warps)
	}
	return out, nil
}

// StepOut goes to the next multiple of ten lines, or the one before.
func (w *Walk) StepOut(_ context.Context, n int) (walk.Position, error) {
	if w.at < 30 {
		return w.Position(), walk.ErrOutermost
	}
	return w.seek((w.at/30+n)*30, "step", "")
}

// Frames has a helper in the instructions from 30 on.
func (w *Walk) Frames() []walk.Frame {
	pc := w.pc(w.warp)
	switch {
	case pc < 0:
		return nil
	case pc < 30:
		return []walk.Frame{{Function: "sdpa_fp8_stage_c_wmma", File: file, Line: 60 + pc/3}}
	}
	return []walk.Frame{
		{Function: "cl", File: file, Line: 60 + pc/3},
		{Function: "sdpa_fp8_stage_c_wmma", File: file, Line: 66},
	}
}

// State is what expressions read.
func (w *Walk) State() walk.Values { return values{*w} }

type values struct{ w Walk }

func (v values) Lane() int { return 0 }

func (v values) Name(name string, lane int) (expr.Value, error) {
	switch name {
	case "lane":
		return expr.Number(int64(lane)), nil
	case "warp":
		return expr.Number(int64(v.w.warp)), nil
	case "kv":
		return expr.Number(int64(v.w.Position().KVTile)), nil
	case "step":
		return expr.Number(int64(v.w.at)), nil
	}
	return expr.Number(0), nil
}

func (v values) Register(name string, lane int) (expr.Value, error) {
	for _, r := range v.w.Registers() {
		if r.Name == name {
			return expr.OfRegister(r.Type, r.Bits[lane]), nil
		}
	}
	return expr.Value{}, fmt.Errorf("the kernel has no register %s", name)
}

func (v values) HasRegister(name string) error {
	_, err := v.Register(name, 0)
	return err
}

func (v values) Cell(array string, index []int64) (expr.Value, error) {
	s, ok := v.w.Shared(array)
	col := int64(0)
	if len(index) > 1 {
		col = index[1]
	}
	if !ok || index[0] < 0 || index[0] >= int64(s.Tile.Rows) || col < 0 || col >= int64(s.Tile.Cols) {
		return expr.Value{}, fmt.Errorf("%s has no cell %v", array, index)
	}
	out := expr.Of(s.Tile.DType, s.Tile.Bits(int(index[0]), int(col)))
	out.Unwritten = !s.Written[int(index[0])*s.Tile.Cols+int(col)]
	return out, nil
}

func (v values) HasArray(name string, _ int) error {
	if _, ok := v.w.Shared(name); !ok {
		return fmt.Errorf("no shared array %q", name)
	}
	return nil
}

func (v values) HasIndex(name string, _, dim int, at int64) error {
	s, _ := v.w.Shared(name)
	if most := []int{s.Tile.Rows, s.Tile.Cols}; dim < 2 && (at < 0 || at >= int64(most[dim])) {
		return fmt.Errorf("the %s index of %s is %d, expected 0 to %d", expr.Ordinal(dim), name, at,
			most[dim]-1)
	}
	return nil
}

func (w *Walk) Continue(ctx context.Context) (walk.Position, error) { return w.run(ctx, 1) }
func (w *Walk) Reverse(ctx context.Context) (walk.Position, error)  { return w.run(ctx, -1) }

func (w *Walk) Seek(_ context.Context, step uint64) (walk.Position, error) {
	return w.seek(int(min(step, End)), "step", "")
}

func (w *Walk) SetWarp(warp int)                   { w.warp = warp }
func (w *Walk) SetBreakpoints(b []walk.Breakpoint) { w.breaks = b }
func (w *Walk) Clock() uint64                      { return uint64(w.at) }
func (w *Walk) Close()                             { w.Closed = true }
func (w *Walk) Arrays() []probes.SharedArray       { return w.arrays }

func (w *Walk) Warps() []target.Warp {
	out := make([]target.Warp, 4)
	for i := range out {
		out[i] = target.Warp{Index: i, Exited: math.MaxUint32}
		if pc := w.pc(i); pc >= 0 {
			out[i].Groups, out[i].Exited = []target.Group{{PC: pc, Mask: math.MaxUint32}}, 0
			if pc%7 == 3 {
				out[i].Groups = []target.Group{{PC: pc, Mask: 0xff00ffff}, {PC: pc + 2, Mask: 0x00ff0000}}
			}
			if i > w.at/turn {
				out[i].Wait = "barrier 0"
			}
		}
	}
	return out
}

func (w *Walk) Registers() []walk.Register {
	pc := w.pc(w.warp)
	if pc < 0 {
		return nil
	}
	var out []walk.Register
	for i, name := range []string{"%rs89", "%rd477", "%p8", "%f13", "%r7", "%r513", "%rd12", "%f255", "%fd3",
		"%r880", "%r881", "%r882"} {
		r := walk.Register{Name: name, Type: []string{"b16", "b64", "pred", "f32", "b32", "b32", "b64", "f32",
			"f64", "b32", "b32", "b32"}[i], Named: i < 2, OfLine: i < 4, Active: 0xff00ffff}
		for lane := range r.Bits {
			v := uint64(lane*(i%3) + pc)
			switch r.Type {
			case "pred":
				v &= 1
			case "f32":
				v = uint64(math.Float32bits(float32(v) * 0.375))
			case "f64":
				v = math.Float64bits(float64(v) / 3)
			}
			r.Bits[lane] = v
		}
		out = append(out, r)
	}
	return out
}

func (w *Walk) Listing() []walk.Listing {
	out := make([]walk.Listing, 60)
	for i := range out {
		out[i] = walk.Listing{
			Text: fmt.Sprintf("ld.shared.b16 %%rs%d, [%%rd477+%d]", i, 2*i), PC: i, PTX: 900 + i,
			File: file,
			Line: 60 + i/3, Begins: i%3 == 0, Target: -1, Writes: []string{fmt.Sprintf("%%rs%d", i)},
		}
		if i == 59 { // a function that line 95 calls
			out[i].Calls = target.CallsOf([]target.Site{{File: file, Line: 95}})
		}
		if i%20 == 19 {
			out[i].Text, out[i].Writes = "bar.sync 0", nil
		}
		if i == 50 {
			out[i].Text, out[i].Target, out[i].Writes = "@%p8 bra $L__BB0_4", 12, nil
		}
	}
	return out
}

func (w *Walk) Shared(name string) (walk.SharedView, bool) {
	for _, a := range w.arrays {
		if a.Name != name {
			continue
		}
		rows, cols := a.Dims[0], 1
		if len(a.Dims) > 1 {
			cols = a.Dims[1]
		}
		v := walk.SharedView{Array: a, Tile: probes.NewTile(a.DType, rows, cols),
			Written: make([]bool, rows*cols)}
		for i := range v.Written {
			v.Written[i] = i < 5*w.at
			v.Tile.SetBits(i/cols, i%cols, cell.Round(a.DType, math.Sin(float64(i+w.at/20))))
		}
		return v, true
	}
	return walk.SharedView{}, false
}

func (w *Walk) Writes(_ context.Context, _ string, row, col int) ([]target.WriteSite, error) {
	var out []target.WriteSite
	for at := 30; at < w.at; at += 600 {
		out = append(out, target.WriteSite{Warp: at / turn, Lane: (row + col) % 32, Step: uint64(at),
			Fragment: "acc[5] of mma #4",
			Source:   &target.Source{File: file, Line: 70}})
	}
	return out, nil
}

func (w *Walk) RegisterWrites(ctx context.Context, _ string, lane int) ([]target.WriteSite, error) {
	return w.Writes(ctx, "", lane, 0)
}
