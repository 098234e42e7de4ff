package check_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// blockModule is testdata/blocks/blocks.ptx.
var blockModule = sync.OnceValues(func() (*ptx.Module, error) {
	text, err := os.ReadFile("testdata/blocks/blocks.ptx")
	if err != nil {
		return nil, err
	}
	return ptx.Parse("blocks.ptx", text)
})

// blockKernel loads a kernel of testdata/blocks.
func blockKernel(tb testing.TB, entry string) target.Kernel {
	tb.Helper()
	m, err := blockModule()
	if err != nil {
		tb.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(context.Background(), m, entry)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// blockLaunch is the launch of such a kernel over zeros.
func blockLaunch(grid, block int) *target.Launch {
	l := &target.Launch{Grid: probes.Dim3{grid, 1, 1}, Block: probes.Dim3{block, 1, 1}, Cooperative: true}
	for _, name := range []string{"out", "part", "state"} {
		l.Args = append(l.Args, target.Arg{Name: name, Buffer: &target.Buffer{
			DType: probes.I32, Dims: []int{1024}, Bytes: 4096, Init: make([]byte, 4096), Output: true,
		}})
	}
	if detector {
		l.Parallel = 1
	}
	return l
}

// launched is what a launch under the checkers leaves.
type launched struct {
	out      []int32
	findings []target.Finding
	digest   string // of the outputs, the findings, and the counts
	reached  bool
}

func launchBlocks(tb testing.TB, k target.Kernel, l *target.Launch) launched {
	tb.Helper()
	c := check.New(check.Options{Set: check.Races | check.Async | check.Barriers})
	run := *l
	run.Observe, run.Discard = c.Observer, c.Discard
	res, err := k.Launch(context.Background(), &run)
	if err != nil {
		tb.Fatal(err)
	}
	r := launched{findings: append(res.Findings, c.Findings()...), reached: res.Reached}
	h := sha256.New()
	for _, a := range l.Args {
		h.Write(res.Outputs[a.Name])
	}
	for _, f := range r.findings {
		fmt.Fprintf(h, "%+v %+v %+v\n", f, f.Source, f.Other)
	}
	fmt.Fprint(h, res.Counts, res.Reached, res.Unwritten)
	r.digest = fmt.Sprintf("%x", h.Sum(nil))
	for o := res.Outputs["out"]; len(o) > 0; o = o[4:] {
		r.out = append(r.out, int32(binary.LittleEndian.Uint32(o)))
	}
	return r
}

func (r *launched) of(kind target.Kind) []target.Finding {
	var out []target.Finding
	for _, f := range r.findings {
		if f.Kind == kind {
			out = append(out, f)
		}
	}
	return out
}

// waitingKernels are kernels whose blocks wait for blocks, and what out holds after them.
var waitingKernels = []struct {
	name        string
	grid, block int
	want        func(i, grid int) int32
	twin, lacks string // the twin, and what its race says is missing
}{
	{"grid_sync", 6, 64, func(_, n int) int32 { return int32(n * (n + 1) / 2) }, "grid_sync_no_fence",
		"__threadfence()"},
	{"stream_k", 6, 64, func(i, _ int) int32 { return int32(10*(2*(i/64)) + 10*(2*(i/64)+1) + 2*(i%64)) },
		"stream_k_cta", "scope .gpu instead of .cta for the st.release.cta"},
	{"split_k", 6, 64, func(_, n int) int32 { return 1<<n - 1 }, "split_k_no_fence", "__threadfence()"},
	{"look_back", 12, 32, func(i, _ int) int32 { return int32((i + 1) * (i + 2) / 2) }, "look_back_no_fence",
		"__threadfence()"},
	{"ticket_lock", 8, 32, func(_, n int) int32 { return int32(n) }, "ticket_lock_no_fence",
		"__threadfence()"},
	{"spin_lock", 8, 32, func(_, n int) int32 { return int32(n) }, "", ""},
	{"chain", 64, 32, func(i, _ int) int32 { return int32(i + 1) }, "", ""},
	{"chain_by_index", 16, 32, func(i, _ int) int32 { return int32(i + 1) }, "", ""},
}

var blockSchedules = []target.Schedule{
	{}, {Policy: "reverse"}, {Policy: "random", Seed: 1}, {Policy: "random", Seed: 2},
	{Policy: "priority", Seed: 3}, {Policy: "priority", Seed: 4}, {Policy: "ahead", Seed: 5},
}

// TestBlocksWait: kernels whose blocks wait for blocks give the right result without a finding, in every
// order of blocks, and each twin without a fence or with a scope that is too narrow is a race.
func TestBlocksWait(t *testing.T) {
	cells := map[string]int{
		"grid_sync": 384, "stream_k": 192, "split_k": 64, "look_back": 12, "ticket_lock": 1, "spin_lock": 1,
		"chain": 64, "chain_by_index": 16,
	}
	for _, c := range waitingKernels {
		for _, s := range blockSchedules {
			l := blockLaunch(c.grid, c.block)
			l.Schedule = s
			r := launchBlocks(t, blockKernel(t, c.name), l)
			for i := range cells[c.name] {
				if want := c.want(i, c.grid); r.out[i] != want {
					t.Errorf("%s, %+v: out[%d] = %d, want %d", c.name, s, i, r.out[i], want)
					break
				}
			}
			for _, f := range r.findings {
				t.Errorf("%s, %+v: %s: %s (%s)", c.name, s, f.Kind, f.Message, f.Missing)
			}
			if c.twin == "" {
				continue
			}
			r = launchBlocks(t, blockKernel(t, c.twin), l)
			races := r.of(target.Race)
			if len(races) == 0 {
				t.Errorf("%s, %+v: no race", c.twin, s)
			}
			for _, f := range races {
				if !strings.HasPrefix(f.Missing, c.lacks) || f.Source == nil || f.Source.File != "blocks.cu" {
					t.Errorf("%s, %+v: %s; missing %s", c.twin, s, f.Message, f.Missing)
				}
			}
		}
	}
}

// TestRelaxedValue: a value that is written and read by volatile accesses, with a flag after it, needs the
// writer's fence between the two writes; a value in the flag itself needs none, nor does one that is waited
// for.
func TestRelaxedValue(t *testing.T) {
	const kernel = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 part, .param .u64 state) {
	.reg .b32 %r<8>;
	.reg .b64 %a<8>;
	.reg .pred %p<2>;
	ld.param.u64 %a1, [part];
	ld.param.u64 %a2, [state];
	ld.param.u64 %a3, [out];
	mov.u32 %r1, %ctaid.x;
	add.u32 %r4, %r1, 1;
	mul.wide.u32 %a4, %r1, 4;
	add.u64 %a4, %a1, %a4;
	WRITE
	atom.global.add.u32 %r2, [%a2], 1;
	setp.ne.u32 %p1, %r2, 3;
	@%p1 ret;
AGAIN:
	READ
	st.global.u32 [%a3], %r3;
	ret;
}`
	const write, read = "st.volatile.global.u32 [%a4], %r4;", "ld.volatile.global.u32 %r3, [%a1];"
	for name, c := range map[string]struct {
		write, read string
		races       int
	}{
		"no fence":          {write, read, 1},
		"the writer's":      {write + " membar.gl;", read, 0},
		"both":              {write + " membar.gl;", "membar.gl; " + read, 0},
		"the reader's":      {write, "membar.gl; " + read, 1},
		"before the value":  {"membar.gl; " + write, read, 1},
		"the flag":          {"", "ld.volatile.global.u32 %r3, [%a2];", 0},
		"an atomic":         {"red.global.add.u32 [%a4], %r4;", read, 0},
		"read by an atomic": {write, "atom.global.add.u32 %r3, [%a1], 0;", 0},
		"by block":          {"st.relaxed.cta.global.u32 [%a4], %r4;", read, 1},
	} {
		text := strings.NewReplacer("WRITE", c.write, "READ", c.read).Replace(kernel)
		m, err := ptx.Parse("k.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		k, err := emu.New(chip.SM90()).Load(t.Context(), m, "k")
		if err != nil {
			t.Fatal(err)
		}
		r := launchBlocks(t, k, blockLaunch(4, 1))
		if races := r.of(target.Race); len(races) != c.races {
			t.Errorf("%s: %+v", name, races)
		}
	}
}

// TestReadersFence: where the writer has its fence and the reader reads through a volatile pointer, the race
// says that the reader's fence alone is missing; with a plain read it does not.
func TestReadersFence(t *testing.T) {
	const kernel = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 part, .param .u64 state) {
	.reg .b32 %r<8>;
	.reg .b64 %a<8>;
	.reg .pred %p<2>;
	ld.param.u64 %a1, [part];
	ld.param.u64 %a2, [state];
	ld.param.u64 %a3, [out];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %a4, %r1, 4;
	add.u64 %a4, %a1, %a4;
	st.global.u32 [%a4], %r1;
	membar.gl;
	atom.global.add.u32 %r2, [%a2], 1;
	setp.ne.u32 %p1, %r2, 3;
	@%p1 ret;
	ld.READ.u32 %r3, [%a1];
	st.global.u32 [%a3], %r3;
	ret;
}`
	for read, only := range map[string]bool{
		"volatile.global": true, "relaxed.gpu.global": true, "global": false,
	} {
		m, err := ptx.Parse("k.ptx", []byte(strings.Replace(kernel, "READ", read, 1)))
		if err != nil {
			t.Fatal(err)
		}
		k, err := emu.New(chip.SM90()).Load(t.Context(), m, "k")
		if err != nil {
			t.Fatal(err)
		}
		r := launchBlocks(t, k, blockLaunch(4, 1))
		says := r.of(target.Race)
		if len(says) != 1 || says[0].Severity != target.SeverityError ||
			strings.Contains(says[0].Consequence, "the reader's alone is missing") != only {
			t.Errorf("ld.%s: %+v", read, says)
		}
	}
}

// TestBlocksNotResident: waiting for a block that cannot become resident is a deadlock with the numbers,
// found long before any budget is used up; relying on residency without a cooperative launch is advice.
func TestBlocksNotResident(t *testing.T) {
	for _, c := range []struct {
		name           string
		grid, resident int
		says           string
		schedule       target.Schedule
	}{
		{"grid_sync", 64, 32, "needs 64 blocks resident at once, 32 are", target.Schedule{}},
		{"grid_sync", 5, 4, "needs 5 blocks resident at once, 4 are",
			target.Schedule{Policy: "random", Seed: 1}},
		{"stream_k", 6, 1, "needs 6 blocks resident at once, 1 are", target.Schedule{}},
		{"split_k", 6, 2, "needs 6 blocks resident at once, 2 are", target.Schedule{Policy: "reverse"}},
		{"chain_by_index", 16, 4, "needs 16 blocks resident at once, 4 are", target.Schedule{}},
		{"plain_wait", 6, 2, "needs 6 blocks resident at once, 2 are", target.Schedule{}},
	} {
		l := blockLaunch(c.grid, 32)
		l.Resident, l.Schedule = c.resident, c.schedule
		r := launchBlocks(t, blockKernel(t, c.name), l)
		fs := r.of(target.Deadlock)
		if len(fs) != 1 || r.reached || fs[0].Severity != target.SeverityError ||
			!strings.Contains(fs[0].Message, c.says) || fs[0].Source.File != "blocks.cu" {
			t.Errorf("%s: reached %v, %+v", c.name, r.reached, fs)
		}
	}
	// The chip's own number: 1024 threads a block leave room for two on each of 132 multiprocessors.
	l := blockLaunch(265, 1024)
	if fs := launchedDeadlocks(t, "chain_by_index", l); len(fs) != 1 ||
		!strings.Contains(fs[0].Message, "needs 265 blocks, the chip holds 264") {
		t.Errorf("%+v", fs)
	}
}

func launchedDeadlocks(t *testing.T, name string, l *target.Launch) []target.Finding {
	res, err := blockKernel(t, name).Launch(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	r := launched{findings: res.Findings}
	return r.of(target.Deadlock)
}

// TestBlocksRelyOnResidency: a wait for a block that begins later is advice, but not in a cooperative launch,
// and not where the order of work comes from a counter.
func TestBlocksRelyOnResidency(t *testing.T) {
	for name, advised := range map[string]bool{
		"grid_sync": true, "stream_k": true, "chain_by_index": true, "chain": false, "look_back": false,
		"ticket_lock": false, "plain_wait": true,
	} {
		for _, cooperative := range []bool{true, false} {
			l := blockLaunch(6, 32)
			l.Cooperative = cooperative
			fs := launchedDeadlocks(t, name, l)
			if want := advised && !cooperative; want != (len(fs) == 1) ||
				want && (fs[0].Severity != target.SeverityAdvice || fs[0].Source.File != "blocks.cu") {
				t.Errorf("%s, cooperative %v: %+v", name, cooperative, fs)
			}
		}
	}
}

// TestRacingBlocksOneDigest: outputs, findings and counts of kernels whose blocks race with each other, or
// wait for each other, are the same 200 times on 1, 2 and 8 workers, while others keep the cores busy.
func TestRacingBlocksOneDigest(t *testing.T) {
	if detector {
		t.Skip("blocks that race race in the emulator too, before that execution is discarded")
	}
	var stop atomic.Bool
	var busy sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for !stop.Load() {
				for range 1000 {
				}
				runtime.Gosched()
			}
		})
	}
	defer busy.Wait()
	defer stop.Store(true)
	for _, name := range []string{"racing", "split_k_no_fence", "plain_wait"} {
		digests := map[string]int{}
		for i := range 200 {
			l := blockLaunch(4, 32)
			l.Parallel = []int{1, 2, 8}[i%3]
			r := launchBlocks(t, blockKernel(t, name), l)
			digests[r.digest]++
		}
		if len(digests) != 1 {
			t.Errorf("%s: %v", name, digests)
		}
	}
}

// TestNeighboursRunApart: blocks that write neighbouring bytes share none, and need no order.
func TestNeighboursRunApart(t *testing.T) {
	for name, ordered := range map[string]bool{"neighbours": false, "racing": true, "chain": true} {
		res, err := blockKernel(t, name).Launch(context.Background(), blockLaunch(17, 31))
		if err != nil {
			t.Fatal(err)
		}
		if res.Ordered != ordered {
			t.Errorf("%s: ordered %v", name, res.Ordered)
		}
	}
}

// TestSchedulesOrderBlocks: seeds give racing blocks other orders, and the same seed the same.
func TestSchedulesOrderBlocks(t *testing.T) {
	seen := map[string]bool{}
	for _, policy := range []string{"in-order", "reverse", "random", "priority", "ahead"} {
		for seed := range uint64(4) {
			l := blockLaunch(8, 32)
			l.Schedule = target.Schedule{Policy: policy, Seed: seed}
			k := blockKernel(t, "racing")
			a, b := launchBlocks(t, k, l), launchBlocks(t, k, l)
			if a.digest != b.digest {
				t.Errorf("%+v is not the same twice", l.Schedule)
			}
			seen[fmt.Sprint(a.out)] = true
		}
	}
	if len(seen) < 8 {
		t.Errorf("20 schedules give %d results", len(seen))
	}
}

// TestSteppedBlockSeesOthers: a block that is executed again, on its own, ends as it does in the launch,
// though it reads and waits for what others write; from a snapshot too.
func TestSteppedBlockSeesOthers(t *testing.T) {
	for _, name := range []string{"racing", "grid_sync", "split_k", "chain_by_index", "plain_wait"} {
		for _, s := range blockSchedules {
			l := blockLaunch(6, 32)
			l.Schedule = s
			k := blockKernel(t, name)
			steps := map[probes.Dim3]uint64{}
			var mu sync.Mutex
			run := *l
			run.Observe = func(id probes.Dim3) target.Observer {
				return observed(func(e *target.Event) {
					mu.Lock()
					steps[id] = e.Step
					mu.Unlock()
				})
			}
			res, err := k.Launch(context.Background(), &run)
			if err != nil {
				t.Fatal(err)
			}
			again := *l
			again.Ordered = res.Ordered
			for _, id := range []probes.Dim3{{0, 0, 0}, {3, 0, 0}, {5, 0, 0}} {
				b, err := k.(target.Stepper).Open(&again, id)
				if err != nil {
					t.Fatal(err)
				}
				w := b.(target.Walkable)
				if _, err := w.RunTo(context.Background(), steps[id]/2, nil); err != nil {
					t.Fatal(err)
				}
				snap := b.Snapshot()
				for range 2 {
					b.Restore(snap)
					stop, err := b.Step(context.Background(), target.StepEnd)
					if err != nil || stop.Reason != "end" || b.Steps() != steps[id]+1 {
						t.Errorf("%s, %+v, block %s: %+v after %d instructions, want %d, %v", name, s, id,
							stop, b.Steps(), steps[id]+1, err)
					}
				}
			}
		}
	}
}

type observed func(*target.Event)

func (f observed) Event(e *target.Event) { f(e) }
