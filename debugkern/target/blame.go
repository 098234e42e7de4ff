package target

import (
	"path/filepath"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Blame is the place in the CUDA source that body index i of f is blamed on: the caller's line, where the
// code was inlined from a library (IsLibrary), else the innermost line with its call sites. Where there are
// no debug lines it is the place in the PTX.
func Blame(f *ptx.Func, i int) *Source {
	if n := len(f.Body); n > 0 {
		if l := f.Source(min(i, n-1), IsLibrary); l != nil {
			return SourceAt(f, l)
		}
	}
	pos := f.End
	if i < len(f.Body) {
		pos = f.Body[i].Pos
	}
	return &Source{File: pos.File, Line: pos.Line, Function: f.Demangled}
}

// SourceAt is a place of f's debug lines, with its call sites.
func SourceAt(f *ptx.Func, l *ptx.Loc) *Source {
	name := l.Func
	if name == "" {
		name = f.Demangled
	}
	return &Source{File: l.Name, Line: l.Line, Function: name, Calls: callsOf(f, l)}
}

// IsLibrary says which files blame passes through to their caller.
func IsLibrary(file string) bool {
	if strings.HasSuffix(file, ".py") {
		return strings.Contains("/"+filepath.ToSlash(file), "/triton/language/")
	}
	if i := strings.LastIndexAny(file, `/\`); i >= 0 {
		file = file[i+1:]
	}
	switch {
	case file == probes.HeaderName, strings.HasPrefix(file, "tilescope_"), // stand-ins of headers
		strings.HasPrefix(file, "cuda_"), strings.HasPrefix(file, "mma.h"),
		strings.HasPrefix(file, "sm_"), strings.HasSuffix(file, "_functions.hpp"),
		strings.HasSuffix(file, "_functions.h"),
		strings.HasPrefix(file, "device_"), strings.HasPrefix(file, "pipeline"):
		return true
	}
	return false
}

// IsProbe says which file holds the probes, whose accesses and synchronisations are never a kernel's own.
func IsProbe(file string) bool { return strings.HasSuffix(file, probes.HeaderName) }
