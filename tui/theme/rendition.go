package theme

import (
	"slices"
	"strconv"
	"strings"
)

// Rendition is a style (select graphic rendition, ECMA-48 8.3.117) as the parameters that set it apart from
// the terminal's default.
type Rendition struct {
	attrs    []string // sorted: bold 1, faint 2, italic 3, underlined 4, reversed 7
	fg, bg   string   // "" for the terminal's own
	faithful bool     // the three say all of the sequence, which starts with a reset
}

// off is the parameter that ends an attribute. Bold and faint end together, so neither is ended alone.
var off = map[string]string{"3": "23", "4": "24", "7": "27"}

// ReadRendition reads an SGR sequence.
func ReadRendition(seq string) Rendition {
	params := strings.Split(strings.TrimSuffix(strings.TrimPrefix(seq, "\x1b["), "m"), ";")
	k := Rendition{faithful: params[0] == "0"}
	for i := 0; i < len(params); i++ {
		n, err := strconv.Atoi(params[i])
		switch {
		case err != nil:
			k.faithful = false
		case n == 0:
			k = Rendition{faithful: k.faithful && i == 0}
		case n == 38 || n == 48:
			length := 0
			if i+1 < len(params) {
				length = map[string]int{"2": 5, "5": 3}[params[i+1]]
			}
			if length == 0 || i+length > len(params) {
				k.faithful = false
				continue
			}
			colour := strings.Join(params[i:i+length], ";")
			i += length - 1
			if n == 38 {
				k.fg = colour
			} else {
				k.bg = colour
			}
		case n >= 30 && n < 38 || n >= 90 && n < 98:
			k.fg = params[i]
		case n >= 40 && n < 48 || n >= 100 && n < 108:
			k.bg = params[i]
		case n == 1 || n == 2 || off[params[i]] != "":
			k.attrs = append(k.attrs, params[i])
		default:
			k.faithful = false
		}
	}
	slices.Sort(k.attrs)
	return k
}

// Grounded reports whether a blank in this style can be seen: it has a background, is reversed or underlined.
func (k Rendition) Grounded() bool {
	return k.bg != "" || slices.Contains(k.attrs, "4") || slices.Contains(k.attrs, "7") || !k.faithful
}

// After is the sequence that makes this style of another one; ok is false where there is none but the style's
// own.
func (k Rendition) After(from Rendition) (seq string, ok bool) {
	if !k.faithful || !from.faithful {
		return "", false
	}
	var params []string
	for _, a := range from.attrs {
		if slices.Contains(k.attrs, a) {
			continue
		}
		if off[a] == "" {
			return "", false
		}
		params = append(params, off[a])
	}
	for _, a := range k.attrs {
		if !slices.Contains(from.attrs, a) {
			params = append(params, a)
		}
	}
	for _, c := range [2]struct{ is, was, none string }{{k.fg, from.fg, "39"}, {k.bg, from.bg, "49"}} {
		switch {
		case c.is == c.was:
		case c.is == "":
			params = append(params, c.none)
		default:
			params = append(params, c.is)
		}
	}
	return "\x1b[" + strings.Join(params, ";") + "m", true
}

// Bold, Faint, Underlined and Reversed report attributes.
func (k Rendition) Bold() bool       { return slices.Contains(k.attrs, "1") }
func (k Rendition) Faint() bool      { return slices.Contains(k.attrs, "2") }
func (k Rendition) Underlined() bool { return slices.Contains(k.attrs, "4") }
func (k Rendition) Reversed() bool   { return slices.Contains(k.attrs, "7") }

// Colours are the RGB of text and ground; false for the terminal's own. The sixteen colours are taken to be
// what few says.
func (k Rendition) Colours(few *[16]uint32) (fg, bg uint32, hasFG, hasBG bool) {
	fg, hasFG = colourOf(k.fg, 30, few)
	bg, hasBG = colourOf(k.bg, 40, few)
	return fg, bg, hasFG, hasBG
}

func colourOf(text string, base int, few *[16]uint32) (uint32, bool) {
	var n [5]int
	for i, p := range strings.Split(text, ";") {
		n[i], _ = strconv.Atoi(p)
	}
	switch {
	case text == "":
		return 0, false
	case n[0] == base+8 && n[1] == 2:
		return uint32(n[2]<<16 | n[3]<<8 | n[4]), true
	case n[0] == base+8 && n[2] >= 16:
		return xterm(n[2]), true
	case n[0] == base+8:
		return few[n[2]], true
	case n[0] >= base+60:
		return few[n[0]-base-52], true
	}
	return few[n[0]-base], true
}

// VGA and Xterm are the sixteen colours as a PC's text mode and as xterm have them.
var (
	VGA = [16]uint32{0x000000, 0xaa0000, 0x00aa00, 0xaa5500, 0x0000aa, 0xaa00aa, 0x00aaaa, 0xaaaaaa,
		0x555555, 0xff5555, 0x55ff55, 0xffff55, 0x5555ff, 0xff55ff, 0x55ffff, 0xffffff}
	Xterm = [16]uint32{0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
		0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff}
)

// StyleLen is the length of the SGR sequence that text begins with, 0 without one.
func StyleLen(text string) int {
	if len(text) < 3 || text[0] != '\x1b' || text[1] != '[' {
		return 0
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case (c < '0' || c > '9') && c != ';' && c != ':':
			return 0
		}
	}
	return 0
}
