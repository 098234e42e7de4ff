package text

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a document that encoding/json has made with every hidden character of its strings as \u, so
// that it shows nothing but what it contains; it decodes to the same strings.
func JSON(doc []byte) []byte {
	if plain(doc) {
		return doc
	}
	out := make([]byte, 0, len(doc)+64)
	for len(doc) > 0 {
		r, n := utf8.DecodeRune(doc)
		switch {
		case !Hidden(r) || r == '\n' || r == '\t' || r == '\r':
			out = append(out, doc[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendHex(appendHex(out, `\u`, uint64(high), 4), `\u`, uint64(low), 4)
		default:
			out = appendHex(out, `\u`, uint64(r), 4)
		}
		doc = doc[n:]
	}
	return out
}

// SARIF returns s as the plain text of a SARIF message: what is hidden spelled out, and no embedded link
// (SARIF 2.1.0, 3.11.6: [text](target), whose brackets a backslash makes literal).
func SARIF(s string) string { return strings.ReplaceAll(Terminal(s), "](", `\](`) }

// Markdown returns s as inline text of GitHub's Markdown, in a table's cell too: one line that means nothing
// but itself.
func Markdown(s string) string {
	s = Line(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s))
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '_' && inWord(runes, i):
			b.WriteByte('_') // no emphasis within a word
		case strings.ContainsRune("\\`*_[]|~#$", r), i == 0 && strings.ContainsRune("-+=", r) &&
			len(runes) > 1:
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inWord reports whether the character at i stands between letters or digits.
func inWord(s []rune, i int) bool {
	word := func(i int) bool {
		return i >= 0 && i < len(s) && (unicode.IsLetter(s[i]) || unicode.IsDigit(s[i]))
	}
	return word(i-1) && word(i+1)
}

// MarkdownCode returns s as a code span, outside tables.
func MarkdownCode(s string) string {
	s = Line(strings.ReplaceAll(s, "\n", " "))
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// Shell returns a word of a command line as a shell wants it: as it is where nothing in it means anything to
// a shell, else quoted. A word with hidden characters takes the $'…' of bash, zsh and ksh: it can be read,
// and pasted.
func Shell(word string) string {
	if !utf8.ValidString(word) || strings.ContainsFunc(word, Hidden) {
		return ansiQuoted(word)
	}
	return Quoted(word)
}

// Quoted returns a word as every POSIX shell reads it back: as it is where nothing in it means anything to a
// shell, else in single quotes. zsh, csh and fish read it back too where it has no backslash and no line's
// end.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./,=:+@%", r)
	}
	special := func(r rune) bool { return !plain(r) }
	if word != "" && word[0] != '=' && !strings.ContainsFunc(word, special) { // zsh looks =WORD up in PATH
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ansiQuoted writes a word within $'…'. Hidden characters are given by their bytes in octal with all digits:
// what follows them cannot continue the number, and it means the same in every locale.
func ansiQuoted(word string) string {
	out := []byte("$'")
	for len(word) > 0 {
		r, n := utf8.DecodeRuneInString(word)
		switch {
		case r == '\'' || r == '\\':
			out = append(out, '\\', byte(r))
		case Hidden(r) || r == utf8.RuneError && n == 1:
			for _, c := range []byte(word[:n]) {
				out = append(out, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			}
		default:
			out = append(out, word[:n]...)
		}
		word = word[n:]
	}
	return string(append(out, '\''))
}

// CommandLine is words as they are given to a shell, each quoted where it has to be.
func CommandLine(words []string) string { return joined(words, Shell) }

// QuotedLine is CommandLine for any POSIX shell: hidden characters stay as they are.
func QuotedLine(words []string) string { return joined(words, Quoted) }

func joined(words []string, quote func(string) string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// JoinWords joins words so that Words finds them again, with no more quotes than that takes.
func JoinWords(words []string) string {
	return joined(words, func(w string) string {
		switch {
		case w != "" && !strings.ContainsFunc(w, func(r rune) bool {
			return r == '\'' || r == '"' || unicode.IsSpace(r)
		}):
			return w
		case !strings.Contains(w, "'"):
			return "'" + w + "'"
		case !strings.Contains(w, `"`):
			return `"` + w + `"`
		}
		return "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
	})
}

// Words splits a line at its blanks, as a shell does: what stands in single or double quotes is one word, and
// nothing else is special. ok is false where a quote has no end.
func Words(line string) (words []string, ok bool) {
	word, within, quote := "", false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, within = r, true
		case quote == 0 && unicode.IsSpace(r):
			if within {
				words = append(words, word)
			}
			word, within = "", false
		default:
			word, within = word+string(r), true
		}
	}
	if within {
		words = append(words, word)
	}
	return words, quote == 0
}
