package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/trial"
)

// Attempt is what came of putting one finding, or one table, right virtually.
type Attempt struct {
	What    string        // "with __syncthreads() between lines 140 and 88"
	Outcome *trial.WhatIf // of that
	// Gone: the finding is, and no other came; of a table: fewer cells are bad; of a
	// synchronisation: it is not missed
	Gone    bool
	Tried   int    // changes tried, this one included
	subject string // "" for a synchronisation taken away
}

// Lines words an attempt: what became of the finding, of the verdict, what it costs.
func (a *Attempt) Lines() []string {
	w := a.Outcome
	head := a.What + ": "
	switch {
	case a.subject == "" && len(w.New) == 0:
		head += "no checker finds anything new"
	case a.subject != "" && a.Gone:
		head += a.subject + " is gone"
	case len(w.New) > 0:
		head += "then " + strings.Join(about(w.New), ", ")
	default:
		head += a.subject + " stays"
	}
	if a.subject != "" && !a.Gone && a.Tried > 1 {
		head += fmt.Sprintf(" (and with %d other changes too)", a.Tried-1)
	}
	lines := []string{head}
	before, after := w.Before.Report.Verdict, w.After.Report.Verdict
	if w.Uncompared() {
		lines = append(lines, "these blocks: "+turnText(w))
	} else if w.Turned {
		lines = append(lines, fmt.Sprintf("verdict of these blocks: %s instead of %s", after, before))
	} else {
		lines = append(lines, fmt.Sprintf("verdict of these blocks: %s, as before", after))
	}
	if was, now := damageOf(w.Before.Report), damageOf(w.After.Report); was.bad+now.bad > 0 {
		lines = append(lines, fmt.Sprintf("%s, before %s", now, was))
	}
	for _, text := range about(w.Left) {
		if !strings.Contains(strings.Join(lines, "\n"), text) {
			lines = append(lines, "left: "+text)
		}
	}
	return append(lines, "cost: "+w.Cost.String())
}

// turnText says whether there are findings with and without an edit, where nothing is compared.
func turnText(w *trial.WhatIf) string {
	word := func(rep *report.Run) string {
		if len(errorsOf(rep)) > 0 {
			return "findings"
		}
		return "no finding"
	}
	before, after := word(w.Before.Report), word(w.After.Report)
	if before == after {
		return after + ", as before"
	}
	return after + " instead of " + before
}

// about names findings by kind and variable, each once.
func about(fs []report.Finding) []string {
	var out []string
	for i := range fs {
		text := strings.TrimSuffix(fmt.Sprintf("%s on %s", kindNoun(fs[i].Kind), fs[i].Variable), " on ")
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// WhatIf puts right what a finding says is missing, as a diagnosis does: the same changes are tried at the
// same places and on the same blocks, and the one that is chosen is the one that a diagnosis advises. It
// fails where no synchronisation can put the finding right.
func WhatIf(ctx context.Context, run *debugkern.Run, f *report.Finding) (*Attempt, error) {
	if f.Missing != nil && strings.HasPrefix(*f.Missing, "exclusive") {
		return nil, fmt.Errorf("no synchronisation can order this: %s", *f.Missing)
	}
	q, s, err := inquireAbout(ctx, run, f)
	if err != nil {
		return nil, err
	}
	if s == nil || len(s.candidates) == 0 {
		advice := kindAdvice[f.Kind]
		if f.Missing != nil {
			advice = *f.Missing
		}
		return nil, fmt.Errorf("nothing that can be changed without compiling puts %s right: %s",
			f.Kind, advice)
	}
	if err := q.remedied(s); err != nil {
		return nil, err
	}
	q.narrow(s, s.remedy, s.alone)
	subject := strings.TrimSuffix(fmt.Sprintf("the %s on %s", kindNoun(f.Kind), f.Variable), " on ")
	a := &Attempt{Tried: s.tried, subject: subject, Gone: s.remedy != nil}
	for i := range s.candidates {
		r := s.remedy
		if r == nil {
			r = &s.candidates[i]
		}
		w, err := trial.TryEdits(ctx, run, r.edits(run), q.blocks)
		if err == nil {
			a.What, a.Outcome = r.text, w
			return a, nil
		}
		if q.fatal(err) != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("none of %d changes could be tried", len(s.candidates))
}

// inquireAbout prepares the experiments of a diagnosis of a run for the suspect that has a finding;
// nil where none has.
func inquireAbout(ctx context.Context, run *debugkern.Run, f *report.Finding) (*inquiry, *suspect, error) {
	rep := *run.Report
	rep.Findings = slices.Clone(rep.Findings)
	if !slices.ContainsFunc(rep.Findings, func(g report.Finding) bool {
		return identity(f) == identity(&g)
	}) {
		rep.Findings = append(rep.Findings, *f)
	}
	q := &inquiry{
		ctx: ctx, req: run.Request, run: run, o: Options{OnEvent: func(Event) {}},
		doc: &Diagnosis{Run: rep, Executed: run},
	}
	if err := q.origins(); err != nil {
		return nil, nil, err
	}
	if err := q.chooseBlocks(); err != nil {
		return nil, nil, err
	}
	for _, s := range q.findingSuspects() {
		if q.owns(s, f) {
			return q, s, nil
		}
	}
	return q, nil, nil
}

// WhatIfRight puts a cause right that is no finding's: a fragment table gets what the hardware does.
func WhatIfRight(ctx context.Context, run *debugkern.Run, c *Cause) (*Attempt, error) {
	if c.Kind != kindTable {
		return nil, fmt.Errorf(
			"a %s is arithmetic: no synchronisation changes it; the proof says what the reference in its place shows",
			c.Kind)
	}
	tables, err := run.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for i := range tables {
		t := &tables[i]
		if t.Name != c.Place.Variable {
			continue
		}
		w, err := trial.TryEdits(ctx, run, []ptx.Edit{{Kind: ptx.SetData, Var: t.Var, Data: t.Right}}, nil)
		if err != nil {
			return nil, err
		}
		was, now := damageOf(w.Before.Report), damageOf(w.After.Report)
		return &Attempt{
			What: "with " + t.Name + " as the hardware has it", Outcome: w, Gone: now.bad < was.bad, Tried: 1,
			subject: "part of the error",
		}, nil
	}
	return nil, fmt.Errorf("the module has no table %s", c.Place.Variable)
}

// WhatIfWithout takes a synchronisation away, all copies that were made of its line, and
// executes a block again.
func WhatIfWithout(ctx context.Context, run *debugkern.Run, b *BarrierDoc) (*Attempt, error) {
	fn := run.Entry()
	if fn == nil || b.Source == nil {
		return nil, fmt.Errorf("nothing is known of where %s stands", b.Instr)
	}
	var edits []ptx.Edit
	for _, at := range fn.Syncs(target.IsProbe) {
		if *syncPlace(fn, at) == *b.Source && fn.Body[at].Opcode() == b.Instr {
			edits = append(edits, ptx.Edit{Kind: ptx.Remove, Func: fn.Name, At: at})
		}
	}
	if len(edits) == 0 {
		return nil, fmt.Errorf("the build with probes has no %s at %s", b.Instr, b.Line())
	}
	w, err := trial.TryEdits(ctx, run, edits, run.Blocks()[:1])
	if err != nil {
		return nil, err
	}
	return &Attempt{
		What: fmt.Sprintf("without the %s of %s", b.Instr, b.Line()), Outcome: w,
		Gone: len(w.New) == 0, Tried: 1,
	}, nil
}
