package tui_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/debugkern/checkrun"
	"tilescope/probes"
	"tilescope/tui"
	"tilescope/tui/keymap"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// opened is a terminal on a kernel of debugkern/checkrun/testdata that a real session runs.
func opened(t *testing.T, file string, w, h int, args ...string) (*tuitest.Driver, *tui.Model) {
	t.Helper()
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := checkrun.Request{
		File: filepath.Join("..", "debugkern", "checkrun", "testdata", file), Grid: probes.Dim3{4, 1, 1},
		Block: probes.Dim3{256, 1, 1}, Cluster: probes.Dim3{1, 1, 1},
	}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		check.Args = append(check.Args, checkrun.Argument{Name: name, Value: value})
	}
	req, err := checkrun.Adopt(t.Context(), s, check)
	if err != nil {
		t.Fatal(err)
	}
	m := tui.New(context.Background(), tui.Options{
		Engine: s, Request: req, Explicit: true, Pace: view.Pace{Quiet: 1, Pulse: -1}, Settle: 1,
	},
		tui.Look{Profile: colorprofile.ASCII})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	d := &tuitest.Driver{T: t, Screen: m}
	d.Do(m.Init())
	return d, m
}

// screen is the text of the screen; says checks what it has, and lacks what it has not.
func screen(m *tui.Model) string { return ansi.Strip(m.View().Content) }

func says(t *testing.T, m *tui.Model, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(screen(m), p) {
			t.Errorf("nothing says %q:\n%s", p, screen(m))
		}
	}
}

func lacks(t *testing.T, m *tui.Model, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(screen(m), p) {
			t.Errorf("%q is on screen:\n%s", p, screen(m))
		}
	}
}

var reduction = []string{"0=iota:f32[1000]", "1=zeros:f32[5]", "2=1000"}

// TestStagelessViews: a kernel without stages at every size: its arguments in Pipe and Tile, before and after
// the launch, who wrote an element, and no word of attention, kv tiles or agreement.
func TestStagelessViews(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d, m := opened(t, "reduce.ptx", size[0], size[1], reduction...)
		says(t, m, "ARGUMENTS", "no reference", "NO ERROR", "✓ no error", "checked", "in_arg0", "f32[1000]",
			"4 of 5", "▸arg1")
		lacks(t, m, "AGREE", "agree", "kv", "validation", "guilty", "STAGES")
		d.Press("2")
		says(t, m, "arg1 after the launch f32[5]", "5 elements · 0 to 2.050e+05 · 4 changed by the launch",
			"arg1[0]  ", "│ before")
		lacks(t, m, "REFERENCE", "bound", "kv", "cta")
		d.Press("l", "l", "w")
		says(t, m, "warp 0 lane", "stored at reduce.cu:12")
		d.Press("w")
		says(t, m, "block 2,0,0", "before arg1[2] is written by warp 0 lane 0")
		d.Press("2", "D")
		says(t, m, "BEFORE", "CHANGE ulp")
		d.Press("D", "K")
		says(t, m, "arg0 after the launch", "the launch changed none", "as before the launch")
		d.Press("n")
		says(t, m, "no reference, so no cell is bad")
		d.Press("d")
		says(t, m, "no reference, so there is no error to measure")
		d.Press("L")
		says(t, m, "arg0 belongs to the launch, not to a block")
		d.Press("?")
		lacks(t, m, "kv tile", "next bad", "next stage")
		d.Press("/")
		d.Type("next argument")
		d.Press("enter")
		says(t, m, "next argument")
		lacks(t, m, "kv tile", "next bad", "next stage")
		d.Press("esc", "3")
		says(t, m, "arg0 is an argument, not a fragment: 2 shows its values")
		d.Press("6")
		says(t, m, "No reference: limits of the output")
		d.Press("x")
		says(t, m, "✓ 3/3 pass", "correctness 3/3 pass: green", "by findings alone", "not run")
		d.Press("5")
		says(t, m, "Every checker watched this run")
		for _, line := range strings.Split(screen(m), "\n") {
			if n := len([]rune(line)); n > size[0] {
				t.Errorf("a line of %d columns on a screen of %d: %s", n, size[0], line)
			}
		}
	}
}

// TestStagelessRace: the race of a reduction is in the line of the verdict, in Races with the cells of its
// array, and in Source.
func TestStagelessRace(t *testing.T) {
	d, m := opened(t, "reduce-race.ptx", 120, 40, reduction...)
	says(t, m, "✗", "race part", "missing: __syncthreads()")
	lacks(t, m, "DIVERGE", "diverge")
	d.Press("5")
	says(t, m, "race part[", "CELLS part", "SCHEDULE block")
	d.Press("enter")
	says(t, m, "SHARED part f32", "before the conflict on part")
	if c := m.Req.Command("run"); !strings.Contains(c, "tilescope check") {
		t.Error(c)
	}
}

// TestStagelessPalette: what belongs to stages, gates and faults is not offered.
func TestStagelessPalette(t *testing.T) {
	d, m := opened(t, "reduce.ptx", 120, 40, reduction...)
	d.Type(":gate qk")
	d.Press("enter")
	says(t, m, "reduce.ptx has no gates: a manifest can name them")
	d.Type(":stage in_arg0")
	d.Press("enter")
	says(t, m, "in_arg0")
	if m.Cursor.Stage != "in_arg0" {
		t.Errorf("the cursor is at %s", m.Cursor.Stage)
	}
	d.Press("2")
	says(t, m, "arg0 before the launch")
}

// TestStagelessCommands: a command that a kernel without stages cannot use says why, by its name and by a
// beginning; the list shows the reason. A view's name shows the view.
func TestStagelessCommands(t *testing.T) {
	d, m := opened(t, "reduce.ptx", 120, 40, reduction...)
	command := func(text string) {
		d.Type(":" + text)
		d.Press("enter")
	}
	for typed, want := range map[string]string{
		"fault foo": "reduce.ptx has no faults that could be planted: a manifest can name them", "fault": "no faults",
		"fau foo":        "no faults that could be planted",
		"flag X on":      "reduce.ptx has no flags: a manifest can name them",
		"set X=1":        "reduce.ptx has no flags",
		"gate qk":        "reduce.ptx has no gates",
		"inject uniform": "no gate into which values could be injected",
		"kv 2":           "no stages, so no tiles of a loop", "ref local": "compared with no reference",
		"bound 2": "compared with no reference",
	} {
		command(typed)
		says(t, m, want)
		if m.Showing() != view.Pipe {
			t.Errorf(":%s shows %s", typed, m.Showing())
		}
	}
	d.Type(":fault foo")
	says(t, m, "has no faults that could be planted")
	d.Press("esc")
	command("flag")
	says(t, m, "reduce.ptx has no flags")
	if m.Showing() != view.Flags {
		t.Errorf(":flag shows %s", m.Showing())
	}
	for _, s := range []keymap.Scope{view.Tile, view.Pipe, view.Gates, view.Races, view.Source, view.Flags} {
		command(strings.ToLower(string(s)))
		if m.Showing() != s || strings.Contains(screen(m), "no reference, so no cell is bad") {
			t.Errorf(":%s shows %s:\n%s", strings.ToLower(string(s)), m.Showing(), screen(m))
		}
	}
	command("header " + filepath.Join("..", "kernels", "wmma16x16_accum_lut.h"))
	says(t, m, "wmma16x16_accum_lut.h: right: covers every cell")
	if m.Showing() != view.Frag {
		t.Errorf(":header shows %s", m.Showing())
	}
}

// TestStagelessOverview: where there is room Pipe has the values of the argument under the cursor, and all
// fits at every width.
func TestStagelessOverview(t *testing.T) {
	racing := []string{"0=iota:f32[1024]", "1=zeros:f32[4]", "2=1024"}
	d, m := opened(t, "reduce-race.ptx", 200, 60, racing...)
	says(t, m, "2 ERRORS", "┌TILE arg1")
	d.Press("K")
	says(t, m, "┌TILE arg0")
	for w := 80; w <= 240; w += 3 {
		m.Update(tea.WindowSizeMsg{Width: w, Height: 24 + w/7})
		for i, line := range strings.Split(screen(m), "\n") {
			if n := ansi.StringWidth(line); n != w {
				t.Fatalf("%d columns, line %d has %d:\n%s", w, i+1, n, screen(m))
			}
		}
	}
}

// TestTourOfAFile: the tour goes back to the launch of a kernel's file, which no name of the catalogue stands
// for.
func TestTourOfAFile(t *testing.T) {
	d, m := opened(t, "reduce.ptx", 120, 40, reduction...)
	says(t, m, "reduce.ptx")
	d.Press(":")
	d.Type("tour")
	d.Press("enter")
	says(t, m, "TOUR", "p-stale-m")
	d.Press("esc")
	says(t, m, "the tour is over: back to", "reduce.ptx")
	if strings.Contains(screen(m), "p-stale-m") {
		t.Errorf("the planted fault stays:\n%s", screen(m))
	}
}
