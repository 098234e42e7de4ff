package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
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
	rank     int    // candidates are tried in this order
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
	fn          *ptx.Func
	ops         []debugkern.Operation // without those of probes
	defs        map[int32][]int       // by register: the instructions that write it
	uses        map[int32]int         // by register: how many instructions read it
	whole       []int64               // numbers of the plan that an index, a bound or a stride may be
	real        []constant            // constants that arithmetic has
	names       map[int64]string
	out         []candidate
	key         map[int]string // by instruction: what copies of it have in common
	group       map[string][]int
	places      []string // by instruction, as far as they are known
	grid, block probes.Dim3
	args        []string // names of the entry's parameters, those that the manifest has
}

// constant is a number of a floating-point type and what it is called.
type constant struct {
	x    float64
	name string
}

func newMenu(run *debugkern.Run, ops []debugkern.Operation, near *report.Source) *menu {
	m := &menu{
		fn: run.Entry(), defs: map[int32][]int{}, uses: map[int32]int{}, key: map[int]string{},
		group: map[string][]int{},
	}
	for i := range run.Plan.Args {
		if a := &run.Plan.Args[i]; a.Into == nil { // else it is no parameter of its own
			m.args = append(m.args, a.Name)
		}
	}
	m.places, m.grid, m.block = make([]string, len(m.fn.Body)), run.Plan.Grid, run.Plan.Block
	for i, in := range m.fn.Body {
		for _, r := range in.Dests(nil) {
			m.defs[r] = append(m.defs[r], i)
		}
		var reads []int32
		for k := range in.Args {
			if k > 0 || !in.HasDest() {
				reads = in.Args[k].Registers(reads)
			}
		}
		for _, r := range reads {
			m.uses[r]++
		}
		if k := m.common(i); k != "" {
			m.key[i] = k
			m.group[k] = append(m.group[k], i)
		}
	}
	for _, o := range ops {
		if !m.fn.Body[o.At].Loc.Within(target.IsProbe) {
			m.ops = append(m.ops, o)
		}
	}
	if near != nil {
		slices.SortStableFunc(m.ops, func(a, b debugkern.Operation) int {
			return cmp.Compare(m.away(a.At, near), m.away(b.At, near))
		})
	}
	m.constants(run)
	return m
}

// common is what the copies that a compiler made of an instruction have in common: its place in the source,
// its opcode, and its immediates. "" where the place is not known.
func (m *menu) common(i int) string {
	in := m.fn.Body[i]
	if in.Loc == nil {
		return ""
	}
	var b strings.Builder
	for l := in.Loc; l != nil; l = l.InlinedAt {
		fmt.Fprintf(&b, "%d:%d ", l.File, l.Line)
	}
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
func (m *menu) everywhere(i int, kind Kind) []int {
	in := m.fn.Body[i]
	var out []int
	for at, o := range m.fn.Body {
		same := o.Loc != nil && in.Loc != nil && o.Op == in.Op && m.place(at) == m.place(i) &&
			m.shape(at) == m.shape(i)
		if kind == Constant {
			same = same || o.Opcode() != "mov.b32" && m.constantsOf(at) == m.constantsOf(i)
		}
		if same {
			out = append(out, at)
		}
	}
	if len(out) <= len(m.copies(i)[0]) {
		return nil
	}
	return out
}

// shape is an instruction's opcode and immediates.
func (m *menu) shape(i int) string {
	k := m.common(i)
	if at := strings.LastIndex(k, "|"); at >= 0 {
		return k[at:]
	}
	return k
}

// constantsOf is the instruction's immediate of a floating-point type, "" where it has none.
func (m *menu) constantsOf(i int) string {
	for k := range m.fn.Body[i].Args {
		if o := &m.fn.Body[i].Args[k]; o.Kind == ptx.OpF32 || o.Kind == ptx.OpF64 {
			return fmt.Sprintf("%d %d %x", k, o.Kind, o.Imm)
		}
	}
	return ""
}

// add notes a candidate: change is made to instruction i and all its copies. Where it does not fit
// one of them it is none.
func (m *menu) add(
	rank int, kind Kind, i int, was, now, text string, change func(in *ptx.Instr, at int) bool,
) {
	sets := m.copies(i)
	if wide := m.everywhere(i, kind); wide != nil {
		sets = append([][]int{wide}, sets...)
	}
	for _, set := range sets {
		c := candidate{kind: kind, was: was, now: now, text: text, rank: rank}
		for _, at := range set {
			fits := true
			n := m.fn.Body[at].With(func(in *ptx.Instr) { fits = change(in, at) })
			if !fits {
				return
			}
			c.edits = append(c.edits, ptx.Edit{Kind: ptx.Replace, Func: m.fn.Name, At: at, New: n})
		}
		m.out = append(m.out, c)
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
		m.instruction(n, o.At)
	}
	slices.SortStableFunc(m.out, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	return m.out
}

// instruction lists the edits of one instruction, which is the n-th from the cells.
func (m *menu) instruction(n, i int) {
	in := m.fn.Body[i]
	switch in.Kind() {
	case isa.Branch:
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
	m.narrowed(n, i)
	m.registers(n, i)
	m.missing(n, i)
}

// place is where an instruction stands in the source, for a phrase.
func (m *menu) place(i int) string {
	if m.places[i] == "" {
		m.places[i] = report.SourceOf(target.Blame(m.fn, i)).At()
	}
	return m.places[i]
}

// away is 0 for an instruction of a line, 1 for any other.
func (m *menu) away(i int, line *report.Source) int {
	if b := target.Blame(m.fn, i); b.File == line.File && b.Line == line.Line {
		return 0
	}
	return 1
}
