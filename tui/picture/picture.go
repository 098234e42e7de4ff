// Package picture writes screens as SVG.
//
// The one idea: a screen is lines of text with SGR sequences, so a picture is made of what the terminal is
// given, with the ground that the terminal would bring itself.
//
// It must not know models or views.
package picture

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"tilescope/tui/theme"
)

// Geometry of a cell in the SVG's units: a monospaced font of this size advances about this far, and every
// character is placed by its column all the same.
const (
	cellW    = 8.4
	cellH    = 16
	fontSize = 14
	baseline = 13
	margin   = 10
)

// cell is one character as it is seen.
type cell struct {
	text        rune
	fore, back  uint32
	bold, lined bool
}

// screen is the cells of a picture, and the colours of those without their own.
type screen struct {
	rows       [][]cell
	paper, ink uint32
}

// SVG draws lines as a terminal of this theme shows them: a rectangle for each run of cells on one ground, a
// text for each run in one style, every character at its own column.
func SVG(th *theme.Theme, lines []string) []byte {
	s := screen{}
	s.paper, s.ink = th.Paper()
	width := 0
	for _, l := range lines {
		row := s.cells(l)
		s.rows = append(s.rows, row)
		width = max(width, len(row))
	}
	var b bytes.Buffer
	w, h := cellW*float64(width)+2*margin, cellH*len(lines)+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %d" width="%s" height="%d">`+
		"\n", short(w), h, short(w), h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", hex(s.paper))
	fmt.Fprintf(&b,
		`<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="%d" fill="%s" xml:space="preserve">`+
			"\n", fontSize, hex(s.ink))
	for y, row := range s.rows {
		s.grounds(&b, row, y)
		s.texts(&b, row, y)
	}
	b.WriteString("</g></svg>\n")
	return b.Bytes()
}

// cells reads a line.
func (s *screen) cells(line string) []cell {
	var out []cell
	now := cell{fore: s.ink, back: s.paper}
	for i := 0; i < len(line); {
		if n := theme.StyleLen(line[i:]); n > 0 {
			now = s.cell(theme.ReadRendition(line[i : i+n]))
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		i += n
		if c, ok := theme.Cell(r); ok {
			now.text = c
			out = append(out, now)
		}
	}
	return out
}

// cell is a blank in a style.
func (s *screen) cell(k theme.Rendition) cell {
	c := cell{fore: s.ink, back: s.paper, bold: k.Bold(), lined: k.Underlined()}
	fg, bg, hasFG, hasBG := k.Colours(&theme.Xterm)
	if hasFG {
		c.fore = fg
	}
	if hasBG {
		c.back = bg
	}
	if k.Faint() {
		c.fore = theme.Blend(c.fore, c.back, 0.35)
	}
	if k.Reversed() {
		c.fore, c.back = c.back, c.fore
	}
	return c
}

// grounds draws the backgrounds of a row.
func (s *screen) grounds(b *bytes.Buffer, row []cell, y int) {
	for x := 0; x < len(row); {
		n := 1
		for x+n < len(row) && row[x+n].back == row[x].back {
			n++
		}
		if row[x].back != s.paper {
			fmt.Fprintf(b, `<rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`+"\n",
				short(margin+cellW*float64(x)), margin+cellH*y,
				short(cellW*float64(n)), cellH, hex(row[x].back))
		}
		x += n
	}
}

// texts draws the characters of a row: a run ends where the style changes or a blank follows.
func (s *screen) texts(b *bytes.Buffer, row []cell, y int) {
	for x := 0; x < len(row); {
		first := row[x]
		if first.text == ' ' && !first.lined {
			x++
			continue
		}
		var at []string
		var text strings.Builder
		for ; x < len(row); x++ {
			c := row[x]
			if c.text == ' ' && !c.lined || c.fore != first.fore || c.bold != first.bold ||
				c.lined != first.lined {
				break
			}
			at = append(at, short(margin+cellW*float64(x)))
			text.WriteRune(c.text)
		}
		extra := ""
		if first.fore != s.ink {
			extra += ` fill="` + hex(first.fore) + `"`
		}
		if first.bold {
			extra += ` font-weight="bold"`
		}
		if first.lined {
			extra += ` text-decoration="underline"`
		}
		fmt.Fprintf(b, `<text x="%s" y="%d"%s>%s</text>`+"\n", strings.Join(at, " "), margin+cellH*y+baseline,
			extra, escape.Replace(text.String()))
	}
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func hex(rgb uint32) string { return fmt.Sprintf("#%06x", rgb) }

func short(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }
