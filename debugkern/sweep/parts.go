package sweep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tilescope/debugkern/file"
)

// Prepare makes the plan's folder, or finds it with the same plan, for shards that other processes execute.
// An earlier cancellation is withdrawn. A folder of another plan is a *report.Error with CodeUsage.
func (p *Plan) Prepare(ctx context.Context, files *file.System, dir string) error {
	if err := files.Mkdir(filepath.Join(dir, resultsDir), 0o755); err != nil {
		return err
	}
	if err := p.claim(ctx, files, dir); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(dir, cancelFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open lists which shards of n have runs without a result. Runs that were recorded as failed count as
// without one where failed is set.
func (p *Plan) Open(dir string, n int, failed bool) ([]int, error) {
	have, err := results(dir, p.Key, nil)
	if err != nil {
		return nil, err
	}
	open := make([]bool, n)
	for i := range p.Runs {
		if l, ok := have[p.Runs[i].id()]; !ok || failed && l.Result == nil {
			open[i%n] = true
		}
	}
	var out []int
	for part, is := range open {
		if is {
			out = append(out, part)
		}
	}
	return out, nil
}

// GiveUp records the runs without a result of some shards of n as failed, each with its shard's reason.
func (p *Plan) GiveUp(ctx context.Context, files *file.System, dir string, n int, why map[int]string) error {
	f, err := p.open(ctx, files, dir, "given-up")
	if err != nil {
		return err
	}
	defer f.close()
	have, err := results(dir, p.Key, nil)
	if err != nil {
		return err
	}
	for i := range p.Runs {
		reason, ok := why[i%n]
		if _, done := have[p.Runs[i].id()]; !ok || done {
			continue
		}
		if err := f.add(line{Run: p.Runs[i].id(), Error: reason}); err != nil {
			return err
		}
	}
	return nil
}
