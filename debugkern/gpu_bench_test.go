package debugkern

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tilescope/configs"
	"tilescope/debugkern/target"
)

// The benchmarks of this file need an NVIDIA GPU and a built tilescope, which is its own worker:
//
//	go test -c ./debugkern && TILESCOPE_BIN=bin/tilescope ./debugkern.test -test.run '^$' -test.bench GPU

// openGPUSession opens a session whose GPU is served by the program that TILESCOPE_BIN names, with a
// disk cache of its own.
func openGPUSession(b testing.TB) *Session {
	b.Helper()
	bin := os.Getenv("TILESCOPE_BIN")
	if bin == "" {
		b.Skip("needs an NVIDIA GPU and a built program: set TILESCOPE_BIN")
	}
	s, err := Open(context.Background(), Options{
		Config: &configs.Config{
			CaptureMax: 2 << 30, CacheDir: b.TempDir(), CacheKey: filepath.Join(b.TempDir(), "key"),
			CacheMax: 1 << 30, Toolchain: os.Getenv("TILESCOPE_TOOLCHAIN"),
		},
		Worker: []string{bin, "__worker"}, Launcher: []string{bin, "__launch"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// forget drops what a session keeps in memory of what it compiled and loaded; the disk cache stays.
func (s *Session) forget() {
	s.builder.Forget()
	s.loaded.Clear()
}

// BenchmarkGPUToggle is what a flag toggled live costs on a GPU, from the request to the verdict on
// validation, ten launches of each build included: compiled anew, made ready ahead, from the disk cache, and
// switched back to. NVRTC keeps a cache of its own in the home directory: give it an empty one.
func BenchmarkGPUToggle(b *testing.B) {
	s, ctx := openGPUSession(b), context.Background()
	request := func(i int) Request { // no two alike, and none in the archive
		names := []string{
			"kt-ld", "kt-rowmajor", "k-scale-head", "v-scale-head", "v-midpoint", "scale-twice",
			"u-no-rescale", "u-rescale-twice",
			"l-no-rescale", "p-stale-m", "reduce-lane0", "p-normalised",
		}
		pairs := len(names) * (len(names) - 1) / 2
		set := map[string]string{"USE_KV_LUT": []string{"0", "1"}[i/pairs%2]}
		for a := range names {
			for c := a + 1; c < len(names); c++ {
				if i%pairs == 0 {
					return Request{
						Target: "stage2", Backend: "cuda", Builder: "nvrtc", Repeat: 10,
						Faults: []string{names[a], names[c]}, Set: set,
					}
				}
				i--
			}
		}
		panic("BUG: more requests than combinations")
	}
	var took, build, compare []float64
	run := func(b *testing.B, req Request) {
		start := time.Now()
		r, err := s.Run(ctx, req, nil)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start).Seconds()*1e3)
		build, compare = append(build, float64(r.Report.Cost.BuildMS)),
			append(compare, float64(r.Report.Cost.CompareMS))
	}
	report := func(b *testing.B) {
		b.ReportMetric(median(took), "p50-ms")
		b.ReportMetric(median(build), "build-p50-ms")
		b.ReportMetric(median(compare), "compare-p50-ms")
		took, build, compare = nil, nil, nil
	}
	next := 0
	run(b, request(next)) // NVRTC and the worker are warm from here on
	took, build, compare = nil, nil, nil
	b.Run("compiled", func(b *testing.B) {
		for b.Loop() {
			next++
			run(b, request(next))
		}
		report(b)
	})
	b.Run("ahead", func(b *testing.B) {
		for b.Loop() {
			next++
			s.Ahead(ctx, []Request{request(next)})
			run(b, request(next))
		}
		report(b)
	})
	b.Run("disk", func(b *testing.B) {
		for b.Loop() {
			s.forget()
			run(b, request(0))
		}
		report(b)
	})
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			run(b, request(0))
		}
		report(b)
	})
}

// BenchmarkGPUProbes compares the time of a launch with probes, for several sets of stages, with that of the
// build without: median of 500 launches each, interleaved.
func BenchmarkGPUProbes(b *testing.B) {
	s, ctx := openGPUSession(b), context.Background()
	for _, stages := range []string{"", "S", "P", "m,l", "U"} {
		name := "all"
		if stages != "" {
			name = stages
		}
		b.Run(name, func(b *testing.B) {
			r, err := s.Run(ctx, Request{
				Target: "stage2", Shape: "mission", Backend: "cuda", Stages: ParseStages(stages), Repeat: 2,
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			be, err := s.gpu(ctx, r.Request)
			if err != nil {
				b.Fatal(err)
			}
			plain, err := s.prepare(ctx, r.Request, be)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				times, err := be.(target.Timer).Time(ctx, []target.Timed{
					plain, {Kernel: r.state.kernel, Launch: r.state.launch},
				}, target.TimeOptions{Warmups: 100, Launches: 500})
				if err != nil {
					b.Fatal(err)
				}
				p, q := median(times[0]), median(times[1])
				b.ReportMetric(p, "plain-us")
				b.ReportMetric(q, "probed-us")
				b.ReportMetric(q/p, "ratio")
			}
		})
	}
}

// BenchmarkGPUSampling is what sampling the device four times a second costs: the rate of
// launches with and without.
func BenchmarkGPUSampling(b *testing.B) {
	s, ctx := openGPUSession(b), context.Background()
	req := Request{Target: "stage2", Shape: "mission", Backend: "cuda"}
	list, err := s.Devices(ctx)
	if err != nil || len(list.Devices) == 0 {
		b.Fatal("no device to sample: ", err)
	}
	mon, err := s.Monitor(list.Devices[0])
	if err != nil {
		b.Fatal(err)
	}
	defer mon.Close()
	rate := func() float64 {
		start := time.Now()
		const launches = 10000
		if _, _, err := s.Time(ctx, []Request{req}, TimeOptions{
			Warmups: 100, Launches: launches,
		}); err != nil {
			b.Fatal(err)
		}
		return launches / time.Since(start).Seconds()
	}
	var on atomic.Bool
	done := make(chan struct{})
	defer close(done)
	go func() {
		for tick := time.NewTicker(250 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick.C:
				if on.Load() {
					mon.Sample()
				}
			}
		}
	}()
	rate()
	var without, with []float64
	for b.Loop() {
		on.Store(false)
		without = append(without, rate())
		on.Store(true)
		with = append(with, rate())
	}
	b.ReportMetric(median(without), "launches/s")
	b.ReportMetric(median(with), "sampled-launches/s")
	b.ReportMetric(100*(1-median(with)/median(without)), "percent")
}

func median(x []float64) float64 { return slices.Sorted(slices.Values(x))[len(x)/2] }
