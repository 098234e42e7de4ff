// Package slurm submits the shards of a sweep as array jobs of Slurm.
//
// The one idea: Slurm's own commands do everything (sbatch, squeue, scontrol, scancel and, where accounting
// is there, sacct), as the user's PATH has them, so that a site's configuration, wrappers and credentials
// apply.
//
// It must not know what a run is.
package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"tilescope/debugkern/report"
	"tilescope/debugkern/sweep/job"
	"tilescope/debugkern/text"
)

// Slurm is a job.Scheduler.
type Slurm struct {
	template *template.Template
	options  []string // of sbatch
	gres     string
}

// logs in a sweep's folder has what the jobs print.
const logs = "jobs"

// New returns Slurm with the settings of the configuration: the batch script's text ("" for the built-in
// one), options of sbatch, separated by blanks, and what shards on a GPU request. Settings that cannot be
// used are a *report.Error with CodeUsage.
func New(script, options, gres string) (*Slurm, error) {
	words, ok := text.Words(options)
	if !ok {
		return nil, report.Usagef("slurm.options: a quote in %q has no end", options)
	}
	if script == "" {
		script = "#!/bin/sh\n{{.Command}}\n"
	}
	t, err := template.New("slurm.template").Parse(script)
	if err != nil {
		return nil, report.Usagef("slurm.template: %v", err)
	}
	s := &Slurm{template: t, options: words, gres: gres}
	const mark = "tilescope-command"
	filled, err := s.script(batch{Command: mark})
	switch {
	case err != nil:
		return nil, report.Usagef("slurm.template: %v", err)
	case !strings.Contains(filled, mark):
		return nil, report.Usagef("slurm.template: it has no {{.Command}}, so that no job would execute a shard")
	case !strings.HasPrefix(filled, "#!"):
		return nil, report.Usagef("slurm.template: sbatch needs a first line such as #!/bin/sh")
	}
	return s, nil
}

// batch is what a template may name.
type batch struct{ Command, Name, Dir string }

func (s *Slurm) script(b batch) (string, error) {
	var out bytes.Buffer
	err := s.template.Execute(&out, b)
	return out.String(), err
}

// Name implements job.Scheduler.
func (s *Slurm) Name() string { return "slurm" }

// Most implements job.Scheduler: what does not fit into one array goes into the next.
func (s *Slurm) Most() int { return 0 }

// maxArray is Slurm's default of MaxArraySize, the first index that an array may not have.
const maxArray = 1001

// arraySize asks the cluster for MaxArraySize.
func arraySize(ctx context.Context) (int, error) {
	out, err := job.Command(ctx, "", "scontrol", "show", "config")
	if failed := (*job.CommandError)(nil); errors.As(err, &failed) {
		return 0, &report.Error{
			Code: report.CodeUnavailable, Err: fmt.Errorf("Slurm does not answer: %w", err),
		}
	} else if err != nil {
		return 0, err
	}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(name) != "MaxArraySize" {
			continue
		}
		value = strings.TrimSpace(value)
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return 0, report.Usagef("this cluster takes no array jobs: MaxArraySize = %s", value)
		}
		return n, nil
	}
	return maxArray, nil
}

// Submit implements job.Scheduler: an array for every MaxArraySize shards, and a job that makes the
// documents once all of them have ended, however they did.
func (s *Slurm) Submit(ctx context.Context, p *job.Shards) ([]job.Job, error) {
	size, err := arraySize(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(p.Dir, logs), 0o755); err != nil {
		return nil, fmt.Errorf("folder of the jobs' output: %w", err)
	}
	name := "tilescope-" + p.Key[:8]
	var jobs []job.Job
	for first := 0; first < p.Of; first += size {
		var indices []int
		for _, part := range p.Parts {
			if part >= first && part < first+size {
				indices = append(indices, part-first)
			}
		}
		if len(indices) == 0 {
			continue
		}
		index := "$SLURM_ARRAY_TASK_ID"
		if first > 0 {
			index = fmt.Sprintf("$((SLURM_ARRAY_TASK_ID + %d))", first)
		}
		args := []string{"--array=" + job.Ranges(indices), "--requeue",
			"--output=" + filepath.Join(p.Dir, logs, "%A_%a.out")}
		if p.GPU && s.gres != "" {
			args = append(args, "--gres="+s.gres)
		}
		command := p.Script(p.Program, index, "${SLURM_CPUS_ON_NODE:-1}")
		id, err := s.sbatch(ctx, p, name, command, args)
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, job.Job{ID: id, First: first})
	}
	merge := text.QuotedLine([]string{p.Program, "sweep", "merge", p.Dir})
	id, err := s.sbatch(ctx, p, name+"-merge", merge, []string{
		"--dependency=afterany:" + strings.Join(job.IDs(jobs), ":"),
		"--output=" + filepath.Join(p.Dir, logs, "merge-%j.out"),
	})
	if err != nil {
		return jobs, err
	}
	return append(jobs, job.Job{ID: id, Merge: true}), nil
}

// sbatch submits a script and returns the job's number.
func (s *Slurm) sbatch(
	ctx context.Context, p *job.Shards, name, command string, args []string,
) (string, error) {
	script, err := s.script(batch{Command: command, Name: name, Dir: p.Dir})
	if err != nil {
		return "", fmt.Errorf("slurm.template: %w", err)
	}
	// options of the command line override those in the script
	words := slices.Concat([]string{"--parsable", "--job-name=" + name, "--chdir=" + p.Work,
		"--open-mode=append"}, s.options, args)
	out, err := job.Command(ctx, script, "sbatch", words...)
	if failed := (*job.CommandError)(nil); errors.As(err, &failed) {
		return "", report.Usagef("Slurm refused the job: %v", err)
	} else if err != nil {
		return "", err
	}
	// NUMBER, or NUMBER;CLUSTER
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";")
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		return "", fmt.Errorf("sbatch printed %q where a job's number was expected", text.Line(id))
	}
	return id, nil
}

// isUnknown reports whether squeue or scancel failed because the controller no longer has a job.
func isUnknown(err error) bool {
	failed := (*job.CommandError)(nil)
	return errors.As(err, &failed) && strings.Contains(failed.Printed, "Invalid job id specified")
}

// Count implements job.Scheduler.
func (s *Slurm) Count(ctx context.Context, jobs []job.Job) (job.Count, error) {
	out, err := job.Command(ctx, "", "squeue", "--noheader", "--array",
		"--jobs="+strings.Join(job.IDs(jobs), ","), "--format=%T %r")
	if isUnknown(err) {
		return job.Count{}, nil
	} else if err != nil {
		return job.Count{}, err
	}
	var n job.Count
	reasons := map[string]int{}
	for line := range strings.Lines(out) {
		state, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch state {
		case "":
		case "RUNNING", "COMPLETING":
			n.Running++
		default:
			n.Waiting++
			if reasons[reason]++; reasons[reason] > reasons[n.Reason] {
				n.Reason = reason
			}
		}
	}
	if n.Reason == "None" || n.Reason == "(null)" {
		n.Reason = ""
	}
	return n, nil
}

// Ended implements job.Scheduler: the state that accounting has of a shard; without accounting nothing.
func (s *Slurm) Ended(ctx context.Context, jobs []job.Job) map[int]string {
	why := map[int]string{}
	for _, j := range jobs {
		// without accounting sacct fails
		out, err := job.Command(ctx, "", "sacct", "--noheader", "--parsable2", "--allocations", "--array",
			"--jobs="+j.ID, "--format=JobID,State,ExitCode")
		if err != nil {
			continue
		}
		for line := range strings.Lines(out) {
			f := strings.Split(strings.TrimSpace(line), "|")
			_, index, ok := strings.Cut(f[0], "_")
			i, err := strconv.Atoi(index)
			if ok && err == nil && len(f) == 3 && f[1] != "COMPLETED" {
				why[j.First+i] = fmt.Sprintf("%s, exit code %s", f[1], f[2])
			}
		}
	}
	return why
}

// Cancel implements job.Scheduler.
func (s *Slurm) Cancel(ctx context.Context, jobs []job.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	_, err := job.Command(ctx, "", "scancel", append([]string{"--quiet"}, job.IDs(jobs)...)...)
	if isUnknown(err) {
		return nil
	}
	return err
}
