// Package kernels holds the CUDA C++ sources of the catalogue and the PTX that NVIDIA's
// compiler made of them.
//
// The one idea: PTX is data with a proof of origin. Each entry of the archive records a digest of everything
// that went into it (source, headers, options, definitions, compiler), so that a test finds an entry out of
// date without a compiler. A planted fault is a patch of the sources (faults/KERNEL/FAULT.patch): the sources
// themselves are the algorithm.
//
// It must not know manifests, or how PTX is made: internal/ptxgen does that.
package kernels

import (
	"embed"
	"fmt"
	"path"
	"slices"

	"tilescope/debugkern/patch"
)

//go:embed *.cu *.cuh *.h faults
var sources embed.FS

// Folder is where the sources and patches are in the repository: what messages and debug lines put
// before their names.
const Folder = "kernels/"

// Source returns the text of a source, header or patch by its name ("sdpa_fp8_stage_c_wmma.cu").
func Source(name string) ([]byte, bool) {
	text, err := sources.ReadFile(name)
	return text, err == nil
}

// Headers returns the names of the headers that the sources include, other than the probes' and
// the compiler's own.
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

// Texts returns what a kernel is compiled from: its source and all headers by name, with the patches
// ("faults/KERNEL/FAULT.patch") applied in order. Patches that cannot be combined are a *patch.Error, which
// names the patch's file and line.
func Texts(source string, patches ...string) (text []byte, headers map[string]string, err error) {
	all := map[string]string{}
	for _, name := range append(Headers(), source) {
		text, ok := Source(name)
		if !ok {
			return nil, nil, fmt.Errorf("there is no source %s%s", Folder, name)
		}
		all[name] = string(text)
	}
	changed, err := Patched(patches...)
	if err != nil {
		return nil, nil, err
	}
	for name, text := range changed {
		if _, ok := all[name]; !ok {
			return nil, nil, fmt.Errorf("%s is not what %s is compiled from", name, source)
		}
		all[name] = text
	}
	text = []byte(all[source])
	delete(all, source)
	return text, all, nil
}

// Patched returns the sources and headers that the patches change ("faults/KERNEL/FAULT.patch"), by name,
// with the patches applied in order. Patches that cannot be combined are a *patch.Error, which names the
// patch's file and line.
func Patched(patches ...string) (map[string]string, error) {
	var list []*patch.Patch
	for _, name := range patches {
		text, ok := Source(name)
		if !ok {
			return nil, fmt.Errorf("there is no patch %s%s", Folder, name)
		}
		p, err := patch.Parse(Folder+name, text)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return patch.Apply(func(name string) (string, error) {
		text, ok := Source(name)
		if !ok {
			return "", fmt.Errorf("there is no such source or header")
		}
		return string(text), nil
	}, list...)
}
