package build

import (
	"context"
	"strings"

	"tilescope/configs"
	"tilescope/kernels"
	"tilescope/probes"
)

// Text returns the lines of a source or header by the name that debug lines have for it, as the patches left it; nil where it
// cannot be read.
func Text(ctx context.Context, m *configs.Manifest, changed map[string]Patched, file string) []string {
	if t, ok := PatchedText(changed, file); ok {
		return strings.Split(t.Text, "\n")
	}
	base := file[strings.LastIndexByte(file, '/')+1:]
	if base == "tilescope.cuh" {
		return strings.Split(probes.Header, "\n")
	}
	if m.Source != "" && strings.HasSuffix(m.Source, base) {
		if text, err := sourceText(ctx, m); err == nil {
			return strings.Split(string(text), "\n")
		}
	}
	if m.PTX != "" && strings.HasSuffix(m.PTX, base) {
		if text, err := ReadKernel(ctx, m.SourcePath()); err == nil {
			return strings.Split(string(text), "\n")
		}
	}
	if text, ok := kernels.Source(base); ok {
		return strings.Split(string(text), "\n")
	}
	return nil
}
