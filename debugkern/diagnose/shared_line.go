package diagnose

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/isa/cfg"
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

// operandOf is the call in the kernel's own text that passes what an edit changes, where the edit takes
// another integer and its line is an operand of an asm statement in a function: what that is computed of are
// the function's arguments. nil where it is not so.
func (q *inquiry) operandOf(src *report.Source, c *repair.Cure) *report.Source {
	if src == nil || c.Given == nil || !strings.HasPrefix(strings.TrimSpace(bare(q.quoted(src))), ":") {
		return nil
	}
	sites := src.Calls.Sites()
	if len(sites) == 0 {
		return nil
	}
	return &report.Source{File: sites[0].File, Line: sites[0].Line}
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

// comparedAt says where else the bound of a comparison that an edit changes is compared: served are lines
// that take the result of the edited comparison as theirs; own reports that others have one of their own,
// which is right as it is. Without a line that computes the bound there are none.
func (q *inquiry) comparedAt(src *report.Source, limit *bound, c *repair.Cure) (
	served []*report.Source, own bool,
) {
	if limit == nil || limit.at == nil || limit.at.File != src.File {
		return nil, false
	}
	name := declared.FindStringSubmatch(q.quoted(limit.at))[1]
	taken, lines := decidedBy(q.run.Entry(), editedAt(c)), q.run.Source(src.File)
	for n, line := range lines {
		at := &report.Source{File: src.File, Line: n + 1}
		line = notComparisons.ReplaceAllString(line, "")
		if at.Line == src.Line || !comparison.MatchString(line) ||
			!slices.Contains(words.FindAllString(line, -1), name) {
			continue
		}
		if from, _ := valueOf(lines, name, at.Line); from != limit.at.Line {
			continue // another variable of that name
		}
		switch here := instructionsAt(q.run.Entry(), at); {
		case len(here) == 0:
		case slices.ContainsFunc(here, func(i int) bool { return taken[i] }):
			served = append(served, at)
		default:
			own = true
		}
	}
	return served, own
}

// decidedBy lists the instructions that take the results of some comparisons: as a guard, as what a select
// goes by, or combined with other conditions.
func decidedBy(fn *ptx.Func, compare map[int]bool) map[int]bool {
	from := map[int32]bool{}
	for i := range compare {
		for _, r := range fn.Body[i].Dests(nil) {
			from[r] = true
		}
	}
	out := map[int]bool{}
	for changed := true; changed; {
		changed = false
		for i, in := range fn.Body {
			if out[i] || compare[i] {
				continue
			}
			var reads, writes []int32
			cfg.Uses(in, &reads, &writes)
			if !slices.ContainsFunc(reads, func(r int32) bool { return from[r] }) {
				continue
			}
			out[i], changed = true, true
			for _, r := range writes {
				if fn.Regs[r].Type == ptx.Pred {
					from[r] = true
				}
			}
		}
	}
	return out
}

// offByOne makes the line that computes the bound of a comparison the place of a suspect, and returns the
// advice: the bound is one off, and the comparison serves several lines.
func (q *inquiry) offByOne(s *suspect, at, src *report.Source, served []*report.Source, with string) string {
	s.cause.Place.Source, s.cause.Place.Other = at, src
	s.cause.Title += fmt.Sprintf("; what is compared there is computed at %s", lineText(at, src))
	return q.citing("look at what is computed at "+at.At(), ": ", at) + fmt.Sprintf(
		"; it is one off: it is compared at %s, and %s this run is right", src.At()+andLines(served, src), with)
}

// declaredAs is the one line of the kernel's files that declares a name, which one of some places uses, for a
// constant which an edit changes wherever the kernel has it; nil where none or several do.
func (q *inquiry) declaredAs(c *repair.Cure, places []*report.Source) *report.Source {
	if c.Kind != repair.Constant || !q.everywhere(c) {
		return nil
	}
	var found []*report.Source
	var used []string
	for _, p := range places {
		used = append(used, words.FindAllString(q.quoted(p), -1)...)
	}
	for _, file := range filesOf(q.run.Entry()) {
		for n, line := range q.run.Source(file) {
			name := constantLine.FindStringSubmatch(line)
			if name != nil && slices.Contains(used, name[1]+name[2]) && gives(line, c) {
				found = append(found, &report.Source{File: file, Line: n + 1})
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// everywhere reports whether an edit changes all instructions of the kernel that have its constant.
func (q *inquiry) everywhere(c *repair.Cure) bool {
	fn, edited := q.run.Entry(), editedAt(c)
	has := func(in *ptx.Instr, imm uint64) bool {
		return slices.ContainsFunc(in.Args, func(o ptx.Operand) bool {
			return o.Kind == ptx.OpF32 && o.Imm == imm
		})
	}
	was, err := strconv.ParseFloat(c.From, 64)
	if err != nil {
		return false
	}
	bits := uint64(math.Float32bits(float32(was)))
	for i, in := range fn.Body {
		if has(in, bits) && !edited[i] && !fromProbe(in.Loc) {
			return false
		}
	}
	return true
}

// filesOf lists the files that the instructions of a function come from.
func filesOf(fn *ptx.Func) (out []string) {
	for _, in := range fn.Body {
		for l := in.Loc; l != nil; l = l.InlinedAt {
			if l.Name != "" && !slices.Contains(out, l.Name) {
				out = append(out, l.Name)
			}
		}
	}
	return out
}

// constantLine is a line that declares a constant, with its name.
var constantLine = regexp.MustCompile(`^\s*(?:#\s*define\s+(\w+)\s|.*\bconst(?:expr)?\b[^()=]*\b(\w+)\s*=)`)

var (
	declared = regexp.MustCompile(`^[A-Za-z_][\w:<>*& ]*?\b(\w+) *=[^=]`)
	words    = regexp.MustCompile(`\w+`)
)

// repeated is how many instructions there are of what a cure changes, where it does not change all of them: a
// loop that was unrolled has several of one line. Else 1.
func (q *inquiry) repeated(c *repair.Cure) int {
	fn := q.run.Entry()
	in, edited := fn.Body[c.At], editedAt(c)
	if in.Loc == nil {
		return 1
	}
	n, changed := 0, 0
	for i, o := range fn.Body {
		if o.Loc != nil && o.Op == in.Op && o.Loc.Chain() == in.Loc.Chain() {
			n++
			if edited[i] {
				changed++
			}
		}
	}
	if changed == n {
		return 1
	}
	return n
}

// inTurn is how many times the operation that a cure leaves out in some of its instructions is done in turn
// to one value with the same other operand, each time to what it gave before; 1 where it is not.
func (q *inquiry) inTurn(c *repair.Cure) int {
	fn := q.run.Entry()
	in := fn.Body[c.At]
	if in.Loc == nil {
		return 1
	}
	type product struct {
		times int
		with  int32 // the other operand
	}
	made, most := map[int32]product{}, 1
	for _, o := range fn.Body {
		if o.Op != in.Op || o.Loc == nil || o.Loc.Chain() != in.Loc.Chain() || len(o.Args) != 3 {
			continue
		}
		a, b := o.Args[1].Registers(nil), o.Args[2].Registers(nil)
		if len(a) != 1 || len(b) != 1 {
			continue
		}
		p := product{1, b[0]}
		switch before, then := made[a[0]], made[b[0]]; {
		case before.times > 0 && before.with == b[0]:
			p.times = before.times + 1
		case then.times > 0 && then.with == a[0]:
			p = product{then.times + 1, a[0]}
		}
		for _, r := range o.Dests(nil) {
			made[r] = p
		}
		most = max(most, p.times)
	}
	return most
}

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
	return q.anyAt(at, func(in *ptx.Instr) bool {
		switch in.Op {
		case "setp", "set", "selp", "slct", "min", "max":
			return true
		}
		return false
	})
}

// comparesIn reports whether the text of a line has a comparison, or a min or max that stands for one.
func (q *inquiry) comparesIn(at *report.Source) bool {
	line := notComparisons.ReplaceAllString(bare(q.quoted(at)), " ")
	return comparison.MatchString(line) || bounding.MatchString(line)
}

var bounding = regexp.MustCompile(`\b(min|max|f?min[fl]*|f?max[fl]*)\s*\(`)

// comparedAtLine is where the source has a comparison: a compiler moves one before the line that uses it, and
// leaves it the line that it puts it behind. Where that line has none, it is the first of those that use it,
// or that call these, which has.
func (q *inquiry) comparedAtLine(test int) *report.Source {
	fn := q.run.Entry()
	at := blame(fn, test)
	if at == nil || q.comparesIn(at) && !fromProbe(fn.Body[test].Loc) {
		return at
	}
	made := fn.Body[test].Dests(nil)
	var reads, writes []int32
	for i := test + 1; i < len(fn.Body); i++ {
		in := fn.Body[i]
		cfg.Uses(in, &reads, &writes)
		if !slices.ContainsFunc(reads, func(r int32) bool { return slices.Contains(made, r) }) {
			continue
		}
		if in.Type() == ptx.Pred { // put together with another
			made = append(made, writes...)
		}
		use := blame(fn, i)
		if use == nil || fromProbe(in.Loc) {
			continue
		}
		for _, p := range placesOf(use) {
			if q.comparesIn(p) {
				return p
			}
		}
	}
	return at
}

// chosenAtLine is where the source has the comparison by which an instruction branches or selects. A compiler
// makes one of equal comparisons of several lines, and leaves it the first of these.
func (q *inquiry) chosenAtLine(test, use int) *report.Source {
	at, user := q.comparedAtLine(test), blame(q.run.Entry(), use)
	if at == nil || user == nil || fromProbe(q.run.Entry().Body[use].Loc) {
		return at
	}
	own := comparisonOf.FindAllString(bare(q.quoted(at)), -1)
	for _, p := range placesOf(user) {
		if slices.ContainsFunc(comparisonOf.FindAllString(bare(q.quoted(p)), -1), func(c string) bool {
			return slices.Contains(own, c)
		}) {
			return p
		}
	}
	return at
}

// comparisonOf matches a comparison of two names or numbers.
var comparisonOf = regexp.MustCompile(`[\w.]+ (?:==|!=|<=|>=|<|>) [\w.]+`)

// placesOf is a place and those that it was called from, the nearest first.
func placesOf(at *report.Source) []*report.Source {
	out := []*report.Source{at}
	for _, site := range slices.Backward(at.Calls.Sites()) {
		out = append(out, &report.Source{File: site.File, Line: site.Line, Function: site.Function})
	}
	return out
}
