package cuda

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"tilescope/debugkern/budget"
)

// TestCompilersShareMemory: what each process may take follows the session's memory, and as many
// run at once as fit it.
func TestCompilersShareMemory(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	for memory, want := range map[int64]struct {
		each  int64
		turns int
	}{
		0: {compilerMemory, cores}, 1: {compilerLeast, 1}, 2 << 30: {2 << 30, 1},
		4 << 30: {compilerMemory, 1}, 9 << 30: {compilerMemory, min(2, cores)},
		1 << 50: {compilerMemory, cores},
	} {
		if c := newCompilers(nil, memory); c.memory != want.each || cap(c.turns) != want.turns {
			t.Errorf("of %d bytes: %d each, %d at once, want %+v", memory, c.memory, cap(c.turns), want)
		}
	}
}

// hungry is an NVRTC that allocates without end for any source. It gives up at 3 GiB, without a crash.
const hungry = `#include <stdio.h>
#include <stdlib.h>
int nvrtcVersion(int* a, int* b) { *a = 12; *b = 0; return 0; }
const char* nvrtcGetErrorString(int e) { return "error"; }
int nvrtcCreateProgram(void** p, const char* s, const char* n, int k, void* h, void* i) { *p = (void*)s; return 0; }
int nvrtcCompileProgram(void* p, int n, void* o) {
	for (long i = 0; i < 48; i++) { char* m = malloc(64 << 20); if (!m) { fprintf(stderr, "bad_alloc\n"); abort(); } ((volatile char*)m)[0] = 1; }
	return 0;
}
int nvrtcDestroyProgram(void** p) { return 0; }
int nvrtcGetProgramLogSize(void* p, size_t* n) { *n = 0; return 0; }
int nvrtcGetProgramLog(void* p, char* t) { return 0; }
int nvrtcGetPTXSize(void* p, size_t* n) { *n = 1; return 0; }
int nvrtcGetPTX(void* p, char* t) { *t = 0; return 0; }
`

// TestCompilerMemory: a process that needs more than the session's memory allows crashes, and the error says
// what it was allowed and which setting allows more.
func TestCompilerMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a process's memory is limited on Linux alone")
	}
	root, compiler := scriptedNVRTC(t, hungry)
	compile := func(memory int64) error {
		tc, err := FindToolchain(t.Context(), Config{
			Root: root, Path: root, Compiler: compiler, Memory: memory,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer tc.Close()
		_, err = tc.Compile(t.Context(), Build{Name: "k.cu", Source: "k", Arch: "sm_80"})
		return err
	}
	err := compile(1 << 20)
	var crash *Crash
	if !errors.As(err, &crash) ||
		!strings.Contains(err.Error(),
			"it may take 1 GiB of memory (by memory.max: --memory-max raises it)") {
		t.Errorf("%v", err)
	}
	if err := compile(0); errors.As(err, &crash) {
		t.Errorf("without a limit of the session: %v", err)
	}
}

// TestOpeningLimitsBuffers: whoever opens a device says what the buffers of later requests may take together.
func TestOpeningLimitsBuffers(t *testing.T) {
	for size, ok := range map[int64]bool{1 << 10: true, 1<<10 + 1: false} {
		in := frames(t, func(f *frameWriter) {
			f.json(frameRequest, 1, request{Open: &openOp{Memory: 1 << 10}})
			f.json(frameRequest, 2, request{Buffers: []int64{size}})
			f.data(0, 2, make([]byte, size), nil)
		})
		w := &worker{budget: DefaultBudget}
		err := w.read(bytes.NewReader(in), make(chan *incoming, 2))
		if refused := err != nil && strings.Contains(err.Error(), "memory.max"); refused == ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestLaunchesReserveHostMemory: what a GPU launch takes on the host is reserved, its result as long as
// somebody has it, and a launch that needs more than there is, or is left, is not begun.
func TestLaunchesReserveHostMemory(t *testing.T) {
	b := openFake(t, "")
	k, l := load(t, b, "copy"), floats(12)
	need := int64(0)
	l.Memory = budget.Failing(1<<20, func(_ string, bytes int64) bool { need += bytes; return false })
	r, err := k.Launch(t.Context(), l)
	if err != nil || len(r.Outputs["out"]) != 48 {
		t.Fatalf("%+v, %v", r, err)
	}
	// the result's; while it ran, the worker's too, and what it was sent
	if l.Memory.Used() != 48 || need < 3*48 {
		t.Errorf("%d bytes are reserved for a result of 48, %d were while it was made", l.Memory.Used(), need)
	}
	runtime.KeepAlive(r)
	r = nil
	if l.Memory.Collect(); l.Memory.Used() != 0 {
		t.Errorf("%d bytes are reserved once the result is gone", l.Memory.Used())
	}
	l.Memory = budget.New(need - 1)
	var refused *budget.Refused
	if _, err := k.Launch(t.Context(), l); !errors.As(err, &refused) || l.Memory.Used() != 0 {
		t.Errorf("with a byte too little: %v", err)
	}
	for n, asked := 1, 1; asked >= n; n++ {
		asked = 0
		l.Memory = budget.Failing(1<<20, func(string, int64) bool { asked++; return asked == n })
		_, err := k.Launch(t.Context(), l)
		var full *budget.Exhausted
		if asked >= n && !errors.As(err, &full) || asked < n && err != nil {
			t.Errorf("reservation %d of %d: %v", n, asked, err)
		}
		if l.Memory.Collect(); l.Memory.Used() != 0 {
			t.Errorf("reservation %d: %d bytes stay reserved", n, l.Memory.Used())
		}
	}
}
