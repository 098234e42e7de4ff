// Package checked launches kernels under checkers: it reserves the memory that the checkers take, attaches
// them, and makes one list of findings of theirs and the backend's.
//
// The one idea: one cause is one finding. What a race leads to (a read of bytes that nobody has written yet,
// a NaN, a deadlock) is reported as its consequence, whoever found it.
//
// It must not know manifests, references or verdicts: it takes a kernel, a launch and a set of checkers.
package checked

import (
	"context"
	"runtime"
	"slices"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Launch launches with the checkers of a set attached. The result's findings are the backend's and the
// checkers', merged, with proven reads of padding as advice; of a launch in which a block could not go on, no
// barrier is called redundant. The checker is returned for what it gives
// besides findings; of an empty set it has nothing. A backend that cannot be observed takes the empty set.
// Errors are those of target.Kernel.Launch, or a *budget.Exhausted where the checkers' memory is not there.
func Launch(
	ctx context.Context, k target.Kernel, l *target.Launch, o check.Options,
) (*target.Result, *check.Checker, error) {
	if o.Set == 0 {
		res, err := k.Launch(ctx, l)
		if err == nil {
			err = lowerPadding(ctx, k, l, res)
		}
		return res, check.New(o), err
	}
	release, err := reserve(o.Set, k, l)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	c := check.New(o)
	watched := *l // other executions of the launch are not observed by these checkers
	watched.Observe, watched.Discard = c.Observer, c.Discard
	res, err := k.Launch(ctx, &watched)
	if err != nil {
		return nil, nil, err
	}
	found := c.Findings()
	found = slices.DeleteFunc(found, func(f target.Finding) bool {
		// What a barrier orders may lie behind the place where a block stopped.
		return f.Kind == target.RedundantBarrier && (!res.Reached || withinRace(&f, found))
	})
	res.Findings = Merge(res.Findings, found, l.Grid)
	if err := lowerPadding(ctx, k, l, res); err != nil {
		return nil, nil, err
	}
	return res, c, nil
}

// withinRace reports whether a barrier stands between the accesses of a race in global memory: once what
// orders blocks is there, such as a fence, the order may depend on the barrier as well.
func withinRace(barrier *target.Finding, found []target.Finding) bool {
	at := barrier.Source
	return at != nil && slices.ContainsFunc(found, func(f target.Finding) bool {
		a, b := f.Source, f.Other
		return f.Kind == target.Race && f.Space == target.SpaceGlobal.String() && a != nil && b != nil &&
			a.File == at.File && b.File == at.File && min(a.Line, b.Line) <= at.Line &&
			at.Line <= max(a.Line, b.Line)
	})
}

// MemoryPart is what the checkers' share of memory is called in errors.
const MemoryPart = "checkers"

// reserve reserves what the checkers of a set take while a launch executes.
func reserve(set check.Set, k target.Kernel, l *target.Launch) (release func(), err error) {
	return l.Memory.Reserve(MemoryPart, check.Needs(set, load(k, l)))
}

// load is what a launch of a kernel has for checkers to watch; blocks of it execute on all cores.
func load(k target.Kernel, l *target.Launch) check.Load {
	w := check.Load{Threads: int64(l.Block.Count()), Blocks: budget.Mul(l.Grid[0], l.Grid[1], l.Grid[2])}
	n := l.Parallel
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	w.AtOnce = min(int64(n), w.Blocks)
	for i := range l.Args {
		if buf := l.Args[i].Buffer; buf != nil && (buf.Init == nil || buf.Output) {
			w.Writable = budget.Add(w.Writable, int64(max(buf.Bytes, len(buf.Init))))
		}
	}
	program, ok := k.(target.Program)
	if !ok {
		return w
	}
	for i, f := range program.Functions() {
		w.Registers += int64(len(f.Regs))
		for _, v := range f.Vars {
			if v.Space == ptx.SpaceLocal {
				w.Local = budget.Add(w.Local, budget.Mul(int64(v.Size), w.Threads))
			}
		}
		if i > 0 {
			continue
		}
		for _, s := range f.Module.SharedLayout(f) {
			w.Shared = budget.Add(w.Shared, int64(s.Size))
		}
	}
	w.Shared = budget.Add(w.Shared, int64(l.DynShared))
	return w
}
