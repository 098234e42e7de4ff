//go:build unix

package sweep

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/file"
	"tilescope/debugkern/gates"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// BenchmarkAgainstLoop measures a sweep (plan, runs, documents) of stage2, every shape but long and every
// gate, against a loop by hand: goroutines that take the same requests from a channel. The two take turns,
// each with a session of its own, as often as there are pairs. The metrics are medians over the pairs of the
// ratios sweep/loop, of the processor's time, which other programs on the machine do not change, and of the
// time that passed, with quartiles. TILESCOPE_SWEEP_SEEDS and TILESCOPE_SWEEP_PAIRS change how many.
func BenchmarkAgainstLoop(b *testing.B) {
	seeds, pairs := count(b, "TILESCOPE_SWEEP_SEEDS", 5), count(b, "TILESCOPE_SWEEP_PAIRS", 5)
	s := debugtest.Open(b)
	m, _, err := s.Catalogue().Open(b.Context(), "stage2")
	if err != nil {
		b.Fatal(err)
	}
	names := make([]string, 0, len(m.Shapes))
	for _, shape := range m.Shapes {
		names = append(names, shape.Name)
	}
	o := &Options{
		Targets: []string{"stage2"}, Shapes: gates.DefaultShapes(names), Faults: []string{NoFault},
		Request: debugkern.Request{Backend: "emu"},
	}
	for _, gate := range m.Gates {
		o.Gates = append(o.Gates, gate.Name.String())
	}
	for seed := range uint64(seeds) {
		o.Seeds = append(o.Seeds, seed)
	}
	for b.Loop() {
		ratios := map[string][]float64{}
		for i := range pairs {
			var took [2]span
			for _, which := range [][]int{{0, 1}, {1, 0}}[i%2] {
				took[which] = []func(*testing.B, *Options) span{sweepOnce, loopOnce}[which](b, o)
			}
			b.Logf("sweep %+v, loop %+v", took[0], took[1])
			ratios["cpu"] = append(ratios["cpu"], took[0].cpu/took[1].cpu)
			ratios["wall"] = append(ratios["wall"], took[0].wall/took[1].wall)
		}
		for name, list := range ratios {
			slices.Sort(list)
			b.ReportMetric(list[len(list)/2], name)
			b.ReportMetric(list[len(list)/4], name+"-q1")
			b.ReportMetric(list[len(list)*3/4], name+"-q3")
		}
		b.ReportMetric(float64(len(o.Shapes)*len(o.Gates)*len(o.Seeds)), "runs")
	}
}

// span is how long something took, in seconds: of the processor's time, and of the clock's.
type span struct{ cpu, wall float64 }

// since returns what measures the span from now on.
func since(b *testing.B) func() span {
	b.Helper()
	used := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	begun, before := time.Now(), used()
	return func() span { return span{used() - before, time.Since(begun).Seconds()} }
}

func count(b *testing.B, name string, usual int) int {
	b.Helper()
	if text := os.Getenv(name); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			b.Fatalf("%s=%s: expected a number from 1 on", name, text)
		}
		return n
	}
	return usual
}

// sweepOnce sweeps, documents included, and returns how long it took.
func sweepOnce(b *testing.B, o *Options) span {
	b.Helper()
	s := debugtest.Open(b)
	dir := filepath.Join(b.TempDir(), "out")
	end := since(b)
	p, err := Make(b.Context(), s, o)
	if err != nil {
		b.Fatal(err)
	}
	w := Work{Dir: dir, Files: file.New(), Jobs: runtime.NumCPU()}
	if _, err := p.Execute(b.Context(), s, w); err != nil {
		b.Fatal(err)
	}
	doc, missing, err := Merge(b.Context(), w.Files, dir)
	if err != nil || missing > 0 || doc.ExitCode(missing) != 0 {
		b.Fatal(err, missing, doc)
	}
	return end()
}

// loopOnce makes the same runs by a loop, which keeps the verdicts, and returns how long it took.
func loopOnce(b *testing.B, o *Options) span {
	b.Helper()
	s := debugtest.Open(b)
	end := since(b)
	work := make(chan debugkern.Request)
	var mu sync.Mutex
	verdicts := map[string]int{}
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for req := range work {
				r, err := s.Run(b.Context(), req, nil)
				if err != nil {
					b.Error(err)
					continue
				}
				mu.Lock()
				verdicts[r.Report.Verdict]++
				mu.Unlock()
			}
		})
	}
	for _, shape := range o.Shapes {
		for _, gate := range o.Gates {
			for _, seed := range o.Seeds {
				req := o.Request
				req.Target, req.Shape, req.Gate, req.Seed = o.Targets[0], shape, probes.GateNamed(gate), seed
				work <- req
			}
		}
	}
	close(work)
	all.Wait()
	if verdicts[report.Agree] != len(o.Shapes)*len(o.Gates)*len(o.Seeds) {
		b.Fatal(verdicts)
	}
	return end()
}
