package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// copiedByOthers tries a barrier behind each wait for cp.async, where a stage that is read from a tensor by
// such copies is wrong: a thread waits for its own copies alone, and others read them too. false where none
// puts the stage right.
func (q *inquiry) copiedByOthers(s *suspect, st probes.Stage, _ *report.BadCell) (bool, error) {
	fn, sp := q.run.Entry(), q.run.Plan.Stage(st)
	if fn == nil || sp == nil || !sp.Loaded {
		return false, nil
	}
	byLine := map[string][]int{}
	var lines []string
	for _, i := range transfers(fn) {
		if !waits(fn.Body[i]) || fn.Body[i].Loc.Within(target.IsProbe) {
			continue
		}
		at := callText(blame(fn, i))
		if byLine[at] == nil {
			lines = append(lines, at)
		}
		byLine[at] = append(byLine[at], i)
	}
	for _, at := range lines[:min(len(lines), mostWaits)] {
		var edits []ptx.Edit
		for _, i := range byLine[at] {
			edits = append(edits, ptx.Edit{Kind: ptx.InsertBarrier, Func: fn.Name, At: i + 1})
		}
		src := blame(fn, byLine[at][0])
		r := &remedy{
			text: "with __syncthreads() behind the wait at " + at, at: src,
			edits: func(*debugkern.Run) []ptx.Edit { return edits },
		}
		r.advice = q.citing("put __syncthreads() behind the wait at "+at+
			", or the wait before the barrier that stands before it", ": ", src)
		if ok, err := q.adopt(s, r); err != nil || !ok {
			if err != nil {
				return false, err
			}
			continue
		}
		s.contrast = nil
		s.cause.Place.Source, s.cause.Place.Other = src, s.cause.Place.Source
		s.cause.Title += "; nothing orders the wait at " + at + " and other threads' reads"
		s.because(fmt.Sprintf("%s is copied by cp.async, and a thread waits at %s for its own copies alone: no "+
			"barrier stands between that and where the tile is taken to be there", st, at))
		s.cause.Advice = r.advice
		return true, nil
	}
	return false, nil
}

// mostWaits is behind how many waits a barrier is tried.
const mostWaits = 4

// waitBehind says of a read of what cp.async copies that the wait for the copy stands behind it, in the same
// iteration of the same loop; "" where none does, or one stands before it too.
func (q *inquiry) waitBehind(f *report.Finding) string {
	fn := q.run.Entry()
	if fn == nil || f.Kind != "cp-async" || f.Source == nil || f.Other == nil {
		return ""
	}
	read := f.Other
	if q.anyAt(read, transfersAsync) {
		read = f.Source
	}
	if q.anyAt(read, transfersAsync) {
		return ""
	}
	own := read.Outermost()
	lines := q.run.Source(own.File)
	loops := loopsRound(lines, own.Line)
	var behind []int
	for _, i := range transfers(fn) {
		if !waits(fn.Body[i]) || fn.Body[i].Loc.Within(target.IsProbe) {
			continue
		}
		at := blame(fn, i).Outermost()
		switch {
		case at.File != own.File || !slices.Equal(loopsRound(lines, at.Line), loops):
		case at.Line <= own.Line:
			return ""
		case !slices.Contains(behind, at.Line):
			behind = append(behind, at.Line)
		}
	}
	if len(behind) == 0 {
		return ""
	}
	slices.Sort(behind)
	wait, stand, it := "wait for it at line", "stands", "it"
	if len(behind) > 1 {
		wait, stand, it = "waits for it at lines", "stand", "them"
	}
	return fmt.Sprintf("the %s %s %s behind the read at line %d: read behind %s, or wait before", wait,
		andList(behind), stand, own.Line, it)
}
