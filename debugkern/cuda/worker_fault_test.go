package cuda

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/target"
)

// launchCalls are the driver functions that a launch with repeats calls.
var launchCalls = []string{
	"cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2",
	"cuMemsetD8Async", "cuLaunchKernel", "cuStreamSynchronize", "cuEventCreate", "cuEventRecord",
	"cuEventElapsedTime",
}

// openCalls are those of opening a device, loadCalls those of loading a module.
var (
	openCalls = []string{
		"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
		"cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "cuDeviceGetPCIBusId", "cuDevicePrimaryCtxRetain",
		"cuCtxSetCurrent", "cuStreamCreate",
	}
	loadCalls = []string{
		"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction", "cuFuncGetAttribute",
	}
)

// Every call fails, and kills its worker, once: the error names the call, and the backend
// works again afterwards.
func TestEveryCallCanFail(t *testing.T) {
	cfg := fakeConfig(t)
	for _, action := range []string{"1", "abort"} {
		for _, call := range openCalls {
			t.Setenv("FAKECUDA", call+"="+action)
			b, err := Open(t.Context(), cfg)
			checkFailure(t, call, action, err)
			if err == nil {
				b.Close()
			}
		}
		for _, call := range append(loadCalls, launchCalls...) {
			t.Setenv("FAKECUDA", call+"="+action)
			b, err := Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = launchOnce(t.Context(), t, b)
			checkFailure(t, call, action, err)
			t.Setenv("FAKECUDA", "")
			b.drop() // a worker keeps its environment
			good(t, b)
			b.Close()
		}
	}
}

func launchOnce(ctx context.Context, t *testing.T, b *Backend) error {
	t.Helper()
	k, err := b.Load(ctx, module(t, "copy", ""), "copy")
	if err != nil {
		return err
	}
	l := floats(12)
	l.Repeat = 2
	_, err = k.Launch(ctx, l)
	return err
}

func checkFailure(t *testing.T, call, action string, err error) {
	t.Helper()
	want := strings.TrimSuffix(call, "_v2")
	if action == "abort" {
		want = "SIGABRT: abort" // the runtime catches the signal and says which
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s=%s: %v", call, action, err)
	}
	var f *target.Fault
	if action == "1" && errors.As(err, &f) {
		t.Errorf("%s=%s: an invalid value is no fault: %v", call, action, err)
	}
}

// Every call hangs once: the time limit ends it.
func TestEveryCallCanHang(t *testing.T) {
	cfg := fakeConfig(t)
	cfg.Timeout = 40 * time.Millisecond
	for _, call := range launchCalls {
		t.Setenv("FAKECUDA", call+"=hang")
		b, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		err = launchOnce(t.Context(), t, b)
		var f *target.Fault
		if !errors.As(err, &f) || f.Kind != "timeout" {
			t.Errorf("%s: %v", call, err)
		}
		b.Close()
	}
	// opening has a limit of its own; a cancelled context ends it like anything else
	t.Setenv("FAKECUDA", "cuInit=hang")
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cuInit: %v", err)
	}
}

// The second launch of three faults: the fault says so.
func TestFaultNamesItsLaunch(t *testing.T) {
	cfg := fakeConfig(t)
	cfg.Timeout = 100 * time.Millisecond
	// the first launch waits once; the second is the second to wait
	for rule, want := range map[string]string{
		"cuStreamSynchronize@2=719": "the kernel trapped", "cuStreamSynchronize@2=hang": "time limit",
	} {
		t.Setenv("FAKECUDA", rule+",cuCtxSynchronize=719")
		b, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		l := floats(12)
		l.Repeat = 3
		_, err = load(t, b, "copy").Launch(t.Context(), l)
		if err == nil || !strings.Contains(err.Error(), "launch 2 of 3: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
		b.Close()
	}
}

// Out of memory is an error with the amount, no fault; memory kept for reuse is given back first.
func TestOutOfMemory(t *testing.T) {
	b := openFake(t, "cuMemAlloc_v2@6=2")
	k := load(t, b, "copy")
	// two allocations, and two to examine it with
	if _, err := k.Launch(t.Context(), floats(12)); err != nil {
		t.Fatal(err)
	}
	// two more of another size; the last fails once, and again after the pool is drained it does not
	if _, err := k.Launch(t.Context(), floats(40)); err != nil {
		t.Errorf("with memory to give back: %v", err)
	}
	b = openFake(t, "cuMemAlloc_v2=2")
	_, err := load(t, b, "copy").Launch(t.Context(), floats(12))
	var f *target.Fault
	if err == nil || errors.As(err, &f) ||
		!strings.Contains(err.Error(), "argument in: a buffer of 48 bytes: cuMemAlloc") {
		t.Errorf("got %v", err)
	}
	// no room for the copies that later launches are compared with: said, not failed
	b = openFake(t, "cuMemAlloc_v2@5=2")
	l := floats(12)
	l.Repeat = 2
	r, err := load(t, b, "vary").Launch(t.Context(), l)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Kind != target.NotModelled ||
		!strings.Contains(r.Findings[0].Message, "out was not compared") {
		t.Errorf("got %+v, %v", r, err)
	}
}
