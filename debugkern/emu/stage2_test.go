package emu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/kernels"
	"tilescope/probes"
)

const stage2 = "sdpa_fp8_stage_c_wmma"

// stage2Kernel loads the production build of a variant from the archive.
func stage2Kernel(tb testing.TB, defines []string) *Kernel {
	tb.Helper()
	return stage2Planted(tb, defines)
}

// stage2Planted is stage2Kernel with faults planted.
func stage2Planted(tb testing.TB, defines []string, faults ...string) *Kernel {
	tb.Helper()
	e, ok, err := kernels.Find(kernels.Key{Kernel: stage2, Defines: defines, Faults: faults})
	if err != nil || !ok {
		tb.Fatalf("archive entry %v: found %v, %v", defines, ok, err)
	}
	m, err := ptx.Parse(stage2+".ptx", e.PTX)
	if err != nil {
		tb.Fatal(err)
	}
	k, err := New(chip.SM90()).Load(context.Background(), m, stage2)
	if err != nil {
		tb.Fatal(err)
	}
	return k.(*Kernel)
}

// stage2Launch is the kernel's launch on a problem of random bytes around 128, as normal data quantises to.
func stage2Launch(shape probes.Shape) *target.Launch {
	sh := configstest.Extents(shape)
	rng := rand.New(rand.NewPCG(1, 2))
	tensor := func(name string) target.Arg {
		b := make([]byte, sh.Elems())
		for i := range b {
			b[i] = byte(max(1, min(255, 128+math.Round(30*rng.NormFloat64()))))
		}
		return target.Arg{
			Name: name, Buffer: &target.Buffer{
				DType: probes.U8, Dims: []int{sh.B, sh.H, sh.S, sh.D}, Init: b, Bytes: len(b),
			},
		}
	}
	scale := func(name string) target.Arg {
		b := make([]byte, 4*sh.H)
		for i := range sh.H {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(0.01))
		}
		return target.Arg{
			Name: name, Buffer: &target.Buffer{DType: probes.F32, Dims: []int{sh.H}, Init: b, Bytes: len(b)},
		}
	}
	scalar := func(name string, v uint32) target.Arg {
		return target.Arg{Name: name, Scalar: binary.LittleEndian.AppendUint32(nil, v)}
	}
	return &target.Launch{
		Grid: probes.Dim3{(sh.S + 31) / 32, sh.H, sh.B}, Block: probes.Dim3{128, 1, 1},
		Args: []target.Arg{
			tensor("Q"), tensor("K"), tensor("V"), scale("Qs"), scale("Ks"), scale("Vs"),
			{
				Name: "O", Buffer: &target.Buffer{
					DType: probes.F16, Dims: []int{sh.B, sh.H, sh.S, sh.D}, Bytes: 2 * sh.Elems(),
					Output: true,
				},
			},
			scalar("B", uint32(sh.B)), scalar("H", uint32(sh.H)), scalar("S", uint32(sh.S)),
			scalar("D", uint32(sh.D)),
			scalar("softmax_scale", math.Float32bits(0.125)),
		},
	}
}

var stage2Flags = []string{"USE_CP_ASYNC=1", "USE_WMMA_PV=1"}

// benchmarkLaunch reports warp instructions a second and nanoseconds an mma output, over the launch alone.
func benchmarkLaunch(b *testing.B, defines []string, sh probes.Shape, parallel int) {
	k := stage2Kernel(b, defines)
	l := stage2Launch(sh)
	l.Parallel = parallel
	var c target.Counts
	b.ResetTimer()
	for range b.N {
		r, err := k.Launch(context.Background(), l)
		if err != nil || len(r.Findings) > 0 {
			b.Fatal(err, r)
		}
		c.Add(r.Counts)
	}
	b.ReportMetric(float64(c.WarpInstructions)/b.Elapsed().Seconds()/1e6, "Mwarp-instr/s")
	b.ReportMetric(float64(c.MMAOutputs)/float64(b.N), "mma-outputs/op")
	b.ReportMetric(float64(c.WarpInstructions)/float64(b.N), "warp-instr/op")
}

func BenchmarkStage2Mission(b *testing.B) {
	benchmarkLaunch(b, stage2Flags, probes.Listed(1, 8, 512, 64), 0)
}

func BenchmarkStage2Core(b *testing.B) {
	benchmarkLaunch(b, stage2Flags, probes.Listed(1, 4, 128, 64), 1)
}

var partial49 = probes.Listed(1, 2, 49, 64)

func sameResult(t *testing.T, what string, a, b *target.Result) {
	t.Helper()
	if !bytes.Equal(a.Outputs["O"], b.Outputs["O"]) {
		t.Errorf("%s: another output", what)
	}
	if !reflect.DeepEqual(a.Findings, b.Findings) || a.Reached != b.Reached ||
		!reflect.DeepEqual(a.Unwritten, b.Unwritten) {
		t.Errorf("%s: other findings: %v, %v", what, a.Findings, b.Findings)
	}
}

// TestStage2SchedulesAgree: the kernel has no races, so every schedule, any number of cores and any time for
// copies to land give the same output.
func TestStage2SchedulesAgree(t *testing.T) {
	k := stage2Kernel(t, stage2Flags)
	l := stage2Launch(partial49)
	l.Parallel = 1
	want := launchTB(t, k, l)
	if len(want.Findings) > 0 || want.Unwritten["O"] != 0 || !want.Reached {
		t.Fatalf("%+v", want)
	}
	l = stage2Launch(partial49)
	l.Parallel = 4
	got := launchTB(t, k, l)
	sameResult(t, "4 cores", want, got)
	if got.Counts != want.Counts {
		t.Errorf("counts %+v on 4 cores, %+v on one", got.Counts, want.Counts)
	}
	for i, s := range []target.Schedule{
		{Policy: "reverse"}, {Policy: "random", Seed: 1}, {Policy: "random", Seed: 2, Async: "random"},
		{Policy: "ahead", Seed: 3},
		{Policy: "priority", Seed: 4, Async: "earliest"},
	} {
		l := stage2Launch(partial49)
		l.Schedule = s
		sameResult(t, fmt.Sprint(i, s), want, launchTB(t, k, l))
	}
}

// TestStage2Faults: findings are the same on one core and on several, and name what they should.
func TestStage2Faults(t *testing.T) {
	for _, c := range []struct {
		fault, variable, neighbour string
		kind                       target.Kind
		shape                      probes.Shape
		tile                       int
	}{
		{"kt-ld", "sKT", "sV", target.OutOfBounds, partial49, 0},
		{"s-overrun", "sS", "sP", target.OutOfBounds, partial49, 0},
		{"q-overread", "Q", "", target.OutOfBounds, probes.Listed(1, 2, 17, 64), -1},
		{"score-uninit", "__local_depot0", "", target.Uninitialised, partial49, 0},
		{"barrier-divergent", "", "", target.Barrier, probes.Listed(1, 2, 17, 64), 0},
	} {
		k := stage2Planted(t, stage2Flags, c.fault)
		l := stage2Launch(c.shape)
		l.Parallel = 1
		one := launchTB(t, k, l)
		l.Parallel = 4
		sameResult(t, c.fault, one, launchTB(t, k, l))
		found := false
		for _, f := range one.Findings {
			if f.Kind == c.kind && f.Variable == c.variable {
				found = true
				if f.Neighbour != c.neighbour || f.KVTile != c.tile || f.Source == nil ||
					f.Source.Line == 0 || f.Count == 0 {
					t.Errorf("%s: %+v", c.fault, f)
				}
			}
		}
		if !found {
			t.Errorf("%s: no %s of %q in %+v", c.fault, c.kind, c.variable, one.Findings)
		}
	}
}

// TestStage2Cancel: a launch that is called off returns the context's error and leaves no
// goroutine behind it.
func TestStage2Cancel(t *testing.T) {
	k := stage2Kernel(t, stage2Flags)
	l := stage2Launch(probes.Listed(1, 2, 256, 64))
	ctx, cancel := context.WithCancel(context.Background())
	l.Observe = func(probes.Dim3) target.Observer { return &canceller{cancel: cancel, at: 1000} }
	if _, err := k.Launch(ctx, l); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// canceller calls a launch off after some events.
type canceller struct {
	cancel func()
	at     int
}

func (c *canceller) Event(*target.Event) {
	if c.at--; c.at == 0 {
		c.cancel()
	}
}

// TestEvents: what the observer is told matches what the counts say, and every memory event has a space.
func TestEvents(t *testing.T) {
	k := stage2Kernel(t, stage2Flags)
	l := stage2Launch(probes.Listed(1, 1, 32, 64))
	c := &counter{}
	l.Observe = func(probes.Dim3) target.Observer { return c }
	r := launchTB(t, k, l)
	if uint64(c.steps) > r.Counts.WarpInstructions || c.steps == 0 {
		t.Errorf("%d instructions seen of %d", c.steps, r.Counts.WarpInstructions)
	}
	if c.class[target.ClassMMA]*256 != int(r.Counts.MMAOutputs) {
		t.Errorf("%d mma events for %d outputs", c.class[target.ClassMMA], r.Counts.MMAOutputs)
	}
	if c.class[target.ClassBarrier] != int(r.Counts.Barriers) ||
		c.class[target.ClassBarrierDone]*4 != int(r.Counts.Barriers) {
		t.Errorf("%d arrivals, %d completions, counted %d", c.class[target.ClassBarrier],
			c.class[target.ClassBarrierDone], r.Counts.Barriers)
	}
	if c.class[target.ClassAsync] == 0 || c.class[target.ClassAsync] != c.class[target.ClassAsyncLand] {
		t.Errorf("%d copies, %d landings", c.class[target.ClassAsync], c.class[target.ClassAsyncLand])
	}
	if c.nowhere > 0 {
		t.Errorf("%d memory events without a space", c.nowhere)
	}
}

type counter struct {
	class   [32]int
	steps   int
	last    uint64
	nowhere int
}

func (c *counter) Event(e *target.Event) {
	c.class[e.Class]++
	if e.Class != target.ClassBarrierDone && e.Class != target.ClassAsyncLand &&
		(c.steps == 0 || e.Step != c.last) {
		c.steps, c.last = c.steps+1, e.Step
	}
	switch e.Class {
	case target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsync, target.ClassAsyncLand:
		if e.Space == target.SpaceNone || e.Addr == nil || e.Bytes == 0 || e.Mask == 0 {
			c.nowhere++
		}
	}
}

// TestWatchAndWriter captures S without probes and asks who wrote cells of it: the wmma store of the warp
// that owns the quadrant, from the element that the accumulator's layout puts there.
func TestWatchAndWriter(t *testing.T) {
	k := stage2Kernel(t, stage2Flags)
	sh := probes.Listed(1, 1, 64, 64)
	l := stage2Launch(sh)
	sp := probes.StagePlan{
		Stage: "S", DType: probes.F16, Rows: 32, Cols: 32, PerTile: true,
		Capture: probes.Capture{Kind: probes.CaptureShared},
	}
	plan := &probes.Plan{Grid: l.Grid, Work: probes.Work{MaxTiles: 2}, Stages: []probes.StagePlan{sp}}
	lay := probes.NewLayout(plan, probes.StagesOf("S"), probes.Range{N: l.Grid, TileN: 2})
	tile := 0
	for _, in := range k.p.code { // the line of the first barrier's walk begins a tile
		if in.inLoop >= 0 {
			tile = in.source().Line
			break
		}
	}
	array := probes.SharedArray{Name: "sS", DType: probes.F16, Dims: []int{32, 32}, Bytes: 2048}
	l.Probe = &target.Probe{Layout: lay, Watch: []target.Watch{{
		Stage: "S", Array: array, Rows: 32, Cols: 32, PerTile: true, File: stage2 + ".cu", AtBarrier: 2,
		TileLine: tile,
	}}}
	r := launchTB(t, k, l)
	block := probes.Dim3{1, 0, 0}
	for kv := range 2 {
		got := lay.Tile(r.Capture, &sp, block, kv)
		if !got.Reached() {
			t.Fatalf("kv tile %d was not captured", kv)
		}
		off, _ := lay.Slot("S", block, kv)
		for _, cell := range [][2]int{{0, 0}, {9, 17}, {24, 3}, {31, 31}} {
			w, err := k.WhoWrote(context.Background(), l, block, target.TracedCell{
				Offset: off + uint64(2*(32*cell[0]+cell[1])), Size: 2,
			})
			if err != nil || w == nil {
				t.Fatal(w, err)
			}
			r, c := cell[0]%16, cell[1]%16
			warp, lane, e := cell[0]/16*2+cell[1]/16, r%8*4+c%8/2, c%2+r/8*2+c/8*4
			if w.Warp != warp || w.Lane != lane ||
				!strings.HasPrefix(w.Fragment, fmt.Sprintf("acc[%d] of mma #", e)) ||
				!strings.HasPrefix(w.Instr, "wmma.store") {
				t.Errorf("kv %d cell %v: %+v, want warp %d lane %d element %d", kv, cell, w, warp, lane, e)
			}
		}
	}
	if w, err := k.WhoWrote(context.Background(), l, block, target.TracedCell{
		Arg: "O", Offset: 2 * 32 * 64, Size: 2,
	}); err != nil || w == nil || w.Space != target.SpaceGlobal {
		t.Errorf("writer of O: %+v, %v", w, err)
	}
}

// TestStage2Snapshot steps to the second barrier, saves, runs on, restores, and must come
// out as the launch did.
func TestStage2Snapshot(t *testing.T) {
	k := stage2Kernel(t, stage2Flags)
	l := stage2Launch(partial49)
	l.Schedule = target.Schedule{Policy: "random", Seed: 9}
	want := launchTB(t, k, l)
	id := probes.Dim3{1, 1, 0}
	b, err := k.Open(l, id)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for range 2 {
		if stop, err := b.Step(ctx, target.StepBarrier); err != nil || stop.Reason != "barrier" {
			t.Fatal(stop, err)
		}
	}
	snap := b.Snapshot()
	for round := range 2 {
		if stop, err := b.Step(ctx, target.StepLine); err != nil || stop.Reason != "step" {
			t.Fatal(stop, err)
		}
		if stop, err := b.Run(ctx, nil); err != nil || stop.Reason != "end" {
			t.Fatal(stop, err)
		}
		out := b.(*stepper).b.mem.allocs
		for _, a := range out {
			if a.name != "O" {
				continue
			}
			for i := range a.data {
				if a.written[i] != 0 && a.data[i] != want.Outputs["O"][i] {
					t.Fatalf("round %d: byte %d of O differs", round, i)
				}
			}
		}
		b.Restore(snap)
	}
}

func BenchmarkStage2MissionCore(b *testing.B) {
	benchmarkLaunch(b, stage2Flags, probes.Listed(1, 8, 512, 64), 1)
}
