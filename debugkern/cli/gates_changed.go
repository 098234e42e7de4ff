package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tilescope/configs"
)

// manifestsOf lists the manifests that a change of files concerns: those among the files, and those in a
// file's folder that are of it. Files without one are left out, which is printed.
func (a *app) manifestsOf(ctx context.Context, files []string) ([]string, error) {
	var out []string
	for _, name := range files {
		found := []string{name}
		if _, ok := configs.KernelOf(ctx, name); !ok {
			var err error
			if found, err = manifestsNaming(ctx, name); err != nil {
				return nil, err
			}
		}
		if len(found) == 0 {
			fmt.Fprintf(a.Stderr, "tilescope: %s is left out: no manifest in its folder names it\n", name)
		}
		for _, path := range found {
			if !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out, ctx.Err()
}

// manifestsNaming lists the manifests in a file's folder that are of it.
func manifestsNaming(ctx context.Context, name string) ([]string, error) {
	dir := filepath.Dir(name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, usageError("manifests next to %s: %w", name, err)
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
			continue
		}
		if kernel, ok := configs.KernelOf(ctx, path); ok && filepath.Clean(name) == kernel {
			out = append(out, path)
		}
	}
	return out, nil
}
