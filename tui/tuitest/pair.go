package tuitest

import (
	"context"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Bisect finds p-stale-m between a run with it and one without.
func (e *Engine) Bisect(ctx context.Context, a, b debugkern.Request, _ string,
	progress func(debugkern.Progress)) (*report.Bisection, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	progress(debugkern.Progress{Phase: "bisect", Detail: "+p-stale-m", Done: 2})
	e.mu.Lock()
	e.Bisected = [2]debugkern.Request{a, b}
	e.mu.Unlock()
	doc := &report.Bisection{Verdict: report.Same, Targets: [2]report.BisectSide{
		{Target: a.Target, Faults: a.Faults, Verdict: report.Agree},
		{Target: b.Target, Faults: b.Faults, Verdict: report.Agree}}}
	if len(b.Faults) == len(a.Faults) {
		if len(a.Faults) > 0 {
			doc.Targets[0].Verdict, doc.Targets[1].Verdict = report.Diverge, report.Diverge
		}
		return doc, nil
	}
	stale := []report.Change{{Kind: "fault", Name: "p-stale-m", To: 1}}
	doc.Verdict, doc.From, doc.Until, doc.Proof = report.Found, "a", report.Diverge, "smallest"
	doc.Targets[1].Verdict, doc.Targets[1].Because = report.Diverge, "P"
	doc.Differences = append(stale, report.Change{Kind: "flag", Name: "USE_CP_ASYNC", From: 1})
	doc.Steps = []report.BisectStep{{Changes: doc.Differences[1:], Verdict: report.Agree},
		{Changes: stale, Verdict: report.Diverge, Because: "P"},
		{Changes: doc.Differences, Verdict: report.Unresolved, Because: "fault p-stale-m is planted in " +
			"stage2 and needs USE_CP_ASYNC=1; take target stage2, or set the flags"}}
	doc.Minimal = stale
	doc.Pair = &report.BisectPair{
		From:    report.TargetSpec{Target: "stage2", Set: map[string]int{}},
		To:      report.TargetSpec{Target: "stage2", Faults: []string{"p-stale-m"}},
		Changes: stale, Compare: "tilescope compare stage2 stage2 --fault p-stale-m",
	}
	return doc, nil
}

// Pair is a fake run over another: B's tiles, and A's to compare them with.
type Pair struct {
	*Viewer
	within *report.Tolerance
}

func (p *Pair) OtherTile(at debugkern.Place) (probes.Tile, bool) {
	v, err := (&Viewer{run: p.run}).View(at)
	if err != nil {
		return probes.Tile{}, false
	}
	return v.Got, true
}

func (p *Pair) View(at debugkern.Place) (*debugkern.TileView, error) {
	v, err := p.Viewer.View(at)
	if err == nil {
		v.Other, _ = p.OtherTile(at)
	}
	return v, err
}

func (p *Pair) NextDiffering(from debugkern.Cell, dir int) (debugkern.Cell, bool) {
	return p.NextBad(from, dir)
}

func (p *Pair) First(s probes.Stage) (debugkern.Cell, bool) {
	return p.NextBad(debugkern.Cell{Place: debugkern.Place{Stage: s}, Col: -1}, 1)
}

func (p *Pair) Compare() (*report.Comparison, error) {
	c := &report.Comparison{Tolerance: p.within, Verdict: report.Equal, OnlyB: []string{"V"}}
	for _, s := range p.run.Report.Stages {
		doc := report.StageComparison{Name: s.Name, Verdict: report.Equal, Tiles: 64,
			CellStats: report.CellStats{Cells: 65536}}
		if p.faulty && s.Name == "P" {
			doc.Verdict, doc.Differing, doc.Beyond, doc.MaxAbs, doc.MaxULP = report.Differ, 137,
				137, 1.5, 1024
			c.Verdict, c.First = report.Differ, "P"
		}
		c.Stages = append(c.Stages, doc)
	}
	return c, nil
}
