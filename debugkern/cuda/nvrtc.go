package cuda

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"

	"tilescope/debugkern/cuda/internal/dl"
)

// nvrtc is NVRTC's C interface. Its functions are safe to call from several threads at once, each
// on its own program.
type nvrtc struct {
	path         string
	major, minor int32
	apart        *compilers // processes that have it open; nil: it is open in this one

	version     func(major, minor *int32) int32
	errorString func(code int32) string
	create      func(prog *uintptr, src, name string, n int32, headers, includeNames []*byte) int32
	compile     func(prog uintptr, n int32, options []*byte) int32
	destroy     func(prog *uintptr) int32
	logSize     func(prog uintptr, n *uint) int32
	log         func(prog uintptr, text []byte) int32
	ptxSize     func(prog uintptr, n *uint) int32
	ptx         func(prog uintptr, text []byte) int32
}

// openNVRTC loads the library and asks for its version, which proves that it is one.
func openNVRTC(path string) (*nvrtc, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	n := &nvrtc{path: path}
	for _, f := range []struct {
		fn   any
		name string
	}{
		{&n.version, "nvrtcVersion"}, {&n.errorString, "nvrtcGetErrorString"},
		{&n.create, "nvrtcCreateProgram"}, {&n.compile, "nvrtcCompileProgram"},
		{&n.destroy, "nvrtcDestroyProgram"}, {&n.logSize, "nvrtcGetProgramLogSize"},
		{&n.log, "nvrtcGetProgramLog"}, {&n.ptxSize, "nvrtcGetPTXSize"}, {&n.ptx, "nvrtcGetPTX"},
	} {
		if err := lib.Bind(f.fn, f.name); err != nil {
			return nil, err
		}
	}
	if err := n.check("nvrtcVersion", n.version(&n.major, &n.minor)); err != nil {
		return nil, err
	}
	if !n.atLeast(11, 8) {
		return nil, fmt.Errorf("%s: NVRTC %d.%d: 11.8 or newer is needed", path, n.major, n.minor)
	}
	n.loadBuiltins()
	return n, nil
}

func (n *nvrtc) atLeast(major, minor int32) bool {
	return n.major > major || n.major == major && n.minor >= minor
}

// loadBuiltins opens the library that NVRTC opens by its bare name when it first compiles. Where the loader
// would not find it (a wheel's folder is not on its path, and not every NVRTC looks beside itself) the name
// resolves to the one that is loaded. What goes wrong here NVRTC says itself, if it minds.
func (n *nvrtc) loadBuiltins() {
	dir := filepath.Dir(n.path)
	if dir == "." || runtime.GOOS == "windows" {
		return
	}
	path := filepath.Join(dir, fmt.Sprintf("libnvrtc-builtins.so.%d.%d", n.major, n.minor))
	if isFile(path) {
		_, _ = dl.Open(path)
	}
}

// end ends the processes that have the library open.
func (n *nvrtc) end() {
	if n.apart != nil {
		_ = n.apart.close() // nothing was compiled
	}
}

// hasPCH reports precompiled headers: NVRTC 12.8 brought them.
func (n *nvrtc) hasPCH() bool { return n.atLeast(12, 8) }

// Error is a CUDA library call that failed.
type Error struct {
	Call string // "nvrtcCompileProgram"
	Code int
	Name string // "NVRTC_ERROR_INVALID_OPTION"
}

func (e *Error) Error() string { return fmt.Sprintf("%s: error %d (%s)", e.Call, e.Code, e.Name) }

func (n *nvrtc) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return &Error{Call: call, Code: int(code), Name: n.errorString(code)}
}

// nvrtcCompilation is NVRTC_ERROR_COMPILATION: the source is wrong, and the log says where.
const nvrtcCompilation = 6

// build compiles one program. Where the source is wrong, err is the call's *Error and log says why.
func (n *nvrtc) build(
	name, source string, headers map[string]string, options []string,
) (text, log string, err error) {
	var texts, names []*byte
	for _, h := range sortedKeys(headers) {
		names, texts = append(names, cstring(h)), append(texts, cstring(headers[h]))
	}
	var prog uintptr
	err = n.check("nvrtcCreateProgram", n.create(&prog, source, name, int32(len(names)), texts, names))
	runtime.KeepAlive(texts)
	runtime.KeepAlive(names)
	if err != nil {
		return "", "", err
	}
	defer n.destroy(&prog)
	opts := make([]*byte, len(options))
	for i, o := range options {
		opts[i] = cstring(o)
	}
	failed := n.check("nvrtcCompileProgram", n.compile(prog, int32(len(opts)), opts))
	runtime.KeepAlive(opts)
	if log, err = n.text("nvrtcGetProgramLog", prog, n.logSize, n.log); err != nil {
		return "", "", err
	}
	if failed != nil {
		return "", log, failed
	}
	text, err = n.text("nvrtcGetPTX", prog, n.ptxSize, n.ptx)
	return text, log, err
}

// text fetches one of a program's strings: its size with the terminating zero first, then the bytes.
func (n *nvrtc) text(
	call string, prog uintptr, size func(uintptr, *uint) int32, get func(uintptr, []byte) int32,
) (string, error) {
	var length uint
	if err := n.check(call+"Size", size(prog, &length)); err != nil {
		return "", err
	}
	if length == 0 {
		return "", nil
	}
	buf := make([]byte, length)
	if err := n.check(call, get(prog, buf)); err != nil {
		return "", err
	}
	return string(bytes.TrimRight(buf, "\x00")), nil
}

// cstring returns the first byte of a zero-terminated copy.
func cstring(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
