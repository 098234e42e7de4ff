package theme

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/text"
)

// Glyphs are the marks and borders, each one column wide.
type Glyphs struct {
	OK, Wrong, Taint, Off             string // verdicts
	Above, Below, Equal, Within       string // an error against its bound
	NaN, Inf                          string
	Crumb, Dot, Ring, Check, Ellipsis string
	Left, Right                       string // the cursor's brackets
	Pointer                           string
	Differs                           string   // a cell that two backends computed differently
	Absent                            string   // a cell that was not captured
	Injected                          string   // a tile that the gate feeds in
	Spark                             []string // empty to full
	Shade                             []string // light to dark, for heat without colours

	H, V, TL, TR, BL, BR, TeeL, TeeR, TeeT, TeeB, Cross string
}

func unicodeGlyphs() Glyphs {
	return Glyphs{
		OK: "✓", Wrong: "✗", Taint: "~", Off: "–", Above: "▲", Below: "▼", Equal: "·", Within: " ", NaN: "N",
		Inf: "I", Crumb: "▸", Dot: "●", Ring: "○", Check: "x", Ellipsis: "…", Left: "[", Right: "]",
		Pointer: "▸", Differs: "≠", Absent: "∅", Injected: "»", Spark: strings.Split(" ▁▂▃▄▅▆▇█", ""),
		Shade: strings.Split(" ░▒▓█", ""), H: "─", V: "│", TL: "┌", TR: "┐", BL: "└", BR: "┘", TeeL: "├",
		TeeR: "┤", TeeT: "┬", TeeB: "┴", Cross: "┼",
	}
}

func asciiGlyphs() Glyphs {
	return Glyphs{
		OK: "+", Wrong: "x", Taint: "~", Off: "-", Above: "^", Below: "v", Equal: ".", Within: " ", NaN: "N",
		Inf: "I", Crumb: ">", Dot: "*", Ring: "o", Check: "x", Ellipsis: "~", Left: "[", Right: "]",
		Pointer: ">", Differs: "!", Absent: "?", Injected: "&", Spark: strings.Split(" .:-=+*#@", ""),
		Shade: strings.Split(" .:*#", ""), H: "-", V: "|", TL: "+", TR: "+", BL: "+", BR: "+", TeeL: "+",
		TeeR: "+", TeeT: "+", TeeB: "+", Cross: "+",
	}
}

// spelled is how the program's own non-ASCII characters are written where only ASCII is
// to be had; one for one.
var spelled = map[rune]byte{
	'·': '.', '–': '-', '—': '-', '−': '-', '→': '>', '←': '<', '↑': '^', '↓': 'v', '▸': '>', '●': '*',
	'○': 'o', '…': '~', '✓': '+', '✗': 'x', '▲': '^', '▼': 'v', 'Δ': 'd', 'ᵀ': 'T', '×': 'x', '∅': '?',
	'≤': '<', '≥': '>', '≠': '!', 'Σ': 'S', '±': '+', '²': '2', '³': '3', 'µ': 'u', 'μ': 'u', '∞': 'I',
	'»': '&', '÷': '/', 'α': 'a',
	'“': '"', '”': '"', '’': '\'', '‘': '\'', '│': '|', '─': '-', '┌': '+', '┐': '+', '└': '+', '┘': '+',
	'├': '+', '┤': '+', '┬': '+', '┴': '+', '┼': '+',
}

// glyph returns r as the terminal may show it: itself, its ASCII spelling, or '?'; ok is false for what takes
// no column, which are combining marks. What is hidden (text.Hidden), such as a bidirectional control, is
// seen as '?' too.
func (t *Theme) glyph(r rune) (rune, bool) {
	switch {
	case r == '\t':
		return ' ', true
	case r < 0x7f && r >= 0x20:
		return r, true
	case text.Hidden(r):
		return '?', true
	case t.ASCII:
		if b, ok := spelled[r]; ok {
			return rune(b), true
		}
		return '?', !unicode.Is(unicode.Mn, r)
	case single(r):
		return r, true
	}
	switch ansi.StringWidth(string(r)) {
	case 0:
		return 0, false
	case 1:
		return r, true
	}
	return '?', true
}

// Cell returns r as a cell of one column may show it: itself, or '?' for what is hidden or takes another
// width; ok is false for a combining mark.
func Cell(r rune) (rune, bool) { return (&Theme{}).glyph(r) }

// single holds for the blocks whose every printable character takes one column.
func single(r rune) bool {
	return r >= 0xa1 && r < 0x300 && r != 0xad || r >= 0x370 && r < 0x400 || r >= 0x2010 && r < 0x2028 ||
		r >= 0x2070 && r < 0x20d0 || r >= 0x2190 && r < 0x231a || r >= 0x2500 && r < 0x25fd ||
		r == '✓' || r == '✗'
}

// Celsius writes a temperature: 61°C, 61C where only ASCII is to be had.
func (t *Theme) Celsius(degrees int) string {
	if t.ASCII {
		return strconv.Itoa(degrees) + "C"
	}
	return strconv.Itoa(degrees) + "°C"
}
