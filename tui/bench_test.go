package tui

import (
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// draw returns the number of bytes that bring the terminal up to date.
func draw(p *painter, m *Model) int { return len(p.diff(m.frameNow())) }

// TestCursorMoveIsCheap holds a one-cell move at 200×60 to 200 bytes. Its writer arrives later, in a frame of its own; at
// the window's edges a move scrolls, which costs more.
func TestCursorMoveIsCheap(t *testing.T) {
	d := started(t, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty))
	d.press("2").command("goto 12,6")
	d.m.follow = false
	x := newPainter(io.Discard)
	full := draw(x, d.m)
	for _, key := range strings.Fields("j l k j j l k") {
		d.manual = true
		d.press(key)
		n := draw(x, d.m)
		d.manual = false
		d.do(d.m.fetchWriter())
		t.Logf("%s: %d bytes, then %d for the writer (a full frame is %d)", key, n, draw(x, d.m), full)
		if n > 200 {
			t.Errorf("moving by %s: %d bytes, expected at most 200", key, n)
		}
	}
}

// BenchmarkView draws the screen at 200×60 after a one-cell move, and after the tile changes.
func BenchmarkView(b *testing.B) {
	d := started(b, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty)).press("2")
	d.command("goto 12,6")
	d.manual = true
	run := func(name string, keys ...string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				b.StopTimer()
				d.kept = nil
				d.press(keys[i%len(keys)])
				b.StartTimer()
				d.m.View()
			}
		})
	}
	run("move", "j", "k")
	run("tile", "z", "v", "d", "v")
	run("nothing", "ctrl+u")
	d.press("1")
	run("pipe", "J", "K")
}

// BenchmarkCursorMove counts the bytes of a one-cell move at 200×60.
func BenchmarkCursorMove(b *testing.B) {
	d := started(b, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty)).press("2")
	d.command("goto 12,6")
	d.manual = true
	x := newPainter(io.Discard)
	draw(x, d.m)
	total := 0
	for i := range b.N {
		d.kept = nil
		d.press([]string{"j", "k"}[i%2])
		total += draw(x, d.m)
	}
	b.ReportMetric(float64(total)/float64(b.N), "bytes/move")
}
