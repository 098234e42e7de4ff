package debugkern

import (
	"bytes"
	"fmt"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// RecordedOutput is what is known of an argument after a launch that somebody else executed: a reference for
// its bits. Known has 0xff for each byte that was recorded; nil: all were.
type RecordedOutput struct {
	Name        string
	DType       probes.DType
	Dims        []int
	Data, Known []byte
}

// Compare counts the recorded elements, and those of them that are others here. The finding
// is nil where none is.
func (o *RecordedOutput) Compare(here []byte) (*report.Recorded, *target.Finding) {
	r, first := &report.Recorded{}, -1
	size := o.DType.Size()
	for at := 0; at+size <= min(len(here), len(o.Data)); at += size {
		if o.Known != nil && bytes.IndexByte(o.Known[at:at+size], 0) >= 0 {
			continue
		}
		r.Elements++
		if !bytes.Equal(here[at:at+size], o.Data[at:at+size]) {
			if r.Differing++; first < 0 {
				first = at / size
			}
		}
	}
	if r.Differing == 0 {
		return r, nil
	}
	return r, &target.Finding{
		Kind: target.BackendDifference, Severity: target.SeverityError, Variable: o.Name,
		Index: probes.Index(first, o.Dims), Space: "global",
		KVTile: -1, Count: r.Differing,
		Message: fmt.Sprintf("%d of %d recorded elements of %s differ from what the launch leaves here",
			r.Differing, r.Elements, o.Name),
	}
}

// recorded compares an argument after the launch with what was recorded of it; nil where nothing was.
func (e *execution) recorded(sp *probes.StagePlan, here []byte) (*report.Recorded, *target.Finding) {
	for _, a := range e.r.plan.Args {
		if a.Name == sp.Capture.Output && a.After != nil && !sp.Capture.Before {
			then := RecordedOutput{a.Name, a.DType, a.Dims, a.After, a.AfterKnown}
			return then.Compare(here)
		}
	}
	return nil, nil
}

// unlikeRecorded lists the arguments that are not as they were recorded.
func (e *execution) unlikeRecorded() []target.Finding {
	var out []target.Finding
	for i := range e.r.plan.Memory {
		sp := &e.r.plan.Memory[i]
		if _, f := e.recorded(sp, e.st.memory(sp)); f != nil {
			out = append(out, *f)
		}
	}
	return out
}
