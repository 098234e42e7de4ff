package debugkern

import (
	"context"
	"maps"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// What a loop keeps in shared memory from one line to another is stored anew in every iteration. Where a
// condition skips the store, the load reads again what it has read in the iteration before.

// Stale is a load that reads a value again for a wrong cell, where right cells read one that was stored since
// they last read it.
type Stale struct {
	Load, Store *report.Source // Store gave the value
	At          int            // of the store, in the entry's body
}

// Stale compares a wrong cell with right ones of its tile; nil where the wrong cell reads nothing again that
// these do not. What stores gave that are known to be skipped need no right cell.
func (r *Run) Stale(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, wrong [2]int, right [][2]int,
	known []int,
) (*Stale, error) {
	c, err := r.contrast(ctx, stage, block, kv)
	if err != nil || c == nil || len(right)+len(known) == 0 {
		return nil, err
	}
	bad, _, err := c.rereads(ctx, wrong)
	if err != nil || len(bad) == 0 {
		return nil, err
	}
	anew := map[string]bool{} // by load: right cells read it, and nothing again
	for _, cell := range right {
		again, once, err := c.rereads(ctx, cell)
		if err != nil {
			return nil, err
		}
		for key := range once {
			if _, known := anew[key]; !known {
				anew[key] = true
			}
		}
		for key := range again {
			anew[key] = false
		}
	}
	var out *Stale
	for _, key := range slices.Sorted(maps.Keys(bad)) {
		x := bad[key]
		skipped := slices.ContainsFunc(known, func(i int) bool { return c.alike(i, x.At) })
		if (anew[key] || skipped) && (out == nil || x.At > out.At) {
			out = x
		}
	}
	return out, nil
}

// rereads lists, by the load, what a cell is made of that its thread has read before by the same load, from
// the same store; and the loads of shared memory by which it is made of something that was stored since.
func (c *contrast) rereads(
	ctx context.Context, cell [2]int,
) (again map[string]*Stale, once map[string]bool, err error) {
	again, once = map[string]*Stale{}, map[string]bool{}
	at, err := c.x.at(c.trace, cell[0], cell[1])
	if err != nil {
		return again, once, nil // it was not captured
	}
	g, err := c.trace.Walk(ctx, at, lineage.Query{CutValue: c.cut, Nodes: sliceNodes})
	if err != nil || g.Truncated {
		return again, once, err
	}
	for n, v := range g.Nodes {
		load := c.trace.Step(int(v.Step))
		if !c.own(g, int32(n)) || load.Instr.Kind() != isa.Load || load.Instr.Space() != ptx.SpaceShared {
			continue
		}
		for _, e := range g.Uses(int32(n)) {
			if e.Leaf || e.Kind != lineage.ByValue {
				continue
			}
			s := g.Nodes[e.To]
			store := c.trace.Step(int(s.Step))
			if s.Index != lineage.InMemory || !c.own(g, e.To) {
				continue
			}
			key := load.Instr.Op + load.Instr.Loc.Chain()
			if !c.readBefore(v, s, load, store) {
				once[key] = true
				continue
			}
			again[key] = &Stale{
				Load:  report.SourceOf(target.Blame(c.fn, load.Instr.Index)),
				Store: report.SourceOf(target.Blame(c.fn, store.Instr.Index)), At: store.Instr.Index,
			}
		}
	}
	return again, once, nil
}

// readBefore reports whether the load that gave a value has read the same store in an earlier execution, in
// some lane of the warp.
func (c *contrast) readBefore(v, from lineage.Ref, load, store lineage.Step) bool {
	for i := int(from.Step) + 1; i < int(v.Step); i++ {
		s := c.trace.Step(i)
		if s.Warp != load.Warp || !s.Func.Entry || !c.alike(s.Instr.Index, load.Instr.Index) ||
			s.Mask>>v.Lane&1 == 0 {
			continue
		}
		r := v
		r.Step = uint32(i)
		for _, u := range c.trace.Uses(r, false, false) {
			if u.Leaf == nil && u.Ref.Step == from.Step && u.Ref.Lane == from.Lane {
				return true
			}
		}
	}
	return false
}
