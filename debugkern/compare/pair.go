package compare

import (
	"errors"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Pair is two finished runs of the same problem under one cursor: it views B, and next to every tile of B is
// the tile of A that computes the same part of the problem, whatever tiling A has. Like a Run it is
// immutable and safe for concurrent use.
type Pair struct {
	*debugkern.Run // B

	under *debugkern.Run     // A
	tiles *debugkern.Outcome // A's
	names []string           // of the positions that both have
	limit *report.Tolerance  // how far cells may be apart; nil: their bits are compared
	// at is where A has a part, by Plan.Part, of the stages that can be compared cell by cell.
	at map[probes.Stage]map[string]debugkern.Place
}

var (
	_ debugkern.Viewer  = (*Pair)(nil)
	_ debugkern.Crossed = (*Pair)(nil)
)

// NewPair compares b with a, cell by cell, within a tolerance, where it is nil bit for bit. Runs of different
// shapes, inputs or gates are refused.
func NewPair(a, b *debugkern.Run, within *report.Tolerance) (*Pair, error) {
	if a == nil || b == nil || a.Outcome() == nil || b.Outcome() == nil {
		return nil, errors.New("a run that failed has no tiles to compare")
	}
	if err := sameRuns(a, b); err != nil {
		return nil, err
	}
	x, y := a.Outcome(), b.Outcome()
	p := &Pair{
		Run: b, under: a, tiles: x, limit: within, names: probes.SharedPositions(a.Plan, b.Plan),
		at: map[probes.Stage]map[string]debugkern.Place{},
	}
	for _, sp := range a.Plan.Tiles() {
		s := sp.Stage
		if !x.Captures(s) || !y.Captures(s) {
			continue
		}
		if unlike(sp, b.Plan.Stage(s)) != "" {
			continue
		}
		parts := map[string]debugkern.Place{}
		eachTile(x, sp, func(block probes.Dim3, kv int) {
			parts[a.Plan.Part(p.names, sp, block, kv)] = debugkern.Place{Stage: s, Block: block, KVTile: kv}
		})
		p.at[s] = parts
	}
	return p, nil
}

// OtherTile is A's tile of the same part; ok is false where A has none, or one that
// cannot be compared with B's.
func (p *Pair) OtherTile(at debugkern.Place) (probes.Tile, bool) {
	parts, sp := p.at[at.Stage], p.Plan.Stage(at.Stage)
	if parts == nil || sp == nil {
		return probes.Tile{}, false
	}
	o, ok := parts[p.Plan.Part(p.names, sp, at.Block, at.KVTile)]
	if !ok {
		return probes.Tile{}, false
	}
	return p.tiles.Tile(o), true
}

// View is B's tile with its references, and A's next to it.
func (p *Pair) View(at debugkern.Place) (*debugkern.TileView, error) {
	v, err := p.Run.View(at)
	if err != nil {
		return nil, err
	}
	out := *v
	out.Other, _ = p.OtherTile(at)
	return &out, nil
}

// NextDiffering finds the nearest compared cell that differs between A and B, beyond the tolerance where
// there is one. Before the first cell of a tile stands column -1 of row 0.
func (p *Pair) NextDiffering(from debugkern.Cell, dir int) (debugkern.Cell, bool) {
	if p.at[from.Stage] == nil {
		return debugkern.Cell{}, false
	}
	if p.limit == nil {
		return p.NextUnlike(from, dir, p.OtherTile, nil)
	}
	return p.NextUnlike(from, dir, p.OtherTile,
		func(t probes.DType, x, y uint64) bool { return Beyond(t, x, y, p.limit) })
}

// First is the first cell of a stage that differs.
func (p *Pair) First(s probes.Stage) (debugkern.Cell, bool) {
	places := p.Places(s)
	if len(places) == 0 {
		return debugkern.Cell{}, false
	}
	return p.NextDiffering(debugkern.Cell{Place: places[0], Col: -1}, 1)
}

// Compare counts what differs, stage by stage.
func (p *Pair) Compare() (*report.Comparison, error) { return Runs(p.under, p.Run, p.limit) }

// sameRuns refuses runs of different problems.
func sameRuns(a, b *debugkern.Run) error {
	switch {
	case a.Plan.Shape != b.Plan.Shape:
		return report.Usagef("A has shape %s, B %s: run both on the same", a.Plan.Shape, b.Plan.Shape)
	case a.Request.Seed != b.Request.Seed || a.Request.Inputs != b.Request.Inputs:
		return report.Usagef("A and B have different inputs: run both on the same")
	case a.Plan.Gate.Name != b.Plan.Gate.Name:
		return report.Usagef("A has gate %s, B %s: run both on the same", a.Plan.Gate.Name, b.Plan.Gate.Name)
	}
	return nil
}
