package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A function of the kernel that computes a part of several stages, and is wrong, makes all of these wrong.
// Where it is worked out for one stage which of its operations that is, others that have that operation in
// their cells are wrong by it as well.

// functions makes the operation of a called function that is wrong in one suspect the reason of those too of
// which nothing more is known, and whose first wrong cells it takes part in.
func (q *inquiry) functions() error {
	var known []*suspect
	for _, s := range q.suspects {
		if s.ruleInFunction() != "" {
			known = append(known, s)
		}
	}
	for _, s := range q.suspects {
		if len(known) == 0 || s.cause.Kind != kindStage || s.rule != nil || s.contrast != nil ||
			s.remedy != nil && s.remedy.changes() {
			continue
		}
		lines, err := q.calledIn(s)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(known, func(o *suspect) bool {
			return slices.Contains(lines, o.ruleInFunction())
		})
		if i < 0 {
			continue
		}
		q.explain(s, known[i].rule)
		s.cause.why = fmt.Sprintf("what is wrong in %s takes part in %s too: %s", known[i].cause.Stage,
			s.cause.Stage, known[i].rule.why())
	}
	return nil
}

// ruleInFunction is the line of a called function whose operation is known to be wrong; "" where there is
// none.
func (s *suspect) ruleInFunction() string {
	if s.cause.Kind != kindStage || s.rule == nil || s.rule.at == nil || s.rule.at.Calls == "" {
		return ""
	}
	return s.rule.at.At()
}

// calledIn lists the lines of called functions whose operations give the values that the first wrong cell of
// a suspect is made of.
func (q *inquiry) calledIn(s *suspect) (lines []string, err error) {
	doc, fn := q.base.Report.Stage(s.cause.Stage), q.run.Entry()
	st := probes.Stage(s.cause.Stage)
	if doc == nil || doc.FirstBad == nil || fn == nil || q.run.Plan.Stage(st).OfLaunch() {
		return nil, nil
	}
	b := doc.FirstBad
	cells, err := q.base.Formation(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil {
		return nil, q.fatal(err)
	}
	for i := range cells {
		for _, v := range cells[i].Values {
			if v.At < 0 || v.At >= len(fn.Body) {
				continue
			}
			if src := report.SourceOf(target.Blame(fn, v.At)); src != nil && src.Calls != "" &&
				!slices.Contains(lines, src.At()) {
				lines = append(lines, src.At())
			}
		}
	}
	return lines, nil
}

// sameFunction reports whether an operation of a called function is what is wrong in both of two suspects.
func sameFunction(a, b *suspect) bool { return a.rule == b.rule && a.ruleInFunction() != "" }
