//go:build unix

package tui

import (
	"os"
	"slices"
	"testing"
	"time"
)

// BenchmarkGPUKeypress is how long after a key the verdict stands on the screen, on a machine with an
// NVIDIA GPU and NVRTC: a fault is switched on that was built ahead while the terminal stood for three
// seconds, and off again.
//
//	go test -c ./tui && TILESCOPE_BIN=bin/tilescope ./tui.test -test.run '^$' -test.bench GPUKeypress -test.benchtime 1x
func BenchmarkGPUKeypress(b *testing.B) {
	program := os.Getenv("TILESCOPE_BIN")
	if program == "" {
		b.Skip("needs an NVIDIA GPU and a built program: set TILESCOPE_BIN")
	}
	var ahead, back []float64
	for range b.N {
		x := open(b, program, 120, 40, []string{"TILESCOPE_TOOLCHAIN=" + os.Getenv("TILESCOPE_TOOLCHAIN")},
			"stage2", "--backend", "cuda", "--builder", "nvrtc")
		x.shows("✓ AGREE")
		x.press("4")
		x.shows("FAULTS")
		switched := func(shown string) float64 {
			start := time.Now()
			x.press(" ")
			x.shows(shown)
			return time.Since(start).Seconds() * 1e3
		}
		for _, fault := range []string{
			"kt-ld", "k-scale-head", "v-midpoint", "scale-twice", "p-stale-m", "u-no-rescale", "l-no-rescale",
		} {
			x.press("/" + fault + "\r")
			time.Sleep(3 * time.Second)
			ahead = append(ahead, switched("✗ diverge"))
			back = append(back, switched("✓ agree"))
		}
		x.leaves()
	}
	median := func(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
	b.ReportMetric(median(ahead), "ahead-p50-ms")
	b.ReportMetric(slices.Max(ahead), "ahead-max-ms")
	b.ReportMetric(median(back), "back-p50-ms")
}
