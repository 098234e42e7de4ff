package tuitest

import (
	"context"

	"tilescope/debugkern"
	"tilescope/probes"
)

// Bisect finds p-stale-m between a run with it and one without.
func (e *Engine) Bisect(ctx context.Context, a, b debugkern.Request, _ string,
	progress func(debugkern.Progress)) (*debugkern.Bisection, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	progress(debugkern.Progress{Phase: "bisect", Detail: "+p-stale-m", Done: 2})
	e.mu.Lock()
	e.Bisected = [2]debugkern.Request{a, b}
	e.mu.Unlock()
	doc := &debugkern.Bisection{Verdict: debugkern.Same, Targets: [2]debugkern.BisectSide{
		{Target: a.Target, Faults: a.Faults, Verdict: debugkern.Agree},
		{Target: b.Target, Faults: b.Faults, Verdict: debugkern.Agree}}}
	if len(b.Faults) == len(a.Faults) {
		return doc, nil
	}
	stale := []debugkern.Change{{Kind: "fault", Name: "p-stale-m", To: 1}}
	doc.Verdict, doc.From, doc.Until, doc.Proof = debugkern.Found, "a", debugkern.Diverge, "smallest"
	doc.Targets[1].Verdict, doc.Targets[1].Because = debugkern.Diverge, "P"
	doc.Differences = append(stale, debugkern.Change{Kind: "flag", Name: "USE_CP_ASYNC", From: 1})
	doc.Steps = []debugkern.BisectStep{{Changes: doc.Differences[1:], Verdict: debugkern.Agree},
		{Changes: stale, Verdict: debugkern.Diverge, Because: "P"}}
	doc.Minimal = stale
	doc.Pair = &debugkern.BisectPair{
		From:    debugkern.TargetSpec{Target: "stage2", Set: map[string]int{}},
		To:      debugkern.TargetSpec{Target: "stage2", Faults: []string{"p-stale-m"}},
		Changes: stale, Compare: "tilescope compare stage2 stage2 --fault p-stale-m",
	}
	return doc, nil
}

// Pair is a fake run over another: B's tiles with A's beside them.
type Pair struct{ *Viewer }

func (p *Pair) Beside(at debugkern.Place) (probes.Tile, bool) {
	v, err := (&Viewer{run: p.run}).View(at)
	if err != nil {
		return probes.Tile{}, false
	}
	return v.Got, true
}

func (p *Pair) View(at debugkern.Place) (*debugkern.TileView, error) {
	v, err := p.Viewer.View(at)
	if err == nil {
		v.Beside, _ = p.Beside(at)
	}
	return v, err
}

func (p *Pair) NextDiffering(from debugkern.Cell, dir int) (debugkern.Cell, bool) {
	return p.NextBad(from, dir)
}

func (p *Pair) First(s probes.Stage) (debugkern.Cell, bool) {
	return p.NextBad(debugkern.Cell{Place: debugkern.Place{Stage: s}, Col: -1}, 1)
}

func (p *Pair) Compare() (*debugkern.Comparison, error) {
	c := &debugkern.Comparison{Verdict: debugkern.Equal, OnlyB: []string{"V"}}
	for _, s := range p.run.Report.Stages {
		doc := debugkern.StageComparison{Name: s.Name, Verdict: debugkern.Equal, Tiles: 64,
			CellStats: debugkern.CellStats{Cells: 65536}}
		if p.faulty && s.Name == "P" {
			doc.Verdict, doc.Differing, doc.MaxAbs, doc.MaxULP = debugkern.Differ, 137, 1.5, 1024
			c.Verdict, c.First = debugkern.Differ, "P"
		}
		c.Stages = append(c.Stages, doc)
	}
	return c, nil
}
