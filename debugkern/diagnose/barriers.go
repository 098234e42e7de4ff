package diagnose

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// barriers finds out what each synchronisation of the kernel is for: it is removed virtually, and one block
// executed again under the race checker. What races then, and did not before, is what it orders. Of a block
// that hangs none is examined: not all of them were reached.
func (q *inquiry) barriers() error {
	if q.run.Plan.Gate.Name != probes.GateNone {
		return nil
	}
	fn, plain, err := q.code()
	if fn == nil || err != nil {
		return err
	}
	block := q.run.Blocks()[0]
	with := debugkern.Trial{
		Plain: plain, Blocks: []probes.Dim3{block}, Check: check.Races | check.Async | check.Barriers,
	}
	base, err := q.run.Try(q.ctx, with)
	if err != nil {
		return q.fatal(err)
	}
	known := base.Report
	if slices.ContainsFunc(known.Findings, func(f report.Finding) bool {
		return f.Kind == string(target.Hang) || f.Kind == string(target.Deadlock)
	}) {
		return nil
	}
	syncs := fn.Syncs(target.IsProbe)
	docs := make([]BarrierDoc, len(syncs))
	return q.each(len(syncs), func(i int) error {
		t := with
		t.Edits = []ptx.Edit{{Kind: ptx.Remove, Func: fn.Name, At: syncs[i]}}
		r, err := q.run.Try(q.ctx, t)
		if err != nil && q.fatal(err) != nil {
			return err
		}
		docs[i] = barrierDoc(fn, syncs[i], r, err, known)
		return nil
	}, func() { q.doc.Barriers = byLine(docs) })
}

// code is the build without probes or, of a kernel whose PTX has them in it, the only one.
func (q *inquiry) code() (fn *ptx.Func, plain bool, err error) {
	fn, err = q.run.PlainEntry(q.ctx)
	if err == nil {
		return fn, true, nil
	}
	return q.run.Entry(), false, q.fatal(err)
}

// byLine makes one of the copies that unrolling and inlining made of a line's synchronisation: needed
// where one of them is.
func byLine(docs []BarrierDoc) []BarrierDoc {
	out := []BarrierDoc{}
	for _, d := range docs {
		at := slices.IndexFunc(out, func(o BarrierDoc) bool {
			return *o.Source == *d.Source && o.Instr == d.Instr
		})
		if at < 0 {
			d.Copies = 1
			out = append(out, d)
			continue
		}
		o := &out[at]
		o.Copies++
		if d.Needed && !o.Needed {
			o.Needed, o.Because, o.Variables = true, d.Because, d.Variables
		}
	}
	return out
}

// syncPlace is the line of the kernel itself that a synchronisation stands in: one in a helper stands for its
// call, unless the helper has several of its kind, at other lines.
func syncPlace(fn *ptx.Func, at int) *report.Source {
	own := blame(fn, at)
	l := fn.Body[at].Loc.Outermost()
	if l == nil || l.Line == 0 {
		return own
	}
	several := slices.ContainsFunc(fn.Syncs(target.IsProbe), func(i int) bool {
		o, other := fn.Body[i].Loc.Outermost(), blame(fn, i)
		return fn.Body[i].Opcode() == fn.Body[at].Opcode() && o != nil && o.Name == l.Name &&
			o.Line == l.Line && (other.File != own.File || other.Line != own.Line)
	})
	if several {
		return own
	}
	return &report.Source{File: l.Name, Line: l.Line, Function: fn.Demangled}
}

// Line is where the synchronisation stands: "line 9", in a helper with several "line 9 (called from
// k.cu:37)".
func (b *BarrierDoc) Line() string {
	if b.Source == nil {
		return ""
	}
	text := fmt.Sprintf("line %d", b.Source.Line)
	if len(b.Source.Calls.Sites()) > 0 {
		text += " (" + b.Source.Calls.Text("") + ")"
	}
	return text
}

// each runs n independent experiments on all cores, then done where none failed.
func (q *inquiry) each(n int, do func(int) error, done func()) error {
	ctx, cancel := context.WithCancelCause(q.ctx)
	defer cancel(nil)
	wg := join.Group{Stop: func() { cancel(nil) }}
	work := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		q.progress(debugkern.Progress{Phase: "explain", Detail: "barriers", Done: i, Total: n})
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done()
	return nil
}

// barrierDoc says what removing one synchronisation showed.
func barrierDoc(fn *ptx.Func, at int, r *debugkern.Run, err error, known *report.Run) BarrierDoc {
	d := BarrierDoc{Source: syncPlace(fn, at), Instr: fn.Body[at].Opcode(), Variables: []string{}}
	if err != nil {
		d.Needed, d.Because = true, "without it the kernel does not run: "+err.Error()
		return d
	}
	var because []string
	on := map[string][]string{} // what goes wrong: variables
	for _, f := range newErrors(r.Report, known, true) {
		if f.Variable != "" && slices.Contains(d.Variables, f.Variable) {
			continue
		}
		text := withoutText(f)
		if on[text] == nil {
			because = append(because, text)
		}
		on[text] = append(on[text], f.Variable)
		if f.Variable != "" {
			d.Variables = append(d.Variables, f.Variable)
		}
	}
	for i, text := range because {
		because[i] = sentence(on[text], text)
	}
	if d.Needed = len(because) > 0; d.Needed {
		d.Because = "without it " + strings.Join(because, ", ")
	} else {
		d.Because = "nothing races without it in this block"
	}
	return d
}

// newErrors lists the errors that are not known, those of order first: that a value was read before it was
// written follows from them. A known race of another hazard or at other places now, or where counted of more
// pairs, is one of them, with the places of those.
func newErrors(rep, known *report.Run, counted bool) []*report.Finding {
	before := identities(errorsOf(known))
	var order, rest []*report.Finding
	for _, f := range errorsOf(rep) {
		more := report.MorePairs(known.Findings, rep.Findings, f, counted)
		if len(more) > 0 {
			g := *f
			g.Source, g.Other = report.SourceOf(&more[0].First), report.SourceOf(&more[0].Second)
			f = &g
		}
		switch {
		case len(more) == 0 && (before[identity(f)] || len(f.Pairs) > 0):
		case slices.Contains(racing, f.Kind):
			order = append(order, f)
		default:
			rest = append(rest, f)
		}
	}
	return append(order, rest...)
}

// sentence says what happens to variables.
func sentence(variables []string, text string) string {
	names := strings.Trim(strings.Join(variables, ", "), ", ")
	one, many, _ := strings.Cut(text, "|")
	what, where, _ := strings.Cut(many, "|")
	if len(variables) > 1 {
		one = what
	}
	return strings.TrimSpace(names + " " + one + where)
}

// withoutText is what a finding says of its variable, of several, and where: "races|race| between
// lines 212 and 140".
func withoutText(f *report.Finding) string {
	what := "shows " + f.Kind + "|show " + f.Kind + "|"
	switch f.Kind {
	case "race":
		what = "races|race|"
	case "cp-async":
		what = "is used before it has arrived|are used before they have arrived|"
	case "uninitialised":
		what = "is read before it is written|are read before they are written|"
	}
	switch {
	case f.Source != nil && f.Other != nil && f.Source.File == f.Other.File:
		x := interval{first: min(f.Source.Line, f.Other.Line), then: max(f.Source.Line, f.Other.Line)}
		return fmt.Sprintf("%s %s", what, x)
	case f.Source != nil && f.Other != nil:
		return fmt.Sprintf("%s between %s and %s", what, baseText(f.Source), baseText(f.Other))
	case f.Source != nil:
		return fmt.Sprintf("%s at %s", what, baseText(f.Source))
	}
	return what
}

// baseText is a place without directories.
func baseText(s *report.Source) string { return fmt.Sprintf("%s:%d", path.Base(s.File), s.Line) }
