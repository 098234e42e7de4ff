package debugkern

import "testing"

// TestAtTile: what a block has once is at no kv tile.
func TestAtTile(t *testing.T) {
	for _, c := range []struct {
		stage string
		kv    int
		want  string
	}{{"P", 3, ", kv tile 3"}, {"O", 4, ""}, {"Q", -1, ""}} {
		if got := AtTile(", ", c.stage, c.kv); got != c.want {
			t.Errorf("%s %d: %q, want %q", c.stage, c.kv, got, c.want)
		}
	}
}
