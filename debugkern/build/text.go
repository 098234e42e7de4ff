package build

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/file"
	"tilescope/kernels"
	"tilescope/probes"
)

// Text returns the lines of a source or header by the name that debug lines have for it, as the patches left
// it; nil where it cannot be read.
func Text(ctx context.Context, m *configs.Manifest, changed map[string]Patched, name string) []string {
	if t, ok := PatchedText(changed, name); ok {
		return strings.Split(t.Text, "\n")
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
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
	if text, ok := followed(ctx, m, name); ok {
		return strings.Split(string(text), "\n")
	}
	return nil
}

// sourceExts are the extensions of files that debug lines are followed to: PTX is foreign text, and a name in
// it must not make tilescope show a file that is no source.
var sourceExts = []string{
	".py", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inl", ".inc",
}

// followed reads the source that debug lines of a person's own kernel name: of a bundle the one that is in
// it, else the file, by its path or relative to the kernel's folder.
func followed(ctx context.Context, m *configs.Manifest, name string) ([]byte, bool) {
	if m.PTX != "" && Bundled(m.PTX) {
		b, err := bundle.Open(ctx, m.SourcePath(), budget.Default())
		if err != nil {
			return nil, false
		}
		defer b.Close()
		text, ok, _ := b.Text(ctx, name)
		return text, ok
	}
	if m.Dir == "" || !slices.Contains(sourceExts, strings.ToLower(filepath.Ext(name))) {
		return nil, false
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.Dir, path)
	}
	text, err := ReadText(ctx, path, "a source")
	return text, err == nil && file.Text(text)
}
