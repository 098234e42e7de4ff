package tui

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"tilescope/debugkern/join"
	"tilescope/tui/keymap"
)

// emulated is a virtual terminal. The painter asks it nothing, so its answers need no reader.
func emulated(w, h int) *vt.Emulator { return vt.NewEmulator(w, h) }

// shows fails unless the terminal that was painted step by step shows what a fresh one shows that is
// given the frame alone.
func shows(t *testing.T, screen *vt.Emulator, f frame, what string) {
	t.Helper()
	fresh := emulated(f.w, len(f.lines))
	for y, l := range f.lines {
		fmt.Fprintf(fresh, "\x1b[%d;1H%s", y+1, l)
	}
	for y := range f.lines {
		for x := range f.w {
			a, b := screen.CellAt(x, y), fresh.CellAt(x, y)
			seen := a.Content == b.Content &&
				(a.Content == " " && a.Style.Bg == b.Style.Bg &&
					a.Style.Attrs&uv.AttrReverse == b.Style.Attrs&uv.AttrReverse || a.Style.Equal(&b.Style))
			if !seen {
				t.Fatalf("%s: cell %d,%d is %q %v, expected %q %v", what, x, y, a.Content, a.Style,
					b.Content, b.Style)
			}
		}
	}
}

// TestPainterAgainstATerminal drives the program by random keys and compares what the terminal
// shows with the frame.
func TestPainterAgainstATerminal(t *testing.T) {
	var keys []string
	for _, b := range newDriver(t, 80, 24, plainLook).m.Keys.All() {
		if b.Action != keymap.Quit && b.Action != keymap.Interrupt && len(b.Keys) > 0 {
			keys = append(keys, b.Keys[0])
		}
	}
	for _, p := range []colorprofile.Profile{
		colorprofile.TrueColor, colorprofile.ANSI, colorprofile.ASCII, colorprofile.NoTTY,
	} {
		rng := rand.New(rand.NewPCG(1, uint64(p)))
		d := started(t, 80, 24, Look{Profile: p}, withRequest(faulty))
		var out bytes.Buffer
		paint := newPainter(&out)
		paint.active = true
		screen := emulated(80, 24)
		for i := range 160 {
			switch {
			case i%40 == 39:
				w, h := 80+rng.IntN(130), 24+rng.IntN(40)
				screen.Resize(w, h)
				d.send(resizeTo(w, h))
			case i%13 == 12:
				d.press(fmt.Sprint(1 + rng.IntN(4)))
			default:
				d.press(keySequence(keys[rng.IntN(len(keys))])...)
			}
			f := d.m.frameNow()
			paint.show(f)
			paint.flush()
			screen.Write(out.Bytes())
			out.Reset()
			shows(t, screen, f, fmt.Sprintf("%s, step %d, view %s", p, i, d.m.view))
		}
	}
}

func TestPainterWritesNothingForTheSameFrame(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	paint := newPainter(io.Discard)
	if n := len(paint.diff(d.m.frameNow())); n == 0 {
		t.Fatal("the first frame is empty")
	}
	if b := paint.diff(d.m.frameNow()); len(b) != 0 {
		t.Errorf("the same frame again wrote %q", b)
	}
}

func TestPainterGivesTheScreenBack(t *testing.T) {
	var out bytes.Buffer
	paint := newPainter(&out)
	paint.start(func(p *join.Panic) { t.Error(p) })
	paint.show(frame{lines: []string{"hello"}, w: 5, modes: modes{title: "x", mouse: true, cursorX: 2}})
	paint.close()
	for _, want := range []string{
		"\x1b[?1049h", "hello", "\x1b[?1006h", "\x1b[?1006l", "\x1b[?25h", "\x1b[?1049l",
	} {
		i := bytes.Index(out.Bytes(), []byte(want))
		if i < 0 {
			t.Fatalf("%q is missing or out of order in %q", want, out.String())
		}
		out.Next(i + len(want))
	}
}
