package tui

import (
	"context"
	"fmt"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
)

// Bisect finds p-stale-m between a run with it and one without.
func (e *fakeEngine) Bisect(_ context.Context, a, b debugkern.Request, _ string, progress func(debugkern.Progress)) (*debugkern.Bisection, error) {
	progress(debugkern.Progress{Phase: "bisect", Detail: "+p-stale-m", Done: 2})
	e.mu.Lock()
	e.bisected = [2]debugkern.Request{a, b}
	e.mu.Unlock()
	doc := &debugkern.Bisection{Verdict: debugkern.Same, Targets: [2]debugkern.BisectSide{
		{Target: a.Target, Faults: a.Faults, Verdict: debugkern.Agree}, {Target: b.Target, Faults: b.Faults, Verdict: debugkern.Agree}}}
	if len(b.Faults) == len(a.Faults) {
		return doc, nil
	}
	stale := []debugkern.Change{{Kind: "fault", Name: "p-stale-m", To: 1}}
	doc.Verdict, doc.From, doc.Until, doc.Proof = debugkern.Found, "a", debugkern.Diverge, "smallest"
	doc.Targets[1].Verdict, doc.Targets[1].Because = debugkern.Diverge, "P"
	doc.Differences = append(stale, debugkern.Change{Kind: "flag", Name: "USE_CP_ASYNC", From: 1})
	doc.Steps = []debugkern.BisectStep{{Changes: doc.Differences[1:], Verdict: debugkern.Agree}, {Changes: stale, Verdict: debugkern.Diverge, Because: "P"}}
	doc.Minimal = stale
	doc.Pair = &debugkern.BisectPair{
		From: debugkern.TargetSpec{Target: "stage2", Set: map[string]int{}}, To: debugkern.TargetSpec{Target: "stage2", Faults: []string{"p-stale-m"}},
		Changes: stale, Compare: "tilescope compare stage2 stage2 --fault p-stale-m",
	}
	return doc, nil
}

// fakePair is a fake run over another: B's tiles with A's beside them.
type fakePair struct{ *fakeViewer }

func pairOf(_, b *debugkern.Run) (pairing, error) {
	v := view(b).(*fakeViewer)
	return &fakePair{v}, nil
}

func (p *fakePair) Beside(at debugkern.Place) (probes.Tile, bool) {
	v, err := (&fakeViewer{run: p.run}).View(at)
	if err != nil {
		return probes.Tile{}, false
	}
	return v.Got, true
}

func (p *fakePair) View(at debugkern.Place) (*debugkern.TileView, error) {
	v, err := p.fakeViewer.View(at)
	if err == nil {
		v.Beside, _ = p.Beside(at)
	}
	return v, err
}

func (p *fakePair) NextDiffering(from debugkern.Cell, dir int) (debugkern.Cell, bool) {
	return p.NextBad(from, dir)
}

func (p *fakePair) First(s probes.Stage) (debugkern.Cell, bool) {
	return p.NextBad(debugkern.Cell{Place: debugkern.Place{Stage: s}, Col: -1}, 1)
}

func (p *fakePair) Compare() (*debugkern.Comparison, error) {
	c := &debugkern.Comparison{Verdict: debugkern.Equal, OnlyB: []string{"V"}}
	for _, s := range p.run.Report.Stages {
		doc := debugkern.StageComparison{Name: s.Name, Verdict: debugkern.Equal, Tiles: 64, CellStats: debugkern.CellStats{Cells: 65536}}
		if p.faulty && s.Name == "P" {
			doc.Verdict, doc.Differing, doc.MaxAbs, doc.MaxULP = debugkern.Differ, 137, 1.5, 1024
			c.Verdict, c.First = debugkern.Differ, "P"
		}
		c.Stages = append(c.Stages, doc)
	}
	return c, nil
}

// pinnedAgainst is a driver with stage2 pinned as A and p-stale-m on screen as B, in Flags.
func pinnedAgainst(t *testing.T, w, h int) *driver {
	return started(t, w, h, plainLook, func(o *Options) { o.pair = pairOf }).press("4", "a").command("fault p-stale-m")
}

func TestBisectShowsTheSmallestSet(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("4", "B")
	d.hasStatus("no run is pinned")
	d = pinnedAgainst(t, 120, 40)
	d.m.req.Seed = 7 // the run on screen decides, not what is asked for next
	d.press("B").hasStatus("smallest set: +p-stale-m")
	if a, b := d.e.bisected[0], d.e.bisected[1]; len(a.Faults) != 0 || len(b.Faults) != 1 || a.Seed != b.Seed || a.Shape != b.Shape {
		t.Errorf("bisected %+v, %+v", a, b)
	}
	for _, want := range []string{"smallest set: +p-stale-m", "every smaller set was tried", "✗ diverge +p-stale-m P", "tilescope compare stage2 stage2"} {
		if !contains(d.text(), want) {
			t.Errorf("no %q:\n%s", want, d.text())
		}
	}
	n := len(d.e.asked())
	d.press("enter")
	ran := d.e.asked()[n:]
	if len(ran) != 2 || len(ran[0].Faults) != 1 || len(ran[1].Faults) != 0 {
		t.Fatalf("the pair: ran %+v", ran)
	}
	d.hasStatus("A and B differ first in P")
}

func TestCompareKernelAgainstKernel(t *testing.T) {
	d := pinnedAgainst(t, 120, 40).press("C")
	d.hasStatus("A and B differ first in P")
	for _, want := range []string{"A AGAINST B, BIT BY BIT", "P  ≠ 137/65536, most 1.5000, 1024 ulp", "S  ✓ 65536 cells equal", "only B has V"} {
		if !contains(d.text(), want) {
			t.Errorf("no %q:\n%s", want, d.text())
		}
	}
	d.press("enter")
	if c := d.m.cursor; d.m.view != keymap.Tile || c.Stage != "P" || c.KVTile != 1 || c.Row != 4 || c.Col != 9 {
		t.Fatalf("view %s, cursor %+v", d.m.view, c)
	}
	for _, want := range []string{"A stage2", "B stage2 p-stale-m", "B - A ulp", "from A"} {
		if !contains(d.text(), want) {
			t.Errorf("no %q:\n%s", want, d.text())
		}
	}
	d.press("n").hasStatus("cell where A and B differ")
	d.press("D").hasStatus("kernel, reference, error")
	d.press("4").command("unpin")
	if d.m.run.pair != nil || contains(d.press("2").text(), "B - A") {
		t.Error("A is still beside B")
	}
}

// An equal pair says so, and has nowhere to go.
func TestCompareEqual(t *testing.T) {
	d := started(t, 120, 40, plainLook, func(o *Options) { o.pair = pairOf }).press("4", "a", "C")
	d.hasStatus("equal to the bit")
	d.press("enter").hasStatus("no cell differs")
}

func TestVersusScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := pinnedAgainst(t, size[0], size[1]).press("C", "B")
			fits(t, d, "bisected")
			screen := d.text()
			d.press("C")
			fits(t, d, "compared")
			screen += "\n" + d.text()
			d.press("enter")
			fits(t, d, "beside each other")
			golden.RequireEqual(t, screen+"\n"+d.text()+"\n")
		})
	}
}

// Esc ends a bisection; its answer, when it comes, is dropped.
func TestBisectCancelled(t *testing.T) {
	d := pinnedAgainst(t, 80, 24)
	d.manual = true
	d.press("B")
	d.press("esc").hasStatus("the bisection cancelled")
	d.manual = false
	d.m.bisected(bisectedMsg{gen: d.m.task.gen, err: context.Canceled})
	if d.m.versus.bisection != nil || d.m.task.active {
		t.Error("a cancelled bisection is shown")
	}
}
