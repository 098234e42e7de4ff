package debugkern

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
	Headers  []cuda.Header          // that were read, without the toolkit's and the system's
	Patched  map[string]PatchedText // sources and headers that patches changed, by name: what the debug lines are of
	Outline  *Outline               // of a source of one's own; nil: PTX, or an embedded kernel
}

// builders are the values of --builder.
var builders = []string{"auto", "embedded", "nvrtc", "nvcc"}

// defaultArch is what the embedded archive is built for: every GPU from Ampere up loads it.
const defaultArch = "sm_80"

// build returns the module of a selection, with or without probes, from the first builder that has it.
func (s *Session) build(ctx context.Context, sel *configs.Selection, builder, arch string, instrumented bool) (*Build, error) {
	return s.builds.get(ctx, s.buildKey(ctx, sel, builder, arch, instrumented), func() (*Build, error) {
		return s.buildFresh(ctx, sel, builder, arch, instrumented)
	})
}

func (s *Session) buildKey(ctx context.Context, sel *configs.Selection, builder, arch string, instrumented bool) string {
	return fmt.Sprintf("%q", []any{sel.Manifest.Name, sel.Manifest.Dir, s.sourceDigest(ctx, sel), defines(sel, instrumented), sel.Patches(), sel.Compile, builder, arch})
}

// sourceDigest changes with a person's own source, its patches, and the headers in its directory;
// what is embedded does not change.
func (s *Session) sourceDigest(ctx context.Context, sel *configs.Selection) string {
	m := sel.Manifest
	if m.Dir == "" {
		return ""
	}
	if m.PTX != "" {
		text, err := kernelText(ctx, m.SourcePath())
		if err != nil {
			return err.Error() // the build reports it
		}
		return fmt.Sprintf("%x", sha256.Sum256(text))
	}
	src, err := sourcesOf(ctx, sel)
	if err != nil {
		return err.Error()
	}
	b, err := ownBuild(m, src, sel.Compile)
	if err != nil {
		return err.Error()
	}
	var toolkit []string
	if tc, err := s.toolchain(ctx); err == nil {
		toolkit = tc.IncludeDirs
	}
	return fmt.Sprintf("%x", sha256.Sum256(src.text)) + cuda.Included(b, toolkit)
}

func defines(sel *configs.Selection, instrumented bool) []string {
	d := slices.Clone(sel.Defines())
	if instrumented {
		d = append(d, "TS_PROBES=1")
	}
	slices.Sort(d)
	return d
}

func (s *Session) buildFresh(ctx context.Context, sel *configs.Selection, builder, arch string, instrumented bool) (*Build, error) {
	if builder == "" {
		builder = "auto"
	}
	if !slices.Contains(builders, builder) {
		return nil, report.Usagef("--builder %s: expected %s", builder, strings.Join(builders, ", "))
	}
	if err := checkArch(arch); err != nil {
		return nil, err
	}
	m := sel.Manifest
	src, err := sourcesOf(ctx, sel)
	if err != nil {
		return nil, err
	}
	if m.PTX != "" {
		return buildFromFile(ctx, m.SourcePath())
	}
	key := kernels.Key{Kernel: m.Name, Defines: defines(sel, instrumented), Faults: sel.Planted()}
	if embeddable := m.Dir == "" && (arch == "" || arch == defaultArch); embeddable && (builder == "auto" || builder == "embedded") {
		entry, ok, err := kernels.Find(key)
		if err != nil {
			return nil, fmt.Errorf("embedded PTX archive: %w", err)
		}
		if ok {
			b, err := parseBuild(ctx, entry.Name, entry.PTX, "embedded")
			if err != nil {
				return nil, err
			}
			b.Compiler, b.Options, b.Headers, b.Patched = entry.Compiler, entry.Options, embeddedHeaders(src, key.Defines), src.changed
			return b, nil
		}
	}
	if builder == "embedded" {
		return nil, report.Unavailablef("%s is not in the embedded archive; use --builder nvrtc, or a combination that is (tilescope kernels)", key)
	}
	return s.compile(ctx, sel, src, key, builder, arch)
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
func (s *Session) compile(ctx context.Context, sel *configs.Selection, src *sourceSet, key kernels.Key, builder, arch string) (*Build, error) {
	out, err := s.compileSelection(ctx, sel, src, key, builder, cmp.Or(arch, defaultArch))
	switch none := (*noCompilerError)(nil); {
	case !errors.As(err, &none):
		return out, err
	case sel.Manifest.Dir == "":
		return nil, report.Unavailablef("%s is not in the embedded archive and cannot be built: %w (tilescope doctor says what to install)", key, none.err)
	}
	return nil, report.Unavailablef("%s cannot be built: %w (tilescope doctor says what to install)", key, err)
}

func (s *Session) compileSelection(ctx context.Context, sel *configs.Selection, src *sourceSet, key kernels.Key, builder, arch string) (*Build, error) {
	m := sel.Manifest
	if m.Dir == "" {
		b := cuda.Build{Name: sourceName(m), Source: string(src.text), Headers: src.headers(), Include: sel.Compile.Include, Std: sel.Compile.Std}
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
	return s.compileOwn(ctx, builder, b, src, sel.Compile.Instantiate, key.String()+".ptx")
}

// compileWith compiles a source and parses its PTX. builder is c's name, ptxName what errors call the PTX.
func compileWith(ctx context.Context, c compiler, builder string, source cuda.Build, src *sourceSet, ptxName string) (*Build, error) {
	out, err := c.Compile(ctx, source)
	if err != nil {
		return nil, compileError(err)
	}
	b, err := parseBuild(ctx, ptxName, []byte(out.Text), builder)
	if err != nil {
		return nil, err
	}
	b.Compiler, b.Options, b.Headers, b.Patched = out.Compiler, source.Standard(), out.Headers, src.changed
	return b, nil
}

// compiler returns the compiler of an embedded source, and the builder's name: auto is NVRTC where it is there, else nvcc.
func (s *Session) compiler(ctx context.Context, builder string) (string, compiler, error) {
	tc, terr := (*cuda.Toolchain)(nil), error(nil)
	if builder != "nvcc" {
		if tc, terr = s.toolchain(ctx); terr == nil {
			return "nvrtc", tc, nil
		}
	}
	if builder != "nvrtc" {
		n, err := cuda.FindNVCC(ctx, s.toolchainConfig())
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

func buildFromFile(ctx context.Context, path string) (*Build, error) {
	text, err := kernelText(ctx, path)
	if err != nil {
		return nil, report.Usagef("read the manifest's ptx: %w", err)
	}
	return parseBuild(ctx, path, text, "none")
}

// parseBuild parses and validates PTX: what is malformed is a failed run (exit 4), located.
func parseBuild(ctx context.Context, name string, text []byte, builder string) (*Build, error) {
	m, err := ptx.ParseContext(ctx, name, text)
	if err == nil {
		err = ptx.ValidateContext(ctx, m)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, loadError(err, text)
	}
	return &Build{Module: m, Text: text, Builder: builder}, nil
}
