package debugkern

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/memo"
	"tilescope/debugkern/origin"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// LineageRequest says which cell's lineage is wanted.
type LineageRequest struct {
	Cell    string       // U@2[3,17], O[3,17], O[0,1,3,17], out[7]
	Block   *probes.Dim3 // nil: the first block that has the cell
	Address bool         // what addresses are made of, too
	Control bool         // what decided about execution, too
	Across  bool         // go on in the blocks that wrote what the block read of other blocks
	// Elements: list the elements of arguments that it is made of (report.Lineage.MadeOf), too
	Elements bool
}

// Lineage builds a request's kernel and says what a cell of it is made of. One block is executed,
// on the emulator; nothing is compared. Errors are Run's; a cell that is not there is a usage
// error that says what is.
func (s *Session) Lineage(
	ctx context.Context, req Request, ask LineageRequest, progress func(Progress),
) (*report.Lineage, error) {
	ctx, cancel := Limited(ctx, req.Timeout)
	defer cancel()
	req.Backend = "emu"
	e := s.begin(ctx, req, progress)
	doc, err := e.lineage(ask)
	if err != nil {
		return nil, e.explain(err)
	}
	return doc, nil
}

func (e *execution) lineage(ask LineageRequest) (*report.Lineage, error) {
	if err := e.open(); err != nil {
		return nil, err
	}
	x := &ancestry{st: e.st, ask: ask}
	if err := x.parse(); err != nil {
		return nil, err
	}
	if err := e.build(); err != nil {
		return nil, err
	}
	instrumented, err := agree(e.st.build.Module, e.r.plan)
	if err != nil {
		return nil, &report.KernelError{Stage: "load", Err: err}
	}
	if err := e.mapFragments(); err != nil {
		return nil, err
	}
	if e.st.launch, err = e.r.launch(e.ctx, e.st.inputs, e.st.ref, instrumented); err != nil {
		return nil, err
	}
	e.st.launch.Label = e.r.label()
	e.st.indexed = &memo.LRU[struct{}, *origin.Writers]{Limit: 1}
	e.progress(Progress{Phase: "run", Detail: "one block"})
	doc, err := x.document(e.ctx)
	if err != nil {
		return nil, report.LaunchError(err)
	}
	return doc, nil
}

// Lineage says what a cell of the run is made of, as Session.Lineage does.
func (r *Run) Lineage(ctx context.Context, c Cell, ask LineageRequest) (*report.Lineage, error) {
	if r.state == nil || r.state.launch == nil {
		return nil, errors.New("lineage: this run was not made by a session")
	}
	x := &ancestry{st: r.state, ask: ask, cell: c}
	sp := r.Plan.Stage(c.Stage)
	if sp == nil {
		return nil, fmt.Errorf("kernel %s has no stage %s", r.Plan.Kernel, c.Stage)
	}
	x.stage, x.element = sp, -1
	return x.document(ctx)
}

// ancestry finds what one cell is made of.
type ancestry struct {
	st      *runState
	ask     LineageRequest
	stage   *probes.StagePlan // nil: an element of an argument
	cell    Cell
	arg     string
	element int // of arg, by its place in memory
	kernel  target.Kernel
}

// cellForm is a stage or argument, a kv tile and indices. Memory that a pointer in a struct leads to is named
// after the parameter and the offset, "p+8".
var cellForm = regexp.MustCompile(`^([A-Za-z_]\w*(?:\+\d+)?)(?:@(\d+))?\[(\d+(?:,\d+)*)\]$`)

// cellSpelling takes a[1][3], as C++ and findings spell an element, for a[1,3].
var cellSpelling = strings.NewReplacer(" ", "", "] [", ",", "][", ",")

// parse reads the cell, and finds what it names in the plan.
func (x *ancestry) parse() error {
	m := cellForm.FindStringSubmatch(cellSpelling.Replace(x.ask.Cell))
	if m == nil {
		return report.Usagef("cell %q: expected STAGE@TILE[ROW,COLUMN] or ARGUMENT[INDEX,…], such as %s",
			x.ask.Cell, x.example())
	}
	var at []int
	for _, s := range strings.Split(m[3], ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return report.Usagef("cell %s: index %s is too large", x.ask.Cell, s)
		}
		at = append(at, n)
	}
	p := x.st.r.plan
	sp := p.Stage(probes.Stage(m[1]))
	if sp != nil && !sp.OfLaunch() && len(at) == 2 {
		return x.ofStage(sp, m[2], at)
	}
	if a := p.Arg(m[1]); a != nil && a.Pointer {
		if m[2] != "" {
			return report.Usagef("cell %s: an argument has no tiles", x.ask.Cell)
		}
		return x.ofArgument(a, at)
	}
	return report.Usagef("cell %s: kernel %s has no stage or argument %q; it has %s", x.ask.Cell, p.Kernel,
		m[1], x.names())
}

// names lists what cells there are.
func (x *ancestry) names() string {
	var stages, args []string
	p := x.st.r.plan
	for i := range p.Stages {
		sp := &p.Stages[i]
		if sp.Capture.Kind == probes.CaptureNone || sp.OfLaunch() {
			continue
		}
		text := string(sp.Stage)
		if sp.PerTile {
			text += "@TILE"
		}
		stages = append(stages, fmt.Sprintf("%s[%d,%d]", text, sp.Rows, sp.Cols))
	}
	for i := range p.Args {
		if a := &p.Args[i]; a.Pointer {
			args = append(args, fmt.Sprintf("%s%v", a.Name, a.Dims))
		}
	}
	var out []string
	if len(stages) > 0 {
		out = append(out, "stages "+strings.Join(stages, " "))
	}
	if len(args) > 0 {
		out = append(out, "arguments "+strings.ReplaceAll(strings.Join(args, ", "), " ", ","))
	}
	return strings.ReplaceAll(strings.Join(out, " and "), ",,", ", ")
}

// example is a cell that the kernel has.
func (x *ancestry) example() string {
	p := x.st.r.plan
	for i := range p.Stages {
		if sp := &p.Stages[i]; sp.PerTile && sp.Capture.Kind != probes.CaptureNone {
			return fmt.Sprintf("%s@0[0,0]", sp.Stage)
		}
	}
	for i := range p.Args {
		if p.Args[i].Pointer {
			return p.Args[i].Name + "[0]"
		}
	}
	return "out[0]"
}

// ofStage is a cell of a captured tile.
func (x *ancestry) ofStage(sp *probes.StagePlan, tile string, at []int) error {
	p, rng := x.st.r.plan, x.st.r.rng
	x.stage, x.element = sp, -1
	if at[0] >= sp.Rows || at[1] >= sp.Cols {
		return report.Usagef("cell %s: in a block stage %s is %d×%d (rows×columns); --in-block chooses the block",
			x.ask.Cell, sp.Stage, sp.Rows, sp.Cols)
	}
	if sp.Capture.Kind == probes.CaptureNone {
		return report.Usagef("cell %s: stage %s is not captured", x.ask.Cell, sp.Stage)
	}
	if !x.st.r.stages.Has(sp.Stage) {
		return report.Usagef("cell %s: stage %s is not captured in this run (--stages)", x.ask.Cell, sp.Stage)
	}
	kv := rng.TileLo
	if tile != "" {
		n, err := strconv.Atoi(tile)
		if err != nil || !sp.PerTile && n != 0 {
			return report.Usagef("cell %s: stage %s has one tile a block, %s[ROW,COLUMN]", x.ask.Cell,
				sp.Stage, sp.Stage)
		}
		kv = n
	}
	if !sp.PerTile {
		kv = 0
	}
	x.cell = Cell{Place{sp.Stage, probes.Dim3{}, kv}, at[0], at[1]}
	if x.ask.Block != nil {
		if !rng.Contains(*x.ask.Block) {
			return report.Usagef("block %s lies outside the blocks that are captured, %s",
				*x.ask.Block, rng.N)
		}
		x.cell.Block = *x.ask.Block
		if n := x.tiles(sp, x.cell.Block); kv >= n {
			return report.Usagef("cell %s: block %s has %s 0 to %d of stage %s", x.ask.Cell, x.cell.Block,
				p.Work.TileName(), n-1, sp.Stage)
		}
		return nil
	}
	most := 0
	for i := range rng.N.Count() {
		block := rng.Block(i)
		n := x.tiles(sp, block)
		if most = max(most, n); kv < n && kv >= rng.TileLo {
			x.cell.Block = block
			return nil
		}
	}
	if most == 1 {
		return report.Usagef("cell %s: stage %s has %s 0 alone", x.ask.Cell, sp.Stage, p.Work.TileName())
	}
	return report.Usagef("cell %s: stage %s has %ss 0 to %d", x.ask.Cell, sp.Stage, p.Work.TileName(), most-1)
}

// tiles is how many tiles of a stage a block has.
func (x *ancestry) tiles(sp *probes.StagePlan, block probes.Dim3) int {
	if !sp.PerTile {
		return 1
	}
	return x.st.r.plan.Work.Tiles.At(block, 0)
}

// ofArgument is an element of an argument: by its index in the whole, row-major whatever the strides, or in
// each dimension.
func (x *ancestry) ofArgument(a *probes.Arg, at []int) error {
	dims := a.Dims
	if len(at) == 1 {
		dims = []int{a.Elems()}
	}
	if len(at) != len(dims) {
		return report.Usagef("cell %s: argument %s has dimensions %v: one index for each, or one for all",
			x.ask.Cell, a.Name, a.Dims)
	}
	element := 0
	for i, n := range at {
		if n >= dims[i] {
			return report.Usagef("cell %s: argument %s has dimensions %v, and %d elements", x.ask.Cell,
				a.Name, a.Dims, a.Elems())
		}
		element = element*dims[i] + n
	}
	x.arg, x.element = a.Name, a.Place(element)
	if x.ask.Block != nil {
		if !(probes.Range{N: x.st.r.plan.Grid}).Contains(*x.ask.Block) {
			return report.Usagef("block %s lies outside the grid %s", *x.ask.Block, x.st.r.plan.Grid)
		}
		x.cell.Block = *x.ask.Block
	}
	return nil
}

// document records the block and follows the cell.
func (x *ancestry) document(ctx context.Context) (*report.Lineage, error) {
	var err error
	if x.kernel, err = x.st.stepper(ctx); err != nil {
		return nil, err
	}
	if x.stage != nil && (x.stage.Capture.Kind == probes.CaptureOutput || x.stage.OfLaunch()) {
		if err := x.output(); err != nil {
			return nil, err
		}
	}
	if x.arg != "" && x.ask.Block == nil && x.stage == nil || x.stage != nil && x.stage.OfLaunch() {
		if err := x.writingBlock(ctx); err != nil {
			return nil, err
		}
	}
	trace, err := x.record(ctx)
	if err != nil {
		return nil, err
	}
	at, size, err := x.place(trace)
	if err != nil {
		return nil, err
	}
	g, err := trace.Walk(ctx, at, lineage.Query{Address: x.ask.Address, Control: x.ask.Control})
	if err != nil {
		return nil, err
	}
	return x.write(ctx, trace, g, size)
}

// output makes a cell of a tile that is cut out of an argument an element of that.
func (x *ancestry) output() error {
	sp, c := x.stage, x.cell
	x.arg = sp.Capture.Output
	if sp.OfLaunch() {
		n := c.Row*sp.Cols + c.Col
		if elems := probes.Elems(sp.Capture.Dims); n >= elems { // the last row of a list may not be full
			return report.Usagef("row %d, column %d of %s lies past its %d elements", c.Row, c.Col,
				sp.Stage, elems)
		}
		x.element = probes.Place(n, sp.Capture.Dims, sp.Capture.Strides)
		return nil
	}
	at := sp.InArgument(c.Block, c.KVTile)
	if c.Row >= at.Rows || c.Col >= at.Cols {
		return report.Usagef(
			"cell %s: row %d, column %d of block %s lies past the output, which ends at row %d, column %d",
			x.name(), c.Row, c.Col, c.Block, at.Rows-1, at.Cols-1)
	}
	x.element = x.st.r.plan.Arg(x.arg).Place(at.Element(c.Row, c.Col))
	return nil
}

// writingBlock finds the block that wrote an element of an argument last.
func (x *ancestry) writingBlock(ctx context.Context) error {
	n, ok, err := x.st.lastWriter(ctx, x.arg, x.element)
	if err != nil {
		return err
	}
	if !ok {
		return report.Usagef("cell %s: no block writes it", x.name())
	}
	x.cell.Block = n
	return nil
}

// record executes the block. Where the kernel reads memory that its blocks may write, whether they share any
// is only known once the whole launch was executed.
func (x *ancestry) record(ctx context.Context) (*lineage.Trace, error) {
	st := x.st
	trace, err := lineage.Record(ctx, x.kernel, st.launch, x.cell.Block, lineage.Options{})
	if err != nil || st.result != nil || st.launch.Ordered || !trace.ReadsWritable() {
		return trace, err
	}
	l := *st.launch
	result, err := x.kernel.Launch(ctx, &l)
	if err != nil {
		return nil, err
	}
	if !result.Ordered {
		return trace, nil
	}
	st.launch.Ordered = true
	return lineage.Record(ctx, x.kernel, st.launch, x.cell.Block, lineage.Options{})
}

// place is where the cell is in the trace, and its bytes.
func (x *ancestry) place(trace *lineage.Trace) (lineage.Place, int, error) {
	if x.arg != "" {
		for i := range x.st.launch.Args {
			a := &x.st.launch.Args[i]
			if a.Name != x.arg || a.Buffer == nil {
				continue
			}
			size := max(a.Buffer.DType.Size(), 1)
			if addr, ok := trace.Address(i, x.element*size); ok {
				return lineage.Place{Space: target.SpaceGlobal, Addr: addr, N: size, At: -1}, size, nil
			}
		}
		return lineage.Place{}, 0, report.Usagef("cell %s: block %s does not access %s", x.name(),
			x.cell.Block, x.arg)
	}
	c, size := x.cell, x.stage.DType.Size()
	offset, err := x.st.offset(x.stage, c)
	if err != nil {
		return lineage.Place{}, 0, report.Usagef("cell %s: %w", x.name(), err)
	}
	at, ok := trace.Captured(c.Stage, c.KVTile, c.Row, c.Col, offset, size)
	if !ok {
		return at, 0, report.Usagef("cell %s: block %s did not capture stage %s, %s %d", x.name(), c.Block,
			c.Stage, x.st.r.plan.Work.TileName(), c.KVTile)
	}
	return at, size, nil
}

// offset is where a cell of a captured tile lies in the capture buffer.
func (st *runState) offset(sp *probes.StagePlan, c Cell) (uint64, error) {
	off, ok := st.r.layout.Slot(c.Stage, c.Block, c.KVTile)
	if !ok {
		return 0, fmt.Errorf("stage %s, block %s, %s %d was not captured", c.Stage, c.Block,
			st.r.plan.Work.TileName(), c.KVTile)
	}
	at := c.Row*sp.Cols + c.Col
	if cells := st.r.cells[c.Stage]; cells != nil {
		at = slices.Index(cells, at)
	}
	return off + uint64(at*sp.DType.Size()), nil
}

// name is the cell as a person writes it, with the tile that was chosen where none was asked for.
func (x *ancestry) name() string {
	switch {
	case x.ask.Cell != "" && (x.stage == nil || !x.stage.PerTile || strings.Contains(x.ask.Cell, "@")):
		return x.ask.Cell
	case x.stage == nil || x.stage.OfLaunch():
		return x.elementName()
	case x.stage.PerTile:
		return fmt.Sprintf("%s@%d[%d,%d]", x.cell.Stage, x.cell.KVTile, x.cell.Row, x.cell.Col)
	}
	return fmt.Sprintf("%s[%d,%d]", x.cell.Stage, x.cell.Row, x.cell.Col)
}

// elementName is an element of an argument as a person writes it.
func (x *ancestry) elementName() string {
	a := x.st.r.plan.Arg(x.arg)
	if a.Strides == nil {
		return fmt.Sprintf("%s[%d]", x.arg, x.element)
	}
	index, ok := probes.IndexAt(x.element, a.Dims, a.Strides)
	if !ok {
		return fmt.Sprintf("the gap at place %d in the memory of %s", x.element, x.arg)
	}
	return x.arg + strings.ReplaceAll(fmt.Sprint(index), " ", ",")
}

// dtype is the type of the cell.
func (x *ancestry) dtype() probes.DType {
	if x.stage != nil {
		return x.stage.DType
	}
	for i := range x.st.launch.Args {
		if a := &x.st.launch.Args[i]; a.Name == x.arg && a.Buffer != nil {
			return a.Buffer.DType
		}
	}
	return 0
}

// mostValues is how many values of a node are looked at.
const mostValues = 64

// write makes the document.
func (x *ancestry) write(
	ctx context.Context, trace *lineage.Trace, g *lineage.Graph, size int,
) (*report.Lineage, error) {
	doc := &report.Lineage{
		Schema: report.LineageSchema, Target: x.st.r.req.Target, Shape: x.st.r.plan.Shape.String(),
		Seed: x.st.r.req.Seed, Cell: x.name(), Block: x.cell.Block,
		Nodes: []report.LineageNode{},
	}
	var root []lineage.Ref
	if len(g.Roots) == 1 && !g.Roots[0].Leaf && int(g.Nodes[g.Roots[0].To].N) == size {
		root = append(root, g.Nodes[g.Roots[0].To])
	}
	tree, bits, err := x.add(ctx, doc, trace, g, nil, root)
	if err != nil {
		return nil, err
	}
	if root != nil {
		v := report.Number(x.dtype().Value(bits[0]))
		doc.Value = &v
	}
	if x.ask.Elements {
		if err := x.madeOf(ctx, doc, g); err != nil {
			return nil, err
		}
	}
	if !x.ask.Across {
		return doc, nil
	}
	return doc, x.across(ctx, doc, trace, tree, 0)
}

// add appends the nodes of a graph to a document; block is nil for those of the cell's own block. It also
// returns the bits of more values: the block is executed again for all of them at once.
func (x *ancestry) add(
	ctx context.Context, doc *report.Lineage, trace *lineage.Trace, g *lineage.Graph, block *[3]int,
	more []lineage.Ref,
) (*lineage.Tree, []uint64, error) {
	tree := g.Fold()
	doc.Truncated = doc.Truncated || g.Truncated
	var refs []lineage.Ref
	first := make([]int, len(tree.Folds))
	for i, f := range tree.Folds {
		first[i] = len(refs)
		refs = append(refs, f.Last[:min(len(f.Last), mostValues)]...)
		f.ID += len(doc.Nodes)
	}
	bits, tiles, err := trace.ValuesAt(ctx, x.kernel, append(refs, more...))
	if err != nil {
		return nil, nil, err
	}
	for i, f := range tree.Folds {
		n := node(f)
		n.Block = block
		if f.Source != nil { // else no instruction is behind it
			r := f.Ref
			if k := len(f.Last); k > 0 {
				r = f.Last[k-1]
			}
			s := trace.Step(int(r.Step))
			n.At = &report.LineageAt{Step: s.Clock, Warp: s.Warp, Lane: trace.Lane(r)}
			if at := target.Blame(s.Func, s.Instr.Index); n.Line > 0 && at.File == n.Source.File {
				n.At.Line = at.Line
			}
		}
		n.values(trace, f, bits[first[i]:])
		n.iterations(f, tiles[first[i]:], x.st.r.plan.Work.LoopName())
		if f.Leaf != nil && f.Count == 1 {
			n.Value = initial(trace.Launch(), f.Leaf)
		}
		doc.Nodes = append(doc.Nodes, n.LineageNode)
	}
	return tree, bits[len(refs):], nil
}

// lineageNode is a node under way.
type lineageNode struct{ report.LineageNode }

func node(f *lineage.Fold) *lineageNode {
	n := &lineageNode{report.LineageNode{
		ID: f.ID, Op: f.Op, Instr: f.Instr, Source: report.SourceOf(f.Source), Lanes: f.Lanes, Count: f.Count,
		Kind: f.Kind.String(), Of: []int{}, Element: f.Where,
	}}
	if n.Lanes == nil {
		n.Lanes = []int{}
	}
	if f.Source != nil && f.Line > f.Source.Line {
		n.Line = f.Line
	}
	switch len(f.Warps) {
	case 0:
	case 1:
		n.Warp = &f.Warps[0]
	default:
		n.Warps = f.Warps
	}
	for _, b := range f.Of {
		if !slices.Contains(n.Of, b.To.ID) {
			n.Of = append(n.Of, b.To.ID)
		}
		n.Uses = append(n.Uses, report.LineageUse{Of: b.To.ID, Operand: b.Operand, Kind: b.Kind.String()})
	}
	return n
}

// values gives a node the values that it has.
func (n *lineageNode) values(trace *lineage.Trace, f *lineage.Fold, bits []uint64) {
	for i, r := range f.Last[:min(len(f.Last), mostValues)] {
		v, ok := decoded(trace, r, f.DType, bits[i])
		if !ok {
			n.Low, n.High = nil, nil
			return
		}
		x := report.Number(v)
		if n.Low == nil || v < float64(*n.Low) {
			n.Low = &x
		}
		if n.High == nil || v > float64(*n.High) {
			n.High = &x
		}
	}
	if len(f.Last) > mostValues {
		n.Low, n.High = nil, nil
	}
	if n.Low != nil && len(f.Last) == 1 {
		n.Value, n.Low, n.High = n.Low, nil, nil
	}
	if n.Low != nil && len(f.Last) > 1 && len(f.Last) <= fewValues && f.Count == len(f.Last) {
		n.Values = inOrder(trace, f, bits)
	}
}

// iterations gives a node of several values the iterations in which they were made, where all of them are
// known and they are not one and the same.
func (n *lineageNode) iterations(f *lineage.Fold, tiles []int, loop string) {
	if f.Source == nil || f.Count < 2 || len(f.Last) != f.Count || f.Count > mostValues {
		return
	}
	made := slices.Clone(tiles[:f.Count])
	slices.Sort(made)
	if made = slices.Compact(made); made[0] >= 0 && len(made) > 1 {
		n.Loop, n.Iterations = loop, made
	}
}

// fewValues is how many values a node lists one by one.
const fewValues = 4

// inOrder are the values that a fold made, in the order of execution, and of one instruction by lane.
func inOrder(trace *lineage.Trace, f *lineage.Fold, bits []uint64) []report.Number {
	order := make([]int, len(f.Last))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := f.Last[a], f.Last[b]
		return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Lane, y.Lane))
	})
	out := make([]report.Number, len(order))
	for i, k := range order {
		v, _ := decoded(trace, f.Last[k], f.DType, bits[k])
		out[i] = report.Number(v)
	}
	return out
}

// decoded is the number that a value's bits are; ok is false where its bytes are not one number of a type.
func decoded(trace *lineage.Trace, r lineage.Ref, memory probes.DType, bits uint64) (v float64, ok bool) {
	if memory != 0 && memory.Size() == int(r.N) {
		return memory.Value(bits), true
	}
	return numberOf(trace.Type(r), int(r.N), bits)
}

// numberOf is the number that n bytes are as a type; ok is false where they are not one number of it.
func numberOf(t ptx.Type, n int, bits uint64) (v float64, ok bool) {
	dtype, known := dtypeOf[t]
	switch {
	case known && dtype.Size() == n:
		return dtype.Value(bits), true
	case t.Integer() && t.Signed() && n == t.Bytes():
		return float64(int64(bits<<(64-t.Bits())) >> (64 - t.Bits())), true
	case t.Integer() && n == t.Bytes():
		return float64(bits), true
	}
	return 0, false
}

var dtypeOf = map[ptx.Type]probes.DType{
	ptx.F16: probes.F16, ptx.BF16: probes.BF16, ptx.F32: probes.F32, ptx.F64: probes.F64,
	ptx.E4M3: probes.E4M3, ptx.E5M2: probes.E5M2,
}

// typeOf is the type in PTX of a floating-point type, TypeNone of any other.
func typeOf(d probes.DType) ptx.Type {
	for t, dtype := range dtypeOf {
		if dtype == d {
			return t
		}
	}
	return ptx.TypeNone
}

// initial is the value of an element before the launch.
func initial(l *target.Launch, leaf *lineage.Leaf) *report.Number {
	if leaf.Kind != lineage.LeafElement || l.Args[leaf.Arg].Buffer == nil {
		return nil
	}
	b := l.Args[leaf.Arg].Buffer
	size := b.DType.Size()
	if size < 1 || size > 8 || (leaf.Element+1)*size > len(b.Init) {
		return nil
	}
	v := report.Number(b.DType.Value(littleEndian(b.Init[leaf.Element*size:], size)))
	return &v
}

// littleEndian is the first n bytes as a number.
func littleEndian(b []byte, n int) (bits uint64) {
	for _, x := range slices.Backward(b[:n]) {
		bits = bits<<8 | uint64(x)
	}
	return bits
}
