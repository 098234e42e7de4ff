package expect

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// Names of a dump: the tiles of a stage, their exact reference, which cells were captured, and the blocks.
const (
	tilePrefix     = "tile_"
	refPrefix      = "ref_"
	capturedPrefix = "captured_"
	blocksArray    = "blocks"
)

// Archive is a NumPy archive as a source. An array is, by its name, one of two things:
//
//   - the whole of an argument: the array of an argument, and that of a stage that is cut out of one; its
//     shape is that of the argument;
//   - the tiles of a stage: any other, and those of a stage whose names begin with tile_ or ref_; its shape
//     is [blocks, iterations, rows, cols], as in a dump, where iterations is 1 for a stage that a block has
//     once. Where the archive has an array blocks [blocks, 3], that says which blocks they are; else they
//     are those of the grid in launch order.
//
// Numbers of a floating-point stage are of a floating-point type, those of a bf16, e4m3 or e5m2 stage also
// its bits as u2 or u1; those of an integer stage of an integer type, and exact in float64.
type Archive struct {
	label   string
	plan    *probes.Plan
	archive *npy.Archive
	memory  *budget.Budget
	read    map[string]*npy.Array
	release []func()
	blocks  map[probes.Dim3]int // of the array blocks; nil until it is read
}

// MaxBytes is how many bytes of arrays an archive may have under a memory limit: they are read, and compared
// with as much again.
func MaxBytes(limit int64) int64 { return limit / 2 }

// OpenArchive opens an archive of size bytes, called label in messages. What its arrays take is reserved of
// the memory until Release.
func OpenArchive(r io.ReaderAt, size int64, label string, p *probes.Plan, memory *budget.Budget) (*Archive,
	error) {
	limit := memory.Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	a, err := npy.Open(r, size, label, MaxBytes(limit))
	if err != nil {
		return nil, err
	}
	return &Archive{label: label, plan: p, archive: a, memory: memory, read: map[string]*npy.Array{}}, nil
}

// Release gives back what was reserved for the arrays.
func (a *Archive) Release() {
	for _, f := range a.release {
		f()
	}
	a.release = nil
}

// Label implements Source.
func (a *Archive) Label() string { return a.label }

// Names implements Source.
func (a *Archive) Names() []string { return a.archive.Names() }

func (a *Archive) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{a.label}, args...)...)
}

// Values implements Source.
func (a *Archive) Values(ctx context.Context, name string, sp *probes.StagePlan) (Values, bool, error) {
	h, ok, err := a.archive.Header(name)
	if err != nil || !ok {
		return nil, ok, err
	}
	t, err := a.elementType(name, h, sp)
	if err != nil {
		return nil, true, err
	}
	named := strings.HasPrefix(name, tilePrefix) || strings.HasPrefix(name, refPrefix)
	if sp.OfLaunch() || sp.Capture.Kind == probes.CaptureOutput && !named {
		if err := a.wholeShape(name, h, sp); err != nil {
			return nil, true, err
		}
		data, err := a.numbers(ctx, name, t, sp)
		return &whole{sp, t, data}, true, err
	}
	if err := a.tileShape(ctx, name, h, sp); err != nil {
		return nil, true, err
	}
	data, err := a.numbers(ctx, name, t, sp)
	if err != nil {
		return nil, true, err
	}
	out := &tiles{sp: sp, dtype: t, data: data, each: h.Shape[1], grid: a.plan.Grid, blocks: a.blocks}
	if stage, ok := strings.CutPrefix(name, tilePrefix); ok {
		out.missing, err = a.missing(ctx, capturedPrefix+stage, h)
	}
	return out, true, err
}

// elementType is the type of an array's elements as numbers of a stage.
func (a *Archive) elementType(name string, h npy.Header, sp *probes.StagePlan) (probes.DType, error) {
	t := elementTypes[h.DType]
	want := "an integer type, as the stage is " + sp.DType.String()
	switch {
	case !sp.DType.Float() && !t.Float():
		return t, nil
	case sp.DType.Float() && t.Float():
		return t, nil
	case sp.DType.Float():
		want = "f2, f4 or f8"
		if bits := map[probes.DType]npy.DType{probes.BF16: npy.U16, probes.E4M3: npy.U8,
			probes.E5M2: npy.U8}[sp.DType]; bits == h.DType {
			return sp.DType, nil
		} else if bits != "" {
			want += fmt.Sprintf(", or the bits of %s as %s", sp.DType, bits)
		}
	}
	return 0, a.errorf("array %q is %s; expected %s", name, h, want)
}

// elementTypes are NumPy's types.
var elementTypes = map[npy.DType]probes.DType{
	npy.F16: probes.F16, npy.F32: probes.F32, npy.F64: probes.F64, npy.I8: probes.I8, npy.I16: probes.I16,
	npy.I32: probes.I32, npy.I64: probes.I64,
	npy.U8: probes.U8, npy.U16: probes.U16, npy.U32: probes.U32, npy.U64: probes.U64, npy.Bool: probes.U8,
}

// wholeShape compares an array with the extents of a whole argument: those that the manifest gives it, or
// those that its stage has it in. An argument of one dimension is memory of so many elements, which an array
// of any shape fills row by row.
func (a *Archive) wholeShape(name string, h npy.Header, sp *probes.StagePlan) error {
	shapes := [][]int{sp.Capture.Dims}
	for _, x := range a.plan.Args {
		if x.Name == sp.Capture.Output && !slices.Equal(x.Dims, sp.Capture.Dims) {
			shapes = append(shapes, x.Dims)
		}
	}
	var want []string
	for _, s := range shapes {
		if slices.Equal(h.Shape, s) || len(s) == 1 && probes.Elems(h.Shape) == s[0] {
			return nil
		}
		want = append(want, extents(s))
	}
	hint := ""
	if !sp.OfLaunch() {
		hint = fmt.Sprintf("; an array of its tiles is called %q", tilePrefix+sp.Stage.String())
	}
	return a.errorf("array %q is %s; expected %s, as argument %s%s", name, h, strings.Join(want, " or "),
		sp.Capture.Output, hint)
}

// tileShape compares an array with the tiles of a stage.
func (a *Archive) tileShape(ctx context.Context, name string, h npy.Header, sp *probes.StagePlan) error {
	if err := a.readBlocks(ctx); err != nil {
		return err
	}
	each := 1
	if sp.PerTile {
		each = a.plan.Work.MaxTiles
	}
	n := a.plan.Grid.Count()
	if a.blocks != nil {
		n = len(a.blocks)
	}
	if want := []int{n, each, sp.Rows, sp.Cols}; !slices.Equal(h.Shape, want) {
		return a.errorf("array %q is %s; expected %s: blocks, %ss, rows and columns of %s", name, h,
			extents(want), a.plan.Work.TileName(), sp.Stage)
	}
	return nil
}

func extents(dims []int) string {
	out := make([]string, len(dims))
	for i, d := range dims {
		out[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// readBlocks reads which blocks the tiles are of, where the archive says so.
func (a *Archive) readBlocks(ctx context.Context) error {
	h, ok, err := a.archive.Header(blocksArray)
	if err != nil || !ok || a.blocks != nil {
		return err
	}
	t := elementTypes[h.DType]
	if t.Float() || len(h.Shape) != 2 || h.Shape[1] != 3 || h.Shape[0] > a.plan.Grid.Count() {
		return a.errorf("array %q is %s; expected integers [N,3], the tiles' blocks", blocksArray, h)
	}
	array, err := a.array(ctx, blocksArray)
	if err != nil {
		return err
	}
	x := probes.Tile{DType: t, Rows: h.Shape[0], Cols: 3, Data: array.Data}
	blocks := map[probes.Dim3]int{}
	for i := range h.Shape[0] {
		var b probes.Dim3
		for d := range b {
			v := x.At(i, d)
			if !(v >= 0 && v < float64(a.plan.Grid[d])) {
				return a.errorf("array %q: row %d lies outside the grid %s", blocksArray, i, a.plan.Grid)
			}
			b[d] = int(v)
		}
		if _, twice := blocks[b]; twice {
			return a.errorf("array %q: block %s is there twice", blocksArray, b)
		}
		blocks[b] = i
	}
	a.blocks = blocks
	return nil
}

// missing reads which cells of tiles were captured; nil where the archive does not say so.
func (a *Archive) missing(ctx context.Context, name string, of npy.Header) ([]byte, error) {
	h, ok, err := a.archive.Header(name)
	if err != nil || !ok {
		return nil, err
	}
	if h.DType != npy.Bool || !slices.Equal(h.Shape, of.Shape) {
		return nil, a.errorf("array %q is %s; expected b1%s", name, h, extents(of.Shape))
	}
	array, err := a.array(ctx, name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(array.Data, 0) {
		return nil, nil
	}
	out := slices.Clone(array.Data)
	for i := range out {
		out[i] ^= 1
	}
	return out, nil
}

// array reads an array once.
func (a *Archive) array(ctx context.Context, name string) (*npy.Array, error) {
	if x := a.read[name]; x != nil {
		return x, nil
	}
	h, ok, err := a.archive.Header(name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, a.errorf("there is no array %q", name)
	}
	n, fits := h.Elems()
	if !fits {
		return nil, a.errorf("array %q is %s: too large", name, h)
	}
	give, err := a.memory.Reserve("array "+name+" of a reference",
		budget.Mul(int64(n), int64(h.DType.Size())))
	if err != nil {
		return nil, err
	}
	a.release = append(a.release, give)
	x, err := a.archive.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	a.read[name] = x
	return x, nil
}

// numbers reads the elements of an array that a stage is compared with, and refuses those that no kernel
// could leave: integers that its type does not have, and an array of floating-point numbers none of which is
// finite.
func (a *Archive) numbers(ctx context.Context, name string, t probes.DType, sp *probes.StagePlan) ([]byte,
	error) {
	x, err := a.array(ctx, name)
	if err != nil {
		return nil, err
	}
	n := len(x.Data) / t.Size()
	cells := probes.Tile{DType: t, Rows: 1, Cols: n, Data: x.Data}
	if !t.Float() {
		lo, hi := integerRange(sp.DType)
		for i := range n {
			if i%lookEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			switch v := cells.At(0, i); {
			case math.Abs(v) >= 1<<53:
				return nil, a.errorf(
					"array %q: element %v is %s, beyond ±2^53, which is not compared exactly",
					name, probes.Index(i, x.Shape), integerText(t, cells.Bits(0, i)))
			case v < lo || v > hi:
				return nil, a.errorf("array %q: element %v is %.0f, which %s does not have", name,
					probes.Index(i, x.Shape), v, sp.DType)
			}
		}
		return x.Data, nil
	}
	for i := range n {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if v := cells.At(0, i); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return x.Data, nil
		}
	}
	return nil, a.errorf("array %q: none of its %d elements is a finite number (the first is %v)", name, n,
		cells.At(0, 0))
}

// lookEvery is how many elements are looked at between two looks at the context.
const lookEvery = 1 << 16

// integerRange is what an integer type holds, as far as float64 has it exactly.
func integerRange(t probes.DType) (lo, hi float64) {
	bits := 8 * t.Size()
	switch t {
	case probes.U8, probes.U16, probes.U32, probes.U64:
		return 0, math.Ldexp(1, bits) - 1
	}
	return -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1) - 1
}

// integerText writes a 64-bit integer.
func integerText(t probes.DType, bits uint64) string {
	if t == probes.I64 {
		return strconv.FormatInt(int64(bits), 10)
	}
	return strconv.FormatUint(bits, 10)
}

// Input is what the launch is given under a name.
type Input struct {
	Name  string // in the archive
	DType probes.DType
	Dims  []int
	Data  []byte // little endian
}

// Differs compares the arrays that the archive has of a launch's inputs with them: its numbers are those of
// other inputs where one is not the same. Arrays of another type or shape are something else of that name.
func (a *Archive) Differs(ctx context.Context, inputs []Input) error {
	for _, in := range inputs {
		h, ok, err := a.archive.Header(in.Name)
		if err != nil {
			return err
		}
		if !ok || !slices.Equal(h.Shape, in.Dims) || h.DType.Size() != in.DType.Size() ||
			elementTypes[h.DType].Float() && elementTypes[h.DType] != in.DType {
			continue
		}
		x, err := a.array(ctx, in.Name)
		if err != nil {
			return err
		}
		size := in.DType.Size()
		for i := 0; i < len(in.Data) && i < len(x.Data); i += size {
			if string(x.Data[i:i+size]) != string(in.Data[i:i+size]) {
				return a.errorf("array %q is not the launch's %s: element %v is 0x%s there, 0x%s here; "+
					"these are references of other inputs (another seed or shape?)",
					in.Name, in.Name, probes.Index(i/size, in.Dims), hexBits(x.Data[i:i+size]),
					hexBits(in.Data[i:i+size]))
			}
		}
	}
	return nil
}

// hexBits writes the bits of an element.
func hexBits(b []byte) string {
	var w [8]byte
	copy(w[:], b)
	return fmt.Sprintf("%0*x", 2*len(b), binary.LittleEndian.Uint64(w[:]))
}

// whole is an array of a whole argument.
type whole struct {
	sp    *probes.StagePlan
	dtype probes.DType
	data  []byte
}

// DType implements Values.
func (w *whole) DType() probes.DType { return w.dtype }

// Covers implements Values.
func (w *whole) Covers(probes.Dim3) bool { return true }

// Tile implements Values.
func (w *whole) Tile(block probes.Dim3, kv int) func(dst []float64, row int) {
	cells := probes.Tile{DType: w.dtype, Rows: 1, Data: w.data}
	if w.sp.OfLaunch() {
		return func(dst []float64, row int) {
			for i := range dst {
				dst[i] = cells.At(0, row*w.sp.Cols+i)
			}
		}
	}
	at := w.sp.InArgument(block, kv)
	return func(dst []float64, row int) {
		for col := range dst {
			if dst[col] = 0; row < at.Rows && col < at.Cols {
				dst[col] = cells.At(0, at.Element(row, col))
			}
		}
	}
}

// tiles is an array of a stage's tiles, [blocks, each, rows, cols].
type tiles struct {
	sp      *probes.StagePlan
	dtype   probes.DType
	data    []byte
	each    int
	grid    probes.Dim3
	blocks  map[probes.Dim3]int // nil: those of the grid
	missing []byte              // 1 for each cell that has no number; nil: all have one
}

// DType implements Values.
func (t *tiles) DType() probes.DType { return t.dtype }

// Covers implements Values.
func (t *tiles) Covers(block probes.Dim3) bool {
	_, ok := t.blocks[block]
	return ok || t.blocks == nil
}

// Tile implements Values.
func (t *tiles) Tile(block probes.Dim3, kv int) func(dst []float64, row int) {
	b := t.grid.Linear(block)
	if t.blocks != nil {
		b = t.blocks[block]
	}
	if !t.sp.PerTile {
		kv = 0
	}
	cells := probes.Tile{DType: t.dtype, Rows: 1, Data: t.data}
	return func(dst []float64, row int) {
		at := ((b*t.each+kv)*t.sp.Rows + row) * t.sp.Cols
		for col := range dst {
			if dst[col] = cells.At(0, at+col); t.missing != nil && t.missing[at+col] != 0 {
				dst[col] = math.NaN()
			}
		}
	}
}
