package sarif

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"tilescope/debugkern/report"
)

// fingerprintKey names how fingerprints are made; another way gets another number.
const fingerprintKey = "tilescope/2"

// fingerprints gives every result one that stays the same when lines above it are added or taken out: of
// what it is about, the functions, and the text of its lines. Where the text is not known it is the function,
// and how far the two lines are apart. Results that are alike are numbered in their order.
func (l *Log) fingerprints() []string {
	out := make([]string, len(l.Results))
	alike := map[string]int{}
	for i := range l.Results {
		r := &l.Results[i]
		of := r.Kind + "\x00" + r.About + "\x00" + r.place(r.Source) + "\x00" + r.place(r.Other)
		if r.Source != nil && r.Other != nil && r.Source.File == r.Other.File &&
			(r.line(r.Source) == "" || r.line(r.Other) == "") {
			of += fmt.Sprintf("\x00%+d", r.Other.Line-r.Source.Line)
		}
		sum := sha256.Sum256([]byte(of))
		hash := hex.EncodeToString(sum[:8])
		alike[hash]++
		out[i] = fmt.Sprintf("%s:%d", hash, alike[hash])
	}
	return out
}

// place is a place without its line's number.
func (r *Result) place(s *report.Source) string {
	if s == nil {
		return ""
	}
	return path.Base(strings.ReplaceAll(s.File, `\`, "/")) + "\x00" + s.Function + "\x00" + r.line(s)
}

// line is the text of a place's line, its blanks made one; "" where it is not known.
func (r *Result) line(s *report.Source) string {
	if r.Text == nil || s == nil || s.Line < 1 {
		return ""
	}
	lines := r.Text(s.File)
	if s.Line > len(lines) {
		return ""
	}
	return strings.Join(strings.Fields(lines[s.Line-1]), " ")
}
