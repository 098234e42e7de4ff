//go:build unix

package tui

import (
	"bytes"
	"flag"
	"fmt"
	"image/color"
	"os"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
)

// Geometry of a picture's cells, in the SVG's units: a monospaced font of this size advances about this far,
// and every character is placed by its column all the same.
const (
	cellW    = 8.4
	cellH    = 16
	fontSize = 14
	baseline = 13
	margin   = 10
)

// Colours of cells without their own.
const (
	paper = "#0d1117"
	ink   = "#d6dbe2"
)

// picture writes a screen as SVG: a rectangle for each run of cells on one ground, a text for each run in one
// style, every character at its own column.
func picture(screen [][]uv.Cell) []byte {
	var b bytes.Buffer
	w, h := cellW*float64(len(screen[0]))+2*margin, cellH*len(screen)+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %d" width="%s" height="%d">`+
		"\n", short(w), h, short(w), h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", paper)
	fmt.Fprintf(&b,
		`<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="%d" fill="%s" xml:space="preserve">`+
			"\n", fontSize, ink)
	for y, row := range screen {
		grounds(&b, row, y)
		texts(&b, row, y)
	}
	b.WriteString("</g></svg>\n")
	return b.Bytes()
}

// grounds draws the backgrounds of a row.
func grounds(b *bytes.Buffer, row []uv.Cell, y int) {
	for x := 0; x < len(row); {
		_, back := inks(row[x].Style)
		n := 1
		for x+n < len(row) {
			if _, other := inks(row[x+n].Style); other != back {
				break
			}
			n++
		}
		if back != paper {
			fmt.Fprintf(b, `<rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`+"\n",
				short(margin+cellW*float64(x)), margin+cellH*y,
				short(cellW*float64(n)), cellH, back)
		}
		x += n
	}
}

// texts draws the characters of a row: a run ends where the style changes or more than one blank follows.
func texts(b *bytes.Buffer, row []uv.Cell, y int) {
	blank := func(x int) bool { return row[x].Content == "" || row[x].Content == " " }
	for x := 0; x < len(row); {
		if blank(x) {
			x++
			continue
		}
		fore, _ := inks(row[x].Style)
		bold := row[x].Style.Attrs&uv.AttrBold != 0
		var at []string
		var text strings.Builder
		for ; x < len(row) && !blank(x); x++ {
			if other, _ := inks(row[x].Style); other != fore ||
				(row[x].Style.Attrs&uv.AttrBold != 0) != bold {
				break
			}
			at = append(at, short(margin+cellW*float64(x)))
			text.WriteString(row[x].Content)
		}
		extra := ""
		if fore != ink {
			extra += ` fill="` + fore + `"`
		}
		if bold {
			extra += ` font-weight="bold"`
		}
		fmt.Fprintf(b, `<text x="%s" y="%d"%s>%s</text>`+"\n", strings.Join(at, " "), margin+cellH*y+baseline,
			extra, escape.Replace(text.String()))
	}
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// inks are a style's foreground and background, reversed where it says so.
func inks(s uv.Style) (fore, back string) {
	fore, back = hex(s.Fg, ink), hex(s.Bg, paper)
	if s.Attrs&uv.AttrReverse != 0 {
		fore, back = back, fore
	}
	return fore, back
}

func hex(c color.Color, none string) string {
	if c == nil {
		return none
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

func short(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// TestPictures draws the README's pictures from the built program, and with -update writes them. They show
// times of a run, so they are not compared byte for byte.
func TestPictures(t *testing.T) {
	program := buildProgram(t)
	for _, p := range []struct {
		file, keys string
		args       []string
		ready      []string
	}{
		{"tile.svg", "2z", []string{"--fault", "p-stale-m"},
			[]string{"heat: map", "KERNEL f16", "wrote q1,k0"}},
		{"pipe.svg", "", []string{"--fault", "p-stale-m"}, []string{"✗ DIVERGE", "n next bad"}},
		{"races.svg", "5d", []string{"--shape", "small", "--fault", "sync-p"},
			[]string{"__syncthreads()", "100 %", "CELLS sP", "SCHEDULE"}},
		{"source.svg", "8", []string{"--fault", "u-no-rescale"}, []string{"is written by warp", "REGISTERS"}},
	} {
		t.Run(p.file, func(t *testing.T) {
			x := open(t, program, 120, 40, nil, p.args...)
			x.shows("✗ DIVERGE")
			x.press(p.keys)
			x.shows(p.ready...)
			x.until("an end of the work", func(lines []string) bool {
				return !strings.Contains(strings.Join(lines, "\n"), "Esc cancels")
			})
			screen := x.cells()
			x.press("q")
			x.quits()
			got := picture(screen)
			if len(got) > 150<<10 {
				t.Errorf("%s: %d bytes, expected at most 150 KB", p.file, len(got))
			}
			path := "../docs/" + p.file
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%v: make golden draws it", err)
			}
		})
	}
}
