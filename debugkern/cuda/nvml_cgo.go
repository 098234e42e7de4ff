//go:build cgo && linux && !nogpu

package cuda

import (
	"fmt"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Monitor samples one device through NVML. It may be used from several goroutines.
type Monitor struct {
	lib nvml.Interface
	dev nvml.Device
}

// openNVML loads and initialises the library.
func openNVML() (nvml.Interface, error) {
	lib := nvml.New()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		why := nvml.ErrorString(ret)
		switch ret {
		case nvml.ERROR_LIBRARY_NOT_FOUND:
			why = "libnvidia-ml.so.1 could not be loaded"
		case nvml.ERROR_NO_PERMISSION:
			why = "this user may not open /dev/nvidiactl: it needs the group that owns it, or the container the device"
		case nvml.ERROR_DRIVER_NOT_LOADED:
			why = "the nvidia kernel module is not loaded, or its device files are not in this container"
		case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
			why = "library and kernel module have different versions: reboot, or reload the module"
		}
		return nil, fmt.Errorf("%w: %s", ErrNoNVML, why)
	}
	return lib, nil
}

// OpenMonitor finds the device by its PCI address. The error says why there is no telemetry.
func OpenMonitor(d Device) (*Monitor, error) {
	lib, err := openNVML()
	if err != nil {
		return nil, err
	}
	dev, ret := lib.DeviceGetHandleByPciBusId(d.PCI)
	if ret != nvml.SUCCESS {
		lib.Shutdown()
		return nil, fmt.Errorf("%w: device %s: %s", ErrNoNVML, d.PCI, deviceProblem(ret))
	}
	return &Monitor{lib: lib, dev: dev}, nil
}

// deviceProblem says why a device has no telemetry, and what to do.
func deviceProblem(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_NOT_FOUND:
		return "NVML does not list it: it is hidden from this container, though CUDA sees it"
	case nvml.ERROR_NO_PERMISSION:
		return "this user may not look at it: it needs the group that owns /dev/nvidia*"
	case nvml.ERROR_GPU_IS_LOST:
		return "the GPU has fallen off the bus: dmesg says when, and only a reset of the machine brings it back"
	case nvml.ERROR_INSUFFICIENT_POWER:
		return "its power cables are not connected"
	case nvml.ERROR_IRQ_ISSUE:
		return "the kernel reports an interrupt problem for it"
	}
	return nvml.ErrorString(ret)
}

// Close lets go of the library.
func (m *Monitor) Close() { m.lib.Shutdown() }

// Sample reads everything that the device reports.
func (m *Monitor) Sample() Telemetry {
	t := Telemetry{At: time.Now()}
	t.SMClock = valueOr(m.dev.GetClockInfo(nvml.CLOCK_SM))
	t.MemClock = valueOr(m.dev.GetClockInfo(nvml.CLOCK_MEM))
	t.MaxSMClock = valueOr(m.dev.GetMaxClockInfo(nvml.CLOCK_SM))
	t.MaxMemClock = valueOr(m.dev.GetMaxClockInfo(nvml.CLOCK_MEM))
	t.Power = valueOr(m.dev.GetPowerUsage())
	t.PowerLimit = valueOr(m.dev.GetEnforcedPowerLimit())
	t.Temperature = valueOr(m.dev.GetTemperature(nvml.TEMPERATURE_GPU))
	state, ret := m.dev.GetPerformanceState()
	t.PerformanceState = valueOr(uint32(state), ret)
	t.GPUUtil, t.MemUtil = Unknown, Unknown
	if u, ret := m.dev.GetUtilizationRates(); ret == nvml.SUCCESS {
		t.GPUUtil, t.MemUtil = int(u.Gpu), int(u.Memory)
	}
	t.MemUsed, t.MemTotal = Unknown, Unknown
	if mem, ret := m.dev.GetMemoryInfo(); ret == nvml.SUCCESS {
		t.MemUsed, t.MemTotal = int64(mem.Used), int64(mem.Total)
	}
	if mask, ret := m.dev.GetCurrentClocksThrottleReasons(); ret == nvml.SUCCESS {
		t.Throttle, t.Slowed = throttle(mask)
	}
	if mode, _, ret := m.dev.GetMigMode(); ret == nvml.SUCCESS {
		t.MIG = mode == nvml.DEVICE_MIG_ENABLE
	}
	m.processes(&t)
	return t
}

func (m *Monitor) processes(t *Telemetry) {
	for _, list := range []struct {
		kind string
		get  func() ([]nvml.ProcessInfo, nvml.Return)
	}{{"compute", m.dev.GetComputeRunningProcesses}, {"graphics", m.dev.GetGraphicsRunningProcesses}} {
		found, ret := list.get()
		if ret != nvml.SUCCESS {
			continue
		}
		t.ProcessesKnown = true
		for _, p := range found {
			g := GPUProcess{PID: int(p.Pid), Kind: list.kind, Memory: int64(p.UsedGpuMemory)}
			if p.UsedGpuMemory == ^uint64(0) {
				g.Memory = Unknown
			}
			if name, ret := m.lib.SystemGetProcessName(int(p.Pid)); ret == nvml.SUCCESS {
				g.Name = strings.TrimRight(name, "\x00")
			}
			t.Processes = append(t.Processes, g)
		}
	}
}

// valueOr is a value that NVML returned, or Unknown where it returned an error.
func valueOr(v uint32, ret nvml.Return) int {
	if ret != nvml.SUCCESS {
		return Unknown
	}
	return int(v)
}

// nvmlVersions returns the versions of the driver and of the library.
func nvmlVersions() (driver, library string, err error) {
	lib, err := openNVML()
	if err != nil {
		return "", "", err
	}
	defer lib.Shutdown()
	driver, ret := lib.SystemGetDriverVersion()
	if ret != nvml.SUCCESS {
		return "", "", fmt.Errorf("%w: %s", ErrNoNVML, nvml.ErrorString(ret))
	}
	library, ret = lib.SystemGetNVMLVersion()
	if ret != nvml.SUCCESS {
		return "", "", fmt.Errorf("%w: %s", ErrNoNVML, nvml.ErrorString(ret))
	}
	return driver, library, nil
}
