package debugkern

import (
	"context"
	"time"

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
	Host    string // the machine that they are in, "" for this one
}

// Monitor samples one device. A sample takes a few milliseconds: ask from a command, not from Update.
type Monitor interface {
	Sample() Telemetry
	Close()
}

// Devices asks the driver, in a worker of its own, which GPUs there are. The error is why there is none, what
// that means and, where it is known, what to do; it is never about a single device.
func (s *Session) Devices(ctx context.Context) (*DeviceList, error) {
	worker := s.transport()
	if worker == nil {
		return nil, errNoWorker
	}
	devices, version, err := cuda.Devices(ctx, cuda.BackendConfig{Worker: worker})
	if err != nil {
		return nil, err
	}
	return &DeviceList{devices, version, s.Host()}, nil
}

// monitorLimit is how long opening the telemetry of another machine may take.
const monitorLimit = 20 * time.Second

// Monitor opens a device's telemetry. The error is why there is none; runs do not need it.
func (s *Session) Monitor(d Device) (Monitor, error) {
	if h := s.far(); h != nil {
		ctx, cancel := context.WithTimeout(s.life, monitorLimit)
		defer cancel()
		m, err := cuda.OpenRemoteMonitor(ctx, h, d)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	m, err := cuda.OpenMonitor(d)
	if err != nil {
		return nil, err
	}
	return m, nil
}
