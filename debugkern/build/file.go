package build

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"tilescope/configs"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/report"
)

// File is a .ptx, a .cu or a .tsl file that no manifest describes, and how a .cu is compiled.
type File struct {
	Path            string
	Include, Define []string
	Std             string
	Builder         string   // auto ("" too), nvrtc, nvcc
	Arch            string   // "": sm_80
	Instantiate     []string // kernel templates with arguments
}

// File parses PTX, or compiles a CUDA source with its own headers; the build of a source has an Outline.
func (s *Builder) File(ctx context.Context, f File) (*Build, error) {
	if err := checkArch(f.Arch); err != nil {
		return nil, err
	}
	text, err := ReadKernel(ctx, f.Path)
	if err != nil {
		return nil, report.Unread("read the kernel:", err)
	}
	switch filepath.Ext(f.Path) {
	case ".ptx", bundle.Ext:
		if len(f.Include)+len(f.Define)+len(f.Instantiate) > 0 || f.Std != "" {
			return nil, report.Usagef("%s: -I, -D, --std and --instantiate are for a source that is compiled",
				f.Path)
		}
		return parse(ctx, f.Path, text, "none")
	case ".cu":
		return s.compileFile(ctx, f, text)
	}
	return nil, report.Usagef("%s: expected a .ptx, a .cu or a .tsl file", f.Path)
}

// compileFile compiles a CUDA source that no manifest describes.
func (s *Builder) compileFile(ctx context.Context, f File, text []byte) (*Build, error) {
	builder := cmp.Or(f.Builder, "auto")
	if !slices.Contains(builders, builder) || builder == "embedded" {
		return nil, report.Usagef("--builder %s: expected auto, nvrtc or nvcc", builder)
	}
	own := ManifestOf(f.Path)
	sel := &configs.Selection{Manifest: own}
	if err := sel.AddCompile(configs.Compile{
		Include: f.Include, Defines: f.Define, Std: f.Std, Instantiate: f.Instantiate,
	}); err != nil {
		return nil, &report.Error{Code: report.CodeUsage, Err: err}
	}
	src := &SourceSet{Text: text}
	build, err := ownBuild(own, src, sel.Compile)
	if err != nil {
		return nil, err
	}
	build.Defines, build.Arch = sel.Compile.Defines, cmp.Or(f.Arch, defaultArch)
	out, err := s.compileOwn(ctx, builder, build, src, sel.Compile.Instantiate, f.Path+".ptx")
	if none := (*noCompilerError)(nil); errors.As(err, &none) {
		return nil, report.Unavailablef(
			"%s has to be compiled, and cannot be here: %w (%s; a .ptx needs none)", f.Path, err, howToInstall)
	}
	return out, err
}

// ManifestOf is what stands for the manifest of a .ptx, .cu or .tsl file that has none: it names the file.
func ManifestOf(path string) *configs.Manifest {
	m := &configs.Manifest{Name: filepath.Base(path), Dir: filepath.Dir(path), File: path}
	if ext := filepath.Ext(path); ext == ".ptx" || ext == bundle.Ext {
		m.PTX = m.Name
	} else {
		m.Source = m.Name
	}
	return m
}
