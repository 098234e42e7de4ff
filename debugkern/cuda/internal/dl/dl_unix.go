//go:build (linux || darwin) && (amd64 || arm64) && !nogpu

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// open keeps the library's symbols to itself: two CUDA versions may be loaded side by side. It stays on one
// thread, since the loader keeps the reason of a failure by thread (dlerror).
func open(path string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }

func bind(fptr any, sym uintptr) { purego.RegisterFunc(fptr, sym) }
