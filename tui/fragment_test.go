package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// The map reads the same in both directions: lane 5 element 2 is cell 9,2, and a move in the tile finds its lane.
func TestFragLinksGridAndTile(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).command("stage S").command("goto 0,0").press("3")
	d.press("j", "j", "j", "j", "j", "l", "l")
	if c := d.m.cursor; c.Row != 9 || c.Col != 2 {
		t.Fatalf("lane 5 element 2: the cursor is on %d,%d, expected 9,2", c.Row, c.Col)
	}
	if s := d.text(); !contains(s, "lane 5 element 2 holds 9,2") || !contains(s, "table says 1,10") {
		t.Errorf("cell and table:\n%s", s)
	}
	d.press("tab", "l", "j")
	if s := d.text(); !contains(s, "lane 9 element 3 holds 10,3") {
		t.Errorf("cell 10,3 is lane 9's:\n%s", s)
	}
	for range 13 {
		d.press("l")
	}
	if c := d.m.cursor; c.Col != 16 {
		t.Fatalf("cursor at column %d, expected 16", c.Col)
	}
	if s := d.text(); !contains(s, "16×16 block 2 of 4") || !contains(s, "holds 10,0") {
		t.Errorf("the next block over:\n%s", s)
	}
}

// A vector has one column: the map goes on beside it, without values, and comes back with the cursor.
func TestFragBesideAVector(t *testing.T) {
	d := started(t, 120, 40, plainLook).command("stage m").press("3", "l", "l", "j")
	if s := d.text(); !contains(s, "m has no compared cell there (32×1)") || !contains(s, "lane 1 element 2") {
		t.Errorf("no value beside the vector:\n%s", s)
	}
	if d.m.cursor.Row != 8 || d.m.cursor.Col != 0 {
		t.Errorf("cursor %d,%d, expected 8,0", d.m.cursor.Row, d.m.cursor.Col)
	}
}

// Padding and swizzle change the strip: a float accumulator of 64 columns conflicts 4 ways, of 72 not at all.
func TestFragBanks(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("3")
	if !contains(d.text(), "4-way, 32") {
		t.Fatalf("64 floats a row:\n%s", d.text())
	}
	d.press("+", "+").hasStatus("leading dimension 72")
	if !contains(d.text(), "✓ free, 8") {
		t.Errorf("72 floats a row:\n%s", d.text())
	}
	d.press("-").hasStatus("leading dimension 68")
	d.command("frag a row").command("ld 64")
	if !contains(d.text(), "8-way, 32") {
		t.Errorf("ldmatrix of 64 halves a row:\n%s", d.text())
	}
	d.press("W", "W", "W").hasStatus("e^(n&7)*8")
	if !contains(d.text(), "✓ free, 4") {
		t.Errorf("swizzled:\n%s", d.text())
	}
	d.command("ld 60")
	if !contains(d.text(), "ldmatrix takes lines") {
		t.Errorf("rows of 120 bytes:\n%s", d.text())
	}
	d.press("M").hasStatus("by lane")
}

func TestFragChoices(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).press("3", "o")
	d.hasStatus("acc f32 col")
	d.press("O").hasStatus("acc f32 row")
	d.press("d").hasStatus("the kernel's own table")
	if !contains(d.text(), "TABLE WMMA_ACCUM_LUT") {
		t.Errorf("no table:\n%s", d.text())
	}
	d.press("n").hasStatus("table and hardware disagree: acc f32 row: lane 17 element 2 holds 12,2; WMMA_ACCUM_LUT says 4,10")
	d.command("frag b")
	if !contains(d.text(), "b f16 col on emulator: each cell twice") {
		t.Errorf("fragment b:\n%s", d.text())
	}
	d.press("d").hasStatus("no table of its own")
	d.press("I").hasStatus("cuda: no GPU")
	if !contains(d.text(), "HARDWARE b f16 col") {
		t.Errorf("the emulator's map is gone:\n%s", d.text())
	}
	d.command("frag z").hasStatus("no fragment")
}

// TestEveryFragmentFits draws every fragment in every reading at every cell's corner.
func TestEveryFragmentFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {111, 29}, {120, 40}, {169, 30}, {170, 50}, {200, 60}} {
		d := started(t, size[0], size[1], plainLook, withRequest(faulty)).press("3")
		for range 6 {
			name := d.m.pane.frag.Next(1)
			for range 4 {
				d.press("v")
				for _, keys := range []string{"gg0", "G$", "tab G$", "tab +W"} {
					for _, k := range strings.Fields(keys) {
						if k == "tab" {
							d.press(k)
							continue
						}
						d.press(strings.Split(k, "")...)
					}
					fits(t, d, fmt.Sprintf("%s %s", name, keys))
				}
				d.press("tab")
			}
		}
	}
}

func TestFragMouse(t *testing.T) {
	d := started(t, 120, 40, plainLook).command("stage S").press("3")
	d.send(tea.MouseClickMsg{X: 70, Y: 2 + 2 + 4, Button: tea.MouseLeft})
	if d.m.focused() != partCells || d.m.cursor.Row != 4 {
		t.Errorf("focus %s, row %d", d.m.focused(), d.m.cursor.Row)
	}
	d.send(tea.MouseClickMsg{X: 7, Y: 2 + 2 + 6, Button: tea.MouseLeft})
	if d.m.focused() != partGrid || !contains(d.text(), "lane 6 element 0 holds 1,4") {
		t.Errorf("focus %s:\n%s", d.m.focused(), d.text())
	}
	d.send(tea.MouseClickMsg{X: 7, Y: 30, Button: tea.MouseLeft})
	if d.m.focused() != partBanks {
		t.Errorf("focus %s", d.m.focused())
	}
	d.send(tea.MouseWheelMsg{X: 70, Y: 8, Button: tea.MouseWheelDown})
	if d.m.cursor.Row != 2 || d.m.focused() != partBanks {
		t.Errorf("the wheel over the tile: row %d, focus %s", d.m.cursor.Row, d.m.focused())
	}
}

func TestHeatMapShowsWholeTileAt120(t *testing.T) {
	d := started(t, 120, 40, plainLook).command("stage S").press("2", "z")
	if n := strings.Count(d.text(), "k24"); n != 3 {
		t.Errorf("%d of 3 maps reach column 24:\n%s", n, d.text())
	}
	if d.m.frame.rail != 0 {
		t.Error("the rail should make room")
	}
	if d.press("z"); d.m.frame.rail == 0 {
		t.Error("the rail should come back")
	}
}

// A header's table stands in for the kernel's, and goes away again.
func TestFragHeader(t *testing.T) {
	d := started(t, 120, 40, plainLook).command("header none.h")
	d.hasStatus("none.h: no initialised")
	d.command("header my_lut.h").hasStatus("my_lut.h: covers every cell, order wrong")
	if s := d.text(); !contains(s, "✗ my_lut.h covers every cell, order wrong in 128 of 256") {
		t.Errorf("header:\n%s", s)
	}
	d.press("3", "y").hasStatus("copied")
	d.command("header -").hasStatus("the kernel's own table again")
	if s := d.text(); !contains(s, "stage2 has no table of its own") {
		t.Errorf("after -:\n%s", s)
	}
}

// Beside a very wide tile stands the lane that holds the cursor's cell, once the cursor rests.
func TestLaneBesideTheTile(t *testing.T) {
	d := started(t, 200, 60, plainLook).command("stage S").press("2").command("goto 9,3")
	if s := d.text(); !contains(s, "┌LANE 5─") || !contains(s, "▸  3   9,3") {
		t.Errorf("no lane:\n%s", s)
	}
	d.manual = true
	if d.press("j", "j"); !contains(d.text(), "┌LANE 5─") {
		t.Error("the lane should stay until the cursor rests")
	}
}
