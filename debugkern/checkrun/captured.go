package checkrun

import (
	"errors"
	"fmt"
	"slices"

	"tilescope/configs"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// gap is a stage that a manifest's captures do not take everywhere in its launch.
type gap struct {
	stage probes.Stage
	block probes.Dim3 // the first that has it
	why   string
}

// mostCaptured is how many bytes of captures one launch takes.
const mostCaptured = 256 << 20

// captures is a launch with the captures of a manifest that was made of it.
type captures struct {
	l      *launch
	k      target.Kernel
	plan   *probes.Plan
	file   string // base name of the source that lines are in; "": of the PTX
	blocks []probes.Dim3
	gaps   []gap
}

// uncaptured executes blocks of the launch (nil: all) with the captures that a manifest has, and lists the
// stages that lack values of some iteration of some of these blocks, or of which threads disagree. Values are
// not judged: the kernel may be wrong.
func (l *launch) uncaptured(k target.Kernel, text, source string, blocks []probes.Dim3) ([]gap, error) {
	m, err := configs.ParseManifest("", []byte(text))
	if err != nil {
		return nil, err
	}
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		return nil, err
	}
	plan, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		return nil, err
	}
	c := &captures{l: l, k: k, plan: plan, file: source, blocks: blocks}
	err = c.within(probes.Range{N: plan.Grid, TileN: plan.Work.MaxTiles})
	return c.gaps, err
}

// within checks the blocks of a range, in parts where their captures take too much memory.
func (c *captures) within(r probes.Range) error {
	var set probes.StageSet
	var gather []target.Gather
	for i := range c.plan.Stages {
		sp := &c.plan.Stages[i]
		if sp.Capture.Kind != probes.CaptureRegister {
			continue
		}
		g := target.Gather{Plan: sp, File: c.file}
		if _, err := g.Points(c.l.entry, c.plan.Block.Count()); err != nil {
			c.note(sp, r.Lo, "%v", err)
			continue
		}
		set = set.Union(probes.StagesOf(sp.Stage))
		gather = append(gather, g)
	}
	if gather == nil {
		return nil
	}
	layout := probes.NewLayout(c.plan, set, r)
	if axis := slices.Index(r.N[:], slices.Max(r.N[:])); layout.CaptureBytes > mostCaptured && r.N[axis] > 1 {
		low, high := r, r
		low.N[axis] /= 2
		high.Lo[axis], high.N[axis] = r.Lo[axis]+low.N[axis], r.N[axis]-low.N[axis]
		if err := c.within(low); err != nil {
			return err
		}
		return c.within(high)
	}
	t := c.l.target()
	t.Probe = &target.Probe{Layout: layout, Gather: gather}
	if t.Only = c.among(r); len(t.Only) == 0 {
		return nil
	}
	res, err := c.k.Launch(c.l.ctx, t)
	var fault *target.Fault
	switch {
	case errors.As(err, &fault) && fault.Kind == "passes": // of a capture, whose stage is in the message
		for i := range gather {
			c.note(gather[i].Plan, fault.Block, "%s", fault.Msg)
		}
		return nil
	case err != nil:
		return err
	}
	for i := range gather {
		c.stage(layout, gather[i].Plan, t.Only, res)
	}
	return nil
}

// among lists the blocks of a range that are executed.
func (c *captures) among(r probes.Range) (out []probes.Dim3) {
	for i := range r.N.Count() {
		if id := r.Block(i); c.blocks == nil || slices.Contains(c.blocks, id) {
			out = append(out, id)
		}
	}
	return out
}

// note records the first gap of a stage.
func (c *captures) note(sp *probes.StagePlan, block probes.Dim3, format string, args ...any) {
	if !slices.ContainsFunc(c.gaps, func(g gap) bool { return g.stage == sp.Stage }) {
		c.gaps = append(c.gaps, gap{sp.Stage, block, fmt.Sprintf(format, args...)})
	}
}

// stage notes what is missing of one stage.
func (c *captures) stage(
	layout *probes.Layout, sp *probes.StagePlan, blocks []probes.Dim3, res *target.Result,
) {
	for _, f := range res.Findings {
		if f.Kind == target.Layout && f.Variable == string(sp.Stage) {
			c.note(sp, f.Block, "block %s: %s", f.Block, f.Message)
		}
	}
	for _, block := range blocks {
		lo, n := layout.Range.Tiles(c.plan, sp, block)
		if layout.Past() == sp && layout.Tile(res.Capture, sp, block, lo+layout.Range.TileN).Reached() {
			c.note(sp, block, "block %s has more than its %d iterations", block, n)
		}
		for kv := lo; kv < lo+n; kv++ {
			if missing := absent(layout, sp, res, block, kv); missing > 0 {
				c.note(sp, block,
					"block %s, iteration %d: %d values are not at the instructions that were found",
					block, kv, missing)
				break
			}
		}
	}
}

// absent counts the cells of a tile that were not captured.
func absent(layout *probes.Layout, sp *probes.StagePlan, res *target.Result, block probes.Dim3, kv int) int {
	rows, cols := max(0, min(sp.Rows, sp.ValidRows.At(block, kv))),
		max(0, min(sp.Cols, sp.ValidCols.At(block, kv)))
	if !layout.Tile(res.Capture, sp, block, kv).Reached() {
		return rows * cols
	}
	off, _ := layout.Slot(sp.Stage, block, kv)
	marks, n := res.Missing[off], 0
	for r := range rows {
		for c := range cols {
			if marks != nil && marks[r*sp.Cols+c] {
				n++
			}
		}
	}
	return n
}
