package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// EmulatedKernel is an entry that workers of a backend with BackendConfig.Emulate execute.
type EmulatedKernel struct {
	b           *Backend
	name, entry string
	text        []byte
	proc        *process // the worker that has it loaded; whoever has the backend's turn uses both
	number      int
}

// Emulated returns an entry of a module as workers execute it. They load it at its first launch. A module
// that was changed in memory is ErrNotSent.
func (b *Backend) Emulated(m *ptx.Module, entry string) (*EmulatedKernel, error) {
	if m.Source() == "" {
		return nil, ErrNotSent
	}
	return &EmulatedKernel{b: b, name: m.Name, entry: entry, text: []byte(m.Source())}, nil
}

// Of a result's description, which is JSON: a cell that was not stored is "false,", findings and what the
// kernel printed have the rest.
const (
	cellText    = 6
	answerSlack = 64 << 20
)

// Launch executes l there. A launch that cannot be sent whole is ErrNotSent. Other errors are those of the
// emulator: *target.Fault, *ptx.Error; and of the connection.
func (k *EmulatedKernel) Launch(ctx context.Context, l *target.Launch) (*target.Result, error) {
	text, u, err := encodeLaunch(l)
	if err != nil {
		return nil, err
	}
	answer := answerBytes(l)
	give, err := l.Memory.Reserve("captures and outputs of "+k.entry, answer)
	if err != nil {
		return nil, err
	}
	var out *target.Result
	err = k.b.call(ctx, func(p *process) error {
		if err := k.ensure(ctx, p); err != nil {
			return err
		}
		x := &exchange{
			request: &request{Emulate: &emulateOp{Kernel: k.number, Launch: text}}, buffers: u.bodies,
			limit:      max(k.b.cfg.Timeout, startTimeout),
			collectMax: int(budget.Add(budget.Mul(answer, 2+cellText), answerSlack)),
		}
		if err := p.exchange(ctx, x); err != nil {
			return k.failed(err)
		}
		var err error
		out, err = decodeResult(l, x.collected)
		return err
	})
	if err != nil {
		give()
		return nil, err
	}
	budget.Until(l.Memory, out, give)
	return out, nil
}

func (k *EmulatedKernel) ensure(ctx context.Context, p *process) error {
	if k.proc == p {
		return nil
	}
	x := &exchange{
		request: &request{Load: &loadOp{Entry: k.entry, Name: k.name}}, buffers: [][]byte{k.text},
		limit: startTimeout, apart: true,
	}
	if err := p.exchange(ctx, x); err != nil {
		return k.failed(err)
	}
	if x.result.Load == nil {
		return errors.New("malformed answer")
	}
	k.proc, k.number = p, x.result.Load.Kernel
	return nil
}

// failed makes the emulator's own error of a failure that the worker reported. The worker goes on.
func (k *EmulatedKernel) failed(err error) error {
	var remote *remoteError
	if !errors.As(err, &remote) || remote.Fatal {
		return err
	}
	switch {
	case remote.Fault != nil:
		return &hostError{remote.Fault.fault()}
	case remote.PTX != nil:
		return &hostError{&ptx.Error{Pos: remote.PTX.Pos, Msg: remote.PTX.Msg}}
	}
	return fmt.Errorf("emulate %s on %s: %w", k.entry, k.b.cfg.Worker.Link().name(), err)
}

// name is the machine's, for messages.
func (l *Link) name() string {
	if l == nil {
		return "this machine"
	}
	return l.Host
}

// emulatedKernels are what a worker's emulator has loaded, numbered from 1.
type emulatedKernels struct {
	open atomic.Bool // the parent has asked for the emulator
	mu   sync.Mutex
	all  []target.Kernel
}

// openEmulator has launches executed by the worker's emulator.
func (w *worker) openEmulator() (*devicesResult, error) {
	if w.emulator == nil {
		return nil, errors.New("this worker has no emulator")
	}
	w.emulated.open.Store(true)
	info := w.emulator.Info()
	return &devicesResult{Devices: []Device{{Name: info.Device, Arch: info.Arch}}}, nil
}

func (w *worker) loadEmulated(in *incoming) (*loadResult, error) {
	if len(in.buffers) != 1 {
		return nil, errors.New("malformed request")
	}
	m, err := ptx.Parse(in.Load.Name, in.buffers[0])
	if err != nil {
		return nil, err
	}
	k, err := w.emulator.Load(context.Background(), m, in.Load.Entry)
	if err != nil {
		return nil, err
	}
	w.emulated.mu.Lock()
	defer w.emulated.mu.Unlock()
	w.emulated.all = append(w.emulated.all, k)
	return &loadResult{Kernel: len(w.emulated.all)}, nil
}

// Pauses of an emulated launch.
const (
	cancelPoll  = 5 * time.Millisecond
	reportEvery = time.Second
)

// emulate executes a launch and streams what it left. It reports progress meanwhile.
func (w *worker) emulate(in *incoming) error {
	w.emulated.mu.Lock()
	n := in.Emulate.Kernel
	var k target.Kernel
	if n >= 1 && n <= len(w.emulated.all) {
		k = w.emulated.all[n-1]
	}
	w.emulated.mu.Unlock()
	if k == nil {
		return fmt.Errorf("no kernel %d is loaded", n)
	}
	l, err := decodeLaunch(in.Emulate.Launch, in.buffers)
	if err != nil {
		return err
	}
	l.Memory = budget.New(w.budget)
	var r *target.Result
	if err := w.accompanied(in.id, "emulate", func(ctx context.Context) (err error) {
		r, err = k.Launch(ctx, l)
		return err
	}); err != nil {
		return err
	}
	pieces, err := encodeResult(l, r)
	if err != nil {
		return err
	}
	return w.out.pieces(0, in.id, pieces)
}

// accompanied executes f, whose context ends where the parent cancels the request, and reports progress of a
// step meanwhile.
func (w *worker) accompanied(id uint64, step string, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(w.life)
	defer cancel()
	ended := make(chan struct{})
	watched := join.Run(func() { w.accompany(id, step, cancel, ended) })
	err := f(ctx)
	close(ended)
	watched.Wait()
	if w.isCancelled(id) {
		return errCancelled
	}
	return err
}

// accompany reports progress until a step has ended, and cancels it where the parent asks for it.
func (w *worker) accompany(id uint64, step string, cancel context.CancelFunc, ended <-chan struct{}) {
	poll, report := time.NewTicker(cancelPoll), time.NewTicker(reportEvery)
	defer poll.Stop()
	defer report.Stop()
	for {
		select {
		case <-ended:
			return
		case <-poll.C:
			if w.isCancelled(id) {
				cancel()
			}
		case <-report.C:
			_ = w.out.json(frameProgress, id, progress{step, 0})
		}
	}
}
