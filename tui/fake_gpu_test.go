package tui

import (
	"context"
	"errors"
	"time"

	"tilescope/debugkern"
)

// fakeGPU is the engine's machine: no driver, unless devices are put in.
type fakeGPU struct {
	list    *debugkern.DeviceList
	monErr  error
	monitor *fakeMonitor
	asked   int // how often devices were asked for
}

var errNoDriver = errors.New("no CUDA driver found: libcuda.so.1: cannot open shared object file")

func (e *fakeEngine) Devices(context.Context) (*debugkern.DeviceList, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gpu.asked++
	if e.gpu.list == nil {
		return nil, errNoDriver
	}
	return e.gpu.list, nil
}

func (e *fakeEngine) Monitor(d debugkern.Device) (debugkern.Monitor, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gpu.monErr != nil {
		return nil, e.gpu.monErr
	}
	e.gpu.monitor = &fakeMonitor{device: d.Ordinal}
	return e.gpu.monitor, nil
}

func (e *fakeEngine) Doctor(context.Context) *debugkern.DoctorDoc {
	return &debugkern.DoctorDoc{Checks: []debugkern.DoctorCheck{
		{Name: "emulator", OK: true, Detail: "linux/amd64, 2 cores", Enables: "runs every kernel without a GPU, with every lane visible"},
		{Name: "NVRTC", OK: true, Version: "12.0", Path: "/opt/nvrtc/libnvrtc.so.12", Enables: "builds any flag combination, and kernels of your own, in a child process"},
		{Name: "driver", Detail: "libcuda.so.1: cannot open shared object file", Enables: "runs kernels on the GPU", Install: "an NVIDIA driver, 525 or newer"},
		{Name: "NVML", Detail: "no NVML: libnvidia-ml.so.1 could not be loaded", Install: "the NVIDIA driver's libnvidia-ml.so.1, and a build with cgo on Linux"},
	}}
}

// fakeMonitor's samples are a formula of their number.
type fakeMonitor struct {
	device, n int
	closed    bool
}

func (f *fakeMonitor) Sample() debugkern.Telemetry {
	f.n++
	t := debugkern.Telemetry{
		At: time.Unix(int64(f.n), 0), SMClock: 345 + 300*(f.n%6), MaxSMClock: 1980, MemClock: 2619, MaxMemClock: 2619, Power: 78000 + 90000*(f.n%6),
		PowerLimit: 700000, Temperature: 40 + f.n%30, GPUUtil: 17 * (f.n % 6), MemUtil: 9, MemUsed: 3 << 30, MemTotal: 139 << 30, ProcessesKnown: true,
		Throttle: []string{"idle"},
		Processes: []debugkern.GPUProcess{{PID: 4711, Name: "/usr/local/bin/tilescope", Memory: 512 << 20, Kind: "compute"},
			{PID: 90, Name: "python3", Memory: debugkern.Unknown, Kind: "compute"}},
	}
	if f.device == 1 {
		t.MIG, t.GPUUtil, t.Throttle, t.Slowed = true, debugkern.Unknown, []string{"power limit", "temperature (hardware)"}, true
	}
	return t
}

func (f *fakeMonitor) Close() { f.closed = true }

// twoH200 puts two devices into the machine.
func twoH200(o *Options) {
	e := o.Engine.(*fakeEngine)
	dev := debugkern.Device{Name: "NVIDIA H200", Arch: "sm_90", PCI: "0000:1b:00.0", Memory: 139 << 30, SMs: 132, SharedPerBlock: 227 << 10,
		RegistersPerSM: 65536, L2: 50 << 20, ClockKHz: 1980000, WarpSize: 32, ThreadsPerBlock: 1024}
	other := dev
	other.Ordinal, other.PCI = 1, "0000:43:00.0"
	e.gpu.list = &debugkern.DeviceList{Devices: []debugkern.Device{dev, other}, Driver: "13.0"}
}

// pulses lets n samples be taken.
func (d *driver) pulses(n int) *driver {
	for range n {
		d.send(pulseMsg{d.m.gpu.seq})
	}
	return d
}
