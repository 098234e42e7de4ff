package report

import "testing"

// TestWrittenAt: both lines are named, the file once where it is the same; a probe captures.
func TestWrittenAt(t *testing.T) {
	at := func(file string, line int) *Source { return &Source{File: file, Line: line} }
	for want, b := range map[string]BadCell{
		"":                     {},
		"stored at k.cu:161":   {Source: at("k.cu", 161)},
		"captured at k.cu:161": {Source: at("k.cu", 161), Probe: true},
		"computed at k.cu:160, stored at line 161": {Source: at("k.cu", 161), Computed: at("k.cu", 160)},
		"computed at a.h:9, captured at k.cu:161": {Probe: true, Source: at("k.cu", 161),
			Computed: at("a.h", 9)},
	} {
		if got := b.WrittenAt(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
