package report

import (
	"slices"
	"strings"

	"tilescope/probes"
)

// spoiling are the kinds of findings of memory, of order, and of work that was not done: each may change what
// is captured, and when. Other errors compare values, or say where one came from.
var spoiling = []string{
	"uninitialised", "race", "cp-async", "mbarrier", "proxy-fence", "wgmma", "cluster", "barrier",
	"deadlock", "hang", "out-of-bounds", "misaligned", "overlap", "shuffle", "trap", "loop-ended",
	"not-captured", "layout",
}

// SpoilingKind reports whether findings of a kind may change what is captured.
func SpoilingKind(kind string) bool { return slices.Contains(spoiling, kind) }

// Spoils reports whether the finding may change what is captured.
func (f *Finding) Spoils() bool { return f.Severity == "error" && SpoilingKind(f.Kind) }

// Name is the finding in a few words: "race sP".
func (f *Finding) Name() string { return strings.TrimSpace(f.Kind + " " + f.Variable) }

// Spoiling is the finding of a run that leads before a stage that is wrong by what was captured of it: a
// race, else the first that spoils; nil where none does.
func (r *Run) Spoiling() *Finding {
	var first *Finding
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case !f.Spoils():
		case f.Kind == "race":
			return f
		case first == nil:
			first = f
		}
	}
	return first
}

// SpoiltBefore is Spoiling where the finding's variable does not hold the first wrong stage itself; nil where
// it does, or nothing is wrong: then the stage and the finding are one place. plan is the run's, or nil.
func (r *Run) SpoiltBefore(plan *probes.Plan) *Finding {
	f := r.Spoiling()
	if f == nil || len(r.Guilty) == 0 {
		return nil
	}
	if plan != nil && f.Variable != "" {
		if sp := plan.Stage(probes.Stage(r.Guilty[0].Stage)); sp != nil && sp.Array == f.Variable {
			return nil
		}
	}
	return f
}
