package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// An operation that is absent has no instruction. What is seen of it is a stage that looks like one that was
// not multiplied by a number, and a parameter with that number which no instruction reads.

// factor is the fingerprint of a stage that was multiplied by a number, or was not.
const factor = "factor"

// unread looks for the parameter that a stage was not multiplied by, and that the kernel never reads. The
// place becomes the last line before the stage's that names it.
func (q *inquiry) unread(s *suspect, st probes.Stage) bool {
	doc, fn := q.doc.Stage(st.String()), q.run.Entry()
	if doc == nil || doc.FirstBad == nil || fn == nil || s.contrast != nil {
		return false
	}
	p := pattern(doc)
	if p == nil || p.Name != factor {
		return false
	}
	for i := range q.run.Plan.Args {
		name := q.run.Plan.Args[i].Name
		if q.run.Plan.Args[i].Pointer || !strings.HasPrefix(p.Value, "1/"+name+" ") {
			continue
		}
		v := q.parameter(name)
		if v == nil || readsParameter(fn, v) {
			return false
		}
		s.cause.why = fmt.Sprintf("the kernel never reads %s, and %s looks like not multiplied by it (%s)", name,
			st, explained(doc, p))
		at := q.named(doc.FirstBad.Source, name)
		if at == nil {
			s.cause.Advice = fmt.Sprintf("multiply %s by %s: no line uses it", st, name)
			return true
		}
		s.cause.Place.Source = at
		s.cause.Advice = fmt.Sprintf("multiply by %s at %s, where it has no effect: %s", name, at.At(),
			quote(q.quoted(at))) + q.seeFirst(st)
		return true
	}
	return false
}

// readsParameter reports whether an instruction of a function has a parameter as an operand.
func readsParameter(fn *ptx.Func, v *ptx.Var) bool {
	for _, in := range fn.Body {
		for k := range in.Args {
			if op := &in.Args[k]; op.Kind == ptx.OpAddr && in.Space() == ptx.SpaceParam && isOf(op, v) {
				return true
			}
		}
	}
	return false
}

// named is the last line up to a place, in its file, that uses a name and does not declare it; nil where
// there is none.
func (q *inquiry) named(at *report.Source, name string) *report.Source {
	if at == nil {
		return nil
	}
	if site := q.outermost(at); site != nil {
		at = site
	}
	lines := q.run.Source(at.File)
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	declared := regexp.MustCompile(`[\w>*&]\s+` + regexp.QuoteMeta(name) + `\s*[,)=;]`)
	for n := min(at.Line, len(lines)); n > 0; n-- {
		line, _, _ := strings.Cut(lines[n-1], "//")
		if word.MatchString(line) && !declared.MatchString(line) {
			return &report.Source{File: at.File, Line: n, Function: at.Function}
		}
	}
	return nil
}

// outermost is the place in the kernel's own text that inlined code was called from, nil where the place is
// in it already.
func (q *inquiry) outermost(at *report.Source) *report.Source {
	if at.Calls == "" {
		return nil
	}
	own := at.Outermost()
	return &own
}
