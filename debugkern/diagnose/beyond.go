package diagnose

import (
	"fmt"
	"go/constant"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
	"tilescope/probes"
)

// An address outside a tensor says little: where the last column is exceeded, it is in the next row, and only
// after the last row outside. The address is taken apart into the indices that the kernel computed it of, and
// the index that leaves its range is the one whose summands may be wrong.

// layout is how a variable's elements lie: its extents, and by how many bytes each index moves.
type layout struct {
	dims     []int
	strides  []int64
	size     int64         // bytes of an element
	declared report.Source // where the extents stand that the plan lacks
}

// layoutOf is the layout of a shared array of the plan, an argument, or a shared array that the source
// declares alone; false where it has none.
func (q *inquiry) layoutOf(variable string) (layout, bool) {
	var l layout
	for i := range q.run.Plan.Shared {
		if a := &q.run.Plan.Shared[i]; a.Name == variable && a.Within == "" {
			l = layout{dims: a.Dims, size: int64(a.DType.Size())}
		}
	}
	if a := q.run.Plan.Arg(variable); a != nil && a.Pointer && a.Strides == nil && l.dims == nil {
		l = layout{dims: a.Dims, size: int64(a.DType.Size())}
	}
	if l.dims == nil {
		l = q.declaredLayout(variable)
	}
	if len(l.dims) == 0 || l.size == 0 {
		return l, false
	}
	l.strides = make([]int64, len(l.dims))
	step := l.size
	for a := len(l.dims) - 1; a >= 0; a-- {
		l.strides[a] = step
		step *= int64(max(1, l.dims[a]))
	}
	return l, true
}

// total is the bytes of all elements.
func (l *layout) total() int64 { return l.strides[0] * int64(l.dims[0]) }

// axis is the dimension that a summand which moves the address by so many bytes is of: the outermost whose
// stride divides it; -1: none.
func (l *layout) axis(by int64) int {
	for a, s := range l.strides {
		if by%s == 0 {
			return a
		}
	}
	return -1
}

// indices takes an access apart into the indices of its dimensions, and says of which dimension each of its
// terms is; false where a term is of none, or of several.
func (l *layout) indices(r *debugkern.Reach) (at []int64, of []int, ok bool) {
	at = make([]int64, len(l.dims))
	remains := slices.ContainsFunc(r.Terms, func(t debugkern.Term) bool { return t.Factor < 0 })
	for i, t := range r.Terms {
		a := l.axis(t.Factor)
		through := false
		if t.Step != 0 && !remains { // a row has a term of its own, or this one is of the row too
			row := l.axis(t.Factor * t.Step)
			through = row < a && !slices.ContainsFunc(slices.Delete(slices.Clone(r.Terms), i, i+1),
				func(t debugkern.Term) bool { return l.axis(t.Factor) == row })
		}
		if a < 0 || through {
			return nil, nil, false // it counts through rows and columns
		}
		at[a] += t.Value * (t.Factor / l.strides[a])
		of = append(of, a)
	}
	for _, c := range r.Const {
		a := l.axis(c)
		if a < 0 {
			return nil, nil, false
		}
		at[a] += c / l.strides[a]
	}
	// A constant that is a multiple of a row may have been added to a column.
	for a := len(at) - 1; a > 0; a-- {
		for at[a] < 0 && at[a-1] > 0 && len(r.Const) > 0 {
			at[a], at[a-1] = at[a]+l.strides[a-1]/l.strides[a], at[a-1]-1
		}
	}
	return at, of, true
}

// excess is what is known of the index by which accesses leave a variable.
type excess struct {
	axis     int
	most     int64 // the largest that it is
	extent   int
	rank     int              // how many dimensions the variable has
	terms    []debugkern.Term // of that index, as far as it is not constant, in one of these accesses
	factors  []int64          // by how much the index grows with each
	others   []debugkern.Term // of its other indices
	exchange int              // the dimension whose index fits in its place, and it in that one's; -1: none
	of       string           // the variable
	declared *report.Source   // where the source declares it, of which the manifest has no extents
	block    probes.Dim3      // in which this was seen
}

// leaves finds the one index by which accesses leave a variable: of each that does, the same one, while the
// others stay in their ranges. nil where it is not one, or the addresses are no sums of indices.
func (l *layout) leaves(list []debugkern.Reach) *excess {
	n := len(l.dims)
	own, most := make([]bool, n), make([]int64, n)
	var out *excess
	var all [][]int64
	for i := range list {
		r := &list[i]
		at, of, ok := l.indices(r)
		if !ok {
			return nil
		}
		all = append(all, at)
		for a := range n {
			own[a] = own[a] || slices.Contains(of, a)
			most[a] = max(most[a], at[a])
		}
		if r.Offset >= 0 && r.Offset < l.total() {
			continue
		}
		axis := -1
		for a := range n {
			if at[a] < 0 || at[a] >= int64(l.dims[a]) {
				if axis >= 0 || at[a] < 0 {
					return nil
				}
				axis = a
			}
		}
		if axis < 0 || out != nil && out.axis != axis {
			return nil
		}
		if out != nil && at[axis] <= out.most {
			continue
		}
		out = &excess{axis: axis, most: at[axis], extent: l.dims[axis], rank: n, exchange: -1}
		for k, a := range of {
			if a == axis {
				out.terms = append(out.terms, r.Terms[k])
				out.factors = append(out.factors, r.Terms[k].Factor/l.strides[axis])
			} else {
				out.others = append(out.others, r.Terms[k])
			}
		}
	}
	if out == nil {
		return nil
	}
	// An index without an outer dimension may rightly run through several rows.
	outer := out.axis - 1
	for outer >= 0 && l.dims[outer] == 1 {
		outer--
	}
	if outer >= 0 && (!own[outer] || most[out.axis] >= 2*int64(l.dims[out.axis])) {
		return nil
	}
	out.most, out.exchange = most[out.axis], l.exchanged(all, out.axis)
	return out
}

// exchanged finds the dimension with which an index that leaves its range has to be exchanged for every
// access to be in range; -1 where there is none, or both have the same extent.
func (l *layout) exchanged(all [][]int64, axis int) int {
	for _, b := range []int{axis + 1, axis - 1} {
		if b < 0 || b >= len(l.dims) || l.dims[b] == l.dims[axis] {
			continue
		}
		if !slices.ContainsFunc(all, func(at []int64) bool {
			return at[axis] >= int64(l.dims[b]) || at[b] >= int64(l.dims[axis])
		}) {
			return b
		}
	}
	return -1
}

// beyond finds by which index the accesses of a suspect leave their variable.
func (q *inquiry) beyond(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.cause.Kind != outOfBounds || s.cause.Finding < 0 || s.excess != nil {
		return nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	l, ok := q.layoutOf(f.Variable)
	if !ok || f.Source == nil {
		return nil
	}
	of := q.accessed(fn, access{at: f.Source, variable: f.Variable})
	list, all, err := q.base.Reaches(q.ctx, f.Block, of)
	if err != nil {
		return q.fatal(err)
	}
	list = slices.DeleteFunc(list, func(r debugkern.Reach) bool { return r.Base != f.Variable })
	s.skew = l.skewed(list, func(t debugkern.Term) bool { return blockAxisOf(fn.Body[t.At]) != "" })
	if s.skew != nil {
		s.skew.of = f.Variable
	}
	if s.excess = l.leaves(list); s.excess != nil {
		s.excess.of, s.excess.block = f.Variable, f.Block
		if l.declared.Line > 0 {
			s.excess.declared = &l.declared
		}
		if !all { // of the others it is not known
			s.excess.exchange = -1
		}
	}
	return nil
}

const outOfBounds = "out-of-bounds"

// ordinals count the indices of a variable.
var ordinals = []string{"first", "second", "third", "fourth", "fifth"}

// index names a dimension of the variable.
func (x *excess) index(axis int) string {
	if x.rank == 1 {
		return "the index"
	}
	if axis < len(ordinals) {
		return "the " + ordinals[axis] + " index"
	}
	return fmt.Sprintf("index %d", axis+1)
}

// because says by which index accesses leave their variable, and what that is made of; list are the
// definitions of the whole index.
func (q *inquiry) because(x *excess, list []definition) string {
	var of []string
	for i, t := range x.terms {
		name, factor := q.termName(t, list), x.factors[i]
		if name == "" || factor < 0 { // what has no name, or a remainder
			of = nil
			break
		}
		if d := q.termDefinition(t, list); d != nil { // the factor may be the definition's own
			if n := q.multiplied(d); n > 1 && factor%n == 0 {
				factor /= n
			}
		}
		if factor != 1 {
			name = fmt.Sprintf("%d·%s", factor, name)
		}
		of = append(of, name)
	}
	text := fmt.Sprintf("%s of %s reaches %d in block %s, where %d is the last", x.index(x.axis), x.of,
		x.most, x.block, x.extent-1)
	if len(of) > 0 {
		text += ": it is made of " + strings.Join(of, " and ")
	}
	if x.declared != nil {
		text = q.citing(text+"; it is declared at "+x.declared.At(), ": ", x.declared)
	}
	return text
}

// under names the condition that a line stands under, "" where it stands under none.
func (q *inquiry) under(at *report.Source) string {
	if at == nil {
		return ""
	}
	lines := q.run.Source(at.File)
	n := rewrite.Parse(at.File, strings.Join(lines, "\n")).If(at.Line)
	if n == 0 || n == at.Line || !strings.ContainsAny(bare(lines[n-1]), "<>") {
		return "" // it bounds nothing
	}
	return fmt.Sprintf(" (it stands under the condition of line %d: %s)", n,
		quote(strings.TrimSpace(lines[n-1])))
}

// exceeds is the advice about the index by which accesses leave their variable; left are its definitions.
func (q *inquiry) exceeds(x *excess, c *Cause, list []definition) (left []definition) {
	if x.exchange >= 0 {
		a, b := min(x.axis, x.exchange), max(x.axis, x.exchange)
		c.Advice = fmt.Sprintf("look at how %s of %s is made and bounded, which must stay below %d%s: with it and "+
			"%s exchanged, every access of this line in block %s begins in bounds", x.index(x.axis), x.of, x.extent,
			q.under(c.Place.Source), x.index(a+b-x.axis), x.block)
		return nil
	}
	c.Advice = q.citing(fmt.Sprintf("look at how %s of %s is made and bounded, which must stay below %d%s",
		x.index(x.axis), x.of, x.extent, q.under(c.Place.Source)), ": ", c.Place.Source)
	if own := q.subscripts(c, x); own != nil {
		return slices.DeleteFunc(slices.Clone(list), func(d definition) bool {
			return (!d.sure || !slices.Contains(own, d.name)) && !(d.loop && d.ends)
		})
	}
	fn := q.run.Entry()
	parts, others := q.partsOf(x.terms), q.partsOf(x.others)
	return slices.DeleteFunc(slices.Clone(list), func(d definition) bool {
		own := instructionsAt(fn, &d.at)
		if slices.ContainsFunc(own, func(i int) bool { return parts[i] }) {
			return false
		}
		if d.depth > 1 && len(own) > 0 {
			return true
		}
		return slices.ContainsFunc(own, func(i int) bool { return others[i] }) &&
			!slices.ContainsFunc(list, func(o definition) bool { return o.at == d.at && o.name != d.name })
	})
}

// partsOf lists the instructions that compute summands.
func (q *inquiry) partsOf(terms []debugkern.Term) map[int]bool {
	out := map[int]bool{}
	for _, t := range terms {
		for at := range q.sliced().from(q.run.Entry().Body[t.At].Dests(nil)) {
			out[at] = true
		}
	}
	return out
}

// subscripts are the names in the brackets of the index by which accesses leave their variable, where the
// line has as many brackets as the variable has dimensions; else nil.
func (q *inquiry) subscripts(c *Cause, x *excess) []string {
	at := q.doc.Findings[c.Finding].Source
	lines := q.run.Source(at.File)
	if at.Line < 1 || at.Line > len(lines) {
		return nil
	}
	parts := brackets(lines[usedAt(lines, at.Line, x.of)-1], x.of)
	if len(parts) != x.rank {
		return nil
	}
	return nameOf.FindAllString(parts[x.axis], -1)
}

// brackets is what stands in the brackets behind a variable, of a line that names it once; else nil.
func brackets(line, variable string) []string {
	line = bare(line)
	named := regexp.MustCompile(`\b`+regexp.QuoteMeta(variable)+`\b`).FindAllStringIndex(line, -1)
	if len(named) != 1 {
		return nil
	}
	var parts []string
	for rest := subscript(line[named[0][1]:]); strings.HasPrefix(strings.TrimLeft(rest, " "), "["); {
		_, rest, _ = strings.Cut(rest, "[")
		part := upTo(rest)
		parts = append(parts, part)
		rest = rest[min(len(rest), len(part)+1):]
	}
	return parts
}

// termName is what the source calls a summand of an index, with its line; "" where that is not known.
func (q *inquiry) termName(t debugkern.Term, list []definition) string {
	fn := q.run.Entry()
	in := fn.Body[t.At]
	if axis := blockAxisOf(in); axis != "" {
		return axis
	}
	if axis := axisOf(in, "%tid"); axis != "" {
		return "threadIdx." + axis
	}
	if d := q.termDefinition(t, list); d != nil {
		return fmt.Sprintf("%s of %s", d.name, d.at.At())
	}
	return ""
}

// termDefinition is the one definition that a summand of an index is the value of; nil where that is not
// known.
func (q *inquiry) termDefinition(t debugkern.Term, list []definition) *definition {
	fn := q.run.Entry()
	in := fn.Body[t.At]
	var found *definition
	for _, i := range q.sliced().defs[in.Dests(nil)[0]] {
		at := blame(fn, i)
		for k := range list {
			d := &list[k]
			if at == nil || d.at.File != at.File || d.at.Line != at.Line ||
				d.loop && !q.counts(d, t.Step) || !d.loop && !q.mayBe(in, d) {
				continue
			}
			if found != nil && (found.at != d.at || found.name != d.name) {
				return nil
			}
			found = d
		}
	}
	return found
}

// lastFactor matches the factor at the end of what is assigned to a name.
var lastFactor = regexp.MustCompile(`\*\s*(\w+)\s*;?\s*$`)

// multiplied is the number that a definition multiplies by last; 1 where it does not.
func (q *inquiry) multiplied(d *definition) int64 {
	lines := q.run.Source(d.at.File)
	m := lastFactor.FindStringSubmatch(upTo(valueOn(lines, d)))
	if m == nil {
		return 1
	}
	n, ok := q.evaluate(m[1], lines, 0, map[string]constant.Value{})
	if !ok {
		return 1
	}
	return int64(n)
}

// counts reports whether the head of a loop adds a number to its counter.
func (q *inquiry) counts(d *definition, step int64) bool {
	lines := q.run.Source(d.at.File)
	text := bare(lines[d.at.Line-1])
	name := regexp.QuoteMeta(d.name)
	if regexp.MustCompile(`\b` + name + `\+\+|\+\+` + name + `\b`).MatchString(text) {
		return step == 1
	}
	m := regexp.MustCompile(`\b` + name + `\s*\+=\s*([^;]*)$`).FindStringSubmatch(text)
	if m == nil {
		return false
	}
	by, ok := q.evaluate(upTo(m[1]), lines, 0, map[string]constant.Value{})
	return ok && int64(by) == step
}

// mayBe reports whether a line may give a name its value by an instruction, by the operators of the source.
func (q *inquiry) mayBe(in *ptx.Instr, d *definition) bool {
	value := valueOn(q.run.Source(d.at.File), d)
	switch in.Op {
	case "shr", "div":
		return strings.Contains(value, "/") || strings.Contains(value, ">>")
	case "rem":
		return strings.Contains(value, "%")
	case "and":
		mask := in.Args[2]
		return strings.ContainsAny(value, "%&") && mask.Kind == ptx.OpInt && mask.Imm&(mask.Imm+1) == 0
	}
	return true
}

// valueOn is the text that a definition's line gives its name.
func valueOn(lines []string, d *definition) string {
	if d.at.Line < 1 || d.at.Line > len(lines) {
		return ""
	}
	text := bare(lines[d.at.Line-1])
	set := regexp.MustCompile(assignedTo(d.name))
	at := set.FindStringIndex(text)
	if at == nil {
		return ""
	}
	if d.loop {
		return text[at[1]:]
	}
	return first(text[at[1]:])
}

// because adds to why a cause is one.
func (c *Cause) because(text string) {
	if strings.Contains(c.why, text) {
		return
	}
	if c.why != "" {
		text = c.why + "; " + text
	}
	c.why = text
}
