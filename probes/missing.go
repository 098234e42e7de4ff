package probes

import "encoding/binary"

// Missing lists the cells of reached slots that no thread stored: by the slot's offset (Layout.Slot), one
// mark for each element in the slot's order. Slots that are whole are not in it; nil says that all are.
type Missing map[uint64][]bool

// Merge adds another set of slots, and returns the union; either may be nil.
func (m Missing) Merge(o Missing) Missing {
	if m == nil {
		return o
	}
	for off, cells := range o {
		m[off] = cells
	}
	return m
}

// Of reports whether m is of a layout's capture buffer: every entry at a slot of it, with all of its cells.
func (m Missing) Of(l *Layout) bool {
	for off, cells := range m {
		st, _, within := l.captured(off)
		if st < 0 || within != SlotHeader || len(cells) != int(l.capture[st].rows)*int(l.capture[st].cols) {
			return false
		}
	}
	return true
}

// Stores is what a backend records about the bytes [lo, hi) of its capture buffer after a launch.
type Stores interface {
	// Whole reports that every element of that size in the range was stored.
	Whole(lo, hi uint64, size int) bool
	// Untouched reports that nothing seems to have been stored in the range.
	Untouched(lo, hi uint64) bool
	// Stored reports that the one element in the range was stored.
	Stored(lo, hi uint64) bool
}

// Missing finds the missing cells of a block's slots. Their bytes in the capture buffer become 0, whatever
// the backend had filled them with; a slot that has cells but no header, because the thread that writes it
// never came, is given one.
func (l *Layout) Missing(capture Captured, block Dim3, w Stores) Missing {
	var out Missing
	for s := range l.capture {
		sl := &l.capture[s]
		if !sl.present {
			continue
		}
		for t := range int(sl.tiles) {
			kv := t + int(sl.tileLo)
			off, ok := sl.slot(l.Range, block, kv)
			if !ok {
				continue
			}
			if cells := sl.missing(capture, off, s, kv, w); cells != nil {
				if out == nil {
					out = Missing{}
				}
				out[off+SlotHeader] = cells
			}
		}
	}
	return out
}

// missing examines one slot; nil where all of it was stored, or none.
func (s *slots) missing(capture Captured, off uint64, id, kv int, w Stores) []bool {
	size := uint64(s.elem)
	n := uint64(s.rows) * uint64(s.cols)
	slot := capture.Bytes(off, off+SlotHeader+n*size)
	head := binary.LittleEndian.Uint32(slot) == slotMagic
	lo := off + SlotHeader
	if head && w.Whole(lo, lo+n*size, int(size)) {
		return nil
	}
	if !head && w.Untouched(lo, lo+n*size) {
		return nil // not reached
	}
	absent, count := make([]bool, n), uint64(0)
	for i := range absent {
		at := lo + uint64(i)*size
		if absent[i] = !w.Stored(at, at+size); absent[i] {
			count++
		}
	}
	if count == n && !head {
		return nil // not reached
	}
	s.head(slot, id, kv)
	if count == 0 {
		return nil
	}
	for i, a := range absent {
		if a {
			clear(slot[SlotHeader+uint64(i)*size:][:size])
		}
	}
	return absent
}

// head writes a slot's header.
func (s *slots) head(b []byte, id, kv int) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], slotMagic)
	le.PutUint32(b[4:], uint32(id))
	le.PutUint32(b[8:], uint32(kv))
	le.PutUint32(b[12:], uint32(s.rows)<<16|uint32(s.cols))
}
