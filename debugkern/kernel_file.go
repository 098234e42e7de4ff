package debugkern

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
)

// Scaffold reads a kernel and writes a manifest of it (see scaffold.Write). Nothing is written to a file. It returns a
// *report.Error as Run does.
func (s *Session) Scaffold(ctx context.Context, req scaffold.Request) (*report.Init, error) {
	b, source, err := s.buildFile(ctx, kernelFile{
		path: req.File, include: req.Include, define: append(slices.Clone(req.Define), req.Set...), std: req.Std, arch: req.Arch, instantiate: req.Instantiate,
	})
	if err != nil {
		err = (&execution{s: s, ctx: ctx}).explain(err)
		if coded, ok := err.(*report.Error); ok && coded.Report != nil {
			doc := scaffold.Blank(req)
			doc.Error, coded.Report = coded.Report.Error, nil
			return doc, err
		}
		return nil, err
	}
	if missing := b.Outline.uninstantiated(req.Entry); missing != "" && (len(b.Module.Entries()) == 0 || req.Entry != "" && !hasEntry(b.Module, req.Entry)) {
		return nil, report.Usagef("%s", missing)
	}
	return scaffold.Write(req, b.Module, b.sourceFacts(filepath.Base(req.File), source), func(entry string) ([]string, error) { return s.refusals(ctx, b, entry) })
}

// sourceFacts is what a build's source shows, without the user's headers where it brings none.
func (b *Build) sourceFacts(name, source string) scaffold.Source {
	if source == "" {
		return scaffold.Source{}
	}
	facts := scaffold.ReadSource(name, source)
	if b.Outline != nil {
		facts.Kernels, facts.Launches = b.Outline.Kernels, b.Outline.Launches
	}
	return facts
}

func hasEntry(m *ptx.Module, name string) bool {
	return slices.ContainsFunc(m.Entries(), func(e *ptx.Func) bool {
		return e.Name == name || e.Demangled == name || strings.HasSuffix("::"+ptx.TemplateName(e.Name), "::"+strings.ReplaceAll(name, " ", ""))
	})
}

// refusals lists what the emulator does not model of an entry, each instruction with its line in the source and how often it is there.
func (s *Session) refusals(ctx context.Context, b *Build, entry string) ([]string, error) {
	list, err := emu.Refusals(ctx, s.chip, b.Module, entry)
	if err != nil {
		return nil, err
	}
	var out []string
	seen := map[string]bool{}
	for _, e := range list {
		text := fmt.Sprintf("%s:%d: %s", filepath.Base(e.Pos.File), e.Pos.Line, e.Msg)
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out, nil
}

// kernelFile is a .ptx or a .cu file, and how a .cu is compiled.
type kernelFile struct {
	path            string
	include, define []string
	std             string
	instantiate     []string
	builder         string // "", auto, nvrtc, nvcc
	arch            string // "": the default
}

// buildFile parses PTX, or compiles a CUDA source with its own headers; source is its text, "" for PTX.
func (s *Session) buildFile(ctx context.Context, f kernelFile) (b *Build, source string, err error) {
	if err := checkArch(f.arch); err != nil {
		return nil, "", err
	}
	text, err := readText(ctx, f.path, "CUDA source or PTX")
	if err != nil {
		return nil, "", unread("read the kernel:", err)
	}
	switch filepath.Ext(f.path) {
	case ".ptx":
		if len(f.include)+len(f.define)+len(f.instantiate) > 0 || f.std != "" {
			return nil, "", report.Usagef("%s: -I, -D, --std and --instantiate are for a source that is compiled", f.path)
		}
		b, err := parseBuild(ctx, f.path, text, "none")
		return b, "", err
	case ".cu":
		b, err := s.compileFile(ctx, f, text)
		return b, string(text), err
	}
	return nil, "", report.Usagef("%s: expected a .ptx or a .cu file", f.path)
}

// compileFile compiles a CUDA source that no manifest describes.
func (s *Session) compileFile(ctx context.Context, f kernelFile, text []byte) (*Build, error) {
	builder := cmp.Or(f.builder, "auto")
	if !slices.Contains(builders, builder) || builder == "embedded" {
		return nil, report.Usagef("--builder %s: expected auto, nvrtc or nvcc", builder)
	}
	own := &configs.Manifest{Name: filepath.Base(f.path), Source: filepath.Base(f.path), Dir: filepath.Dir(f.path), File: f.path}
	sel := &configs.Selection{Manifest: own}
	if err := sel.AddCompile(configs.Compile{Include: f.include, Defines: f.define, Std: f.std, Instantiate: f.instantiate}); err != nil {
		return nil, &report.Error{Code: report.CodeUsage, Err: err}
	}
	src := &sourceSet{text: text}
	build, err := ownBuild(own, src, sel.Compile)
	if err != nil {
		return nil, err
	}
	build.Defines, build.Arch = sel.Compile.Defines, cmp.Or(f.arch, defaultArch)
	out, err := s.compileOwn(ctx, builder, build, src, sel.Compile.Instantiate, f.path+".ptx")
	if none := (*noCompilerError)(nil); errors.As(err, &none) {
		return nil, report.Unavailablef("%s has to be compiled, and cannot be here: %w (tilescope doctor says what to install; a .ptx needs none)", f.path, err)
	}
	return out, err
}
