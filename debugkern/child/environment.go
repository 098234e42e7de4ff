package child

import (
	"slices"
	"strings"
)

// compilerVariables are the environment variables that a compiler's process gets, where a name that ends in *
// stands for all that begin so: what is found by them (libraries, the host's compiler, places for temporary
// files), the language of messages, and what the compilers themselves read.
var compilerVariables = []string{
	"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "LANG", "LC_*", "LD_LIBRARY_PATH", "DYLD_*", "CC", "CXX",
	"CPATH", "C_INCLUDE_PATH",
	"CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "INCLUDE", "LIB", "LIBPATH",
	"VCINSTALLDIR", "VCTOOLSINSTALLDIR",
	"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "PROGRAMFILES*", "CUDA*", "NVCC*", "NVRTC*", "NVVM*",
	"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "TILESCOPE_TRACE",
}

// programVariables are what a program of the user's gets besides: where an interpreter finds its libraries,
// and how many threads these use.
var programVariables = []string{
	"PYTHON*", "VIRTUAL_ENV", "CONDA_PREFIX", "USER", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	"XDG_CACHE_HOME", "OMP_NUM_THREADS",
	"MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "JULIA_*", "R_HOME", "R_LIBS*",
}

// CompilerEnvironment returns of an environment (NAME=VALUE) what a compiler needs; never nil, which would be
// all of it. A source can make its compiler print its own environment (#include "/proc/self/environ"), which
// is where CI stores passwords.
func CompilerEnvironment(environment []string) []string {
	return only(environment, compilerVariables)
}

// ProgramEnvironment returns of an environment what a program of the user's needs: CompilerEnvironment, and
// what interpreters read.
func ProgramEnvironment(environment []string) []string {
	return only(environment, slices.Concat(compilerVariables, programVariables))
}

func only(environment, patterns []string) []string {
	out := []string{}
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		if slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) }) {
			out = append(out, v)
		}
	}
	return out
}

func matches(pattern, name string) bool {
	name = strings.ToUpper(name) // names on Windows have no case
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}
