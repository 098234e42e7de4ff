// Package bisect finds which of the flags and faults by which two variants differ turns the verdict.
//
// The one idea: combinations are runs like any other, so that it needs no more of a session than that
// it runs requests. The search is delta debugging, then a proof that no smaller set does it, where
// that takes few runs.
package bisect

import (
	"context"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// maxChanges is how many differences are bisected: a combination is a set of bits.
const maxChanges = 64

// Runner runs requests and has the catalogue of their targets. A *debugkern.Session is one.
type Runner interface {
	Catalogue() *configs.Catalogue
	Run(ctx context.Context, req debugkern.Request, progress func(debugkern.Progress)) (*debugkern.Run, error)
}

var _ Runner = (*debugkern.Session)(nil)

// combination is one setting of a manifest's flags and faults.
type combination struct {
	flags  map[string]int
	faults []string
}

// bisector is one bisection under way.
type bisector struct {
	on       Runner
	ctx      context.Context
	progress func(debugkern.Progress)
	doc      *report.Bisection
	m        *configs.Manifest
	request  debugkern.Request // what every step has in common
	named    []namedVariant
	start    combination
	changes  []report.Change
	tried    map[uint64]string
	unbuilt  error // why B has no verdict
}

// namedVariant is a variant and what names it as a target.
type namedVariant struct {
	target string
	combination
}

// Run finds the smallest set of the flags and faults by which a and b differ that turns the verdict: from
// a to b, or, with until report.Agree or report.Diverge, from the end that has the other verdict.
// Combinations that the manifest refuses, or that do not run, are unresolved. It returns a *report.Error as
// Session.Run does; an end that did not run has a document as well as the error. progress may be nil.
func Run(
	ctx context.Context, on Runner, a, b debugkern.Request, until string, progress func(debugkern.Progress),
) (*report.Bisection, error) {
	if until != "" && until != report.Agree && until != report.Diverge {
		return nil, report.Usagef("--until %q: expected agree or diverge", until)
	}
	if progress == nil {
		progress = func(debugkern.Progress) {}
	}
	w := &bisector{
		on: on, ctx: ctx, progress: progress, request: a, tried: map[uint64]string{}, doc: &report.Bisection{
			Schema: report.BisectSchema, Gate: a.Gate.String(), Seed: a.Seed, Until: until,
			Differences: []report.Change{}, Steps: []report.BisectStep{}, Minimal: []report.Change{},
			Also: [][]report.Change{},
		},
	}
	ends, err := w.ends(ctx, a, b)
	if err != nil {
		return nil, err
	}
	for i, req := range []debugkern.Request{a, b} {
		if err := w.judgeEnd(i, req); err != nil {
			return w.failed(i, err), err
		}
	}
	from := 0
	switch va, vb := w.doc.Targets[0].Verdict, w.doc.Targets[1].Verdict; {
	case va == vb:
		w.doc.Verdict = report.Same
		return w.doc, nil
	case until == va && w.unbuilt == nil:
		from = 1
	}
	w.doc.Until = opposite(w.doc.Targets[from].Verdict)
	w.doc.From = "ab"[from : from+1]
	w.start = ends[from]
	if w.changes = differences(w.m, ends[from], ends[1-from]); len(w.changes) > maxChanges {
		return nil, report.Usagef("%s and %s differ in %d flags and faults; at most %d are bisected",
			a.Target, b.Target, len(w.changes), maxChanges)
	}
	w.doc.Differences = w.changes
	return w.doc, w.search()
}

func opposite(verdict string) string {
	if verdict == report.Agree {
		return report.Diverge
	}
	return report.Agree
}
