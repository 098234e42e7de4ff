package build

import (
	"context"
	"path/filepath"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/file"
)

// maxText is the most bytes of source, PTX or header that are read.
const maxText = 64 << 20

// ReadText reads a text that a user or a manifest names: source, PTX, a header. The errors are *file.Error.
func ReadText(ctx context.Context, path, what string) ([]byte, error) {
	return file.Read(ctx, path, maxText, file.Want{What: what})
}

// ReadKernel reads CUDA source or PTX, of a bundle the module that is in it. The errors are *file.Error, and
// of a bundle those of bundle.Open.
func ReadKernel(ctx context.Context, path string) ([]byte, error) {
	if !Bundled(path) {
		return ReadText(ctx, path, "CUDA source or PTX")
	}
	b, err := bundle.Open(ctx, path, budget.Default())
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return b.PTX(ctx)
}

// Bundled reports whether a path is that of a bundle, by its extension.
func Bundled(path string) bool { return filepath.Ext(path) == bundle.Ext }
