package debugkern

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/needed"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Formation is the arithmetic by which cells of a stage were made in a block and iteration, with what each
// should be by the reference from the kernel's own earlier tiles. Cells that are not judged, or whose
// reference is no finite number, are left out. A cell's values end where a tile of an operand was captured.
// Errors are those of Lineage.
func (r *Run) Formation(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cells [][2]int,
) ([]needed.Cell, error) {
	c, err := r.contrast(ctx, stage, block, kv)
	if err != nil || c == nil {
		return nil, err
	}
	v, err := r.View(c.x.cell.Place)
	if err != nil || v.Local == nil {
		return nil, err
	}
	f := &forming{c: c}
	f.tiles = f.around()
	for _, at := range cells {
		if err := f.cell(v, at); err != nil {
			return nil, err
		}
	}
	return f.out, f.numbers(ctx)
}

// Formula is what a stage's node computes, in the names of stages and inputs; "" where it is no formula.
func Formula(n *probes.Node) string { return op.Formula(n) }

// InvalidAccess is the name of a value of Formation that an access out of bounds or misaligned should have
// read.
const InvalidAccess = lineage.InvalidAccess

// forming collects the values of cells.
type forming struct {
	c     *contrast
	tiles []capturedTile
	out   []needed.Cell
	refs  []lineage.Ref // whose bits are to be found
	of    [][2]int      // by ref: cell and value
	ids   map[lineage.Ref]int
	from  map[operandKey]int // the numbers of what the cell's leaves are
	open  []int              // values of the cell that are to be followed
	at    []lineage.Ref
}

// mostFormed is the most values of a cell that are followed: it bounds the time and memory of one cell.
const mostFormed = 1 << 12

// cell collects the values of one cell.
func (f *forming) cell(v *TileView, at [2]int) error {
	i := at[0]*v.Plan.Cols + at[1]
	want, bound := v.Local[i], v.LocalBound[i]
	if !v.Judged(at[0], at[1], true) || math.IsNaN(want) || math.IsInf(want, 0) || math.IsInf(bound, 0) {
		return nil
	}
	place, err := f.c.x.at(f.c.trace, at[0], at[1])
	if err != nil {
		return nil // it was not captured
	}
	uses := f.c.trace.Bytes(place)
	if len(uses) != 1 || uses[0].Leaf != nil {
		return nil
	}
	f.out = append(f.out, needed.Cell{
		Want: needed.Range{Lo: want - bound, Hi: want + bound}, Wrong: v.Bad(at[0], at[1], true),
		Known: f.known(at),
	})
	f.ids, f.from, f.open, f.at = map[lineage.Ref]int{}, map[operandKey]int{}, nil, nil
	f.value(uses[0].Ref, typeOf(v.Plan.DType))
	for n := 0; n < len(f.open) && len(f.at) < mostFormed; n++ {
		f.operands(f.open[n])
	}
	return nil
}

func (f *forming) current() *needed.Cell { return &f.out[len(f.out)-1] }

// value is the number of a value of the current cell, which is added where it is new. What uses it takes its
// bits as a type.
func (f *forming) value(r lineage.Ref, t ptx.Type) int {
	if id, there := f.ids[r]; there {
		return id
	}
	cell := f.current()
	id := len(cell.Values)
	f.ids[r] = id
	step := f.c.trace.Step(int(r.Step))
	v := needed.Value{Instr: step.Instr, At: step.Instr.Index, Got: math.NaN(), Type: t}
	if !step.Func.Entry || step.Instr.Loc.Within(target.IsProbe) {
		v.At = -1
	}
	cut, ends := f.c.cut(r)
	if ends && id > 0 {
		v.Instr, v.At, v.Name = nil, -1, f.cellName(f.c.lists[cut][0])
		v.Source = f.source(f.c.lists[cut][0])
	} else {
		f.open = append(f.open, id)
	}
	cell.Values = append(cell.Values, v)
	f.at = append(f.at, r)
	if t != ptx.TypeNone {
		f.refs, f.of = append(f.refs, r), append(f.of, [2]int{len(f.out) - 1, id})
	}
	return id
}

// source numbers a leaf of the current cell, from 1.
func (f *forming) source(k operandKey) int {
	n, known := f.from[k]
	if !known {
		n = len(f.from) + 1
		f.from[k] = n
	}
	return n
}

// cellName names a captured cell of an operand's tile by its stage and how far it is from the current cell's
// iteration.
func (f *forming) cellName(k operandKey) string {
	sp := f.c.g.Stage(k.stage)
	if sp.PerTile && k.iter < f.c.kv {
		return sp.Stage.String() + " of the previous tile"
	}
	return sp.Stage.String()
}

// operands adds what a value of the current cell is made of.
func (f *forming) operands(id int) {
	cell := f.current()
	v := cell.Values[id]
	uses := slices.DeleteFunc(f.c.trace.Uses(f.at[id], false, false), func(u lineage.Use) bool {
		return u.Kind != lineage.ByValue
	})
	types := v.Instr.Types()
	switch k := v.Instr.Kind(); {
	case k.Product():
		f.accumulator(id, uses)
		return
	case k == isa.Arith || k == isa.Special || k == isa.Convert:
		if len(types) == 0 {
			return
		}
		from := types[len(types)-1].Single()
		if k == isa.Convert && !types[0].Float() || k != isa.Convert && !from.Float() {
			return // integers: an index, or a decoding by bits
		}
		for _, u := range uses {
			f.operand(id, u, from)
		}
	case len(uses) == 1 && (uses[0].Leaf != nil || uses[0].Ref.N == f.at[id].N):
		f.operand(id, uses[0], v.Type) // it moves what it has
	}
}

// accumulator adds what a product goes on from: it is listed behind the elements that are multiplied, which
// come in pairs.
func (f *forming) accumulator(id int, uses []lineage.Use) {
	if n := len(uses); n%2 == 1 {
		t := f.current().Values[id].Instr.Types()
		f.operand(id, uses[n-1], t[len(t)-1].Single())
	}
}

// operand adds one operand of a value of the current cell.
func (f *forming) operand(id int, u lineage.Use, t ptx.Type) {
	to := 0
	if u.Leaf != nil {
		to = f.leaf(id, u, t)
	} else {
		to = f.value(u.Ref, t)
	}
	v := &f.current().Values[id]
	v.Operands = append(v.Operands, needed.Operand{Arg: int(u.Operand), Value: to})
}

// leaf adds a constant, or a number that was there before the launch.
func (f *forming) leaf(id int, u lineage.Use, t ptx.Type) int {
	cell := f.current()
	v := needed.Value{At: -1, Got: math.NaN(), Type: t, Name: u.Leaf.Name}
	if l := u.Leaf; (l.Kind == lineage.LeafElement || l.Kind == lineage.LeafScalar) && v.Name == "" {
		v.Name = f.c.x.st.launch.Args[l.Arg].Name
	}
	dtype, real := dtypeOf[t]
	switch l := u.Leaf; {
	case l.Kind == lineage.LeafImmediate:
		user := &cell.Values[id]
		v.Instr, v.At, v.Immediate = user.Instr, user.At, int(u.Operand)
		if real {
			v.Got = dtype.Value(l.Bits)
		}
	case l.Kind == lineage.LeafElement:
		v.Source = f.source(operandKey{stage: -1, arg: l.Arg, at: l.Element})
		if x := initial(f.c.x.st.launch, l); x != nil {
			v.Got = float64(*x)
		}
	case l.Kind == lineage.LeafScalar && real:
		b := f.c.x.st.launch.Args[l.Arg].Scalar
		if l.Element+dtype.Size() <= len(b) {
			v.Got = dtype.Value(littleEndian(b[l.Element:], dtype.Size()))
		}
	}
	cell.Values = append(cell.Values, v)
	f.at = append(f.at, lineage.Ref{})
	return len(cell.Values) - 1
}

// numbers finds what all values were.
func (f *forming) numbers(ctx context.Context) error {
	bits, err := f.c.trace.Values(ctx, f.c.x.kernel, f.refs)
	if err != nil {
		return err
	}
	for i, at := range f.of {
		v := &f.out[at[0]].Values[at[1]]
		if x, ok := numberOf(v.Type, int(f.refs[i].N), bits[i]); ok {
			v.Got = x
		}
	}
	for i := range f.out {
		f.out[i].Fold()
	}
	return nil
}

// capturedTile is a tile of another stage, from the iteration that is explained or from the one before.
type capturedTile struct {
	*TileView
	when string // " of the kv tile before", or ""
}

// around lists the captured tiles of other stages, of the iteration that is explained and of the one before.
func (f *forming) around() []capturedTile {
	var out []capturedTile
	plan := f.c.x.st.r.plan
	for i := range plan.Stages {
		sp := &plan.Stages[i]
		for _, iter := range []int{f.c.kv, f.c.kv - 1} {
			if sp.Capture.Kind == probes.CaptureNone || sp.OfLaunch() || iter < 0 ||
				iter == f.c.kv && sp.Stage == f.c.x.stage.Stage || iter < f.c.kv && !sp.PerTile {
				continue
			}
			p := Place{Stage: sp.Stage, Block: f.c.block, KVTile: iter}
			if !sp.PerTile {
				p.KVTile = 0
			}
			v := f.c.run.leftView(p, sp)
			if !v.Got.Reached() {
				continue
			}
			when := ""
			if iter < f.c.kv {
				when = fmt.Sprintf(" of the %s before", plan.Work.TileName())
			}
			out = append(out, capturedTile{v, when})
		}
	}
	return out
}

// known lists values of the kernel that may be meant where a cell has another: the launch's numbers, and what
// was captured of other stages in its row, its column and its place.
func (f *forming) known(at [2]int) []needed.Known {
	var out []needed.Known
	plan := f.c.x.st.r.plan
	for i := range plan.Args {
		if a := &plan.Args[i]; !a.Pointer && a.Data == nil && a.DType == probes.F32 {
			out = append(out, needed.Known{Name: a.Name, X: a.DType.Value(a.Bits)})
		}
	}
	for _, t := range f.tiles {
		f.knownIn(t.TileView, at, t.when, &out)
	}
	if n := f.c.x.stage.Op; n != nil {
		e, ok := f.c.expect(at[0], at[1])
		for _, v := range op.Subvalues(n, func(o *probes.Operand) (float64, bool) {
			if o.Node != nil || o.Tensor != "" {
				return f.element(e, o)
			}
			return f.tileValue(o, at)
		}) {
			if ok {
				out = append(out, needed.Known{Name: v.Text, X: v.X, Part: true})
			}
		}
	}
	return out
}

// tileValue is what the kernel has of an operand of the stage at the row and column of a cell.
func (f *forming) tileValue(o *probes.Operand, at [2]int) (float64, bool) {
	for _, t := range f.tiles {
		if t.Stage != o.Stage || (t.when != "") != o.Before {
			continue
		}
		row, col := at[0], at[1]
		if t.Plan.Rows == 1 {
			row = 0
		}
		if t.Plan.Cols == 1 {
			col = 0
		}
		if row < t.ValidRows && col < t.ValidCols && t.Got.Captured(row, col) {
			return t.Got.At(row, col), true
		}
	}
	return 0, false
}

// element is the one element of an input that a cell should be made of, as the launch has it.
func (f *forming) element(e *expected, o *probes.Operand) (float64, bool) {
	name := o.Tensor
	if o.Node != nil && len(o.Node.Args) == 1 {
		name = o.Node.Args[0].Tensor
	}
	if e == nil || name == "" {
		return 0, false
	}
	for _, p := range e.direct {
		if p.Stage >= 0 || p.Input != name || len(p.Elements) != 1 {
			continue
		}
		keys := f.c.elementKeys(p)
		if len(keys) != 1 {
			return 0, false
		}
		x := initial(f.c.x.st.launch, &lineage.Leaf{
			Kind: lineage.LeafElement, Arg: keys[0].arg, Element: keys[0].at,
		})
		if x == nil {
			return 0, false
		}
		return float64(*x), true
	}
	return 0, false
}

// knownIn lists what a tile has in the row, the column and the place of a cell.
func (f *forming) knownIn(v *TileView, at [2]int, when string, out *[]needed.Known) {
	note := func(row, col int, index string) {
		if row >= v.ValidRows || col >= v.ValidCols || !v.Got.Captured(row, col) {
			return
		}
		if x := v.Got.At(row, col); !math.IsNaN(x) && !math.IsInf(x, 0) {
			*out = append(*out, needed.Known{Name: v.Stage.String() + index + when, X: x})
		}
	}
	if v.Plan.Cols == 1 {
		note(at[0], 0, "[row]")
		if f.c.x.stage.Cols > 1 {
			note(at[1], 0, "[column]")
		}
		return
	}
	if f.c.x.stage.Cols > 1 {
		note(at[0], at[1], "[row][column]")
	}
}
