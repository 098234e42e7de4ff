package walk_test

import (
	"context"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// TestRegistersOfTheLine: the registers of the instruction come first, then those of its source line, then
// the rest; each once, and somewhere on the way there are some of all three.
func TestRegistersOfTheLine(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	rank := func(r *walk.Register) int {
		switch {
		case r.Named:
			return 0
		case r.OfLine:
			return 1
		}
		return 2
	}
	var most [3]int
	for at := uint64(0); at < 4000; at += 37 {
		if _, err := w.Seek(ctx, at); err != nil {
			t.Fatal(err)
		}
		last, seen, counts := 0, map[string]bool{}, [3]int{}
		regs := w.Registers()
		for i := range regs {
			k := rank(&regs[i])
			if k < last || seen[regs[i].Name] || k == 0 && !regs[i].OfLine {
				t.Fatalf("step %d: %s at %d of %d, of rank %d after %d, seen %t", at, regs[i].Name, i,
					len(regs), k, last, seen[regs[i].Name])
			}
			last, seen[regs[i].Name] = k, true
			counts[k]++
		}
		for k, n := range counts {
			most[k] = max(most[k], n)
		}
	}
	if most[0] < 2 || most[1] < 2 || most[2] < 5 {
		t.Errorf("at most %v registers of the instruction, the line and the rest", most)
	}
}
