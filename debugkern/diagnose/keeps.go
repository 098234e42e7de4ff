package diagnose

import (
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/scene"
)

// Where nothing judges a kernel's values, an edit with which it stores nothing, or something else, makes an
// access out of bounds go as well as the right one. There an edit is one to advise only if all that the
// kernel may load and store is loaded and stored with it too, and what it has stored stays as it is. That may
// change where it can be made of what was read out of bounds, or before it was written, by an edit of a
// condition with which threads do no more than leave accesses out, and few of those that may be made.

// unjudged reports whether nothing says what the values of a suspect's arrays should be.
func (q *inquiry) unjudged(s *suspect) bool {
	return !q.run.Report.Referenced() && s.cause.Finding >= 0 && slices.Contains(storedKinds, s.cause.Kind)
}

// storedKinds are kinds of findings that go with the access that they are about.
var storedKinds = append([]string{"uninitialised", "unwritten"}, addressKinds...)

// spoilsStored reports whether a suspect is a read of what is no value of the kernel's.
func (q *inquiry) spoilsStored(s *suspect) bool {
	if !q.unjudged(s) {
		return false
	}
	f := &q.doc.Findings[s.cause.Finding]
	return f.Kind == "uninitialised" || f.Kind == outOfBounds && strings.HasPrefix(f.Message, "reads")
}

// keepsStored reports whether a remedy leaves all in memory that the kernel leaves there without it, where
// that is not spoilt, everything touched that the kernel may touch, and every parameter that the kernel uses
// in use.
func (q *inquiry) keepsStored(r *remedy) (bool, error) {
	if r.build != nil {
		now := r.build.Module.Func(q.run.Plan.Entry)
		if now == nil || parametersUsed(now) < parametersUsed(q.run.Entry()) {
			return false, nil
		}
	}
	t := debugkern.Trial{Blocks: q.run.Blocks(), Build: r.build, Variant: r.variant}
	if r.edits != nil {
		t.Edits = r.edits(q.run)
	}
	was, err := q.stored()
	if err != nil || was == nil {
		return false, err
	}
	now, err := q.trial(q.run, t)
	if err != nil || now == nil {
		return false, q.fatal(err)
	}
	touched, err := q.accesses(t)
	if err != nil || touched == nil || q.touched.Lacks(touched) {
		return false, err
	}
	kept, err := debugkern.Keeps(q.ctx, was, now)
	if err != nil || kept {
		return kept, err
	}
	return r.bounds && !touched.Adds(q.touched) && slices.ContainsFunc(q.suspects, func(s *suspect) bool {
		if !q.spoilsStored(s) {
			return false
		}
		at := q.doc.Findings[s.cause.Finding].Source
		return at != nil && 4*touched.Times(at) >= 3*q.touched.Times(at)
	}), nil
}

// accesses is what a trial loads and stores; nil where that cannot be found out. What the run does is
// q.touched then.
func (q *inquiry) accesses(t debugkern.Trial) (*scene.Touched, error) {
	if q.touched == nil {
		was, err := scene.Touches(q.ctx, q.run, debugkern.Trial{Blocks: t.Blocks})
		if err != nil {
			return nil, q.fatal(err)
		}
		q.touched = was
	}
	now, err := scene.Touches(q.ctx, q.run, t)
	if err != nil {
		return nil, q.fatal(err)
	}
	return now, nil
}

// parametersUsed counts the parameters that an entry's instructions name.
func parametersUsed(fn *ptx.Func) (n int) {
	for _, p := range fn.Params {
		if slices.ContainsFunc(fn.Body, func(in *ptx.Instr) bool {
			return slices.ContainsFunc(in.Args, func(o ptx.Operand) bool { return isOf(&o, p) })
		}) {
			n++
		}
	}
	return n
}

// stored is the run as it is, executed as trials are; nil where that fails.
func (q *inquiry) stored() (*debugkern.Run, error) {
	if q.asItIs == nil {
		r, err := q.trial(q.run, debugkern.Trial{Blocks: q.run.Blocks()})
		if err != nil {
			return nil, q.fatal(err)
		}
		q.asItIs = r
	}
	return q.asItIs, nil
}

// advisable takes a suspect's remedy back where nothing judges values, and it changes what is stored; was is
// the suspect's cause without it.
func (q *inquiry) advisable(s *suspect, was Cause) error {
	if s.remedy == nil || !s.remedy.changes() || !q.unjudged(s) {
		return nil
	}
	ok, err := q.keepsStored(s.remedy)
	if err == nil && !ok {
		s.remedy, s.alone, s.beyond, s.decidedAt, s.cause = nil, nil, "", "", was
	}
	return err
}
