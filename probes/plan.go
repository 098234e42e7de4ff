package probes

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/tensormap"
)

// Plan is a manifest resolved for one variant, shape and gate: numbers only. configs makes it; nobody else
// evaluates an expression. It is immutable once made.
type Plan struct {
	Kernel string // manifest name
	Entry  string // entry function in the module
	Shape  Shape
	Gate   GatePlan
	Consts map[string]int // tile constants (TILE_M, …) and flag values

	Grid, Block Dim3
	DynShared   int  // dynamic shared bytes
	Cluster     Dim3 // blocks of a cluster; zero: none is given
	Cooperative bool // blocks may rely on being resident together

	Args   []Arg
	Inputs []Input // the tensors that the launch reads, in the order of Args
	// Computed is what the inputs that follow from others are; nil: there are none.
	Computed *Computed
	Shared   []SharedArray
	Stages   []StagePlan // in the manifest's order; those the build has
	// Undeclared are the stages that others are computed from by definition and that the build does not have:
	// only Stage, Phase, Axes, Help, Operands, Loaded, PerTile, and Rows and Cols as the other stages have
	// them (else 1) mean something.
	Undeclared []StagePlan
	// Memory are pointer arguments as tiles that a launch has once. Of a kernel without stages they are all
	// of them: NAME as the launch left it, in_NAME as it was before. Of one with stages they are the outputs
	// with a reference that no stage is cut out of.
	Memory []StagePlan
	// Conventional says that Output and all that it is computed from have the operators of the conventions:
	// it is attention's.
	Conventional bool
	// Positions: named positions of blocks and iterations in the problem, in the manifest's order
	Positions []Position
	Work      Work
	Scale     float64 // softmax_scale as float32 widened: what the kernel is given
	Quant     *Quantiser
	Limits    Limits
}

// Stage returns the plan of stage s, or of the argument of that name among Memory; nil where the
// kernel has neither.
func (p *Plan) Stage(s Stage) *StagePlan {
	for _, sp := range p.Tiles() {
		if sp.Stage == s {
			return sp
		}
	}
	return nil
}

// Tiles iterates over all that a run has tiles of, by index: Stages, then Memory.
func (p *Plan) Tiles() iter.Seq2[int, *StagePlan] {
	return func(yield func(int, *StagePlan) bool) {
		for i := range p.Stages {
			if !yield(i, &p.Stages[i]) {
				return
			}
		}
		for i := range p.Memory {
			if !yield(len(p.Stages)+i, &p.Memory[i]) {
				return
			}
		}
	}
}

// Stageless reports whether the kernel has no stages: all that is shown of it are its arguments.
func (p *Plan) Stageless() bool { return len(p.Stages) == 0 }

// Referenced reports whether a stage or an argument is compared with a reference.
func (p *Plan) Referenced() bool {
	for _, sp := range p.Tiles() {
		if sp.Referenced() {
			return true
		}
	}
	return false
}

// Referenced reports whether the stage is compared with a reference: with arrays, or with what
// its operators compute.
func (sp *StagePlan) Referenced() bool {
	return sp.Reference.Arrays() || sp.Reference.Kind == ReferenceGraph && sp.Op != nil
}

// Unreferenced reports whether the manifest says that the stage is compared with nothing, whether or not
// it has an operator.
func (sp *StagePlan) Unreferenced() bool { return sp.Reference.Kind == ReferenceNone }

// OfLaunch reports whether the launch has one tile of it, not each block: it is an argument of Plan.Memory.
func (sp *StagePlan) OfLaunch() bool { return sp.Capture.Kind == CaptureMemory }

// Definition returns what is known of stage s whether or not the build has it: see Undeclared. It is nil for
// a stage that neither the build has nor another stage is computed from.
func (p *Plan) Definition(s Stage) *StagePlan {
	for i := range p.Undeclared {
		if p.Undeclared[i].Stage == s {
			return &p.Undeclared[i]
		}
	}
	return p.Stage(s)
}

// Definitions lists the stages of the build and those that they are computed from, by slot: in the
// order of computation.
func (p *Plan) Definitions() []*StagePlan {
	var out []*StagePlan
	for _, list := range [2][]StagePlan{p.Stages, p.Undeclared} {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *StagePlan) int { return a.Slot - b.Slot })
	return out
}

// Parameters returns the arguments that are parameters of the kernel.
func (p *Plan) Parameters() []Arg {
	n := len(p.Args)
	for n > 0 && p.Args[n-1].Into != nil {
		n--
	}
	return p.Args[:n]
}

// Arg returns the argument of that name, nil where there is none.
func (p *Plan) Arg(name string) *Arg {
	for i := range p.Args {
		if p.Args[i].Name == name {
			return &p.Args[i]
		}
	}
	return nil
}

// Index is a stage's place among Tiles; one past the last where there is none of that name.
func (p *Plan) Index(s Stage) int {
	for i, sp := range p.Tiles() {
		if sp.Stage == s {
			return i
		}
	}
	return len(p.Stages) + len(p.Memory)
}

// Ordered returns a set's stages in the plan's order.
func (p *Plan) Ordered(set StageSet) StageSet {
	out := slices.Clone(set)
	slices.SortStableFunc(out, func(a, b Stage) int { return p.Index(a) - p.Index(b) })
	return out
}

// OutputSet is Output and the other stages that are cut out of an output argument: empty, and not nil,
// where there is none.
func (p *Plan) OutputSet() StageSet {
	out := StageSet{}
	if sp := p.Output(); sp != nil {
		out = append(out, sp.Stage)
	}
	for i := range p.Stages {
		if sp := &p.Stages[i]; sp.Capture.Kind == CaptureOutput && !out.Has(sp.Stage) {
			out = append(out, sp.Stage)
		}
	}
	return out
}

// TileElems is how many elements the stages of one kv tile have together, those that the build does
// not have among them.
func (p *Plan) TileElems() int {
	n := 0
	for _, list := range [2][]StagePlan{p.Stages, p.Undeclared} {
		for i := range list {
			if list[i].Phase == PhaseEach {
				n += list[i].Rows * list[i].Cols
			}
		}
	}
	return n
}

// Output returns the stage that is the kernel's result: the one that is cut out of an output argument, else
// the last one that is computed after the loop; nil where the kernel has neither.
func (p *Plan) Output() *StagePlan {
	var out *StagePlan
	for i := range p.Stages {
		switch sp := &p.Stages[i]; {
		case sp.Capture.Kind == CaptureOutput:
			return sp
		case sp.Phase == PhaseAfter:
			out = sp
		}
	}
	return out
}

// Results lists the arguments that hold the kernel's results: the one of Output, then the others that
// stages are cut out of.
func (p *Plan) Results() []Arg {
	var out []Arg
	first := p.OutputArg()
	for _, a := range p.Args {
		cut := slices.ContainsFunc(p.Stages, func(sp StagePlan) bool {
			return sp.Capture.Kind == CaptureOutput && sp.Capture.Output == a.Name
		})
		switch {
		case a.Name == first && first != "":
			out = append([]Arg{a}, out...)
		case cut:
			out = append(out, a)
		}
	}
	return out
}

// Unjudged lists the outputs that nothing compares: no stage with a reference is cut out of them, and they
// have none of their own.
func (p *Plan) Unjudged() []string {
	var out []string
	for _, a := range p.Args {
		of := func(sp StagePlan) bool { return sp.Capture.Output == a.Name && sp.Referenced() }
		if a.Role == RoleOutput && !slices.ContainsFunc(p.Stages, of) && !slices.ContainsFunc(p.Memory, of) {
			out = append(out, a.Name)
		}
	}
	return out
}

// OutputDims returns the extents of the output argument, as the position of its stage's tiles has them.
func (p *Plan) OutputDims() []int {
	if sp := p.Output(); sp != nil && sp.Capture.Dims != nil {
		return sp.Capture.Dims
	}
	for _, a := range p.Args {
		if a.Name == p.OutputArg() {
			return a.Dims
		}
	}
	return nil
}

// OutputArg is the argument that the kernel's result is written to: the one that a stage is cut out of, else
// the first output that names a tensor, else the first output; "" where there is none.
func (p *Plan) OutputArg() string {
	if sp := p.Output(); sp != nil && sp.Capture.Kind == CaptureOutput {
		return sp.Capture.Output
	}
	first := ""
	for _, a := range p.Args {
		switch {
		case a.Role != RoleOutput:
		case a.Tensor != "":
			return a.Name
		case first == "":
			first = a.Name
		}
	}
	return first
}

// Arg is one kernel parameter, in signature order (the probe parameter, always last, is not listed).
type Arg struct {
	Name  string
	DType DType
	// Pointer arguments: Dims is the tensor's extent and Role what the host does with it.
	Pointer bool
	Dims    []int
	// Strides are, by dimension, how many elements of memory lie from one index to the next; nil:
	// row-major without gaps.
	Strides []int
	Role    Role
	Tensor  string // the name of the tensor that it is; of a quantised input X the scales are Xs
	// Of RoleInOut: what it holds before the launch, little endian; nil: Fill is the rule by
	// which that is made.
	Contents []byte
	// Known is, for each byte of Contents, 0xff where it was written before the launch and 0 where it was
	// not; nil: all were.
	Known []byte
	Fill  Fill
	// After is the argument's contents after the launch where they were recorded, and AfterKnown which of its
	// bytes were, as Known has it; nil where nothing was.
	After, AfterKnown []byte
	// Into are the places in scalars of other arguments that get the buffer's address: it is then no
	// parameter, and follows all that are.
	Into []ArgPlace
	// Scalars: the value, in DType's bits; of more than 8 bytes (a struct) Data.
	Bits uint64
	Data []byte
	// Map is the tensor map that a parameter of 128 bytes is, Data its place; nil: it is none.
	Map *ArgMap
}

// ArgMap is a tensor map of the buffer of argument Of, from its byte Skip on.
type ArgMap struct {
	tensormap.Map
	Of   int
	Skip int64
}

// ArgPlace is a byte of an argument's scalar. What is written there is the address of the buffer's byte Skip.
type ArgPlace struct {
	Arg, Offset int
	Skip        int64
}

// Filled reports whether a pointer argument holds something before the launch.
func (a Arg) Filled() bool {
	return a.Role == RoleInput || a.Role == RoleInOut && (a.Contents != nil || a.Fill.Kind != FillUnwritten)
}

// Bytes returns how many bytes the parameter takes, of a pointer those of an address.
func (a Arg) Bytes(address int) int {
	switch {
	case a.Pointer:
		return address
	case a.Data != nil:
		return len(a.Data)
	}
	return a.DType.Size()
}

// Elems returns the number of elements behind a pointer argument.
func (a Arg) Elems() int { return Elems(a.Dims) }

// Elems returns how many elements an array of some extents has.
func Elems(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Index returns the index, by dimension, of an element of a row-major array.
func Index(element int, dims []int) []int {
	out := make([]int, len(dims))
	for d := len(dims) - 1; d >= 0; d-- {
		out[d], element = element%dims[d], element/dims[d]
	}
	return out
}

// Input is a tensor that a launch reads: what operators and --inputs know by name.
type Input struct {
	Name  string
	Arg   int   // its place among Args
	Dims  []int // row-major; of as many elements as the argument
	Fill  Fill
	Coded bool // the argument holds codes of the quantiser, one scale for each index of its dimension Along
	// Scales is the argument that holds the scales of a coded input, -1 where none does.
	Scales int
}

// Elems returns the number of elements.
func (in *Input) Elems() int { return Elems(in.Dims) }

// Input returns the input of that name, nil where the launch reads none.
func (p *Plan) Input(name string) *Input {
	for i := range p.Inputs {
		if p.Inputs[i].Name == name {
			return &p.Inputs[i]
		}
	}
	return nil
}

// Fill says what an input holds where no file does.
type Fill struct {
	Kind   FillKind
	Lo, Hi int64     // of FillRandInt: from Lo to Hi, both included
	Values []float64 // of FillValues: one for each element, row-major
}

// Text is the rule in words: "random from 0 to 8", "zeros".
func (f Fill) Text() string {
	switch f.Kind {
	case FillRandn, FillBelow, FillAbove, FillLarge:
		return "random, normally distributed"
	case FillRand:
		return "random from 0 to 1"
	case FillRandInt:
		return fmt.Sprintf("random from %d to %d", f.Lo, f.Hi)
	case FillZeros:
		return "zeros"
	case FillOnes:
		return "ones"
	case FillIota:
		return "0, 1, 2, …"
	case FillNaN:
		return "NaN"
	case FillInf:
		return "infinity"
	case FillNegInf:
		return "minus infinity"
	case FillUnwritten:
		return "not written"
	case FillValues:
		return "listed numbers"
	case FillComputed:
		return "computed"
	}
	return ""
}

// Computed is the computation of inputs from others: a plan whose stages are cut out of the arguments that
// they are. Nothing is launched.
type Computed struct {
	*Plan
	Text string // as the manifest has it
}

// FillKind is a rule that makes an element from the seed, the argument's index and the element's.
type FillKind uint8

const (
	FillRandn     FillKind = iota // standard normal
	FillRand                      // uniform in [0, 1)
	FillZeros                     // 0
	FillOnes                      // 1
	FillIota                      // 0, 1, 2, ...
	FillRandInt                   // whole numbers from Lo to Hi
	FillNaN                       // not a number
	FillInf                       // plus infinity
	FillNegInf                    // minus infinity
	FillUnwritten                 // nothing: reading it before it is written is a finding
	FillValues                    // numbers that the manifest lists
	FillComputed                  // what Plan.Computed gives
	FillBelow                     // minus the absolute value of a standard normal number
	FillAbove                     // the absolute value of a standard normal number
	FillLarge                     // eight times a standard normal number
)

// Position is where blocks and iterations are in the problem: a name of the manifest's work.
type Position struct {
	Name string
	At   Extent
}

// Position returns the position of that name: 0 everywhere where there is none.
func (p *Plan) Position(name string) Extent {
	for _, x := range p.Positions {
		if x.Name == name {
			return x.At
		}
	}
	return Fixed(0)
}

// Role says what a pointer argument is for.
type Role uint8

const (
	RoleNone   Role = iota
	RoleInput       // filled from the inputs before a launch
	RoleOutput      // unwritten before a launch, read after it
	RoleInOut       // filled before a launch, read after it: no tensor that stages know by name
)

// SharedArray is a shared variable, or a part of a dynamic shared one, as the manifest names it.
type SharedArray struct {
	Name   string
	DType  DType
	Dims   []int
	Within string // the extern symbol it is a part of, "" for a variable of its own
	Offset int    // bytes from the start of Within
	Bytes  int
}

// Extent is a number that may depend on block and kv tile. Missing dependencies have length 1.
type Extent struct {
	Dims   [4]int // bx, by, bz, kv: 1 where the value does not depend on it
	Values []int  // bx fastest
}

// At returns the value for a block and kv tile.
func (e Extent) At(block Dim3, kv int) int {
	i := 0
	for d, x := range [4]int{kv, block[2], block[1], block[0]} {
		n := e.Dims[3-d]
		i *= n
		if n > 1 {
			i += x
		}
	}
	return e.Values[i]
}

// Fixed returns an Extent that is v everywhere.
func Fixed(v int) Extent { return Extent{Dims: [4]int{1, 1, 1, 1}, Values: []int{v}} }

// Work is how many iterations the blocks have. Several loops are one: the iteration counts through
// the innermost first.
type Work struct {
	Tiles    Extent // of the block (kv ignored)
	MaxTiles int    // the largest of them
	Loops    []Loop // outermost first; empty where the manifest names none
	Once     bool   // the kernel has no loop over tiles: a block has one iteration, whatever the problem
}

// Loop is one of the loops whose product the iterations are.
type Loop struct {
	Name  string
	Count Extent // of the block
}

// LoopName is what the loop over tiles is called: "kv", or the loops' names with a dot between them; "loop"
// of a kernel whose manifest names none.
func (w *Work) LoopName() string {
	switch {
	case len(w.Loops) == 0 && w.Once:
		return "loop"
	case len(w.Loops) == 0:
		return "kv"
	}
	names := make([]string, len(w.Loops))
	for i, l := range w.Loops {
		names[i] = l.Name
	}
	return strings.Join(names, "·")
}

// TileName is what one iteration is called in messages: "kv tile", "k tile"; "tile" of a loop of that name;
// "iteration" of a loop without a name.
func (w *Work) TileName() string {
	if len(w.Loops) == 0 && w.Once {
		return "iteration"
	}
	name := w.LoopName()
	if name == "tile" || strings.HasSuffix(name, "_tile") || strings.HasSuffix(name, "·tile") {
		return name
	}
	return name + " tile"
}

// At names one iteration in a few columns: "kv 2", "tile 0".
func (w *Work) At(iter int) string { return w.LoopName() + " " + strconv.Itoa(iter) }

// Loop returns the index of each named loop in an iteration of a block; nil where no loop has a name, or the
// iteration is in none.
func (w *Work) Loop(block Dim3, iter int) map[string]int {
	if len(w.Loops) == 0 || iter < 0 || iter >= w.Tiles.At(block, 0) {
		return nil
	}
	out := map[string]int{}
	for i := len(w.Loops) - 1; i >= 0; i-- {
		n := max(1, w.Loops[i].Count.At(block, 0))
		out[w.Loops[i].Name] = iter % n
		iter /= n
	}
	return out
}

// Outside says what stands in a tile's cells beyond the valid ones. It is compared in the cells that a
// later stage's sum reads.
type Outside uint8

const (
	OutsideUnspecified Outside = iota
	OutsideZero
	OutsideNegInf
)

// Phase is when a stage is computed, relative to the loop over kv tiles.
type Phase uint8

const (
	PhaseEach   Phase = iota // in each kv tile
	PhaseBefore              // once, before the loop: documents name its kv tile -1
	PhaseAfter               // once, after the loop: documents name the number of kv tiles
)

// KVTile returns the kv tile that documents name for a tile of the stage: kv in the loop of the given number
// of kv tiles, -1 before it, tiles after it.
func (sp *StagePlan) KVTile(kv, tiles int) int {
	switch sp.Phase {
	case PhaseBefore:
		return -1
	case PhaseAfter:
		return tiles
	}
	return kv
}

// Natural is how many natural units one of the stage's own is.
func (sp *StagePlan) Natural() float64 {
	if sp.Unit == 0 {
		return 1
	}
	return sp.Unit
}

// StagePlan describes one captured stage.
type StagePlan struct {
	Stage Stage
	// Slot is the stage's id in the control block and in tilescope.cuh, 0 to 15; from MaxSlots on that of a
	// stage that no block captures.
	Slot  int
	Phase Phase
	Axes  [2]string // what rows and columns are: stages that share an axis have the same extent of it
	Help  string    // what the stage is, in one line; "" where it is not given
	// Operands are the stages that it is computed from by definition, itself where it uses its own
	// value after the kv tile before. Loaded stages are computed from none: they are copied or
	// decoded from an argument.
	Operands             StageSet
	Loaded               bool
	DType                DType
	Rows, Cols           int
	PerTile              bool // one tile for each kv tile, else one a block
	ValidRows, ValidCols Extent
	Outside              Outside
	Meaning              Meaning
	From                 StageSet // as the manifest says: the captured stages it may be judged from
	Compute              Compute
	Capture              Capture
	Op                   *Node // what it computes; nil: not declared; the stage is compared with nothing
	// Unit: see Natural: natural units for one of its own: softmax_scale for raw scores, ln 2 for
	// log2 maxima; 0 means 1
	Unit      float64
	Reference Reference
	Tolerance Tolerance
	Deferred  bool // it is captured after what is computed from it in the same iteration
	// Cells is, for each element of the tile as it is captured, in order, the cell that it is; nil: elements
	// are captured row-major.
	Cells      []int
	Array      string // shared array that holds it, "" for registers or global memory
	Transposed bool   // the array holds [cols][rows]
}

// Meaning fixes what a stage's numbers mean.
type Meaning struct {
	Scaled     bool // S: softmax_scale already applied
	Log2       bool // m: in the log2 domain (scores multiplied by log2 e)
	Normalised bool // P: divided by l
}

// Unit is what computes a stage's sums of products.
type Unit uint8

const (
	UnitNone    Unit = iota // elementwise
	UnitFMA                 // a chain of fused multiply-adds
	UnitMulAdd              // separate mul and add
	UnitTensor              // tensor core, blocks of K products
	UnitShuffle             // tree over lanes
)

// Compute describes how the kernel evaluates a stage, for the mirrored reference and for error bounds.
type Compute struct {
	Unit  Unit
	Acc   DType  // accumulator
	Block int    // products per tensor-core instruction (16)
	Split int    // independent partial sums merged at the end (1: none)
	Exp   string // "ex2.approx" (mul by log2 e, then ex2), "expf", … ; "" where the stage has no exponential

	// By is the instruction that evaluates another function, by the function's name: tanh by "tanh.approx";
	// nil: none is named.
	By map[string]string
}

// CaptureKind says how a stage is taken.
type CaptureKind uint8

const (
	CaptureNone     CaptureKind = iota
	CaptureProbe                // TS_TILE, TS_VEC, TS_OWN in the source
	CaptureFrag                 // TS_FRAG: raw fragment, mapped on the host
	CaptureShared               // the emulator copies a shared array at a place
	CaptureOutput               // cut out of an output argument after the launch
	CaptureMemory               // a whole argument, of Plan.Memory alone
	CaptureRegister             // threads' registers at instructions of the kernel, gathered into a tile
)

// Named reports whether From names every operand of the stage that is a stage of the plan: only then may the
// stage be judged from the kernel's own tiles.
func (p *Plan) Named(s Stage) bool {
	sp := p.Stage(s)
	if sp == nil {
		return false
	}
	for _, n := range sp.Operands {
		if p.Stage(n) != nil && !sp.From.Has(n) {
			return false
		}
	}
	return true
}

// Ancestors returns the stages that s is computed from, directly or through others, by definition or by the
// manifest's from; s itself where it carries over from kv tile to kv tile.
func (p *Plan) Ancestors(s Stage) StageSet {
	var all StageSet
	grow := func(n Stage) {
		if sp := p.Definition(n); sp != nil {
			all = all.Union(sp.Operands).Union(sp.From)
		}
	}
	grow(s)
	for i := 0; i < len(all); i++ {
		grow(all[i])
	}
	return all
}

// Capture is a manifest's `capture`, resolved. Lines are in the kernel's own source file.
type Capture struct {
	Kind   CaptureKind
	Shared string // CaptureShared: which array
	// AtLine: when the last warp has passed this line; a line with a block barrier: when that completes
	AtLine    int
	Pass      int // of the line, in a kv tile: from 1, or PassLast; 0: it is passed once
	AtBarrier int // or: after N (from 1) block barriers since TileLine was reached
	TileLine  int // the kv tile is how often the block has reached this line, less one
	// Of CaptureRegister: where registers are read; TilePTX is a line of the PTX that begins an iteration, in
	// the place of TileLine. Sum: what threads have for one cell is added, else they must have the same.
	Takes   []Take
	TilePTX int
	Sum     bool
	Output  string // CaptureOutput, CaptureMemory: which argument
	Before  bool   // CaptureMemory: as it was before the launch
	// Of CaptureOutput: where the tile's first cell is, by dimension of the argument, and the dimensions that
	// rows and columns run along, -1 for a tile of one row or column.
	// Dims: of the argument (of CaptureMemory too); of one that is written as a flat list those of the
	// conventional output
	Dims       []int
	At         []Extent
	Rows, Cols int
	// Of CaptureMemory: how Dims lie in memory, where the tile is by index. nil: the tile is the
	// memory as it lies.
	Strides []int
}

// PassLast is the last time in a kv tile that a line is passed.
const PassLast = -1

// Quantiser is the host's encoding of the inputs.
type Quantiser struct {
	Kind         string  // "sim-fp8"
	Levels       float64 // 127: codes on each side of Zero
	Zero         int     // 128
	Max          float64 // 448
	EncodeLevels float64 // the multiplier the encoder uses: Levels, but for fault quant-127.5
	Along        int     // the dimension of a tensor whose indices have scales of their own: heads
}

// Limits are the manifest's gates.
type Limits struct {
	MaxAbs, MeanAbs, BadFraction   float64
	Registers, SharedBytes, Spills int
	MinSpeedup                     float64
}
