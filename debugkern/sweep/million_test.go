package sweep

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
)

// BenchmarkMillion executes a plan of 10^6 runs, of a kernel that computes nothing, in 1,000 shards, and
// merges them: sizes, files, times, and how much memory merging takes.
func BenchmarkMillion(b *testing.B) {
	for b.Loop() {
		million(b)
	}
}

func million(b *testing.B) {
	o := options()
	o.Targets, o.Shapes = []string{"one", "two"}, []string{"large", "huge"}
	o.Faults = []string{"none", "early"}
	o.Gates = []string{"none", "qk", "softmax"}
	o.Flags["A"] = []int{0, 1}
	o.Seeds = o.Seeds[:0]
	for seed := range uint64(10417) { // by 96 combinations
		o.Seeds = append(o.Seeds, seed)
	}
	begun := time.Now()
	p, err := Make(b.Context(), newKernel(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(p.Runs)), "runs")
	b.ReportMetric(time.Since(begun).Seconds(), "plan-s")
	dir := b.TempDir()
	const of = 1000
	if err := p.Prepare(b.Context(), file.New(), dir); err != nil {
		b.Fatal(err)
	}
	begun = time.Now()
	for part := range of - 1 {
		written(b, p, dir, part, of)
	}
	b.ReportMetric(time.Since(begun).Seconds(), "write-s")
	begun = time.Now()
	w := Work{Dir: dir, Files: file.New(), Part: of - 1, Of: of, Jobs: 1}
	if _, err := p.Execute(b.Context(), newKernel(), w); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(begun).Seconds(), "shard-s")
	p = nil
	begun = time.Now()
	peak := peakOf(func() {
		doc, missing, err := Merge(b.Context(), file.New(), dir)
		if err != nil || missing > 0 || len(doc.Runs) != 1000032 {
			b.Fatal(err, missing)
		}
	})
	b.ReportMetric(time.Since(begun).Seconds(), "merge-s")
	b.ReportMetric(float64(peak)/1e6, "merge-heap-MB")
	begun = time.Now()
	if s, err := StatusOf(b.Context(), dir); err != nil || s.Done != s.Planned {
		b.Fatal(s, err)
	}
	b.ReportMetric(time.Since(begun).Seconds(), "status-s")
	sizes, n := map[string]int64{}, 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		n++
		name := d.Name()
		if filepath.Base(filepath.Dir(path)) == resultsDir {
			name = resultsDir
		}
		sizes[name] += st.Size()
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n), "files")
	for _, name := range []string{PlanFile, resultsDir, DocumentFile} {
		b.ReportMetric(float64(sizes[name])/1e6, name+"-MB")
	}
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
}

// written writes the results of a shard.
func written(b *testing.B, p *Plan, dir string, part, of int) {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, resultsDir, fmt.Sprintf("%d-of-%d.jsonl", part, of)))
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	for _, i := range p.Shard(part, of) {
		r := resultOf(p.Runs[i], &report.Run{Verdict: report.Agree, Digest: digest(fmt.Sprint(i))})
		text, err := json.Marshal(line{Run: p.Runs[i].id(), Key: p.Key, Result: &r})
		if err != nil {
			b.Fatal(err)
		}
		out.Write(append(text, '\n')) // its error is Flush's
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
}

// peakOf is the largest heap, sampled, while f runs.
func peakOf(f func()) uint64 {
	debug.FreeOSMemory()
	var stop atomic.Bool
	var peak uint64
	var all sync.WaitGroup
	all.Go(func() {
		var m runtime.MemStats
		for !stop.Load() {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			time.Sleep(20 * time.Millisecond)
		}
	})
	f()
	stop.Store(true)
	all.Wait()
	return peak
}
