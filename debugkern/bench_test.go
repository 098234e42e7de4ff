package debugkern

import (
	"context"
	"runtime"
	"testing"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/judge"
)

// BenchmarkVerdict is a whole run, from request to document, as the terminal makes it after a keypress:
// modules are loaded, inputs made. The first iteration's costs are left out.
func BenchmarkVerdict(b *testing.B) {
	for _, shape := range []string{"small", "validation", "mission"} {
		b.Run(shape, func(b *testing.B) { benchRun(b, Request{Target: "stage2", Shape: shape}) })
	}
	b.Run("validation p-stale-m", func(b *testing.B) {
		benchRun(b, Request{Target: "stage2", Shape: "validation", Faults: []string{"p-stale-m"}})
	})
}

// BenchmarkFirstVerdict opens a session for each iteration: what the first verdict after start costs.
func BenchmarkFirstVerdict(b *testing.B) {
	for range b.N {
		if _, err := openSession(b).Run(context.Background(), Request{Target: "stage2"}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func benchRun(b *testing.B, req Request) {
	s := openSession(b)
	ctx := context.Background()
	if _, err := s.Run(ctx, req, nil); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		r, err := s.Run(ctx, req, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Report.Cost.RunMS), "run-ms")
		b.ReportMetric(float64(r.Report.Cost.CompareMS), "compare-ms")
	}
}

// BenchmarkScaling shows that cost grows with blocks, and with S²: run-ms of the launch alone.
func BenchmarkScaling(b *testing.B) {
	for _, shape := range []string{"1,1,128,64", "1,2,128,64", "1,4,128,64", "1,1,256,64", "1,1,512,64"} {
		b.Run(shape, func(b *testing.B) { benchRun(b, Request{Target: "stage2", Shape: shape}) })
	}
}

// BenchmarkMemory reports the heap in use with everything of mission captured and judged.
func BenchmarkMemory(b *testing.B) {
	s := openSession(b)
	for range b.N {
		r, err := s.Run(context.Background(), Request{Target: "stage2", Shape: "mission"}, nil)
		if err != nil {
			b.Fatal(err)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heap-MiB")
		b.ReportMetric(float64(m.Sys)/(1<<20), "sys-MiB")
		runtime.KeepAlive(r)
	}
}

// BenchmarkCompare judges a finished run of mission again: its stages, and attention over whole heads, which
// the output is compared with. In a run both take place at once: compare-ms of BenchmarkVerdict.
func BenchmarkCompare(b *testing.B) {
	ctx := context.Background()
	r, err := openSession(b).Run(ctx, Request{Target: "stage2", Shape: "mission"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	st := r.state
	b.Run("stages", func(b *testing.B) {
		for range b.N {
			opt := judge.Options{Range: st.r.rng, Stages: st.r.stages}
			if _, err := judge.Judge(ctx, st.ref, st, opt); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("attention", func(b *testing.B) {
		for range b.N {
			if _, err := attn.NewWhole(ctx, st.r.plan, st.inputs); err != nil {
				b.Fatal(err)
			}
		}
	})
}
