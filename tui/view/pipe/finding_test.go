package pipe

import (
	"testing"

	"tilescope/debugkern/report"
)

// TestSaysWhere: a place whose line only begins as another's is another place.
func TestSaysWhere(t *testing.T) {
	at := func(file string, line int) *report.Source { return &report.Source{File: file, Line: line} }
	for _, c := range []struct {
		text string
		at   *report.Source
		want bool
	}{
		{"warp 4 writes it at sum.cu:5, and", at("kernels/sum.cu", 5), true},
		{"warp 0 reads it at sum.cu:57", at("sum.cu", 57), true},
		{"warp 0 reads it at sum.cu:57", at("sum.cu", 5), false},
		{"it is read before it is written", at("sum.cu", 5), false},
		{"at sum.cu:5", nil, false},
	} {
		if got := saysWhere(c.text, c.at); got != c.want {
			t.Errorf("%q, %v: %t", c.text, c.at, got)
		}
	}
}
