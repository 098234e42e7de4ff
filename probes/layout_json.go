package probes

import "encoding/json"

// layoutJSON is a Layout with every field, for a launch that is executed by another process.
type layoutJSON struct {
	Range, Whole              Range
	Stages                    [MaxSlots]Stage
	Capture, Inject           [MaxSlots]slotsJSON
	Past                      *StagePlan
	CaptureBytes, InjectBytes uint64
}

type slotsJSON struct {
	Offset                uint64
	Stride, Tiles, TileLo uint32
	Rows, Cols, Elem      uint16
	Once, Present         bool
}

func (s slots) wire() slotsJSON {
	return slotsJSON{
		s.offset, s.stride, s.tiles, s.tileLo, s.rows, s.cols, s.elem, s.once, s.present,
	}
}

func (s slotsJSON) slots() slots {
	return slots{s.Offset, s.Stride, s.Tiles, s.TileLo, s.Rows, s.Cols, s.Elem, s.Once, s.Present}
}

// MarshalJSON implements json.Marshaler.
func (l *Layout) MarshalJSON() ([]byte, error) {
	w := layoutJSON{
		Range: l.Range, Whole: l.whole, Stages: l.stages, Past: l.past, CaptureBytes: l.CaptureBytes,
		InjectBytes: l.InjectBytes,
	}
	for i := range l.capture {
		w.Capture[i], w.Inject[i] = l.capture[i].wire(), l.inject[i].wire()
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Layout) UnmarshalJSON(text []byte) error {
	var w layoutJSON
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*l = Layout{
		Range: w.Range, whole: w.Whole, stages: w.Stages, past: w.Past, CaptureBytes: w.CaptureBytes,
		InjectBytes: w.InjectBytes,
	}
	for i := range w.Capture {
		l.capture[i], l.inject[i] = w.Capture[i].slots(), w.Inject[i].slots()
	}
	return nil
}
