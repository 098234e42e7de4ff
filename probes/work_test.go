package probes

import "testing"

// TestIterationNames: what iterations are called follows the manifest's loops, and a loop that is called tile
// gives no "tile tile".
func TestIterationNames(t *testing.T) {
	for _, c := range []struct {
		loops    []Loop
		tile, at string
	}{
		{nil, "kv tile", "kv 2"},
		{[]Loop{{Name: "k"}}, "k tile", "k 2"},
		{[]Loop{{Name: "tile"}}, "tile", "tile 2"},
		{[]Loop{{Name: "g"}, {Name: "k"}}, "g·k tile", "g·k 2"},
	} {
		w := Work{Loops: c.loops}
		if w.TileName() != c.tile || w.At(2) != c.at {
			t.Errorf("%v: %q, %q", c.loops, w.TileName(), w.At(2))
		}
	}
}
