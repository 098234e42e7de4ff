package scene

import (
	"fmt"
	"slices"
)

// indexBox is a range of indices in each dimension: from, and up to without.
type indexBox [][2]int

// String is "[3][0:16]".
func (b indexBox) String() string {
	text := ""
	for _, r := range b {
		if r[1] == r[0]+1 {
			text += fmt.Sprintf("[%d]", r[0])
		} else {
			text += fmt.Sprintf("[%d:%d]", r[0], r[1])
		}
	}
	return text
}

// around is the smallest box that has all of some cells, row-major.
func around(cells, dims []int) indexBox {
	b := make(indexBox, len(dims))
	for i := range b {
		b[i] = [2]int{dims[i], 0}
	}
	for _, c := range cells {
		for i := len(dims) - 1; i >= 0; i-- {
			x := c % dims[i]
			c /= dims[i]
			b[i] = [2]int{min(b[i][0], x), max(b[i][1], x+1)}
		}
	}
	return b
}

// split makes boxes of cells, row-major and ascending, that have all of them and nothing else: the last
// dimension's runs, those of equal runs in indices that follow each other together, dimension by dimension.
func split(cells, dims []int) []indexBox {
	if len(dims) == 0 {
		return []indexBox{{}}
	}
	each := 1
	for _, d := range dims[1:] {
		each *= d
	}
	type slab struct {
		from, to int
		boxes    []indexBox
	}
	var slabs []slab
	for len(cells) > 0 {
		at, n := cells[0]/each, 0
		var inner []int
		for n < len(cells) && cells[n]/each == at {
			inner = append(inner, cells[n]%each)
			n++
		}
		boxes := split(inner, dims[1:])
		cells = cells[n:]
		if k := len(slabs) - 1; k >= 0 && slabs[k].to == at && slices.EqualFunc(slabs[k].boxes, boxes,
			func(a, b indexBox) bool { return slices.Equal(a, b) }) {
			slabs[k].to++
			continue
		}
		slabs = append(slabs, slab{at, at + 1, boxes})
	}
	var out []indexBox
	for _, s := range slabs {
		for _, b := range s.boxes {
			out = append(out, append(indexBox{{s.from, s.to}}, b...))
		}
	}
	return out
}
