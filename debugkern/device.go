package debugkern

import (
	"context"

	"tilescope/debugkern/cuda"
)

// What a screen shows of a GPU, as the GPU's side fills it.
type (
	Device     = cuda.Device
	Telemetry  = cuda.Telemetry
	GPUProcess = cuda.GPUProcess
)

// Unknown stands for a number of Telemetry that the driver does not report.
const Unknown = cuda.Unknown

// DeviceList is what the driver shows of this machine.
type DeviceList struct {
	Devices []Device
	Driver  string // the CUDA version that the driver supports, "13.0"
}

// Monitor samples one device. A sample takes a few milliseconds: ask from a command, not from Update.
type Monitor interface {
	Sample() Telemetry
	Close()
}

// Devices asks the driver, in a worker of its own, which GPUs there are. The error is why there is none, what
// that means and, where it is known, what to do; it is never about a single device.
func (s *Session) Devices(ctx context.Context) (*DeviceList, error) {
	if len(s.worker) == 0 {
		return nil, errNoWorker
	}
	devices, version, err := cuda.Devices(ctx, cuda.BackendConfig{WorkerCommand: s.worker})
	if err != nil {
		return nil, err
	}
	return &DeviceList{devices, version}, nil
}

// Monitor opens a device's telemetry. The error is why there is none; runs do not need it.
func (s *Session) Monitor(d Device) (Monitor, error) {
	m, err := cuda.OpenMonitor(d)
	if err != nil {
		return nil, err
	}
	return m, nil
}
