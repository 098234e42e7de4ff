package probes

// Captured is the contents of a capture buffer, by offset in it.
type Captured interface {
	// Bytes returns a view of the bytes [lo, hi), which lie in the slots of one block and one stage; nil
	// where nothing was captured there.
	Bytes(lo, hi uint64) []byte
}

// Buffer is a capture buffer in one piece.
type Buffer []byte

// Bytes implements Captured.
func (b Buffer) Bytes(lo, hi uint64) []byte { return b[lo:hi:hi] }

// Span is the bytes [Lo, Hi) of a capture buffer.
type Span struct{ Lo, Hi uint64 }

// Spans returns where in the capture buffer a block's slots lie: one span for each captured stage, in the
// stages' order by number; nil where the layout does not capture the block.
func (l *Layout) Spans(block Dim3) []Span {
	if !l.Range.Contains(block) {
		return nil
	}
	var out []Span
	for i := range l.capture {
		if s := &l.capture[i]; s.present {
			n := s.blockBytes()
			lo := s.offset + uint64(l.Range.Index(block))*n
			out = append(out, Span{lo, lo + n})
		}
	}
	return out
}

// BlockBytes is the size of all slots of one block.
func (l *Layout) BlockBytes() uint64 { return l.CaptureBytes / max(1, uint64(l.Range.N.Count())) }

// blockBytes is the size of one block's slots of the stage.
func (s *slots) blockBytes() uint64 { return uint64(s.stride) * uint64(s.tiles) }

// Pieces is a capture buffer made of pieces, the spans of the blocks. Pieces may share memory.
type Pieces struct {
	stages []slots
	data   [][][]byte // by stage in the order of Spans and by block; nil where nothing was captured
}

// NewPieces returns a capture buffer without pieces.
func (l *Layout) NewPieces() *Pieces {
	p := &Pieces{}
	for i := range l.capture {
		if s := l.capture[i]; s.present {
			p.stages = append(p.stages, s)
			p.data = append(p.data, make([][]byte, l.Range.N.Count()))
		}
	}
	return p
}

// Set puts a span's bytes into the buffer, which keeps data. Calls for different spans may be concurrent.
func (p *Pieces) Set(e Span, data []byte) {
	if stage, block, _ := p.find(e.Lo); stage >= 0 {
		p.data[stage][block] = data
	}
}

// find returns which piece the byte at off belongs to, and where in it; stage -1 where there is none.
func (p *Pieces) find(off uint64) (stage int, block, at uint64) {
	for i := range p.stages {
		s := &p.stages[i]
		n := s.blockBytes()
		if block := (off - s.offset) / max(n, 1); off >= s.offset && block < uint64(len(p.data[i])) {
			return i, block, (off - s.offset) % n
		}
	}
	return -1, 0, 0
}

// Bytes implements Captured.
func (p *Pieces) Bytes(lo, hi uint64) []byte {
	stage, block, at := p.find(lo)
	if stage < 0 || p.data[stage][block] == nil {
		return nil
	}
	return p.data[stage][block][at : at+hi-lo : at+hi-lo]
}
