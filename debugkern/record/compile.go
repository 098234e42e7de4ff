package record

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"tilescope/debugkern/child"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trust"
)

//go:embed injected/shim.c
var shim []byte

// compile compiles the library with the cc that PATH has.
func compile(ctx context.Context, policy *trust.Policy, to string) error {
	if runtime.GOOS != "linux" {
		return report.Unavailablef("record works on Linux: CUDA has no injection on %s", runtime.GOOS)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return report.Unavailablef("record compiles a C file, and PATH has no cc: %w", err)
	}
	if err := policy.Allow(ctx, trust.Environment, filepath.Dir(cc), cc); err != nil {
		return report.Unavailablef("%w", err)
	}
	source := to + ".c"
	if err := os.WriteFile(source, shim, 0o600); err != nil {
		return err
	}
	argv := []string{
		cc, "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-o", to, source, "-ldl", "-lpthread",
	}
	if err := child.Run(ctx, child.Command{Dir: filepath.Dir(to), Argv: argv}); err != nil {
		if errors.Is(err, context.Cause(ctx)) && ctx.Err() != nil {
			return err
		}
		return report.Unavailablef("compile the library that is injected: %s: %w", cc, err)
	}
	return nil
}

// cuptiPlaces are where CUPTI is installed: with Python's packages of CUDA, next to the program's
// interpreter, and with a toolkit.
var cuptiPlaces = []string{
	"${prefix}/lib/python3*/site-packages/nvidia/*/lib/libcupti.so.*",
	"${CUDA_HOME}/extras/CUPTI/lib64/libcupti.so.*", "${CUDA_HOME}/targets/*/lib/libcupti.so.*",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.*", "/usr/local/cuda/targets/*/lib/libcupti.so.*",
	"/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so.*", "/usr/local/cuda-*/targets/*/lib/libcupti.so.*",
}

// cuptiPaths lists the libraries to try for a program, then the names that the loader may find.
func cuptiPaths(program string) []string {
	places := map[string]string{
		"prefix": filepath.Dir(filepath.Dir(program)), "CUDA_HOME": os.Getenv("CUDA_HOME"),
	}
	var out []string
	for _, place := range cuptiPlaces {
		known := true
		pattern := os.Expand(place, func(name string) string {
			known = known && places[name] != ""
			return places[name]
		})
		if !known {
			continue
		}
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue // a folder whose name is no pattern
		}
		for _, path := range found {
			if !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return append(out, "libcupti.so.13", "libcupti.so.12", "libcupti.so")
}
