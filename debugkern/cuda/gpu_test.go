package cuda

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

//go:embed testdata/gpu.ptx
var gpuPTX []byte

// The tests of this file run on a real GPU, through a worker, where TILESCOPE_GPU is 1.
// They need no Go there:
//
//	go test -c -o cuda.test ./debugkern/cuda
//	TILESCOPE_GPU=1 ./cuda.test -test.run GPU -test.v
func openGPU(t testing.TB, limit time.Duration) *Backend {
	t.Helper()
	if os.Getenv("TILESCOPE_GPU") != "1" {
		t.Skip("runs on a GPU: set TILESCOPE_GPU=1")
	}
	b, err := Open(t.Context(), BackendConfig{Worker: workerCommand(t), Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func gpuKernel(t testing.TB, b *Backend, entry string) target.Kernel {
	t.Helper()
	m, err := ptx.Parse("gpu.ptx", gpuPTX)
	if err != nil {
		t.Fatal(err)
	}
	k, err := b.Load(t.Context(), m, entry)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// words is a launch of n threads over n words.
func words(n int) *target.Launch {
	in := make([]byte, 0, 4*n)
	for i := range n {
		in = binary.LittleEndian.AppendUint32(in, uint32(i)<<4) // small floats
	}
	l := floats(4)
	l.Label = fmt.Sprintf("%d words", n)
	l.Grid, l.Block = probes.Dim3{max((n+255)/256, 1), 1, 1}, probes.Dim3{min(n, 256), 1, 1}
	l.Args[0].Buffer = &target.Buffer{DType: probes.U32, Dims: []int{n}, Init: in, Bytes: len(in)}
	l.Args[1].Buffer = &target.Buffer{DType: probes.U32, Dims: []int{n}, Bytes: len(in), Output: true}
	l.Args[2].Scalar = binary.LittleEndian.AppendUint32(nil, uint32(n))
	return l
}

// goodGPU adds one to a thousand floats, in and out by way of NaN-free numbers.
func goodGPU(t testing.TB, b *Backend) {
	t.Helper()
	k := gpuKernel(t, b, "add")
	if err := goodLaunch(t, k); err != nil {
		t.Fatal(err)
	}
}

func goodLaunch(t testing.TB, k target.Kernel) error {
	l := words(1000)
	for i := range 1000 {
		binary.LittleEndian.PutUint32(l.Args[0].Buffer.Init[4*i:], 0x3f800000) // 1.0
	}
	r, err := k.Launch(t.Context(), l)
	if err != nil {
		return err
	}
	for i := range 1000 {
		if v := binary.LittleEndian.Uint32(r.Outputs["out"][4*i:]); v != 0x40000000 {
			return fmt.Errorf("out[%d] is %#x, want 2.0", i, v)
		}
	}
	if len(r.Findings) != 0 || r.Unwritten["out"] != 0 {
		return fmt.Errorf("findings %+v, %d unwritten", r.Findings, r.Unwritten["out"])
	}
	return nil
}

func TestGPUDevice(t *testing.T) {
	start := time.Now()
	b := openGPU(t, 0)
	t.Logf("worker start to ready: %s", time.Since(start))
	t.Logf("%+v, driver CUDA %s", b.Device(), b.Driver())
	start = time.Now()
	k := gpuKernel(t, b, "add")
	t.Logf("load: %s, resources %+v", time.Since(start), *k.Resources())
	if k.Resources().Registers == 0 || k.Resources().SpillsUnknown {
		t.Errorf("resources %+v", *k.Resources())
	}
	goodGPU(t, b)
	if r := gpuKernel(t, b, "prints").Resources(); r.LocalBytes == 0 || r.SpillsUnknown ||
		r.SpillStoreBytes != 0 {
		t.Errorf("a kernel with a local array: %+v", *r)
	}
	for _, p := range InspectGPU(t.Context(), BackendConfig{Worker: workerCommand(t)}, Config{}) {
		t.Logf("%+v", p)
	}
}

func TestGPUFindings(t *testing.T) {
	b := openGPU(t, 0)
	for _, c := range []struct {
		entry string
		kind  target.Kind
		index int
		count int
	}{{"overrun", target.OutOfBounds, 1001, 1}, {"varies", target.Varies, 0, 1}} {
		l := words(1001) // no multiple of anything: the band begins at the last byte
		l.Repeat = 10
		l.Grid, l.Block = probes.Dim3{1, 1, 1}, probes.Dim3{1, 1, 1}
		r, err := gpuKernel(t, b, c.entry).Launch(t.Context(), l)
		if err != nil {
			t.Fatalf("%s: %v", c.entry, err)
		}
		if len(r.Findings) != 1 || r.Findings[0].Kind != c.kind || r.Findings[0].Variable != "out" ||
			!slices.Equal(r.Findings[0].Index, []int{c.index}) || r.Findings[0].Count != c.count {
			t.Errorf("%s: %+v", c.entry, r.Findings)
		}
		goodGPU(t, b)
	}
	l := words(1000)
	l.Repeat = 3
	r, err := gpuKernel(t, b, "partial").Launch(t.Context(), l)
	if err != nil || r.Unwritten["out"] != 500 || len(r.Findings) != 0 {
		t.Errorf("half of the elements: %+v, %v", r, err)
	}
}

// awaitFree waits until as much memory is free as before, but for what one context may grow by: the driver
// takes a moment to clear up after a process that died with a kernel running.
func awaitFree(t *testing.T, b *Backend, before uint64) error {
	t.Helper()
	const slack = 256 << 20 // half of what one context left behind would take
	deadline := time.Now().Add(20 * time.Second)
	for {
		free, _, err := b.FreeMemory(t.Context())
		if err != nil || free+slack >= before {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d bytes free, before %d", free, before)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Every fault costs a worker and nothing else: twenty rounds of each, a good launch at once after it.
func TestGPUFaultsAndRecovery(t *testing.T) {
	b := openGPU(t, time.Second)
	rounds := 20
	if testing.Short() {
		rounds = 2
	}
	good := gpuKernel(t, b, "add")
	// The first fault's worker is what later ones are measured against: a worker's context grows as
	// modules are loaded.
	if _, err := gpuKernel(t, b, "illegal").Launch(t.Context(), words(64)); err == nil {
		t.Fatal("an illegal address went unnoticed")
	}
	if err := goodLaunch(t, good); err != nil {
		t.Fatal(err)
	}
	free, _, err := b.FreeMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for entry, kinds := range map[string][]string{
		"illegal": {"illegal-address"}, "misaligned": {"misaligned"},
		"traps": {"trap", "illegal-instruction"}, "asserts": {"assert"}, "spins": {"timeout"},
	} {
		k := gpuKernel(t, b, entry)
		var restart []time.Duration
		for range rounds {
			_, err := k.Launch(t.Context(), words(64))
			var f *target.Fault
			if !errors.As(err, &f) || !slices.Contains(kinds, f.Kind) {
				t.Fatalf("%s: %v", entry, err)
			}
			start := time.Now()
			if err := goodLaunch(t, good); err != nil {
				t.Fatalf("after %s: %v", entry, err)
			}
			restart = append(restart, time.Since(start))
			if entry == "illegal" && len(restart) == 1 {
				t.Log(f)
			}
		}
		slices.Sort(restart)
		t.Logf("%s: fault to good result, median %s, worst %s", entry, restart[len(restart)/2],
			restart[len(restart)-1])
	}
	if err := awaitFree(t, b, free); err != nil {
		t.Error(err)
	}
}

// Workers killed at random moments: never a wrong result, never a hang.
func TestGPUWorkerKilledAtRandom(t *testing.T) {
	b := openGPU(t, 5*time.Second)
	k := gpuKernel(t, b, "add")
	launches := 200
	if testing.Short() {
		launches = 20
	}
	killAtRandom(t, b, launches, 3*time.Millisecond, func() error { return goodLaunch(t, k) })
	goodGPU(t, b)
}

func TestGPUDynamicShared(t *testing.T) {
	b := openGPU(t, 0)
	k := gpuKernel(t, b, "shares")
	l := words(256)
	l.DynShared = 96 << 10
	r, err := k.Launch(t.Context(), l)
	if err != nil || string(r.Outputs["out"]) != string(l.Args[0].Buffer.Init) {
		t.Errorf("96 KiB: %v", err)
	}
	l.DynShared = 4 << 20
	if _, err := k.Launch(t.Context(), l); err == nil ||
		!strings.Contains(err.Error(), "bytes of shared memory") {
		t.Errorf("4 MiB: %v", err)
	}
}

func TestGPUPrintf(t *testing.T) {
	b := openGPU(t, 0)
	l := words(2)
	r, err := gpuKernel(t, b, "prints").Launch(t.Context(), l)
	if err != nil || string(r.Printed) != "hello from thread 0\nhello from thread 1\n" {
		t.Errorf("got %q, %v", r.Printed, err)
	}
}

func TestGPUCancel(t *testing.T) {
	b := openGPU(t, time.Minute)
	k := gpuKernel(t, b, "spins")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := k.Launch(ctx, words(64))
	if took := time.Since(start); err == nil || took > 350*time.Millisecond {
		t.Errorf("%v after %s; the context ended after 300 ms", err, took)
	}
	goodGPU(t, b)
}

func TestGPUTiming(t *testing.T) {
	b := openGPU(t, 0)
	k := gpuKernel(t, b, "add")
	l := words(1 << 20)
	mon, err := OpenMonitor(b.Device())
	if err != nil {
		t.Logf("%v", err)
	} else {
		defer mon.Close()
		start := time.Now()
		s := mon.Sample()
		t.Logf("a sample in %s: %+v", time.Since(start), s)
	}
	for _, flush := range []bool{false, true} {
		times, err := b.Time(t.Context(), []target.Timed{{Kernel: k, Launch: l}, {Kernel: k, Launch: l}},
			target.TimeOptions{Warmups: 100, Launches: 500, FlushL2: flush})
		if err != nil {
			t.Fatal(err)
		}
		for i := range times {
			slices.Sort(times[i])
			if len(times[i]) != 500 || times[i][0] <= 0 {
				t.Fatalf("%d times, the shortest %g", len(times[i]), times[i][0])
			}
			t.Logf("flushed %v, run %d: p50 %.2f µs, p90 %.2f, min %.2f, max %.2f", flush, i, times[i][250],
				times[i][450], times[i][0], times[i][499])
		}
	}
}

// A capture of the size that the mission shape takes, read back.
func TestGPUReadback(t *testing.T) {
	b := openGPU(t, 0)
	k := gpuKernel(t, b, "add")
	for _, mib := range []int{1, 16, 64, 256} {
		l := words(mib << 18)
		for _, repeat := range []int{1, 10} {
			l.Repeat = repeat
			if _, err := k.Launch(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := k.Launch(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d MiB in and out, %d launches: %s", mib, repeat, time.Since(start))
		}
	}
	p := &probes.Plan{
		Grid: probes.Dim3{16, 8, 1}, Work: probes.Work{MaxTiles: 16},
		Stages: []probes.StagePlan{{Stage: "U", DType: probes.F32, Rows: 32, Cols: 100, PerTile: true}},
	}
	l := words(1000)
	l.Probe = &target.Probe{
		Layout: probes.NewLayout(p, probes.StagesOf("U"), probes.Range{N: p.Grid, TileN: 16}),
	}
	for _, repeat := range []int{1, 10} {
		l.Repeat = repeat
		start := time.Now()
		if _, err := k.Launch(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		first := time.Since(start)
		start = time.Now()
		r, err := k.Launch(t.Context(), l)
		if err != nil || len(r.Findings) != 0 {
			t.Fatal(r, err)
		}
		t.Logf("a capture of %.1f MiB, %d launches: %s, the first time %s",
			float64(l.Probe.Layout.CaptureBytes)/(1<<20), repeat, time.Since(start), first)
	}
}

func TestGPUTwoBackends(t *testing.T) {
	a, b := openGPU(t, 0), openGPU(t, 0)
	done := make(chan error, 2)
	for _, x := range []*Backend{a, b} {
		k := gpuKernel(t, x, "add")
		go func() {
			for range 100 {
				if err := goodLaunch(t, k); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
