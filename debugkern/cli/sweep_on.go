package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/sweep"
	"tilescope/debugkern/sweep/job"
	"tilescope/debugkern/sweep/kubernetes"
	"tilescope/debugkern/sweep/slurm"
	"tilescope/debugkern/text"
)

// onLocal is the value of --on for this machine; schedulers has all others.
const onLocal = "local"

// schedulers lists the values of --on that submit jobs.
func schedulers() []string { return []string{"slurm", "kubernetes"} }

// poll is how often a scheduler is asked for the state of its jobs.
const poll = 3 * time.Second

// maxTemplate is the largest batch script of slurm.template.
const maxTemplate = 1 << 20

// scheduler makes the scheduler of --on, with the settings of the configuration.
func (a *app) scheduler(ctx context.Context, on string) (job.Scheduler, error) {
	switch c := a.config; on {
	case "slurm":
		script := ""
		if c.SlurmTemplate != "" {
			b, err := file.Read(ctx, c.SlurmTemplate, maxTemplate, file.Want{What: "a batch script"})
			if err != nil {
				return nil, err
			}
			script = string(b)
		}
		return slurm.New(script, c.SlurmOptions, c.SlurmGres)
	case "kubernetes":
		return kubernetes.New(a.Files, kubernetes.Settings{
			Image: c.KubernetesImage, Namespace: c.KubernetesNamespace, Resources: c.KubernetesResources,
			Volume: c.KubernetesVolume, Parallelism: c.KubernetesParallelism,
		})
	}
	return nil, usageError("--on %s: expected local, %s", on, strings.Join(schedulers(), " or "))
}

// checkOn refuses options that a sweep on a cluster cannot have.
func (o *sweepOptions) checkOn(a *app, cmd *cobra.Command) error {
	if o.on == onLocal {
		return nil
	}
	backend := a.config.Backend
	if cmd.Flags().Changed("backend") {
		backend = o.backend
	}
	switch {
	case !slices.Contains(schedulers(), o.on):
		return usageError("--on %s: expected local, %s; other schedulers run parts by --shard I/N, and sweep merge "+
			"puts them together", o.on, strings.Join(schedulers(), " or "))
	case o.shard != "":
		return usageError("--shard %s: --on %s cuts the sweep into shards itself", o.shard, o.on)
	case backend == "auto" && !o.check:
		return usageError("--on %s needs --backend emu, cuda or both: auto could be another one on each node", o.on)
	}
	return nil
}

// submitted executes a sweep on a cluster, and makes the documents once its jobs have ended.
func (a *app) submitted(
	cmd *cobra.Command, opt *sweepOptions, plan *sweep.Plan, on job.Scheduler, backend string,
) error {
	ctx := cmd.Context()
	w := job.Work{
		Files: a.Files, Scheduler: on, Chunk: a.config.SweepChunk, Rounds: a.config.SweepTries, Poll: poll,
		Shards: job.Shards{Tries: a.config.SweepTries, GPU: backend != "emu"},
	}
	if cmd.Flags().Changed("jobs") {
		w.Shards.Jobs = opt.jobs
	}
	var err error
	if w.Shards.Dir, err = filepath.Abs(opt.out); err == nil {
		w.Shards.Work, err = os.Getwd()
	}
	if err == nil {
		w.Shards.Program, err = os.Executable()
	}
	if err != nil {
		return fmt.Errorf("submit the sweep: %w", err)
	}
	w.Shards.Sweep = shardWords(cmd, plan.Doc.Targets, w.Shards.Dir)
	meter := newMeter(a.Stderr, a.json)
	shown := 0
	w.Progress = func(p job.Progress) {
		if shown != p.Round {
			shown = p.Round
			meter.clear()
			what := "submitted"
			if p.Attached {
				what = "attached to"
			}
			fmt.Fprintf(a.Stderr, "tilescope: %s %d shards on %s, round %d of %d\n", what,
				p.Waiting+p.Running, opt.on, p.Round, w.Rounds)
		}
		detail := fmt.Sprintf("%d shards run, %d wait", p.Running, p.Waiting)
		if p.Reason != "" {
			detail += ": " + text.Line(p.Reason)
		}
		meter.report(debugkern.Progress{
			Phase: "sweep", Detail: detail, Done: p.Done + p.Failed, Total: p.Planned,
		})
	}
	err = job.Execute(ctx, plan, w)
	meter.clear()
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		fmt.Fprintf(a.Stderr, "tilescope: detached: the jobs go on. The same command attaches again; "+
			"tilescope sweep status %[1]s counts, tilescope sweep cancel %[1]s ends them\n", text.Shell(opt.out))
	}
	if err != nil {
		return err
	}
	return a.merged(ctx, opt.out)
}

// shardWords are the words of the command that executes a shard: those that were given, but for what --on,
// --jobs and --json decide.
func shardWords(cmd *cobra.Command, targets []string, dir string) []string {
	words := append([]string{"sweep"}, targets...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, many := f.Value.(pflag.SliceValue); {
		case slices.Contains([]string{"on", "jobs", "json", "out"}, f.Name):
		case many:
			for _, v := range list.GetSlice() {
				words = append(words, "--"+f.Name+"="+v)
			}
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return append(words, "--out="+dir)
}

// cancelSweep ends whoever works at a sweep: the jobs of a cluster, and processes.
func (a *app) cancelSweep(ctx context.Context, dir string) error {
	if err := job.Cancel(ctx, dir, func(name string) (job.Scheduler, error) {
		return a.scheduler(ctx, name)
	}); err != nil {
		return err
	}
	return sweep.Cancel(ctx, a.Files, dir)
}
