package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/walk"
)

// stepsText names the steps of a column: steps 28005 to 29409.
func stepsText(s walk.Span) string {
	if s.To <= s.From+1 {
		return fmt.Sprintf("step %d", s.From)
	}
	return fmt.Sprintf("steps %d to %d", s.From, s.To-1)
}

// act is what a warp does from a moment of a column on.
type act struct {
	from uint64
	wait *walk.Wait // nil: it executes
	// others: lanes that do not wait execute during the wait
	others bool
}

// acts lists what a warp does within a column, in order of time: waits, and what it executes outside them.
// When it is ready, and not scheduled, is left out.
func (c *chart) acts(warp int, span walk.Span) []act {
	w := &c.line.Warps[warp]
	var out []act
	for i := range w.Waits {
		if x := &w.Waits[i]; x.From < span.To && x.To > span.From {
			out = append(out, act{from: max(x.From, span.From), wait: x})
		}
	}
	waits := len(out)
	for _, r := range w.Runs {
		from, to := max(r.From, span.From), min(r.To, span.To)
		for i := range waits {
			x := out[i].wait
			// The instruction that begins to wait is executed at the first moment of the wait.
			if max(from, x.From+1) < min(to, x.To) {
				out[i].others = true
			}
			switch {
			case from >= x.From && to <= x.To:
				to = from
			case from >= x.From && from < x.To:
				from = x.To
			}
		}
		if from < to {
			out = append(out, act{from: from})
		}
	}
	slices.SortStableFunc(out, func(a, b act) int { return cmp.Compare(a.from, b.from) })
	return slices.CompactFunc(out, func(a, b act) bool { return a.wait == nil && b.wait == nil })
}

// ready is what a warp is that neither waits nor is executed.
const ready = "is ready, but not scheduled"

// mostActs is how many acts of a column are listed one by one.
const mostActs = 4

// sequence words what a warp does within a column: waits at barrier 0 (line 342), then executes. full adds
// when waits begin and end.
func (c *chart) sequence(warp int, span walk.Span, full bool) string {
	all := c.acts(warp, span)
	switch n := len(all); {
	case n == 0 && c.ended(warp, span.From):
		return "has ended"
	case n == 0:
		return ready
	case n > mostActs:
		waits := slices.DeleteFunc(all, func(a act) bool { return a.wait == nil })
		text := fmt.Sprintf("waits %d times", len(waits))
		if len(waits) < n {
			text = fmt.Sprintf("executes, and waits %d times in between", len(waits))
		}
		if full {
			text += ", first at " + waitText(waits[0].wait, false)
		}
		return text
	}
	var texts []string
	for _, a := range all {
		text := "executes"
		if a.wait != nil {
			text = "waits at " + waitText(a.wait, full)
		}
		if a.others {
			text = "some lanes execute, and others wait at " + waitText(a.wait, full)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", then ")
}

// ended reports whether a warp has executed its last instruction before a moment.
func (c *chart) ended(warp int, step uint64) bool {
	w := &c.line.Warps[warp]
	n := len(w.Runs)
	return w.Ended && (n == 0 || w.Runs[n-1].To <= step)
}

// doing words what the warps of a row do within a column. Where they differ it counts the warps that execute
// and those that wait at each place; one warp can do both, at different steps.
func (c *chart) doing(r *row, span walk.Span, full bool) string {
	first := c.sequence(r.warps[0], span, full)
	if len(r.warps) == 1 {
		return first
	}
	if !slices.ContainsFunc(r.warps, func(w int) bool { return c.sequence(w, span, full) != first }) {
		return "each: " + first
	}
	order, warps, acts := []string(nil), map[string]int{}, 0
	for _, w := range r.warps {
		for _, what := range c.kinds(w, span) {
			if warps[what] == 0 {
				order = append(order, what)
			}
			warps[what]++
			acts++
		}
	}
	for i, what := range order {
		if warps[what] > 1 {
			verb, rest, _ := strings.Cut(what, " ")
			what = strings.TrimSpace(plural[verb] + " " + rest)
		}
		order[i] = fmt.Sprintf("%d of %d %s", warps[order[i]], len(r.warps), what)
	}
	out := strings.Join(order, ", ")
	if acts > len(r.warps) {
		out += ", at different steps"
	}
	return out
}

// plural has the verbs of kinds.
var plural = map[string]string{"executes": "execute", "waits": "wait", "has": "have", "is": "are"}

// kinds lists what a warp does within a column, each thing once.
func (c *chart) kinds(warp int, span walk.Span) (out []string) {
	for _, a := range c.acts(warp, span) {
		what := "executes"
		if a.wait != nil {
			what = "waits at " + waitText(a.wait, false)
		}
		if !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	switch {
	case len(out) > 0:
	case c.ended(warp, span.From):
		out = []string{"has ended"}
	default:
		out = []string{ready}
	}
	return out
}

// waitText names a wait: k_full[1] phase 0 (line 191) from step 6387 to 23516.
func waitText(x *walk.Wait, full bool) string {
	out := x.At
	if x.MBarrier >= 0 {
		out += fmt.Sprintf(" phase %d", x.Number)
	}
	if x.Source != nil && x.Source.Line > 0 {
		out += fmt.Sprintf(" (line %d)", x.Source.Line)
	}
	switch {
	case x.To == walk.Never && full:
		return out + fmt.Sprintf(" from step %d on, for ever", x.From)
	case x.To == walk.Never:
		return out + " for ever"
	case full:
		return out + fmt.Sprintf(" from step %d to %d", x.From, x.To-1)
	}
	return out
}
