package scene

import (
	"maps"
	"slices"

	"tilescope/debugkern/report"
)

// A thread that fills the buffers of an array in turn, and reads them in the same turn, may copy ahead of its
// reads by one tile fewer than there are buffers. A copy that is further ahead meets a tile that is still to
// be read, in the order of the thread's own instructions: no wait and no barrier changes that.

// Early is a copy to a buffer whose tile the thread that copies has still to read.
type Early struct {
	Fill, Read *report.Source // the copy, and where the thread reads the tile that it overwrites
	Tile, Over int            // that it copies, and that it overwrites, counted from the first copy
	Buffer     int            // of Buffers
	Buffers    int
	Ahead      int // tiles from the first that the thread has not read to the one that is copied
}

// turns is the buffers that one thread fills and reads, one after the other.
type turns struct {
	fills, reads []int
	at           []*report.Source // by read: where
	begun        []int            // by fill: how many reads had begun
	from         []*report.Source // by fill: where
}

// turn is what a thread has filled and read so far.
func (b *Buffers) turn(thread int) *turns {
	if b.turns[thread] == nil {
		b.turns[thread] = &turns{}
	}
	return b.turns[thread]
}

// use notes that a thread fills or reads a buffer. Accesses of one buffer behind each other are of one tile.
func (t *turns) use(buffer int, fills bool, at *report.Source) {
	last := func(list []int) bool { return len(list) > 0 && list[len(list)-1] == buffer }
	switch {
	case fills && !last(t.fills):
		t.fills, t.from, t.begun = append(t.fills, buffer), append(t.from, at), append(t.begun, len(t.reads))
	case !fills && !last(t.reads):
		t.reads, t.at = append(t.reads, buffer), append(t.at, at)
	}
}

// early is the first copy, of the first thread that has one, to a buffer that this thread has still to read.
// It is nil where there is none, and where a thread does not read the buffers in the turn in which it fills
// them.
func (b *Buffers) early() *Early {
	n := b.dims[0]
	for _, thread := range slices.Sorted(maps.Keys(b.turns)) {
		t := b.turns[thread]
		if n < 2 || len(t.reads) < n || len(t.reads) > len(t.fills) ||
			!slices.Equal(t.fills[:len(t.reads)], t.reads) {
			continue
		}
		for tile, buffer := range t.fills {
			over := tile - n
			if over < 0 || t.fills[over] != buffer || over < t.begun[tile] || over >= len(t.at) {
				continue
			}
			return &Early{
				Fill: t.from[tile], Read: t.at[over], Tile: tile, Over: over, Buffer: buffer, Buffers: n,
				Ahead: tile - t.begun[tile],
			}
		}
	}
	return nil
}
