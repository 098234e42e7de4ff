package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"tilescope/debugkern/cuda/internal/dl"
)

// ErrNoDriver is wrapped where this machine has no CUDA driver library that could be loaded.
var ErrNoDriver = errors.New("no CUDA driver found")

// ErrNoDevice is wrapped where the driver is there and no device can be used.
var ErrNoDevice = errors.New("no CUDA device")

// driver is the CUDA driver API, as far as launching needs it. A context belongs to a thread: every
// call but those of driverVersion, devices and the library calls comes from the one OS thread that
// the worker has locked.
type driver struct {
	path string

	init          func(flags uint32) int32
	driverVersion func(v *int32) int32
	errorName     func(code int32, text *uintptr) int32
	errorString   func(code int32, text *uintptr) int32

	deviceCount     func(n *int32) int32
	deviceGet       func(dev *int32, ordinal int32) int32
	deviceName      func(name []byte, n, dev int32) int32
	deviceAttribute func(v *int32, attribute, dev int32) int32
	deviceMemory    func(n *uint, dev int32) int32
	devicePCI       func(id []byte, n, dev int32) int32

	ctxRetain func(ctx *uintptr, dev int32) int32
	ctxSet    func(ctx uintptr) int32
	ctxSync   func() int32

	libraryLoad func(
		lib *uintptr, text []byte, options []int32, values []uintptr, n uint32, libOptions []int32,
		libValues []uintptr, m uint32,
	) int32
	libraryUnload func(lib uintptr) int32
	libraryKernel func(kernel *uintptr, lib uintptr, name string) int32
	kernelIn      func(fn *uintptr, kernel uintptr) int32

	moduleLoad     func(mod *uintptr, image []byte, n uint32, options []int32, values []uintptr) int32
	moduleFunction func(fn *uintptr, mod uintptr, name string) int32
	funcAttribute  func(v *int32, attribute int32, fn uintptr) int32
	funcSet        func(fn uintptr, attribute, v int32) int32

	memInfo  func(free, total *uint) int32
	memAlloc func(p *uint64, n uint) int32
	memFree  func(p uint64) int32
	copyIn   func(dst uint64, src []byte, n uint) int32
	copyOut  func(dst []byte, src uint64, n uint) int32
	copyOver func(dst, src uint64, n uint) int32

	copyInAsync func(dst uint64, src []byte, n uint, stream uintptr) int32
	set8Async   func(dst uint64, v uint8, n uint, stream uintptr) int32

	// encodeTiled writes the 128 bytes of a tensor map, which are aligned to 64.
	encodeTiled func(
		out []byte, dtype, rank uint32, address uint64, dims, strides []uint64, box, steps []uint32,
		interleave, swizzle, promotion, fill uint32,
	) int32

	// cooperative is launch for blocks that wait for each other; all of them have to be resident at once.
	cooperative func(fn uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr, params []*byte) int32
	launch      func(
		fn uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr, params []*byte, extra []*byte,
	) int32

	// launchEx is launch with attributes. Drivers before 520 have none; nil then.
	launchEx func(config *launchConfig, fn uintptr, params []*byte, extra []*byte) int32

	streamCreate func(s *uintptr, flags uint32) int32
	streamSync   func(s uintptr) int32
	streamQuery  func(s uintptr) int32
	eventCreate  func(e *uintptr, flags uint32) int32
	eventFree    func(e uintptr) int32
	eventRecord  func(e, stream uintptr) int32
	eventSync    func(e uintptr) int32
	eventElapsed func(ms *float32, start, stop uintptr) int32
}

// driverNames lists what the driver library is called, in the order in which they are tried.
func driverNames(library string) []string {
	if library != "" {
		return []string{library}
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"nvcuda.dll"}
	case "linux":
		return []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}
	}
	return nil
}

// openLibrary loads the driver library without calling it.
func openLibrary(library string) (*dl.Library, error) {
	names := driverNames(library)
	if names == nil {
		return nil, fmt.Errorf("%w: CUDA has no driver for %s", ErrNoDriver, runtime.GOOS)
	}
	var first error
	for _, name := range names {
		lib, err := dl.Open(name)
		if err == nil {
			return lib, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrNoDriver, first)
}

// DriverPresent reports why no CUDA driver library can be loaded here, or nil. It calls nothing of it: a
// broken driver can take down a worker only. library names another library than the system's; "" is that.
func DriverPresent(library string) error {
	_, err := openLibrary(library)
	return err
}

// openDriver loads the library, binds its functions and initialises it.
func openDriver(library string) (*driver, error) {
	lib, err := openLibrary(library)
	if err != nil {
		return nil, err
	}
	d := &driver{path: lib.Path}
	for _, f := range d.symbols() {
		if err := lib.Bind(f.fn, f.name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
		}
	}
	if err := lib.Bind(&d.launchEx, "cuLaunchKernelEx"); err != nil {
		d.launchEx = nil
	}
	if err := d.check("cuInit", d.init(0)); err != nil {
		return nil, fmt.Errorf("%w: %w%s", ErrNoDevice, err, initAdvice(err))
	}
	return d, nil
}

type symbol struct {
	fn   any
	name string
}

func (d *driver) symbols() []symbol {
	return []symbol{
		{&d.init, "cuInit"}, {&d.driverVersion, "cuDriverGetVersion"}, {&d.errorName, "cuGetErrorName"},
		{&d.errorString, "cuGetErrorString"}, {&d.deviceCount, "cuDeviceGetCount"},
		{&d.deviceGet, "cuDeviceGet"}, {&d.deviceName, "cuDeviceGetName"},
		{&d.deviceAttribute, "cuDeviceGetAttribute"}, {&d.deviceMemory, "cuDeviceTotalMem_v2"},
		{&d.devicePCI, "cuDeviceGetPCIBusId"}, {&d.ctxRetain, "cuDevicePrimaryCtxRetain"},
		{&d.ctxSet, "cuCtxSetCurrent"}, {&d.libraryLoad, "cuLibraryLoadData"},
		{&d.libraryUnload, "cuLibraryUnload"}, {&d.libraryKernel, "cuLibraryGetKernel"},
		{&d.kernelIn, "cuKernelGetFunction"}, {&d.ctxSync, "cuCtxSynchronize"},
		{&d.moduleLoad, "cuModuleLoadDataEx"}, {&d.moduleFunction, "cuModuleGetFunction"},
		{&d.funcAttribute, "cuFuncGetAttribute"}, {&d.funcSet, "cuFuncSetAttribute"},
		{&d.memInfo, "cuMemGetInfo_v2"}, {&d.memAlloc, "cuMemAlloc_v2"}, {&d.memFree, "cuMemFree_v2"},
		{&d.copyIn, "cuMemcpyHtoD_v2"}, {&d.copyOut, "cuMemcpyDtoH_v2"}, {&d.copyOver, "cuMemcpyDtoD_v2"},
		{&d.copyInAsync, "cuMemcpyHtoDAsync_v2"}, {&d.set8Async, "cuMemsetD8Async"},
		{&d.encodeTiled, "cuTensorMapEncodeTiled"}, {&d.launch, "cuLaunchKernel"},
		{&d.cooperative, "cuLaunchCooperativeKernel"},
		{&d.streamCreate, "cuStreamCreate"}, {&d.streamSync, "cuStreamSynchronize"},
		{&d.streamQuery, "cuStreamQuery"}, {&d.eventCreate, "cuEventCreate"},
		{&d.eventFree, "cuEventDestroy_v2"}, {&d.eventRecord, "cuEventRecord"},
		{&d.eventSync, "cuEventSynchronize"}, {&d.eventElapsed, "cuEventElapsedTime"},
	}
}

// Results of driver calls that are handled separately.
const (
	cuInvalidValue   = 1
	cuOutOfMemory    = 2
	cuNoDevice       = 100
	cuInvalidPTX     = 218
	cuNoBinary       = 209
	cuPTXVersion     = 222
	cuNotReady       = 600
	cuIllegalAddress = 700
	cuTooManyRes     = 701
	cuLaunchTimeout  = 702
	cuAssert         = 710
	cuHardwareStack  = 714
	cuIllegalInstr   = 715
	cuMisaligned     = 716
	cuAddressSpace   = 717
	cuInvalidPC      = 718
	cuLaunchFailed   = 719
)

// check turns a call's result into an *Error.
func (d *driver) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	e := &Error{Call: call, Code: int(code), Name: "unknown"}
	var name, text uintptr
	if d.errorName(code, &name) == 0 && name != 0 {
		e.Name = dl.String(name)
	}
	if d.errorString(code, &text) == 0 && text != 0 {
		e.Name += ": " + dl.String(text)
	}
	return e
}

// initAdvice says what usually stands behind a driver that does not start.
func initAdvice(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Code {
	case cuNoDevice:
		return "; is CUDA_VISIBLE_DEVICES set, the device not passed into this container, or MIG on without an instance (nvidia-smi -L lists them)?"
	case 2:
		return "; other processes hold the device's memory (nvidia-smi lists them)"
	case 35:
		return "; the driver is older than what this program needs: 525 or newer"
	case 801:
		return "; this system's driver does not support the call"
	case 802:
		return "; the system is not ready: on NVSwitch machines nvidia-fabricmanager has to run"
	case 803:
		return "; the driver library and the kernel module have different versions: reboot, or reload the module"
	case 804:
		return "; forward compatibility was attempted on hardware that does not support it"
	case 46:
		return "; the device is busy in an exclusive mode (nvidia-smi -c 0 shares it), or MIG is on without an instance"
	case 304, 800, 999:
		return "; this user may not open /dev/nvidia* (its group, or the container's device rules), or the nvidia-uvm module is not loaded"
	case 805, 806, 807, 808, 809:
		return "; the MPS daemon does not serve this process: stop it, or set CUDA_MPS_PIPE_DIRECTORY to its own"
	}
	return ""
}
