//go:build (linux || darwin) && (amd64 || arm64) && !nogpu

package dl

import "github.com/ebitengine/purego"

// open keeps the library's symbols to itself: two CUDA versions may be loaded side by side.
func open(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }

func bind(fptr any, sym uintptr) { purego.RegisterFunc(fptr, sym) }
