package cuda

import (
	"bytes"
	"fmt"
	"os"
)

// Device is one GPU as the driver describes it.
type Device struct {
	Ordinal         int    // as the driver counts, after CUDA_VISIBLE_DEVICES
	Name            string // "NVIDIA H200"
	Arch            string // "sm_90"
	PCI             string // "0000:1b:00.0": what telemetry finds the same device by
	Memory          uint64 // bytes
	SMs             int
	SharedPerBlock  int // bytes a block may ask for, opted in
	RegistersPerSM  int
	L2              int // bytes
	ClockKHz        int
	WarpSize        int
	ThreadsPerBlock int
}

// Attribute numbers of CUdevice_attribute.
const (
	attrMaxThreads     = 1
	attrWarpSize       = 10
	attrClockRate      = 13
	attrSMs            = 16
	attrL2             = 38
	attrMajor          = 75
	attrMinor          = 76
	attrRegistersPerSM = 82
	attrSharedOptin    = 97
)

// version returns the CUDA version the driver supports, "13.0".
func (d *driver) version() (string, error) {
	var v int32
	if err := d.check("cuDriverGetVersion", d.driverVersion(&v)); err != nil {
		return "", err
	}
	return versionString(int(v)/1000, int(v)%1000/10), nil
}

// count returns the number of devices.
func (d *driver) count() (int, error) {
	var n int32
	err := d.check("cuDeviceGetCount", d.deviceCount(&n))
	return int(n), err
}

// device describes one device.
func (d *driver) device(ordinal int) (Device, error) {
	var dev int32
	if err := d.check("cuDeviceGet", d.deviceGet(&dev, int32(ordinal))); err != nil {
		return Device{}, err
	}
	out := Device{Ordinal: ordinal}
	name, pci := make([]byte, 256), make([]byte, 32)
	if err := d.check("cuDeviceGetName", d.deviceName(name, int32(len(name)), dev)); err != nil {
		return Device{}, err
	}
	if err := d.check("cuDeviceGetPCIBusId", d.devicePCI(pci, int32(len(pci)), dev)); err != nil {
		return Device{}, err
	}
	out.Name, out.PCI = untilZero(name), untilZero(pci)
	var memory uint
	if err := d.check("cuDeviceTotalMem", d.deviceMemory(&memory, dev)); err != nil {
		return Device{}, err
	}
	out.Memory = uint64(memory)
	var major, minor int
	for _, a := range []struct {
		to *int
		id int32
	}{
		{&major, attrMajor}, {&minor, attrMinor}, {&out.SMs, attrSMs}, {&out.SharedPerBlock, attrSharedOptin},
		{&out.L2, attrL2}, {&out.RegistersPerSM, attrRegistersPerSM}, {&out.ClockKHz, attrClockRate},
		{&out.WarpSize, attrWarpSize}, {&out.ThreadsPerBlock, attrMaxThreads},
	} {
		var v int32
		if err := d.check("cuDeviceGetAttribute", d.deviceAttribute(&v, a.id, dev)); err != nil {
			return Device{}, err
		}
		*a.to = int(v)
	}
	out.Arch = fmt.Sprintf("sm_%d%d", major, minor)
	return out, nil
}

// devices describes all of them.
func (d *driver) devices() ([]Device, error) {
	n, err := d.count()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: the driver counts none%s", ErrNoDevice, hiddenDevices())
	}
	out := make([]Device, n)
	for i := range out {
		if out[i], err = d.device(i); err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
	}
	return out, nil
}

// hiddenDevices names the environment's part in a machine that shows no device.
func hiddenDevices() string {
	if v, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return fmt.Sprintf(" (CUDA_VISIBLE_DEVICES is %q)", v)
	}
	return ""
}

func untilZero(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
