package sarif

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
)

// fingerprintKey names how fingerprints are made; another way gets another number.
const fingerprintKey = "tilescope/2"

// Read takes the texts of the result's lines out of their files, as OfFinding does.
func (r *Result) Read(text func(file string) []string) {
	for i, s := range []*report.Source{r.Source, r.Other} {
		if s == nil || s.Line < 1 {
			continue
		}
		if lines := text(s.File); s.Line <= len(lines) {
			r.Lines[i] = strings.Join(strings.Fields(lines[s.Line-1]), " ")
		}
	}
}

// fingerprints gives every result one that stays the same when lines above it are added or taken out: of
// what it is about, the functions, and the text of its lines. Where the text is not known it is the function,
// and how far the two lines are apart. Results that are alike are numbered in their order.
func (l *Log) fingerprints() []string {
	out := make([]string, len(l.Results))
	alike := map[string]int{}
	for i := range l.Results {
		r := &l.Results[i]
		of := []string{r.Kind, r.About, placeless(r.Source), r.Lines[0], placeless(r.Other), r.Lines[1]}
		if r.Source != nil && r.Other != nil && r.Source.File == r.Other.File &&
			(r.Lines[0] == "" || r.Lines[1] == "") {
			of = append(of, strconv.Itoa(r.Other.Line-r.Source.Line))
		}
		sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
		hash := hex.EncodeToString(sum[:8])
		alike[hash]++
		out[i] = fmt.Sprintf("%s:%d", hash, alike[hash])
	}
	return out
}

// placeless is a place without its line's number.
func placeless(s *report.Source) string {
	if s == nil {
		return ""
	}
	return path.Base(strings.ReplaceAll(s.File, `\`, "/")) + "\x00" + s.Function
}
