package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// remedy is something that may put a suspect right, virtually: edits of the PTX, a stage replaced by the reference, or a
// planted fault left out.
type remedy struct {
	text       string // "with …": what is put right, as the start of a sentence
	advice     string // what to change in the source; "" where the text of the suspect has it
	edits      func(*debugkern.Run) []ptx.Edit
	substitute []probes.Stage
	without    string // a planted fault
}

// insertion is a kind of synchronisation that can be put in.
type insertion struct {
	kind   ptx.EditKind
	source string // as the source spells it
}

var (
	blockSync = insertion{ptx.InsertBarrier, "__syncthreads()"}
	warpSync  = insertion{ptx.InsertWarpSync, "__syncwarp()"}
	waitAll   = insertion{ptx.InsertWaitAll, "cp.async.wait_all"}
)

// candidates lists what may put a suspect of findings right, the likeliest first.
func (q *inquiry) candidates(s *suspect) []remedy {
	fn := q.run.Entry()
	if fn == nil || s.exclusive || s.cause.Place.Source == nil {
		return nil
	}
	lead := &q.doc.Findings[s.cause.Finding]
	switch lead.Kind {
	case "race":
		return raceRemedies(fn, lead)
	case "cp-async":
		return asyncRemedies(fn, lead)
	case "barrier":
		return barrierRemedies(fn, lead)
	}
	return nil
}

// raceRemedies puts the synchronisation that the finding names, then the others, at the places between the two sides.
func raceRemedies(fn *ptx.Func, f *debugkern.FindingDoc) []remedy {
	var out []remedy
	for _, ins := range named(f) {
		for _, at := range between(fn, f) {
			out = append(out, insert(fn, ins, at))
		}
	}
	return out
}

// named orders the synchronisations by what a finding says is missing.
func named(f *debugkern.FindingDoc) []insertion {
	missing := ""
	if f.Missing != nil {
		missing = *f.Missing
	}
	switch {
	case strings.Contains(missing, "syncwarp"), strings.Contains(missing, "bar.warp"):
		return []insertion{warpSync, blockSync}
	case strings.Contains(missing, "wait"):
		return []insertion{waitAll, blockSync}
	case len(f.Warps) == 1:
		return []insertion{blockSync, warpSync}
	}
	return []insertion{blockSync}
}

// between lists body indices before which a synchronisation may stand to order the two sides of a finding: after the one and
// before the other, in program order first, else round the loop; and where the branches around them meet.
func between(fn *ptx.Func, f *debugkern.FindingDoc) []int {
	a, b := instructionsAt(fn, f.Source), []int(nil)
	if f.Other != nil {
		b = instructionsAt(fn, f.Other)
	}
	if len(b) == 0 {
		b = a
	}
	if len(a) == 0 {
		return nil
	}
	if b[0] < a[0] {
		a, b = b, a
	}
	last := func(at []int) int { return at[len(at)-1] }
	list := []int{b[0], last(a) + 1, joins(fn, last(a)), last(b) + 1, joins(fn, last(b)), a[0]}
	if last(a) > b[0] { // unrolled into one another: the second side's first copy is no boundary
		list = []int{last(a) + 1, b[0], joins(fn, last(a)), last(b) + 1, joins(fn, last(b)), a[0]}
	}
	var out []int
	for _, at := range list {
		if at > 0 && at < len(fn.Body) && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// joins is the first instruction after i that a branch leads to.
func joins(fn *ptx.Func, i int) int {
	for i++; i < len(fn.Body); i++ {
		if len(fn.Body[i].Labels) > 0 {
			return i
		}
	}
	return -1
}

// insert is a synchronisation put before a body index.
func insert(fn *ptx.Func, ins insertion, at int) remedy {
	where := "there"
	if l := blame(fn, at); l != nil {
		where = fmt.Sprintf("before line %d", l.Line)
		if p := blame(fn, at-1); p != nil && p.File == l.File && p.Line < l.Line {
			where = fmt.Sprintf("between lines %d and %d", p.Line, l.Line)
		}
	}
	return remedy{
		text: fmt.Sprintf("with %s %s", ins.source, where), advice: fmt.Sprintf("put %s %s", ins.source, where),
		edits: func(*debugkern.Run) []ptx.Edit { return []ptx.Edit{{Kind: ins.kind, Func: fn.Name, At: at}} },
	}
}

// asyncRemedies waits for one group more at each wait, or for all before the bytes are used, alone or with a barrier.
func asyncRemedies(fn *ptx.Func, f *debugkern.FindingDoc) []remedy {
	var out []remedy
	for _, at := range fn.Syncs(nil) {
		in := fn.Body[at]
		if !in.Has("wait_group") || len(in.Args) == 0 || in.Args[0].Kind != ptx.OpInt || in.Args[0].Imm == 0 {
			continue
		}
		n := in.Args[0].Imm - 1
		where := ""
		if l := blame(fn, at); l != nil {
			where = fmt.Sprintf(" at line %d", l.Line)
		}
		out = append(out, remedy{
			text: fmt.Sprintf("with cp.async.wait_group %d instead of %d%s", n, n+1, where), advice: fmt.Sprintf("wait for all but %d groups%s", n, where),
			edits: func(*debugkern.Run) []ptx.Edit {
				return []ptx.Edit{{Kind: ptx.SetWait, Func: fn.Name, At: at, N: n}}
			},
		})
	}
	for _, at := range between(fn, f) {
		out = append(out, insert(fn, waitAll, at))
	}
	for _, at := range between(fn, f) {
		r := insert(fn, waitAll, at)
		r.text, r.advice = r.text+" and a __syncthreads() after it", r.advice+" and a __syncthreads() after it"
		r.edits = func(*debugkern.Run) []ptx.Edit {
			return []ptx.Edit{{Kind: ptx.InsertWaitAll, Func: fn.Name, At: at}, {Kind: ptx.InsertBarrier, Func: fn.Name, At: at}}
		}
		out = append(out, r)
	}
	return out
}

// barrierRemedies moves a barrier that not all threads reach behind the condition that it stands under.
func barrierRemedies(fn *ptx.Func, f *debugkern.FindingDoc) []remedy {
	var out []remedy
	for _, at := range instructionsAt(fn, f.Source) {
		in := fn.Body[at]
		to := joins(fn, at)
		if in.Op != "bar" && in.Op != "barrier" || to < 0 {
			continue
		}
		what := fmt.Sprintf("the barrier of line %d moved out of its condition", f.Source.Line)
		out = append(out, remedy{
			text: "with " + what, advice: fmt.Sprintf("move the barrier of line %d out of the condition that it stands under: every thread must reach it", f.Source.Line),
			edits: func(*debugkern.Run) []ptx.Edit {
				return []ptx.Edit{{Kind: ptx.Remove, Func: fn.Name, At: at}, {Kind: ptx.InsertBarrier, Func: fn.Name, At: to}}
			},
		})
	}
	return out
}
