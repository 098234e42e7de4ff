// Package kernels holds the CUDA C++ sources of the catalogue and the PTX that NVIDIA's compiler made of them.
//
// The one idea: PTX is data with a proof of origin. Each entry of the archive records a digest of everything that went
// into it (source, headers, options, definitions, compiler), so that a test finds an entry out of date without a compiler.
//
// It must not know manifests, or how PTX is made: internal/ptxgen does that.
package kernels

import (
	"embed"
	"path"
	"slices"
)

//go:embed *.cu *.cuh *.h
var sources embed.FS

// Source returns the text of a source or header by its name ("sdpa_fp8_stage_c_wmma.cu").
func Source(name string) ([]byte, bool) {
	text, err := sources.ReadFile(name)
	return text, err == nil
}

// Headers returns the names of the headers that the sources include, other than the probes' and the compiler's own.
func Headers() []string {
	entries, err := sources.ReadDir(".")
	if err != nil {
		panic("BUG: kernels: " + err.Error())
	}
	var out []string
	for _, e := range entries {
		if ext := path.Ext(e.Name()); ext == ".h" || ext == ".cuh" {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}
