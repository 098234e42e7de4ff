package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// good launches a kernel that must succeed: what every failure is followed by.
func good(t *testing.T, b *Backend) {
	t.Helper()
	l := floats(12)
	r, err := load(t, b, "copy").Launch(t.Context(), l)
	if err != nil {
		t.Fatalf("a good launch: %v", err)
	}
	if !bytes.Equal(r.Outputs["out"], l.Args[0].Buffer.Init) || len(r.Findings) != 0 ||
		r.Unwritten["out"] != 0 || !r.Reached {
		t.Fatalf("a good launch left %v, %d unwritten, findings %v", r.Outputs["out"],
			r.Unwritten["out"], r.Findings)
	}
}

func TestBackendDescribesItsDevice(t *testing.T) {
	b := openFake(t, "")
	if got, want := b.Info(), (target.Info{Name: "cuda", Device: "Fake GPU 0", Arch: "sm_90"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if d := b.Device(); d.PCI != "0000:00:00.0" || d.Memory != 1<<30 || d.SharedPerBlock != 232448 ||
		b.Driver() != "13.0" {
		t.Errorf("device %+v, driver %s", d, b.Driver())
	}
	good(t, b)
}

func TestDevices(t *testing.T) {
	cfg := fakeConfig(t)
	t.Setenv("FAKECUDA_DEVICES", "3")
	devs, version, err := Devices(t.Context(), cfg)
	if err != nil || len(devs) != 3 || devs[2].Name != "Fake GPU 2" || version != "13.0" {
		t.Errorf("got %+v, %s, %v", devs, version, err)
	}
	cfg.Device = 2
	b, err := Open(t.Context(), cfg)
	if err != nil || b.Info().Device != "Fake GPU 2" {
		t.Fatalf("%+v, %v", b, err)
	}
	b.Close()
	cfg.Device = 3
	if _, err := Open(t.Context(), cfg); !errors.Is(err, ErrNoDevice) ||
		!strings.Contains(err.Error(), "counts 3") {
		t.Errorf("device 3 of 3: %v", err)
	}
}

func TestOpenWithoutDriverOrDevice(t *testing.T) {
	cfg := fakeConfig(t)
	missing := cfg
	missing.Library = filepath.Join(t.TempDir(), "libcuda.so.1")
	if _, err := Open(t.Context(), missing); !errors.Is(err, ErrNoDriver) {
		t.Errorf("no library: %v", err)
	}
	for rules, want := range map[string]string{
		"cuInit=100": "CUDA_VISIBLE_DEVICES", "cuInit=802": "fabricmanager",
		"cuInit=803":                  "different versions",
		"cuDevicePrimaryCtxRetain=46": "exclusive mode",
	} {
		t.Setenv("FAKECUDA", rules)
		if _, err := Open(t.Context(), cfg); !errors.Is(err, ErrNoDevice) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rules, err)
		}
	}
	t.Setenv("FAKECUDA", "")
	t.Setenv("FAKECUDA_DEVICES", "0")
	if _, _, err := Devices(t.Context(), cfg); !errors.Is(err, ErrNoDevice) {
		t.Errorf("no device: %v", err)
	}
	cfg.Worker = Local{"/bin/echo", "no worker"}
	if _, err := Open(t.Context(), cfg); err == nil ||
		!strings.Contains(err.Error(), "start the GPU worker") {
		t.Errorf("a command that is no worker: %v", err)
	}
}

func TestLaunchFindings(t *testing.T) {
	b := openFake(t, "")
	for _, c := range []struct {
		entry string
		want  target.Finding
		text  string
	}{
		{"overrun", target.Finding{Kind: target.OutOfBounds, Variable: "out", Index: []int{13}, Count: 2},
			"8 bytes were written past its end of out, the nearest 4 bytes beyond"},
		{"underrun", target.Finding{Kind: target.OutOfBounds, Variable: "out", Index: []int{-2}, Count: 1},
			"before its start of out"},
		{"vary", target.Finding{Kind: target.Varies, Variable: "out", Index: []int{1, 1}, Count: 1},
			"1 cells of out differ between 5 identical launches (first seen in launch 2)"},
	} {
		l := floats(12)
		l.Repeat = 5
		r, err := load(t, b, c.entry).Launch(t.Context(), l)
		if err != nil {
			t.Fatalf("%s: %v", c.entry, err)
		}
		if len(r.Findings) != 1 {
			t.Fatalf("%s: findings %+v", c.entry, r.Findings)
		}
		f := r.Findings[0]
		if f.Kind != c.want.Kind || f.Variable != c.want.Variable || !slices.Equal(f.Index, c.want.Index) ||
			f.Count != c.want.Count ||
			f.Severity != target.SeverityError || !strings.Contains(f.Message, c.text) {
			t.Errorf("%s: got %+v", c.entry, f)
		}
		good(t, b) // the bands are whole again
	}
}

// Elements never written are reported from elements written with the bytes that stood there.
func TestUnwritten(t *testing.T) {
	b := openFake(t, "")
	for entry, want := range map[string]int{"copy": 0, "partial": 6, "half": 0} {
		for _, repeat := range []int{1, 3} {
			l := floats(12)
			l.Repeat = repeat
			r, err := load(t, b, entry).Launch(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			if r.Unwritten["out"] != want || len(r.Findings) != 0 {
				t.Errorf("%s: %d unwritten, want %d; findings %v", entry, r.Unwritten["out"],
					want, r.Findings)
			}
			if tail := r.Outputs["out"][24:]; entry != "copy" &&
				!bytes.Equal(tail, bytes.Repeat([]byte{0xff}, 24)) {
				t.Errorf("%s: the second half is %x", entry, tail)
			}
		}
	}
	// what a kernel is given it may read, and no launch has other contents: what was written is not known
	l := floats(12)
	l.Args[1].Buffer.Init = bytes.Repeat([]byte{9}, 48)
	r, err := load(t, b, "partial").Launch(t.Context(), l)
	if err != nil || r.Unwritten["out"] != 0 ||
		!bytes.Equal(r.Outputs["out"][24:], l.Args[1].Buffer.Init[24:]) {
		t.Errorf("an output with contents: %d unwritten, %x, %v", r.Unwritten["out"], r.Outputs["out"], err)
	}
}

func TestCapture(t *testing.T) {
	b := openFake(t, "")
	p := &probes.Plan{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Work: probes.Work{MaxTiles: 2},
		Gate:   probes.GatePlan{Name: "softmax", Injected: probes.StagesOf("S")},
		Stages: []probes.StagePlan{{Stage: "S", DType: probes.F16, Rows: 4, Cols: 4, PerTile: true}},
	}
	layout := probes.NewLayout(p, probes.StagesOf("S"), probes.Range{N: probes.Dim3{1, 1, 1}, TileN: 2})
	l := floats(12)
	l.Repeat = 3
	l.Probe = &target.Probe{
		Layout: layout, Control: true, Inject: bytes.Repeat([]byte{0x5a}, int(layout.InjectBytes)),
	}
	r, err := load(t, b, "instrumented").Launch(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	tile := layout.Tile(r.Capture, &p.Stages[0], probes.Dim3{}, 0)
	if tile.Data == nil || tile.Data[0] != 0x5a {
		t.Errorf("tile %v: the kernel copies the first injected byte", tile.Data)
	}
	if other := layout.Tile(r.Capture, &p.Stages[0], probes.Dim3{}, 1); other.Data != nil {
		t.Errorf("a tile that was not reached holds %v", other.Data)
	}
	// Two of the sixteen cells are stored; one more launch, from another filling, says that
	// the others are not.
	off, _ := layout.Slot("S", probes.Dim3{}, 0)
	absent := r.Missing[off]
	if len(r.Missing) != 1 || len(absent) != 16 || absent[0] || absent[1] {
		t.Fatalf("missing cells %v", r.Missing)
	}
	for i := 2; i < 16; i++ {
		if !absent[i] || tile.Bits(i/4, i%4) != 0 {
			t.Errorf("cell %d: absent %v, bits %#x", i, absent[i], tile.Bits(i/4, i%4))
		}
	}
	if len(r.Findings) != 1 || r.Findings[0].Kind != target.Varies || r.Findings[0].Variable != "S" ||
		!slices.Equal(r.Findings[0].Index, []int{0, 1}) ||
		r.Findings[0].KVTile != 0 || r.Findings[0].Count != 1 {
		t.Errorf("findings %+v", r.Findings)
	}
	l.Probe.Watch = []target.Watch{{Stage: "P"}}
	if r, err = load(t, b, "instrumented").Launch(t.Context(), l); err != nil ||
		!slices.ContainsFunc(r.Findings, func(f target.Finding) bool {
			return f.Kind == target.NotModelled && f.Severity == target.SeverityAdvice &&
				strings.Contains(f.Message, "stage P")
		}) {
		t.Errorf("a watch: findings %+v, %v", r.Findings, err)
	}
}

func TestFaultsCostAWorker(t *testing.T) {
	cfg := fakeConfig(t)
	cfg.Timeout = 300 * time.Millisecond
	b, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for entry, want := range map[string]struct{ kind, text string }{
		"illegal": {
			"illegal-address",
			"access to an illegal address (cuStreamSynchronize: error 700, CUDA_ERROR_ILLEGAL_ADDRESS)",
		},
		"misaligned": {"misaligned", "a misaligned access"},
		"trap":       {"trap", "the kernel trapped"},
		"hang":       {"timeout", "no end within the time limit of 300ms"},
		"die":        {"died", "the worker process ended (exit status 2): SIGABRT: abort"},
	} {
		k := load(t, b, entry)
		for range 2 {
			before := b.WorkerPID()
			_, err := k.Launch(t.Context(), floats(12))
			var f *target.Fault
			if !errors.As(err, &f) || f.Kind != want.kind || !strings.Contains(err.Error(), want.text) {
				t.Fatalf("%s: %v", entry, err)
			}
			for _, part := range []string{
				"kernel " + entry + " (twelve floats), launch 1 of 1: ", "--backend emu",
			} {
				if !strings.Contains(f.Msg, part) {
					t.Errorf("%s: %q lacks %q", entry, f.Msg, part)
				}
			}
			good(t, b)
			if now := b.WorkerPID(); now == before || now == 0 {
				t.Errorf("%s: worker %d, before it %d", entry, now, before)
			}
		}
	}
}

func TestNoLeak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts the files in /proc")
	}
	b := openFake(t, "")
	k := load(t, b, "illegal")
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(files)
	}
	good(t, b)
	files, routines, pids := count(), runtime.NumGoroutine(), map[int]bool{}
	for range 20 {
		if _, err := k.Launch(t.Context(), floats(12)); err == nil {
			t.Fatal("no fault")
		}
		good(t, b)
		pids[b.WorkerPID()] = true
	}
	if len(pids) != 20 {
		t.Errorf("%d workers in 20 rounds", len(pids))
	}
	b.Close()
	if now := count(); now > files {
		t.Errorf("%d open files, before %d", now, files)
	}
	if now := runtime.NumGoroutine(); now > routines {
		t.Errorf("%d goroutines, before %d", now, routines)
	}
	for pid := range pids {
		for deadline := time.Now().Add(10 * time.Second); alive(pid); runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("worker %d lives on", pid)
			}
		}
	}
}

// Two instances on one device: a fault, a hang and a killed worker of the one are nothing to the other.
func TestTwoInstances(t *testing.T) {
	cfg := fakeConfig(t)
	cfg.Timeout = 200 * time.Millisecond
	open := func() *Backend {
		t.Helper()
		b, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	a, b := open(), open()
	pid := b.WorkerPID()
	if a.WorkerPID() == pid {
		t.Fatal("one worker for both")
	}
	for _, entry := range []string{"illegal", "hang", "die"} {
		done := make(chan error, 1)
		k := load(t, a, entry)
		go func() { _, err := k.Launch(t.Context(), floats(12)); done <- err }()
		for range 5 {
			good(t, b)
		}
		if err := <-done; err == nil {
			t.Errorf("%s: no fault", entry)
		}
		good(t, a)
	}
	if err := killWorker(a); err != nil {
		t.Fatal(err)
	}
	good(t, b)
	good(t, a)
	if b.WorkerPID() != pid {
		t.Error("the other instance lost its worker")
	}
}

// killWorker does to the worker what a user, or a system short of memory, may do.
func killWorker(b *Backend) error {
	p, err := os.FindProcess(b.WorkerPID())
	if err != nil {
		return err
	}
	return p.Kill()
}

// A worker killed by somebody else is no fault of the kernel's: the launch runs again in another.
func TestWorkerKilledFromOutside(t *testing.T) {
	b := openFake(t, "")
	k := load(t, b, "copy")
	for range 5 {
		if err := killWorker(b); err != nil {
			t.Fatal(err)
		}
		if r, err := k.Launch(t.Context(), floats(12)); err != nil || r.Outputs["out"][4] != 2 {
			t.Fatalf("got %v", err)
		}
	}
	// one that dies of it every time is
	t.Setenv("FAKECUDA", "cuLaunchKernel=kill")
	killWorker(b)
	var f *target.Fault
	if _, err := k.Launch(t.Context(), floats(12)); !errors.As(err, &f) || f.Kind != "died" ||
		!strings.Contains(f.Msg, "signal: killed") {
		t.Errorf("got %v", err)
	}
}

// killAtRandom kills the worker once in each of n launches, within the first moments of it. A launch that
// lost two workers is a fault; anything else must be right.
func killAtRandom(t *testing.T, b *Backend, n int, within time.Duration, launch func() error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	faults := 0
	for range n {
		killed := make(chan struct{})
		at := time.Now().Add(time.Duration(rng.Int64N(int64(within))))
		go func() {
			defer close(killed)
			for time.Now().Before(at) {
				runtime.Gosched()
			}
			if b.WorkerPID() != 0 {
				killWorker(b)
			}
		}()
		err := launch()
		<-killed
		var f *target.Fault
		switch {
		case errors.As(err, &f) && f.Kind == "died":
			faults++
		case err != nil:
			t.Fatal(err)
		}
	}
	t.Logf("%d launches, %d of them reported as faults", n, faults)
}

func TestWorkerKilledAtRandom(t *testing.T) {
	b := openFake(t, "")
	k, l := load(t, b, "copy"), floats(12)
	l.Repeat = 3
	killAtRandom(t, b, 60, time.Millisecond, func() error {
		r, err := k.Launch(t.Context(), l)
		if err == nil && (!bytes.Equal(r.Outputs["out"], l.Args[0].Buffer.Init) || len(r.Findings) != 0) {
			return fmt.Errorf("wrong: %+v", r)
		}
		return err
	})
	good(t, b)
}

// hangFile is a file that a hanging call of b's next worker makes first.
func hangFile(t *testing.T, b *Backend) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hanging")
	t.Setenv("FAKECUDA_HANGING", path)
	b.drop()
	good(t, b)
	return path
}

func TestCancelIsQuick(t *testing.T) {
	b := openFake(t, "")
	k := load(t, b, "hang")
	hanging := hangFile(t, b)
	pid := b.WorkerPID()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := k.Launch(ctx, floats(12)); done <- err }()
	for _, err := os.Stat(hanging); err != nil; _, err = os.Stat(hanging) {
		runtime.Gosched()
	}
	cancel()
	start := time.Now()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	t.Logf("cancelled after %s", time.Since(start))
	good(t, b)
	if b.WorkerPID() == pid {
		t.Error("the worker that hung still serves")
	}
	// cancelled before it starts: nothing happens to the worker
	pid = b.WorkerPID()
	if _, err := k.Launch(ctx, floats(12)); !errors.Is(err, context.Canceled) || b.WorkerPID() != pid {
		t.Errorf("got %v", err)
	}
}

func TestTime(t *testing.T) {
	b := openFake(t, "")
	x, y := load(t, b, "copy"), load(t, b, "half")
	times, err := b.Time(t.Context(), []target.Timed{
		{Kernel: x, Launch: floats(12)}, {Kernel: y, Launch: floats(12)},
	}, target.TimeOptions{Warmups: 2, Launches: 3, FlushL2: true})
	if err != nil {
		t.Fatal(err)
	}
	// the test driver's clock advances by 250 µs a reading: A B A B A B
	if !slices.Equal(times[0], []float64{250, 750, 1250}) ||
		!slices.Equal(times[1], []float64{500, 1000, 1500}) {
		t.Errorf("got %v", times)
	}
	one, err := target.TimeLaunches(t.Context(), b, x, floats(12), target.TimeOptions{Launches: 2})
	if err != nil || len(one) != 2 {
		t.Errorf("got %v, %v", one, err)
	}
	var f *target.Fault
	if _, err := target.TimeLaunches(t.Context(), b, load(t, b, "illegal"), floats(12), target.TimeOptions{
		Launches: 2,
	}); !errors.As(err, &f) || f.Kind != "illegal-address" {
		t.Errorf("a fault while timing: %v", err)
	}
	good(t, b)
}

func TestResources(t *testing.T) {
	const log = "ptxas info    : Compiling entry function 'copy' for 'sm_90'\nptxas info    : Function properties for copy\n" +
		"    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 32 registers, 64 bytes smem\n"
	t.Setenv("FAKECUDA_LOG", log)
	b := openFake(t, "")
	if r := load(t, b, "copy").Resources(); !reflect.DeepEqual(*r, target.Resources{
		Registers: 32, SharedBytes: 64, Arch: "sm_90",
	}) {
		t.Errorf("got %+v", r)
	}
	t.Setenv("FAKECUDA_LOG", strings.Replace(log, "Used 32", "Used 33", 1))
	killWorker(b)
	if _, err := b.Load(t.Context(), module(t, "copy", ""), "copy"); err == nil ||
		!strings.Contains(err.Error(), "33 registers") {
		t.Errorf("a log that disagrees: %v", err)
	}
	// a driver that says nothing at all: spills are known where there is no local memory
	t.Setenv("FAKECUDA_LOG", "")
	killWorker(b)
	if r := load(t, b, "copy").Resources(); r.SpillsUnknown {
		t.Errorf("got %+v", r)
	}
	if r := load(t, b, "local").Resources(); !r.SpillsUnknown || r.LocalBytes != 16 {
		t.Errorf("got %+v", r)
	}
}

// The driver compiles a text once and is silent from then on: what it said is kept, for the next worker and
// the next process, and is about the very code that is loaded.
func TestCompilerLogIsKept(t *testing.T) {
	const log = "ptxas info    : Compiling entry function 'local' for 'sm_90'\nptxas info    : Function properties for local\n" +
		"    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\nptxas info    : Used 32 registers, 64 bytes smem\n"
	want := target.Resources{
		Registers: 32, SharedBytes: 64, LocalBytes: 16, SpillStoreBytes: 12, SpillLoadBytes: 8, Arch: "sm_90",
	}
	compiled := filepath.Join(t.TempDir(), "compiled")
	t.Setenv("FAKECUDA_LOG", log)
	t.Setenv("FAKECUDA_CACHE", compiled)
	compilations := func() int {
		text, err := os.ReadFile(compiled)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n")) - 1 // what launches are examined with is compiled too, once
	}
	cfg := fakeConfig(t)
	cfg.Cache = cache.Open(cache.Options{
		Dir: t.TempDir(), Max: 1 << 20, KeyFile: filepath.Join(t.TempDir(), "key"),
	})
	open := func() (*Backend, *kernel) {
		t.Helper()
		b, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		k := load(t, b, "local").(*kernel)
		if r := k.Resources(); !reflect.DeepEqual(*r, want) {
			t.Errorf("got %+v", r)
		}
		return b, k
	}
	b, k := open()
	killWorker(b)
	// the next worker gets it from the driver's cache
	if _, err := k.Launch(t.Context(), floats(12)); err != nil {
		t.Fatal(err)
	}
	open()
	if n := compilations(); n != 1 {
		t.Errorf("%d compilations", n)
	}
	// what is remembered is about other code: it is compiled again, not believed
	b.remember(k.text, jitRecord{Salt: k.jit.Salt, Log: strings.Replace(log, "Used 32", "Used 40", 1)})
	open()
	if n := compilations(); n != 2 {
		t.Errorf("%d compilations", n)
	}
	// without a cache of ours the driver is asked again
	cfg.Cache = nil
	open()
	if n := compilations(); n != 3 {
		t.Errorf("%d compilations", n)
	}
}

// Modules are loaded while a kernel runs, and several at once.
func TestLoadingBesideALaunch(t *testing.T) {
	hanging := filepath.Join(t.TempDir(), "hanging")
	t.Setenv("FAKECUDA_HANGING", hanging)
	b := openFake(t, "cuStreamSynchronize=hang")
	k := load(t, b, "copy")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := k.Launch(ctx, floats(12))
		ended <- err
	}()
	for {
		if _, err := os.Stat(hanging); err == nil {
			break
		}
		runtime.Gosched()
	}
	pid := b.WorkerPID()
	var wg sync.WaitGroup
	for _, entry := range []string{"partial", "vary", "print"} {
		wg.Go(func() {
			if _, err := b.Load(t.Context(), module(t, entry, ""), entry); err != nil {
				t.Errorf("%s: %v", entry, err)
			}
		})
	}
	wg.Wait()
	if b.WorkerPID() != pid {
		t.Error("loading cost a worker")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the launch: %v", err)
	}
}

// Who does not wait for a module any more costs no worker.
func TestLoadingIsGivenUp(t *testing.T) {
	b := openFake(t, "cuLibraryLoadData@2=hang")
	k := load(t, b, "copy")
	pid := b.WorkerPID()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := b.Load(ctx, module(t, "vary", ""), "vary"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := k.Launch(t.Context(), floats(12)); err != nil || b.WorkerPID() != pid {
		t.Errorf("a launch after it: %v, worker %d, before %d", err, b.WorkerPID(), pid)
	}
}

// What a kernel does to the worker while another module is loaded is no fault of that module's.
func TestLoadingSurvivesAFault(t *testing.T) {
	for _, lost := range []string{"kill", "700,cuStreamQuery=700", "999,cuStreamQuery=999"} {
		b := openFake(t, "cuLibraryLoadData@2="+lost)
		load(t, b, "copy")
		pid := b.WorkerPID()
		load(t, b, "vary")
		if b.WorkerPID() == pid {
			t.Errorf("%s: the same worker goes on", lost)
		}
	}
}

// Who has given up before asking costs no worker, whether or not an answer comes first.
func TestLoadingGivenUpBefore(t *testing.T) {
	b := openFake(t, "")
	pid := b.WorkerPID()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if _, err := b.Load(ctx, module(t, "copy", ""), "copy"); err != nil &&
			!errors.Is(err, context.Canceled) || b.WorkerPID() != pid {
			t.Fatalf("%v, worker %d, before %d", err, b.WorkerPID(), pid)
		}
	}
	good(t, b)
	if b.WorkerPID() != pid {
		t.Error("the worker was of no more use")
	}
}

// A launch that ends the worker is not the fault of the module loaded meanwhile.
func TestALaunchDiesBesideALoad(t *testing.T) {
	for _, kind := range []string{"die", "illegal"} {
		hanging := filepath.Join(t.TempDir(), "hanging")
		t.Setenv("FAKECUDA_HANGING", hanging)
		b := openFake(t, "cuLibraryLoadData@2=hang")
		k := load(t, b, kind)
		ended := make(chan error, 1)
		go func() {
			_, err := b.Load(t.Context(), module(t, "vary", ""), "vary")
			ended <- err
		}()
		for {
			if _, err := os.Stat(hanging); err == nil {
				break
			}
			runtime.Gosched()
		}
		var f *target.Fault
		if _, err := k.Launch(t.Context(), floats(12)); !errors.As(err, &f) {
			t.Errorf("%s: the launch: %v", kind, err)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: the load: %v", kind, err)
		}
	}
}

// A worker that died while nobody looked is replaced.
func TestADeadWorkerIsReplaced(t *testing.T) {
	b := openFake(t, "")
	p := b.running.Load()
	if err := p.cmd.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	load(t, b, "copy")
}

func TestRefusals(t *testing.T) {
	b := openFake(t, "")
	k := load(t, b, "copy")
	pid := b.WorkerPID()
	for name, c := range map[string]struct {
		change func(*target.Launch)
		want   string
	}{
		"too few arguments": {func(l *target.Launch) { l.Args = l.Args[:2] }, "2 arguments for 3 parameters"},
		"short scalar": {func(l *target.Launch) { l.Args[2].Scalar = l.Args[2].Scalar[:1] },
			"1 bytes for a parameter of 4"},
		"buffer for a u32": {func(l *target.Launch) { l.Args[2] = l.Args[0] },
			"a buffer for a parameter of 4 bytes"},
		"too much shared": {func(l *target.Launch) { l.DynShared = 1 << 20 },
			"a block on Fake GPU 0 may have 232448"},
		"no threads": {func(l *target.Launch) { l.Block[0] = 0 }, "CUDA_ERROR_INVALID_VALUE"},
	} {
		l := floats(12)
		c.change(l)
		_, err := k.Launch(t.Context(), l)
		var f *target.Fault
		if err == nil || errors.As(err, &f) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := floats(12)
	l.DynShared = 100 << 10 // above what needs no asking
	if _, err := k.Launch(t.Context(), l); err != nil {
		t.Errorf("100 KiB of dynamic shared memory: %v", err)
	}
	var jit *JITError
	_, err := b.Load(t.Context(), module(t, "broken", ""), "broken")
	if !errors.As(err, &jit) || jit.Line == 0 || !strings.Contains(jit.Text, "broken") ||
		!strings.Contains(err.Error(), "Unknown thing") {
		t.Errorf("refused PTX: %v", err)
	}
	if b.WorkerPID() != pid {
		t.Error("a refusal cost a worker")
	}
	b.Close()
	if _, err := k.Launch(t.Context(), floats(12)); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestPrinted(t *testing.T) {
	b := openFake(t, "")
	for range 2 {
		r, err := load(t, b, "print").Launch(t.Context(), floats(12))
		if err != nil || string(r.Printed) != "printed by the kernel\n" {
			t.Errorf("got %q, %v", r.Printed, err)
		}
	}
	good(t, b)
}

// Repeated launches are reported as they end.
func TestLaunchTells(t *testing.T) {
	b := openFake(t, "")
	l := floats(12)
	l.Repeat = 4
	var reported []int
	l.OnLaunch = func(n int) { reported = append(reported, n) }
	if _, err := load(t, b, "copy").Launch(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if len(reported) < 4 || !slices.IsSorted(reported) || reported[0] != 1 || !slices.Contains(reported, 4) {
		t.Errorf("reported %v", reported)
	}
	good(t, b)
}
