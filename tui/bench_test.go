package tui

import (
	"bytes"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/charmbracelet/colorprofile"
)

// wire is the renderer that the program draws with, writing into a buffer that counts.
type wire struct {
	out    bytes.Buffer
	screen *uv.TerminalRenderer
	cells  uv.ScreenBuffer
}

func newWire(w, h int) *wire {
	x := &wire{cells: uv.NewScreenBuffer(w, h)}
	x.screen = uv.NewTerminalRenderer(&x.out, []string{"TERM=xterm-256color", "COLORTERM=truecolor"})
	x.screen.SetColorProfile(colorprofile.TrueColor)
	x.screen.SetFullscreen(true)
	x.screen.SetRelativeCursor(false)
	x.screen.SetTabStops(w)
	x.screen.SetBackspace(true)
	return x
}

// draw returns the number of bytes that bring the terminal up to date.
func (x *wire) draw(t testing.TB, m *Model) int {
	x.out.Reset()
	uv.NewStyledString(m.View().Content).Draw(x.cells, x.cells.Bounds())
	x.screen.Render(x.cells.RenderBuffer)
	if err := x.screen.Flush(); err != nil {
		t.Fatal(err)
	}
	return x.out.Len()
}

// TestCursorMoveIsCheap holds a one-cell move at 200×60 to 200 bytes, before and after its writer is known. At the window's
// edges it scrolls, which costs more.
func TestCursorMoveIsCheap(t *testing.T) {
	d := started(t, 200, 60, Look{Profile: colorprofile.TrueColor}, withRequest(faulty))
	d.press("2").command("goto 12,6")
	d.m.follow = false
	x := newWire(200, 60)
	full := x.draw(t, d.m)
	for _, key := range strings.Fields("j l k h j j l") {
		d.manual = true
		d.press(key)
		n := x.draw(t, d.m)
		d.manual = false
		d.do(d.m.fetchWriter())
		after := x.draw(t, d.m)
		t.Logf("%s: %d bytes, then %d for the writer (a full frame is %d)", key, n, after, full)
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
	x := newWire(200, 60)
	x.draw(b, d.m)
	total := 0
	for i := range b.N {
		d.kept = nil
		d.press([]string{"j", "k"}[i%2])
		total += x.draw(b, d.m)
	}
	b.ReportMetric(float64(total)/float64(b.N), "bytes/move")
}
