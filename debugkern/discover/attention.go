// Package discover finds the stages of fused attention in a kernel that nobody described.
//
// The one idea: executed with abstract values (package lineage), a kernel shows what it computes, whoever
// compiled it. Values are followed as expressions over real numbers (algebra.go); what is a score, a running
// maximum, a weight, a sum or the result follows from what a value is made of, and where it lies in a tile
// from which elements of the arguments these are. Registers that hold all values of a stage, and nothing
// else, are places at which the stage can be captured.
//
// Where something does not fit, a stage is left out with the reason: never a stage that is only likely.
//
// The package must not know stages' names, manifests or an executor: it gives roles,
// expressions and evidence.
package discover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Role is what a discovered stage is in attention.
type Role string

// The roles. Conventions name the stages that have them.
const (
	Scores      Role = "scores"      // products of rows of the queries and the keys
	Maximum     Role = "maximum"     // the running maximum of a row's scores
	Weights     Role = "weights"     // exponentials of scores relative to the maximum
	Sum         Role = "sum"         // the running sum of a row's weights
	Accumulator Role = "accumulator" // the running sum of weights times values
	Result      Role = "result"      // the accumulator divided by the sum
	LSE         Role = "lse"         // the logarithm of a row's sum of exponentials, as a second result
	Queries     Role = "queries"     // the rows of scores
	Keys        Role = "keys"        // the columns of scores
	Values      Role = "values"      // what weights multiply
)

// Stage is a discovered stage. In texts of evidence, and of Attention.Missing, "argument #3" is that of
// index 3 of the launch.
type Stage struct {
	Role     Role
	DType    probes.DType
	Unit     float64 // natural units for one of its own
	Parts    int     // lanes among which a row's value is divided; 1: each has it whole
	Places   []Placement
	Evidence string
	Exp      string // the instruction of the exponential, where the stage has one: "ex2.approx"
	Computed string // what sums: "tensor", "fma", "shuffle"
	Block    int    // products that an instruction of the tensor core sums
}

// Operand is a tensor of attention: which argument, and where a block's part of it lies.
type Operand struct {
	Role Role
	Arg  int
	Dims []int // of the argument, as positions have them
	// At: position of the first row, by dimension: expressions over bx, by, bz, and kv for keys and values
	At         []string
	Rows, Cols int // the dimensions that rows and columns run along; Cols -1: none
	Evidence   string
}

// Attention is what was discovered.
type Attention struct {
	Block        probes.Dim3   // whose lineage it is
	Also         []probes.Dim3 // further blocks that were followed, for what only they execute
	TileM, TileN int           // rows of queries of a block, keys of an iteration
	Depth, Width int           // common dimension of queries and keys, columns of the values
	Scale        float64       // what scores are multiplied by
	Tiles        string        // iterations of a block, over bx, by, bz
	Query, Key   string        // position of a block's first query, and of an iteration's first key
	Operands     []Operand     // queries, keys, values, result, lse
	// Mask: rules over key, query, r and c that hold where a score takes part; nil: all do
	Mask    []string
	Stages  []Stage
	Missing []string // what was not found, and why
	// WeightType: where the weights have no stage: what they are rounded to before they are multiplied
	WeightType probes.DType
	Guesses    []string // what the launch does not show
}

// Stage returns the stage of a role, nil where it was not found.
func (a *Attention) Stage(r Role) *Stage {
	for i := range a.Stages {
		if a.Stages[i].Role == r {
			return &a.Stages[i]
		}
	}
	return nil
}

// Operand returns the tensor of a role, nil where it was not found.
func (a *Attention) Operand(r Role) *Operand {
	for i := range a.Operands {
		if a.Operands[i].Role == r {
			return &a.Operands[i]
		}
	}
	return nil
}

// Uncapture removes the places of a role's stage, and notes why; false where the role has none.
func (a *Attention) Uncapture(r Role, why string) bool {
	st := a.Stage(r)
	if st == nil || st.Places == nil {
		return false
	}
	st.Places = nil
	a.Missing = append(a.Missing, fmt.Sprintf("capture of %s: %s", r, why))
	return true
}

// Found is what a launch showed.
type Found struct {
	Attention *Attention // nil where the kernel computes none that can be followed
	Why       error      // then: a *NotFound
	// Read and Wrote are the arguments that some block reads, and writes, by name.
	Read, Wrote map[string]bool
	// Unwritten is how many elements of an argument are unwritten after the launch, by name.
	Unwritten map[string]int

	blocks *blocks
	study  *study // of the block that Attention describes
	follow func(ctx context.Context, block probes.Dim3) (*study, error)
}

// Find executes a launch, then one block of it again, and follows that one's values. Instructions are
// named by their lines in the source of that base name, or with "" in the PTX. Errors are those of the
// launch and of lineage.Record.
func Find(
	ctx context.Context, k target.Kernel, f *ptx.Func, l *target.Launch, source string,
) (*Found, error) {
	b, err := footprints(ctx, k, l)
	if err != nil {
		return nil, err
	}
	out := &Found{Unwritten: b.unwritten, blocks: b}
	out.Read, out.Wrote = b.accessed()
	out.follow = func(ctx context.Context, id probes.Dim3) (*study, error) { return follow(ctx, k, f, l, id) }
	id := b.richest()
	s, err := out.follow(ctx, id)
	if err != nil {
		return nil, err
	}
	s.source, out.study = source, s
	if err := s.structure(); err != nil {
		return out, out.describe(err)
	}
	// What a tile alone gives and what the iterations give together are the same in the first iteration.
	if longest := b.longest(); s.tiles == 1 && longest != id {
		if _, err := out.include(ctx, longest); err != nil {
			return nil, err
		}
	}
	a, err := s.attention(b)
	out.Attention = a
	return out, out.describe(err)
}

// describe notes why there is no attention; other errors are returned.
func (f *Found) describe(err error) error {
	var why *NotFound
	if errors.As(err, &why) {
		f.Attention, f.Why = nil, err
		return nil
	}
	return err
}

// Include follows a further block, and describes anew what is found: places that only that block comes to are
// among the captures then. It reports whether the block was followed and computes attention in the same way.
// Errors are those of lineage.Record.
func (f *Found) Include(ctx context.Context, block probes.Dim3) (bool, error) {
	if ok, err := f.include(ctx, block); !ok || err != nil {
		return false, err
	}
	a, err := f.study.attention(f.blocks)
	if err != nil {
		return false, err
	}
	f.Attention = a
	return true, nil
}

// Ways returns one of the blocks of each bx that accessed global memory by the same instructions, as often:
// whether values are captured in all iterations is the same in the others. Where a place depends on by or bz,
// or blocks share memory, it returns nil, which is all blocks.
func (f *Found) Ways() []probes.Dim3 {
	if f.blocks.ordered {
		return nil
	}
	for _, st := range f.Attention.Stages {
		for _, p := range st.Places {
			if ofOtherAxes.MatchString(p.Tile) ||
				strings.Contains(p.Tile, "query") && ofOtherAxes.MatchString(f.Attention.Query) {
				return nil
			}
		}
	}
	type way struct {
		bx        int
		signature uint64
	}
	var out []probes.Dim3
	seen := map[way]bool{}
	for _, id := range f.blocks.ids {
		if w := (way{id[0], f.blocks.by[id].signature()}); !seen[w] {
			seen[w] = true
			out = append(out, id)
		}
	}
	return out
}

var (
	ofOtherAxes = regexp.MustCompile(`\bb[yz]\b`)
	markOfTiles = regexp.MustCompile(`\b` + tilesMark + `\b`)
)

// inParentheses is an expression as a term of another.
func inParentheses(text string) string {
	if single.MatchString(text) {
		return text
	}
	return "(" + text + ")"
}

var single = regexp.MustCompile(`^\w+$`)

// include adds a block to those that are followed; false where that is known, or it computes something else.
func (f *Found) include(ctx context.Context, block probes.Dim3) (bool, error) {
	s := f.study
	base := s.base + s.size()
	for _, o := range s.also {
		if o.id == block {
			return false, nil
		}
		base = max(base, o.base+o.size())
	}
	if block == s.id {
		return false, nil
	}
	o, err := f.follow(ctx, block)
	if err != nil {
		return false, err
	}
	if s.tiles > 1 {
		o.side = s.tileN
	}
	if o.structure() != nil || o.tileN != s.tileN || o.width != s.width || o.depth != s.depth ||
		o.argX != s.argX || o.argY != s.argY || o.argZ != s.argZ {
		return false, nil
	}
	o.base = base
	s.also = append(s.also, o)
	return true, nil
}

// follow executes a block once more, and interprets it.
func follow(
	ctx context.Context, k target.Kernel, f *ptx.Func, l *target.Launch, id probes.Dim3,
) (*study, error) {
	t, err := lineage.Record(ctx, k, l, id, lineage.Options{})
	if err != nil {
		return nil, err
	}
	d := newDomain(l)
	r := newRecorder(d)
	if err := lineage.Interpret(ctx, t, d, r.see, func(s *lineage.Store, x value) {
		r.stores(s, x)
	}); err != nil {
		return nil, err
	}
	return &study{r: r, d: d, l: l, f: f, id: id}, nil
}

// structure finds what the scores, rows, keys, iterations and values of a block are.
func (s *study) structure() error {
	for _, step := range []func() error{s.scoresOf, s.sides, s.index, s.iterations, s.values} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// attention makes what was recorded of the blocks into stages.
func (s *study) attention(b *blocks) (*Attention, error) {
	a := &Attention{
		Block: s.id, TileN: s.tileN, Depth: int(s.depth), Width: s.width,
		Scale: s.d.alphas[s.alpha] * math.Ln2,
	}
	for _, o := range s.also {
		a.Also = append(a.Also, o.id)
	}
	if err := s.stages(a); err != nil {
		return nil, err
	}
	a.TileM = max(a.TileM, len(s.rows))
	if err := s.place(a, b); err != nil {
		return nil, err
	}
	for i := range a.Stages {
		for k := range a.Stages[i].Places {
			p := &a.Stages[i].Places[k]
			p.Tile = markOfTiles.ReplaceAllString(p.Tile, inParentheses(a.Tiles))
		}
	}
	s.mask(a)
	return a, nil
}

// stages looks for the registers of every stage.
func (s *study) stages(a *Attention) error {
	find := []struct {
		role Role
		find func() (*Stage, error)
	}{
		{Scores, s.findScores}, {Maximum, s.findMaximum}, {Sum, s.findSum}, {Weights, s.findWeights},
		{Accumulator, s.findAccumulator},
	}
	for _, x := range find {
		st, err := x.find()
		var why *NotFound
		switch {
		case errors.As(err, &why):
			a.Missing = append(a.Missing, fmt.Sprintf("%s: %s", x.role, why.Why))
			if x.role == Weights {
				a.WeightType = s.weightType
			}
			continue
		case err != nil:
			return err
		}
		st.Role = x.role
		a.Stages = append(a.Stages, *st)
	}
	a.TileM, a.TileN = s.tileM, max(s.tileN, s.wide)
	n := 0
	for _, r := range s.rowOf {
		if r >= 0 {
			n++
		}
	}
	if n < len(s.rows)*len(s.keys) {
		a.Missing = append(a.Missing,
			fmt.Sprintf(
				"captures: block %s computes %d of the %d scores of its rows and keys; what its iterations leave in registers is no whole tile",
				a.Block, n, len(s.rows)*len(s.keys)))
		for i := range a.Stages {
			a.Stages[i].Places = nil
		}
	}
	return nil
}

func (s *study) line(pc int) int { return s.f.Body[pc].Pos.Line }

// wanted lists the cells that a stage of rows has, in every iteration.
func (s *study) wanted(width int) *cells {
	want := s.noCells()
	for r := range s.rows {
		for t := range s.tiles {
			for c := range width {
				want.add(s.cell(r, c, t))
			}
		}
	}
	return want
}

// chosen looks for candidates, picks those that have the cells of the first block, with those that only
// others execute, and writes the placements.
func (s *study) chosen(x *search) (*Stage, []*candidate, error) {
	list := s.candidates(x)
	if len(list) == 0 {
		return nil, nil, notFound("no register holds its values, and nothing else")
	}
	want := x.want(s)
	got, left := choose(list, want, x.late)
	if left > 0 {
		return nil, nil, notFound("registers hold %d of its %d values", want.n-left, want.n)
	}
	if list, got = oneUnit(list, got, want, x.late); got == nil {
		return nil, nil, notFound("its registers hold it in different units")
	}
	got = append(got, s.elsewhere(x, list, got)...)
	s.spread(got, x.keys)
	places, err := s.placements(got, true, s.line)
	if err != nil {
		return nil, nil, notFound("%v", err)
	}
	return &Stage{Places: places, Parts: 1}, got, nil
}

// oneUnit picks candidates that have their values in one unit, and lists all that have them in it; nil where
// no unit has all cells.
func oneUnit(list, got []*candidate, want *cells, late bool) (of, chosen []*candidate) {
	for _, unit := range got {
		same := slices.DeleteFunc(slices.Clone(list), func(c *candidate) bool {
			return !near(c.coef, unit.coef)
		})
		if chosen, left := choose(same, want, late); left == 0 {
			return same, chosen
		}
	}
	return nil, nil
}

// elsewhere picks the candidates that have cells of other blocks which those of the first do not have.
func (s *study) elsewhere(x *search, list, got []*candidate) []*candidate {
	if s.also == nil {
		return nil
	}
	want := s.noCells()
	for _, o := range s.also {
		for at, in := range x.want(o).in {
			if in {
				want.add(int32(at))
			}
		}
	}
	for _, c := range got {
		for _, at := range c.cells {
			if want.in[at] {
				want.in[at] = false
				want.n--
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(c *candidate) bool { return slices.Contains(got, c) })
	more, _ := choose(rest, want, x.late)
	return more
}

// perRow lists the cells of a stage that has one value a row.
func (s *study) perRow() *cells { return s.wanted(1) }

// computed lists the cells of the scores: those of keys past the last are not among them.
func (s *study) computed() *cells {
	want := s.noCells()
	for r := range s.rows {
		for k := range s.keys {
			want.add(s.cell(r, s.column(k), s.time(k)))
		}
	}
	return want
}

// findScores finds the registers of the finished products.
func (s *study) findScores() (*Stage, error) {
	st, chosen, err := s.chosen(&search{
		late: true, keys: true, want: (*study).computed,
		pick: func(s *study, e *event, a *atom) (spot, bool) {
			if a.kind != product || a.extended || a.n != s.depth || a.arg != s.argX || a.arg2 != s.argY ||
				s.rowOf[a.score] < 0 {
				return spot{}, false
			}
			row, key := int(s.rowOf[a.score]), int(s.keyOf[a.score])
			t := s.time(key)
			return spot{row: row, col: s.column(key), first: t, last: t}, true
		},
	})
	if err != nil {
		return nil, err
	}
	in := s.f.Body[chosen[0].pc]
	st.DType, st.Computed = s.registerType(chosen[0])
	st.Unit = s.d.alphas[s.alpha] * math.Ln2 / chosen[0].coef
	st.Block = s.summed(chosen[0])
	st.Evidence = fmt.Sprintf(
		"%s at PTX line %d adds the last of %d products of a row of argument %s and one of argument %s",
		in.Opcode(), s.line(chosen[0].pc), s.depth,
		inText(s.query()), inText(s.key()))
	return st, nil
}

// spread takes a tile to be at least what the registers of its stage hold; of one iteration the columns, too,
// if keys run along them.
func (s *study) spread(chosen []*candidate, keys bool) {
	for _, c := range chosen {
		c.row.each(func(at []int) { s.tileM = max(s.tileM, c.row.at(at)+1) })
		if keys && s.tiles == 1 {
			c.col.each(func(at []int) { s.wide = max(s.wide, c.col.at(at)+1) })
		}
	}
}

// findMaximum finds the registers of the running maximum.
func (s *study) findMaximum() (*Stage, error) {
	st, chosen, err := s.chosen(&search{
		want: (*study).perRow, pick: func(s *study, e *event, a *atom) (spot, bool) {
			if a.kind != maximum {
				return spot{}, false
			}
			p, ok := s.match(a)
			return spot{row: p.row, first: p.first, last: p.last}, ok
		},
	})
	if err != nil {
		return nil, err
	}
	st.DType, _ = s.registerType(chosen[0])
	st.Unit = s.d.alphas[s.alpha] * math.Ln2 / chosen[0].coef
	st.Evidence = fmt.Sprintf("%s at PTX line %d gives the largest of all scores of a row so far, times %.6g",
		s.f.Body[chosen[0].pc].Opcode(), s.line(chosen[0].pc), chosen[0].coef)
	return st, nil
}

// current reports whether a sum's weights are relative to the row's maximum in an iteration, and narrows the
// iterations to those.
func (s *study) current(a *atom, p *place) bool {
	return a.ref2 == 0 && a.alpha == s.alpha && s.refs[p.row][p.first] == a.ref
}

// findSum finds the registers of the running sum of weights: whole, or divided among lanes.
func (s *study) findSum() (*Stage, error) {
	st, chosen, err := s.chosen(&search{
		late: true, sums: true, want: (*study).perRow, pick: func(s *study, e *event, a *atom) (spot, bool) {
			if a.kind != power {
				return spot{}, false
			}
			p, ok := s.match(a)
			return spot{row: p.row, first: p.first, last: p.last}, ok && s.current(a, &p)
		},
	})
	unit, parts := "shuffle", 1
	if err != nil {
		var divided error
		if st, chosen, parts, divided = s.findParts(); divided != nil {
			return nil, notFound("%v; as parts in several lanes: %v", err, divided)
		}
	}
	st.DType, _ = s.registerType(chosen[0])
	st.Unit, st.Parts, st.Computed, st.Exp = 1/chosen[0].coef, parts, unit, s.exponential()
	st.Evidence = fmt.Sprintf("%s at PTX line %d gives the sum of a row's weights so far",
		s.f.Body[chosen[0].pc].Opcode(), s.line(chosen[0].pc))
	if parts > 1 {
		st.Evidence += fmt.Sprintf(", each of %d lanes that of its own keys", parts)
	}
	return st, nil
}

// findWeights finds the weights where they are multiplied by the values, or where the exponential gives them.
func (s *study) findWeights() (*Stage, error) {
	s.weightType = s.narrowest()
	st, chosen, err := s.chosen(&search{keys: true, want: (*study).computed, list: (*study).weights})
	if err != nil {
		return nil, err
	}
	c := chosen[0]
	st.Unit, st.Exp = 1, s.exponential()
	in := s.f.Body[c.pc]
	if c.of != "" && c.of != "d" {
		st.DType = elementType(in, map[string]isa.ArgClass{"a": isa.ClassA, "b": isa.ClassB}[c.of])
		st.Evidence = fmt.Sprintf(
			"operand %s of %s at PTX line %d is 2^(%.6g·(score − maximum)) of each score", c.of, in.Opcode(),
			s.line(c.pc), s.d.alphas[s.alpha])
	} else {
		st.DType, _ = s.registerType(c)
		st.Unit = 1 / c.coef
		st.Evidence = fmt.Sprintf("%s at PTX line %d gives 2^(%.6g·(score − maximum)) of each score",
			in.Opcode(), s.line(c.pc), s.d.alphas[s.alpha])
	}
	return st, nil
}

// weights are the candidates of the weights in one block: operands of products, else registers; where no
// tensor core multiplies them, those of the type that they are rounded to.
func (s *study) weights(x *search) []*candidate {
	if list := s.factors(x); len(list) > 0 {
		return list
	}
	x.pick = func(s *study, e *event, a *atom) (spot, bool) {
		if a.kind != power || a.n != 1 || a.idx == 0 || a.left != 0 || s.rowOf[a.idx] < 0 || a.ref2 != 0 {
			return spot{}, false
		}
		row, key := int(s.rowOf[a.idx]), int(s.keyOf[a.idx])
		t := s.time(key)
		return spot{row: row, col: s.column(key), first: t, last: t}, s.refs[row][t] == a.ref
	}
	list := s.list(x)
	if len(s.r.mixed) > 0 {
		return list
	}
	rounded := s.narrowest()
	return slices.DeleteFunc(list, func(c *candidate) bool { return s.written(c) != rounded })
}

// narrowest is the type that weights are rounded to: that of the tensor core's operand, or the smallest that
// they are converted to.
func (s *study) narrowest() probes.DType {
	if len(s.r.mixed) > 0 {
		m, class := s.r.mixed[0], isa.ClassA
		if m.swapped {
			class = isa.ClassB
		}
		return elementType(s.f.Body[m.pc], class)
	}
	best := probes.F32
	for pc, st := range s.r.sites {
		if len(st.events) == 0 {
			continue
		}
		a := &s.d.atoms[st.events[0].atom]
		if a.kind == power && a.n == 1 && a.left == 0 {
			if t := dtypeOf(s.f.Body[pc].Types()[0]); t.Size() < best.Size() {
				best = t
			}
		}
	}
	return best
}

// written is the type that an instruction writes.
func (s *study) written(c *candidate) probes.DType { return dtypeOf(s.f.Body[c.pc].Types()[0]) }

// factors are the operands of products that weights are.
func (s *study) factors(x *search) []*candidate {
	by := map[int]*candidate{}
	for _, m := range s.r.mixed {
		c := by[m.pc]
		if c == nil {
			in := s.f.Body[m.pc]
			c = &candidate{pc: m.pc, of: "a", frag: in.Fragment(isa.ClassA), whole: true, coef: 1}
			if m.swapped {
				c.of, c.frag = "b", in.Fragment(isa.ClassB)
			}
			if c.frag == nil { // they lie in shared memory
				return nil
			}
			by[m.pc] = c
		}
		c.whole = c.whole && s.factor1(c, m)
	}
	var out, open []*candidate
	want := x.want(s)
	for _, pc := range slices.Sorted(maps.Keys(by)) {
		if c := by[pc]; c.whole && len(c.spots) > 0 {
			out, open = s.sort(x, c, want, out, open)
		}
	}
	return s.guided(x, open, want, out)
}

// factor1 adds what one execution multiplied. Of a weight that is 0 the key is that of the
// value it multiplies.
func (s *study) factor1(c *candidate, m *mixed) bool {
	for lane := range 32 {
		for e := range c.frag.Elements {
			r, k := c.frag.Cell(lane, e)
			if m.weights[r] == nil {
				continue
			}
			sp := spot{warp: m.warp, lane: lane, n: m.n, e: e, row: -1, col: -1, last: s.tiles - 1}
			sc := m.weights[r][k]
			switch {
			case sc > 0 && s.rowOf[sc] < 0:
				return false
			case sc > 0:
				sp.row, sp.col = int(s.rowOf[sc]), s.column(int(s.keyOf[sc]))
				sp.first = s.time(int(s.keyOf[sc]))
				sp.last = sp.first
			case m.elements[0] != nil && m.elements[0][k] >= 0:
				if key, _, ok := s.valueAt(int(m.elements[0][k])); ok && key < len(s.keys) {
					sp.col, sp.first = s.column(key), s.time(key)
					sp.last = sp.first
				}
			}
			if sc <= 0 {
				o := other{n: int32(m.n), warp: uint8(m.warp), lane: uint8(lane), part: uint8(e)}
				if sc == 0 {
					o.kind = nought
				}
				c.rest = append(c.rest, o)
			}
			c.spots = append(c.spots, sp)
		}
	}
	return true
}

// findAccumulator finds the registers of the weighted sums of values.
func (s *study) findAccumulator() (*Stage, error) {
	want := func(s *study) *cells { return s.wanted(s.width) }
	st, chosen, err := s.chosen(&search{
		late: true, want: want, pick: func(s *study, e *event, a *atom) (spot, bool) {
			if a.kind != weighted || a.arg != s.argZ {
				return spot{}, false
			}
			p, ok := s.match(a)
			if !ok || !s.current(a, &p) {
				return spot{}, false
			}
			col, ok := s.columnOf(e.atom)
			return spot{row: p.row, col: col, first: p.first, last: p.last}, ok
		},
	})
	if err != nil {
		return nil, err
	}
	st.DType, st.Computed = s.registerType(chosen[0])
	st.Unit, st.Exp, st.Block = 1/chosen[0].coef, s.exponential(), s.summed(chosen[0])
	st.Evidence = fmt.Sprintf(
		"%s at PTX line %d adds the last of an iteration's products of weights and elements of argument %s to what the iterations before left, rescaled",
		s.f.Body[chosen[0].pc].Opcode(), s.line(chosen[0].pc), inText(int(s.argZ)))
	return st, nil
}

// columnOf is the column of the values that a weighted sum is made of: that of its first term.
func (s *study) columnOf(at int32) (int, bool) {
	g := s.d.algebra
	for {
		a := &g.atoms[at]
		if a.at > 0 {
			p := g.pairs[a.at]
			_, col, ok := s.valueAt(int(p.b))
			return col, ok
		}
		if at = a.left; at == 0 {
			return 0, false
		}
	}
}

// exponential is the instruction that the weights are made by.
func (s *study) exponential() string {
	for pc, st := range s.r.sites {
		in := s.f.Body[pc]
		if in.Op == "ex2" && len(st.events) > 0 {
			return "ex2.approx"
		}
	}
	return ""
}

// registerType is the type of what an instruction writes, and what computes it.
func (s *study) registerType(c *candidate) (probes.DType, string) {
	in := s.f.Body[c.pc]
	if c.frag != nil {
		return elementType(in, isa.ClassD), "tensor"
	}
	ts := in.Types()
	return dtypeOf(ts[0]), "fma"
}

// summed is how many products one instruction of the tensor core sums; 0 for another.
func (s *study) summed(c *candidate) int {
	if c.frag == nil {
		return 0
	}
	in := s.f.Body[c.pc]
	if a := in.Form().Fragment(isa.ClassA, in.Mods); a != nil {
		return a.Cols
	}
	return 0
}

// elementType is the type of a fragment's elements.
func elementType(in *ptx.Instr, c isa.ArgClass) probes.DType {
	ts := in.Types()
	switch {
	case len(ts) == 4, len(ts) == 3: // of wgmma C is D
		return dtypeOf(ts[map[isa.ArgClass]int{isa.ClassD: 0, isa.ClassA: 1, isa.ClassB: 2}[c]])
	case c == isa.ClassD:
		return dtypeOf(ts[0])
	}
	return probes.F16 // wmma with two types: those of D and C
}

func dtypeOf(t ptx.Type) probes.DType {
	switch t {
	case ptx.F16, ptx.F16x2:
		return probes.F16
	case ptx.BF16, ptx.BF16x2:
		return probes.BF16
	case ptx.F64:
		return probes.F64
	}
	return probes.F32
}

func (s *study) query() int {
	if s.byX {
		return int(s.argX)
	}
	return int(s.argY)
}

func (s *study) key() int {
	if s.byX {
		return int(s.argY)
	}
	return int(s.argX)
}

// argName is an argument's name in the launch.
func (s *study) argName(arg int) string { return s.l.Args[arg].Name }

// inText is an argument in a text of evidence: "#" and its index, for which the reader puts the
// name that it gives it.
func inText(arg int) string { return fmt.Sprintf("#%d", arg) }
