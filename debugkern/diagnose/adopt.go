package diagnose

import (
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// adopt tries a change of the PTX that follows from a finding, and makes it the suspect's remedy where the
// findings are gone with it, nothing else becomes wrong, and no other shape or input that was right becomes
// so. A story says where else it was tried.
func (q *inquiry) adopt(s *suspect, r *remedy) (bool, error) {
	s.tried++
	alone, err := q.try(nil, r)
	if err != nil || alone == nil || !q.cured(s, alone) || !q.noWorse(alone) || !q.better(alone) {
		return false, err
	}
	beyond, ok, err := q.inOther(r)
	if err != nil || !ok {
		return false, err
	}
	s.remedy, s.alone, s.beyond = r, alone, beyond
	return true, nil
}

// inOther executes another configuration with a remedy, the first that can be: ok is false where that is
// right without it, and wrong with it. The text is the end of a sentence.
func (q *inquiry) inOther(r *remedy) (text string, ok bool, err error) {
	for _, o := range q.elsewheres() {
		run, err := q.execute(o)
		if err != nil {
			return "", false, err
		}
		if run == nil {
			continue
		}
		now, err := q.tryThere(run, debugkern.Trial{Edits: r.edits(run)})
		if err != nil {
			return "", false, err
		}
		if now == nil {
			continue
		}
		right := rightAll(now.Report)
		switch was := rightAll(run.Report); {
		case right && !was:
			return "; " + o.name + " is right with it too", true, nil
		case right:
			return "; " + o.name + " stays right with it", true, nil
		case was:
			return "", false, nil
		}
		return "; " + o.name + " is not right with it", true, nil
	}
	return "; tried with this shape and these inputs alone", true, nil
}

// addressed is an instruction with its addresses moved by so many bytes.
func addressed(in *ptx.Instr, by int64) *ptx.Instr {
	return in.With(func(in *ptx.Instr) {
		for k := range in.Args {
			if in.Args[k].Kind == ptx.OpAddr {
				in.Args[k].Off += by
			}
		}
	})
}

// rightAll reports whether every stage of a run was reached, and is right.
func rightAll(rep *report.Run) bool {
	return rep.Verdict != report.Failed && !slices.ContainsFunc(rep.Stages, func(st report.Stage) bool {
		return st.Verdict == report.Off || st.Local.Bad+st.Global.Bad > 0
	})
}
