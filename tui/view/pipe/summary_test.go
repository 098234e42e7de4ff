package pipe

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/outcome"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// TestShareText: how much of its bound an error takes.
func TestShareText(t *testing.T) {
	inf := report.Number(math.Inf(1))
	for want, e := range map[string]report.ErrorStats{
		"exact": {}, "0 %": {Bound: 1}, "25 %": {Error: 0.25, Bound: 1}, "100 %": {Error: 1, Bound: 1},
		"99.9 %": {Error: 0.99999, Bound: 1},
		"×9.99":  {Error: 9.99, Bound: 1}, "×10": {Error: 10, Bound: 1}, "×12k": {Error: 12e3, Bound: 1},
		"×1e+12": {Error: 1e12, Bound: 1},
	} {
		if got := shareText(&e); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	for _, e := range []report.ErrorStats{{Error: 1}, {Error: inf, Bound: 1}, {Error: inf, Bound: inf}} {
		if got := shareText(&e); got != "" {
			t.Errorf("%+v: %q", e, got)
		}
	}
}

// TestUnreachedIsNotOff: a stage that execution did not reach has no word of a gate and no figures, and an
// output without any element written has no figure of an error.
func TestUnreachedIsNotOff(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	r := row{
		plan: &probes.StagePlan{Stage: "K"},
		doc:  &report.Stage{Name: "K", Verdict: report.Off, NotReached: 4},
	}
	if _, text := p.tilesCell(r, &view.StageSummary{Off: 4}); text != "unreached" {
		t.Errorf("not reached: %q", text)
	}
	r.doc.NotReached = 0
	if _, text := p.tilesCell(r, &view.StageSummary{Off: 4}); !strings.HasSuffix(text, "off") {
		t.Errorf("left out: %q", text)
	}
	for _, doc := range []report.Stage{
		{Verdict: report.Off, NotReached: 4}, {Verdict: report.Tainted, Unwritten: true},
	} {
		r.doc = &doc
		for _, c := range columns[1:] {
			if _, text := c.cell(p, r, &view.StageSummary{}); text != "" {
				t.Errorf("%+v: %s has %q", doc, c.head, text)
			}
		}
	}
}

// TestSpareColumn: the share of the bound is shown where it costs no kv tile in view, or where eight stay;
// heads and cells of every column end at the same place, and nothing is wider than the pane.
func TestSpareColumn(t *testing.T) {
	for _, c := range []struct {
		width, tiles, fit int
		spare             bool
	}{
		{80, 4, 4, false}, {80, 2, 2, true}, {80, 1, 2, true}, {120, 4, 4, false}, {200, 4, 11, true},
		{200, 64, 11, true}, {160, 64, 8, false},
	} {
		p := NewPane(theme.New(theme.Options{}))
		p.data.Plan = &probes.Plan{Work: probes.Work{MaxTiles: c.tiles}}
		p.SetSize(c.width, 40)
		list, width := p.shown()
		if got := slices.ContainsFunc(list, func(c column) bool { return c.spare }); got != c.spare ||
			p.fit() != c.fit {
			t.Errorf("%d columns, %d tiles: spare %t, %d tiles fit", c.width, c.tiles, got, p.fit())
		}
		l := p.Theme.Line(p.innerWidth())
		if p.summaryHead(l); l.Col() != width || timelineWidth(min(p.fit(), c.tiles))+width > p.innerWidth() {
			t.Errorf("%d columns, %d tiles: heads take %d of %d", c.width, c.tiles, l.Col(), p.innerWidth())
		}
	}
}

// TestFigureEndsWhereNumbersDo: what is no number begins where the digits of others begin.
func TestFigureEndsWhereNumbersDo(t *testing.T) {
	for want, v := range map[string]float64{
		"0       ": 0, "1.50e-06": 1.5e-6, "NaN     ": math.NaN(), "+Inf    ": math.Inf(1),
	} {
		if got := figure(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

// TestKernelWithoutALoop: no tile is counted, and the column is not called by a loop's name.
func TestKernelWithoutALoop(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	p.data.Plan = &probes.Plan{Grid: probes.Dim3{5, 1, 1}, Work: probes.Work{MaxTiles: 1, Once: true}}
	p.SetSize(80, 24)
	if got := p.note(); got != "5 blocks" {
		t.Errorf("the note is %q", got)
	}
	if got := p.headLine(78); !strings.Contains(got, " tile ") || strings.Contains(got, "kv") {
		t.Errorf("the columns are %q", got)
	}
}

// TestAGuessedLaunchIsSaidOnce: the verdict says that the launch is guessed, and next to it which; a line
// that is cut has one ellipsis.
func TestAGuessedLaunchIsSaidOnce(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	r := &report.Run{Verdict: report.Diverge, Guess: "the launch is a guess: --grid 6 --block 128",
		Stages: []report.Stage{{Name: "result", Verdict: report.Wrong}},
		Guilty: []report.Guilty{{Stage: "result", KVTile: -1}}}
	p.data.Run = outcome.New("k", r, false)
	for w := 30; w < 120; w++ {
		line := ansi.Strip(p.verdictLine(w))
		if strings.Contains(line, "is a guess") || strings.Count(line, "…") > 1 {
			t.Errorf("%d columns: %q", w, line)
		}
	}
	if line := ansi.Strip(p.verdictLine(119)); !strings.Contains(line,
		"✗ DIVERGE, LAUNCH GUESSED  --grid 6 --block 128 · guilty result") {
		t.Errorf("%q", line)
	}
}

// TestNotCapturedIsNoTick: a stage with cells that were not captured counts them, and is not shown as right.
func TestNotCapturedIsNoTick(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	r := row{plan: &probes.StagePlan{Stage: "pre"}, doc: &report.Stage{NotCaptured: 49}}
	if _, got := p.tilesCell(r, &view.StageSummary{OK: 4}); got != "∅49" {
		t.Errorf("%q", got)
	}
	r.doc.NotCaptured = 0
	if _, got := p.tilesCell(r, &view.StageSummary{OK: 4}); got != "✓4" {
		t.Errorf("%q", got)
	}
}
