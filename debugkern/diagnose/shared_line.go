package diagnose

import (
	"regexp"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
)

// An edit of the PTX is an edit of a line only where it changes all that the line became. A function that is
// inlined at several calls is one line and several instructions; what is compared at a line may be computed
// at another. In both cases the line itself can be right.

// callAlone is the call in the kernel's own text that a cure changes alone: the instruction is one of a
// function that is inlined at other calls too, and there it stays as it is; nil where it is not so.
func (q *inquiry) callAlone(src *report.Source, c *repair.Cure) *report.Source {
	fn := q.run.Entry()
	if fn == nil || src == nil || c.At < 0 || c.At >= len(fn.Body) || fn.Body[c.At].Loc == nil {
		return nil
	}
	sites := src.Calls.Sites()
	if len(sites) == 0 {
		return nil
	}
	own := sites[0]
	in, edited := fn.Body[c.At], editedAt(c)
	others := false
	for i, o := range fn.Body {
		if edited[i] || o.Loc == nil || o.Op != in.Op || !slices.Equal(o.Mods, in.Mods) ||
			o.Loc.Line != in.Loc.Line || o.Loc.Name != in.Loc.Name || fromProbe(o.Loc) {
			continue
		}
		l := o.Loc.Outermost()
		if l == nil || l.Line == own.Line {
			return nil // another copy of the same call
		}
		others = true
	}
	if !others {
		return nil
	}
	return &report.Source{File: own.File, Line: own.Line}
}

// bound is what a comparison is with: a value that nothing else uses, so that it may be off by one as well as
// the comparison.
type bound struct {
	at *report.Source // where a name of the comparison's line gets the value; nil: no line is known to
}

// boundOf is the bound of the comparison that a cure makes stricter or less strict; nil where it has none.
// The debug line of an instruction is another statement's where the compiler computes once what both have: a
// line counts that declares a name which the comparison's has.
func (q *inquiry) boundOf(src *report.Source, c *repair.Cure) *bound {
	fn := q.run.Entry()
	if c.Kind != repair.Comparison || fn == nil || src == nil || c.At < 0 || c.At >= len(fn.Body) {
		return nil
	}
	in, edited := fn.Body[c.At], editedAt(c)
	if len(in.Args) == 0 {
		return nil
	}
	var found *bound
	for _, arg := range in.Args[1:] {
		if arg.Kind != ptx.OpReg {
			continue
		}
		var defs []int
		used := false
		for i, o := range fn.Body {
			if slices.Contains(o.Dests(nil), arg.Reg) {
				defs = append(defs, i)
			} else if !edited[i] && mentions(o.Args, arg.Reg) {
				used = true
			}
		}
		if len(defs) != 1 || used {
			continue
		}
		at := blame(fn, defs[0])
		if at == nil || at.File == src.File && at.Line == src.Line {
			continue
		}
		if found == nil {
			found = &bound{}
		}
		name := declared.FindStringSubmatch(q.quoted(at))
		if name != nil && slices.Contains(words.FindAllString(q.quoted(src), -1), name[1]) {
			found.at = at
		}
	}
	return found
}

var (
	declared = regexp.MustCompile(`^[A-Za-z_][\w:<>*& ]*?\b(\w+) *=[^=]`)
	words    = regexp.MustCompile(`\w+`)
)

// editedAt is the set of body indices that a cure edits.
func editedAt(c *repair.Cure) map[int]bool {
	m := map[int]bool{}
	for _, e := range c.Edits {
		m[e.At] = true
	}
	return m
}

// mentions reports whether a register is among operands.
func mentions(ops []ptx.Operand, reg int32) bool {
	return slices.ContainsFunc(ops, func(o ptx.Operand) bool {
		return o.Kind == ptx.OpReg && o.Reg == reg || mentions(o.Elems, reg)
	})
}

// compares reports whether a line compares, or chooses between two values: a mask does.
func (q *inquiry) compares(at *report.Source) bool {
	fn := q.run.Entry()
	if fn == nil || at == nil {
		return false
	}
	return slices.ContainsFunc(instructionsAt(fn, at), func(i int) bool {
		switch fn.Body[i].Op {
		case "setp", "set", "selp", "slct", "min", "max":
			return true
		}
		return false
	})
}
