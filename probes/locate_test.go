package probes

import "testing"

func TestLocateInvertsSlot(t *testing.T) {
	l := &Layout{Range: Range{Lo: Dim3{1, 2, 0}, N: Dim3{2, 2, 1}, TileLo: 3, TileN: 2}}
	var total uint64
	slotOf := map[Stage]int{"S": 9, "l": 2}
	for st, sp := range map[Stage]StagePlan{
		"S": {Rows: 3, Cols: 5, DType: F16, PerTile: true},
		"l": {Rows: 3, Cols: 1, DType: F32},
	} {
		l.stages[slotOf[st]] = st
		l.capture[slotOf[st]] = place(&sp, l.Range, l.Range.TileN, &total)
	}
	for _, want := range []CapturedCell{
		{Stage: "S", Block: Dim3{1, 2, 0}, KVTile: 3},
		{Stage: "S", Block: Dim3{2, 3, 0}, KVTile: 4, Row: 2, Col: 4},
		{Stage: "l", Block: Dim3{2, 2, 0}, Row: 2},
	} {
		off, ok := l.Slot(want.Stage, want.Block, want.KVTile)
		if !ok {
			t.Fatalf("%+v has no slot", want)
		}
		s := l.capture[slotOf[want.Stage]]
		cell := off + uint64((want.Row*int(s.cols)+want.Col)*int(s.elem))
		for b := range uint64(s.elem) {
			if got, ok := l.Locate(cell + b); !ok || got != want {
				t.Errorf("byte %d of %+v: got %+v, %v", b, want, got, ok)
			}
		}
		if got, ok := l.Locate(off - 1); !ok || !got.Header || got.Block != want.Block ||
			got.KVTile != want.KVTile {
			t.Errorf("header of %+v: got %+v, %v", want, got, ok)
		}
	}
	// 3·5 halves are 30 bytes: two of padding
	if off, _ := l.Slot("S", Dim3{1, 2, 0}, 3); true {
		if c, ok := l.Locate(off + 30); ok {
			t.Errorf("padding is %+v", c)
		}
	}
	if c, ok := l.Locate(total); ok {
		t.Errorf("past the end is %+v", c)
	}
}

// TestMissingOfALayout: cells belong to a slot, all of them, or to none.
func TestMissingOfALayout(t *testing.T) {
	p := &Plan{
		Grid: Dim3{2, 1, 1}, Work: Work{MaxTiles: 2},
		Stages: []StagePlan{{
			Stage: "S", Slot: 1, DType: F32, Rows: 2, Cols: 3, PerTile: true,
			Capture: Capture{Kind: CaptureProbe},
		}},
	}
	l := NewLayout(p, StagesOf("S"), Range{N: p.Grid, TileN: 2})
	off, ok := l.Slot("S", Dim3{1, 0, 0}, 1)
	if !ok {
		t.Fatal("no slot")
	}
	if !(Missing{off: make([]bool, 6)}).Of(l) || !(Missing)(nil).Of(l) {
		t.Error("a slot's cells are refused")
	}
	for _, m := range []Missing{
		{off: make([]bool, 5)}, {off + 4: make([]bool, 6)}, {off - SlotHeader: make([]bool, 6)},
		{l.CaptureBytes: make([]bool, 6)},
	} {
		if m.Of(l) {
			t.Errorf("%v is taken", m)
		}
	}
}
