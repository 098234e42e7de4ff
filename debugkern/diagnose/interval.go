package diagnose

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/report"
)

// One missing barrier is several races: each array is written and read at lines of its own, and a barrier
// between the lines of one need not stand between those of another. Where it may stand is what the intervals
// of all of them have in common, outside of the loops and conditions that only one side of them is in: not
// every thread need be in these, or as often.

// ordering is the lines of two accesses that nothing orders, the first of which is executed first.
type ordering struct {
	variable    string
	file        string
	first, then int // then <= first: the second is executed in the next iteration of a loop
}

// orderings lists the accesses that a suspect's findings say are in no order, and that are in one in a run;
// nil: in any.
func (q *inquiry) orderings(s *suspect, in *debugkern.Run) []ordering {
	var out []ordering
	for _, i := range s.cause.Findings {
		f := &q.doc.Findings[i]
		first, then := missingBetween(f)
		if !slices.Contains(racing, f.Kind) || first == nil || first.File != then.File ||
			in != nil && slices.ContainsFunc(errorsOf(in.Report), func(g *report.Finding) bool {
				return identity(f) == identity(g)
			}) {
			continue
		}
		out = append(out, ordering{f.Variable, first.File, first.Line, then.Line})
	}
	return out
}

// interval is the lines between which a synchronisation may stand.
type interval struct {
	first, then int
	next        bool // then is in the next iteration
}

func (x interval) String() string {
	if x.first == x.then {
		return fmt.Sprintf("between the accesses of line %d", x.first)
	}
	text := fmt.Sprintf("between lines %d and %d", x.first, x.then)
	if x.next {
		text += " of the next iteration"
	}
	return text
}

// intersect is what the intervals of accesses have in common; ok is false where that is nothing.
func intersect(list []ordering) (x interval, ok bool) {
	var around []ordering
	for _, o := range list {
		switch {
		case o.then <= o.first:
			around = append(around, o)
		case !ok:
			x, ok = interval{o.first, o.then, false}, true
		default:
			x.first, x.then = max(x.first, o.first), min(x.then, o.then)
		}
	}
	if !ok {
		for _, o := range around {
			if !ok {
				x, ok = interval{o.first, o.then, true}, true
			}
			x.first, x.then = max(x.first, o.first), min(x.then, o.then)
		}
		return x, ok
	}
	for _, o := range around { // behind its first access, or before the second in the iteration that follows
		switch {
		case o.first < x.then:
			x.first = max(x.first, o.first)
		case o.then > x.first:
			x.then = min(x.then, o.then)
		default:
			return x, false
		}
	}
	return x, x.first < x.then
}

// outside leaves out of an interval the loops and conditions that only one of its ends is in, or an access of
// the list before or behind it. It stays inside a loop of which iterations are to be ordered as well.
func (x interval) outside(o *outline, list []ordering) interval {
	in := o.common(x.first, x.then)
	out := x
	if loop, ok := repeated(o, list); ok && !x.next {
		switch has := loop.has(x.first); {
		case has == loop.has(x.then):
		case has:
			in, out.then = loop, loop.close
		default:
			in, out.first = loop, loop.open
		}
	}
	for _, p := range list {
		for i, line := range []int{p.first, p.then} {
			switch {
			case line < in.open || line > in.close:
			case x.next && i == 0 || !x.next && line <= x.first:
				out.first = max(out.first, o.after(in, line))
			case x.next || line >= x.then:
				out.then = min(out.then, o.before(in, line))
			}
		}
	}
	return out
}

// repeated is the smallest block around the accesses of which one is executed in the iteration after the
// other's; ok is false where the list has none.
func repeated(o *outline, list []ordering) (loop block, ok bool) {
	first, last := len(o.code), 0
	for _, p := range list {
		if p.then <= p.first {
			first, last = min(first, p.then), max(last, p.first)
		}
	}
	if last == 0 {
		return block{}, false
	}
	return o.common(first, last), true
}

// orderedAt says of suspects which synchronisation puts right between which lines it may stand.
func (q *inquiry) orderedAt() error {
	for _, s := range q.suspects {
		for _, o := range append([]*suspect{s}, s.members...) {
			if err := cmp.Or(q.narrow(o, o.remedy, o.alone), q.narrow(o, o.partial, o.partly)); err != nil {
				return err
			}
		}
		if s.cause.why == "" && (s.remedy != nil && s.remedy.where != "" ||
			s.partial != nil && s.partial.where != "") {
			s.cause.why = q.racesApart(s)
		}
		if s.standing != nil && s.standing.why != "" {
			s.cause.because(s.standing.why)
		}
	}
	return nil
}

// narrow says of a remedy that puts synchronisation in between which lines it may stand: in the place of
// those of the finding that it was found for, those that all races which it makes go have in common.
func (q *inquiry) narrow(s *suspect, r *remedy, with *debugkern.Run) error {
	if r == nil || r.where == "" || r.inPlace || with == nil {
		return nil
	}
	list := q.orderings(s, with)
	if len(list) == 0 || slices.ContainsFunc(list, func(o ordering) bool { return o.file != list[0].file }) {
		return nil
	}
	x, ok := intersect(list)
	if !ok {
		return nil
	}
	if wait := q.lastWait(list[0].file, x); wait > x.first && q.awaitsOthers(s) {
		for i := range list {
			if list[i].first < wait && wait < list[i].then {
				list[i].first = wait
			}
		}
		x.first = wait
	}
	if lines := q.run.Source(list[0].file); x.first <= len(lines) && x.then <= len(lines) && len(lines) > 0 {
		o := outlineOf(lines)
		list = append(list, q.probed(s, list, x, o)...)
		if x, ok = intersect(list); !ok {
			return nil
		}
		if out := x.outside(o, list); out.next || out.first < out.then {
			x = out
		}
	}
	if x.first != x.then { // else the remedy says more: in the line, or behind it
		r.text = strings.Replace(r.text, r.where, x.String(), 1)
		r.advice = strings.Replace(r.advice, r.where, x.String(), 1)
		r.where, r.file = x.String(), list[0].file
	}
	st := q.standingIn(list[0].file, x)
	if st == nil {
		return nil
	}
	s.standing = st
	if st.advice != "" && with == s.alone {
		r.advice += ": " + st.advice
		s.cause.Rewrite = st.rewrite
	}
	if with == s.alone {
		return q.inItsPlace(s, r, list[0].file, st)
	}
	return nil
}

// awaitsOthers reports whether a suspect's copies are waited for by the threads that asked for them, and read
// by others: a barrier orders that behind the wait alone.
func (q *inquiry) awaitsOthers(s *suspect) bool {
	copies := false
	for _, i := range s.cause.Findings {
		switch q.doc.Findings[i].Kind {
		case "cp-async":
			copies = true
		case "race":
			return false
		}
	}
	return copies
}

// lastWait is the last line of an interval that waits for copies, 0 where none does.
func (q *inquiry) lastWait(file string, x interval) int {
	fn, last := q.run.Entry(), 0
	if fn == nil || x.next {
		return 0
	}
	for _, in := range fn.Body {
		l := in.Loc.Outermost()
		if in.Kind() == isa.WaitAsync && l != nil && path.Base(l.Name) == path.Base(file) && l.Line < x.then {
			last = max(last, l.Line)
		}
	}
	return last
}

// probed are the probes, within an interval, of what races there: what they copy must be complete as well,
// and so must be what a stage that goes wrong with it was written by.
func (q *inquiry) probed(s *suspect, list []ordering, x interval, o *outline) []ordering {
	fn := q.run.Entry()
	if fn == nil || x.next {
		return nil
	}
	lines := map[int]bool{}
	for _, in := range fn.Body {
		if l := in.Loc.Outermost(); fromProbe(in.Loc) && l != nil &&
			path.Base(l.Name) == path.Base(list[0].file) {
			lines[l.Line] = true
		}
	}
	arrays := map[string]int{} // to the line of the last access before
	for _, p := range list {
		arrays[p.variable] = max(arrays[p.variable], p.first)
	}
	if s.partial != nil {
		for array, line := range q.writtenIn(s, x, o) {
			arrays[array] = max(arrays[array], line)
		}
	}
	var out []ordering
	for line := x.first + 1; line < x.then; line++ {
		if !lines[line] {
			continue
		}
		for array, first := range arrays {
			word := regexp.MustCompile(`\b` + regexp.QuoteMeta(array) + `\b`)
			if first < line && word.MatchString(o.code[line-1]) {
				out = append(out, ordering{array, list[0].file, first, line})
			}
		}
	}
	return out
}

// writtenIn is the last line within an interval that stores to the array of a stage of the suspect's.
func (q *inquiry) writtenIn(s *suspect, x interval, o *outline) map[string]int {
	out := map[string]int{}
	for _, st := range s.stages {
		sp := q.run.Plan.Stage(st)
		if sp == nil || sp.Array == "" {
			continue
		}
		store := regexp.MustCompile(`\b` + regexp.QuoteMeta(sp.Array) + `\s*(\[[^\]]*\]\s*)+[-+*/]?=[^=]`)
		for line := x.first; line < x.then; line++ {
			if store.MatchString(o.code[line-1]) {
				out[sp.Array] = line
			}
		}
	}
	return out
}

// racesApart names, of races on several arrays, the lines of each: "sQ at lines 98 and 135".
func (q *inquiry) racesApart(s *suspect) string {
	var parts, seen []string
	for _, o := range q.orderings(s, nil) {
		text := fmt.Sprintf("lines %d and %d", o.first, o.then)
		if o.then == o.first {
			text = fmt.Sprintf("line %d", o.first)
		} else if o.then < o.first {
			text += " of the next iteration"
		}
		if i := slices.Index(seen, text); i >= 0 {
			parts[i] = o.variable + ", " + parts[i]
			continue
		}
		seen, parts = append(seen, text), append(parts, o.variable+" at "+text)
	}
	if len(parts) < 2 {
		return ""
	}
	return "nothing orders the accesses to " + strings.Join(parts, ", to ")
}
