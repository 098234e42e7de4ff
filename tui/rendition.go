package tui

import (
	"slices"
	"strconv"
	"strings"
)

// rendition is a style (select graphic rendition, ECMA-48 8.3.117) as the parameters that set it apart from the terminal's default.
type rendition struct {
	attrs    []string // sorted: bold 1, faint 2, italic 3, underlined 4, reversed 7
	fg, bg   string   // "" for the terminal's own
	faithful bool     // the three say all of the sequence, which starts with a reset
}

// off is the parameter that ends an attribute. Bold and faint end together, so neither is ended alone.
var off = map[string]string{"3": "23", "4": "24", "7": "27"}

// readRendition reads an SGR sequence.
func readRendition(seq string) rendition {
	params := strings.Split(strings.TrimSuffix(strings.TrimPrefix(seq, "\x1b["), "m"), ";")
	k := rendition{faithful: params[0] == "0"}
	for i := 0; i < len(params); i++ {
		n, err := strconv.Atoi(params[i])
		switch {
		case err != nil:
			k.faithful = false
		case n == 0:
			k = rendition{faithful: k.faithful && i == 0}
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

// grounded reports whether a blank in this style can be seen: it has a background, is reversed or underlined.
func (k rendition) grounded() bool {
	return k.bg != "" || slices.Contains(k.attrs, "4") || slices.Contains(k.attrs, "7") || !k.faithful
}

// after is the sequence that makes this style of another one; ok is false where there is none but the style's
// own.
func (k rendition) after(from rendition) (seq string, ok bool) {
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
