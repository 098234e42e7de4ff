package scene

import (
	"fmt"
	"math/bits"
	"slices"
)

// The place that a thread stores to is a sum of steps: one for each of its stores, and one for each part of
// its number. Where writers have the same cells, one of the steps is wrong if another value of it gives every
// writer a cell of its own, and all cells that are read a writer.

// Step is how far the index of what is stored moves in one dimension with a number.
type Step struct {
	Of     string // "store", "warp", "lane / 4"
	Visits bool   // it is that of one store of a thread to its next
	Dim    int    // the dimension
	Index  string // what it is called: "its row"
	Size   int    // elements by which one more of the index moves
	Is, Be int    // by how much the index moves with one, and should
	Sure   bool   // no other step would do as well
	// At is the instructions of the entry that store, by the number of the store; nil: they are not one each
	At []int
}

// number is one of the numbers that a place is made of: a part of the thread's number, or which of its
// stores.
type number struct {
	name  string
	value func(*mark) int
	most  int
	by    []int // by how much each index moves
}

// Misstep finds the step of writers of the same cells that is wrong; nil where the places are no sums of
// steps, or no other value of one of them puts them right. Of several that do, the one that changes least is
// returned.
func (w *Contested) Misstep() *Step {
	list, base := w.numbers()
	if list == nil {
		return nil
	}
	want := w.wanted(list, base)
	var all []Step
	for k := range list {
		n := &list[k]
		for d := range w.dims {
			if !w.may(n, d) {
				continue
			}
			for be := 1; be < w.dims[d]; be++ {
				if be != n.by[d] && w.covers(list, base, k, d, be, want) {
					all = append(all, w.step(n, d, be, k == 0))
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Step) int { return a.change() - b.change() })
	if len(all) == 0 || len(all) > 1 && all[0].change() == all[1].change() {
		return nil
	}
	all[0].Sure = len(all) == 1
	if all[0].Visits {
		all[0].At = w.copies()
	}
	return &all[0]
}

// step is another step of a number in a dimension.
func (w *Contested) step(n *number, d, be int, visits bool) Step {
	s := Step{
		Of: n.name, Visits: visits, Dim: d, Is: n.by[d], Be: be, Size: 1, Index: dimension(d, len(w.dims)),
	}
	for _, inner := range w.dims[d+1:] {
		s.Size *= inner
	}
	return s
}

// change is by how much a step differs from what it is.
func (s *Step) change() int { return max(s.Be-s.Is, s.Is-s.Be) }

// may reports whether a number's step in a dimension may be another one: it moves this index, or none.
func (w *Contested) may(n *number, d int) bool {
	return n.most > 0 && (n.by[d] != 0 || !slices.ContainsFunc(n.by, func(x int) bool { return x != 0 }))
}

// copies is the instruction of each store of a thread, where it is another one each time; else nil.
func (w *Contested) copies() []int {
	var out []int
	for _, m := range w.marks {
		for len(out) <= m.visit {
			out = append(out, -1)
		}
		if m.instr < 0 || out[m.visit] >= 0 && out[m.visit] != m.instr {
			return nil
		}
		out[m.visit] = m.instr
	}
	once := slices.Compact(slices.Sorted(slices.Values(out)))
	if len(once) < len(out) || slices.Contains(out, -1) {
		return nil
	}
	return out
}

// indexOf is the index of a cell.
func (w *Contested) indexOf(cell int) []int {
	out := make([]int, len(w.dims))
	for d := len(w.dims) - 1; d >= 0; d-- {
		out[d] = cell % w.dims[d]
		cell /= w.dims[d]
	}
	return out
}

// numbers fits the places as a sum: base, and a step for each number, the stores of a thread first. nil where
// they are none.
func (w *Contested) numbers() (list []number, base []int) {
	at := map[[3]int]int{} // by thread, visit and element
	most := [3]int{}
	for _, m := range w.marks {
		at[[3]int{m.thread, m.visit, m.element}] = m.cell
		most = [3]int{max(most[0], m.thread), max(most[1], m.visit), max(most[2], m.element)}
		if m.instr < 0 {
			return nil, nil
		}
	}
	first, ok := at[[3]int{}]
	if !ok {
		return nil, nil
	}
	base = w.indexOf(first)
	step := func(key [3]int) ([]int, bool) {
		by := make([]int, len(w.dims))
		cell, ok := at[key]
		if ok {
			for d, x := range w.indexOf(cell) {
				by[d] = x - base[d]
			}
		}
		return by, ok
	}
	visits, known := step([3]int{0, 1, 0})
	elements, all := step([3]int{0, 0, 1})
	if !known && most[1] > 0 || !all && most[2] > 0 {
		return nil, nil
	}
	list = []number{
		{"store", func(m *mark) int { return m.visit }, most[1], visits},
		{"element", func(m *mark) int { return m.element }, most[2], elements},
	}
	n, used := bits.Len(uint(most[0])), 0
	for _, m := range w.marks {
		used |= m.thread
	}
	var by [][]int
	for b := range n {
		x, ok := step([3]int{1 << b, 0, 0})
		if !ok && used>>b&1 != 0 {
			return nil, nil
		}
		by = append(by, x)
	}
	list = append(list, fields(by)...)
	for i := range w.marks {
		if !slices.Equal(place(list, base, &w.marks[i]), w.indexOf(w.marks[i].cell)) {
			return nil, nil
		}
	}
	return list, base
}

// fields makes numbers of the bits of a thread's number: of several that follow each other one, where the
// step doubles from bit to bit, but for lanes and warps.
func fields(by [][]int) []number {
	var out []number
	for lo := 0; lo < len(by); {
		hi := lo + 1
		for hi < len(by) && hi != 5 && doubles(by[hi-1], by[hi]) {
			hi++
		}
		from, mask := lo, 1<<(hi-lo)-1
		out = append(out, number{
			threadPart(lo, hi, len(by)), func(m *mark) int { return m.thread >> from & mask }, mask, by[lo],
		})
		lo = hi
	}
	return out
}

func doubles(a, b []int) bool {
	for i := range a {
		if b[i] != 2*a[i] {
			return false
		}
	}
	return true
}

// threadPart names bits of a thread's number: "lane", "lane / 4", "warp % 2".
func threadPart(lo, hi, of int) string {
	name, from, to := "lane", lo, min(of, 5)
	if lo >= 5 {
		name, from, to, hi = "warp", lo-5, of-5, hi-5
	}
	if from > 0 {
		name += fmt.Sprintf(" / %d", 1<<from)
	}
	if hi < to {
		name += fmt.Sprintf(" %% %d", 1<<(hi-from))
	}
	return name
}

// place is the index of a mark by the steps.
func place(list []number, base []int, m *mark) []int {
	out := slices.Clone(base)
	for i := range list {
		v := list[i].value(m)
		for d := range out {
			out[d] += v * list[i].by[d]
		}
	}
	return out
}

// wanted is the cells that should be written: those that are read, of the indices that no step moves at the
// same place; all that are written anywhere in the block, where none is read.
func (w *Contested) wanted(list []number, base []int) map[int]bool {
	out := map[int]bool{}
	moved := make([]bool, len(w.dims))
	for i := range list {
		for d, by := range list[i].by {
			moved[d] = moved[d] || by != 0
		}
	}
	for _, c := range w.without(nil) {
		if len(w.read) > 0 && !w.read[c] {
			continue
		}
		if same(w.indexOf(c), base, moved) {
			out[c] = true
		}
	}
	return out
}

func same(a, b []int, but []bool) bool {
	for i := range a {
		if !but[i] && a[i] != b[i] {
			return false
		}
	}
	return true
}

// covers reports whether writers have a cell each, and together the wanted ones, with another step of one
// number in one dimension.
func (w *Contested) covers(list []number, base []int, k, d, be int, want map[int]bool) bool {
	if len(w.marks) != len(want) {
		return false
	}
	own := map[int]bool{}
	for i := range w.marks {
		at := place(list, base, &w.marks[i])
		at[d] += list[k].value(&w.marks[i]) * (be - list[k].by[d])
		cell, ok := linear(at, w.dims)
		if !ok || !want[cell] || own[cell] {
			return false
		}
		own[cell] = true
	}
	return true
}
