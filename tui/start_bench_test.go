//go:build unix

package tui

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkFirstFrame starts the built program in a pseudo-terminal and reports when its first frame stands
// on the screen, counted from exec, and how much later the verdict on stage2's validation shape does. Every
// start is a fresh process.
func BenchmarkFirstFrame(b *testing.B) {
	program := buildProgram(b)
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			var frame, verdict time.Duration
			for range b.N {
				x := open(b, program, size[0], size[1], nil)
				first := x.shows("ts▸stage2", "Pipe")
				verdict += x.shows("✓ AGREE") - first
				frame += first
				x.press("q")
				x.quits()
			}
			ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(b.N) }
			b.ReportMetric(ms(frame), "ms/frame")
			b.ReportMetric(ms(verdict), "ms/verdict")
		})
	}
}
