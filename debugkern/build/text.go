package build

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/file"
	"tilescope/kernels"
	"tilescope/probes"
)

// Text returns the lines of a source or header by the name that debug lines have for it, as the patches left
// it; nil where it cannot be read.
func Text(ctx context.Context, m *configs.Manifest, changed map[string]Patched, name string) []string {
	if t, ok := PatchedText(changed, name); ok {
		return lines(t.Text)
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	if base == "tilescope.cuh" {
		return lines(probes.Header)
	}
	if m.Source != "" && strings.HasSuffix(m.Source, base) {
		if text, err := sourceText(ctx, m); err == nil {
			return lines(string(text))
		}
	}
	if m.PTX != "" && strings.HasSuffix(m.PTX, base) {
		if text, err := ReadKernel(ctx, m.SourcePath()); err == nil {
			return lines(string(text))
		}
	}
	if text, ok := kernels.Source(base); ok {
		return lines(string(text))
	}
	if text, ok := followed(ctx, m, name); ok {
		return lines(string(text))
	}
	return nil
}

// lines are the lines of a text; what follows the end of the last one is none.
func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// maxTexts is how many bytes of sources a build keeps, to show them after their files have changed.
const maxTexts = 4 << 20

// keepTexts stores the source and the user's headers as they were compiled. A header whose file has changed
// since is left out.
func (b *Build) keepTexts(ctx context.Context, source string, src *SourceSet) {
	b.Texts = map[string]string{}
	left := maxTexts - len(src.Text)
	if left < 0 {
		return
	}
	b.Texts[path.Base(filepath.ToSlash(source))] = string(src.Text)
	for _, h := range b.Headers {
		if h.Origin != cuda.OriginOwn {
			continue
		}
		text, err := ReadText(ctx, h.Path, "a header")
		if err != nil || len(text) > left || cuda.NewHeader(h.Path, string(text), h.Origin) != h {
			continue
		}
		left -= len(text)
		b.Texts[h.Path] = string(text)
	}
}

// BuiltText returns the lines of a source or header of one's own as they were compiled, by the name that
// debug lines have for it; ok is false for one that the build has not kept.
func (b *Build) BuiltText(m *configs.Manifest, name string) (lines []string, ok bool) {
	if b == nil || m.Dir == "" {
		return nil, false
	}
	full := inKernelFolder(m, name)
	base := path.Base(filepath.ToSlash(name))
	text, ok := b.Texts[full]
	if !ok && base == sourceBase(m) {
		text, ok = b.Texts[base]
	}
	if !ok && base == name { // a header by its base name, where only one has it
		for p, t := range b.Texts {
			if filepath.Base(p) == base {
				if ok {
					return nil, false
				}
				text, ok = t, true
			}
		}
	}
	if !ok {
		return nil, false
	}
	return strings.Split(text, "\n"), true
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
	text, err := ReadText(ctx, inKernelFolder(m, name), "a source")
	return text, err == nil && file.Text(text)
}

// inKernelFolder is the path of a file that debug lines name: as it is, or relative to the kernel's folder.
func inKernelFolder(m *configs.Manifest, name string) string {
	path := filepath.FromSlash(name)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(m.Dir, path)
}
