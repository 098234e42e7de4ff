package code_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"tilescope/tui/code"
	"tilescope/tui/theme"
)

// TestWindow: the wrapped line is seen as a whole wherever it is in view, and every row shows something.
func TestWindow(t *testing.T) {
	for _, x := range []struct {
		top, n, count, at, parts int
		want                     []code.Row
	}{
		{0, 3, 9, 1, 2, []code.Row{{0, 0}, {1, 0}, {1, 1}}},
		{0, 3, 9, 2, 2, []code.Row{{1, 0}, {2, 0}, {2, 1}}},
		{4, 3, 9, 4, 3, []code.Row{{4, 0}, {4, 1}, {4, 2}}},
		{0, 3, 9, 8, 3, []code.Row{{0, 0}, {1, 0}, {2, 0}}},
		{6, 4, 8, 7, 2, []code.Row{{6, 0}, {7, 0}, {7, 1}}},
		{0, 2, 9, 0, 1, []code.Row{{0, 0}, {1, 0}}},
	} {
		if got := code.Window(x.top, x.n, x.count, x.at, x.parts); !slices.Equal(got, x.want) {
			t.Errorf("%+v: %v, expected %v", x, got, x.want)
		}
	}
}

// TestPartsDrawAll: the parts of a line are the line, with an ellipsis only where there are too few of them.
func TestPartsDrawAll(t *testing.T) {
	th := theme.New(theme.Options{ASCII: true, Profile: colorprofile.NoTTY})
	line := "float a = __half2float(sS[row * TILE_N + 11]);"
	text := code.New(code.CUDA, []string{line})
	draw := func(parts int) (out string) {
		for k := range parts {
			l := th.Line(20)
			text.Draw(th, l, 0, code.Look{Syntax: th.Syntax(), Left: 20 * k, Width: 20, Above: k > 0,
				Below: k+1 < parts})
			out += strings.TrimRight(l.Done(), " ")
		}
		return out
	}
	if n := text.Parts(0, 0, 20, 9); n != 3 || draw(n) != line {
		t.Errorf("%d parts draw %q", n, draw(n))
	}
	if n := text.Parts(0, 0, 20, 2); n != 2 || !strings.HasSuffix(draw(n), "~") {
		t.Errorf("%d parts draw %q, expected an ellipsis at the end", n, draw(n))
	}
}
