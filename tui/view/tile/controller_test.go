package tile_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/tile"
	"tilescope/tui/view/viewtest"

	"github.com/charmbracelet/x/exp/golden"
)

// control is the view.
func control(d *viewtest.Driver) *tile.Controller {
	return viewtest.View[*tile.Controller](d, view.Tile)
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.Tile, viewtest.Request(viewtest.Faulty)) }

// TestOutputHasRoomForItsError: the name of the output is shortened before it touches the largest error.
func TestOutputHasRoomForItsError(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Engine(func(e *tuitest.Engine) {
		e.Document = func(r *report.Run) { r.Output.MaxAbs = 0.000821 }
	})).Press("2")
	if text := d.Text(); strings.Contains(text, "outputmax") || !strings.Contains(text, " max 0.000821") {
		t.Errorf("the largest error:\n%s", text)
	}
}

func TestColumnsBesideEachOther(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(debugkern.Request{Target: "stage2", Backend: "both"}),
		viewtest.Engine((*tuitest.Engine).TwoH200)).Press("2")
	d.Command("stage P").Command("kv 1").Press("D").HasStatus("GPU, emulator, reference, error")
	for _, want := range []string{"GPU f16", "EMULATOR ≠25", "REFERENCE", "ERROR"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.Text())
		}
	}
	d.Press("n")
	if c := d.M.Cursor; c.Row != 0 || c.Col != 3 || c.Stage != "P" {
		t.Errorf("n went to %+v, expected the first differing cell", c)
	}
	if !strings.Contains(d.Text(), "≠ +1 ulp") {
		t.Errorf("the cell's line does not tell the difference:\n%s", d.Text())
	}
	d.Press("n", "N", "D").HasStatus("difference")
	golden.RequireEqual(t, d.Text()+"\n")
	if d.Press("D"); strings.Contains(d.Text(), "EMULATOR") {
		t.Error("the third D does not go back")
	}
	d.Press("D").Command("stage S").Press("n").HasStatus("no cell where GPU and emulator differ in S")
}

func TestFourColumnsFit(t *testing.T) {
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(debugkern.Request{
			Target: "stage2", Backend: "both",
		}), viewtest.Engine((*tuitest.Engine).TwoH200)).Press("2", "D")
		for _, stage := range []string{"Q", "S", "m", "P", "U"} {
			d.Command("stage "+stage).Press("$", "G")
			for range 3 {
				for range 3 {
					d.Fits(stage)
					d.Press("z")
				}
				d.Press("D")
			}
		}
	}
}

func TestColumnsWithoutASecondBackend(t *testing.T) {
	d := viewtest.Start(t, 80, 24).Press("2", "D")
	d.HasStatus("backend both")
	if strings.Contains(d.Text(), "EMULATOR") {
		t.Error("columns changed all the same")
	}
}

func TestWriterIsAskedForOnceTheCursorRests(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty)).Press("2")
	if !strings.Contains(d.Text(), "warp 0 lane 9 acc[5] of mma #4 · smem 0x0112 bank 4 · stored at line 64") {
		t.Errorf("no writer:\n%s", d.Text())
	}
	d.Manual = true
	d.Press("j")
	passed := d.Kept
	d.Kept = nil
	d.Press("j")
	d.Manual = false
	n := d.E.WritersAsked()
	for _, c := range passed {
		d.Do(c)
	}
	if d.E.WritersAsked() != n {
		t.Error("the writer of a cell that was passed over was looked for")
	}
	if strings.Contains(d.Text(), "line 64") {
		t.Error("the old cell's writer is still there")
	}
	d.Manual = false
	d.Press("w").HasStatus("st.shared.b16")
}

// TestEveryTileSettingFits draws the Tile view in every format, measure and heat mode, on
// tiles of both widths.
func TestEveryTileSettingFits(t *testing.T) {
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Press("2")
		for _, stage := range []string{"Q", "S", "m", "P", "U"} {
			d.Command("stage "+stage).Press("$", "G")
			for f := range 5 {
				for x := range 4 {
					for z := range 3 {
						s := control(d).Pane().Settings()
						s.Format, s.Diff, s.Heat = cell.Format(f), cell.Diff(x), tile.Heat(z)
						control(d).Pane().Set(s)
						d.Fits(fmt.Sprintf("stage %s format %s diff %s heat %s", stage, s.Format,
							s.Diff, s.Heat))
					}
				}
			}
		}
	}
}

func TestHeatMapShowsWholeTileAt120(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("stage S").Press("2", "z")
	if n := strings.Count(d.Text(), "k24"); n != 3 {
		t.Errorf("%d of 3 maps reach column 24:\n%s", n, d.Text())
	}
	if control(d).Rail() != 0 {
		t.Error("the rail should make room")
	}
	if d.Press("z"); control(d).Rail() == 0 {
		t.Error("the rail should come back")
	}
}

// Beside a very wide tile stands the lane that holds the cursor's cell, once the cursor rests.
func TestLaneBesideTheTile(t *testing.T) {
	d := viewtest.Start(t, 200, 60).Command("stage S").Press("2").Command("goto 9,3")
	if s := d.Text(); !strings.Contains(s, "┌LANE 5 of acc f32 row─") || !strings.Contains(s, "▸  3   9,3") {
		t.Errorf("no lane:\n%s", s)
	}
	d.Manual = true
	if d.Press("j", "j"); !strings.Contains(d.Text(), "┌LANE 5 of acc f32 row─") {
		t.Error("the lane should stay until the cursor rests")
	}
}

func TestHeatMapScreen(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty))
	golden.RequireEqual(t, d.Press("2", "z").Text()+"\n")
}

// TestHeatMapWithoutColour: with colours every cell of the map has the digit of its ground, so that what it
// says does not depend on seeing colours; without them a shade.
func TestHeatMapWithoutColour(t *testing.T) {
	row := func(options ...viewtest.Option) string {
		d := viewtest.Start(t, 80, 24, options...).Press("2", "z").Command("goto 9,9")
		for _, line := range strings.Split(d.Text(), "\n") {
			if strings.HasPrefix(line, "│q2 ") {
				return strings.Split(line, "│")[1]
			}
		}
		t.Fatal("no row q2")
		return ""
	}
	digits, shades := strings.TrimSpace(row(viewtest.Colour)[3:]), strings.TrimSpace(row()[3:])
	if len(digits) < 16 || strings.Trim(digits, "0123456789") != "" {
		t.Errorf("with colours: %q, expected a digit a cell", digits)
	}
	if strings.Trim(shades, " ░▒▓█") != "" || !strings.ContainsAny(shades, "░▒▓█") {
		t.Errorf("without colours: %q, expected shades", shades)
	}
}

// TestSettings: every key of the view changes what its title or its tab line says, and the next
// session takes it up.
func TestSettings(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Press("2")
		d.Says("fixed", "ulp", "derived")
		for _, s := range [][2]string{
			{"v", "numbers: sci"}, {"d", "error: off"}, {"t", "bound: 1 ulp"}, {"T", "bound: derived"},
			{"z", "heat: map"}, {"f", "follows the cell's writer: off"},
		} {
			d.Press(s[0]).HasStatus(s[1])
		}
		d.Says(map[int]string{80: "sci Δoff≤derived",
			120: "sci · no error column · bound derived"}[size[0]])
		kept := map[string]string{}
		control(d).Remember(kept)
		again := viewtest.Start(t, size[0], size[1])
		control(again).Recall(kept)
		if got := control(again).Pane().Settings(); got.Format != control(d).Pane().Settings().Format ||
			got.Heat != tile.HeatMap || again.M.Numbers.Format != got.Format {
			t.Errorf("taken up %+v of %v", got, kept)
		}
	}
}

// TestFocusAndSizes: the focus key goes through the columns, the source and the rail, as far as
// there is room for them.
func TestFocusAndSizes(t *testing.T) {
	for _, c := range []struct {
		w, h  int
		parts []view.Part
	}{
		{80, 24, []view.Part{"kernel", "reference", "error"}},
		{120, 40, []view.Part{"kernel", "reference", "error", "source", "stages"}},
	} {
		d := viewtest.Start(t, c.w, c.h).Press("2")
		for _, want := range append(c.parts[1:len(c.parts):len(c.parts)], c.parts[0]) {
			d.Press("tab").HasStatus("focus: " + string(want))
			if got := control(d).Focused(); got != want {
				t.Errorf("%dx%d: focus %s, expected %s", c.w, c.h, got, want)
			}
		}
		if d.Press("+").HasStatus("kernel: width 12"); control(d).Pane().
			Settings().Weight[tile.Kernel] != 12 {
			t.Error("the column is no wider")
		}
	}
}

// TestSearchInTheTile: a match is a cell, and what cannot be read is refused.
func TestSearchInTheTile(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty)).Press("2").Command("kv 1").
		Press("g", "g", "0")
	d.Type("/>1.9").Press("enter")
	c := d.M.Cursor
	if got := d.M.Tiles.Views[d.M.At()].Got.At(c.Row, c.Col); got <= 1.9 {
		t.Errorf("stopped on %g", got)
	}
	if d.Press("n"); d.M.Cursor == c {
		t.Error("n stayed")
	}
	d.Type("&nonsense").Press("enter").HasStatus("none of nan, inf")
	d.Type("&bad").Press("enter").HasStatus("only bad is shown")
	d.Says("&bad", "/>1.9")
	if d.Press("esc"); strings.Contains(d.Text(), "&bad") || strings.Contains(d.Text(), "/>1.9") {
		t.Errorf("Esc leaves search or filter:\n%s", d.Text())
	}
	d.Type("&nan").Press("enter").HasStatus("nothing here matches nan, so that nothing is shown; Esc")
}

// TestLineage: W opens the tree of what the cell is made of in the place of the tile, Enter goes to an
// operation in Source, and W, Esc and q close it.
func TestLineage(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Press("2", "W")
	d.Says("HOW P q4,k9 CAME ABOUT",
		"└─ stored to sS[3][17] = 0.5, warp 1 lane 12, sdpa_fp8_stage_c_wmma.cu:88",
		"└─ a · b = 0.5, warp 1 lane 12, line 87",
		"a: sum of 64 products: Q[0][1][3][0..63] · K[0][1][17][0..63] = 0.5", "b: softmax_scale = 0.125")
	d.Press("+").HasStatus("its width is fixed")
	d.Press("_").HasStatus("its width is fixed")
	for _, key := range []string{"d", "v", "z", "t", "D"} {
		d.Press(key).HasStatus("which the tree covers: W or Esc goes back to it")
	}
	d.Press("j", "j", "j").Says("84") // the source follows
	golden.RequireEqual(t, d.Text()+"\n")
	if strings.Contains(d.Text(), "REFERENCE") {
		t.Errorf("the tile is still there:\n%s", d.Text())
	}
	for _, key := range []string{"W", "esc", "q"} {
		d.Press(key)
		if text := d.Text(); strings.Contains(text, "CAME ABOUT") || !strings.Contains(text, "REFERENCE") {
			t.Errorf("%s does not close it:\n%s", key, d.Text())
		}
		d.Press("W")
	}
	d.Press("enter")
	d.HasStatus("before warp 1 lane 12: stored to sS[3][17]")
	d.Press("2", "j", "j", "enter")
	d.HasStatus("before warp 1 lane 12: a · b")
	if d.M.Root.Showing() != view.Source {
		t.Errorf("Enter shows %s", d.M.Root.Showing())
	}
}

// TestLineageFits: the tree fits every size, at any place of it.
func TestLineageFits(t *testing.T) {
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Press("2", "W")
		for _, keys := range []string{"j j l", "l l l", "G", "h", "g g", "$", "0", "ctrl+d", "ctrl+u"} {
			d.Press(strings.Fields(keys)...)
			d.Fits(keys)
		}
	}
}

// TestLineageOfNothing: why there is no tree stands in its place; the next cell gets its own.
func TestLineageOfNothing(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty)).Press("2", "g", "g", "0", "j", "W")
	d.Says("cell 1 of the fake engine has no lineage")
	d.Press("W", "j", "W").Says("sum of 64 products")
}

// TestVerdictOfACellIsNotCut: at every size the cell's line ends with its verdict and the whole bound; where
// there is no room for all, it gives up the bits, which v shows too.
func TestVerdictOfACellIsNotCut(t *testing.T) {
	whole := regexp.MustCompile(`Δ +\S.*[✗✓] [>≤] (bound )?(\d\.\de[-+]\d\d|\d+ ulp) *│`)
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Press("2")
		for _, stage := range []string{"P", "U", "O"} {
			d.Command("stage " + stage).Command("goto 0,0")
			for range 12 {
				d.Press("j", "l")
				for _, line := range strings.Split(d.Text(), "\n") {
					if strings.Contains(line, "Δ ") && !whole.MatchString(line) {
						t.Errorf("%v %s: %s", size, stage, line)
					}
				}
			}
		}
	}
}

// TestLegendHasTheWordsOfTheTabLine: at every width the help explains the settings as they are written above.
func TestLegendHasTheWordsOfTheTabLine(t *testing.T) {
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Press("2")
		words := []string{"error in ulp", "bound derived"}
		if size[0] < 100 {
			words = []string{"Δulp", "≤derived"}
		}
		d.Says(words...)
		d.Press("?").Says(words...)
		if size[0] < 100 { // too narrow for both
			continue
		}
		d.Press("esc", "Z")
		if tabs := strings.Split(d.Text(), "\n")[1]; !strings.Contains(tabs, "zoom") ||
			!strings.HasSuffix(strings.TrimRight(tabs, " "), "derived") {
			t.Errorf("%v: zoom takes the room of the settings: %s", size, tabs)
		}
		d.Press("Z", "/").Type(">0.5").Press("enter")
		if tabs := strings.Split(d.Text(), "\n")[1]; !strings.Contains(tabs, "/>0.5 fixed") ||
			!strings.HasSuffix(strings.TrimRight(tabs, " "), "derived") {
			t.Errorf("%v: a search takes the room of the settings: %s", size, tabs)
		}
	}
}

// TestWhoSaysFirstWhatIsNew: the answer of w begins with what w does next, because its end may be cut, and
// pads no number.
func TestWhoSaysFirstWhatIsNew(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Press("2", "w")
	d.HasStatus("w opens it · step 1203 · ptx 412: st.shared.b16 [%rd4+64], %rs12; · warp 0 lane 9 acc[5] of mma #4 · ")
}

// TestRailMarksFindings: an error as one, advice as Races marks it.
func TestRailMarksFindings(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Press("2")
	d.M.Run.Report.Findings[0].Severity = "error"
	d.Resize(120, 41).Says("✗ 1 finding")
	d.M.Run.Report.Findings[0].Severity = "advice"
	d.Resize(120, 40).Says("~ 1 finding")
}

// TestWhatTheMapDoesNotShow: in the map a change of how numbers and errors are written says that none are
// shown.
func TestWhatTheMapDoesNotShow(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Open(view.Tile)
	d.Press("v").HasStatus("numbers: ")
	if s := d.M.Status.Text; strings.Contains(s, "once z") {
		t.Errorf("numbers are shown: %q", s)
	}
	d.Command("heat map").Press("v").HasStatus(", once z shows numbers")
	d.Press("d", "d", "d").HasStatus(", once z shows numbers")
	d.Command("format bits").HasStatus("format: bits, once z shows numbers")
	d.Command("diff off")
	if s := d.M.Status.Text; strings.Contains(s, "once z") {
		t.Errorf("the map loses its error column: %q", s)
	}
	d.Press("z", "v")
	if s := d.M.Status.Text; strings.Contains(s, "once z") {
		t.Errorf("numbers are shown: %q", s)
	}
}

// TestBarsHaveALabel: the histogram of a tile is named at every width that shows it, and makes room for what
// is known of the pattern of bad cells.
func TestBarsHaveALabel(t *testing.T) {
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Open(view.Tile)
		d.Says("explains 98 %")
		if size[0] == 80 && strings.Contains(d.Text(), "÷ bound") {
			t.Errorf("no room for bars:\n%s", d.Text())
		}
		d.Command("stage S").Says("÷ bound ")
	}
}
