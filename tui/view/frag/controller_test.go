package frag_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/view"
	"tilescope/tui/view/frag"
	"tilescope/tui/view/viewtest"
)

// control is the view.
func control(d *viewtest.Driver) *frag.Controller {
	return viewtest.View[*frag.Controller](d, view.Frag)
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.Frag, viewtest.Request(viewtest.Faulty)) }

// The map reads the same in both directions: lane 5 element 2 is cell 9,2, and a move in the
// tile finds its lane.
func TestFragLinksGridAndTile(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Command("stage S").
		Command("goto 0,0").Press("3")
	d.Press("j", "j", "j", "j", "j", "l", "l")
	if c := d.M.Cursor; c.Row != 9 || c.Col != 2 {
		t.Fatalf("lane 5 element 2: the cursor is on %d,%d, expected 9,2", c.Row, c.Col)
	}
	if s := d.Text(); !strings.Contains(s, "lane 5 element 2 holds 9,2") ||
		!strings.Contains(s, "table says 1,10") {
		t.Errorf("cell and table:\n%s", s)
	}
	d.Press("tab", "l", "j")
	if s := d.Text(); !strings.Contains(s, "lane 9 element 3 holds 10,3") {
		t.Errorf("cell 10,3 is lane 9's:\n%s", s)
	}
	for range 13 {
		d.Press("l")
	}
	if c := d.M.Cursor; c.Col != 16 {
		t.Fatalf("cursor at column %d, expected 16", c.Col)
	}
	if s := d.Text(); !strings.Contains(s, "16×16 block 2 of 4") || !strings.Contains(s, "holds 10,0") {
		t.Errorf("the next block over:\n%s", s)
	}
}

// An iteration is named where the tile is of one: not of a stage that is computed after the loop, and not
// where the kernel has no loop.
func TestFragNamesTheIteration(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("stage S").Press("3", "L")
	d.Says(" S block 0,0,0 kv 1: 16×16 block 1 of ")
	d = viewtest.Start(t, 120, 40).Command("stage O").Press("3")
	d.Says(" O block 0,0,0: 16×16 block 1 of ")
	d = viewtest.Start(t, 120, 40)
	d.M.Run.Plan.Work.Once = true
	d.Command("stage S").Press("3").Says(" S block 0,0,0: 16×16 block 1 of ")
	if at := d.M.Where(d.M.Cursor); at != "S block 0,0,0 cell 0,0" {
		t.Errorf("the cursor is at %s", at)
	}
}

// A vector has one column: the map goes on beside it, without values, and comes back with the cursor.
func TestFragBesideAVector(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("stage m").Press("3", "l", "l", "j")
	if s := d.Text(); !strings.Contains(s, "m has no compared cell there (32×1)") ||
		!strings.Contains(s, "lane 1 element 2") {
		t.Errorf("no value beside the vector:\n%s", s)
	}
	if d.M.Cursor.Row != 8 || d.M.Cursor.Col != 0 {
		t.Errorf("cursor %d,%d, expected 8,0", d.M.Cursor.Row, d.M.Cursor.Col)
	}
}

// Padding and swizzle change the strip: a float accumulator of 64 columns conflicts 4 ways, of 72 not at all.
func TestFragBanks(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("3")
	if !strings.Contains(d.Text(), "4-way, 32") {
		t.Fatalf("64 floats a row:\n%s", d.Text())
	}
	d.Press("+", "+").HasStatus("leading dimension 72")
	if !strings.Contains(d.Text(), "✓ free, 8") {
		t.Errorf("72 floats a row:\n%s", d.Text())
	}
	d.Press("-").HasStatus("leading dimension 68")
	d.Command("frag a row").Command("ld 64")
	if !strings.Contains(d.Text(), "8-way, 32") {
		t.Errorf("ldmatrix of 64 halves a row:\n%s", d.Text())
	}
	d.Press("W", "W", "W").HasStatus("e^(n&7)*8")
	if !strings.Contains(d.Text(), "✓ free, 4") {
		t.Errorf("swizzled:\n%s", d.Text())
	}
	d.Command("ld 60")
	if !strings.Contains(d.Text(), "ldmatrix takes lines") {
		t.Errorf("rows of 120 bytes:\n%s", d.Text())
	}
	d.Press("M").HasStatus("by lane")
}

// TestPhasesNotShownAreNamed: where the strip has no room for all phases its head says which it shows.
func TestPhasesNotShownAreNamed(t *testing.T) {
	d := viewtest.Start(t, 80, 24).Press("3")
	if !strings.Contains(d.Text(), "1-6 of 8") {
		t.Errorf("six of eight phases:\n%s", d.Text())
	}
	d.Press("tab", "tab", "G")
	if !strings.Contains(d.Text(), "3-8 of 8") {
		t.Errorf("the last six:\n%s", d.Text())
	}
	d.Press("Z")
	if text := d.Text(); !strings.Contains(text, "words a bank") || strings.Contains(text, "of 8") {
		t.Errorf("all eight fit on the whole screen:\n%s", text)
	}
}

func TestFragChoices(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Press("3", "o")
	d.HasStatus("acc f32 col")
	d.Press("O").HasStatus("acc f32 row")
	d.Press("d").HasStatus("the table WMMA_ACCUM_LUT")
	if !strings.Contains(d.Text(), "TABLE WMMA_ACCUM_LUT") {
		t.Errorf("no table:\n%s", d.Text())
	}
	d.Press("n").
		HasStatus("table and hardware disagree: acc f32 row: lane 17 element 2 holds 12,2; WMMA_ACCUM_LUT says 4,10")
	d.Command("frag b")
	if !strings.Contains(d.Text(), "b f16 col on emulator: each cell twice") {
		t.Errorf("fragment b:\n%s", d.Text())
	}
	d.Press("d").HasStatus("no table of its own")
	d.Press("I").HasStatus("cuda: no GPU")
	if !strings.Contains(d.Text(), "HARDWARE b f16 col") {
		t.Errorf("the emulator's map is gone:\n%s", d.Text())
	}
	d.Command("frag z").HasStatus("no fragment")
}

// TestEveryFragmentFits draws every fragment in every reading at every cell's corner.
func TestEveryFragmentFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {111, 29}, {120, 40}, {169, 30}, {170, 50}, {200, 60}} {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Press("3")
		for range 6 {
			name := control(d).Pane().Next(1)
			for range 4 {
				d.Press("v")
				for _, keys := range []string{"gg0", "G$", "tab G$", "tab +W"} {
					for _, k := range strings.Fields(keys) {
						if k == "tab" {
							d.Press(k)
							continue
						}
						d.Press(strings.Split(k, "")...)
					}
					d.Fits(fmt.Sprintf("%s %s", name, keys))
				}
				d.Press("tab")
			}
		}
	}
}

func TestFragMouse(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("stage S").Press("3")
	d.Send(tea.MouseClickMsg{X: 70, Y: 2 + 2 + 4, Button: tea.MouseLeft})
	if control(d).Focused() != "tile" || d.M.Cursor.Row != 4 {
		t.Errorf("focus %s, row %d", control(d).Focused(), d.M.Cursor.Row)
	}
	d.Send(tea.MouseClickMsg{X: 7, Y: 2 + 2 + 6, Button: tea.MouseLeft})
	if control(d).Focused() != "lanes" || !strings.Contains(d.Text(), "lane 6 element 0 holds 1,4") {
		t.Errorf("focus %s:\n%s", control(d).Focused(), d.Text())
	}
	d.Send(tea.MouseClickMsg{X: 7, Y: 30, Button: tea.MouseLeft})
	if control(d).Focused() != "banks" {
		t.Errorf("focus %s", control(d).Focused())
	}
	d.Send(tea.MouseWheelMsg{X: 70, Y: 8, Button: tea.MouseWheelDown})
	if d.M.Cursor.Row != 2 || control(d).Focused() != "banks" {
		t.Errorf("the wheel over the tile: row %d, focus %s", d.M.Cursor.Row, control(d).Focused())
	}
}

// A header's table stands in for the kernel's, and goes away again.
func TestFragHeader(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("header none.h")
	d.HasStatus("none.h: no initialised")
	d.Command("header my_lut.h").HasStatus("my_lut.h: covers every cell, order wrong")
	if s := d.Text(); !strings.Contains(s, "✗ my_lut.h covers every cell, order wrong in 128 of 256") {
		t.Errorf("header:\n%s", s)
	}
	d.Press("3", "y").HasStatus("copied")
	d.Command("header -").HasStatus("the kernel's own table again")
	if s := d.Text(); !strings.Contains(s, "stage2 has no table of its own") {
		t.Errorf("after -:\n%s", s)
	}
}

// Fragments of mma.sync and ldmatrix are chosen by the words of their names; o stays with the instruction.
func TestFragOfInstructions(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("stage S").Command("goto 3,20")
	d.Command("fragment mma.m16n8k16 f16 b").HasStatus("fragment: m16n8k16 b f16 col")
	d.Says("HARDWARE m16n8k16 b f16 col", "by the PTX ISA: each cell once", "16×8 block 3 of 8")
	if c := d.M.Cursor; c.Row != 3 || c.Col != 20 {
		t.Errorf("the cursor went to %d,%d", c.Row, c.Col)
	}
	d.Says("holds 3,4")
	d.Press("o").HasStatus("fragment: m16n8k16 acc f32 row")
	d.Command("frag a bf16").HasStatus("fragment: m16n8k16 a bf16 row")
	d.Command("fragment ldmatrix.x4 trans").HasStatus("fragment: ldmatrix.x4.trans matrix b16 row")
	d.Says("lane 17 element 1 holds 3,4")
	d.Command("fragment wmma acc f16").HasStatus("fragment: acc f16 row")
	d.Command("fragment m16n8k99").HasStatus("no fragment")
}

// The kernel's tables are shown with the fragments that they are of; a cell with two owners names both, and
// the one without says so.
func TestFragTables(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Command("stage S").Command("goto 0,0")
	d.Command("table").HasStatus("table 1 of 2: WMMA_ACCUM_LUT")
	d.Command("table").HasStatus("table 2 of 2: B_LUT at sdpa_fp8_stage_c_wmma.cu:40, e opens it")
	d.Says("TABLE B_LUT", "m16n8k16 b f16 col")
	d.Press("n").HasStatus("lane 3 element 0 holds 6,0; B_LUT says 4,0")
	d.Says("lane 3 element 0 holds 6,0 ✗ table says 4,0 ✗ 6,0 has no owner · ")
	d.Press("v", "v").HasStatus("the tile shows: owners")
	d.Says("OWNERS by B_LUT", "6,0 has no owner")
	d.Press("tab", "k", "k").Says("4,0 has 2 owners: lane 2 e0, lane 3 e0")
	if file, line := d.M.SourcePlace(); file != "sdpa_fp8_stage_c_wmma.cu" || line != 40 {
		t.Errorf("the table is at %s:%d", file, line)
	}
	d.Command("table WMMA_ACCUM_LUT").Says("TABLE WMMA_ACCUM_LUT", "acc f32 row")
	d.Command("table none").HasStatus("no table")
	d.Command("fragment m16n8k16 a").Says("WMMA_ACCUM_LUT is of acc f32 row: :table shows it")
	viewtest.Start(t, 80, 24).Command("table").HasStatus("no lookup table whose content fits")
}

// TestLargeFragmentsFit draws fragments of few and of many rows and columns in every reading.
func TestLargeFragmentsFit(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty)).Press("3")
		for _, name := range []string{"m16n8k256 a", "m16n8k256 b", "m16n8k16 acc f32", "m8n8k4 a",
			"m16n8k128 sp a",
			"ldmatrix.x1", "ldmatrix.x4", "m16n8k16 b f16"} {
			d.Command("fragment " + name).HasStatus("fragment: ")
			for range 5 {
				d.Press("v")
				for _, keys := range []string{"g g 0", "G $", "tab G $", "tab + W M", "tab"} {
					d.Press(strings.Fields(keys)...)
					d.Fits(name + " " + keys)
				}
			}
		}
	}
}

// TestHeadersAreOfferedFirst: of a folder's files those that may have a table, headers first.
func TestHeadersAreOfferedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.cu", "b.txt", "my_lut.h", "n.svg"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("inc", 0o700); err != nil {
		t.Fatal(err)
	}
	v := control(viewtest.Start(t, 120, 40))
	for _, c := range v.Commands() {
		if c.Name != "header" {
			continue
		}
		if got := strings.Join(c.Complete(""), " "); got != "my_lut.h inc/ a.cu" {
			t.Errorf("offered %q", got)
		}
	}
}

// TestNoFragmentIsKnown: where the introspection kernel cannot run, a choice says so, and lists nothing.
func TestNoFragmentIsKnown(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Device("cuda", 0)).Command("fragment foo")
	d.HasStatus("no fragment is known: no GPU")
	if d.M.Status.Text == "" || strings.Contains(d.M.Status.Text, "such as") {
		t.Errorf("%s", d.M.Status.Text)
	}
}

// TestBanksAreExplained: the legend of the strip has its title, its rows and their right end as they are now,
// and the strip itself has it where there is room.
func TestBanksAreExplained(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Open(view.Frag).Press("tab", "tab", "?")
	d.Says("4-way, 32/8", "0-1 ", "element 0-1 of lanes 0-15", "ld 64", "leading dimension", "4× ")
	d.Press("esc").Command("fragment a f16 row").Press("?")
	d.Says("8-way, 32 for 4", "lines 0-7, chunk 0", "one access: lines 0-7 of the tile, and in them chunk 0 of 16")
	d = viewtest.Start(t, 200, 60).Open(view.Frag)
	d.Says("0-1: a row is one access: element 0-1 of lanes", "4-way, 32/8: an access takes up to 4 turns")
	d.Fits("frag")
}

// A fragment is chosen for a target: another one, and :reset, have the first fragment again, and say so.
func TestFragGoesBack(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("fragment m16n8k16 a")
	d.Says("m16n8k16 a f16 row by")
	d.Command("swizzle 3").Command("variant stage1").Open(view.Frag).Says("acc f32 row on", "no swizzle")
	d.Command("fragment m16n8k16 a").Command("seed 1").Open(view.Frag).Says("m16n8k16 a f16 row by")
	d.Command("reset").HasStatus("fragment m16n8k16 a f16 row")
	d.Open(view.Frag).Says("acc f32 row on")
	d.Command("fragment m16n8k16 a").Command("reset")
	d.HasStatus("reset: fragment m16n8k16 a f16 row")
	d.Command("reset").HasStatus("at its default already")
}

// TestResetNamesWhatItTakesBack: each choice of the view that :reset takes back is named, and no other; a
// header stays with the target for which it was judged.
func TestResetNamesWhatItTakesBack(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Open(view.Frag)
	for command, want := range map[string]string{
		"swizzle 3": "reset: swizzle 3", "ld 80": "reset: leading dimension 80",
		"header my_lut.h": "reset: header my_lut.h",
	} {
		d.Command(command).Command("reset").HasStatus(want)
		if text := d.M.Status.Text; strings.Contains(text, "fragment") {
			t.Errorf("%s: %q", command, text)
		}
		d.Command("reset").HasStatus("at its default already")
	}
	d.Command("header my_lut.h").Command("variant stage1").Open(view.Frag)
	if s := d.Text(); strings.Contains(s, "my_lut.h") {
		t.Errorf("the header is of another target:\n%s", s)
	}
}

// A fragment that is not there names those that are like it.
func TestNearFragments(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Open(view.Frag)
	d.Command("fragment m64n128k16 acc").HasStatus("such as wgmma.m64n128 acc ")
	d.Command("fragment m16n8k16 acc b16").HasStatus("such as m16n8k16 acc ")
}
