// Package text makes foreign text safe to show: kernel names, file names, source excerpts, what a kernel
// prints, the messages of a compiler.
//
// The one idea: whatever a terminal or a browser would obey instead of show is spelled out (\x1b, \u202e), at
// the place where text leaves the program, by the rules of what is written there. Text that needs no spelling
// stays as it is. The package knows nothing of what the text says.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether r is obeyed or invisible where text is shown: a control character (C0, DEL, C1;
// newline and tab among them), a bidirectional control, a character without width, a line or paragraph
// separator (Unicode 15, categories Cc, Cf, Zl, Zp, and the property Default_Ignorable_Code_Point).
func Hidden(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xad:
		return true
	case r < 0x300:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}

// Terminal returns s as a terminal may be given it: hidden characters other than newline and tab, and bytes
// that are no UTF-8, are spelled out. The carriage return of a line's end is left out.
func Terminal(s string) string {
	if plain(s) {
		return s
	}
	return string(appendShown(nil, []byte(s), false))
}

// Line is Terminal for one line: newlines and tabs are spelled out too.
func Line(s string) string {
	s = Terminal(s)
	if strings.ContainsAny(s, "\n\t") {
		s = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
	}
	return s
}

// plain reports whether s is printable ASCII, newlines and tabs.
func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// appendShown appends s to out with hidden characters spelled out. With styles, SGR sequences stay.
func appendShown(out, s []byte, styles bool) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == '\n' || r == '\t':
			out = append(out, byte(r))
		case r == '\r' && len(s) > 1 && s[1] == '\n':
		case r == utf8.RuneError && n == 1:
			out = appendHex(out, `\x`, uint64(s[0]), 2)
		case styles && sgr(s) > 0:
			n = sgr(s)
			out = append(out, s[:n]...)
		case Hidden(r):
			out = appendSpelled(out, r)
		default:
			out = append(out, s[:n]...)
		}
		s = s[n:]
	}
	return out
}

// sgr is the length of the SGR sequence that s begins with, 0 without one.
func sgr(s []byte) int {
	if len(s) < 3 || s[0] != '\x1b' || s[1] != '[' {
		return 0
	}
	for i, c := range s[2:] {
		if c == 'm' {
			return i + 3
		}
		if (c < '0' || c > '9') && c != ';' && c != ':' {
			break
		}
	}
	return 0
}

// appendSpelled appends r as it is shown where it is hidden: \x1b, \u202e, \U000e0001.
func appendSpelled(out []byte, r rune) []byte {
	switch {
	case r < 0x100:
		return appendHex(out, `\x`, uint64(r), 2)
	case r < 0x10000:
		return appendHex(out, `\u`, uint64(r), 4)
	}
	return appendHex(out, `\U`, uint64(r), 8)
}

func appendHex(out []byte, prefix string, v uint64, digits int) []byte {
	hex := strconv.FormatUint(v, 16)
	out = append(out, prefix...)
	for range digits - len(hex) {
		out = append(out, '0')
	}
	return append(out, hex...)
}
