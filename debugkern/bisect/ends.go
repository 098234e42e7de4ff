package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// ends settles both requests on their common manifest.
func (w *bisector) ends(ctx context.Context, a, b debugkern.Request) (ends [2]combination, err error) {
	var ms [2]*configs.Manifest
	var variants [2]string
	for i, req := range []debugkern.Request{a, b} {
		m, variant, err := w.on.Catalogue().Open(ctx, req.Target)
		if err != nil {
			return ends, debugkern.Unopened(ctx, err)
		}
		sel, err := m.Select(variant, req.Set, req.Faults, req.Gate)
		if err != nil {
			return ends, &report.Error{Code: report.CodeUsage, Err: err}
		}
		ms[i], variants[i], ends[i] = m, variant, combination{sel.Flags, sel.Faults}
		w.doc.Targets[i] = report.BisectSide{
			Target: req.Target, Flags: sel.Flags, Faults: append([]string{}, sel.Faults...),
		}
	}
	if !sameManifest(ms[0], ms[1]) {
		return ends,
			report.Usagef(
				"%s is a variant of kernel %s, %s of %s: only variants of one manifest have flags to bisect (compare takes any two)",
				a.Target, ms[0].Name, b.Target, ms[1].Name)
	}
	w.m = ms[0]
	w.doc.Kernel = w.m.Name
	return ends, w.name(a.Target, variants)
}

func sameManifest(a, b *configs.Manifest) bool {
	if a == b {
		return true
	}
	x, errA := os.Stat(a.File)
	y, errB := os.Stat(b.File)
	return a.Dir != "" && b.Dir != "" && errA == nil && errB == nil && os.SameFile(x, y)
}

// name lists the variants that a target can name, those asked for first: of a manifest's
// path only the default.
func (w *bisector) name(target string, asked [2]string) error {
	add := func(target, variant string) error {
		sel, err := w.m.Select(variant, nil, nil, probes.GateNone)
		if err != nil {
			return fmt.Errorf("variant %s: %w", variant, err)
		}
		w.named = append(w.named, namedVariant{target, combination{sel.Flags, sel.Faults}})
		return nil
	}
	if w.m.Dir != "" {
		return add(target, w.m.Default)
	}
	order := asked[:]
	for _, v := range w.m.Variants {
		order = append(order, v.Name)
	}
	for i, v := range order {
		if slices.Contains(order[:i], v) {
			continue
		}
		if err := add(v, v); err != nil {
			return err
		}
	}
	return nil
}

// judgeEnd runs one end. B may be a combination that nobody has built: then it is unresolved, and the
// search goes up from A.
func (w *bisector) judgeEnd(i int, req debugkern.Request) error {
	w.progress(debugkern.Progress{Phase: "bisect", Detail: req.Target})
	run, err := w.on.Run(w.ctx, req, w.progress)
	var coded *report.Error
	if i == 1 && errors.As(err, &coded) && coded.Code == report.CodeUnavailable {
		w.unbuilt = err
		w.doc.Targets[i].Verdict, w.doc.Targets[i].Because = report.Unresolved, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	w.doc.Shape = run.Report.Shape
	w.doc.Targets[i].Verdict, w.doc.Targets[i].Because = outcome(run.Report)
	return nil
}

// outcome is the verdict by exit code, and what decided it.
func outcome(r *report.Run) (verdict, because string) {
	if r.ExitCode() == 0 {
		return report.Agree, ""
	}
	if len(r.Guilty) > 0 {
		return report.Diverge, r.Guilty[0].Stage
	}
	for _, f := range r.Findings {
		if f.Severity == "error" {
			return report.Diverge, f.Kind
		}
	}
	if r.Output != nil && r.Output.Verdict == report.Fail {
		return report.Diverge, "output"
	}
	return report.Diverge, "a stage was not reached"
}

func (w *bisector) failed(side int, err error) *report.Bisection {
	run, failed := report.OfSide(side, err)
	if run == nil {
		return nil
	}
	w.doc.Verdict, w.doc.Shape, w.doc.Error = report.Failed, run.Shape, failed
	return w.doc
}

// differences lists what turns one combination into another, in the manifest's order: flags, then faults.
func differences(m *configs.Manifest, from, to combination) []report.Change {
	list := []report.Change{}
	for _, f := range m.Flags {
		if x, y := from.flags[f.Name], to.flags[f.Name]; x != y {
			list = append(list, report.Change{Kind: "flag", Name: f.Name, From: x, To: y})
		}
	}
	for _, f := range m.Faults {
		if x, y := count(from.faults, f.Name), count(to.faults, f.Name); x != y {
			list = append(list, report.Change{Kind: "fault", Name: f.Name, From: x, To: y})
		}
	}
	return list
}

func count(list []string, name string) int {
	if slices.Contains(list, name) {
		return 1
	}
	return 0
}
