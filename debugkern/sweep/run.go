package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tilescope/debugkern/file"
	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
)

// Work is how a plan is executed.
type Work struct {
	Dir   string
	Files *file.System
	// Part and Of are the shard that is executed: from 0, of how many; Of 0: all of the plan.
	Part, Of int
	Jobs     int // runs at a time
	Progress func(Progress)
}

// Progress is how far a sweep is, reported from one goroutine at a time. Left is an estimate, 0 where there
// is none yet.
type Progress struct {
	Found, Done, Failed, Total int // Found: done before; Total: of this part
	Last                       string
	Left                       time.Duration
}

// ErrCancelled is the error of an execution that tilescope sweep cancel has ended.
var ErrCancelled = errors.New("the sweep was cancelled")

// cancelFile in a sweep's folder ends whoever works in it before the next run.
const cancelFile = "cancel"

// Cancel ends those who work in a sweep's folder, each after the runs that it is at.
func Cancel(ctx context.Context, files *file.System, dir string) error {
	if _, err := readPlan(ctx, dir); err != nil {
		return notSweep(dir, err)
	}
	return files.Write(filepath.Join(dir, cancelFile), nil, 0o644)
}

// notSweep is the error of a folder whose plan cannot be read.
func notSweep(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return report.Usagef("%s has no %s: it is no folder of tilescope sweep", dir, PlanFile)
	}
	return err
}

// tries is how often a run that ends without a verdict is made.
const tries = 2

// Execute runs what a plan's folder has no results of, and reports how much it found done. A run that fails
// is tried again and then recorded as failed. It ends early with the context's error; what was done is
// kept. Errors are those of the folder.
func (p *Plan) Execute(ctx context.Context, r Runner, w Work) (Progress, error) {
	part, todo := "all", p.Shard(0, 1)
	if w.Of > 0 {
		part, todo = fmt.Sprintf("%d-of-%d", w.Part, w.Of), p.Shard(w.Part, w.Of)
	}
	f, err := p.open(ctx, w.Files, w.Dir, part)
	if err != nil {
		return Progress{}, err
	}
	defer f.close()
	if err := os.Remove(filepath.Join(w.Dir, cancelFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Progress{}, err
	}
	// other shards of as many have other runs, so that theirs need not be read
	siblings := fmt.Sprintf("-of-%d.jsonl", w.Of)
	have, err := results(w.Dir, p.Key, func(name string) bool {
		return strings.HasSuffix(name, siblings) && name != part+".jsonl"
	})
	if err != nil {
		return Progress{}, err
	}
	at := Progress{Total: len(todo)}
	var open []int
	for _, i := range todo {
		if l, ok := have[p.Runs[i].id()]; ok && l.Result != nil {
			at.Found++
		} else {
			open = append(open, i)
		}
	}
	at.Done = at.Found
	return p.execute(ctx, r, w, f, open, at)
}

// execute makes runs, several at a time.
func (p *Plan) execute(
	ctx context.Context, r Runner, w Work, f *folder, open []int, at Progress,
) (Progress, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	begun := time.Now()
	tell := func(last string, failed bool) {
		mu.Lock()
		defer mu.Unlock()
		if at.Last = last; last != "" {
			at.Done++
		}
		if failed {
			at.Failed++
		}
		if n := at.Done - at.Found; n > 0 {
			at.Left = time.Since(begun) / time.Duration(n) * time.Duration(at.Total-at.Done)
		}
		if w.Progress != nil {
			w.Progress(at)
		}
	}
	tell("", false)
	next := make(chan int)
	all := join.Group{Stop: func() { cancel(nil) }}
	for range max(1, min(w.Jobs, len(open))) {
		all.Go(func() {
			for i := range next {
				if _, err := os.Stat(filepath.Join(w.Dir, cancelFile)); err == nil {
					cancel(ErrCancelled)
					return
				}
				failed, err := p.one(ctx, r, f, &p.Runs[i])
				if err != nil {
					cancel(err)
					return
				}
				tell(p.Runs[i].Name(), failed)
			}
		})
	}
	for _, i := range open {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	all.Wait()
	return at, context.Cause(ctx)
}

// one makes a run and records what became of it. The error is the context's, or of the folder.
func (p *Plan) one(ctx context.Context, r Runner, f *folder, s *Spec) (failed bool, err error) {
	for try := 1; ; try++ {
		begun := time.Now()
		run, err := r.Run(ctx, p.request(s), nil)
		took := time.Since(begun)
		if err == nil {
			res := resultOf(*s, run.Report)
			f.note(s, try, took, res.Verdict)
			return false, f.add(line{Run: s.id(), Result: &res})
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		f.note(s, try, took, "failed: "+err.Error())
		var coded *report.Error
		if usage := errors.As(err, &coded) && coded.Code == report.CodeUsage; usage || try == tries {
			return true, f.add(line{Run: s.id(), Error: err.Error()})
		}
	}
}

// Merge makes the document of a folder, and writes it there with its table and its page. Runs without a
// result are left out: missing is how many. A folder without a plan is a *report.Error with CodeUsage.
func Merge(ctx context.Context, files *file.System, dir string) (doc *Doc, missing int, err error) {
	e, have, err := opened(ctx, dir)
	if err != nil {
		return nil, 0, err
	}
	doc = &Doc{Schema: Schema, Plan: e.Plan, Failed: []Failed{}, Runs: make([]Result, 0, len(have))}
	for i := range e.runs {
		l, ok := have[e.runs[i].id()]
		switch {
		case !ok:
			missing++
		case l.Result != nil:
			doc.Runs = append(doc.Runs, *l.Result)
		default:
			doc.Failed = append(doc.Failed, Failed{e.runs[i].Name(), l.Error})
		}
	}
	clear(have) // before the documents are made: both are large
	e.runs = nil
	return doc, missing, doc.write(files, dir, missing)
}

// StatusOf is how far the sweep of a folder is.
func StatusOf(ctx context.Context, dir string) (*Status, error) {
	e, have, err := opened(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Status{Planned: e.Plan.Runs}
	for i := range e.runs {
		if l, ok := have[e.runs[i].id()]; ok && l.Result != nil {
			s.Done++
		} else if ok {
			s.Failed++
		}
	}
	return s, nil
}

// opened reads a folder's plan and results.
func opened(ctx context.Context, dir string) (*planEntry, map[string]line, error) {
	e, err := readPlan(ctx, dir)
	if err != nil {
		return nil, nil, notSweep(dir, err)
	}
	have, err := results(dir, e.Key, nil)
	return e, have, err
}
