package debugkern

import (
	"context"
	"errors"
	"fmt"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
)

// maxText is the most bytes of source, PTX or header that are read.
const maxText = 64 << 20

// readText reads a text that a user or a manifest names: source, PTX, a header. The errors are *file.Error.
func readText(ctx context.Context, path, what string) ([]byte, error) {
	return file.Read(ctx, path, maxText, file.Want{What: what})
}

// kernelText is CUDA source or PTX that a manifest names.
func kernelText(ctx context.Context, path string) ([]byte, error) {
	return readText(ctx, path, "CUDA source or PTX")
}

// unread is the error of a user's file that was not read: a usage error, unless the context ended.
func unread(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %w", what, err)
	}
	return report.Usagef("%s %w", what, err)
}
