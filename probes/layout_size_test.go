package probes

import (
	"math"
	"testing"
)

// TestLayoutDoesNotWrap: buffers whose size does not fit 64 bits are the largest size, not a small one.
func TestLayoutDoesNotWrap(t *testing.T) {
	p := &Plan{
		Grid: Dim3{1 << 24, 1, 1}, Work: Work{MaxTiles: 1 << 20},
		Stages: []StagePlan{
			{Stage: "S", Slot: 3, DType: F32, Rows: 8192, Cols: 8192, PerTile: true,
				Capture: Capture{Kind: CaptureProbe}},
			{Stage: "P", Slot: 6, DType: F32, Rows: 8192, Cols: 8192, PerTile: true,
				Capture: Capture{Kind: CaptureProbe}},
		},
	}
	l := NewLayout(p, StagesOf("S", "P"), Range{N: p.Grid, TileN: p.Work.MaxTiles})
	if l.CaptureBytes != math.MaxUint64 {
		t.Errorf("%d bytes", l.CaptureBytes)
	}
}
