package diagnose

import (
	"errors"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// SanitizerDoc is what one of compute-sanitizer's tools said, laid beside our findings.
type SanitizerDoc struct {
	debugkern.Folded
	Version    string                `json:"version"`
	Complaints []debugkern.Complaint `json:"complaints"`
	NotRun     string                `json:"not_run"` // why, "" where it ran
	Says       string                `json:"says"`    // "racecheck: 3 confirmed, 1 only ours, 0 only theirs"
}

// sanitize lets compute-sanitizer watch a launch on the GPU where there is something to confirm, or where delays were asked
// for. What only it found is told and is no finding: it has its own false alarms.
func (q *inquiry) sanitize() error {
	if q.gpu == nil || !q.troubled() && q.o.Perturb == 0 {
		return nil
	}
	for _, tool := range debugkern.SanitizerTools {
		q.progress(debugkern.Progress{Phase: "compute-sanitizer", Detail: tool})
		out, err := q.s.Sanitize(q.ctx, q.gpu, tool)
		var coded *report.Error
		switch {
		case err == nil:
			q.doc.Sanitizer = append(q.doc.Sanitizer, q.fold(out))
		case q.ctx.Err() == nil && errors.As(err, &coded) && coded.Code != report.CodeInternal:
			none := debugkern.Folded{Tool: tool, Confirmed: []debugkern.Confirmation{}, OnlyOurs: []int{}, OnlyTheirs: []int{}}
			q.doc.Sanitizer = append(q.doc.Sanitizer, SanitizerDoc{Folded: none, Complaints: []debugkern.Complaint{}, NotRun: err.Error(), Says: tool + ": not run: " + err.Error()})
		default:
			return err
		}
	}
	return nil
}

// fold lays a tool's complaints beside the findings, and notes on suspects what it confirms.
func (q *inquiry) fold(out *debugkern.Sanitized) SanitizerDoc {
	f := debugkern.Fold(q.doc.Findings, out)
	for _, s := range q.suspects {
		for _, i := range s.cause.Findings {
			if confirms(f, i) {
				s.confirmed = "compute-sanitizer " + out.Tool + " confirms it on the GPU"
				break
			}
		}
	}
	complaints := out.Complaints
	if complaints == nil {
		complaints = []debugkern.Complaint{}
	}
	return SanitizerDoc{Folded: *f, Version: out.Version, Complaints: complaints, Says: f.Summary()}
}

func confirms(f *debugkern.Folded, finding int) bool {
	for _, c := range f.Confirmed {
		if c.Finding == finding {
			return true
		}
	}
	return false
}
