package bisect

import (
	"errors"
	"maps"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// search reduces all changes to the smallest set, and names the pair.
func (w *bisector) search() error {
	all := uint64(1)<<len(w.changes) - 1
	w.tried[0], w.tried[all] = opposite(w.doc.Until), w.doc.Until
	set, err := all, error(nil)
	if w.unbuilt == nil {
		if set, err = minimise(all, w.turns); err != nil {
			return err
		}
	}
	set, proved, err := smallest(all, set, w.turns)
	switch {
	case err != nil:
		return err
	case w.unbuilt != nil && set == all:
		return w.unbuilt
	case proved:
		w.doc.Proof = "smallest"
	default:
		w.doc.Proof = "one-minimal"
	}
	w.doc.Verdict, w.doc.Minimal = report.Found, w.list(set)
	if w.unbuilt == nil {
		if err := w.also(all &^ set); err != nil {
			return err
		}
	}
	return w.pair(set)
}

// also lists the sets that turn the verdict without what was found already: a second bug must not pass for
// harmless because the first is enough.
func (w *bisector) also(rest uint64) error {
	for rest != 0 {
		ok, err := w.turns(rest)
		if err != nil || !ok {
			return err
		}
		set, err := minimise(rest, w.turns)
		if err != nil {
			return err
		}
		w.doc.Also = append(w.doc.Also, w.list(set))
		rest &^= set
	}
	return nil
}

// pair finds the nearest kernel of the other verdict: without one change of the set, else the start.
func (w *bisector) pair(set uint64) error {
	below := uint64(0)
	for i := range w.changes {
		if without := set &^ (1 << i); without != set && w.tried[without] == opposite(w.doc.Until) {
			below = without
		}
	}
	from, errFrom := w.spec(w.apply(below))
	to, errTo := w.spec(w.apply(set))
	if err := errors.Join(errFrom, errTo); err != nil {
		return err
	}
	w.doc.Pair = &report.BisectPair{
		From: from, To: to, Changes: w.list(set &^ below), Compare: w.command(from, to),
	}
	return nil
}

func (w *bisector) list(set uint64) []report.Change {
	list := []report.Change{}
	for i, c := range w.changes {
		if set>>i&1 != 0 {
			list = append(list, c)
		}
	}
	return list
}

func (w *bisector) apply(set uint64) combination {
	c := combination{maps.Clone(w.start.flags), slices.Clone(w.start.faults)}
	for _, ch := range w.list(set) {
		switch {
		case ch.Kind == "flag":
			c.flags[ch.Name] = ch.To
		case ch.To == 1:
			c.faults = append(c.faults, ch.Name)
		default:
			c.faults = slices.DeleteFunc(c.faults, func(f string) bool { return f == ch.Name })
		}
	}
	return c
}

// turns reports whether a set of changes has the verdict sought. Errors are those that end the bisection.
func (w *bisector) turns(set uint64) (bool, error) {
	if v, ok := w.tried[set]; ok {
		return v == w.doc.Until, nil
	}
	step := report.BisectStep{Changes: w.list(set), Verdict: report.Unresolved}
	spec, err := w.spec(w.apply(set))
	if err == nil {
		w.progress(debugkern.Progress{
			Phase: "bisect", Detail: report.ChangesText(step.Changes), Done: len(w.doc.Steps) + 1,
		})
		var run *debugkern.Run
		if run, err = w.on.Run(w.ctx, requestOf(spec, w.request), nil); err == nil {
			step.Verdict, step.Because = outcome(run.Report)
		}
	}
	if err != nil {
		var coded *report.Error
		if w.ctx.Err() != nil || !errors.As(err, &coded) || coded.Code == report.CodeInternal {
			return false, err
		}
		step.Because = err.Error()
	}
	w.tried[set] = step.Verdict
	w.doc.Steps = append(w.doc.Steps, step)
	return step.Verdict == w.doc.Until, nil
}
