package dl

import (
	"runtime"
	"unsafe"
)

// Pin returns the address of b's first byte, for an argument that C expects as a number: an option's value, a
// pointer inside an array. The bytes stay where they are until release is called. An empty b has address 0.
func Pin(b []byte) (addr uintptr, release func()) {
	if len(b) == 0 {
		return 0, func() {}
	}
	p := new(runtime.Pinner)
	p.Pin(&b[0])
	return uintptr(unsafe.Pointer(&b[0])), p.Unpin
}

// String copies the zero-terminated C string at addr: what a function has written through a
// char**. Address 0 is "".
func String(addr uintptr) string {
	if addr == 0 {
		return ""
	}
	// foreign memory: the collector does not know it, and need not
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
