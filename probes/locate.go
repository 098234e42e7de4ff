package probes

// CapturedCell is what a byte of the capture buffer belongs to.
type CapturedCell struct {
	Stage    Stage
	Block    Dim3
	KVTile   int
	Row, Col int
	Header   bool // the byte is part of the slot's header; Row and Col are 0
}

// Locate is the inverse of Slot: which cell the byte at off of the capture buffer belongs to. ok is false for
// bytes that belong to none (padding, or past the end).
func (l *Layout) Locate(off uint64) (c CapturedCell, ok bool) {
	st, slot, within := l.captured(off)
	if st < 0 {
		return CapturedCell{}, false
	}
	s := &l.capture[st]
	c = CapturedCell{
		Stage: l.stages[st], Block: l.Range.Block(int(slot / uint64(s.tiles))),
		KVTile: int(s.tileLo) + int(slot%uint64(s.tiles)),
	}
	if within < SlotHeader {
		c.Header = true
		return c, true
	}
	e := int(within-SlotHeader) / int(s.elem)
	c.Row, c.Col = e/int(s.cols), e%int(s.cols)
	return c, c.Row < int(s.rows)
}

// captured is the slot that a byte of the capture buffer lies in: its stage's number, -1 for none, which of
// that stage's slots it is, and the byte of it.
func (l *Layout) captured(off uint64) (stage int, slot, within uint64) {
	for i := range l.capture {
		s := &l.capture[i]
		size := uint64(s.stride) * uint64(s.tiles) * uint64(l.Range.N.Count())
		if s.present && off >= s.offset && off < s.offset+size {
			return i, (off - s.offset) / uint64(s.stride), (off - s.offset) % uint64(s.stride)
		}
	}
	return -1, 0, 0
}
