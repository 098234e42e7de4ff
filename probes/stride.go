package probes

import "slices"

// MemoryElems is how many elements of memory the argument takes, from its first to its last.
func (a Arg) MemoryElems() int { return MemoryElems(a.Dims, a.Strides) }

// MemoryElems is how many elements of memory an array takes; strides nil: it is row-major without gaps.
func MemoryElems(dims, strides []int) int {
	if strides == nil {
		return Elems(dims)
	}
	n := 1
	for d, s := range strides {
		n += (dims[d] - 1) * s
	}
	return n
}

// Place is where in memory the argument's element of a row-major index lies, in elements.
func (a Arg) Place(element int) int { return Place(element, a.Dims, a.Strides) }

// Place is where in memory the element of a row-major index lies, in elements.
func Place(element int, dims, strides []int) int {
	if strides == nil {
		return element
	}
	at := 0
	for d, i := range Index(element, dims) {
		at += i * strides[d]
	}
	return at
}

// IndexAt is the index, by dimension, of what lies at a place in memory; ok is false for a gap, or a
// place outside the array.
func IndexAt(place int, dims, strides []int) (index []int, ok bool) {
	order := make([]int, len(dims))
	for d := range order {
		order[d] = d
	}
	slices.SortStableFunc(order, func(a, b int) int { return strides[b] - strides[a] })
	index = make([]int, len(dims))
	for _, d := range order {
		if dims[d] == 1 {
			continue
		}
		index[d], place = place/strides[d], place%strides[d]
		if index[d] < 0 || index[d] >= dims[d] {
			return nil, false
		}
	}
	return index, place == 0
}

// Scatter lays elements, row-major, out in memory as the argument has them. written is 0xff for each byte of
// an element and 0 in the gaps between them; nil: there are none.
func (a Arg) Scatter(elements []byte) (memory, written []byte) {
	if a.Strides == nil || elements == nil {
		return elements, nil
	}
	size := a.DType.Size()
	memory, written = make([]byte, a.MemoryElems()*size), make([]byte, a.MemoryElems()*size)
	a.eachRun(func(element, place, n int) {
		copy(memory[place*size:], elements[element*size:(element+n)*size])
		for i := range n * size {
			written[place*size+i] = 0xff
		}
	})
	return memory, written
}

// Gather is the inverse of Scatter: the elements that memory holds, row-major.
func (a Arg) Gather(memory []byte) []byte {
	if a.Strides == nil || memory == nil {
		return memory
	}
	size := a.DType.Size()
	out := make([]byte, a.Elems()*size)
	a.eachRun(func(element, place, n int) { copy(out[element*size:(element+n)*size], memory[place*size:]) })
	return out
}

// eachRun calls f with the elements that lie together in memory: the first, where it is, and
// how many there are.
func (a Arg) eachRun(f func(element, place, n int)) {
	n := a.Elems()
	run, last := 1, len(a.Dims)-1
	if last >= 0 && a.Strides[last] == 1 {
		run = a.Dims[last]
	}
	for i := 0; i < n; i += run {
		f(i, Place(i, a.Dims, a.Strides), run)
	}
}
