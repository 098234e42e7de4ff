// Package target is the seam between the debugger and whatever executes a kernel: what a backend owes, and
// what it may offer beyond that.
//
// A backend owes one thing: load a module, launch it, give back memory, captured tiles, counts and findings.
// Everything else is a small interface of its own that a backend may offer and a caller asks for by type
// assertion (Stepper): nobody above this package asks which backend it has.
//
// It must not know manifests, references or verdicts: a launch is numbers (probes.Plan) and bytes.
package target

import (
	"context"
	"fmt"
	"time"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// Backend executes kernels. Its methods may be called from several goroutines; a backend bound to a
// thread serialises inside.
type Backend interface {
	Info() Info
	// Load prepares a module for launching its entry. What the backend cannot execute is an error here,
	// located in the PTX, never at launch: *ptx.Error for malformed or unmodelled text.
	Load(ctx context.Context, m *ptx.Module, entry string) (Kernel, error)
	Close() error
}

// Info identifies a backend in documents and on screen.
type Info struct {
	Name   string // "emu", "cuda"
	Device string // "emulator (sm_90 numerics)", "NVIDIA H200"
	Arch   string // "sm_90"
}

// Simulator is offered by backends that execute on the processors of the machine that tilescope itself needs.
// Their launches are deterministic, so that one shows what many would, and can be observed.
type Simulator interface {
	Simulates() string // the name of the chip's architecture, "sm_90"
}

// Simulated reports whether a backend is a Simulator.
func Simulated(b Backend) bool {
	_, ok := b.(Simulator)
	return ok
}

// Kernel is one loaded entry.
type Kernel interface {
	// Launch executes the whole grid, or the blocks that l.Only names, and waits. It honours ctx within 50
	// ms. A *Fault is an execution that could not go on; findings that execution survives are in the Result.
	Launch(ctx context.Context, l *Launch) (*Result, error)
	// Resources reports what the compiler allotted, or nil where this backend's code was never through ptxas.
	Resources() *Resources
}

// Stepper is offered by kernels whose execution can be watched: one block, instruction by instruction.
type Stepper interface {
	// Open prepares block id of a launch without executing anything. Memory is private to the Block: other
	// blocks' writes are not seen, which is what re-executing one block of a data-parallel kernel needs.
	Open(l *Launch, id probes.Dim3) (Block, error)
}

// Launch is everything one execution needs. It is read-only to backends.
type Launch struct {
	Grid, Block probes.Dim3
	// Cluster: blocks of a thread block cluster, the launch's attribute; zero: none. A kernel that is
	// compiled for clusters of a size (.reqnctapercluster) needs none.
	Cluster   probes.Dim3
	DynShared int
	Args      []Arg
	Shared    []probes.SharedArray // the manifest's names for shared memory, to report by
	Probe     *Probe               // nil for a plain build
	Only      []probes.Dim3        // nil: every block
	Schedule  Schedule
	// Budget: warp instructions a block may execute before it is called endless; 0: the backend's default
	Budget uint64
	// Ends is asked of each finding about an access of a Simulator's blocks when it is made first; true ends
	// the launch with a Fault of kind "finding". nil: no finding does. It is called by several goroutines.
	Ends func(*Finding) bool
	// Variant is what a Simulator's kernels read from %envreg31: a build that holds several kernels asks it
	// which is to be executed
	Variant uint32
	// Observe: per block, may be nil; a backend that cannot be observed ignores it
	Observe func(probes.Dim3) Observer
	// Discard is called where execution starts over and nothing that observers have seen so far
	// counts: Observe is then asked for each block again. Without it no such execution is observed,
	// which costs one that is not.
	Discard func()
	// Resident: blocks resident at once, for kernels whose blocks wait for each other; 0: as
	// many as the chip holds
	Resident    int
	Cooperative bool // a cooperative launch: its blocks may rely on being resident together
	// Ordered: blocks are known to share memory (Result.Ordered of a launch of the same data): Only then says
	// which results count
	Ordered  bool
	Parallel int // blocks in flight; 0: all cores
	// Memory is asked before memory is allocated; nil: no limit. What a Result or Block holds stays reserved
	// as long as it is reachable. Where the launch would need more than there is, the error is
	// *budget.Refused, and nothing was executed.
	Memory *budget.Budget
	Repeat int // launches compared bit for bit where execution is not deterministic; 0: one
	// Label: what the user calls this launch ("stage2 at 1,4,128,64"), to report faults by
	Label string
	// OnLaunch: called as repeated launches end, on the goroutine that called Launch; may be nil
	OnLaunch func(launches int)
}

// Arg is one kernel parameter: a scalar's bytes, or a buffer. Behind the parameters stand the buffers whose
// addresses are within scalars.
type Arg struct {
	Name   string
	Scalar []byte // little endian; nil for a buffer
	Buffer *Buffer
	// Map says what tensor map the parameter is, whose 128 bytes are then no scalar; nil: it is none
	Map *TensorMap
	// Into are the places, within other arguments' scalars, that a backend writes the buffer's address to, 8
	// bytes each: pointers in a struct, or one buffer for several parameters. The argument is then no
	// parameter of its own; with no places, only tensor maps lead to it. nil: it is one.
	Into []Place
}

// TensorMap is a parameter that describes a tensor in a buffer of the launch to cp.async.bulk.tensor.
type TensorMap struct {
	tensormap.Map
	Of   int   // index in Launch.Args of the buffer
	Skip int64 // the tensor's first byte in it
}

// Place is a byte of an argument's scalar. What is written there is the address of the buffer's byte Skip.
type Place struct {
	Arg, Offset int
	Skip        int64
}

// Parameters returns the arguments that are the kernel's parameters. The others, which have
// places to be written into, follow them in Args; where one does not, or has a place that no
// scalar has, the error names it.
func (l *Launch) Parameters() ([]Arg, error) {
	n := len(l.Args)
	for n > 0 && l.Args[n-1].Into != nil {
		n--
	}
	for i := range l.Args {
		a := &l.Args[i]
		if a.Into != nil && (i < n || a.Buffer == nil) {
			return nil, fmt.Errorf("argument %s: a buffer that is no parameter stands behind those that are",
				a.Name)
		}
		if err := l.mapped(a); err != nil {
			return nil, err
		}
		for _, at := range a.Into {
			if at.Arg < 0 || at.Arg >= n || at.Offset < 0 || at.Offset+8 > len(l.Args[at.Arg].Scalar) {
				return nil, fmt.Errorf("argument %s: its address does not fit at byte %d of argument %d",
					a.Name, at.Offset, at.Arg)
			}
			if n := int64(max(a.Buffer.Bytes, len(a.Buffer.Init))); at.Skip < 0 || at.Skip > n {
				return nil, fmt.Errorf("argument %s: an address of byte %d, and it has %d",
					a.Name, at.Skip, n)
			}
		}
	}
	return l.Args[:n], nil
}

// mapped checks the tensor map of an argument, if it is one.
func (l *Launch) mapped(a *Arg) error {
	m := a.Map
	if m == nil {
		return nil
	}
	if m.Of < 0 || m.Of >= len(l.Args) || l.Args[m.Of].Buffer == nil || a.Buffer != nil || a.Into != nil {
		return fmt.Errorf("argument %s: a tensor map of no buffer of the launch", a.Name)
	}
	if err := m.Validate(uint64(m.Skip)); err != nil {
		return fmt.Errorf("argument %s: tensor map: %w", a.Name, err)
	}
	b := l.Args[m.Of].Buffer
	if n := int64(max(b.Bytes, len(b.Init))); m.Skip < 0 || m.Skip > n || int64(m.GlobalBytes()) > n-m.Skip {
		return fmt.Errorf("argument %s: tensor map: the tensor ends at byte %d, and %s has %d bytes", a.Name,
			m.Skip+int64(m.GlobalBytes()), l.Args[m.Of].Name, n)
	}
	return nil
}

// Buffer is global memory behind a pointer parameter.
type Buffer struct {
	DType probes.DType
	Dims  []int // for reporting an index; product·size = length, but where there are Strides
	// Strides are, by dimension, how many elements lie from one index to the next; nil:
	// row-major without gaps.
	Strides []int
	Init    []byte // contents before the launch; nil: Bytes of unwritten memory
	// Written is, for each byte of Init, 0xff where it was written before the launch and 0 where it was not;
	// nil: all were. A backend that does not follow what was written ignores it.
	Written []byte
	Bytes   int
	Output  bool // returned in Result.Outputs
}

// Probe is the launch's capture: the backend allocates both buffers, passes the control block as the last
// parameter, and returns the capture buffer. Stages whose Capture is CaptureShared are taken by the backend
// itself (the emulator), into the same slots, and need no probes in the module; Control false then leaves the
// parameter out. So are those of Gather.
type Probe struct {
	Layout  *probes.Layout
	Inject  []byte // contents of the injection buffer, Layout.InjectBytes long; nil: nothing injected
	Control bool   // the module was built with TS_PROBES
	Watch   []Watch
	Gather  []Gather  // registers that the backend captures itself, into the same slots; see Gatherer
	Replace []Replace // only for kernels that are a Replacer
}

// Replace puts other contents in the place of what a stage left, in the moment in which the block captures
// it, and lets the block go on from there. What is captured stays what the kernel left.
type Replace struct {
	Plan *probes.StagePlan
	// Cells is the cell that each element of the slot is, where they are not row-major. Values of a stage
	// captured as raw fragments are replaced in the threads' registers.
	Cells []int
	// Tile gives the contents for a block and kv tile, in the stage's layout: of these the first rows × cols
	// cells are put in place, the others keep what they hold. It must be safe for concurrent use.
	Tile func(block probes.Dim3, kv int) (t probes.Tile, rows, cols int)
}

// Replacer is offered by kernels that honour Probe.Replace.
type Replacer interface {
	// Replaceable executes block id of l and returns those of the stages whose tiles can be replaced: tiles
	// that a probe copies out of shared memory cell by cell, and fragments whose registers are read again
	// later. Any other value that a thread hands to a probe is a copy of what it goes on with.
	Replaceable(
		ctx context.Context, l *Launch, id probes.Dim3, stages []*probes.StagePlan,
	) (probes.StageSet, error)
}

// Watch asks a backend to capture a shared array without a probe.
type Watch struct {
	Stage      probes.Stage
	Array      probes.SharedArray
	Transposed bool
	Rows, Cols int
	PerTile    bool
	File       string // base name of the CUDA source the lines are in
	// AtLine: when the last warp has passed it, or the block barrier on it has completed; 0: AtBarrier
	AtLine int
	// Pass: of AtLine, in a kv tile: from 1, or probes.PassLast; 0: it is passed once, else the
	// launch is a Fault "passes"
	Pass      int
	AtBarrier int // after the N-th block barrier completed since TileLine was last reached
	TileLine  int // kv tile: how often the block has reached it, less one; 0: always tile 0
}

// Result is what a launch leaves.
type Result struct {
	Outputs   map[string][]byte // by argument name
	Unwritten map[string]int    // elements of each output never written
	// Written: of each output, as Buffer.Written; nil: all bytes were written, or it is not known
	Written map[string][]byte
	Capture probes.Captured // the capture buffer; nil without a Probe
	// Missing: the cells of reached slots that no thread stored, their bytes 0; nil: every
	// reached slot is whole
	Missing probes.Missing
	// Printed: what the kernel printed, by block; nil where the backend does not collect it
	Printed  []byte
	Findings []Finding
	Counts   Counts
	Elapsed  time.Duration
	Reached  bool          // every block ran to its end (no deadlock or barrier finding cut one short)
	Stopped  []probes.Dim3 // those that did not
	// Ordered: blocks share memory, or may: they were executed in the schedule's order, one at a time
	Ordered bool
}

// Counts are deterministic costs, summed over blocks.
type Counts struct {
	WarpInstructions uint64
	// MMAOutputs: accumulator elements produced by 16-product tensor-core steps
	MMAOutputs                               uint64
	SharedAccesses, GlobalAccesses, Barriers uint64 // warp instructions of those kinds
}

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	c.WarpInstructions += o.WarpInstructions
	c.MMAOutputs += o.MMAOutputs
	c.SharedAccesses += o.SharedAccesses
	c.GlobalAccesses += o.GlobalAccesses
	c.Barriers += o.Barriers
}

// Resources are what ptxas allotted for an architecture.
type Resources struct {
	Registers, SharedBytes, SpillStoreBytes, SpillLoadBytes, LocalBytes int
	Arch                                                                string
	// SpillsUnknown: local memory is used, and no compiler log says for what
	SpillsUnknown bool
	Notes         []CompilerNote
}

// Source is a place in the CUDA source (or, where there are no debug lines, in the PTX).
type Source struct {
	File     string
	Line     int
	Function string
	// Calls is where the code was called from, if the compiler inlined it: two calls of one
	// helper are two places.
	Calls Calls
}

// ClusterOf returns the blocks of a cluster of a launch of an entry: what the entry is compiled for, else the
// launch's attribute; 1, 1, 1 where it has neither.
func (l *Launch) ClusterOf(entry *ptx.Func) probes.Dim3 {
	dims := probes.Dim3{1, 1, 1}
	if c, ok := entry.Directive("reqnctapercluster"); ok {
		for i, x := range c.Args {
			if i < len(dims) {
				dims[i] = int(x)
			}
		}
		return dims
	}
	if l.Cluster != (probes.Dim3{}) {
		return l.Cluster
	}
	return dims
}
