package configs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"tilescope/debugkern/file"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// Schema is the manifest format this package reads.
const Schema = "tilescope.kernel/1"

// Manifest is everything known about one kernel. It is immutable and may be shared.
type Manifest struct {
	File string // as given: for messages
	// Dir: the manifest's directory; "" for an embedded one, whose Source is looked up among the kernels
	Dir string

	Name, Title string
	Source      string // CUDA C++, relative to Dir; "" where PTX is given
	PTX         string // the user's own PTX, relative to Dir; "" where Source is given
	Entry       string
	Compile     Compile // of Source
	Guesses     []int   // lines that are marked as guesses of init, from 1
	LaunchGuess int     // the first of them that says the grid or the block, 0 where none does
	OutputGuess int     // the first of them that says what the output may be off, 0 where none does
	extents     []int   // of Guesses, those by which the extent of a buffer is one
	keyLines    []int   // where its own keys stand

	Constants []Constant
	Requires  []Requirement
	Launch    Launch
	Args      []Arg
	Scale     *Expr // what scores are multiplied by, where no argument says it; nil: see Selection.Resolve
	Quantiser *probes.Quantiser
	Dims      []Dimension
	Work      *Work // nil where the manifest has neither work nor loops
	Loops     []Loop
	Shared    []Shared
	Flags     []Flag
	Variants  []Variant // never empty
	Default   string    // a variant's name
	Gates     []Gate    // the first is no gate at all
	// Computed: what inputs with the fill `computed` follow from: stages over the same arguments;
	// nil: there are none
	Computed *Manifest
	// Stages: each after those that it is computed from; of several entries for one stage the first
	// whose When holds counts
	Stages     []Stage
	Shapes     []NamedShape
	Thresholds probes.Limits
	Speedups   []Speedup // of the performance gate: the first whose When holds replaces Thresholds.MinSpeedup
	Faults     []Fault
	References map[string]probes.Reference // those that have a name

	scope *scope
	// compiled: what operators' texts compile to: *Expr by compiledKey, and the scope of a tile's cells
	compiled  *sync.Map
	slots     map[probes.Stage]int // ids in the control block
	positions []string             // names of work, in order

	computedText string // of Computed, as it is written
	hostOnly     bool   // it is another's Computed
}

// Constant is a tile constant: a number, or an expression over flags and earlier constants.
type Constant struct {
	Name  string
	Value *Expr
	slot  int
}

// Requirement is a condition on the shape, and what to say where it does not hold.
type Requirement struct {
	That *Expr
	Say  string
}

// Speedup is how many times as fast as another target a variant has to be where When holds.
type Speedup struct {
	When *Expr // nil: always
	Min  float64
}

// Launch is the geometry; Shared the dynamic shared bytes, Cluster the blocks of a cluster (nil: none is
// given). Cooperative: blocks may rely on being resident together.
type Launch struct {
	Grid, Block [3]*Expr
	Shared      *Expr
	Cluster     []*Expr
	Cooperative bool
}

// Arg is a kernel parameter as written.
type Arg struct {
	Name    string
	DType   probes.DType
	Pointer bool
	Dims    []*Expr
	Strides []*Expr // nil: row-major without gaps
	Role    probes.Role
	Tensor  string
	Fill    *Fill // of an input; nil: standard normal
	Value   *Expr // scalars
	IsScale bool  // the scalar that scores are multiplied by
	// Reference is what the argument is compared with after the launch, of an output; a stage that is cut out
	// of it is compared instead.
	Reference  probes.Reference
	Tolerance  probes.Tolerance
	referenced bool // Reference is given
	at         place
	given      *probes.Arg // of a FileLaunch: all that resolving would give
	Size       int         // bytes of a struct passed by value; 0: it is none
	// Fields: of a struct: its numbers. Its pointers are arguments with Within, behind all parameters
	Fields []Field
	Within *Field // a pointer in a struct: whose field it is; nil: a parameter
	Map    *ArgMap
	Apart  bool // a pointer that is no parameter: only tensor maps lead to it
}

// ArgMap is the tensor map that an argument is. Expressions are by dimension, the innermost last.
type ArgMap struct {
	tensormap.Spec // what is no expression
	Of             string
	Box            []*Expr
	Dims           []*Expr // nil: the memory's
	Strides        []*Expr // bytes; nil: without gaps
	Steps          []*Expr // nil: 1 each
	Offset         *Expr   // nil: 0
	Swizzle        *Expr   // bytes; nil: the Spec has it
	at             place
}

// Field is a number or a pointer at a place of a struct that is passed by value.
type Field struct {
	Arg    int // which of the manifest's arguments the struct is
	Offset int // bytes from its start
	DType  probes.DType
	Value  *Expr // of a number
}

// Fill says what an input holds where no file does: a rule, of randint with its limits, or numbers: each of
// them, or one expression of an element's index.
type Fill struct {
	Kind   probes.FillKind
	Lo, Hi *Expr
	List   []*Expr
	Each   *Expr
	index  int // the slot of the element's index in Each
}

// Shared is a shared array, or a part (Within, Offset) of another symbol.
type Shared struct {
	Name   string
	DType  probes.DType
	Dims   []*Expr
	When   *Expr // nil: always there
	Within string
	Offset *Expr
	at     place
}

// Flag is a preprocessor symbol with the values it may take.
type Flag struct {
	Name      string
	Values    []int
	Default   int
	Help      string
	Requires  []*Expr // must hold where the flag is not 0
	Conflicts []*Expr // must not hold where the flag is not 0
	slot      int
}

// Variant is a named set of flags; it may carry faults.
type Variant struct {
	Name   string
	Help   string
	Flags  map[string]int // those that differ from the flags' defaults
	Faults []string
	at     place
}

// Gate is a DEBUG gate: which stages run and are judged under it, and which the host feeds in.
type Gate struct {
	Name     probes.Gate
	Define   string // "" for no gate
	Judged   probes.StageSet
	Injected probes.StageSet
	Uniform  bool // the uniform values may be fed in
	Help     string
	at       place
	whole    bool // the manifest says everything: its stages are looked up
}

// Definition is what a stage is, whatever build it is captured in.
type Definition struct {
	Axes  [2]string
	Phase probes.Phase
	Of    probes.StageSet // what it is computed from, itself where it carries over; empty: it is loaded
	Help  string
}

// Stage is one captured stage as written.
type Stage struct {
	Definition
	Stage        probes.Stage
	When         *Expr // nil: always
	DType        probes.DType
	Rows, Cols   *Expr
	ValidRows    *Expr
	ValidCols    *Expr
	PerTile      bool
	Outside      probes.Outside
	Meaning      probes.Meaning
	From         probes.StageSet
	Compute      []Compute // the first whose When holds counts; empty: elementwise
	Capture      probes.Capture
	Array        string
	Transposed   bool
	at           place
	captureField string
	output       *placement // of a tile that is cut out of an output; nil: the convention's
	takes        []take     // of a tile that is gathered from registers
	op           *operation // nil: the convention of its name
	unit         string     // natural units for one of its own; "": by scaled and domain
	fromOp       bool       // it may be judged from all that op is computed from
	index        string     // where in its array a cell lies; "": row-major
	reference    probes.Reference
	tolerance    probes.Tolerance
	referenced   bool // reference is given
	ordered      bool // the convention of its name says where it stands
}

// Compute says how the stage is evaluated, under a condition.
type Compute struct {
	When  *Expr
	Split *Expr // nil: 1
	probes.Compute
}

// NamedShape is a problem size with a name.
type NamedShape struct {
	Name  string
	Shape probes.Shape
	at    place
}

// Fault is a planted fault.
type Fault struct {
	Name         string
	Patch        string // a unified diff of the source, relative to Dir as Source is; "" for none
	Define       string // a symbol of expressions and of the compiler; "" for none
	Base         string // variant whose flags it needs
	Shape        string // name of a shape on which it shows
	Needs        *Expr  // nil: nothing
	Help         string
	Host         bool
	EncodeLevels float64 // 0: the quantiser's own
	Work         *Work   // overrides; nil fields keep the manifest's
	slot         int     // of Define; 0 for none
	at           place
}

// place is where something stands, for mistakes found after reading.
type place struct {
	line, col int
	field     string
}

func (m *Manifest) errorAt(p place, format string, args ...any) *Error {
	return &Error{m.File, p.line, p.col, p.field, fmt.Sprintf(format, args...)}
}

// LoadManifest reads the user's manifest. Mistakes come as *Errors. Where ctx ends first,
// the error wraps its.
func LoadManifest(ctx context.Context, path string) (*Manifest, error) {
	text, err := file.Read(ctx, path, maxFile, file.Want{What: "a manifest"})
	if err != nil {
		return nil, fmt.Errorf("load manifest: %w", err)
	}
	m, err := parseManifest(ctx, path, text)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("load manifest %s: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	m.Dir = filepath.Dir(path)
	return m, nil
}

// Flag returns the flag of that name, or nil.
func (m *Manifest) Flag(name string) *Flag {
	for i := range m.Flags {
		if m.Flags[i].Name == name {
			return &m.Flags[i]
		}
	}
	return nil
}

// Variant returns the variant of that name, or nil.
func (m *Manifest) Variant(name string) *Variant {
	for i := range m.Variants {
		if m.Variants[i].Name == name {
			return &m.Variants[i]
		}
	}
	return nil
}

// Gate returns the gate that text names, by name or symbol ("none" is no gate), or nil.
func (m *Manifest) Gate(text string) *Gate {
	for i := range m.Gates {
		if g := &m.Gates[i]; text == g.Name.String() || text != "" && text == g.Define {
			return g
		}
	}
	return nil
}

// gate returns the gate of that name, or nil.
func (m *Manifest) gate(name probes.Gate) *Gate { return m.Gate(name.String()) }

// GateNames lists the manifest's gates, none first.
func (m *Manifest) GateNames() []string {
	return names(m.Gates, func(g Gate) string { return g.Name.String() })
}

func (m *Manifest) hasStage(s probes.Stage) bool {
	return slices.ContainsFunc(m.Stages, func(x Stage) bool { return x.Stage == s })
}

// StageNames lists the manifest's stages, each once.
func (m *Manifest) StageNames() []string {
	out := []string{}
	for i, s := range m.Stages {
		if i == 0 || m.Stages[i-1].Stage != s.Stage {
			out = append(out, s.Stage.String())
		}
	}
	return out
}

// knownStages lists the conventional stages, and those of other names that the manifest has so far.
func (m *Manifest) knownStages() string {
	out := conventions().stageNames()
	for _, s := range m.StageNames() {
		if conventions().stage(probes.Stage(s)) == nil {
			out += " " + s
		}
	}
	return out
}

// carried lists the stages that use their own value after the kv tile before: the conventional ones
// and the manifest's.
func (m *Manifest) carried() []string {
	out := conventions().carried()
	for _, s := range m.Stages {
		if s.Of.Has(s.Stage) && !slices.Contains(out, string(s.Stage)) {
			out = append(out, string(s.Stage))
		}
	}
	return out
}

// Fault returns the fault of that name, or nil.
func (m *Manifest) Fault(name string) *Fault {
	for i := range m.Faults {
		if m.Faults[i].Name == name {
			return &m.Faults[i]
		}
	}
	return nil
}

// Shape returns the named shape.
func (m *Manifest) Shape(name string) (probes.Shape, bool) {
	for _, s := range m.Shapes {
		if s.Name == name {
			return s.Shape, true
		}
	}
	return probes.Shape{}, false
}

// SourcePath returns where the kernel's text is (Source or PTX): below Dir, or the bare name of
// an embedded source.
func (m *Manifest) SourcePath() string { return m.Path(m.Source + m.PTX) }

// Path is where a file that the manifest names is.
func (m *Manifest) Path(p string) string {
	if m.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(m.Dir, p)
}

func names[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = name(x)
	}
	return out
}

func (m *Manifest) flagNames() []string { return names(m.Flags, func(f Flag) string { return f.Name }) }
func (m *Manifest) variantNames() []string {
	return names(m.Variants, func(v Variant) string { return v.Name })
}
func (m *Manifest) faultNames() []string {
	return names(m.Faults, func(f Fault) string { return f.Name })
}
func (m *Manifest) shapeNames() []string {
	return names(m.Shapes, func(s NamedShape) string { return s.Name })
}
