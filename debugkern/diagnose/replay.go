package diagnose

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"

	"tilescope/debugkern"
	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// How many schedules are executed to find the one that a race is replayed under, the least and the most of
// them, and how many warp instructions all of them together may take.
const (
	fewestReplays = 12
	mostReplays   = 64
	replayWork    = 8_000_000
)

// Replay is a schedule under which a race is seen to happen: its two accesses come in the order that the
// missing synchronisation would exclude, and of the schedules under which they do, most cells of the block
// come out wrong.
type Replay struct {
	Schedule string      `json:"schedule"` // POLICY:SEED; "" where there is nothing to see under any
	Block    probes.Dim3 `json:"block"`
	Pair     string      `json:"pair"`      // the two accesses in that order; "": order has no part in it
	Raced    int         `json:"raced"`     // under how many of those tried they come so
	RunRaced bool        `json:"run_raced"` // they do in the run
	Tried    int         `json:"tried"`
	// Wrong: cells of the block beyond their bound, of all stages and iterations; -1: no reference
	Wrong    int `json:"wrong"`
	RunWrong int `json:"run_wrong"` // the same under the run's schedule
}

// FindReplay executes the block of a racing finding under other schedules and returns the one to replay. It
// executes the build with probes, as a replay does. Errors are those of Run.Try.
func FindReplay(ctx context.Context, run *debugkern.Run, f *report.Finding) (*Replay, error) {
	a, err := run.Attempt(ctx, debugkern.Trial{Blocks: []probes.Dim3{f.Block}})
	if err != nil {
		return nil, err
	}
	req := scene.Request{
		Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: f.KVTile,
		Sides: [2]*report.Source{f.Source, f.Other}, Warps: f.Warps, Across: f.Across,
	}
	base, out, err := scene.Under(ctx, a, run.Plan, req, a.Schedule(), 0)
	if err != nil {
		return nil, a.Explain(err)
	}
	r := &Replay{Block: f.Block}
	if r.RunWrong, err = out.Wrong(ctx); err != nil {
		return nil, a.Explain(err)
	}
	if f.Kind == "race" { // a copy lands by itself: in which order instructions execute says nothing of it
		if r.Pair = pairText(base); r.Pair != "" {
			r.RunRaced = base.Raced(base)
		}
	}
	took := out.Result().Counts.WarpInstructions
	n := max(fewestReplays, min(mostReplays, int(replayWork/max(1, took))))
	list := a.Schedule().Others(n, debugkern.CopiesAsync(a.Entry()))
	tries, err := tryAll(ctx, list, func(s target.Schedule) (replayTry, error) {
		budget := max(debugkern.MinBudget, 64*took)
		sc, o, err := scene.Under(ctx, a, run.Plan, req, s, budget)
		if fault := new(target.Fault); errors.As(err, &fault) && fault.Err == nil {
			return replayTry{}, nil // no end under it, and nothing to compare
		}
		if err != nil {
			return replayTry{}, err
		}
		wrong, err := o.Wrong(ctx)
		return replayTry{s.String(), r.Pair != "" && base.Raced(sc), wrong}, err
	})
	if err != nil {
		return nil, a.Explain(err)
	}
	r.choose(tries)
	return r, nil
}

// replayTry is what one schedule comes to; without a schedule it did not end.
type replayTry struct {
	schedule string
	raced    bool
	wrong    int
}

// choose takes of the schedules with the accesses in the racing order, or of all where there are none, the
// one with most wrong cells, the first of several; none that shows less than the run does.
func (r *Replay) choose(tries []replayTry) {
	r.Tried = len(tries)
	var best *replayTry
	for i := range tries {
		t := &tries[i]
		if t.schedule == "" {
			continue
		}
		if t.raced {
			r.Raced++
		}
		if best == nil || t.raced && !best.raced || t.raced == best.raced && t.wrong > best.wrong {
			best = t
		}
	}
	if best == nil {
		return
	}
	if r.Wrong = best.wrong; best.wrong > r.RunWrong || best.raced && !r.RunRaced {
		r.Schedule = best.schedule
	}
}

// tryAll executes schedules on all cores and returns what each comes to, in their order.
func tryAll(ctx context.Context, list []target.Schedule,
	try func(target.Schedule) (replayTry, error)) ([]replayTry, error) {
	out := make([]replayTry, len(list))
	var mu sync.Mutex
	var failed error
	next := 0
	var wg join.Group
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := failed != nil || i >= len(list) || ctx.Err() != nil
				mu.Unlock()
				if stop {
					return
				}
				t, err := try(list[i])
				mu.Lock()
				if out[i] = t; err != nil && failed == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return out, failed
}

// pairText names a scene's two accesses in the racing order: "the read of warp 1 at layernorm.cu:84 before
// the write of warp 0 at layernorm.cu:74"; "" where they do not meet, are of one instruction, or one goes
// on after its instruction.
func pairText(s *scene.Scene) string {
	if s.Pair[0] < 0 || s.Pair[0] == s.Pair[1] ||
		s.Accesses[s.Pair[0]].Flight || s.Accesses[s.Pair[1]].Flight {
		return ""
	}
	word := func(a *scene.Access) string {
		what, at := "read", s.Request.Sides[slices.Index(a.Side[:], true)]
		if a.Write {
			what = "write"
		}
		return fmt.Sprintf("the %s of warp %d at %s:%d", what, a.Warp, path.Base(at.File), at.Line)
	}
	first, second := &s.Accesses[s.Pair[0]], &s.Accesses[s.Pair[1]]
	if !s.Raced(s) {
		first, second = second, first
	}
	return word(first) + " before " + word(second)
}

// Says words what happens under the schedule, and what it makes of the block; or why there is none to replay.
func (r *Replay) Says() string {
	cells := fmt.Sprintf("%d bad cells in this block (%s), all stages; in the run %d", r.Wrong, r.Block,
		r.RunWrong)
	if r.Wrong < 0 {
		cells = "nothing in it has a reference"
	} else if r.Wrong <= r.RunWrong {
		cells = "none of those tried makes the run worse: " + cells
	}
	switch {
	case r.Pair == "":
		return fmt.Sprintf("of %d schedules the one with most bad cells: %s", r.Tried, cells)
	case r.Raced == 0 && !r.RunRaced:
		return fmt.Sprintf("in none of %d schedules comes %s; %s", r.Tried, r.Pair, cells)
	case r.RunRaced:
		return fmt.Sprintf("%s, as in the run and in %d of %d schedules; %s", r.Pair, r.Raced, r.Tried, cells)
	}
	return fmt.Sprintf("%s, as in %d of %d schedules and not in the run; %s", r.Pair, r.Raced, r.Tried, cells)
}
