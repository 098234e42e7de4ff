package cuda

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"tilescope/debugkern/cuda/internal/dl"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// WorkerMain is the worker process: it serves the protocol of frame.go on r and w until r ends, and returns
// the process's exit code. The caller must exit with it at once: a thread may still be stuck inside the
// driver. Where w is the process's standard output it is taken away from everybody else, so that a kernel's
// printf cannot break the protocol. A request with buffers of more than the budget ends the worker.
func WorkerMain(ctx context.Context, r io.Reader, w io.Writer, o WorkerOptions) int {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	w, printed := claimStdout(w)
	wk := &worker{
		out: &frameWriter{w: w, pack: o.Linked}, printed: printed, pool: map[int64][]uint64{},
		lost: make(chan struct{}), budget: o.Budget, emulator: o.Emulator, sanitizer: o.Sanitizer,
	}
	var end context.CancelFunc
	wk.life, end = context.WithCancel(ctx)
	defer func() { // no program that it has started outlives it
		end()
		wk.program.Lock()
	}()
	var cut <-chan struct{}
	if o.Linked {
		line := newLifeline(r)
		r, cut = line, join.Run(line.cut).Done()
		if _, err := io.WriteString(w, linkMark); err != nil {
			return 1
		}
	}
	word := hello{
		Protocol: protocolVersion, PID: os.Getpid(), Version: o.Version, System: runtime.GOOS + "/" +
			runtime.GOARCH,
	}
	if err := wk.out.json(frameHello, 0, word); err != nil {
		return 1
	}
	requests := make(chan *incoming)
	read := join.Start(func() error { return wk.read(bufio.NewReaderSize(r, 64<<10), requests) })
	served := join.Start(func() int { return wk.serve(requests) })
	select {
	case <-served.Done():
		return served.Wait()
	case <-wk.lost:
		panic(wk.bug)
	case <-read.Done():
		if err := read.Wait(); err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, "worker:", err)
			return 1
		}
		return 0
	case <-cut:
		fmt.Fprintln(os.Stderr, "worker: the connection was silent for too long")
		return 1
	case <-ctx.Done():
		return 1
	}
}

// WorkerOptions say how a worker serves.
type WorkerOptions struct {
	// Budget is how many bytes the buffers of requests may take together, 0 is DefaultBudget.
	Budget int64
	// Linked: the streams are a connection from another machine.
	Linked bool
	// Version of the program, for the message where two do not agree.
	Version string
	// Emulator executes launches where the parent asks for no device; nil: such a request is an error.
	Emulator target.Backend
	// Sanitizer says where compute-sanitizer is looked for, and how a launch for it is started; nil: a
	// request for one of its tools is an error.
	Sanitizer func(context.Context) (SanitizerConfig, error)
}

// worker is the state of the process. Only the serving goroutine, on its locked thread, calls the
// driver, save to load.
type worker struct {
	out       *frameWriter
	cancelled atomic.Uint64 // the request that was cancelled last
	// budget: bytes that buffers of requests may take together; whoever reads requests alone uses it
	budget   int64
	buffered atomic.Int64 // bytes that they take
	printed  *printed

	opened   atomic.Pointer[opened] // what other threads may use: nil before a device is open
	drv      *driver
	dev      Device
	ctx      uintptr
	stream   uintptr
	version  string
	kernels  loadedKernels
	emulator target.Backend // what executes where no device is open; nil: nothing does
	emulated emulatedKernels
	monitor  *Monitor // of the device that was sampled last
	watched  Device

	sanitizer func(context.Context) (SanitizerConfig, error) // nil: there is none
	life      context.Context                                // ends with the worker
	program   sync.Mutex                                     // locked while one that it has started runs

	examiner *examiner          // nil until something was launched
	chunks   [2][]byte          // what is being read and what is being sent
	pool     map[int64][]uint64 // allocations with whole guard bands, by the buffer's size
	pooled   int64              // bytes in the pool

	once  sync.Once
	lost  chan struct{} // closed when a load has panicked, with bug
	bug   *join.Panic
	bare  bool      // buffers have no guard bands
	unset bool      // buffers without contents stay as they were allocated
	addrs io.Writer // receives the buffers' addresses of a launch for a tool
}

// opened is a device's context.
type opened struct {
	drv         *driver
	ctx, stream uintptr
}

// loadedKernel is one entry of one module in the context.
type loadedKernel struct {
	fn        uintptr
	entry     string
	info      functionInfo
	dynShared int // what the function has been allowed so far
}

// loadedKernels are the kernels of a worker, numbered from 1.
type loadedKernels struct {
	mu  sync.Mutex
	all []*loadedKernel
}

func (l *loadedKernels) add(k *loadedKernel) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, k)
	return len(l.all)
}

// at returns a kernel by its number, nil where there is none.
func (l *loadedKernels) at(n int) *loadedKernel {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 1 || n > len(l.all) {
		return nil
	}
	return l.all[n-1]
}

// incoming is a request with all of its buffers.
type incoming struct {
	request
	id      uint64
	buffers [][]byte
	bytes   int64 // of the buffers together
}

// read takes frames off the stream until it ends. Requests are handed over whole, so the stream's end is seen
// at any time, a kernel that never ends included.
func (w *worker) read(r io.Reader, requests chan<- *incoming) error {
	for {
		h, err := readHeader(r)
		if err != nil {
			return err
		}
		switch h.kind {
		case frameCancel:
			if h.length != 0 {
				return fmt.Errorf("a cancellation with a body of %d bytes", h.length)
			}
			w.cancelled.Store(h.id)
		case framePing:
			if h.length != 0 {
				return fmt.Errorf("a ping with a body of %d bytes", h.length)
			}
			if err := w.out.write(framePong, 0, h.id, nil); err != nil {
				return err
			}
		case frameRequest:
			in := &incoming{id: h.id}
			if err := readJSON(r, h, &in.request); err != nil {
				return err
			}
			if n := in.memory(); n > 0 {
				w.budget = n
			}
			if err := w.readBuffers(r, in); err != nil {
				return err
			}
			if in.Load != nil {
				join.Run(func() {
					if p := join.Catch(func() { w.loadApart(in) }); p != nil {
						w.once.Do(func() { w.bug = p; close(w.lost) })
					}
				})
				continue
			}
			requests <- in
		default:
			return fmt.Errorf("frame of kind %d out of turn", h.kind)
		}
	}
}

// DefaultBudget is how many bytes the buffers of a worker's requests may take together until a device is
// opened, which says it.
const DefaultBudget = 16 << 30

// maxBuffers is how many buffers a request may have: a frame names them in 16 bits.
const maxBuffers = 1 << 16

// readBuffers reads the buffers of a request. Their sizes are compared with the budget, that of requests
// under way included, before anything is allocated; then memory is allocated as bytes arrive.
func (w *worker) readBuffers(r io.Reader, in *incoming) error {
	if len(in.request.Buffers) > maxBuffers {
		return fmt.Errorf("a request with %d buffers: at most %d", len(in.request.Buffers), maxBuffers)
	}
	left := w.budget - w.buffered.Load()
	for _, n := range in.request.Buffers {
		if n < 0 || n > left {
			return fmt.Errorf("buffer of %d bytes: %d of the budget of %d are left (memory.max sets it)", n,
				left, w.budget)
		}
		left -= n
		in.bytes += n
	}
	w.buffered.Add(in.bytes)
	for i, n := range in.request.Buffers {
		buf, err := w.readBuffer(r, in.id, i, n)
		if err != nil {
			return err
		}
		in.buffers = append(in.buffers, buf)
	}
	return nil
}

// readBuffer reads n bytes of buffer i.
func (w *worker) readBuffer(r io.Reader, id uint64, i int, n int64) ([]byte, error) {
	buf := make([]byte, 0, min(n, chunkBytes))
	for int64(len(buf)) < n {
		h, err := readHeader(r)
		if err != nil {
			return nil, err
		}
		if h.kind == frameCancel && h.length == 0 {
			w.cancelled.Store(h.id)
			continue
		}
		if h.kind == framePing && h.length == 0 && w.out != nil {
			if err := w.out.write(framePong, 0, h.id, nil); err != nil {
				return nil, err
			}
			continue
		}
		if h.kind != frameData && h.kind != framePacked || h.id != id || int(h.stream) != i {
			return nil, fmt.Errorf("frame of kind %d within buffer %d", h.kind, i)
		}
		if buf, err = readChunk(r, h, buf, n); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// drop gives the memory of a request's buffers back to the budget.
func (w *worker) drop(in *incoming) {
	in.buffers = nil
	w.buffered.Add(-in.bytes)
}

// serve answers requests one after the other on one OS thread. It ends after a failure that lost the context.
func (w *worker) serve(requests <-chan *incoming) int {
	runtime.LockOSThread() // never unlocked: the driver's context is bound to this thread
	for in := range requests {
		out, err := w.handle(in)
		w.drop(in)
		if err == nil {
			if err := w.out.json(frameResult, in.id, out); err != nil {
				return 1
			}
			continue
		}
		f := failureOf(err)
		f.Fatal = f.Code != 0 && w.ctx != 0 && w.drv.ctxSync() != 0
		if w.out.json(frameError, in.id, f) != nil || f.Fatal {
			return 1
		}
	}
	return 0
}

// loadApart answers a load on a thread of its own, whatever the serving one does meanwhile: the driver's
// compiler takes a tenth of a second for a large kernel.
func (w *worker) loadApart(in *incoming) {
	runtime.LockOSThread() // the driver's context is bound to the thread
	// a thread that ended here would take the process with it: dl's are no C threads
	defer runtime.UnlockOSThread()
	out, err := w.loaded(in)
	w.drop(in)
	if err != nil {
		f := failureOf(err)
		if dev := w.opened.Load(); f.Code != 0 && dev != nil { // read without waiting for a launch under way
			code := dev.drv.streamQuery(dev.stream)
			f.Fatal = code != 0 && code != cuNotReady
		}
		_ = w.out.json(frameError, in.id, f) // where nobody listens any more the worker is about to end
		return
	}
	_ = w.out.json(frameResult, in.id, &result{Load: out})
}

func (w *worker) loaded(in *incoming) (*loadResult, error) {
	if w.emulated.open.Load() {
		return w.loadEmulated(in)
	}
	dev := w.opened.Load()
	if dev == nil || len(in.buffers) != 1 {
		return nil, errors.New("malformed request, or no device is open")
	}
	if err := dev.drv.check("cuCtxSetCurrent", dev.drv.ctxSet(dev.ctx)); err != nil {
		return nil, err
	}
	lib, log, err := dev.drv.loadLibrary(in.buffers[0])
	if err != nil {
		return nil, err
	}
	k, err := dev.drv.entryOf(lib, in.Load.Entry)
	if err != nil {
		dev.drv.libraryUnload(lib)
		return nil, err
	}
	return &loadResult{Kernel: w.kernels.add(k), Info: k.info, Log: log}, nil
}

// loadedEntry is an entry that of finds, ready to be launched in the context of the calling thread.
func (d *driver) loadedEntry(entry string, of func(fn *uintptr) error) (*loadedKernel, error) {
	k := &loadedKernel{entry: entry}
	err := of(&k.fn)
	if err == nil {
		k.info, err = d.attributes(k.fn)
	}
	if err != nil {
		return nil, fmt.Errorf("entry %s: %w", entry, err)
	}
	return k, nil
}

func (w *worker) handle(in *incoming) (*result, error) {
	if w.isCancelled(in.id) {
		return nil, errCancelled
	}
	switch {
	case in.Devices != nil:
		r, err := w.devices(in.Devices)
		return &result{Devices: r}, err
	case in.Open != nil:
		r, err := w.open(in.Open)
		return &result{Open: r}, err
	case in.Emulate != nil:
		return &result{}, w.emulate(in)
	case in.Sample != nil:
		t, err := w.sample(in.Sample.Device)
		return &result{Sample: t}, err
	case in.Sanitize != nil:
		return &result{}, w.sanitize(in)
	case w.drv == nil || w.ctx == 0:
		return nil, errors.New("no device is open")
	case in.Load != nil && len(in.buffers) == 1: // of a file, for a tool
		r, err := w.loadForTool(in.Load, in.buffers[0])
		return &result{Load: r}, err
	case in.Launch != nil && in.Launch.Bare:
		r, err := w.launchBare(in)
		return &result{Launch: r}, err
	case in.Launch != nil:
		r, err := w.launches(in)
		return &result{Launch: r}, err
	case in.Time != nil:
		times, err := w.time(in)
		return &result{Time: times}, err
	case in.Memory != nil:
		r, err := w.memory()
		return &result{Memory: r}, err
	}
	return nil, errors.New("malformed request")
}

var errCancelled = errors.New("cancelled")

func (w *worker) isCancelled(id uint64) bool { return w.cancelled.Load() == id }

// step is called between two steps of a request: it reports that the worker lives, and
// returns whether to go on.
func (w *worker) step(id uint64, step string, n int) error {
	if w.isCancelled(id) {
		return errCancelled
	}
	return w.out.json(frameProgress, id, progress{step, n})
}

// launchError is a driver error during launch N, counted from 1.
type launchError struct {
	N   int
	Err error
}

func (e *launchError) Error() string { return fmt.Sprintf("launch %d: %v", e.N, e.Err) }
func (e *launchError) Unwrap() error { return e.Err }

// failureOf describes an error for the parent.
func failureOf(err error) failure {
	f := failure{Message: err.Error(), Cancelled: errors.Is(err, errCancelled)}
	var le *launchError
	if errors.As(err, &le) {
		f.Launch = le.N
	}
	var je *JITError
	if errors.As(err, &je) {
		f.Log, f.Line, f.Text = je.Log, je.Line, je.Text
	}
	if x := (*target.Fault)(nil); errors.As(err, &x) {
		f.Fault = encodeFault(x)
	}
	if x := (*ptx.Error)(nil); errors.As(err, &x) {
		f.PTX = &wirePTX{x.Pos, x.Msg}
	}
	if le := (*loggedError)(nil); errors.As(err, &le) {
		f.Log = le.log
	}
	var e *Error
	if errors.As(err, &e) {
		f.Call, f.Code, f.Name = e.Call, e.Code, e.Name
	}
	switch {
	case errors.Is(err, ErrNoDriver):
		f.Kind = "no-driver"
	case errors.Is(err, ErrNoDevice):
		f.Kind = "no-device"
	case errors.Is(err, dl.ErrUnsupported):
		f.Kind = "unsupported"
	case errors.Is(err, ErrNoSanitizer):
		f.Kind = "no-sanitizer"
	}
	return f
}

func (w *worker) driver(library string) error {
	if w.drv != nil {
		return nil
	}
	d, err := openDriver(library)
	if err != nil {
		return err
	}
	if w.version, err = d.version(); err != nil {
		return err
	}
	w.drv = d
	return nil
}

func (w *worker) devices(op *devicesOp) (*devicesResult, error) {
	if err := w.driver(op.Library); err != nil {
		return nil, err
	}
	devs, err := w.drv.devices()
	if err != nil {
		return nil, err
	}
	return &devicesResult{Library: w.drv.path, Version: w.version, Devices: devs}, nil
}

// open makes the device's primary context current on this thread.
func (w *worker) open(op *openOp) (*devicesResult, error) {
	if w.ctx != 0 {
		return nil, errors.New("a device is open already")
	}
	if op.Emulate {
		return w.openEmulator()
	}
	if err := w.driver(op.Library); err != nil {
		return nil, err
	}
	d := w.drv
	n, err := d.count()
	if err != nil {
		return nil, err
	}
	if op.Device < 0 || op.Device >= n {
		return nil, fmt.Errorf("%w %d: the driver counts %d%s", ErrNoDevice, op.Device, n, hiddenDevices())
	}
	if w.dev, err = d.device(op.Device); err != nil {
		return nil, err
	}
	var handle int32
	if err := d.check("cuDeviceGet", d.deviceGet(&handle, int32(op.Device))); err != nil {
		return nil, err
	}
	var ctx uintptr
	if err := d.check("cuDevicePrimaryCtxRetain", d.ctxRetain(&ctx, handle)); err != nil {
		return nil, fmt.Errorf("%w: %w%s", ErrNoDevice, err, initAdvice(err))
	}
	if err := d.check("cuCtxSetCurrent", d.ctxSet(ctx)); err != nil {
		return nil, err
	}
	w.ctx = ctx
	if err := d.check("cuStreamCreate", d.streamCreate(&w.stream, 0)); err != nil {
		return nil, err
	}
	w.opened.Store(&opened{d, ctx, w.stream})
	return &devicesResult{Library: d.path, Version: w.version, Devices: []Device{w.dev}}, nil
}

// sample takes the telemetry of a device of this machine.
func (w *worker) sample(d Device) (*Telemetry, error) {
	if w.monitor == nil || w.watched != d {
		if w.monitor != nil {
			w.monitor.Close()
			w.monitor = nil
		}
		m, err := OpenMonitor(d)
		if err != nil {
			return nil, err
		}
		w.monitor, w.watched = m, d
	}
	t := w.monitor.Sample()
	return &t, nil
}

func (w *worker) memory() (*memoryResult, error) {
	var free, total uint
	err := w.drv.check("cuMemGetInfo", w.drv.memInfo(&free, &total))
	return &memoryResult{uint64(free), uint64(total)}, err
}

// loadForTool loads a module with its debug lines, on the serving thread.
func (w *worker) loadForTool(op *loadOp, text []byte) (*loadResult, error) {
	mod, err := w.drv.loadModule(text)
	if err != nil {
		return nil, err
	}
	k, err := w.drv.loadedEntry(op.Entry, func(fn *uintptr) error {
		return w.drv.check("cuModuleGetFunction", w.drv.moduleFunction(fn, mod, op.Entry))
	})
	if err != nil {
		return nil, err
	}
	return &loadResult{Kernel: w.kernels.add(k), Info: k.info}, nil
}
