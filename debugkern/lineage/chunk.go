package lineage

// chunkBits is the size of the pieces in which a trace grows: what is there is never moved.
const chunkBits = 14

const chunkSize = 1 << chunkBits

// chunked is a list that grows without being copied.
type chunked[T any] struct {
	chunks [][]T
	n      int
}

func (c *chunked[T]) at(i int) *T { return &c.chunks[i>>chunkBits][i&(chunkSize-1)] }

// add appends a zero element and returns its place. more is asked before memory is allocated; nil is
// returned where it refuses.
func (c *chunked[T]) add(more func() bool) *T {
	if c.n>>chunkBits == len(c.chunks) {
		if !more() {
			return nil
		}
		c.chunks = append(c.chunks, make([]T, chunkSize))
	}
	c.n++
	return c.at(c.n - 1)
}
