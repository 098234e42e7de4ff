// Package debugkern is the debugger: a Session opens a kernel, runs it, compares every stage with the reference, and says
// which went wrong. Terminal and command line call nothing else.
//
// The one idea: a Run is a value. It holds the captured tiles, the references and the verdicts of one execution, is
// immutable once returned, and answers every later question (a tile's error, a cell's writer) by looking or by executing
// one block again; nothing has to be kept alive for it.
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
	"tilescope/debugkern/cache"
	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/file"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/target"
	"tilescope/debugkern/trust"
	"tilescope/probes"
)

// Options open a session.
type Options struct {
	Config *configs.Config
	// Worker starts a process that serves a GPU (cuda.WorkerMain); nil: only the emulator.
	Worker []string
	// Compiler starts a process that serves compilations (cuda.CompilerMain); nil: compilers are loaded into this one.
	Compiler []string
	// Launcher starts a process that performs one launch from a file, its last argument (cuda.LaunchMain), to be watched by a
	// tool; nil: no tool is run.
	Launcher []string
	// Files is how files are written; nil is the real file system.
	Files *file.System
	// Memory is what every allocation by a size from input asks first; nil: one of the configuration's memory.max.
	Memory *budget.Budget
	// Trust decides which toolchains may be loaded and executed; nil: none of the working directory, and none that others than
	// the user and root can change.
	Trust *trust.Policy
}

// Session is an opened debugger: catalogue, compiled modules, inputs, backends. It is safe for concurrent use.
type Session struct {
	catalogue *configs.Catalogue
	config    *configs.Config
	limit     int64 // bytes a capture may take
	mem       *budget.Budget
	cache     *cache.Cache // of compiled kernels
	trust     *trust.Policy
	compiles  []string // starts a compiler's process

	life context.Context // ends with the session
	end  context.CancelFunc

	builds memoLRU[string, *Build]
	loaded memoLRU[loadKey, target.Kernel]
	maps   memoLRU[string, *fragment.Maps] // by backend

	tools tools

	mu     sync.Mutex
	chip   *chip.Chip // that the emulator is, and that references compute like
	emu    target.Backend
	inputs *cachedInputs

	gpuMu    sync.Mutex // locked while a device is opened
	worker   []string
	launcher []string
	gpus     map[int]target.Backend
	gpuErr   error // there is no driver, or the session is closed
}

// maxBuilds is how many builds are cached in memory, about a megabyte each.
const maxBuilds = 160

// Open opens a session on the embedded catalogue. It does nothing slow: builds, inputs and backends are made when a run
// needs them.
func Open(_ context.Context, o Options) (*Session, error) {
	cat, err := configs.Kernels()
	if err != nil {
		return nil, fmt.Errorf("open the catalogue: %w", err)
	}
	s := &Session{
		catalogue: cat, config: o.Config, worker: o.Worker, launcher: o.Launcher, compiles: o.Compiler, trust: o.Trust,
		builds: memoLRU[string, *Build]{limit: maxBuilds}, loaded: memoLRU[loadKey, target.Kernel]{limit: maxBuilds},
		chip: chip.SM90(), gpus: map[int]target.Backend{},
	}
	s.life, s.end = context.WithCancel(context.Background())
	if o.Config != nil {
		s.limit = o.Config.CaptureMax
		if s.mem = o.Memory; s.mem == nil {
			s.mem = budget.New(memoryLimit(o.Config))
		}
		s.cache = openCache(o)
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

// Check resolves a request without running it: what Run would refuse with CodeUsage, it refuses.
func (s *Session) Check(ctx context.Context, req Request) error {
	_, err := s.resolve(ctx, req, nil)
	return err
}

// Request is what to run: the options of the command line, parsed but not yet checked against a manifest.
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
	Timeout     time.Duration
	Device      int
	Budget      uint64 // warp instructions a block may execute on the emulator; 0: its default
	Repeat      int
	Schedule    string // POLICY:SEED
	// Resident is how many blocks the emulator keeps resident at once, 0: as many as the chip holds. Cooperative: blocks may
	// rely on being resident together.
	Resident    int
	Cooperative bool
	Blocks      string // X,Y,Z, each a number, A-B or *; "" all
	Tiles       string // A-B; "" all
	Stages      string // comma-separated; "" all
	// Check is the set of checkers attached to the instrumented launch on the emulator (with both, to the emulator's beside the
	// GPU); their findings are the run's. A GPU cannot be observed.
	Check check.Set
	Plain bool // the build without probes runs on the emulator too, its O compared bit for bit (on a GPU it always does)
}

// Progress is reported as a run goes on, from one goroutine. Done of Total units of Phase are finished; Total
// 0 means unknown. Every phase ends when the run's context does.
type Progress struct {
	Phase       string // "resolve", "inputs", "build", "load", "run", "compare", "explain"
	Detail      string // which builder, which block, which stage
	Done, Total int
}
