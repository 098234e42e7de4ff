package tui

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/tile"
)

// draw returns the number of bytes that bring the terminal up to date.
func draw(p *painter, m *Model) int { return len(p.diff(m.frameNow())) }

// TestCursorMoveIsCheap walks the cursor over a tile at 200×60 and counts the bytes of each one-cell move:
// 210 is what a move may cost: the cell has its reference twice, as it is and rounded. A move between a right
// and a wrong cell may cost 220: there the verdict's mark changes its colour as well. The writer arrives
// later, in a frame of its own; at the window's edges a move scrolls and is not counted.
func TestCursorMoveIsCheap(t *testing.T) {
	d := started(t, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty))
	d.press("2").command("goto 3,2")
	d.m.Follow = false
	at := d.m.views[1].(*tile.Controller)
	x := newPainter(io.Discard)
	full := draw(x, d.m)
	steps := strings.Repeat("j l k j j h ", 4) + strings.Repeat("j l k l ", 3)
	kept, crossed := []int{}, []int{}
	for _, key := range strings.Fields(steps) {
		was := at.OnBad()
		d.Manual = true
		d.press(key)
		n := draw(x, d.m)
		d.Manual = false
		d.late()
		draw(x, d.m)
		if at.OnBad() == was {
			kept = append(kept, n)
		} else {
			crossed = append(crossed, n)
		}
	}
	t.Logf("bytes a move: %v; between right and wrong: %v; a full frame: %d", kept, crossed, full)
	if len(kept) < 10 || len(crossed) < 2 {
		t.Fatalf("%d moves among alike cells, %d between right and wrong: the walk looks at too little",
			len(kept), len(crossed))
	}
	if n := slices.Max(kept); n > 210 {
		t.Errorf("a move costs %d bytes, expected at most 210", n)
	}
	if n := slices.Max(crossed); n > 220 {
		t.Errorf("a move between a right and a wrong cell costs %d bytes, expected at most 220", n)
	}
}

// BenchmarkView draws the screen at 200×60 after a one-cell move, and after the tile changes.
func BenchmarkView(b *testing.B) {
	d := started(b, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty)).press("2")
	d.command("goto 12,6")
	d.Manual = true
	run := func(name string, keys ...string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				b.StopTimer()
				d.Kept = nil
				d.press(keys[i%len(keys)])
				b.StartTimer()
				d.m.View()
			}
		})
	}
	run("move", "j", "k")
	run("tile", "z", "v", "d", "v")
	run("nothing", "ctrl+u")
	d.m.Job.Active = true
	run("previous", "z", "v", "d", "v")
	d.m.Job.Active = false
	d.press("1")
	run("pipe", "J", "K")
	d.Manual = false
	d.press("3")
	d.Manual = true
	run("frag", "j", "k", "v")
	d.Manual = false
	d.press("6", "x")
	d.Manual = true
	run("gates", "j", "k")
	r := started(b, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty),
		withRaces(&tuitest.Races{})).press("5", "d")
	r.Manual = true
	d = r
	run("races", "j", "k")
	g := started(b, 200, 60, Look{Profile: colorprofile.TrueColor}, twoH200, onDevice("cuda", 0)).press("7")
	d = g
	d.Manual = true
	run("gpu", "j", "k")
}

// BenchmarkCursorMove counts the bytes of a one-cell move at 200×60.
func BenchmarkCursorMove(b *testing.B) {
	d := started(b, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty)).press("2")
	d.command("goto 12,6")
	d.Manual = true
	// as everywhere else, the writer comes in a frame of its own
	d.m.Writers = view.Writers{
		Known: map[debugkern.Cell]*target.WriteSite{}, Errs: map[debugkern.Cell]string{},
	}
	x := newPainter(io.Discard)
	draw(x, d.m)
	total := 0
	for i := range b.N {
		d.Kept = nil
		d.press([]string{"j", "k"}[i%2])
		total += draw(x, d.m)
	}
	b.ReportMetric(float64(total)/float64(b.N), "bytes/move")
}
