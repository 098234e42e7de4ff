package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// candidate is an edit that may be a cure.
type candidate struct {
	edits    []ptx.Edit
	kind     Kind
	was, now string
	text     string // where it is no replacement of was by now
	from, to string // as in Cure
	sizes    []Size
	operand  int // of the number, where the candidate is of one
	rank     int // candidates are tried in this order
	// of is 1 + the index of the instruction whose result the edits change where it is used; 0: each is of
	// its own place
	of int
	// alone: the place alone is named, of all that the edits change
	alone       bool
	given, gave *Integer // as in Cure, with taken
	taken       string
	class       int      // 1 + the number of the class of values that it is one of, where it is tried for all
	site        *ptx.Loc // the call that is left out, which is the place; nil: the edits' own place
	// right is how many cells are right with it, where a quick search has executed it and they are more than
	// without; else 0
	right int
}

// what is the candidate as a phrase.
func (c *candidate) what() string {
	if c.text != "" {
		return c.text
	}
	return c.now + " in place of " + c.was
}

// menu makes candidates out of the instructions that made wrong cells.
type menu struct {
	fn    *ptx.Func
	ops   []debugkern.Operation // without those of probes
	defs  map[int32][]int       // by register: the instructions that write it
	whole []int64               // numbers of the plan that an index, a bound or a stride may be
	sizes []size                // the same with their names
	real  []constant            // constants that arithmetic has, and the kernel's arguments
	// given are those of real that the kernel is called with
	given []constant
	out   []candidate
	// key: by instruction: what copies of it have in common, "" where its place is not known
	key         []string
	group       map[string][]int // by key
	places      []string         // by instruction
	text        map[string][]int // by place and shape: what is one instruction of the source's text
	immediate   map[string][]int // by constantOf
	meant       map[edited][][]int
	grid, block probes.Dim3
	args        []string        // names of the entry's parameters, those that the manifest has
	element     []int           // by parameter: the bytes of an element of its tensor; 0: it is no pointer
	reads       map[int32][]int // by register: the instructions that read it
	near        map[int32]int   // by register: the index of the first of ops that names it
	own         []bool          // by instruction: the kernel's own instructions need it
	factor      float64         // of the question
	values      bool            // of the question
	addresses   map[int]bool    // instructions that the addresses of the question's accesses are computed by
	graph       *cfg.Graph
	roles       map[string]map[string]bool // by role: the variables that have it
	dominates   func(a, b int) bool        // of graph's blocks
	listed      map[string]bool            // by place and what is left out or exchanged there: it is listed
}

// edited is an instruction and whether its constant is what is changed.
type edited struct {
	instr    int
	constant bool
}

// constant is a number of a floating-point type and what it is called.
type constant struct {
	x    float64
	name string
}

func newMenu(run *debugkern.Run, ops []debugkern.Operation, near *report.Source) *menu {
	fn := run.Entry()
	m := &menu{
		fn: fn, defs: map[int32][]int{}, key: make([]string, len(fn.Body)), group: map[string][]int{},
		places: make([]string, len(fn.Body)), text: map[string][]int{}, immediate: map[string][]int{},
		meant: map[edited][][]int{}, listed: map[string]bool{}, grid: run.Plan.Grid, block: run.Plan.Block,
	}
	for i := range run.Plan.Args {
		if a := &run.Plan.Args[i]; a.Into == nil { // else it is no parameter of its own
			m.args = append(m.args, a.Name)
			bytes := 0
			if a.Pointer {
				bytes = a.DType.Size()
			}
			m.element = append(m.element, bytes)
		}
	}
	m.graph = cfg.New(fn)
	m.dominates = m.graph.Dominance()
	m.needs()
	for i, in := range fn.Body {
		m.places[i] = report.SourceOf(m.blame(i)).At()
		if c := m.constantOf(i); c != "" {
			m.immediate[c] = append(m.immediate[c], i)
		}
		if in.Loc == nil {
			continue
		}
		shape := shapeOf(in)
		m.key[i] = in.Loc.Chain() + shape
		m.group[m.key[i]] = append(m.group[m.key[i]], i)
		m.text[m.places[i]+shape] = append(m.text[m.places[i]+shape], i)
	}
	for _, o := range ops {
		if m.own[o.At] {
			m.ops = append(m.ops, o)
		}
	}
	if near != nil {
		away := func(place string) int {
			if place == near.At() {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(m.ops, func(a, b debugkern.Operation) int {
			return cmp.Compare(away(m.places[a.At]), away(m.places[b.At]))
		})
	}
	m.near = map[int32]int{}
	for n, o := range m.ops {
		for _, r := range named(fn.Body[o.At]) {
			if _, known := m.near[r]; !known {
				m.near[r] = n
			}
		}
	}
	m.constants(run)
	return m
}

// named lists the registers that an instruction's operands name, those that it writes too.
func named(in *ptx.Instr) (regs []int32) {
	for k := range in.Args {
		regs = in.Args[k].Registers(regs)
	}
	return regs
}

// needs finds what each register is given and read by, and which instructions the kernel's own ones need:
// compilers move what a kernel computes, and leave it the line of a probe that they put it behind.
func (m *menu) needs() {
	m.reads, m.own = map[int32][]int{}, make([]bool, len(m.fn.Body))
	reads := make([][]int32, len(m.fn.Body))
	var open []int
	for i, in := range m.fn.Body {
		var writes []int32
		cfg.Uses(in, &reads[i], &writes)
		for _, r := range writes {
			m.defs[r] = append(m.defs[r], i)
		}
		for _, r := range reads[i] {
			m.reads[r] = append(m.reads[r], i)
		}
		if m.own[i] = !in.Loc.Within(target.IsProbe); m.own[i] {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		for _, r := range reads[i] {
			for _, d := range m.defs[r] {
				if !m.own[d] {
					m.own[d] = true
					open = append(open, d)
				}
			}
		}
	}
}

// hoisted reports whether an instruction of the kernel's stands at a probe's line.
func (m *menu) hoisted(i int) bool { return m.own[i] && m.fn.Body[i].Loc.Within(target.IsProbe) }

// blame is where an instruction stands in the source; one that was moved, where its result is first used.
func (m *menu) blame(i int) *target.Source {
	for m.hoisted(i) {
		next := len(m.fn.Body)
		for _, r := range m.fn.Body[i].Dests(nil) {
			for _, at := range m.reads[r] {
				if m.own[at] && at > i {
					next = min(next, at)
				}
			}
		}
		if next == len(m.fn.Body) {
			break
		}
		i = next
	}
	return target.Blame(m.fn, i)
}

// mostUses is how many places are listed where a result is used.
const mostUses = 4

// uses lists where an instruction's result is used, by conversions and moves of it too, in the order of the
// text; what probes do with it is left out.
func (m *menu) uses(i int) []*target.Source {
	made := m.fn.Body[i].Dests(nil)
	var out []*target.Source
	for k := i + 1; k < len(m.fn.Body) && len(out) < mostUses; k++ {
		x := m.fn.Body[k]
		if x.Loc.Within(target.IsProbe) || !slices.ContainsFunc(named(x), func(r int32) bool {
			return slices.Contains(made, r)
		}) {
			continue
		}
		if x.Kind() == isa.Convert || x.Kind() == isa.Move {
			made = append(made, x.Dests(nil)...)
		}
		out = append(out, target.Blame(m.fn, k))
	}
	return out
}

// shapeOf is an instruction's opcode, immediates and guard.
func shapeOf(in *ptx.Instr) string {
	var b strings.Builder
	b.WriteString("|" + in.Opcode())
	var operand func(o *ptx.Operand)
	operand = func(o *ptx.Operand) {
		switch o.Kind {
		case ptx.OpInt, ptx.OpF32, ptx.OpF64:
			fmt.Fprintf(&b, " %x", o.Imm)
		case ptx.OpSpecial, ptx.OpSym:
			fmt.Fprintf(&b, " %s.%d", o.Name, o.Comp)
		case ptx.OpAddr:
			fmt.Fprintf(&b, " +%d %s", o.Off, o.Name)
		default:
			b.WriteString(" r")
		}
		for k := range o.Elems {
			operand(&o.Elems[k])
		}
	}
	for k := range in.Args {
		operand(&in.Args[k])
	}
	if in.Guard != nil {
		fmt.Fprintf(&b, " @%v", in.Guard.Neg)
	}
	return b.String()
}

// copies are the sets of instructions that an edit of one may mean: all that a compiler made of it, which the
// source has once; and where some of them work on what others gave, an operation that is there twice, those
// alone or the others alone.
func (m *menu) copies(i int) [][]int {
	k := m.key[i]
	if k == "" {
		return [][]int{{i}}
	}
	all := m.group[k]
	if len(all) == 1 {
		return [][]int{all}
	}
	made := map[int32]bool{}
	for _, at := range all {
		for _, r := range m.fn.Body[at].Dests(nil) {
			made[r] = true
		}
	}
	var then, first []int
	for _, at := range all {
		in := m.fn.Body[at]
		var reads []int32
		for k := 1; k < len(in.Args); k++ {
			reads = in.Args[k].Registers(reads)
		}
		if slices.ContainsFunc(reads, func(r int32) bool {
			return made[r] && !slices.Contains(in.Dests(nil), r)
		}) {
			then = append(then, at)
		} else {
			first = append(first, at)
		}
	}
	if len(then) == 0 || len(first) == 0 {
		return [][]int{all}
	}
	return [][]int{all, then, first}
}

// everywhere are the instructions that a wider edit of one means: a function that is called in several places
// has one text, and so has a constant that several lines use. nil where copies has them all.
func (m *menu) everywhere(i int, constant bool) []int {
	var out []int
	if m.key[i] != "" {
		out = slices.Clone(m.text[m.places[i]+shapeOf(m.fn.Body[i])])
	}
	if constant {
		out = append(out, m.immediate[m.constantOf(i)]...)
		slices.Sort(out)
		out = slices.Compact(out)
	}
	if len(out) <= len(m.copies(i)[0]) {
		return nil
	}
	return out
}

// fewCopies is how many instructions of a line with one constant may be of several uses in the text.
const fewCopies = 3

// sets are what an edit of an instruction may mean, the widest first.
func (m *menu) sets(i int, kind Kind) [][]int {
	e := edited{i, kind == Constant}
	out, known := m.meant[e]
	if !known {
		if wide := m.everywhere(i, e.constant); wide != nil {
			out = append(out, wide)
		}
		out = append(out, m.copies(i)...)
		if n := len(m.copies(i)[0]); e.constant && n > 1 && n <= fewCopies {
			out = append(out, []int{i}) // a function of the library's on the line may have the same constant
		}
		m.meant[e] = out
	}
	return out
}

// constantOf is the instruction's immediate of a floating-point type, "" where it has none.
func (m *menu) constantOf(i int) string {
	for k := range m.fn.Body[i].Args {
		if o := &m.fn.Body[i].Args[k]; o.Kind == ptx.OpF32 || o.Kind == ptx.OpF64 {
			return fmt.Sprintf("%d %d %x", k, o.Kind, o.Imm)
		}
	}
	return ""
}

// add notes a candidate: change is made to instruction i and all its copies. A set of which it does not fit
// one is none.
func (m *menu) add(
	rank int, kind Kind, i int, was, now, text string, change func(in *ptx.Instr, at int) bool,
) {
	m.addFrom(rank, kind, i, [2]string{}, was, now, text, change)
}

// addFrom is add for an edit of which the PTX says what it changes: from[0] into from[1].
func (m *menu) addFrom(
	rank int, kind Kind, i int, from [2]string, was, now, text string,
	change func(in *ptx.Instr, at int) bool,
) {
	for _, set := range m.sets(i, kind) {
		c := candidate{
			kind: kind, was: was, now: now, text: text, from: from[0], to: from[1], rank: rank,
		}
		fits := true
		for _, at := range set {
			n := m.fn.Body[at].With(func(in *ptx.Instr) { fits = fits && change(in, at) })
			c.edits = append(c.edits, ptx.Edit{Kind: ptx.Replace, Func: m.fn.Name, At: at, New: n})
		}
		if fits {
			m.out = append(m.out, c)
		}
	}
}

// after notes a candidate: an instruction behind i, and behind all its copies.
func (m *menu) after(rank int, kind Kind, i int, text string, make func(in *ptx.Instr, at int) *ptx.Instr) {
	c := candidate{kind: kind, text: text, rank: rank}
	for _, at := range m.copies(i)[0] {
		n := make(m.fn.Body[at], at)
		if n == nil || at+1 >= len(m.fn.Body) {
			return
		}
		c.edits = append(c.edits, ptx.Edit{Kind: ptx.Insert, Func: m.fn.Name, At: at + 1, New: n})
	}
	m.out = append(m.out, c)
}

// Ranks: an edit of a kind that authors make often is tried early, on instructions near the cell before those
// that are far. A rank of 100 is worth as much as 100 instructions.
const (
	rankFirst  = 0
	rankSecond = 60
	rankThird  = 150
	rankLast   = 260
)

// candidates lists the edits, the likeliest first.
func (m *menu) candidates() []candidate {
	seen := map[string]bool{}
	for n, o := range m.ops {
		if k := m.key[o.At]; k != "" {
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		from := len(m.out)
		m.instruction(n, o.At)
		if m.values && !m.ofValues(o.At) {
			for i := from; i < len(m.out); i++ {
				m.out[i].rank += rankLast
			}
		}
	}
	m.exchanges()
	m.accumulators()
	slices.SortStableFunc(m.out, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	return m.out
}

// ofValues reports whether an instruction computes or stores floats, makes an integer that a float is
// converted from, or hands values from lane to lane.
func (m *menu) ofValues(i int) bool {
	in := m.fn.Body[i]
	if in.Type().Integer() && slices.ContainsFunc(in.Dests(nil), m.converted) {
		return true
	}
	switch in.Kind() {
	case isa.Shuffle, isa.Multiply, isa.Convert, isa.Select, isa.Branch:
		return true
	}
	for k := range in.Args {
		if in.Args[k].Kind == ptx.OpInt {
			if _, may := bitsOfFloat(in, k); may {
				return true
			}
		}
	}
	return in.Type().Float() || slices.ContainsFunc(in.Dests(nil), func(r int32) bool {
		return m.fn.Regs[r].Type.Float()
	})
}

// converted reports whether a float is converted from a register.
func (m *menu) converted(r int32) bool {
	return slices.ContainsFunc(m.reads[r], func(i int) bool {
		in := m.fn.Body[i]
		return in.Kind() == isa.Convert && slices.ContainsFunc(in.Dests(nil), func(d int32) bool {
			return m.fn.Regs[d].Type.Float()
		})
	})
}

// instruction lists the edits of one instruction, which is the n-th from the cells.
func (m *menu) instruction(n, i int) {
	in := m.fn.Body[i]
	if in.Kind() == isa.Branch {
		m.guard(n, i)
		return
	}
	m.immediates(n, i)
	m.modifiers(n, i)
	m.guard(n, i)
	m.specials(n, i)
	m.parameters(n, i)
	m.swapped(n, i)
	m.superfluous(n, i)
	m.widened(n, i)
	m.signs(n, i)
	m.registers(n, i)
	m.missing(n, i)
	m.inserted(n, i)
	m.tensors(n, i)
	m.squares(n, i)
	m.bits(n, i)
	m.calls(n, i)
	m.factors(n, i)
}
