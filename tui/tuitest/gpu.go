package tuitest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// GPU is the engine's machine: no driver, unless devices are put in.
type GPU struct {
	List   *debugkern.DeviceList
	MonErr error
	Mon    *Monitor
	Asked  int // how often devices were asked for
	// Far is the connection to the machine that devices are in
	Far debugkern.LinkStats
}

// Host returns the machine that workers run on.
func (e *Engine) Host() string { return e.Link().Host }

// SetHost changes it.
func (e *Engine) SetHost(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if strings.HasPrefix(name, "-") || strings.Contains(name, " ") { // as remote.New
		return fmt.Errorf("host %q: expected [USER@]HOST", name)
	}
	e.GPU.Far.Host = name
	return nil
}

// Link returns the counts of the connection to it.
func (e *Engine) Link() debugkern.LinkStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.GPU.Far
}

var errNoDriver = errors.New("no CUDA driver found: libcuda.so.1: cannot open shared object file")

func (e *Engine) Devices(context.Context) (*debugkern.DeviceList, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.GPU.Asked++
	if e.GPU.List == nil {
		return nil, errNoDriver
	}
	return e.GPU.List, nil
}

func (e *Engine) Monitor(d debugkern.Device) (debugkern.Monitor, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.GPU.MonErr != nil {
		return nil, e.GPU.MonErr
	}
	e.GPU.Mon = &Monitor{Device: d.Ordinal}
	return e.GPU.Mon, nil
}

func (e *Engine) Doctor(context.Context) *report.Doctor {
	return &report.Doctor{Checks: []report.DoctorCheck{
		{Name: "emulator", OK: true, Detail: "linux/amd64, 2 cores",
			Enables: "runs every kernel without a GPU, with every lane visible"},
		{Name: "NVRTC", OK: true, Version: "12.0", Path: "/opt/nvrtc/libnvrtc.so.12",
			Enables: "builds any flag combination, and kernels of your own, in a child process"},
		{
			Name: "driver", Detail: "libcuda.so.1: cannot open shared object file",
			Enables: "runs kernels on the GPU",
			Install: "an NVIDIA driver, 525 or newer",
		},
		{Name: "NVML", Detail: "no NVML: libnvidia-ml.so.1 could not be loaded",
			Install: "the NVIDIA driver's libnvidia-ml.so.1, and a build with cgo on Linux"},
	}}
}

// Monitor's samples are a formula of their number.
type Monitor struct {
	Device, N int
	Closed    bool
}

func (f *Monitor) Sample() debugkern.Telemetry {
	f.N++
	t := debugkern.Telemetry{
		At: time.Unix(int64(f.N), 0), SMClock: 345 + 300*(f.N%6), MaxSMClock: 1980, MemClock: 2619,
		MaxMemClock: 2619, Power: 78000 + 90000*(f.N%6),
		PowerLimit: 700000, Temperature: 40 + f.N%30, GPUUtil: 17 * (f.N % 6), MemUtil: 9, MemUsed: 3 << 30,
		MemTotal: 139 << 30, ProcessesKnown: true,
		Throttle: []string{"idle"},
		Processes: []debugkern.GPUProcess{{PID: 4711, Name: "/usr/local/bin/tilescope", Memory: 512 << 20,
			Kind: "compute"},
			{PID: 90, Name: "python3", Memory: debugkern.Unknown, Kind: "compute"}},
	}
	if f.Device == 1 {
		t.MIG, t.GPUUtil, t.Throttle, t.Slowed = true, debugkern.Unknown,
			[]string{"power limit", "temperature (hardware)"}, true
	}
	return t
}

func (f *Monitor) Close() { f.Closed = true }

// TwoH200 puts two devices into the machine.
func (e *Engine) TwoH200() {
	dev := debugkern.Device{
		Name: "NVIDIA H200", Arch: "sm_90", PCI: "0000:1b:00.0", Memory: 139 << 30, SMs: 132,
		SharedPerBlock: 227 << 10,
		RegistersPerSM: 65536, L2: 50 << 20, ClockKHz: 1980000, WarpSize: 32, ThreadsPerBlock: 1024,
	}
	other := dev
	other.Ordinal, other.PCI = 1, "0000:43:00.0"
	e.GPU.List = &debugkern.DeviceList{Devices: []debugkern.Device{dev, other}, Driver: "13.0"}
}
