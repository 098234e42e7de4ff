//go:build windows && (amd64 || arm64) && !nogpu

package dl

import (
	"syscall"

	"github.com/ebitengine/purego"
)

func open(path string) (uintptr, error) {
	h, err := syscall.LoadLibrary(path)
	return uintptr(h), err
}

func symbol(handle uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(handle), name)
}

func bind(fptr any, sym uintptr) { purego.RegisterFunc(fptr, sym) }
