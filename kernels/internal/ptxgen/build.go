package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"tilescope/debugkern/cuda"
	"tilescope/kernels"
)

// build compiles the jobs on all cores and returns their PTX in the order of the jobs. PTX that old has of
// the same texts, options and compiler is taken from there; old is nil where nothing is to be.
func build(ctx context.Context, tc *cuda.Toolchain, jobs []job, old *kernels.Archive) ([]string, error) {
	texts := make([]string, len(jobs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for i, j := range jobs {
		text, ok, err := current(old, j)
		if err != nil {
			return nil, err
		}
		if texts[i] = text; ok {
			continue
		}
		g.Go(func() error {
			p, err := compile(ctx, tc, j)
			if err != nil {
				return fmt.Errorf("%s: %w", j.key, err)
			}
			texts[i] = p.Text
			return nil
		})
	}
	return texts, g.Wait()
}

// pack makes an archive of the jobs' PTX, in the order of the plan.
func pack(jobs []job, texts []string) (*kernels.Writer, error) {
	w := kernels.NewWriter(pinned, cuda.Options(arch))
	for i, j := range jobs {
		if err := w.Add(j.key, j.inputs.Options, j.inputs.Digest(), texts[i]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// current returns the PTX that an archive has of a job; false where it has none, or of other texts.
func current(old *kernels.Archive, j job) (ptx string, ok bool, err error) {
	if old == nil {
		return "", false, nil
	}
	if d, ok := old.Digest(j.key); !ok || d != j.inputs.Digest() {
		return "", false, nil
	}
	e, ok, err := old.Find(j.key)
	return string(e.PTX), ok, err
}

// compile builds one job. A warning is an error here: the catalogue's kernels have none.
func compile(ctx context.Context, tc *cuda.Toolchain, j job) (*cuda.PTX, error) {
	p, err := tc.Compile(ctx, cuda.Build{
		Name: j.name, Source: string(j.inputs.Source), Headers: j.inputs.Headers, Defines: j.inputs.Defines,
		Arch: j.arch,
	})
	if err == nil && strings.TrimSpace(p.Log) != "" {
		err = fmt.Errorf("the compiler warns: %s", strings.TrimSpace(p.Log))
	}
	return p, err
}

// costs prints what ptxas makes of the clean builds.
func costs(ctx context.Context, out io.Writer, tc *cuda.Toolchain, jobs []job) error {
	for _, j := range jobs {
		if !j.clean {
			continue
		}
		p, err := compile(ctx, tc, j)
		if err != nil {
			return fmt.Errorf("%s: %w", j.key, err)
		}
		targets := []string{"sm_80", "sm_86", "sm_89", "sm_90"}
		if j.arch != arch {
			targets = []string{j.arch}
		}
		for _, arch := range targets {
			r, err := tc.Assemble(ctx, []byte(p.Text), j.entry, arch)
			if err != nil {
				return fmt.Errorf("%s: %w", j.key, err)
			}
			fmt.Fprintf(out, "%-58s %s %3d registers %6d B shared %d B spilled %d B local\n", j.key, arch,
				r.Registers, r.SharedBytes,
				r.SpillStoreBytes+r.SpillLoadBytes, r.LocalBytes)
		}
	}
	return nil
}
