package report

import (
	"testing"

	"tilescope/debugkern/target"
)

// TestMorePairs compares the race that a removal leaves with the one that was there before.
func TestMorePairs(t *testing.T) {
	load, use, store := target.Source{File: "k.cu", Line: 7}, target.Source{File: "k.cu", Line: 10},
		target.Source{File: "k.cu", Line: 8}
	race := func(ps ...target.Pairs) []Finding {
		return []Finding{{Kind: "race", Variable: "sA", Severity: "error", Pairs: ps}}
	}
	war := target.Pairs{Hazard: "write-after-read", First: use, Second: load, Later: true, Count: 100}
	raw := target.Pairs{Hazard: "read-after-write", First: load, Second: use, Count: 100}
	of := func(p target.Pairs, n int) target.Pairs { p.Count = n; return p }
	moved := war
	moved.Second = store
	later := raw
	later.Later = true
	for _, c := range []struct {
		name          string
		before, after []Finding
		counted       bool
		want          int
	}{
		{"the same", race(war), race(war), true, 0},
		{"another hazard", race(war), race(war, raw), true, 1},
		{"another hazard, not counted", race(war), race(war, raw), false, 1},
		{"in another iteration", race(raw), race(raw, later), true, 1},
		{"many more", race(war), race(of(war, 300)), true, 1},
		{"many more, not counted", race(war), race(of(war, 300)), false, 0},
		{"by the schedule", race(war), race(of(war, 120)), true, 0},
		{"seen at another store", race(war), race(of(war, 50), of(moved, 50)), true, 0},
		{"at another store too", race(war), race(war, moved), true, 1},
	} {
		if got := MorePairs(c.before, c.after, &c.after[0], c.counted); len(got) != c.want {
			t.Errorf("%s: %+v, expected %d", c.name, got, c.want)
		}
	}
}
