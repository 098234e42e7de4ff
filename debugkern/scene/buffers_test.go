package scene

import (
	"slices"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
)

// TestPeriod: buffers repeat after as many as are seen twice; of a sequence that does not nothing is said.
func TestPeriod(t *testing.T) {
	for _, c := range []struct {
		order []int
		want  int
	}{
		{[]int{0, 1, 2, 0}, 3}, {[]int{0, 1, 0, 1}, 2}, {[]int{0, 0, 0}, 1}, {[]int{0, 1, 2}, 0}, {nil, 0},
		{[]int{0, 1, 2, 1}, 0},
	} {
		if got := (&Round{Order: c.order}).Period(); got != c.want {
			t.Errorf("%v: %d, want %d", c.order, got, c.want)
		}
	}
}

// TestBegins: an index as a sum of parts of a thread's number.
func TestBegins(t *testing.T) {
	b := &Buffers{dims: []int{2, 32, 64}}
	for want, place := range map[string]func(t int) (row, col int){
		"row t % 32, column 16·(t / 32)": func(t int) (int, int) { return t % 32, t / 32 * 16 },
		"row t / 4, column 16·(t % 4)":   func(t int) (int, int) { return t / 4, t % 4 * 16 },
		"row t / 2 % 16 + 16·(t / 64), column t % 2": func(t int) (int, int) {
			return t/2%16 + t/64*16, t % 2
		},
		"": func(t int) (int, int) { return t / 5, 0 },
	} {
		at := map[int]int{}
		for t := range 128 {
			row, col := place(t)
			at[t], _ = linear([]int{0, row, col}, b.dims)
		}
		if got := b.begins(at); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFill: a kernel that prefetches into two buffers fills and reads them in one turn, and every thread
// reads what it has copied.
func TestFill(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: "validation"})
	b, err := Fill(t.Context(), run, run.Blocks()[0], "sK_u8")
	if err != nil {
		t.Fatal(err)
	}
	if b.Strange != 0 || b.Reads == 0 || b.Copied == "" || b.Copied != b.Read {
		t.Errorf("%d of %d reads are of another thread; copies from %q, reads from %q", b.Strange, b.Reads, b.Copied,
			b.Read)
	}
	fills, reads := 0, 0
	for _, r := range b.Rounds {
		if !slices.Equal(r.Order, []int{0, 1, 0, 1}) {
			t.Errorf("%s uses buffers %v", r.Source.At(), r.Order)
		}
		if r.Fills {
			fills++
		} else {
			reads++
		}
	}
	if fills != 1 || reads != 1 {
		t.Errorf("%d lines fill, %d read", fills, reads)
	}
}
