package diagnose

import (
	"tilescope/debugkern"
)

// SanitizerDoc is what one of compute-sanitizer's tools said, with our findings that are about the same.
type SanitizerDoc = debugkern.Second

// sanitize lets compute-sanitizer watch a launch on the GPU where there is something to confirm, or where
// delays were asked for. What only it found is reported and is no finding: it has its own false alarms.
func (q *inquiry) sanitize() error {
	if q.gpu == nil || !q.troubled() && q.o.Perturb == 0 {
		return nil
	}
	for _, tool := range debugkern.SanitizerTools {
		q.progress(debugkern.Progress{Phase: "compute-sanitizer", Detail: tool})
		second, err := debugkern.SecondOpinion(q.ctx, q.doc.Findings, tool,
			func() (*debugkern.Sanitized, error) {
				return q.s.Sanitize(q.ctx, q.gpu, tool)
			})
		if err != nil {
			return err
		}
		q.confirmed(&second)
		q.doc.Sanitizer = append(q.doc.Sanitizer, second)
	}
	return nil
}

// confirmed notes on suspects what a tool confirms.
func (q *inquiry) confirmed(s *SanitizerDoc) {
	for _, suspect := range q.suspects {
		for _, i := range suspect.cause.Findings {
			if confirms(&s.Folded, i) {
				suspect.confirmed = "compute-sanitizer " + s.Tool + " confirms it on the GPU"
				break
			}
		}
	}
}

func confirms(f *debugkern.Folded, finding int) bool {
	for _, c := range f.Confirmed {
		if c.Finding == finding {
			return true
		}
	}
	return false
}
