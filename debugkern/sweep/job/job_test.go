package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/sweep"
	"tilescope/debugkern/sweep/job"
)

// kernel is a sweep.Runner that computes nothing.
type kernel struct{}

func (kernel) Describe(context.Context, debugkern.Request) (*debugkern.Subject, error) {
	return &debugkern.Subject{}, nil
}

func (kernel) BuildInfo(context.Context, debugkern.Request) (*report.Build, error) {
	return &report.Build{}, nil
}

func (kernel) Run(
	_ context.Context, req debugkern.Request, _ func(debugkern.Progress),
) (*debugkern.Run, error) {
	return &debugkern.Run{Report: &report.Run{Verdict: report.Agree, Digest: fmt.Sprint(req.Seed)}}, nil
}

func plan(t *testing.T) *sweep.Plan {
	t.Helper()
	o := &sweep.Options{Targets: []string{"k"}, Shapes: []string{"s"}, Gates: []string{"none"},
		Faults: []string{"none"}}
	for seed := range uint64(95) {
		o.Seeds = append(o.Seeds, seed)
	}
	p, err := sweep.Make(t.Context(), kernel{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cluster is a scheduler that executes a shard at each count. Shards in die end without results so often.
type cluster struct {
	t         *testing.T
	plan      *sweep.Plan
	dir       string
	of        int
	waiting   []int
	submitted [][]int
	die       map[int]int
	refuse    error
	silent    int // counts that fail
	cancelled []string
	counted   func(n int)
}

func (c *cluster) Name() string { return "cluster" }
func (c *cluster) Most() int    { return 10 }

func (c *cluster) Submit(_ context.Context, s *job.Shards) ([]job.Job, error) {
	if c.refuse != nil {
		return nil, c.refuse
	}
	c.of, c.waiting = s.Of, slices.Clone(s.Parts)
	c.submitted = append(c.submitted, s.Parts)
	return []job.Job{{ID: fmt.Sprint(len(c.submitted))}, {ID: "merge", Merge: true}}, nil
}

func (c *cluster) Count(_ context.Context, jobs []job.Job) (job.Count, error) {
	if c.silent > 0 {
		c.silent--
		return job.Count{}, errors.New("no answer")
	}
	if len(jobs) != 1 || jobs[0].Merge {
		c.t.Errorf("counted jobs %+v", jobs)
	}
	if c.counted != nil {
		c.counted(len(c.waiting))
	}
	n := job.Count{Waiting: len(c.waiting)}
	if len(c.waiting) == 0 {
		return n, nil
	}
	part := c.waiting[0]
	c.waiting = c.waiting[1:]
	if c.die[part]--; c.die[part] >= 0 {
		return n, nil
	}
	w := sweep.Work{Dir: c.dir, Files: file.New(), Part: part, Of: c.of, Jobs: 2}
	if _, err := c.plan.Execute(c.t.Context(), kernel{}, w); err != nil {
		c.t.Error(err)
	}
	return n, nil
}

func (c *cluster) Ended(context.Context, []job.Job) map[int]string {
	return map[int]string{3: "OUT_OF_MEMORY"}
}

func (c *cluster) Cancel(_ context.Context, jobs []job.Job) error {
	c.cancelled = job.IDs(jobs)
	return nil
}

func start(t *testing.T) (*cluster, job.Work) {
	t.Helper()
	c := &cluster{t: t, plan: plan(t), dir: t.TempDir(), die: map[int]int{}}
	return c, job.Work{
		Files: file.New(), Scheduler: c, Shards: job.Shards{Dir: c.dir}, Chunk: 5, Rounds: 3,
		Poll: time.Microsecond,
	}
}

func document(t *testing.T, dir string) ([]byte, *sweep.Doc, int) {
	t.Helper()
	doc, missing, err := sweep.Merge(t.Context(), file.New(), dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, sweep.DocumentFile))
	if err != nil {
		t.Fatal(err)
	}
	return b, doc, missing
}

// TestDeaths: shards that die are submitted again, and the document has the bytes of a local sweep's.
func TestDeaths(t *testing.T) {
	local := t.TempDir()
	w := sweep.Work{Dir: local, Files: file.New(), Jobs: 2}
	if _, err := plan(t).Execute(t.Context(), kernel{}, w); err != nil {
		t.Fatal(err)
	}
	want, _, _ := document(t, local)
	c, work := start(t)
	c.die = map[int]int{2: 1, 7: 2}
	seen := 0
	work.Progress = func(p job.Progress) { seen = max(seen, p.Done) }
	if err := job.Execute(t.Context(), c.plan, work); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.submitted); got != "[[0 1 2 3 4 5 6 7 8 9] [2 7] [7]]" {
		t.Errorf("submitted %s", got)
	}
	if got, _, _ := document(t, c.dir); !bytes.Equal(got, want) || seen == 0 {
		t.Errorf("the document is another, or there was no progress (%d)", seen)
	}
	c.submitted = nil
	if err := job.Execute(t.Context(), c.plan, work); err != nil || len(c.submitted) > 0 {
		t.Errorf("a sweep that is done: %v, submitted %v", err, c.submitted)
	}
}

// TestGivenUp: the runs of a shard that dies each time are failed, by name and with the reason, and are
// made by the next command.
func TestGivenUp(t *testing.T) {
	c, work := start(t)
	c.die = map[int]int{3: 3}
	if err := job.Execute(t.Context(), c.plan, work); err != nil {
		t.Fatal(err)
	}
	_, doc, missing := document(t, c.dir)
	if missing > 0 || len(doc.Failed) != 10 || doc.ExitCode(missing) != 4 {
		t.Fatalf("%d missing, failed: %+v", missing, doc.Failed)
	}
	const why = "shard 3/10 was submitted 3 times and ended each time without this run's result: OUT_OF_MEMORY"
	if f := doc.Failed[1]; f.Run != "k --shape s --seed 13" || f.Error != why {
		t.Errorf("%+v", f)
	}
	c.submitted = nil
	if err := job.Execute(t.Context(), c.plan, work); err != nil || fmt.Sprint(c.submitted) != "[[3]]" {
		t.Errorf("%v, submitted %v", err, c.submitted)
	}
	if _, doc, missing = document(t, c.dir); missing > 0 || doc.ExitCode(0) != 0 {
		t.Errorf("%d missing, failed: %+v", missing, doc.Failed)
	}
}

// TestDetach: a submitter that is cancelled leaves the jobs, and the next attaches to them.
func TestDetach(t *testing.T) {
	c, work := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	c.counted = func(n int) {
		if n == 6 {
			cancel()
		}
	}
	if err := job.Execute(ctx, c.plan, work); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	c.counted = nil
	attached := false
	work.Progress = func(p job.Progress) { attached = attached || p.Attached }
	if err := job.Execute(t.Context(), c.plan, work); err != nil || !attached || len(c.submitted) != 1 {
		t.Errorf("%v, attached: %v, submitted %v", err, attached, c.submitted)
	}
	if _, doc, missing := document(t, c.dir); missing > 0 || doc.ExitCode(0) != 0 {
		t.Errorf("%d missing", missing)
	}
	on := func(name string) (job.Scheduler, error) {
		if name != "cluster" {
			t.Errorf("cancelled on %s", name)
		}
		return c, nil
	}
	if err := job.Cancel(t.Context(), c.dir, on); err != nil || fmt.Sprint(c.cancelled) != "[1 merge]" {
		t.Errorf("%v, cancelled %v", err, c.cancelled)
	}
	if err := job.Cancel(t.Context(), t.TempDir(), nil); err != nil {
		t.Errorf("a folder without jobs: %v", err)
	}
}

// TestScheduler: refusals are the error, a scheduler that does not answer for a while is waited for.
func TestScheduler(t *testing.T) {
	c, work := start(t)
	c.refuse = report.Usagef("refused")
	if err := job.Execute(t.Context(), c.plan, work); err == nil || err.Error() != "refused" {
		t.Error(err)
	}
	c.refuse, c.silent = nil, 10
	if err := job.Execute(t.Context(), c.plan, work); err != nil {
		t.Error(err)
	}
	c, work = start(t)
	c.silent = 1000
	if err := job.Execute(t.Context(), c.plan, work); err == nil ||
		!strings.Contains(err.Error(), "cluster has not answered 20 times: no answer") {
		t.Error(err)
	}
}

// TestForeignState: whoever can write to a sweep's folder chooses no options of the scheduler's commands.
func TestForeignState(t *testing.T) {
	for id, good := range map[string]bool{
		"17": true, "tilescope-0123456789ab-1": true, "--user=me": false, "": false, "1 2": false, "*": false,
		"all/17": false,
	} {
		dir := t.TempDir()
		text := fmt.Sprintf(`{"schema": "tilescope.sweep-jobs/1", "on": "cluster", "jobs": [{"id": %q}]}`, id)
		if err := os.WriteFile(filepath.Join(dir, job.StateFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &cluster{t: t}
		on := func(string) (job.Scheduler, error) { return c, nil }
		if err := job.Cancel(t.Context(), dir, on); (err == nil) != good || (c.cancelled != nil) != good {
			t.Errorf("%q: %v, cancelled %v", id, err, c.cancelled)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, list := range map[string][]int{"0-3,7,9-10": {0, 1, 2, 3, 7, 9, 10}, "5": {5}, "": nil} {
		if got := job.Ranges(list); got != want {
			t.Errorf("%v: %s, want %s", list, got, want)
		}
	}
}

// TestCommand: a missing command, a failing one, and what it prints.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	var coded *report.Error
	_, err := job.Command(t.Context(), "", "sbatch-nowhere")
	if !errors.As(err, &coded) || coded.Code != report.CodeUnavailable ||
		!strings.Contains(err.Error(), "sbatch-nowhere is not in PATH") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte(
		"#!/bin/sh\nread line\necho \"got $line $1\"\necho trouble >&2\nexit $2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := job.Command(t.Context(), "text\n", "tool", "word", "0")
	if err != nil || out != "got text word\n" {
		t.Errorf("%q, %v", out, err)
	}
	_, err = job.Command(t.Context(), "", "tool", "x", "1")
	if err == nil || err.Error() != "tool: trouble" {
		t.Error(err)
	}
}
