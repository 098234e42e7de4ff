package warps_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/target"
	"tilescope/tui/theme"
	"tilescope/tui/view/source/warps"
)

// TestTitleSaysWhatIsListed: where not all lines have room the title has the warps of those that are listed;
// lanes that parted have a line each, and where each warp has one on screen the title counts lines.
func TestTitleSaysWhatIsListed(t *testing.T) {
	block := func(n int, parted ...int) (out []target.Warp) {
		for i := range n {
			w := target.Warp{Index: i, Groups: []target.Group{{PC: 1, Mask: 0xffff}}}
			for range parted {
				w.Groups = append(w.Groups, target.Group{PC: 2, Mask: 0xffff0000})
			}
			out = append(out, w)
		}
		return out
	}
	for _, c := range []struct {
		what   string
		warps  []target.Warp
		rows   int
		down   int
		title  string
		listed []string // the warps' numbers, at the beginning of lines
	}{
		{"all", block(4), 4, 0, "WARPS───", []string{" 0", " 1", " 2", " 3"}},
		{"the first four", block(8), 4, 0, "──warps 0-3 of 8─", []string{" 0", " 1", " 2", " 3"}},
		{"the last four", block(8), 4, 7, "──warps 4-7 of 8─", []string{" 4", " 5", " 6", " 7"}},
		{"two lines a warp", block(8, 1), 4, 0, "──warps 0-1 of 8─", []string{" 0", "  ", " 1", "  "}},
		{"one warp's lines", block(8, 1, 1, 1), 4, 0, "──warp 0 of 8─", []string{" 0", "  ", "  ", "  "}},
		{"the lines of one warp of one", block(1, 1, 1, 1), 2, 0, "──lines 1-2 of 4─", []string{" 0", "  "}},
		{"a line of each of two warps", block(2, 1), 3, 0, "──lines 1-3 of 4─", []string{" 0", "  ", " 1"}},
	} {
		p := warps.New(theme.New(theme.Options{}))
		p.SetSize(40, c.rows+2)
		p.SetData(warps.Data{Warps: c.warps, Next: -1})
		p.Move(c.down)
		lines := strings.Split(ansi.Strip(strings.Join(p.View(), "\n")), "\n")
		if !strings.Contains(lines[0], c.title) {
			t.Errorf("%s: the title is %q, expected %q", c.what, lines[0], c.title)
		}
		for i, want := range c.listed {
			if got := []rune(lines[i+1]); string(got[2:4]) != want {
				t.Errorf("%s: line %d is %q, expected warp %q", c.what, i, lines[i+1], want)
			}
		}
	}
}
