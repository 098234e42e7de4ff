package scene

import (
	"strings"
	"testing"
)

// What nobody writes is worded by its columns where all rows have the same.
func TestCoveredText(t *testing.T) {
	matrix := func(rows, cols int, in func(r, c int) bool) []int {
		var cells []int
		for r := range rows {
			for c := range cols {
				if in(r, c) {
					cells = append(cells, r*cols+c)
				}
			}
		}
		return cells
	}
	c := &Covered{Variable: "sS", dims: []int{4, 32}}
	for _, x := range []struct {
		in   func(r, c int) bool
		want string
	}{
		{func(_, c int) bool { return c%2 == 1 }, "the odd columns of sS"},
		{func(_, c int) bool { return c%2 == 0 }, "the even columns of sS"},
		{func(_, c int) bool { return c%16 >= 8 }, "columns 8-15 of every 16 of sS"},
		{func(_, c int) bool { return c >= 30 }, "columns 30-31 of sS"},
		{func(_, c int) bool { return c == 3 }, "column 3 of sS"},
		{func(r, c int) bool { return r == 2 && c == 3 }, "sS[2][3]"},
		{func(r, _ int) bool { return r >= 2 }, "all columns of sS in rows 2-3"},
		{func(r, c int) bool { return r == 1 && c%4 == 3 }, "column 3 of every 4 of sS in row 1"},
		{func(r, c int) bool { return c < r }, "6 elements of sS"},
	} {
		if got := c.Text(matrix(4, 32, x.in)); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
	buffers := &Covered{Variable: "sK", dims: []int{3, 4, 8}}
	second := matrix(12, 8, func(r, _ int) bool { return r/4 == 1 })
	if got, want := buffers.Text(second), "all of sK[1]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	line := &Covered{Variable: "m", dims: []int{32}}
	odd := matrix(1, 32, func(_, c int) bool { return c%2 == 1 })
	if got, want := line.Text(odd), "the odd elements of m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// Of a shared array only what is read counts; of an output all.
	c.wrote, c.read = map[int]bool{0: true}, map[int]bool{0: true, 1: true, 33: true}
	if got := c.Never(); len(got) != 2 || got[0] != 1 || got[1] != 33 {
		t.Errorf("never written, and read: %v", got)
	}
	// Columns beyond a tile are padding, where nothing else is missing.
	padded := &Covered{
		Variable: "sK", dims: []int{2, 8}, wrote: map[int]bool{}, read: map[int]bool{6: true, 15: true},
	}
	if got := padded.Padding(6); got != 8 {
		t.Errorf("a width of %d behind 6 columns, want 8", got)
	}
	for _, cols := range []int{0, 7, 8} {
		if got := padded.Padding(cols); got != 0 {
			t.Errorf("%d columns: padding up to %d, want none", cols, got)
		}
	}
	if got, want := c.NeverText(), "column 1 of sS in rows 0-1 is read and never written"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.global = true
	if got := c.Never(); len(got) != 127 {
		t.Errorf("of an output %d elements", len(got))
	}
	if got := c.NeverText(); !strings.HasSuffix(got, " are never written") {
		t.Errorf("of an output %q", got)
	}
	one := &Covered{Variable: "Y", dims: []int{2, 8}, global: true, wrote: map[int]bool{}}
	for i := range 16 {
		one.wrote[i] = i%8 != 0
	}
	if got, want := one.NeverText(), "column 0 of Y is never written"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
