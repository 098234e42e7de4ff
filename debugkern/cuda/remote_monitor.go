package cuda

import (
	"context"
	"errors"
	"sync"
	"time"
)

// RemoteMonitor samples a device of another machine, through a worker there.
type RemoteMonitor struct {
	worker Transport
	device Device

	mu     sync.Mutex
	proc   *process
	closed bool
}

// sampleLimit is how long one sample may take.
const sampleLimit = 5 * time.Second

// OpenRemoteMonitor starts the worker and takes a sample; without a management library there it is
// ErrNoNVML's text.
func OpenRemoteMonitor(ctx context.Context, worker Transport, d Device) (*RemoteMonitor, error) {
	m := &RemoteMonitor{worker: worker, device: d}
	if _, err := m.sample(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *RemoteMonitor) sample(ctx context.Context) (*Telemetry, error) {
	p, err := m.process(ctx)
	if err != nil {
		return nil, err
	}
	x := &exchange{request: &request{Sample: &sampleOp{Device: m.device}}, limit: sampleLimit}
	err = p.exchange(ctx, x)
	if err == nil && x.result.Sample == nil {
		err = errors.New("malformed answer")
	}
	if err != nil {
		if useless(p, err) {
			p.kill()
		}
		return nil, err
	}
	return x.result.Sample, nil
}

// process returns the worker, started where there is none. One caller at a time asks for it.
func (m *RemoteMonitor) process(ctx context.Context) (*process, error) {
	m.mu.Lock()
	p := m.proc
	m.mu.Unlock()
	if p != nil && !p.ended() {
		return p, nil
	}
	p, err := launchWorker(ctx, m.worker)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		p.kill()
		return nil, errClosed
	}
	m.proc = p
	return p, nil
}

// Sample returns the device's state; where the connection is lost, one in which every number is Unknown. The
// next sample connects again.
func (m *RemoteMonitor) Sample() Telemetry {
	ctx, cancel := context.WithTimeout(context.Background(), sampleLimit)
	defer cancel()
	t, err := m.sample(ctx)
	if err != nil {
		return Telemetry{
			At: time.Now(), SMClock: Unknown, MaxSMClock: Unknown, MemClock: Unknown, MaxMemClock: Unknown,
			Power: Unknown, PowerLimit: Unknown, Temperature: Unknown, GPUUtil: Unknown, MemUtil: Unknown,
			MemUsed: Unknown, MemTotal: Unknown, PerformanceState: Unknown,
		}
	}
	return *t
}

// Close ends the worker.
func (m *RemoteMonitor) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.proc != nil {
		m.proc.kill()
	}
}
