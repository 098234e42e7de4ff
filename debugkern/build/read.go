package build

import (
	"context"

	"tilescope/debugkern/file"
)

// maxText is the most bytes of source, PTX or header that are read.
const maxText = 64 << 20

// ReadText reads a text that a user or a manifest names: source, PTX, a header. The errors are *file.Error.
func ReadText(ctx context.Context, path, what string) ([]byte, error) {
	return file.Read(ctx, path, maxText, file.Want{What: what})
}

// ReadKernel reads CUDA source or PTX. The errors are *file.Error.
func ReadKernel(ctx context.Context, path string) ([]byte, error) {
	return ReadText(ctx, path, "CUDA source or PTX")
}
