package file

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// excerptRunes is the most of a file that a message shows.
const excerptRunes = 60

// Excerpt is the line that contains byte offset at of content, for a message: at most 60 characters of it,
// quoted, what is not printable escaped (bidirectional and zero-width characters too). It is "" where the
// content does not look like what w wants: nothing of such a file is shown.
func (w Want) Excerpt(content []byte, at int) string {
	if at < 0 || at > len(content) || !Text(content) || w.Like != nil && !w.Like(content) {
		return ""
	}
	start := bytes.LastIndexByte(content[:at], '\n') + 1
	line, _, _ := bytes.Cut(content[start:], []byte("\n"))
	text, more := strings.TrimSpace(string(line)), ""
	if utf8.RuneCountInString(text) > excerptRunes {
		text, more = string([]rune(text)[:excerptRunes]), "…"
	}
	return strconv.Quote(text) + more
}

// Text reports whether content is printable text in UTF-8.
func Text(content []byte) bool {
	if !utf8.Valid(content) {
		return false
	}
	return bytes.IndexFunc(content, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\f", r)
	}) < 0
}

// quoted escapes what a terminal might obey; a path that needs no escape stays as it is.
func quoted(s string) string {
	strange := func(r rune) bool { return !unicode.IsPrint(r) }
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, strange) {
		return strconv.Quote(s)
	}
	return s
}
