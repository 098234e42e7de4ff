package debugkern

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/check"
	"tilescope/debugkern/checked"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// crossChecks are the checkers that can explain a difference between two backends: all but those that only
// advise.
const crossChecks = check.All &^ (check.Banks | check.Sectors | check.Redundant)

// CrossSchedules is how many other schedules are tried on the emulator before a difference between two
// backends is unexplained.
const CrossSchedules = 4

// crossRepeats is how many launches are tried on the device before it is.
const crossRepeats = 10

// crossSearch looks for the reason why a device and the emulator computed different bits from the same PTX
// and inputs.
type crossSearch struct {
	e        *execution
	doc      *report.Cross
	emulated *runState // the emulator's side; its kernel and tiles are the ones compared

	found  []target.Finding // errors of the checked launches
	varied []string         // launches whose bits differ from another launch on the same backend
	tried  []string         // what was executed, for the message
}

// classify sets the class of the difference, executing the launch again where no recorded fact explains it,
// and adds the findings that it rests on to the run's.
func (e *execution) classify(doc *report.Cross, emulated *runState) error {
	if doc.Differing == 0 {
		doc.Class = crossEqual
		return nil
	}
	if AddsFloatsByAtomics(e.st.build.Module.Func(e.r.plan.Entry)) {
		doc.Class = crossAtomics
		return nil
	}
	x := &crossSearch{e: e, doc: doc, emulated: emulated}
	if err := x.search(); err != nil {
		return err
	}
	var cause *target.Finding
	doc.Class, cause = x.class()
	e.st.extra = checked.Merge(e.st.extra, x.unreported(), e.r.plan.Grid)
	if doc.Class != crossModel {
		e.st.extra = append(e.st.extra, x.finding(cause))
	}
	return nil
}

// search executes what can show the reason: the launch under checkers, then on other schedules and again on
// the device. It stops where the reason is clear.
func (x *crossSearch) search() error {
	x.e.progress(Progress{Phase: "explain", Detail: "the backends differ"})
	for _, f := range slices.Concat(x.e.st.result.Findings, x.e.st.extra) {
		if f.Kind == target.Varies {
			x.vary("%s varies from launch to launch on %s", f.Variable, x.device())
		}
		x.add(f)
	}
	base := x.e.r.schedule
	if err := x.underCheckers(base); err != nil {
		return err
	}
	race, undefined := x.cause(orderKinds), x.cause(undefinedKinds)
	if race == nil && undefined != nil || race == nil && undefined == nil && x.otherChip() {
		return nil
	}
	copied := CopiesAsync(x.e.st.build.Module.Func(x.e.r.plan.Entry))
	for _, s := range base.Others(CrossSchedules, copied) {
		if len(x.varied) > 0 && x.cause(orderKinds) != nil {
			return nil
		}
		if err := x.underCheckers(s); err != nil {
			return err
		}
	}
	if x.cause(orderKinds) != nil || x.cause(undefinedKinds) != nil || len(x.varied) > 0 {
		return nil
	}
	return x.repeatOnDevice()
}

// underCheckers executes the launch on the emulator, watched, and compares its tiles with those of the run's
// own schedule.
func (x *crossSearch) underCheckers(s target.Schedule) error {
	st, name := x.emulated, s.String()
	l := *x.e.st.launch
	l.Schedule, l.Budget = s, max(MinBudget, 64*st.result.Counts.WarpInstructions)
	o := check.Options{Set: crossChecks, Block: st.blocks()[0]}
	res, _, err := checked.Launch(x.e.ctx, x.e.st.tracer, &l, o)
	x.e.cost.Launches++
	x.tried = append(x.tried, "--schedule "+name)
	if fault := (*target.Fault)(nil); errors.As(err, &fault) {
		x.vary("under --schedule %s the emulator stops: %s", name, fault.Msg)
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range res.Findings {
		x.add(f)
	}
	again := *st
	again.leave(res)
	if d := compareTiles(st, &again); d.Differing > 0 {
		x.vary("under --schedule %s the emulator's %s too", name, d.StagesText())
	}
	return nil
}

func (x *crossSearch) vary(format string, args ...any) {
	x.varied = append(x.varied, fmt.Sprintf(format, args...))
}

// repeatOnDevice launches again on the device: do its bits change from launch to launch?
func (x *crossSearch) repeatOnDevice() error {
	st := x.e.st
	l := *st.launch
	l.Repeat = max(crossRepeats, x.e.req.Repeat)
	res, err := st.kernel.Launch(x.e.ctx, &l)
	x.e.cost.Launches += l.Repeat
	x.tried = append(x.tried, fmt.Sprintf("%d more launches on %s", l.Repeat, x.device()))
	if fault := (*target.Fault)(nil); errors.As(err, &fault) {
		x.vary("launched again, %s stops: %s", x.device(), fault.Msg)
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range res.Findings {
		if f.Kind == target.Varies {
			x.vary("%s varies from launch to launch on %s", f.Variable, x.device())
			st.extra = append(st.extra, f)
		}
	}
	again := *st
	again.leave(res)
	if d := compareTiles(st, &again); d.Differing > 0 {
		x.vary("launched again, %s's %s from the first launch's", x.device(), d.StagesText())
	}
	return nil
}

// Kinds of finding that leave a result open: to the order of threads, or to a value that PTX does not define.
// Only errors count: advice is what was proven to reach no result.
var (
	orderKinds     = []target.Kind{target.Race, target.CpAsync}
	undefinedKinds = []target.Kind{
		target.Shuffle, target.Uninitialised, target.OutOfBounds, target.Barrier, target.Deadlock,
		target.Layout, target.Wgmma, target.MBarrier, target.ProxyFence, target.Cluster,
	}
)

func (x *crossSearch) add(f target.Finding) {
	if f.Severity == "" {
		f.Severity = f.Kind.Severity()
	}
	explains := slices.Contains(orderKinds, f.Kind) || slices.Contains(undefinedKinds, f.Kind)
	if f.Severity != target.SeverityError || !explains {
		return
	}
	if !slices.ContainsFunc(x.found, func(g target.Finding) bool { return checked.SameCause(&f, &g) }) {
		x.found = append(x.found, f)
	}
}

// cause is the first finding of the kinds, in their order; nil where there is none.
func (x *crossSearch) cause(kinds []target.Kind) *target.Finding {
	for _, k := range kinds {
		if i := slices.IndexFunc(x.found, func(f target.Finding) bool { return f.Kind == k }); i >= 0 {
			return &x.found[i]
		}
	}
	return nil
}

// class decides from what was found. Where there are both a race and an undefined value, the race explains
// the difference if the bits vary, and the undefined value if they never do.
func (x *crossSearch) class() (string, *target.Finding) {
	race, undefined := x.cause(orderKinds), x.cause(undefinedKinds)
	switch {
	case race != nil && (undefined == nil || len(x.varied) > 0):
		return crossSchedule, race
	case undefined != nil:
		return crossUndefined, undefined
	case len(x.varied) > 0:
		return crossSchedule, nil
	case x.otherChip():
		return crossModel, nil
	}
	return crossUnexplained, nil
}

// unreported are the findings that the run itself does not have.
func (x *crossSearch) unreported() []target.Finding {
	reported := x.e.st.result.Findings
	return slices.DeleteFunc(slices.Clone(x.found), func(f target.Finding) bool {
		return slices.ContainsFunc(reported, func(g target.Finding) bool { return checked.SameCause(&f, &g) })
	})
}

func (x *crossSearch) otherChip() bool {
	return x.e.backend.Info().Arch != x.e.st.emulator.Info().Arch
}

func (x *crossSearch) device() string { return x.e.backend.Info().Device }

// finding is the difference with its reason.
func (x *crossSearch) finding(cause *target.Finding) target.Finding {
	d := x.doc
	f := target.Finding{
		Kind: target.BackendDifference, Severity: target.SeverityError, KVTile: -1, Count: d.Differing,
		Message: fmt.Sprintf("%d of %d cells differ between %s and the emulator (%s)",
			d.Differing, d.Cells, x.device(), d.Class),
	}
	f.Consequence = strings.Join(x.varied, "; ")
	switch {
	case cause != nil:
		f.Message += ": " + causeText(cause)
		f.Variable, f.Space, f.Source, f.Other = cause.Variable, cause.Space, cause.Source, cause.Other
		f.Block, f.Warps, f.Lanes = cause.Block, cause.Warps, cause.Lanes
	case d.Class == crossSchedule:
		f.Message += ": the bits change from launch to launch, and no checker finds a race"
	default:
		f.Message += fmt.Sprintf(
			": no checker finds a race or an undefined value, and no launch changes its bits "+
				"(tried: %s). This is a bug of tilescope: please report it on the issue tracker named in README, "+
				"with the kernel and this command: %s", strings.Join(x.tried, ", "), x.e.req.Command("run"))
	}
	return f
}

// causeText names a finding in a clause: "race on sP between k.cu:12 and k.cu:40", "read of unwritten memory
// of sP at k.cu:12".
func causeText(f *target.Finding) string {
	text, of := string(f.Kind), " on "
	if f.Kind == target.Uninitialised {
		text, of = "read of unwritten memory", " of "
	}
	if f.Variable != "" {
		text += of + f.Variable
	}
	switch {
	case f.Source != nil && f.Other != nil && f.Source.SamePlace(f.Other):
		text += fmt.Sprintf(" at %s, which both sides execute", f.Source)
	case f.Source != nil && f.Other != nil:
		text += fmt.Sprintf(" between %s and %s", f.Source, f.Other)
	case f.Source != nil:
		text += fmt.Sprintf(" at %s", f.Source)
	}
	return text
}
