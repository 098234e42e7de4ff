// Package job executes a sweep on a cluster: its shards are jobs of a scheduler that the user has.
//
// The one idea: the sweep's folder is the truth. Whether a shard is done is read there and never asked of a
// scheduler, which says only whether jobs are waiting or running. So a job that dies, however it does,
// leaves runs without a result, and those are submitted again; a submitter that ends changes nothing.
//
// It must not know which scheduler it is, or what a run computes.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/sweep"
)

// Scheduler submits shards to a cluster.
type Scheduler interface {
	// Name is the scheduler's, as in --on NAME.
	Name() string
	// Most is how many shards one sweep may have; 0: any number.
	Most() int
	// Submit submits shards and returns the jobs that execute them. Where it fails half-way, the jobs that
	// it has submitted are returned with the error.
	Submit(ctx context.Context, s *Shards) ([]Job, error)
	// Count is how many shards of jobs wait and how many run. Jobs that the scheduler no longer has count
	// as ended.
	Count(ctx context.Context, jobs []Job) (Count, error)
	// Ended says of shards why they ended without success, as far as the scheduler knows it.
	Ended(ctx context.Context, jobs []Job) map[int]string
	// Cancel ends jobs; those that have ended are no error.
	Cancel(ctx context.Context, jobs []Job) error
}

// Shards are parts of a sweep to submit.
type Shards struct {
	Key     string   // of the plan
	Dir     string   // the sweep's folder, absolute
	Work    string   // working directory of the command, absolute
	Program string   // tilescope's path on this machine
	Sweep   []string // the words of the sweep after the program, without --shard and --jobs
	Jobs    int      // runs at a time in a shard; 0: as many as it has processors
	Of      int      // shards of the whole sweep
	Parts   []int    // those to execute, ascending
	Tries   int      // how often a shard that fails is tried where it runs
	GPU     bool     // it executes on a GPU
}

// Job is one submission.
type Job struct {
	ID    string `json:"id"`
	First int    `json:"first"` // the shard of its index 0, those of further ones follow
	// Parts are the shards by index where they do not follow First.
	Parts []int `json:"parts,omitempty"`
	// Merge: it has no shards but makes the documents after the others.
	Merge bool `json:"merge,omitempty"`
}

// Count is how many shards wait and run.
type Count struct {
	Waiting, Running int
	Reason           string // why most of those waiting do; "" where the scheduler gives none
}

// StateFile in a sweep's folder has the jobs that were submitted last.
const StateFile = "jobs.json"

// State is StateFile.
type State struct {
	Schema string `json:"schema"` // stateSchema
	On     string `json:"on"`     // Scheduler.Name
	Key    string `json:"key"`    // of the plan
	Of     int    `json:"of"`
	Jobs   []Job  `json:"jobs"`
}

const (
	stateSchema = "tilescope.sweep-jobs/1"
	maxState    = 16 << 20
)

// Work is how a plan is executed on a cluster.
type Work struct {
	Files     *file.System
	Scheduler Scheduler
	Shards    Shards // without Key, Of and Parts
	Chunk     int    // runs of a shard
	Rounds    int    // how often a shard is submitted before its runs count as failed
	Poll      time.Duration
	Progress  func(Progress)
}

// Progress is how far a sweep on a cluster is.
type Progress struct {
	sweep.Status
	Count
	Of, Round int
	Attached  bool // to jobs that an earlier command has submitted
}

// lost is how often in a row a scheduler may not answer before Execute ends.
const lost = 20

// Execute submits the shards that have runs without a result and waits until their jobs have ended. Where
// jobs of an earlier command are still there, it waits for those. Shards that end with runs missing are
// submitted again, and after Rounds their runs are recorded as failed. It ends with the context's error,
// which leaves the jobs as they are. Other errors are the scheduler's, those of the folder, and
// *report.Error with CodeUsage.
func Execute(ctx context.Context, plan *sweep.Plan, w Work) error {
	dir := w.Shards.Dir
	if err := plan.Prepare(ctx, w.Files, dir); err != nil {
		return err
	}
	state, attached, err := w.resume(ctx, plan)
	if err != nil {
		return err
	}
	for round := 1; ; round++ {
		if !attached {
			parts, err := plan.Open(dir, state.Of, round == 1)
			if err != nil || len(parts) == 0 {
				return err
			}
			if round > w.Rounds {
				return w.giveUp(ctx, plan, state, parts)
			}
			if err := w.submit(ctx, plan, state, parts); err != nil {
				return err
			}
		}
		if err := w.wait(ctx, state, round, attached); err != nil {
			return err
		}
		attached = false
	}
}

// resume finds jobs of the same plan that have not ended. Else the state is a new one, without jobs.
func (w *Work) resume(ctx context.Context, plan *sweep.Plan) (*State, bool, error) {
	old, err := Read(ctx, w.Shards.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if err == nil && old.Key == plan.Key && len(old.Jobs) > 0 {
		if old.On != w.Scheduler.Name() {
			return nil, false, report.Usagef(
				"%s was submitted with --on %s: use that again, or another folder", w.Shards.Dir, old.On)
		}
		n, err := w.Scheduler.Count(ctx, old.shards())
		if err != nil {
			return nil, false, err
		}
		if n.Waiting+n.Running > 0 {
			return old, true, nil
		}
	}
	chunk := max(1, w.Chunk)
	of := (len(plan.Runs) + chunk - 1) / chunk
	if most := w.Scheduler.Most(); most > 0 {
		of = min(of, most)
	}
	return &State{Schema: stateSchema, On: w.Scheduler.Name(), Key: plan.Key, Of: of}, false, nil
}

// submit submits parts. A submission is not interrupted: jobs whose names are lost could not be cancelled.
func (w *Work) submit(ctx context.Context, plan *sweep.Plan, state *State, parts []int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	s := w.Shards
	s.Key, s.Of, s.Parts = plan.Key, state.Of, parts
	jobs, err := w.Scheduler.Submit(whole, &s)
	state.Jobs = jobs
	if len(jobs) > 0 {
		err = errors.Join(err, state.write(w.Files, s.Dir))
	}
	return err
}

// wait waits until no shard of the state's jobs waits or runs.
func (w *Work) wait(ctx context.Context, state *State, round int, attached bool) error {
	silent := 0
	var status *sweep.Status
	var next time.Time // when results are counted again: counting takes at most a twentieth of the time
	for {
		n, err := w.Scheduler.Count(ctx, state.shards())
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			if silent++; silent >= lost {
				return fmt.Errorf("%s has not answered %d times: %w", w.Scheduler.Name(), silent, err)
			}
		case n.Waiting+n.Running == 0:
			return nil
		default:
			silent = 0
			begun := time.Now()
			if !begun.Before(next) {
				if status, err = sweep.StatusOf(ctx, w.Shards.Dir); err != nil {
					return err
				}
				next = time.Now().Add(20 * time.Since(begun))
			}
			if w.Progress != nil {
				w.Progress(Progress{*status, n, state.Of, round, attached})
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(w.Poll):
		}
	}
}

// giveUp records the runs of shards that have died in every round as failed.
func (w *Work) giveUp(ctx context.Context, plan *sweep.Plan, state *State, parts []int) error {
	ended := w.Scheduler.Ended(ctx, state.shards())
	why := map[int]string{}
	for _, part := range parts {
		why[part] = fmt.Sprintf("shard %d/%d was submitted %d times and ended each time without this run's result",
			part, state.Of, w.Rounds)
		if reason := ended[part]; reason != "" {
			why[part] += ": " + reason
		}
	}
	return plan.GiveUp(ctx, w.Files, w.Shards.Dir, state.Of, why)
}

// Cancel ends the jobs of a sweep's folder; on makes the scheduler of a name. A folder without jobs is none
// of a cluster, and nothing is done.
func Cancel(ctx context.Context, dir string, on func(name string) (Scheduler, error)) error {
	state, err := Read(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	s, err := on(state.On)
	if err != nil {
		return err
	}
	return s.Cancel(ctx, state.Jobs)
}

// jobName is what schedulers name jobs: by numbers, or by names of DNS.
var jobName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// Read reads the state of a sweep's folder; fs.ErrNotExist where it has none.
func Read(ctx context.Context, dir string) (*State, error) {
	path := filepath.Join(dir, StateFile)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	b, err := file.Read(ctx, path, maxState, file.Want{What: "the jobs of a sweep"})
	if err != nil {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil || s.Schema != stateSchema {
		return nil, report.Usagef("%s has no jobs of a sweep (schema %s)", path, stateSchema)
	}
	for _, j := range s.Jobs { // words of a scheduler's command: never options of it
		if !jobName.MatchString(j.ID) {
			return nil, report.Usagef("%s: %q is no job's name", path, j.ID)
		}
	}
	return &s, nil
}

func (s *State) write(files *file.System, dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the jobs: %w", err)
	}
	return files.Write(filepath.Join(dir, StateFile), append(b, '\n'), 0o644)
}

// shards are the jobs that execute shards.
func (s *State) shards() []Job {
	return slices.DeleteFunc(slices.Clone(s.Jobs), func(j Job) bool { return j.Merge })
}

// IDs lists the jobs' names for the scheduler.
func IDs(jobs []Job) []string {
	out := make([]string, len(jobs))
	for i, j := range jobs {
		out[i] = j.ID
	}
	return out
}

// Ranges writes ascending numbers as ranges: 0-3,7.
func Ranges(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			out = append(out, fmt.Sprint(list[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}
