package walk

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/target"
)

// hit is a step at which a motion may stop.
type hit struct {
	step uint64
	warp int // that becomes the current one, -1: no change
	stop string
	note string
	lane int // of Position
	from int // the breakpoint that it is of, by its index; -1: it is of none
	// writer is of a changed cell the instruction that wrote it; nil where it is not known
	writer *Writer
}

// stopMatcher takes events in the order of execution and reports the stops that each one makes. A
// reported hit's step is not after the event's. A nil event means that execution has stopped at the
// block's current step.
type stopMatcher func(e *target.Event, report func(hit))

// Step executes n units.
func (w *walker) Step(ctx context.Context, u target.Unit, n int) (Position, error) {
	if u == target.StepEnd && n != 0 {
		to := uint64(0)
		if n > 0 {
			to = math.MaxUint64
		}
		return w.Seek(ctx, to)
	}
	if u == StepAsync {
		defer w.listen()()
	}
	return w.steps(ctx, func() stopMatcher { return w.unit(u, w.innermost) }, n, u <= target.StepLine)
}

func (w *walker) steps(ctx context.Context, unit func() stopMatcher, n int, own bool) (Position, error) {
	if n == 0 {
		return w.pos, ctx.Err()
	}
	return w.moving(ctx, func(from mark) error {
		if n > 0 {
			return w.forward(ctx, from, unit, n, own)
		}
		return w.backward(ctx, from, unit, -n)
	})
}

// unit returns the matcher of the steps at which a unit begins; lines are those of a map.
func (w *walker) unit(u target.Unit, lines lineMap) stopMatcher {
	warp, seen := w.warp, uint64(math.MaxUint64)
	switch u {
	case target.StepBarrier:
		return func(e *target.Event, report func(hit)) {
			if e != nil && e.Class == target.ClassBarrierDone {
				report(hit{e.Step, -1, "barrier", fmt.Sprintf("barrier %d", e.Barrier), -1, -1, nil})
			}
		}
	case target.StepProbe:
		return func(_ *target.Event, report func(hit)) {
			w.captures(func(c capture) bool { return true }, report)
		}
	case StepAsync:
		return w.asyncEvents()
	case StepTurn:
		return func(e *target.Event, report func(hit)) {
			if executes(e) && w.turn >= 0 && e.Warp != w.turn {
				report(hit{e.Step, e.Warp, "step", "", -1, -1, nil})
			}
		}
	case StepRound:
		return func(e *target.Event, report func(hit)) {
			if executes(e) && w.round {
				report(hit{e.Step, -1, "step", "", -1, -1, nil})
			}
		}
	}
	var entries []entry
	if u == target.StepLine {
		entries = entriesOf(lines, w.heads, w.listing)
	}
	return func(e *target.Event, report func(hit)) {
		if !executes(e) || e.Warp != warp || e.Step == seen {
			return
		}
		seen = e.Step
		if u == target.StepInstruction || w.begins(e, lines, entries[e.PC], forSteps) {
			report(hit{e.Step, -1, "step", "", -1, -1, nil})
		}
	}
}

// executes reports whether an event is an instruction about to execute.
func executes(e *target.Event) bool {
	return e != nil && e.Class != target.ClassBarrierDone && e.Class != target.ClassAsyncLand
}

// enters reports whether the event's warp enters another line. Where its lanes have diverged, each change
// from one group to another counts.
func (w *walker) enters(e *target.Event, lines []int32) bool {
	last := w.passed[e.Warp]
	return lines[e.PC] >= 0 && (last < 0 || lines[last] != lines[e.PC])
}

// captures reports the tiles captured since its last call; those of one moment are one hit.
func (w *walker) captures(want func(capture) bool, report func(hit)) {
	for i := 0; i < len(w.captured); {
		first := w.captured[i]
		var names []string
		for ; i < len(w.captured) && w.captured[i].step == first.step; i++ {
			if want(w.captured[i]) {
				names = append(names, w.captured[i].stage.String())
			}
		}
		if len(names) > 0 {
			report(hit{
				first.step, -1, "probe",
				fmt.Sprintf("%s of kv tile %d captured", strings.Join(names, ", "), first.kv), -1, -1, nil,
			})
		}
	}
	w.captured = w.captured[:0]
}

// forward goes to the n-th hit after the current step, or to the block's end. Where the scheduler's next warp
// is not the current one, the current warp's next instruction is where it is stopped already: units of its
// own count from the one after.
func (w *walker) forward(ctx context.Context, from mark, unit func() stopMatcher, n int, own bool) error {
	w.settle()
	skip := own && !w.over() && w.hand.Warp != w.warp
	match, warp, end := unit(), w.warp, uint64(0)
	var found *hit
	w.captured = nil
	report := func(h hit) {
		switch {
		case found != nil || h.step <= from.step:
		case skip:
			skip = false
		default:
			if n--; n == 0 {
				found = &h
			}
		}
	}
	_, err := w.run(ctx, math.MaxUint64, func(e *target.Event) bool {
		match(e, report)
		if executes(e) && e.Warp == warp {
			skip, end = false, e.Step+1
		}
		return found != nil
	})
	if err != nil {
		return err
	}
	match(nil, report)
	switch {
	case found != nil:
		return w.arrive(ctx, *found, &from)
	case own && end > 0 && end < w.block.Steps() && w.hand.Reason == "end":
		return w.arrive(ctx, hit{end, -1, "step", fmt.Sprintf("warp %d has ended", warp), -1, -1, nil}, &from)
	}
	w.place("end", "")
	return nil
}

// arrive goes to the step of a hit.
func (w *walker) arrive(ctx context.Context, h hit, from *mark) error {
	if err := w.seek(ctx, h.step, from); err != nil {
		return err
	}
	if h.warp >= 0 {
		w.warp = h.warp
	}
	w.settle()
	w.place(h.stop, h.note)
	w.pos.Lane, w.pos.Breakpoint, w.pos.Writer = h.lane, h.from, h.writer
	return nil
}

// settle makes the warp whose turn it is the current one, where the current one has exited.
func (w *walker) settle() {
	if pc, _ := w.at(w.warp); pc < 0 && !w.over() {
		w.warp = w.hand.Warp
	}
}

// backward goes to the n-th hit before the current step, or to the block's start. It executes from the last
// snapshot before the step, then from the one before that.
func (w *walker) backward(ctx context.Context, from mark, unit func() stopMatcher, n int) error {
	until := from.step
	for i := w.base(from.step); i >= 0; i-- {
		if i > 0 && w.marks[i].step == from.step {
			continue // there is nothing between them
		}
		hits, err := w.between(ctx, w.marks[i], until, from.step, unit)
		if err != nil {
			return err
		}
		if n <= len(hits) {
			return w.arrive(ctx, hits[len(hits)-n], nil)
		}
		n -= len(hits)
		until = w.marks[i].step
	}
	if err := w.seek(ctx, 0, nil); err != nil {
		return err
	}
	w.settle()
	w.place("start", "")
	return nil
}

// between executes from a mark up to a step and returns the hits before a limit, at most one for each step.
func (w *walker) between(
	ctx context.Context, m mark, to, before uint64, unit func() stopMatcher,
) ([]hit, error) {
	w.restore(m)
	match := unit()
	var hits []hit
	report := func(h hit) {
		if h.step < before && (len(hits) == 0 || hits[len(hits)-1].step != h.step) {
			hits = append(hits, h)
		}
	}
	_, err := w.run(ctx, to, func(e *target.Event) bool {
		match(e, report)
		return false
	})
	if err != nil {
		return nil, err
	}
	match(nil, report)
	slices.SortStableFunc(hits, func(a, b hit) int { return int(int64(a.step) - int64(b.step)) })
	return hits, nil
}

// Seek goes to a step; the warp that the scheduler executes next becomes the current one.
func (w *walker) Seek(ctx context.Context, step uint64) (Position, error) {
	return w.moving(ctx, func(from mark) error {
		if err := w.seek(ctx, step, &from); err != nil {
			return err
		}
		if !w.over() {
			w.warp = w.hand.Warp
		}
		stop := "step"
		if step == 0 {
			stop = "start"
		}
		w.place(stop, "")
		return nil
	})
}
