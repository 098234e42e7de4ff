// Package build gets the PTX of a kernel: from the embedded archive, from a file, or from a compiler.
//
// The one idea: a build is determined by what it is made of. A Builder reads the sources with the patches of
// the selected faults applied, digests everything that a compiler would read, and makes each build once, for
// any number of concurrent callers.
//
// It decides which compiler builds a source, and owns the search for compilers and the consent that they
// need. It executes no kernel.
package build

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/memo"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// Build is a kernel compiled for one selection: the module both backends execute.
type Build struct {
	Module  *ptx.Module
	Text    []byte // the PTX
	Builder string // embedded, nvrtc, nvcc, none

	Compiler string // "NVRTC 12.0.140"; "" where a manifest brings its own PTX
	Options  []string
	Headers  []cuda.Header // that were read, without the toolkit's and the system's
	// Patched: sources and headers that patches changed, by name: what the debug lines are of
	Patched map[string]Patched
	// Texts: the source and the user's headers as they were compiled, headers by their path, the
	// source by its base name; those beyond maxTexts bytes in all are left out
	Texts   map[string]string
	Outline *Outline // of a source of one's own; nil: PTX, or an embedded kernel
}

// builders are the values of --builder.
var builders = []string{"auto", "embedded", "nvrtc", "nvcc"}

// defaultArch is what the embedded archive is built for: every GPU from Ampere up loads it.
const defaultArch = "sm_80"

// Builder makes builds, and keeps them. It is safe for concurrent use.
type Builder struct {
	builds memo.LRU[string, *Build]
	tools  tools
}

// howToInstall ends messages about compilers that are missing.
const howToInstall = "tilescope doctor says what to install; TILESCOPE_TOOLCHAIN names a toolchain elsewhere"

// maxBuilds is how many builds are cached in memory, about a megabyte each.
const maxBuilds = 160

// New returns a builder that looks for compilers where c says. It does nothing slow.
func New(c cuda.Config) *Builder {
	return &Builder{
		builds: memo.LRU[string, *Build]{Limit: maxBuilds}, tools: tools{config: c},
	}
}

// Options say how a selection is built.
type Options struct {
	Builder string // auto ("" too), embedded, nvrtc, nvcc
	Arch    string // "": the manifest's, else sm_80
	Probes  bool   // with the probes of the source, TS_PROBES
}

// Kernel returns the module of a selection from the first builder that has it. The error is a
// *report.Error where the request is refused or a compiler is missing, a *report.KernelError where the
// source does not compile, or ctx's.
func (s *Builder) Kernel(ctx context.Context, sel *configs.Selection, o Options) (*Build, error) {
	o.Builder = cmp.Or(o.Builder, "auto")
	return s.builds.Get(ctx, s.key(ctx, sel, o), func() (*Build, error) { return s.fresh(ctx, sel, o) })
}

// Variant compiles a selection with other texts in the place of its source and headers (Selection.Texts), and
// keeps nothing of it. Errors are those of Kernel; PTX has no source, and the embedded archive no such build.
func (s *Builder) Variant(
	ctx context.Context, sel *configs.Selection, texts map[string]string, o Options,
) (*Build, error) {
	if sel.Manifest.PTX != "" {
		return nil, report.Usagef("%s brings PTX, and no source that could be compiled", sel.Manifest.File)
	}
	other := *sel
	other.Texts = texts
	if o.Builder = cmp.Or(o.Builder, "auto"); o.Builder == "embedded" {
		o.Builder = "auto"
	}
	return s.fresh(ctx, &other, o)
}

// Forget removes every build from memory.
func (s *Builder) Forget() { s.builds.Clear() }

func (s *Builder) key(ctx context.Context, sel *configs.Selection, o Options) string {
	return fmt.Sprintf("%q", []any{
		sel.Manifest.Name, sel.Manifest.Dir, s.sourceDigest(ctx, sel), Defines(sel, o.Probes), sel.Patches(),
		sel.Compile, o.Builder, o.Arch,
	})
}

// sourceDigest changes with a person's own source, its patches, and the headers in its directory;
// what is embedded does not change.
func (s *Builder) sourceDigest(ctx context.Context, sel *configs.Selection) string {
	m := sel.Manifest
	if m.Dir == "" {
		return ""
	}
	if m.PTX != "" {
		text, err := ReadKernel(ctx, m.SourcePath())
		if err != nil {
			return err.Error() // the build reports it
		}
		return fmt.Sprintf("%x", sha256.Sum256(text))
	}
	src, err := Sources(ctx, sel)
	if err != nil {
		return err.Error()
	}
	b, err := ownBuild(m, src, sel.Compile)
	if err != nil {
		return err.Error()
	}
	var toolkit []string
	if tc, err := s.Toolchain(ctx); err == nil {
		toolkit = tc.IncludeDirs
	}
	return fmt.Sprintf("%x", sha256.Sum256(src.Text)) + cuda.Included(b, toolkit)
}

// Defines lists the definitions that a selection is compiled with, sorted: "NAME=VALUE".
func Defines(sel *configs.Selection, withProbes bool) []string {
	d := slices.Clone(sel.Defines())
	if withProbes {
		d = append(d, "TS_PROBES=1")
	}
	slices.Sort(d)
	return d
}

// Exclusive reports whether code for an architecture runs on no other, not even a later one: sm_90a, sm_100f
// (PTX ISA, ".target").
func Exclusive(arch string) bool { return strings.HasSuffix(arch, "a") || strings.HasSuffix(arch, "f") }

func (s *Builder) fresh(ctx context.Context, sel *configs.Selection, o Options) (*Build, error) {
	builder, arch := o.Builder, o.Arch
	if !slices.Contains(builders, builder) {
		return nil, report.Usagef("--builder %s: expected %s", builder, strings.Join(builders, ", "))
	}
	if err := checkArch(arch); err != nil {
		return nil, err
	}
	m := sel.Manifest
	native := cmp.Or(m.Compile.Arch, defaultArch)
	if Exclusive(native) && arch != "" && arch != native {
		return nil, report.Usagef("--arch %s: %s is written for %s, whose instructions no other architecture has",
			arch, m.Name, native)
	}
	src, err := Sources(ctx, sel)
	if err != nil {
		return nil, err
	}
	if m.PTX != "" {
		return readPTX(ctx, m.SourcePath())
	}
	key := kernels.Key{Kernel: m.Name, Defines: Defines(sel, o.Probes), Faults: sel.Planted()}
	embeddable := m.Dir == "" && (arch == "" || arch == native) && sel.Texts == nil
	if embeddable && (builder == "auto" || builder == "embedded") {
		entry, ok, err := kernels.Find(key)
		if err != nil {
			return nil, fmt.Errorf("embedded PTX archive: %w", err)
		}
		if ok {
			b, err := parse(ctx, entry.Name, entry.PTX, "embedded")
			if err != nil {
				return nil, err
			}
			b.Compiler, b.Options, b.Headers, b.Patched = entry.Compiler, entry.Options,
				embeddedHeaders(src, key.Defines), src.Changed
			return b, nil
		}
	}
	if builder == "embedded" {
		return nil, report.Unavailablef(
			"%s is not in the embedded archive; use --builder nvrtc, or a combination that is (tilescope kernels)",
			key)
	}
	return s.compile(ctx, sel, src, key, builder, cmp.Or(arch, native))
}

// Prebuilt reports whether the embedded archive has what a run of a selection executes, so that no compiler
// is needed: of a kernel with stages the build with probes.
func Prebuilt(sel *configs.Selection) (bool, error) {
	if sel.Manifest.Dir != "" || sel.Texts != nil {
		return false, nil
	}
	_, ok, err := kernels.Find(kernels.Key{
		Kernel: sel.Manifest.Name, Defines: Defines(sel, len(sel.Manifest.Stages) > 0), Faults: sel.Planted(),
	})
	return ok, err
}

// checkArch refuses what is not the name of an architecture.
func checkArch(arch string) error {
	if err := configs.CheckValue("arch", arch); err != nil {
		return report.Usagef("--arch %s: expected %s", arch, configs.Expected("arch"))
	}
	return nil
}

// compiler is what NVRTC and nvcc have in common.
type compiler interface {
	Compile(context.Context, cuda.Build) (*cuda.PTX, error)
}

// compile builds a manifest's source with the compiler asked for.
func (s *Builder) compile(
	ctx context.Context, sel *configs.Selection, src *SourceSet, key kernels.Key, builder, arch string,
) (*Build, error) {
	out, err := s.compileSelection(ctx, sel, src, key, builder, arch)
	switch none := (*noCompilerError)(nil); {
	case !errors.As(err, &none):
		return out, err
	case sel.Manifest.Dir == "":
		return nil, report.Unavailablef(
			"%s is not in the embedded archive and cannot be built: %w (%s)", key, none, howToInstall)
	}
	return nil, report.Unavailablef("%s cannot be built: %w (%s)", key, err, howToInstall)
}

func (s *Builder) compileSelection(
	ctx context.Context, sel *configs.Selection, src *SourceSet, key kernels.Key, builder, arch string,
) (*Build, error) {
	m := sel.Manifest
	if m.Dir == "" {
		b := cuda.Build{
			Name: sourceName(m), Source: string(src.Text), Headers: src.headers(),
			Include: sel.Compile.Include, Std: sel.Compile.Std,
		}
		b.Defines, b.Arch = key.Defines, arch
		name, c, err := s.compiler(ctx, builder)
		if err != nil {
			return nil, err
		}
		return compileWith(ctx, c, name, b, src, key.String()+".ptx")
	}
	b, err := ownBuild(m, src, sel.Compile)
	if err != nil {
		return nil, err
	}
	b.Defines, b.Arch = key.Defines, arch
	return s.compileOwn(ctx, builder, b, src, sel.Compile.Instantiate, sourceName(m)+".ptx")
}

// compileWith compiles a source and parses its PTX. builder is c's name, ptxName what errors call the PTX.
func compileWith(
	ctx context.Context, c compiler, builder string, source cuda.Build, src *SourceSet, ptxName string,
) (*Build, error) {
	out, err := c.Compile(ctx, source)
	if err != nil {
		return nil, compileError(err)
	}
	b, err := parse(ctx, ptxName, []byte(out.Text), builder)
	if err != nil {
		return nil, err
	}
	b.Compiler, b.Options, b.Headers, b.Patched = out.Compiler, source.Standard(), out.Headers, src.Changed
	b.keepTexts(ctx, source.Name, src)
	return b, nil
}

// compiler returns the compiler of an embedded source, and the builder's name: auto is NVRTC where it
// is there, else nvcc.
func (s *Builder) compiler(ctx context.Context, builder string) (string, compiler, error) {
	tc, terr := (*cuda.Toolchain)(nil), error(nil)
	if builder != "nvcc" {
		if tc, terr = s.Toolchain(ctx); terr == nil {
			return "nvrtc", tc, nil
		}
	}
	if builder != "nvrtc" {
		n, err := cuda.FindNVCC(ctx, s.tools.config)
		if err == nil {
			return "nvcc", n, nil
		}
		terr = cmp.Or(terr, err)
	}
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	return "", nil, &noCompilerError{terr}
}

func readPTX(ctx context.Context, path string) (*Build, error) {
	text, err := ReadKernel(ctx, path)
	if err != nil {
		return nil, report.Usagef("read the manifest's ptx: %w", err)
	}
	return parse(ctx, path, text, "none")
}

// parse parses and validates PTX: what is malformed is a failed run (exit 4), located.
func parse(ctx context.Context, name string, text []byte, builder string) (*Build, error) {
	m, err := ptx.ParseContext(ctx, name, text)
	if err == nil {
		err = ptx.ValidateContext(ctx, m)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, LoadError(err, text)
	}
	return &Build{Module: m, Text: text, Builder: builder}, nil
}
