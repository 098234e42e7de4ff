package debugkern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/input"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// backends are the values of --backend.
var backends = []string{"auto", "emu", "cuda", "both"}

// Backends returns what a request's backend and device name: what it executes on and, for both, the emulator
// too. auto is a GPU where one answers, else the emulator. The session closes them. A GPU that is not there
// is an error of CodeUnavailable, a name that no backend has one of CodeUsage.
func (s *Session) Backends(ctx context.Context, req Request) (primary, emulator target.Backend, err error) {
	switch req.Backend {
	case "emu":
		primary, err = s.emulator(ctx)
		return primary, nil, err
	case "", "auto":
		if gpu, err := s.gpu(ctx, req); err == nil {
			return gpu, nil, nil
		}
		primary, err = s.emulator(ctx)
		return primary, nil, err
	case "cuda", "both":
		gpu, err := s.gpu(ctx, req)
		if err != nil {
			if coded := unreachable(err); coded != err {
				return nil, nil, coded
			}
			return nil, nil,
				report.Unavailablef(
					"backend %s: %w (tilescope doctor says what is missing; --backend emu runs without a GPU)",
					req.Backend, err)
		}
		if req.Backend == "both" {
			if emulator, err = s.emulator(ctx); err != nil {
				return nil, nil, err
			}
		}
		return gpu, emulator, nil
	}
	return nil, nil, req.CheckBackend()
}

// CheckBackend refuses a name that no backend has, with an error of CodeUsage. Session.Run does so too; it is
// for those who put another backend into the request.
func (r Request) CheckBackend() error {
	if r.Backend == "" || slices.Contains(backends, r.Backend) {
		return nil
	}
	return report.Usagef("--backend %s: expected %s", r.Backend, strings.Join(backends, ", "))
}

// emulator returns the emulator that launches are executed with: the host's where there is one.
func (s *Session) emulator(ctx context.Context) (target.Backend, error) {
	if h := s.far(); h != nil {
		return s.openFarEmulator(ctx, h)
	}
	return s.localEmulator(), nil
}

// localEmulator returns this process's emulator.
func (s *Session) localEmulator() target.Backend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.emu == nil {
		s.emu = emu.New(s.chip)
	}
	return s.emu
}

// errNoWorker is answered where the program did not say how to start a worker: a test, or another program.
var errNoWorker = errors.New("this program cannot start a GPU worker")

var errSessionClosed = errors.New("the session is closed")

// gpu opens a device, once for each; where there is no driver the answer is immediate, and remembered.
func (s *Session) gpu(ctx context.Context, req Request) (target.Backend, error) {
	s.gpuMu.Lock()
	defer s.gpuMu.Unlock()
	worker := s.transport()
	if worker == nil {
		return nil, errNoWorker
	}
	if be := s.gpus[req.Device]; be != nil {
		return be, nil
	}
	if s.gpuErr != nil {
		return nil, s.gpuErr
	}
	be, err := cuda.Open(ctx, cuda.BackendConfig{
		Device: req.Device, Worker: worker, Cache: s.cache, Memory: s.mem.Limit(),
	})
	if err != nil {
		if errors.Is(err, cuda.ErrNoDriver) {
			s.gpuErr = err
		}
		return nil, err
	}
	s.gpus[req.Device] = be
	return be, nil
}

// Close ends what the session has running, GPU workers, and removes what was for this process alone.
func (s *Session) Close() error {
	s.end() // what is built ahead, which may be opening a device
	s.gpuMu.Lock()
	defer s.gpuMu.Unlock()
	err := s.closeBackends()
	s.gpuErr = errSessionClosed // what is still built ahead opens no device any more
	err = errors.Join(err, s.builder.Close())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputs = nil
	return err
}

// reference returns the reference of a plan and inputs.
func reference(r *resolved, in *input.Inputs) (*ref.Reference, error) {
	if err := in.Fits(r.plan); err != nil {
		return nil, report.Usagef("%w", err)
	}
	out, err := ref.New(r.plan, in.Tensor, ref.Options{Chip: r.chip, Uniform: r.uniform})
	if err != nil {
		return nil, report.Usagef("kernel %s: %w", r.plan.Kernel, err)
	}
	return out, nil
}

// label is what a launch is called in a fault.
func (r *resolved) label() string {
	text := fmt.Sprintf("%s at %s", r.req.Target, r.plan.Shape)
	if len(r.sel.Faults) > 0 {
		text += " with " + strings.Join(r.sel.Faults, ", ")
	}
	return text
}
