package cuda

import (
	"slices"
	"strings"
)

// compilerVariables are the environment variables that a compiler's process gets, where a name that ends in * stands for all
// that begin so: what is found by them (libraries, the host's compiler, places for temporary files), the language of messages, and
// what the compilers themselves read.
var compilerVariables = []string{
	"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "LANG", "LC_*", "LD_LIBRARY_PATH", "DYLD_*", "CC", "CXX", "CPATH", "C_INCLUDE_PATH",
	"CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "INCLUDE", "LIB", "LIBPATH", "VCINSTALLDIR", "VCTOOLSINSTALLDIR",
	"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "PROGRAMFILES*", "CUDA*", "NVCC*", "NVRTC*", "NVVM*",
	"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "TILESCOPE_TRACE",
}

// compilerEnvironment keeps of an environment (NAME=VALUE) what a compiler needs. A source can make its compiler print its own
// environment (#include "/proc/self/environ"), which is where CI keeps passwords.
func compilerEnvironment(environment []string) []string {
	kept := []string{} // not nil, which would be all of it
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		if slices.ContainsFunc(compilerVariables, func(pattern string) bool { return matchesVariable(pattern, name) }) {
			kept = append(kept, v)
		}
	}
	return kept
}

func matchesVariable(pattern, name string) bool {
	name = strings.ToUpper(name) // Windows does not tell case
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}
