package probes

import (
	"bytes"
	"testing"
)

// TestCapturesInPieces: the spans of the blocks are the capture buffer, and a buffer made of them has the
// tiles of one in one piece; what was not captured has none.
func TestCapturesInPieces(t *testing.T) {
	p := &Plan{
		Grid: Dim3{3, 2, 1}, Work: Work{MaxTiles: 5},
		Stages: []StagePlan{
			{Stage: "Q", Slot: 4, DType: F16, Rows: 3, Cols: 5, Capture: Capture{Kind: CaptureProbe}},
			{Stage: "S", Slot: 1, DType: F32, Rows: 2, Cols: 3, PerTile: true,
				Capture: Capture{Kind: CaptureProbe}},
		},
	}
	l := NewLayout(p, StagesOf("Q", "S"), Range{Lo: Dim3{1, 0, 0}, N: Dim3{2, 2, 1}, TileLo: 1, TileN: 4})
	if l.Spans(Dim3{0, 1, 0}) != nil {
		t.Error("a block outside the range has slots")
	}
	whole, pieces := make(Buffer, l.CaptureBytes), l.NewPieces()
	last, covered := l.Range.Block(l.Range.N.Count()-1), uint64(0)
	for i := range l.Range.N.Count() {
		block := l.Range.Block(i)
		for _, sp := range []*StagePlan{&p.Stages[0], &p.Stages[1]} {
			for kv := 1; kv < 5; kv++ {
				data := bytes.Repeat([]byte{byte(16*i + kv)}, sp.bytes())
				if err := l.Put(whole, sp.Stage, block, kv, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range l.Spans(block) {
			covered += s.Hi - s.Lo
			if block != last {
				pieces.Set(s, bytes.Clone(whole[s.Lo:s.Hi]))
			}
		}
		if n := l.Spans(block); len(n) != 2 || n[0].Hi-n[0].Lo+n[1].Hi-n[1].Lo != l.BlockBytes() {
			t.Errorf("block %s: slots %v, %d bytes expected", block, n, l.BlockBytes())
		}
	}
	if covered != l.CaptureBytes {
		t.Errorf("the spans cover %d of %d bytes", covered, l.CaptureBytes)
	}
	for i := range l.Range.N.Count() {
		block := l.Range.Block(i)
		for _, sp := range []*StagePlan{&p.Stages[0], &p.Stages[1]} {
			for kv := 1; kv < 5; kv++ {
				want, got := l.Tile(whole, sp, block, kv), l.Tile(pieces, sp, block, kv)
				if block == last {
					want.Data = nil
				} else if !want.Reached() {
					t.Fatalf("%s of block %s, kv tile %d, is not in the buffer", sp.Stage, block, kv)
				}
				if !bytes.Equal(want.Data, got.Data) || got.Reached() != (block != last) {
					t.Errorf("%s of block %s, kv tile %d: %x in pieces, %x in one", sp.Stage, block, kv,
						got.Data, want.Data)
				}
			}
		}
	}
}
