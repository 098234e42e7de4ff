package theme

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// awkward are texts that could break a line's width.
var awkward = []string{
	"", "plain", "S=QKᵀ ▸ ✗", "日本語のコメント", "e\u0301 combining", "tab\there", "bell\a and \x1b[31mred",
	"emoji 🚀 flag 🇩🇪", "zero\u200bwidth", "\xff\xfe broken",
}

func TestLinesAreExactlyAsWideAsAsked(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		for _, p := range []colorprofile.Profile{
			colorprofile.NoTTY, colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256,
			colorprofile.TrueColor,
		} {
			th := New(Options{Profile: p, ASCII: ascii})
			for _, s := range awkward {
				for _, w := range []int{0, 1, 2, 3, 7, 40} {
					for _, l := range []string{
						th.Line(w).Add(th.Wrong, s).Done(), th.Line(w).Add(th.OK, "x").
							Add(th.Dim, th.Fit(s, w-1)).Done(),
						th.Line(w).Right(th.Dim, s, w).DoneIn(th.Bar),
					} {
						if n := ansi.StringWidth(l); n != w {
							t.Errorf("%s ascii=%v: %q in %d columns is %d wide: %q", p, ascii, s, w, n, l)
						}
						if p == colorprofile.NoTTY && strings.ContainsRune(l, '\x1b') {
							t.Errorf("a style without a terminal: %q", l)
						}
					}
				}
				for _, l := range th.Wrap(s+" "+s, 9) {
					if th.Width(l) > 9 {
						t.Errorf("wrapped to %q", l)
					}
				}
			}
		}
	}
}

// TestCutTextSaysSo: what does not fit is marked, by whichever call it was written; blanks and borders are
// not missed.
func TestCutTextSaysSo(t *testing.T) {
	th := New(Options{Profile: colorprofile.TrueColor})
	for _, tt := range []struct {
		line *Line
		want string
	}{
		{th.Line(6).Add(th.Text, "kernel f16"), "kerne…"},
		{th.Line(6).Add(th.Text, "kernel").Add(th.Wrong, "f16"), "kerne…"},
		{th.Line(6).Add(th.Text, "kernel").Add(th.Text, "   "), "kernel"},
		{th.Line(6).Add(th.Text, "kernel   "), "kernel"},
		{th.Line(6).Add(th.Text, "kerne").Glyph(th.Border, "│").Glyph(th.Border, "│"), "kerne│"},
		{th.Line(6).Add(th.Text, "S=QKᵀ▸P").Add(th.Text, "x"), "S=QKᵀ…"},
		{th.Line(6).Right(th.Text, "kernel f16", 6), "kerne…"},
		{th.Line(6).Add(th.Text, "kern"), "kern  "},
	} {
		if got := ansi.Strip(tt.line.Done()); got != tt.want {
			t.Errorf("%q, expected %q", got, tt.want)
		}
	}
}

func TestBoxes(t *testing.T) {
	th := New(Options{Profile: colorprofile.ASCII})
	for _, w := range []int{0, 1, 2, 5, 30} {
		for _, h := range []int{0, 1, 2, 6} {
			lines := th.Box("A TITLE", "a note", []string{
				th.Line(max(0, w-2)).Add(th.Text, "inside").Done(),
			}, w, h, true)
			if len(lines) != h {
				t.Errorf("%dx%d: %d lines", w, h, len(lines))
			}
			for _, l := range lines {
				if n := ansi.StringWidth(l); n != w {
					t.Errorf("%dx%d: %d columns in %q", w, h, n, l)
				}
			}
		}
	}
}

// TestGlyphsTakeOneColumn looks at every glyph of both sets, and that no meaning is left to colour alone.
func TestGlyphsTakeOneColumn(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		th := New(Options{Profile: colorprofile.NoTTY, ASCII: ascii})
		g := th.Glyph
		marks := []string{g.OK, g.Wrong, g.Taint, g.Off}
		for _, s := range append(append(append(marks, g.Above, g.Below, g.Equal, g.NaN, g.Inf, g.Crumb, g.Dot,
			g.H, g.V, g.Cross), g.Spark...), g.Shade...) {
			if n := ansi.StringWidth(s); n != 1 {
				t.Errorf("ascii=%v: glyph %q takes %d columns", ascii, s, n)
			}
			if ascii && s[0] >= 0x80 {
				t.Errorf("glyph %q is not ASCII", s)
			}
		}
		seen := map[string]bool{}
		for _, s := range marks {
			if seen[s] {
				t.Errorf("ascii=%v: two verdicts look like %q", ascii, s)
			}
			seen[s] = true
		}
	}
}

func TestPalettes(t *testing.T) {
	for _, name := range Palettes() {
		th := New(Options{Profile: colorprofile.TrueColor, Palette: name})
		seen := map[Style]bool{}
		for _, s := range th.Value {
			seen[s] = true
		}
		if len(th.Value) != levels || len(seen) < levels-2 {
			t.Errorf("%s: %d levels, %d different", name, len(th.Value), len(seen))
		}
	}
	if New(Options{Palette: "nonsense"}).Palette != "cividis" || NextPalette("grey") != "cividis" {
		t.Error("palettes do not come round")
	}
	for _, name := range Palettes() {
		th := New(Options{Profile: colorprofile.TrueColor, Palette: name, Sparing: true})
		if n := len(th.Value); n > sparingLevels || strings.Contains(string(th.Value[0]), ";48;2;") {
			t.Errorf("%s where bytes are dear: %d levels, %q", name, n, th.Value[0])
		}
	}
}
