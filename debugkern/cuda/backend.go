package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/target"
)

// BackendConfig says which device to use, and how.
type BackendConfig struct {
	Device int // as the driver counts them
	// Timeout is how long a launch, a load or a transfer may go without a sign of life before the worker is
	// killed; 0 is DefaultTimeout.
	Timeout time.Duration
	Worker  Transport // starts workers
	Library string    // a driver library instead of the system's
	// Cache remembers what the driver's compiler said of a module; nil: modules are compiled once a process.
	Cache *cache.Cache
	// Memory is how many bytes the buffers of a worker's requests may take together; 0 is DefaultBudget.
	Memory int64
	// Emulate has the worker execute with its emulator: no driver is opened, and Emulator is what launches.
	Emulate bool
}

// DefaultTimeout is a worker's time limit.
const DefaultTimeout = 10 * time.Second

// startTimeout is how long a worker may take until its device is open; the first one after a
// boot may take seconds.
const startTimeout = 30 * time.Second

// Backend launches kernels on one GPU, in a worker process: a kernel that faults, hangs or takes the driver
// down costs a worker, and the next call starts another. It may be used from several goroutines; the device
// is used by one at a time.
type Backend struct {
	cfg     BackendConfig
	info    target.Info // this and the next two do not change once the backend is open
	device  Device
	driver  string
	turn    chan struct{} // holds one token: whoever has it owns the worker
	proc    *process
	closed  bool
	running atomic.Pointer[process] // proc, for who does not have the turn
}

var (
	_ target.Backend = (*Backend)(nil)
	_ target.Timer   = (*Backend)(nil)
	_ target.Pinner  = (*Backend)(nil)
)

// Open starts a worker on the device and asks what it is. Errors wrap ErrNoDriver or ErrNoDevice where this
// machine cannot launch; nothing is left running then.
func Open(ctx context.Context, cfg BackendConfig) (*Backend, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if linked(cfg.Worker) == nil && !cfg.Emulate {
		if err := DriverPresent(cfg.Library); err != nil {
			return nil, err // without a process started
		}
	}
	b := &Backend{cfg: cfg, turn: make(chan struct{}, 1)}
	b.turn <- struct{}{}
	if err := b.acquire(ctx); err != nil {
		return nil, err
	}
	defer b.release()
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// begin makes the first worker. The caller has the turn.
func (b *Backend) begin(ctx context.Context) error {
	for a := (again{}); ; {
		err := b.ensure(ctx)
		if err == nil || !lostLink(err) || !a.after(ctx, err) {
			return err
		}
	}
}

// Link is the connection that the device is reached over; nil for a device of this machine.
func (b *Backend) Link() *Link { return linked(b.cfg.Worker) }

// Info names the device.
func (b *Backend) Info() target.Info { return b.info }

// Device describes the device.
func (b *Backend) Device() Device { return b.device }

// Driver is the CUDA version that the driver supports, "13.0".
func (b *Backend) Driver() string { return b.driver }

// WorkerPID is the process id of the worker, 0 where none is running.
func (b *Backend) WorkerPID() int {
	if p := b.running.Load(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Close ends the worker. A launch in flight is waited for, a load is not; kernels are of no use afterwards.
func (b *Backend) Close() error {
	<-b.turn
	defer b.release()
	b.closed = true
	if b.proc != nil {
		b.proc.close()
		b.forget()
	}
	return nil
}

func (b *Backend) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-b.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Backend) release() { b.turn <- struct{}{} }

func (b *Backend) forget() {
	b.proc = nil
	b.running.Store(nil)
}

// drop ends a worker that is of no more use.
func (b *Backend) drop() {
	if b.proc != nil {
		b.proc.kill()
		b.forget()
	}
}

var errClosed = errors.New("cuda backend: closed")

// ensure makes a worker with the device open. The caller has the turn.
func (b *Backend) ensure(ctx context.Context) error {
	if b.closed {
		return errClosed
	}
	if b.proc != nil {
		select {
		case <-b.proc.exited:
			b.drop() // it died while nobody looked
		default:
			return nil
		}
	}
	p, err := launchWorker(ctx, b.cfg.Worker)
	if err != nil {
		return startError(err)
	}
	b.proc = p
	x := &exchange{
		request: &request{Open: &openOp{
			Library: b.cfg.Library, Device: b.cfg.Device, Memory: b.cfg.Memory, Emulate: b.cfg.Emulate,
		}},
		limit: startTimeout,
	}
	err = p.exchange(ctx, x)
	if err == nil && (x.result.Open == nil || len(x.result.Open.Devices) != 1) {
		err = errors.New("malformed answer")
	}
	if err != nil {
		b.drop()
		return fmt.Errorf("open device %d: %w", b.cfg.Device, err)
	}
	if b.info.Name == "" {
		b.device, b.driver = x.result.Open.Devices[0], x.result.Open.Version
		b.info = target.Info{Name: "cuda", Device: b.device.Name, Arch: b.device.Arch}
	}
	b.running.Store(p)
	return nil
}

// attempts is how often an exchange is tried whose worker was killed from outside: once more for a worker
// that was already dead when the exchange began, and once more for one killed during it.
const attempts = 3

// again counts the failures of one call that are no fault of the kernel's, and decides whether to try anew.
type again struct{ killed, lost int }

// after reports whether a call that failed with err is made anew. After a lost connection it waits before,
// each time for longer.
func (a *again) after(ctx context.Context, err error) bool {
	switch {
	case lostLink(err):
		if a.lost++; a.lost > maxReconnects || !mayReturn(err) {
			return false
		}
		select {
		case <-time.After(firstWait << (a.lost - 1)):
			return true
		case <-ctx.Done():
			return false
		}
	case outside(err):
		a.killed++
		return a.killed < attempts
	}
	return false
}

// mayReturn reports whether a connection that was lost may be made again: ssh did not refuse it for good.
func mayReturn(err error) bool {
	var refused interface{ Permanent() bool }
	return !errors.As(err, &refused) || !refused.Permanent()
}

// final is the error of a call that is not made anew.
func (a *again) final(err error) error {
	if lostLink(err) && a.lost > 1 {
		return fmt.Errorf("after %d connections in a row: %w", a.lost, err)
	}
	return err
}

// call runs f with a worker, and drops the worker where the exchange has cost it. A worker that somebody
// killed is no fault of the kernel's: f runs again then, with a fresh one.
func (b *Backend) call(ctx context.Context, f func(p *process) error) error {
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer b.release()
	for a := (again{}); ; {
		err := b.ensure(ctx)
		if err == nil {
			if err = f(b.proc); err == nil {
				return nil
			}
			if useless(b.proc, err) {
				b.drop()
			}
		}
		if !a.after(ctx, err) {
			return a.final(err)
		}
	}
}

// apart runs f with a worker while others may use it too: it waits for nobody's turn. What happens to the
// worker meanwhile is no fault of f's, which then runs again with the next one.
func (b *Backend) apart(ctx context.Context, f func(p *process) error) error {
	a := again{}
	for n := 1; ; n++ {
		p, err := b.worker(ctx)
		others := false
		if err == nil {
			if err = f(p); err == nil || ctxErr(err) {
				return err
			}
			if useless(p, err) {
				b.dropIf(p)
				others = mayBeOthers(err)
			}
		}
		if !(others && n < attempts) && !a.after(ctx, err) {
			return a.final(err)
		}
	}
}

// mayBeOthers reports that what has cost a worker may be a launch during the load that it was started for.
func mayBeOthers(err error) bool {
	var remote *remoteError
	var died *errDied
	return errors.As(err, &remote) || errors.As(err, &died)
}

// worker returns the process that serves the backend, with its device open; the turn is waited for only
// where there is none.
func (b *Backend) worker(ctx context.Context) (*process, error) {
	if p := b.running.Load(); p != nil {
		return p, nil
	}
	if err := b.acquire(ctx); err != nil {
		return nil, err
	}
	defer b.release()
	err := b.ensure(ctx)
	return b.proc, err
}

// dropIf ends a worker where it is still the backend's.
func (b *Backend) dropIf(p *process) {
	if b.running.Load() != p {
		return // whoever has the turn uses another
	}
	<-b.turn
	defer b.release()
	if b.proc == p {
		b.drop()
	}
}

// outside reports that a worker was killed by somebody else.
func outside(err error) bool {
	var d *errDied
	return errors.As(err, &d) && d.killed
}

// useless reports that a worker cannot serve another request after err.
func useless(p *process, err error) bool {
	var remote *remoteError
	if errors.As(err, &remote) {
		return remote.Fatal
	}
	if ctxErr(err) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.killed
	}
	var ours *hostError
	return !errors.As(err, &ours)
}

// hostError is a failure found on this side; the worker has nothing to do with it.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }
func (e *hostError) Unwrap() error { return e.err }

// FreeMemory returns the device's free and total memory in bytes.
func (b *Backend) FreeMemory(ctx context.Context) (free, total uint64, err error) {
	err = b.call(ctx, func(p *process) error {
		x := &exchange{request: &request{Memory: &memoryRequest{}}, limit: b.cfg.Timeout}
		err := p.exchange(ctx, x)
		if err == nil && x.result.Memory != nil {
			free, total = x.result.Memory.Free, x.result.Memory.Total
		}
		return err
	})
	return free, total, err
}

// Devices lists the machine's GPUs, through a worker of its own that ends at once.
func Devices(ctx context.Context, cfg BackendConfig) (devices []Device, driver string, err error) {
	if linked(cfg.Worker) == nil {
		if err := DriverPresent(cfg.Library); err != nil {
			return nil, "", err
		}
	}
	p, err := launchWorker(ctx, cfg.Worker)
	if err != nil {
		return nil, "", startError(err)
	}
	defer p.close()
	x := &exchange{request: &request{Devices: &devicesOp{Library: cfg.Library}}, limit: startTimeout}
	if err := p.exchange(ctx, x); err != nil {
		return nil, "", err
	}
	found := x.result.Devices
	if found == nil {
		return nil, "", errors.New("malformed answer")
	}
	return slices.Clip(found.Devices), found.Version, nil
}
