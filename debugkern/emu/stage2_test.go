package emu

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/kernels"
	"tilescope/probes"
)

const stage2 = "sdpa_fp8_stage_c_wmma"

// stage2Kernel loads the production build of a variant from the archive.
func stage2Kernel(tb testing.TB, defines []string) *Kernel {
	tb.Helper()
	e, ok, err := kernels.Find(kernels.Key{Kernel: stage2, Defines: defines})
	if err != nil || !ok {
		tb.Fatalf("archive entry %v: found %v, %v", defines, ok, err)
	}
	m, err := ptx.Parse(stage2+".ptx", e.PTX)
	if err != nil {
		tb.Fatal(err)
	}
	k, err := New().Load(context.Background(), m, stage2)
	if err != nil {
		tb.Fatal(err)
	}
	return k.(*Kernel)
}

// stage2Launch is the kernel's launch on a problem of random bytes around 128, as normal data quantises to.
func stage2Launch(sh probes.Shape) *target.Launch {
	rng := rand.New(rand.NewPCG(1, 2))
	tensor := func(name string) target.Arg {
		b := make([]byte, sh.Elems())
		for i := range b {
			b[i] = byte(max(1, min(255, 128+math.Round(30*rng.NormFloat64()))))
		}
		return target.Arg{Name: name, Buffer: &target.Buffer{DType: probes.U8, Dims: []int{sh.B, sh.H, sh.S, sh.D}, Init: b, Bytes: len(b)}}
	}
	scale := func(name string) target.Arg {
		b := make([]byte, 4*sh.H)
		for i := range sh.H {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(0.01))
		}
		return target.Arg{Name: name, Buffer: &target.Buffer{DType: probes.F32, Dims: []int{sh.H}, Init: b, Bytes: len(b)}}
	}
	scalar := func(name string, v uint32) target.Arg {
		return target.Arg{Name: name, Scalar: binary.LittleEndian.AppendUint32(nil, v)}
	}
	return &target.Launch{
		Grid: probes.Dim3{(sh.S + 31) / 32, sh.H, sh.B}, Block: probes.Dim3{128, 1, 1},
		Args: []target.Arg{
			tensor("Q"), tensor("K"), tensor("V"), scale("Qs"), scale("Ks"), scale("Vs"),
			{Name: "O", Buffer: &target.Buffer{DType: probes.F16, Dims: []int{sh.B, sh.H, sh.S, sh.D}, Bytes: 2 * sh.Elems(), Output: true}},
			scalar("B", uint32(sh.B)), scalar("H", uint32(sh.H)), scalar("S", uint32(sh.S)), scalar("D", uint32(sh.D)),
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
	benchmarkLaunch(b, stage2Flags, probes.Shape{B: 1, H: 8, S: 512, D: 64}, 0)
}

func BenchmarkStage2Core(b *testing.B) {
	benchmarkLaunch(b, stage2Flags, probes.Shape{B: 1, H: 4, S: 128, D: 64}, 1)
}
