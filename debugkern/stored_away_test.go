package debugkern

import "testing"

// TestRowStep: rows that lie by turns with those of another matrix are farther apart than they should be.
func TestRowStep(t *testing.T) {
	rows := func(n, length, step int) (out []int) {
		for r := range n {
			for c := range length {
				out = append(out, r*step+c)
			}
		}
		return out
	}
	for _, c := range []struct {
		name       string
		is, should []int
		got, want  int // 0: none is wrong
	}{
		{"rows of two heads by turns", rows(4, 8, 16), rows(4, 8, 8), 16, 8},
		{"rows as in a narrower matrix", rows(4, 8, 12), rows(4, 8, 24), 12, 24},
		{"as they should", rows(4, 8, 16), rows(4, 8, 16), 0, 0},
		{"fewer rows", rows(3, 8, 16), rows(4, 8, 8), 0, 0},
		{
			"rows that are not equally far", append(rows(3, 8, 16), 60, 61, 62, 63, 64, 65, 66, 67),
			rows(4, 8, 8), 0, 0,
		},
		{"all of one row", rows(1, 32, 32), rows(4, 8, 8), 0, 0},
	} {
		s := rowStep(c.is, c.should, "O")
		switch {
		case s == nil && c.got != 0, s != nil && (s.Got != c.got || s.Want != c.want):
			t.Errorf("%s: %+v, want %d in the place of %d", c.name, s, c.got, c.want)
		}
	}
}
