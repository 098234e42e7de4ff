// Package debugkern is the debugger: a Session opens a kernel, runs it, compares every stage with the
// reference, and says which went wrong. Terminal and command line, and the packages of their commands,
// execute kernels through it.
//
// The one idea: a Run is a value. It holds the captured tiles, the references and the verdicts of one
// execution, is immutable once returned, and answers every later question (a tile's error, a cell's writer)
// by looking or by executing one block again; nothing has to be kept alive for it.
//
// It must not know screens, arguments or exit codes of its own beyond Report.ExitCode.
package debugkern

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/cache"
	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/file"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/memo"
	"tilescope/debugkern/target"
	"tilescope/debugkern/trust"
	"tilescope/probes"
)

// Options open a session.
type Options struct {
	Config *configs.Config
	// Worker starts a process that serves a GPU (cuda.WorkerMain); nil: only the emulator.
	Worker []string
	// Compiler starts a process that serves compilations (cuda.CompilerMain); nil: compilers are
	// loaded into this one.
	Compiler []string
	// Launcher starts a process that performs one launch from a file, its last argument (cuda.LaunchMain), to
	// be watched by a tool; nil: no tool is run.
	Launcher []string
	// Files is how files are written; nil is the real file system.
	Files *file.System
	// Memory is what every allocation by a size from input asks first; nil: one of the
	// configuration's memory.max.
	Memory *budget.Budget
	// Trust decides which toolchains may be loaded and executed; nil: none of the working directory, and none
	// that others than the user and root can change.
	Trust *trust.Policy
	// Linked are the arguments with which this program is a worker over a link (ServeWorker), for a host.
	Linked []string
	// Version of this program.
	Version string
	// AskCopy asks the user whether to copy this program to a host; an error is the answer no. nil: nobody
	// can be asked.
	AskCopy func(context.Context, RemoteCopy) error
}

// Session is an opened debugger: catalogue, compiled modules, inputs, backends. It is safe
// for concurrent use.
type Session struct {
	catalogue *configs.Catalogue
	config    *configs.Config
	limit     int64 // bytes a capture may take
	mem       *budget.Budget
	cache     *cache.Cache // of compiled kernels

	life context.Context // ends with the session
	end  context.CancelFunc

	builder *build.Builder
	loaded  memo.LRU[loadKey, target.Kernel]
	maps    memo.LRU[string, *fragment.Maps] // by backend
	answers memo.LRU[string, *answer]        // of commands that compute references

	chip *chip.Chip // that the emulator is, and that references compute like

	mu     sync.Mutex
	emu    target.Backend
	inputs *cachedInputs
	host   *host // that workers run on; nil: this machine
	farEmu *farEmulator

	linked  []string
	version string
	askCopy func(context.Context, RemoteCopy) error

	gpuMu    sync.Mutex // locked while a device is opened
	worker   []string
	launcher []string
	gpus     map[int]target.Backend
	gpuErr   error // there is no driver, or the session is closed
}

// maxLoaded is how many loaded kernels are cached, about a megabyte each.
const maxLoaded = 160

// Open opens a session on the embedded catalogue. It does nothing slow: builds, inputs and backends are made
// when a run needs them.
func Open(_ context.Context, o Options) (*Session, error) {
	cat, err := configs.Kernels()
	if err != nil {
		return nil, fmt.Errorf("open the catalogue: %w", err)
	}
	s := &Session{
		catalogue: cat, config: o.Config, worker: o.Worker, launcher: o.Launcher,
		loaded:  memo.LRU[loadKey, target.Kernel]{Limit: maxLoaded},
		answers: memo.LRU[string, *answer]{Limit: maxAnswers}, chip: chip.SM90(),
		gpus:   map[int]target.Backend{},
		linked: o.Linked, version: o.Version, askCopy: o.AskCopy,
	}
	tools := cuda.Config{Compiler: o.Compiler, Trust: o.Trust}
	s.life, s.end = context.WithCancel(context.Background())
	if o.Config != nil {
		s.limit = o.Config.CaptureMax
		if s.mem = o.Memory; s.mem == nil {
			s.mem = budget.New(memoryLimit(o.Config))
		}
		s.cache = openCache(o)
		tools.Path, tools.Project, tools.Cache, tools.Memory = o.Config.Toolchain,
			o.Config.ToolchainOfProject, s.cache, s.mem.Limit()
	}
	s.builder = build.New(tools)
	if o.Config != nil {
		if s.host, err = s.newHost(o.Config.HostName); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// forgetInputs removes the inputs that are cached for the next run.
func (s *Session) forgetInputs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputs = nil
}

// memoryLimit is the bytes that a configuration allows.
func memoryLimit(c *configs.Config) int64 {
	if c.MemoryMax > 0 {
		return c.MemoryMax
	}
	return budget.Default()
}

// openCache is the cache of compiled kernels that the configuration asks for.
func openCache(o Options) *cache.Cache {
	co := cache.Options{Max: o.Config.CacheMax, KeyFile: o.Config.CacheKey, Files: o.Files}
	if o.Config.CacheDir != "" {
		co.Dir = filepath.Join(o.Config.CacheDir, "builds")
	}
	return cache.Open(co)
}

// Catalogue returns the embedded kernels.
func (s *Session) Catalogue() *configs.Catalogue { return s.catalogue }

// Builder returns what compiles the session's kernels. The session closes it.
func (s *Session) Builder() *build.Builder { return s.builder }

// Chip returns the chip that the emulator is and that references compute like.
func (s *Session) Chip() *chip.Chip { return s.chip }

// Memory returns what allocations reserve from. nil is no limit.
func (s *Session) Memory() *budget.Budget { return s.mem }

// Trouble returns what the session cannot use, once determined: a cache that cannot be written to, a
// compiler that was found and is not trusted (a *trust.Refused). It is worth reporting once; nil while
// nothing is wrong.
func (s *Session) Trouble() error {
	if err := s.cache.Trouble(); err != nil {
		return err
	}
	if r := s.builder.Refused(); r != nil {
		return r
	}
	return nil
}

// Question returns the consent for want of which err occurred (build.Builder.Question).
func (s *Session) Question(ctx context.Context, err error) (*build.Consent, error) {
	return s.builder.Question(ctx, err)
}

// Agree records a consent (build.Builder.Agree).
func (s *Session) Agree(ctx context.Context, c *build.Consent) error { return s.builder.Agree(ctx, c) }

// Check resolves a request without running it: what Run would refuse with CodeUsage, it refuses.
func (s *Session) Check(ctx context.Context, req Request) error {
	_, err := s.resolve(ctx, req, nil, nil)
	return err
}

// Referenced reports whether a stage of the request's target is compared with a reference. Without one,
// its verdict is by findings, and it should run under the checkers. A target that cannot be opened is
// left to Run to refuse.
func (s *Session) Referenced(ctx context.Context, req Request) bool {
	r, err := s.resolve(ctx, req, nil, nil)
	return err != nil || r.plan.Referenced()
}

// EveryChecker is the set of all checkers that a run's findings come from.
const EveryChecker = check.All

// Request is what to run: the options of the command line, parsed but not yet checked against a manifest.
// What only a manifest can read is text: a shape, the values of flags.
type Request struct {
	Target  string // a catalogue name or the path of a manifest
	Shape   string // a name or "B,H,S,D"; "" is validation
	Seed    uint64
	Set     map[string]string // FLAG → VALUE
	Faults  []string
	Gate    probes.Gate
	Inject  string // "reference" (default) or "uniform"
	Backend string // auto, emu, cuda, both
	Builder string // auto, embedded, nvrtc, nvcc
	Arch    string
	Include []string // directories searched for headers (-I), before the manifest's
	Define  []string // "NAME" or "NAME=VALUE" (-D)
	Std     string   // "c++17"; "": the manifest's
	// Instantiate are kernel templates with arguments; none: the manifest's.
	Instantiate []string
	Inputs      string // path of an .npz, "" for seeded normal data
	// OneSided: the first of the normal inputs is negative, and the others are positive, so that a product of
	// the first two has negative sums alone, and a row of the first a negative maximum. No command has it: it
	// is for trials of what a mistake may depend on.
	OneSided bool
	// Large: the normal inputs are eight times as large, so that an exponential of a product of two overflows
	// which no maximum was subtracted from. It is for trials as well.
	Large    bool
	Timeout  time.Duration
	Device   int
	Budget   uint64 // warp instructions a block may execute on the emulator; 0: its default
	Repeat   int
	Schedule string // POLICY:SEED
	// Resident is how many blocks the emulator keeps resident at once, 0: as many as the chip holds.
	// Cooperative: blocks may rely on being resident together.
	Resident    int
	Cooperative bool
	// Blocks, Tiles and Stages are what is captured: everything where they are zero.
	Blocks Region
	Tiles  Span
	Stages []probes.Stage
	// Check is the set of checkers attached to the instrumented launch on the emulator (with both, to the
	// emulator's next to the GPU); their findings are the run's. A GPU cannot be observed.
	Check check.Set
	// Launch are the words of the command line that say how a FILE is launched, of a target that
	// checkrun.Adopt made; nil for others.
	Launch []string
	// Guessed: grid and block are proposals read from the kernel's text that the user did not change.
	Guessed bool
	// Plain: the build without probes runs on the emulator too, its O compared bit for bit (on a
	// GPU it always does)
	Plain bool
}

// Progress is reported as a run goes on, from one goroutine. Done of Total units of Phase are finished; Total
// 0 means unknown. Every phase ends when the run's context does.
type Progress struct {
	Phase       string // "resolve", "inputs", "reference", "build", "load", "run", "compare", "explain"
	Detail      string // which builder, which block, which stage
	Printed     string // a line that a program which computes references printed; "" for none
	Done, Total int
}

// buildOptions say how a request's kernel is built, with or without the probes in its source.
func buildOptions(req Request, withProbes bool) build.Options {
	return build.Options{Builder: req.Builder, Arch: req.Arch, Probes: withProbes}
}
