package diagnose

import (
	"fmt"
	"regexp"
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

// Stages whose operands all lie equally far from where they belong have one origin: the computation of an
// address that their loads, and the output's store, share. It is looked for among the integer instructions
// that are common to the addresses, and tried: with its result moved by that far, in one block, the first
// wrong cells of all these stages are right.

// origin is the address computation by which several suspects are wrong.
type origin struct {
	source *report.Source
	lead   *suspect
	text   string // what was tried
	users  []string
}

// displaced is a suspect whose operands are elsewhere.
type displaced struct {
	s     *suspect
	stage probes.Stage
	kv    int
	cell  [2]int
	d     *debugkern.Displacement
	at    []*report.Source // where the operands are read
}

// mostMoved is how many address computations are tried.
const mostMoved = 12

// addresses finds address computations that several suspects share.
func (q *inquiry) addresses() error {
	if len(q.suspects) < 2 || q.run.Entry() == nil || q.run.Plan.Gate.Name != probes.GateNone {
		return nil
	}
	var block *probes.Dim3
	var all []displaced
	for _, s := range q.suspects {
		if s.remedy != nil && s.remedy.changes() || s.cause.Kind == kindTable ||
			slices.ContainsFunc(q.suspects, func(o *suspect) bool { return q.cutShort(o, s) }) {
			continue
		}
		for _, st := range s.stages {
			x, at, err := q.displacement(s, st, block)
			if err != nil {
				return err
			}
			if x == nil || len(all) > 0 && x.d.By*x.d.Size != all[0].d.By*all[0].d.Size {
				continue
			}
			block = &at
			all = append(all, *x)
			break
		}
	}
	one := !slices.ContainsFunc(all, func(x displaced) bool {
		return !slices.Equal(x.d.Reads, all[0].d.Reads)
	})
	if len(all) == 0 || one && len(all) > 1 {
		return nil // one load has no address in common with others
	}
	return q.shared(*block, all)
}

// displacement says how the first wrong cell of a suspect's stage, in a block (nil: of its first bad cell),
// is made of elements that lie elsewhere; nil where it is not.
func (q *inquiry) displacement(
	s *suspect, st probes.Stage, block *probes.Dim3,
) (*displaced, probes.Dim3, error) {
	doc, sp := q.base.Report.Stage(st.String()), q.run.Plan.Stage(st)
	if doc == nil || doc.FirstBad == nil || sp == nil || sp.OfLaunch() ||
		sp.Capture.Kind == probes.CaptureOutput {
		return nil, probes.Dim3{}, nil
	}
	b := doc.FirstBad
	at := debugkern.Cell{
		Place: debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)}, Row: b.Row, Col: b.Col,
	}
	if block != nil && at.Block != *block {
		var ok bool
		if at, ok = q.firstBad(st, *block); !ok {
			return nil, probes.Dim3{}, nil
		}
	}
	d, err := q.base.Displaced(q.ctx, st, at.Block, at.KVTile, at.Row, at.Col)
	if err != nil {
		return nil, probes.Dim3{}, q.fatal(err)
	}
	if d == nil {
		return nil, probes.Dim3{}, nil
	}
	x := &displaced{s: s, stage: st, kv: at.KVTile, cell: [2]int{at.Row, at.Col}, d: d}
	for _, i := range d.Reads {
		x.at = append(x.at, blame(q.run.Entry(), i))
	}
	return x, at.Block, nil
}

// firstBad is a stage's first bad cell in a block.
func (q *inquiry) firstBad(st probes.Stage, block probes.Dim3) (debugkern.Cell, bool) {
	lo, n := q.base.Tiles(block)
	if sp := q.run.Plan.Stage(st); !sp.PerTile {
		lo, n = 0, 1
	}
	for kv := lo; kv < lo+n; kv++ {
		p := debugkern.Place{Stage: st, Block: block, KVTile: kv}
		if q.base.Tile(p).Bad == 0 {
			continue
		}
		v, err := q.base.View(p)
		if err != nil {
			continue
		}
		for r := range v.ValidRows {
			for c := range v.ValidCols {
				if isBad(v, r, c) {
					return debugkern.Cell{Place: p, Row: r, Col: c}, true
				}
			}
		}
	}
	return debugkern.Cell{}, false
}

// isBad reports whether a cell is over its bound; infinity where infinity belongs is not.
func isBad(v *debugkern.TileView, row, col int) bool {
	return v.Bad(row, col, true) && v.Got.At(row, col) != v.Local[row*v.Plan.Cols+col]
}

// shared looks for the address computation that displaced suspects share, tries it, and takes in every other
// suspect that the trial puts right in that block.
func (q *inquiry) shared(block probes.Dim3, all []displaced) error {
	fn := q.run.Entry()
	s := newSlicer(fn)
	var common map[int]bool
	for _, x := range all {
		common = meet(common, s.addresses(x.d.Reads))
	}
	if len(all) == 1 { // what the output's store has in common with it
		var stores []int
		for i := range q.run.Plan.Stages {
			if sp := &q.run.Plan.Stages[i]; sp.Capture.Kind == probes.CaptureOutput &&
				q.wrongIn(q.base, sp.Stage, block) {
				stores = append(stores, s.stores(q.parameter(sp.Capture.Output))...)
			}
		}
		if len(stores) == 0 {
			return nil
		}
		common = meet(common, s.addresses(stores))
	}
	var list []int
	for i := range common {
		if s.movable(i) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int) int { return b - a })
	// Where every cell of the block is as far off, it is what is computed once for the block.
	for _, whole := range []bool{true, false} {
		tried := 0
		for _, at := range list {
			if whole && !s.constant(at) {
				continue
			}
			if tried++; tried > mostMoved {
				break
			}
			for _, by := range q.moves(&all[0]) {
				m := move{at: at, by: by, block: block}
				run, err := q.moved(m)
				if err != nil {
					return err
				}
				if run == nil || !q.rightCellsOf(run, block, all, whole) || q.spoils(run, block) {
					continue
				}
				united, err := q.unitedBy(run, m, all)
				if err != nil || united {
					return err
				}
			}
		}
	}
	return nil
}

// move is the result of an address computation moved, in one block.
type move struct {
	at, by int
	block  probes.Dim3
}

// moves are by how much the result of an address computation may have to be moved: it may count elements,
// bytes or, of any dimension, rows.
func (q *inquiry) moves(x *displaced) []int {
	out := []int{x.d.By}
	add := func(n int) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	add(x.d.By * x.d.Size)
	if a := q.run.Plan.Arg(x.d.Arg); a != nil && a.Strides == nil {
		row := 1
		for i := len(a.Dims) - 1; i > 0; i-- {
			if row *= a.Dims[i]; row > 0 && x.d.By%row == 0 {
				add(x.d.By / row)
			}
		}
	}
	return out
}

// moved executes a block with the result of an instruction moved.
func (q *inquiry) moved(m move) (*debugkern.Run, error) {
	fn, at, by := q.run.Entry(), m.at, m.by
	dst := fn.Body[at].Args[0]
	typ := "s32"
	if fn.Regs[dst.Reg].Type.Bytes() == 8 {
		typ = "s64"
	}
	add := fn.Body[at].With(func(in *ptx.Instr) {
		in.Op, in.Mods, in.Guard, in.Labels = "add", []string{typ}, nil, nil
		in.Args = []ptx.Operand{dst, dst, ptx.IntegerOf(int64(by))}
	})
	run, err := q.trial(q.run, debugkern.Trial{
		Blocks: []probes.Dim3{m.block}, Budget: 4*q.base.Report.Cost.WarpInstructions + 1000,
		Edits: []ptx.Edit{{Kind: ptx.Insert, Func: fn.Name, At: at + 1, New: add}},
	})
	if err != nil {
		return nil, q.fatal(err)
	}
	return run, nil
}

// rightCellsOf reports whether the first wrong cells of all displaced suspects, and the rows that they are
// in, are right in a trial; with whole all cells of their stages in the block. Where only a part of a row is
// displaced, no address that the whole row is taken from is the origin.
func (q *inquiry) rightCellsOf(
	run *debugkern.Run, block probes.Dim3, all []displaced, whole bool,
) bool {
	for _, x := range all {
		if bad, _ := badIn(run, x.stage, block); whole && bad > 0 {
			return false
		}
		v, err := run.View(debugkern.Place{Stage: x.stage, Block: block, KVTile: x.kv})
		if err != nil || !v.Referenced() || !v.Got.Captured(x.cell[0], x.cell[1]) {
			return false
		}
		for c := range v.ValidCols {
			if isBad(v, x.cell[0], c) {
				return false
			}
		}
	}
	return true
}

// spoils reports whether a trial makes a stage wrong in a block that was right there: what it moved is used
// rightly as well.
func (q *inquiry) spoils(run *debugkern.Run, block probes.Dim3) bool {
	return slices.ContainsFunc(q.run.Plan.Stages, func(sp probes.StagePlan) bool {
		return !q.wrongIn(q.base, sp.Stage, block) && q.wrongIn(run, sp.Stage, block)
	})
}

// wrongIn reports whether a stage has bad cells in a block.
func (q *inquiry) wrongIn(run *debugkern.Run, st probes.Stage, block probes.Dim3) bool {
	bad, _ := badIn(run, st, block)
	return bad > 0
}

// badIn counts a stage's bad cells in a block, and those that were compared.
func badIn(run *debugkern.Run, st probes.Stage, block probes.Dim3) (bad, cells int) {
	lo, n := run.Tiles(block)
	if sp := run.Plan.Stage(st); sp == nil || !sp.PerTile {
		lo, n = 0, 1
	}
	for kv := lo; kv < lo+n; kv++ {
		t := run.Tile(debugkern.Place{Stage: st, Block: block, KVTile: kv})
		bad, cells = bad+t.Bad, cells+t.Cells-t.Absent
	}
	return bad, cells
}

// unitedBy makes an instruction the origin of the displaced suspects, and of the others whose stages its
// trial puts right in the block. false where that is one suspect alone.
func (q *inquiry) unitedBy(run *debugkern.Run, m move, all []displaced) (bool, error) {
	o := &origin{source: blame(q.run.Entry(), m.at), lead: all[0].s}
	var members []*suspect
	var stages []probes.Stage
	add := func(s *suspect, st probes.Stage) {
		if !slices.Contains(members, s) {
			members = append(members, s)
		}
		if !slices.Contains(stages, st) {
			stages = append(stages, st)
		}
	}
	for _, x := range all {
		add(x.s, x.stage)
	}
	runs := map[probes.Dim3]*debugkern.Run{m.block: run}
	for _, s := range q.suspects {
		if s.cause.Kind == kindTable || s.remedy != nil && s.remedy.changes() {
			continue
		}
		for _, st := range q.spoiltBy(s) {
			b := m.block
			doc := q.base.Report.Stage(st.String())
			if !q.wrongIn(q.base, st, b) && doc != nil && doc.FirstBad != nil {
				b = doc.FirstBad.Block
			}
			if _, made := runs[b]; !made {
				var err error
				if runs[b], err = q.moved(move{m.at, m.by, b}); err != nil {
					return false, err
				}
			}
			if runs[b] == nil || !q.wrongIn(q.base, st, b) {
				continue
			}
			if now, cells := badIn(runs[b], st, b); now == 0 && cells > 0 {
				add(s, st)
			}
		}
	}
	if len(members) < 2 {
		return false, nil
	}
	stages = q.run.Plan.Ordered(stages)
	d := all[0].d
	o.text = fmt.Sprintf("with that address moved by %s in block %s, the cells of %s that first go wrong are right there",
		q.distance(d), m.block, stageList(stages))
	for _, x := range all {
		for _, src := range x.at {
			if use := callText(src); !slices.Contains(o.users, use) {
				o.users = append(o.users, use)
			}
		}
	}
	for _, s := range members {
		s.origin = o
	}
	var users []probes.Stage
	s := newSlicer(q.run.Entry())
	for _, st := range stages {
		sp := q.run.Plan.Stage(st)
		if sp.Capture.Kind == probes.CaptureOutput &&
			s.addresses(s.stores(q.parameter(sp.Capture.Output)))[m.at] ||
			slices.ContainsFunc(all, func(x displaced) bool { return x.stage == st }) {
			users = append(users, st)
		}
	}
	q.placed(o, users, access{all[0].at[0], d.Arg, d.Reads})
	return true, nil
}

// distance is a displacement in words: "1024 elements, 16 rows of K".
func (q *inquiry) distance(d *debugkern.Displacement) string {
	text := fmt.Sprintf("%d elements", d.By)
	a := q.run.Plan.Arg(d.Arg)
	if a == nil || a.Strides != nil || len(a.Dims) < 2 {
		return text
	}
	if cols := a.Dims[len(a.Dims)-1]; cols > 1 && d.By%cols == 0 {
		text += fmt.Sprintf(", %d rows of %s,", d.By/cols, d.Arg)
	}
	return text
}

// spoiltBy lists the stages of a suspect, and those that lie in an output that its findings are on.
func (q *inquiry) spoiltBy(s *suspect) []probes.Stage {
	out := slices.Clone(s.stages)
	for i := range q.run.Plan.Stages {
		sp := &q.run.Plan.Stages[i]
		if sp.Capture.Kind == probes.CaptureOutput && len(s.cause.Findings) > 0 &&
			q.touches(s, sp.Capture.Output) && !slices.Contains(out, sp.Stage) {
			out = append(out, sp.Stage)
		}
	}
	return out
}

// placed makes the origin's line the place of its leading suspect. load is one of the loads that use it.
func (q *inquiry) placed(o *origin, stages []probes.Stage, load access) {
	c := &o.lead.cause
	at := callText(o.source)
	if c.Place.Other == nil && c.Place.Source != nil && *c.Place.Source != *o.source {
		c.Place.Other = c.Place.Source
	}
	c.Place.Source = o.source
	c.Title += fmt.Sprintf("; the address that %s share is computed at %s", stageList(stages), at)
	c.Advice = fmt.Sprintf("look at the address computed at %s, which the loads at %s use", at,
		strings.Join(o.users, ", "))
	c.Advice = q.citing(c.Advice, ": ", o.source)
	line := q.quoted(o.source)
	c.Advice += q.indexText(slices.DeleteFunc(q.definitions(load), func(d definition) bool {
		name := regexp.MustCompile(`\b` + regexp.QuoteMeta(d.name) + `\b`)
		return d.at.At() == o.source.At() || !name.MatchString(line)
	}))
	c.Proof = append(c.Proof, o.text)
}

// slicer follows addresses back through integer registers.
type slicer struct {
	fn    *ptx.Func
	defs  map[int32][]int
	loops []int
}

func newSlicer(fn *ptx.Func) *slicer {
	s := &slicer{fn: fn, defs: map[int32][]int{}}
	for i, in := range fn.Body {
		for _, r := range in.Dests(nil) {
			s.defs[r] = append(s.defs[r], i)
		}
	}
	return s
}

// addresses lists the instructions that compute the addresses of accesses.
func (s *slicer) addresses(accesses []int) map[int]bool {
	var open []int32
	for _, i := range accesses {
		open = s.base(i, open)
	}
	return s.from(open)
}

// from lists the instructions that compute registers out of integers.
func (s *slicer) from(open []int32) map[int]bool {
	out := map[int]bool{}
	seen := map[int32]bool{}
	for len(open) > 0 {
		r := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[r] {
			continue
		}
		seen[r] = true
		for _, i := range s.defs[r] {
			in := s.fn.Body[i]
			if k := in.Kind(); k.Reads() && in.Space() != ptx.SpaceParam {
				continue // what was looked up in memory is no address computation
			}
			out[i] = true
			var reads, writes []int32
			cfg.Uses(in, &reads, &writes)
			open = append(open, reads...)
		}
	}
	return out
}

// base appends the registers of an access's address; of a copy from global memory, of where it reads.
func (s *slicer) base(i int, to []int32) []int32 {
	in := s.fn.Body[i]
	n := 0
	for k := range in.Args {
		if in.Args[k].Kind != ptx.OpAddr {
			continue
		}
		if n++; n == 1 && in.Kind() == isa.CopyAsync {
			continue // the destination
		}
		return in.Args[k].Registers(to)
	}
	return to
}

// stores lists the instructions that write to what a parameter points to.
func (s *slicer) stores(param *ptx.Var) []int {
	var out []int
	if param == nil {
		return nil
	}
	for i, in := range s.fn.Body {
		if in.Kind() != isa.Store || in.Loc.Within(target.IsProbe) {
			continue
		}
		for at := range s.addresses([]int{i}) {
			if p := s.fn.Body[at]; p.Space() == ptx.SpaceParam && len(p.Args) > 1 && isOf(&p.Args[1], param) {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// isOf reports whether an operand is of a variable.
func isOf(op *ptx.Operand, v *ptx.Var) bool { return op.Var == v || op.Name == v.Name }

// parameter is the entry's parameter that an argument of the launch is passed as, nil where it is none.
func (q *inquiry) parameter(arg string) *ptx.Var {
	params, n := q.run.Entry().Params, 0
	for i := range q.run.Plan.Args {
		switch a := &q.run.Plan.Args[i]; {
		case a.Into != nil:
		case a.Name == arg && n < len(params):
			return params[n]
		default:
			n++
		}
	}
	return nil
}

// integer are the kinds of instructions that addresses are computed by.
var integer = []isa.Kind{isa.Arith, isa.Logic, isa.Bits, isa.Select, isa.Convert, isa.ConvertAddress}

// constant reports whether what an instruction computes is the same for all threads and iterations of a
// block.
func (s *slicer) constant(i int) bool {
	if s.loops == nil {
		s.loops = innermost(s.fn)
	}
	if s.loops[i] >= 0 {
		return false
	}
	var open []int32
	open = s.fn.Body[i].Dests(open)
	for at := range s.from(open) {
		in := s.fn.Body[at]
		if s.loops[at] >= 0 || slices.ContainsFunc(in.Args, numbersThread) {
			return false
		}
	}
	return true
}

// numbersThread reports whether an operand is the number of a thread, lane or warp.
func numbersThread(a ptx.Operand) bool {
	return a.Kind == ptx.OpSpecial && (a.Name == "%tid" || a.Name == "%laneid" || a.Name == "%warpid")
}

// movable reports whether an instruction computes an integer out of others.
func (s *slicer) movable(i int) bool {
	in := s.fn.Body[i]
	if len(in.Args) < 2 || in.Args[0].Kind != ptx.OpReg || in.Guard != nil || in.Loc.Within(target.IsProbe) ||
		!slices.Contains(integer, in.Kind()) || i+1 >= len(s.fn.Body) {
		return false
	}
	if b := s.fn.Regs[in.Args[0].Reg].Type; b.Bytes() != 4 && b.Bytes() != 8 {
		return false
	}
	for k := 1; k < len(in.Args); k++ {
		if in.Args[k].Kind == ptx.OpReg {
			return true
		}
	}
	return false
}

// meet is the intersection of two sets of instructions; nil is all.
func meet(a, b map[int]bool) map[int]bool {
	if a == nil {
		return b
	}
	out := map[int]bool{}
	for i := range a {
		if b[i] {
			out[i] = true
		}
	}
	return out
}
