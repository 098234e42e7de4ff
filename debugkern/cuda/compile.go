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
	for _, dir := range append(slices.Clone(b.Include), t.IncludeDirs...) {
		options = append(options, "--include-path="+dir)
	}
	for _, d := range b.Defines {
		options = append(options, "--define-macro="+d)
	}
	return options
}

func (t *Toolchain) compile(b Build) (*PTX, error) {
	text, log, err := t.lib.build(b.Name, b.Source, b.Headers, t.options(b))
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == nvrtcCompilation {
		return nil, &CompileError{Name: b.Name, Diagnostics: t.diagnostics(log), Log: log}
	}
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w%s", b.Name, err, indent(log))
	}
	return &PTX{Text: t.settle(text), Log: log, Compiler: t.Compiler()}, nil
}

func indent(log string) string {
	if log = strings.TrimSpace(log); log == "" {
		return ""
	}
	return ": " + strings.ReplaceAll(log, "\n", "; ")
}

// Diagnostic is one line of a compiler's complaint.
type Diagnostic struct {
	File      string
	Line, Col int    // from 1; Col 0 where the compiler gives none (NVRTC does not)
	Severity  string // "error", "catastrophic error", "warning"
	Msg       string
}

func (d Diagnostic) String() string {
	if d.File == "" {
		return d.Severity + ": " + d.Msg
	}
	pos := fmt.Sprintf("%s:%d", d.File, d.Line)
	if d.Col > 0 {
		pos += ":" + strconv.Itoa(d.Col)
	}
	return pos + ": " + d.Msg
}

// CompileError is a source that does not compile; Diagnostics holds the errors before the warnings, in source order.
type CompileError struct {
	Name        string
	Diagnostics []Diagnostic
	Log         string // the compiler's own words
}

func (e *CompileError) Error() string {
	if len(e.Diagnostics) == 0 {
		return "compile " + e.Name + ": the compiler gave no reason" + indent(e.Log)
	}
	msg := e.Diagnostics[0].String()
	if n := e.errors(); n > 1 {
		msg += fmt.Sprintf(" (and %d more errors)", n-1)
	}
	return msg
}

func (e *CompileError) errors() int {
	n := 0
	for _, d := range e.Diagnostics {
		if d.Severity != "warning" {
			n++
		}
	}
	return n
}

// NVRTC writes `file(line): error: message`, a warning's number between, and may continue the message on indented lines.
var diagnosticLine = regexp.MustCompile(`^(?:(.+)\((\d+)\): |nvrtc: )?(catastrophic error|error|warning)(?: #\S+)?: (.*)$`)

// diagnostics reads the compiler's log, errors first.
func (t *Toolchain) diagnostics(log string) []Diagnostic {
	var errs, warnings []Diagnostic
	for line := range strings.Lines(log) {
		m := diagnosticLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2]) // absent: 0
		d := Diagnostic{File: t.relative(m[1]), Line: n, Severity: m[3], Msg: m[4]}
		if d.Severity == "warning" {
			warnings = append(warnings, d)
		} else {
			errs = append(errs, d)
		}
	}
	return append(errs, warnings...)
}

var fileDirective = regexp.MustCompile(`(?m)^(\s*\.file\s+\d+\s+")([^"]*)(")`)

// callNumber is NVRTC's count of calls, which goes on from one compilation of a process to the next.
var callNumber = regexp.MustCompile(`(?m) // callseq \d+(, \d+)?$`)

// settle makes PTX depend on the source alone: the paths of .file directives become relative, so that it does not matter
// where it was built, and calls lose their number, so that it does not matter what was built before.
func (t *Toolchain) settle(text string) string {
	text = callNumber.ReplaceAllString(text, "")
	return fileDirective.ReplaceAllStringFunc(text, func(d string) string {
		m := fileDirective.FindStringSubmatch(d)
		return m[1] + t.relative(m[2]) + m[3]
	})
}

// relative shortens the path of a toolkit header to its part below the include directory, named for what it belongs to.
// NVRTC puts the working directory before a source's name and before headers given as text.
func (t *Toolchain) relative(path string) string {
	slashed := filepath.ToSlash(path)
	for _, dir := range t.IncludeDirs {
		if rest, ok := strings.CutPrefix(slashed, filepath.ToSlash(dir)+"/"); ok {
			owner := filepath.Base(filepath.Dir(dir))
			if owner != "cuda_nvcc" {
				owner = "cuda_runtime"
			}
			return owner + "/" + rest
		}
	}
	if cwd, err := filepath.Abs("."); err == nil {
		if rest, ok := strings.CutPrefix(slashed, filepath.ToSlash(cwd)+"/"); ok {
			return rest
		}
	}
	return path
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
