package cuda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Build is one compilation: a source text and how it is to be compiled.
type Build struct {
	Name    string            // as the compiler names the source in errors and debug lines
	Source  string            // CUDA C++, device code only
	Headers map[string]string // includes handed over as text, by the name the source includes them by
	Defines []string          // "NAME=VALUE" or "NAME"
	Arch    string            // "sm_80" or "compute_80"; PTX is for compute_80 either way
	Options []string          // added after the standard ones
	Include []string          // searched before the toolchain's own directories
}

// PTX is a successful compilation.
type PTX struct {
	Text     string // paths in .file relative: "mma.hpp" is "cuda_runtime/mma.hpp", headers given as text keep their name
	Log      string // warnings
	Compiler string // "NVRTC 12.0.140"
	Cached   bool   `json:"-"` // it came from the cache: nothing was compiled
}

// Options returns what every build is compiled with, for an architecture: debug lines, no contraction of mul and add
// (probes must not change what a kernel computes), C++17.
func Options(arch string) []string {
	return []string{"-arch=" + strings.Replace(arch, "sm_", "compute_", 1), "-std=c++17", "-lineinfo", "-fmad=false"}
}

// Compile builds PTX with NVRTC. A source that does not compile is a *CompileError. The compiler cannot be interrupted:
// when ctx ends first, Compile returns its error at once and the result is dropped.
func (t *Toolchain) Compile(ctx context.Context, b Build) (*PTX, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type outcome struct {
		ptx *PTX
		err error
	}
	key := t.key(b)
	if p := cachedPTX(t.cache, key); p != nil {
		return p, nil
	}
	done := make(chan outcome, 1) // buffered: the compiler's goroutine ends whether or not anybody still waits
	go func() {
		p, err := t.compile(b)
		if err == nil {
			keepPTX(t.cache, key, p)
		}
		done <- outcome{p, err}
	}()
	select {
	case o := <-done:
		return o.ptx, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// options are all that a build is compiled with.
func (t *Toolchain) options(b Build) []string {
	options := append(Options(b.Arch), b.Options...)
	options = append(options, "--pre-include="+preInclude)
	for _, dir := range append(slices.Clone(b.Include), t.IncludeDirs...) {
		options = append(options, "--include-path="+dir)
	}
	for _, d := range b.Defines {
		options = append(options, "--define-macro="+d)
	}
	return options
}

func (t *Toolchain) compile(b Build) (*PTX, error) {
	headers, options := withStandins(b), t.options(b)
	pch, done := t.precompiled.options(t.lib, b.Source, options)
	text, log, err := t.lib.build(b.Name, b.Source, headers, append(pch, options...))
	done()
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == nvrtcCompilation {
		return nil, &CompileError{Name: b.Name, Diagnostics: diagnostics(log, t.paths(b), b.lines()), Log: log}
	}
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w%s", b.Name, err, indent(log))
	}
	return &PTX{Text: settle(text, t.paths(b)), Log: log, Compiler: t.Compiler()}, nil
}

func indent(log string) string {
	if log = strings.TrimSpace(log); log == "" {
		return ""
	}
	return ": " + strings.ReplaceAll(log, "\n", "; ")
}

var fileDirective = regexp.MustCompile(`(?m)^(\s*\.file\s+\d+\s+")([^"]*)(")`)

// callNumber is NVRTC's count of calls, which goes on from one compilation of a process to the next.
var callNumber = regexp.MustCompile(`(?m) // callseq \d+(, \d+)?$`)

// settle makes PTX depend on the source alone: the paths of .file directives become relative, so that it does not matter
// where it was built, and calls lose their number, so that it does not matter what was built before.
func settle(text string, p paths) string {
	text = callNumber.ReplaceAllString(text, "")
	return fileDirective.ReplaceAllStringFunc(text, func(d string) string {
		m := fileDirective.FindStringSubmatch(d)
		return m[1] + p.relative(m[2]) + m[3]
	})
}

// paths are the directories that names of files are told without.
type paths struct {
	toolkit []string // include directories of the toolkit
	own     []string // where a build's own files are
}

func (t *Toolchain) paths(b Build) paths { return paths{t.IncludeDirs, b.Include} }

// relative shortens the path of a toolkit header to its part below the include directory, named for what it belongs to, and
// that of a build's own file to its part below the directory it was found in. NVRTC puts the working directory before a
// source's name and before headers given as text.
func (p paths) relative(path string) string {
	slashed := filepath.ToSlash(path)
	for _, dir := range p.toolkit {
		if rest, ok := strings.CutPrefix(slashed, filepath.ToSlash(dir)+"/"); ok {
			owner := filepath.Base(filepath.Dir(dir))
			if owner != "cuda_nvcc" {
				owner = "cuda_runtime"
			}
			return owner + "/" + rest
		}
	}
	own := p.own
	if cwd, err := filepath.Abs("."); err == nil {
		own = append(slices.Clone(own), cwd)
	}
	for _, dir := range own {
		if rest, ok := strings.CutPrefix(slashed, filepath.ToSlash(dir)+"/"); ok {
			return rest
		}
	}
	return path
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
