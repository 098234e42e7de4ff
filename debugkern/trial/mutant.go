package trial

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Outcomes of a mutant.
const (
	MutantFound = "found" // a checker names a variable
	// MutantRedundant: nothing is unordered, and no schedule changes the output: the synchronisation may go
	MutantRedundant = "redundant"
	MutantMissed    = "missed"    // the output changes and no checker reports why: a bug of ours
	MutantUnreached = "unreached" // the blocks executed never come to it: no result
)

// MutantOptions say how mutants are tried.
type MutantOptions struct {
	Blocks    []probes.Dim3 // executed; nil: those that the run captured
	Schedules int           // explored where no checker finds anything; 0: 24
}

// defaultMutantSchedules is how many schedules vouch for a synchronisation that may go.
const defaultMutantSchedules = 24

// MutantResult is what became of one mutant.
type MutantResult struct {
	ptx.Mutant
	Source    *target.Source // of the synchronisation
	Outcome   string
	Findings  []report.Finding // of severity error that the kernel as it is does not have
	Schedules int              // tried besides the run's own
	Varied    string           // the first that changes the output, "" where none does
}

// Variables lists what the findings are about, each once.
func (m *MutantResult) Variables() []string {
	var names []string
	for _, f := range m.Findings {
		if !slices.Contains(names, f.Variable) {
			names = append(names, f.Variable)
		}
	}
	return names
}

// String is a line of a table.
func (m *MutantResult) String() string {
	what := m.Outcome
	switch m.Outcome {
	case MutantFound:
		what = m.found()
	case MutantRedundant:
		what += fmt.Sprintf(": no race, no change in %d schedules", m.Schedules)
	case MutantMissed:
		what += ": no finding, and the output changes under " + m.Varied
	case MutantUnreached:
		what += ": these blocks never reach it"
	}
	line := 0
	if m.Source != nil {
		line = m.Source.Line
	}
	return fmt.Sprintf("%5d  %-44s %s", line, m.What, what)
}

// found names what the findings are about, by kind: races first, as what is missing there is
// what was taken away.
func (m *MutantResult) found() string {
	var parts []string
	kinds := []string{string(target.Race), string(target.CpAsync), ""}
	for _, kind := range kinds {
		var names []string
		lines, what := "", kind
		for _, f := range m.Findings {
			if f.Kind != kind && (kind != "" || slices.Contains(kinds, f.Kind)) {
				continue
			}
			name := f.Variable
			if name == "" && f.Source != nil {
				name = "line " + strconv.Itoa(f.Source.Line)
			}
			if what = f.Kind; !slices.Contains(names, name) {
				names = append(names, name)
			}
			if lines == "" && f.Source != nil && f.Other != nil {
				lines = fmt.Sprintf(" (lines %d and %d)", f.Source.Line, f.Other.Line)
			}
		}
		if len(names) > 0 {
			parts = append(parts, what+" on "+strings.Join(names, ", ")+lines)
		}
	}
	return strings.Join(parts, "; ")
}

// Mutants changes each synchronisation of a run's build without probes in turn and reports what the checkers
// find. Errors are those of Try.
func Mutants(ctx context.Context, r *debugkern.Run, o MutantOptions) ([]MutantResult, error) {
	entry, err := r.PlainEntry(ctx)
	if err != nil {
		return nil, err
	}
	if o.Schedules <= 0 {
		o.Schedules = defaultMutantSchedules
	}
	base, err := r.Try(ctx, debugkern.Trial{Plain: true, Blocks: o.Blocks, Check: errorChecks})
	if err != nil {
		return nil, err
	}
	executed, err := reached(ctx, r, o.Blocks)
	if err != nil {
		return nil, err
	}
	var out []MutantResult
	for _, m := range entry.Mutants(target.IsProbe) {
		res := MutantResult{Mutant: m, Source: target.Blame(entry, m.At), Outcome: MutantUnreached}
		if !executed[m.At] {
			out = append(out, res)
			continue
		}
		if err := mutate(ctx, r, &res, base, o); err != nil {
			return nil, fmt.Errorf("mutant %s at %s: %w", m.What, res.Source, err)
		}
		out = append(out, res)
	}
	return out, nil
}

// reached returns the synchronisations of the build without probes that some block executes,
// by index of its body.
func reached(ctx context.Context, r *debugkern.Run, blocks []probes.Dim3) (map[int]bool, error) {
	a, err := r.Attempt(ctx, debugkern.Trial{Plain: true, Blocks: blocks})
	if err != nil {
		return nil, err
	}
	seen := &syncSites{at: map[int]bool{}}
	if err := a.Observe(ctx, seen); err != nil {
		return nil, err
	}
	return seen.at, nil
}

// syncSites notes which synchronisations are executed, by blocks on any number of cores.
type syncSites struct {
	mu sync.Mutex
	at map[int]bool
}

// Interests implements target.Interested.
func (s *syncSites) Interests() target.ClassSet {
	return target.Classes(target.ClassBarrier, target.ClassWarpSync, target.ClassAsyncWait, target.ClassFence,
		target.ClassMBarrier, target.ClassBulkCommit, target.ClassBulkWait, target.ClassWgmmaFence,
		target.ClassWgmmaCommit, target.ClassWgmmaWait)
}

// Event implements target.Observer.
func (s *syncSites) Event(e *target.Event) {
	s.mu.Lock()
	s.at[e.PC] = true
	s.mu.Unlock()
}

// mutate tries one mutant.
func mutate(
	ctx context.Context, r *debugkern.Run, m *MutantResult, base *debugkern.Run, o MutantOptions,
) error {
	edits := m.Edits
	mutant, err := r.Try(ctx, debugkern.Trial{
		Plain: true, Edits: edits, Blocks: o.Blocks, Check: errorChecks,
	})
	if err != nil {
		return err
	}
	was := errorsOf(base)
	is := errorsOf(mutant)
	m.Findings = slices.DeleteFunc(slices.Clone(is), func(f report.Finding) bool {
		return hasFinding(was, f.Kind, f.Variable) && len(report.MorePairs(was, is, &f, true)) == 0
	})
	if len(m.Findings) > 0 {
		m.Outcome = MutantFound
		return nil
	}
	m.Outcome = MutantRedundant
	unordered, err := base.Outcome().Unordered(ctx)
	if err != nil {
		return err
	}
	if len(differing(base.Outcome(), mutant.Outcome())) > 0 &&
		(!unordered || mutant.Report.Verdict != report.Agree) {
		m.Outcome, m.Varied = MutantMissed, mutant.Report.Backend.Schedule
		return nil
	}
	x, err := Explore(ctx, r, ExploreOptions{
		N: o.Schedules, Blocks: o.Blocks, Edits: edits, Plain: true, First: true,
	})
	if err != nil {
		return err
	}
	if m.Schedules = x.Tried; x.Varied > 0 {
		m.Outcome, m.Varied = MutantMissed, x.Worst
	}
	return nil
}
