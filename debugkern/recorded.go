package debugkern

import (
	"bytes"
	"fmt"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// recordedOutput is what is known of an argument after a launch that somebody else executed: a reference for its bits. Known has 0xff for
// each byte that was recorded; nil: all were.
type recordedOutput struct {
	name        string
	dtype       probes.DType
	dims        []int
	data, known []byte
}

// compare counts the recorded elements, and those of them that are others here. The finding is nil where none is.
func (o *recordedOutput) compare(here []byte) (*report.Recorded, *target.Finding) {
	r, first := &report.Recorded{}, -1
	size := o.dtype.Size()
	for at := 0; at+size <= min(len(here), len(o.data)); at += size {
		if o.known != nil && bytes.IndexByte(o.known[at:at+size], 0) >= 0 {
			continue
		}
		r.Elements++
		if !bytes.Equal(here[at:at+size], o.data[at:at+size]) {
			if r.Differing++; first < 0 {
				first = at / size
			}
		}
	}
	if r.Differing == 0 {
		return r, nil
	}
	return r, &target.Finding{
		Kind: target.BackendDifference, Severity: target.SeverityError, Variable: o.name, Index: probes.Index(first, o.dims), Space: "global",
		KVTile: -1, Count: r.Differing,
		Message: fmt.Sprintf("%d of %d recorded elements of %s differ from what the launch leaves here", r.Differing, r.Elements, o.name),
	}
}

// recorded compares what the launch left with what was recorded of it. A difference is a finding, as one between the emulator and a GPU is.
func (b *bareLaunch) recorded() error {
	var found []target.Finding
	for i := range b.doc.Outputs {
		o := &b.doc.Outputs[i]
		for _, a := range b.args {
			if a.name != o.Name || a.after == nil || !a.buffer() {
				continue
			}
			then := recordedOutput{a.name, a.dtype, a.dims, a.after.Data, a.after.Known}
			r, f := then.compare(b.outputs[a.name])
			if o.Recorded = r; f != nil {
				found = append(found, *f)
			}
		}
	}
	found, err := b.excused(found)
	if err != nil {
		return err
	}
	b.doc.Findings = append(b.doc.Findings, report.FindingsOf(found)...)
	return nil
}

// recorded compares an argument after the launch with what was recorded of it; nil where nothing was.
func (e *execution) recorded(sp *probes.StagePlan, here []byte) (*report.Recorded, *target.Finding) {
	for _, a := range e.r.plan.Args {
		if a.Name == sp.Capture.Output && a.After != nil && !sp.Capture.Before {
			then := recordedOutput{a.Name, a.DType, a.Dims, a.After, a.AfterKnown}
			return then.compare(here)
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
