package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/walk"
)

// A wait at an mbarrier orders an asynchronous copy before the reads of the threads that wait, and of no
// others. Of a race of such a copy with its readers two sets of warps are listed, those that had waited and
// those that had not, and the trial has these wait too: the branch that keeps them from it is left out.

// unawaited is reads of what an asynchronous copy writes, some of them by warps that have not waited at the
// mbarrier that it completes on.
type unawaited struct {
	array       string         // the mbarriers
	with, none  uint32         // warps that read after a wait there, and after none
	read        *report.Source // where
	wait        *report.Source // where the first of those who waited did; nil: none waited
	branch      *report.Source // by which the others went past it; nil: not known
	waits       []int          // the instructions of the waits
	branches    []int          // and of the branches
	fallThrough bool           // who waits does not take these
	remedy      *remedy        // all wait; nil: it was not tried, or does not help
}

// await finds which warps read what a copy brings without a wait for it, and has them wait.
func (q *inquiry) await(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.cause.Kind != "race" || s.cause.Finding < 0 {
		return nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	if f.Missing == nil || !awaitsCopy(*f.Missing) {
		return nil
	}
	t, err := q.recorded(f.Block)
	if err != nil || t == nil {
		return err
	}
	sc, err := scene.Play(q.ctx, q.run, scene.Request{
		Block: f.Block, Variable: f.Variable, KVTile: -1, Sides: [2]*report.Source{f.Source, f.Other},
	})
	if err != nil {
		return q.fatal(err)
	}
	x := unawaitedIn(t, sc, f)
	if x == nil {
		return nil
	}
	s.unawaited = x
	if x.wait == nil {
		return nil
	}
	st, err := scene.Stand(q.ctx, q.run, f.Block)
	if err != nil {
		return q.fatal(err)
	}
	x.separate(fn, st)
	r := q.allWait(fn, x)
	if r == nil {
		return nil
	}
	ok, err := q.adopt(s, r)
	if ok {
		x.remedy = r
	}
	return err
}

// stays reports whether nothing but that wait was found to put a suspect right by changing what the kernel
// does.
func (x *unawaited) stays(s *suspect) bool {
	return x != nil && (s.remedy == nil || s.remedy == x.remedy || !s.remedy.changes())
}

// unawaitedIn lists the warps that read at a finding's place after a wait at the mbarrier that the finding's
// copy completes on, and those that had not waited there at all; nil where all had, or the copy is not found.
func unawaitedIn(t *walk.Timeline, sc *scene.Scene, f *report.Finding) *unawaited {
	first, then := missingBetween(f)
	if first == nil {
		return nil
	}
	x := &unawaited{}
	for i := range t.Flights {
		fl := &t.Flights[i]
		src := report.SourceOf(fl.Source)
		if src == nil || fl.MBarrier < 0 || len(fl.Writes) == 0 {
			continue
		}
		if at := src.Outermost(); at.At() == first.At() {
			x.array = array(t.MBarriers[t.MBarrier(uint64(fl.MBarrier))].Name)
			break
		}
	}
	if x.array == "" {
		return nil
	}
	for i, side := range sc.Request.Sides {
		if side == nil {
			continue
		}
		if at := side.Outermost(); at.At() == then.At() {
			x.read = side
			x.split(t, sc.Accesses, i)
		}
	}
	if x.none == 0 {
		return nil
	}
	return x
}

// split sorts the warps that read at one side of a scene by whether they had waited before their first read.
func (x *unawaited) split(t *walk.Timeline, accesses []scene.Access, side int) {
	for _, a := range accesses {
		bit := uint32(1) << a.Warp
		if a.Write || !a.Side[side] || (x.with|x.none)&bit != 0 {
			continue
		}
		x.none |= bit
		for i := range t.MBarriers {
			if array(t.MBarriers[i].Name) != x.array {
				continue
			}
			for _, p := range t.MBarriers[i].Passes {
				if p.Warp != a.Warp || p.Step >= a.Step {
					continue
				}
				x.with, x.none = x.with|bit, x.none&^bit
				if !slices.Contains(x.waits, p.PC) {
					x.waits = append(x.waits, p.PC)
				}
				if x.wait == nil {
					x.wait = report.SourceOf(p.Source)
				}
			}
		}
	}
}

// separate finds, for each wait, the innermost branch at which all who waited went one way and all others the
// other.
func (x *unawaited) separate(fn *ptx.Func, st *scene.Standing) {
	lane := func(warp int) (int, int) { return warp, 0 }
	for _, at := range x.waits {
		if b, way := separating(fn, at, st, x.with, x.none, lane); b >= 0 {
			x.branch, x.fallThrough = blame(fn, b), way == scene.Passed
			x.branches = append(x.branches, b)
		}
	}
}

// allWait leaves the branches out that keep warps from the waits, where these guard nothing else that is seen
// outside of a thread; else nil.
func (q *inquiry) allWait(fn *ptx.Func, x *unawaited) *remedy {
	if x.branch == nil || !x.fallThrough || len(x.branches) != len(x.waits) {
		return nil
	}
	var edits []ptx.Edit
	for k, b := range x.branches {
		if !waitsAlone(fn, b, x.waits[k]) {
			return nil
		}
		edits = append(edits, ptx.Edit{Kind: ptx.Remove, Func: fn.Name, At: b})
	}
	return &remedy{
		text:   fmt.Sprintf("with a wait at %s by %s too", x.array, members("warp", x.none)),
		advice: x.advice(q), at: x.wait,
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
	}
}

// waitsAlone reports whether what a branch jumps over is a wait, and no store, arrival, copy, barrier or
// exit.
func waitsAlone(fn *ptx.Func, branch, wait int) bool {
	to, _ := cfg.Next(fn.Body[branch])
	if len(to) != 1 || int(to[0]) <= wait || branch >= wait {
		return false
	}
	for i := branch + 1; i < int(to[0]); i++ {
		k := fn.Body[i].Kind()
		if waitsAtMBarrier(fn.Body[i]) {
			continue
		}
		if outward(k) || k.AtBarrier() {
			return false
		}
	}
	return true
}

// advice is what to change.
func (x *unawaited) advice(q *inquiry) string {
	others, call := members("warp", x.none), x.read.Outermost()
	if x.wait == nil {
		return fmt.Sprintf("let %s wait at %s before %s", others, x.array, call.At())
	}
	wait := x.wait.Outermost()
	if x.branch == nil {
		return fmt.Sprintf("let %s wait at %s too, as at %s", others, x.array, wait.At())
	}
	branch := x.branch.Outermost()
	return q.citing(fmt.Sprintf("let %s wait at %s too: the branch at %s leads past the wait", others, x.array,
		branch.At()), ", ", &branch)
}

// describe says of a race which warps have not waited, and has the wait that they go past as its place.
func (x *unawaited) describe(q *inquiry, c *Cause) {
	c.why = fmt.Sprintf("%s read %s at %s without a wait at %s, on which the copy completes",
		members("warp", x.none), c.Place.Variable, callText(x.read), x.array)
	c.Advice = x.advice(q)
	if x.wait == nil {
		return
	}
	c.why += fmt.Sprintf("; %s had waited at %s", members("warp", x.with), callText(x.wait))
	at := x.wait
	if x.branch != nil {
		at = x.branch
	}
	c.Place.Source, c.Place.Other = at, c.Place.Source
}
