package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// suspect makes the hypotheses: tables that are wrong by content, then one for each group of findings. Stages
// follow when these have been tried (arithmetic).
func (q *inquiry) suspect() error {
	if err := q.chooseBlocks(); err != nil {
		return err
	}
	tables, err := q.run.Tables(q.ctx)
	if err != nil {
		if err = q.fatal(err); err != nil {
			return err
		}
	}
	for i := range tables {
		if !*tables[i].Covered || !*tables[i].Ordered {
			q.suspects = append(q.suspects, tableSuspect(&tables[i]))
		}
	}
	q.suspects = append(q.suspects, q.findingSuspects()...)
	return nil
}

// tableSuspect is a constant array that should be a fragment map and is another: right data in its
// place is the remedy.
func tableSuspect(t *fragment.Table) *suspect {
	edit := ptx.Edit{Kind: ptx.SetData, Var: t.Var, Data: t.Right}
	at := ""
	if t.At != nil {
		at = " (" + t.At.At() + ")"
	}
	short, _, _ := strings.Cut(t.Explanation, ";")
	c := Cause{
		Kind: kindTable, Title: fmt.Sprintf("fragment table %s%s: %s", t.Name, at, short), Finding: -1,
		Findings: []int{},
		Place: Place{
			KVTile: -1, Row: -1, Col: -1, Variable: t.Name, Variables: []string{t.Name}, Index: []int{},
			Source: t.At,
		},
	}
	if len(t.Wrong) > 0 {
		w := t.Wrong[0]
		c.Place.Index = []int{w.Lane, w.Element}
		c.Proof = append(c.Proof,
			fmt.Sprintf(
				"introspection (tilescope lut) has %s at lane %d element %d, the table %s; %d of 256 entries differ: %s",
				w.Want, w.Lane, w.Element,
				w.Got, len(t.Wrong), t.Explanation))
		if i := strings.LastIndex(t.Explanation, "; "); i >= 0 && !*t.Covered {
			c.why = t.Explanation[i+2:] // which entries, by lane
		}
	}
	c.Advice = "take the table that introspection gives: tilescope lut --header > FILE writes it"
	if t.At != nil {
		c.Advice += ", for the place of the one at " + t.At.At()
	}
	return &suspect{cause: c, candidates: []remedy{{
		text: "with the table right", edits: func(*debugkern.Run) []ptx.Edit { return []ptx.Edit{edit} },
	}}}
}

// consequences are kinds that follow from another: where there is a cause that explains them, they are none.
var consequences = []string{"unwritten", "varies", "backend-difference", "probe-changed-result"}

// firstKinds orders suspects by how much else they may explain.
var firstKinds = []string{
	"loop-ended", "not-captured", "barrier", "deadlock", "trap", "out-of-bounds", "misaligned", "overlap",
	"layout", "cp-async", "race", "shuffle", "uninitialised", "nan-origin",
}

// findingSuspects groups the findings of severity error, one suspect for each group.
func (q *inquiry) findingSuspects() []*suspect {
	var all []*suspect
	groups := map[string]*suspect{}
	for i := range q.doc.Findings {
		f := &q.doc.Findings[i]
		if f.Severity != severityError {
			continue
		}
		key := q.groupKey(f)
		s := groups[key]
		if s == nil {
			s = &suspect{exclusive: f.Missing != nil && strings.HasPrefix(*f.Missing, "exclusive")}
			s.cause = Cause{Kind: f.Kind, Finding: i, Place: findingPlace(f)}
			groups[key] = s
			all = append(all, s)
		}
		s.cause.Findings = append(s.cause.Findings, i)
	}
	for _, s := range all {
		q.describe(s)
		s.candidates = q.candidates(s)
	}
	rank := func(s *suspect) int {
		if i := slices.Index(firstKinds, s.cause.Kind); i >= 0 {
			return i
		}
		return len(firstKinds)
	}
	slices.SortStableFunc(all, func(a, b *suspect) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

func findingPlace(f *report.Finding) Place {
	return Place{
		Block: f.Block, KVTile: f.KVTile, Row: -1, Col: -1, Variable: f.Variable, Index: f.Index,
		Source: f.Source, Other: f.Other,
	}
}

// groupKey says which findings are one cause before anything was tried: of races, those with the same missing
// synchronisation, or of one unguarded update; of the rest, those of one kind on one variable.
func (q *inquiry) groupKey(f *report.Finding) string {
	if f.Kind != "race" || f.Missing == nil {
		return f.Kind + " " + f.Variable
	}
	if strings.HasPrefix(*f.Missing, "exclusive") {
		return fmt.Sprintf("race exclusive %d", q.interval(f.Source))
	}
	return "race " + *f.Missing
}

// interval is how many block barriers stand before a line in the kernel's body: accesses of one
// interval are one phase.
func (q *inquiry) interval(at *report.Source) int {
	fn := q.run.Entry()
	if fn == nil || at == nil {
		return -1
	}
	n, lines := 0, instructionsAt(fn, at)
	for i, in := range fn.Body {
		if len(lines) > 0 && i >= lines[0] {
			break
		}
		if in.Op == "bar" && in.Has("sync") && !in.Has("warp") || in.Op == "barrier" {
			n++
		}
	}
	return n
}

// instructionsAt lists the body indices that a source line, or what was inlined into it, became, in order: of
// a line in an inlined function, those of its call sites alone where the place has them.
func instructionsAt(fn *ptx.Func, at *report.Source) []int {
	var out []int
	src := target.Source{File: at.File, Line: at.Line, Calls: at.Calls}
	for i, in := range fn.Body {
		if src.Within(fn, in.Loc) {
			out = append(out, i)
		}
	}
	return out
}

// describe gives a suspect of findings its place and its title.
func (q *inquiry) describe(s *suspect) {
	c := &s.cause
	lead := &q.doc.Findings[c.Finding]
	for _, i := range c.Findings {
		if v := q.doc.Findings[i].Variable; v != "" && !slices.Contains(c.Place.Variables, v) {
			c.Place.Variables = append(c.Place.Variables, v)
		}
	}
	if c.Place.Variables == nil {
		c.Place.Variables = []string{}
	}
	here, others := q.variablesAt(c, lead)
	on := strings.Join(here, ", ")
	if target.KeepsLocals(on) {
		on += " (arrays of a thread)"
	}
	c.Title = lead.Kind
	if on != "" {
		c.Title += " on " + on
	}
	switch {
	case report.Uncaptures(lead.Kind):
		c.Title = lead.Message
	case lead.Source == nil:
	case lead.Kind == "nan-origin":
		c.Title = "nan-origin at " + lead.Source.At()
		if lead.Other != nil {
			c.Title += ", " + lineText(lead.Other, lead.Source)
		}
		c.Title += ": " + lead.Message
	case lead.Kind == "cluster" && lead.Other != nil:
		c.Title = fmt.Sprintf("a block of the cluster may exit before the access to %s at %s", on, lead.Source.At())
	case lead.Kind == "barrier" && lead.Other != nil && strings.HasPrefix(lead.Message, target.BarrierUse):
		c.Title = fmt.Sprintf("barrier used at %s and %s", callText(lead.Source),
			lineText(lead.Other, lead.Source))
		c.why = lead.Message
	case lead.Kind == "barrier" && lead.Other != nil:
		c.Title = fmt.Sprintf("barrier at %s reached by a part of the block, the rest at %s",
			lead.Source.At(), lineText(lead.Other, lead.Source))
	case lead.Kind == "barrier" && strings.Contains(lead.Message, fmt.Sprintf(":%d", lead.Source.Line)):
		c.Title = lead.Message // who is expected, and who comes
	case lead.Other != nil && *lead.Other != *lead.Source:
		c.Title += fmt.Sprintf(" between %s and %s", callText(lead.Source), lineText(lead.Other, lead.Source))
	default:
		c.Title += " at " + callText(lead.Source)
	}
	if len(others) > 0 {
		c.Title += ", on " + q.othersAt(c, lead, others)
	}
	c.Title += s.decidedAt
	switch lead.Kind {
	case "wgmma", "shuffle", "misaligned", "trap":
		c.why = lead.Message
	case "out-of-bounds":
		if c.why = lead.Message; !strings.Contains(lead.Message, "which has") &&
			!strings.Contains(lead.Message, lead.Variable+" has ") {
			c.why += q.extents(lead.Variable)
		}
	}
}

// variablesAt divides the variables of a cause of findings into those that have a finding at the lead's
// place, or between its two, and those that have none; the second are none where the title has no place.
func (q *inquiry) variablesAt(c *Cause, lead *report.Finding) (here, others []string) {
	same := func(a, b *report.Source) bool {
		return a == nil && b == nil || a != nil && b != nil && a.At() == b.At()
	}
	switch lead.Kind {
	case "barrier", "nan-origin", "cluster":
		return c.Place.Variables, nil
	}
	if report.Uncaptures(lead.Kind) || lead.Source == nil {
		return c.Place.Variables, nil
	}
	at := map[string]bool{}
	for _, i := range c.Findings {
		f := &q.doc.Findings[i]
		if same(f.Source, lead.Source) && same(f.Other, lead.Other) ||
			same(f.Source, lead.Other) && same(f.Other, lead.Source) {
			at[f.Variable] = true
		}
	}
	for _, v := range c.Place.Variables {
		if at[v] || v == lead.Variable {
			here = append(here, v)
		} else {
			others = append(others, v)
		}
	}
	return here, others
}

// mostOtherLines is how many variables of other lines are listed with these.
const mostOtherLines = 3

// othersAt lists variables that have findings at other lines than the lead: "l at line 460, U at line 470".
func (q *inquiry) othersAt(c *Cause, lead *report.Finding, others []string) string {
	var parts []string
	for _, v := range others {
		i := slices.IndexFunc(c.Findings, func(i int) bool {
			f := &q.doc.Findings[i]
			return f.Variable == v && f.Source != nil
		})
		if i < 0 || len(others) > mostOtherLines {
			return strings.Join(others, ", ") + " at other lines"
		}
		parts = append(parts, v+" at "+lineText(q.doc.Findings[c.Findings[i]].Source, lead.Source))
	}
	return strings.Join(parts, ", ")
}

// extents words the dimensions of a shared array or an argument, "" where they are not known.
func (q *inquiry) extents(variable string) string {
	var dims []int
	for i := range q.run.Plan.Shared {
		if a := &q.run.Plan.Shared[i]; a.Name == variable {
			dims = a.Dims
		}
	}
	if a := q.run.Plan.Arg(variable); a != nil && dims == nil {
		dims = a.Dims
	}
	if len(dims) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s has %s)", variable, extent(dims))
}

// lineText is a place other another: the line alone where the file is the same.
func lineText(s, other *report.Source) string {
	if other != nil && s.File == other.File {
		text := fmt.Sprintf("line %d", s.Line)
		if s.Calls != "" && s.Calls != other.Calls {
			text += " (" + s.Calls.Text("") + ")"
		}
		return text
	}
	return callText(s)
}

// linesOf names places without where they are called from, each line once: "k.cu:7 and line 9".
func linesOf(first *report.Source, others []*report.Source) string {
	text := first.At()
	var named []string
	for _, o := range others {
		line := report.Source{File: o.File, Line: o.Line}
		if line.At() == first.At() || slices.Contains(named, line.At()) {
			continue
		}
		named = append(named, line.At())
		text += " and " + lineText(&line, first)
	}
	return text
}
