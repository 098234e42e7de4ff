package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// How far an index moves from block to block or from tile to tile, and should, says which of its summands can
// be wrong: those that depend on the block, or on the loop over tiles.

// stepsOf leaves of wrong steps those of the indices by which foreign operands are read: what a cell is made
// of by way of another stage moves as that stage's index does.
func stepsOf(steps []debugkern.Step, c *debugkern.Contrast) []debugkern.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s debugkern.Step) bool {
		return !slices.ContainsFunc(c.Foreign, func(o debugkern.Operands) bool { return o.Of == s.Of })
	})
}

// blockAxis is how a step names an axis of the grid.
const blockAxis = "blockIdx."

// incriminated leaves of the definitions of an index those that depend on what it moves along by a wrong
// distance: axes of the grid, or the loop over tiles, where it does so along these alone. lacks says of which
// axes the address is not made at all.
func (q *inquiry) incriminated(s *suspect, list []definition, x access) (left []definition, lacks string) {
	var axes []string
	loops := map[int]bool{} // by the lines of their heads
	for _, step := range s.steps {
		switch {
		case strings.HasPrefix(step.Along, blockAxis):
			axes = append(axes, step.Along)
		case step.Along == q.run.Plan.Work.TileName():
			own := x.at.Outermost()
			for _, n := range loopsRound(q.run.Source(own.File), own.Line) {
				loops[n] = true
			}
		default:
			return list, ""
		}
	}
	if len(axes)+len(loops) == 0 {
		return list, ""
	}
	var may []definition
	for _, d := range list {
		switch yes, known := q.restsOn(&d, axes, loops); {
		case yes:
			left = append(left, d)
		case !known:
			may = append(may, d)
		}
	}
	if len(left) == 0 {
		left = may
	}
	if fn := q.run.Entry(); fn != nil && global(fn, x) {
		parts := q.addressOf(fn, x.instr)
		var none []string
		for _, axis := range axes {
			if parts != nil && !takes(fn, parts, axis) && !slices.Contains(none, axis) {
				none = append(none, axis)
			}
		}
		if len(none) > 0 {
			lacks = "; nothing in that index depends on " + strings.Join(none, " or ")
		}
	}
	return left, lacks
}

// takes reports whether some of these instructions take an index of the block.
func takes(fn *ptx.Func, parts map[int]bool, axis string) bool {
	comp := int8(strings.Index("xyz", strings.TrimPrefix(axis, blockAxis)))
	for i := range parts {
		for _, a := range fn.Body[i].Args {
			if a.Kind == ptx.OpSpecial && a.Name == "%ctaid" && (a.Comp == comp || a.Comp < 0) {
				return true
			}
		}
	}
	return false
}

// global reports whether all instructions of an access are known, and access global memory.
func global(fn *ptx.Func, x access) bool {
	return len(x.instr) > 0 && !slices.ContainsFunc(x.instr, func(i int) bool {
		return fn.Body[i].Space() != ptx.SpaceGlobal
	})
}

// loopsRound lists the lines of the heads of the loops that a line lies in.
func loopsRound(lines []string, line int) []int {
	var out []int
	u := upwards{}
	for n := line - 1; n > 0 && !begins.MatchString(lines[n-1]); n-- {
		text := bare(lines[n-1])
		all := headed.FindAllStringIndex(text, -1)
		for i := len(all) - 1; i >= 0; i-- {
			u.read(text[all[i][1]:]) // up to the head's parenthesis
			if u.hidden() == 0 && reaches(lines, n, text[:all[i][1]], line) {
				out = append(out, n)
			}
			text = text[:all[i][1]]
		}
		u.read(text)
	}
	return out
}

// loopRound is the head of the innermost loop that a line lies in, nil where it lies in none.
func (q *inquiry) loopRound(at *report.Source) *report.Source {
	heads := loopsRound(q.run.Source(at.File), at.Line)
	if len(heads) == 0 {
		return nil
	}
	return &report.Source{File: at.File, Line: heads[0], Function: at.Function}
}

// mostResolved bounds the names that are followed to find whether a definition depends on something.
const mostResolved = 64

// restsOn reports whether a definition depends on axes of the grid, or is counted by one of some loops, by
// the text of its file: directly, or by the names in it. known is false where it may by a parameter.
func (q *inquiry) restsOn(d *definition, axes []string, loops map[int]bool) (yes, known bool) {
	lines := q.run.Source(d.at.File)
	type open struct {
		name  string
		below int
	}
	n, value := d.at.Line, valueOn(lines, d)
	var now []open
	seen := map[open]bool{}
	known = true
	follow := func(n int, name, value string) bool {
		if loops[n] {
			return true
		}
		if !headed.MatchString(bare(lines[n-1])) {
			value = first(value)
		}
		for _, axis := range axes {
			if strings.Contains(value, axis) {
				return true
			}
		}
		for _, x := range nameOf.FindAllString(called.ReplaceAllString(value, " ("), -1) {
			if !constants.MatchString(x) && x != name {
				now = append(now, open{x, n})
			}
		}
		return false
	}
	if follow(n, d.name, value) {
		return true, true
	}
	for len(now) > 0 && len(seen) < mostResolved {
		o := now[0]
		if now = now[1:]; seen[o] {
			continue
		}
		seen[o] = true
		n, value := valueOf(lines, o.name, o.below)
		if n == 0 {
			if _, params := enclosing(lines, o.below); slices.Contains(params, o.name) &&
				q.run.Plan.Arg(o.name) == nil {
				known = false
			}
			continue
		}
		if follow(n, o.name, value) {
			return true, true
		}
	}
	return false, known
}

// constantText says of an access to a variable by an index without names, and at an address in no register,
// that it is the same everywhere.
func (q *inquiry) constantText(x access) string {
	fn := q.run.Entry()
	if fn == nil || len(x.instr) == 0 {
		return ""
	}
	list, lines := q.accessed(fn, x), q.run.Source(x.at.File)
	if len(list) == 0 || x.at.Line < 1 || x.at.Line > len(lines) || q.addressOf(fn, list) != nil {
		return ""
	}
	variable, used := indexedOn(lines, x.at.Line, append(q.basesOf(fn, list, nil), x.variable))
	if !hasName(lines[used-1], variable) || len(indexNames(lines[used-1], variable, q.writes(x))) > 0 {
		return ""
	}
	return fmt.Sprintf("; the index of %s there is a constant", variable)
}
