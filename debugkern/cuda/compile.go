package cuda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/join"
)

// Build is one compilation: a source text and how it is to be compiled.
type Build struct {
	Name   string // as the compiler names the source in errors and debug lines
	Source string // CUDA C++, device code only
	// File: where the source is, absolute: what it includes in quotes is looked for there first;
	// "" for a text alone
	File string
	// Overlay: texts by absolute path that are read in the place of files: File's, and headers'
	// of the build's own
	Overlay map[string]string
	// Headers: an embedded kernel's headers as text, by the name it includes them by: found before every file
	Headers map[string]string
	Builtin map[string]string // headers as text that are looked for last, behind every directory
	Defines []string          // "NAME=VALUE" or "NAME"
	Std     string            // "c++17"; "" is that
	Arch    string            // "sm_80" or "compute_80"; PTX is for compute_80 either way
	Options []string          // added after the standard ones
	Include []string          // absolute directories, searched before the toolchain's own
}

// PTX is a successful compilation.
type PTX struct {
	// Text: paths in .file relative: "mma.hpp" is "cuda_runtime/mma.hpp", headers given as
	// text keep their name
	Text     string
	Log      string // warnings
	Compiler string // "NVRTC 12.0.140"
	// Headers are those that were read, without the toolkit's and the system's. Where a compiler
	// cannot say which (an NVRTC that does not report messages, a name made by a macro) they are all
	// that it may have read.
	Headers []Header
	Cached  bool `json:"-"` // it came from the cache: nothing was compiled
}

// Options returns what every build is compiled with, for an architecture: debug lines, no contraction of mul
// and add (probes must not change what a kernel computes), C++17.
func Options(arch string) []string {
	return []string{
		"-arch=" + strings.Replace(arch, "sm_", "compute_", 1), "-std=" + DefaultStd, "-lineinfo",
		"-fmad=false",
	}
}

// Standard is what a build is compiled with before its own options.
func (b Build) Standard() []string {
	options := Options(b.Arch)
	if i := slices.Index(options, "-std="+DefaultStd); b.Std != "" && i >= 0 {
		options[i] = "-std=" + b.Std
	}
	return append(options, b.Options...)
}

// DefaultStd is the language where a build names none.
const DefaultStd = "c++17"

// Compile builds PTX with NVRTC. A source that does not compile is a *CompileError, one that ends the
// compiler's process a *Crash. When ctx ends first, Compile returns its error at once, and the process is
// killed; a compiler in this process cannot be interrupted, and its result is dropped.
func (t *Toolchain) Compile(ctx context.Context, b Build) (*PTX, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type outcome struct {
		ptx *PTX
		err error
	}
	c := closureOf(b, t.IncludeDirs)
	if err := c.refusal(b); err != nil {
		return nil, err
	}
	if _, err := b.overlaid(c); err != nil {
		return nil, err
	}
	key := t.keyOf(b, c)
	if p := cachedPTX(t.cache, key, b.Overlay); p != nil {
		return p, nil
	}
	task := join.Start(func() outcome {
		p, err := t.compile(ctx, b, c)
		if err == nil {
			keepPTX(t.cache, key, p)
		}
		return outcome{p, err}
	})
	select {
	case <-task.Done():
		o := task.Wait()
		return o.ptx, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// directories are those that a build's headers are looked for in.
func (t *Toolchain) directories(b Build) []string {
	return append(slices.Clone(b.searched()), t.IncludeDirs...)
}

// options are all that a build is compiled with, headers being looked for in dirs.
func (t *Toolchain) options(b Build, dirs []string) []string {
	options := append(b.Standard(), "--pre-include="+preInclude)
	if strings.Contains(b.Source, "__int128") { // nvcc has the type without an option
		options = append(options, "--device-int128")
	}
	for _, dir := range dirs {
		options = append(options, "--include-path="+dir)
	}
	for _, d := range b.Defines {
		options = append(options, "--define-macro="+d)
	}
	return options
}

// compile compiles with copies of the build's own headers, which say which of them are read, and, where that
// goes wrong, once more with the files as they are: an error is then the source's own.
func (t *Toolchain) compile(ctx context.Context, b Build, c closure) (*PTX, error) {
	copies := c.exact && len(c.files) > 0
	p, err := t.compileAs(ctx, b, c, copies)
	changed, _ := b.overlaid(c) // then the files as they are would be another build
	if crash := (*Crash)(nil); err != nil && copies && !changed && ctx.Err() == nil &&
		!errors.As(err, &crash) {
		return t.compileAs(ctx, b, c, false)
	}
	return p, err
}

func (t *Toolchain) compileAs(ctx context.Context, b Build, c closure, copies bool) (*PTX, error) {
	l, err := t.layout(b, c, copies)
	if err != nil {
		return nil, err
	}
	defer l.remove()
	options := t.options(b, slices.Concat(l.before, t.IncludeDirs, l.after))
	lib, release, err := t.borrow(ctx)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", b.Name, err)
	}
	var pch []string
	done := func([]Header) []Header { return nil }
	if l.dir == "" {
		pch, done = lib.pch.options(t.lib, b, options)
	}
	text, log, err := lib.build(ctx, program{l.name, b.Source, l.texts, append(pch, options...)})
	release(err)
	log, read := l.read(log)
	if kept := done(read); len(pch) > 0 {
		read = kept
	}
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == nvrtcCompilation {
		return nil, &CompileError{
			Name: b.Name, Diagnostics: ofArch(diagnostics(log, l.shorten, b.lines()), b.Arch), Log: log,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w%s", b.Name, err, indent(log))
	}
	return &PTX{
		Text: settle(text, l.shorten), Log: log, Compiler: t.Compiler(),
		Headers: l.complete(b, c, read, copies),
	}, nil
}

// compilation is who compiles one program: a process, or the library in this one.
type compilation struct {
	build func(context.Context, program) (text, log string, err error)
	pch   *precompiled
}

// borrow returns who compiles next; release is to be called with the result.
func (t *Toolchain) borrow(ctx context.Context) (c compilation, release func(error), err error) {
	if t.lib.apart == nil {
		return compilation{func(_ context.Context, p program) (string, string, error) {
			return t.lib.build(p.Name, p.Source, p.Headers, p.Options)
		}, t.precompiled}, func(error) {}, nil
	}
	p, err := t.lib.apart.acquire(ctx)
	if err != nil {
		return compilation{}, nil, err
	}
	return compilation{p.build, p.pch}, func(err error) { t.lib.apart.release(p, err) }, nil
}

// complete adds, where NVRTC does not say all, what it may have read: its own words are silent about
// files without a marker.
func (l *nvrtcLayout) complete(b Build, c closure, read []Header, copies bool) []Header {
	silent := !slices.ContainsFunc(read, func(h Header) bool { return h.Path == preInclude })
	if silent {
		read = slices.Clone(l.headers)
	}
	if !copies || silent {
		for _, f := range c.files {
			read = append(read, NewHeader(f.path, f.text, OriginOwn))
		}
	}
	return sortHeaders(slices.Clone(read))
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

// unnamedSpace begins the mangled name of an unnamed namespace, behind the number of its bytes: the source's
// name, a hash of its path and, by NVRTC, a number of the process.
var unnamedSpace = regexp.MustCompile(`[0-9]+_GLOBAL__N__[0-9a-f]{8}_[0-9]+_`)

// unnamed replaces the names of unnamed namespaces that have a number of the process by the one that is
// the same everywhere.
func unnamed(text string) string {
	var b strings.Builder
	for {
		at := unnamedSpace.FindStringIndex(text)
		if at == nil {
			return b.String() + text
		}
		digits := strings.IndexByte(text[at[0]:], '_')
		name, end := text[at[0]+digits:], 0
		for from := range digits { // the number may follow a name that ends with a digit
			n, err := strconv.Atoi(text[at[0]+from : at[0]+digits])
			if err == nil && n <= len(name) && unnamedEnd.MatchString(name[:n]) {
				own := "12_GLOBAL__N_1"
				if numbered := unnamedEnd.FindStringSubmatch(name[:n])[1]; numbered == "" {
					own = text[at[0]+from:at[0]+digits] + name[:n]
				}
				b.WriteString(text[:at[0]+from] + own)
				end = at[0] + digits + n
				break
			}
		}
		if end == 0 {
			end = at[1]
			b.WriteString(text[:end])
		}
		text = text[end:]
	}
}

var unnamedEnd = regexp.MustCompile(`^_GLOBAL__N__[0-9a-f]{8}_[0-9]+_\w+_[0-9a-f]{8}(_[0-9]+)?$`)

// settle makes PTX depend on the source alone: the paths of .file directives become relative, so that it does
// not matter where it was built, calls lose their number, so that it does not matter what was built before,
// and unnamed namespaces their process.
func settle(text string, p paths) string {
	text = unnamed(text)
	text = callNumber.ReplaceAllString(text, "")
	return fileDirective.ReplaceAllStringFunc(text, func(d string) string {
		m := fileDirective.FindStringSubmatch(d)
		return m[1] + p.relative(m[2]) + m[3]
	})
}

// paths are the directories that are left out of reported file names.
type paths struct {
	toolkit []string // include directories of the toolkit
	own     []string // where a build's own files are
	source  []string // where the compiler thinks that the source is; its name is then
	name    string
}

func (t *Toolchain) paths(b Build) paths {
	return paths{toolkit: t.IncludeDirs, own: b.searched(), name: b.Name}
}

// relative shortens the path of a toolkit header to its part below the include directory, named for what it
// belongs to, and that of a build's own file to its part below the directory it was found in. NVRTC puts the
// working directory before a source's name and before headers given as text.
func (p paths) relative(path string) string {
	slashed := filepath.ToSlash(path)
	if slices.Contains(p.source, path) {
		return p.name
	}
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
