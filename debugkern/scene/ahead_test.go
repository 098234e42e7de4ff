package scene

import (
	"testing"

	"tilescope/debugkern/report"
)

// TestEarly: copies run ahead of the reads of their own thread by fewer tiles than there are buffers; one
// that is as many ahead is found, and none where buffers are read in another turn.
func TestEarly(t *testing.T) {
	at := func(line int) *report.Source { return &report.Source{File: "k.cu", Line: line} }
	for _, c := range []struct {
		name           string
		buffers, ahead int
		read           func(i int) int
		early          bool
	}{
		{"two ahead of three", 3, 2, func(i int) int { return i % 3 }, false},
		{"three ahead of three", 3, 3, func(i int) int { return i % 3 }, true},
		{"one ahead of two", 2, 1, func(i int) int { return i % 2 }, false},
		{"two ahead of two", 2, 2, func(i int) int { return i % 2 }, true},
		{"another turn", 3, 3, func(i int) int { return i % 2 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			const tiles = 6
			b := &Buffers{dims: []int{c.buffers, 4}, turns: map[int]*turns{}}
			own := b.turn(7)
			for i := range c.ahead {
				own.use(i%c.buffers, true, at(1))
			}
			for i := range tiles {
				if k := i + c.ahead; k < tiles {
					own.use(k%c.buffers, true, at(2))
				}
				for range 2 {
					own.use(c.read(i), false, at(3))
				}
			}
			e := b.early()
			if (e != nil) != c.early {
				t.Fatalf("%+v", e)
			}
			if e != nil && (e.Tile != c.buffers || e.Over != 0 || e.Buffer != 0 || e.Ahead != c.ahead ||
				e.Fill.Line != 2 || e.Read.Line != 3) {
				t.Errorf("%+v", e)
			}
		})
	}
}
