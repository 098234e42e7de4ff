package cuda

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"tilescope/debugkern/cuda/internal/dl"
	"tilescope/debugkern/target"
)

// Options of the driver's compiler (CUjit_option).
const (
	jitInfoLog       = 3
	jitInfoLogBytes  = 4
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	jitLogVerbose    = 12
	jitLineInfo      = 13
	jitLogSize       = 64 << 10
)

// Attributes of a function (CUfunction_attribute).
const (
	funcMaxThreads = 0
	funcShared     = 1
	funcLocal      = 3
	funcRegisters  = 4
	funcPTX        = 5
	funcBinary     = 6
	funcDynShared  = 8
	funcAnyCluster = 14 // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
)

// JITError is PTX that the driver's compiler refused.
type JITError struct {
	Err *Error
	Log string // the compiler's words
	// Line is the line of the module as it was handed to the driver, Text what stands there; 0 and "" where
	// the log names none.
	Line int
	Text string
}

func (e *JITError) Error() string {
	s := "driver JIT: " + e.Err.Error()
	if e.Line > 0 {
		s += fmt.Sprintf(": at `%s`", strings.TrimSpace(e.Text))
	}
	if log := strings.TrimSpace(e.Log); log != "" {
		s += ": " + strings.Join(strings.Fields(log), " ")
	}
	return s
}

func (e *JITError) Unwrap() error { return e.Err }

// jitLogs are the two logs of a compilation, as options hold them.
type jitLogs struct {
	info, fail []byte
	options    []int32
	values     []uintptr
	release    []func()
}

// newJITLogs makes room for both; switches are options that are on besides.
func newJITLogs(switches ...int32) *jitLogs {
	l := &jitLogs{info: make([]byte, jitLogSize), fail: make([]byte, jitLogSize)}
	infoAt, releaseInfo := dl.Pin(l.info)
	failAt, releaseFail := dl.Pin(l.fail)
	l.options = []int32{jitInfoLog, jitInfoLogBytes, jitErrorLog, jitErrorLogBytes, jitLogVerbose}
	l.values = []uintptr{infoAt, jitLogSize, failAt, jitLogSize, 1}
	for _, on := range switches {
		l.options, l.values = append(l.options, on), append(l.values, 1)
	}
	l.release = []func(){releaseInfo, releaseFail}
	return l
}

func (l *jitLogs) close() {
	for _, f := range l.release {
		f()
	}
	runtime.KeepAlive(l)
}

// loadModule loads PTX, which the driver compiles, with the module's debug lines in the code: as tools want
// it. Everything else that is done in the context waits for it.
func (d *driver) loadModule(text []byte) (mod uintptr, err error) {
	logs := newJITLogs(jitLineInfo)
	defer logs.close()
	code := d.moduleLoad(&mod, ended(text), uint32(len(logs.options)), logs.options, logs.values)
	if err := d.check("cuModuleLoadDataEx", code); err != nil {
		return 0, newJITError(err, untilZero(logs.fail), text)
	}
	return mod, nil
}

// loadLibrary has the driver compile PTX, whatever else it does meanwhile. log is the compiler's, empty where
// the driver took the code from its own cache. The code is that of a module loaded from the same text.
func (d *driver) loadLibrary(text []byte) (lib uintptr, log string, err error) {
	logs := newJITLogs()
	defer logs.close()
	code := d.libraryLoad(&lib, ended(text), logs.options, logs.values,
		uint32(len(logs.options)), nil, nil, 0)
	if err := d.check("cuLibraryLoadData", code); err != nil {
		return 0, "", newJITError(err, untilZero(logs.fail), text)
	}
	return lib, untilZero(logs.info), nil
}

// entryOf is a kernel of a library, ready to be launched in the context of the calling thread.
func (d *driver) entryOf(lib uintptr, name string) (*loadedKernel, error) {
	return d.loadedEntry(name, func(fn *uintptr) error {
		var kernel uintptr
		if err := d.check("cuLibraryGetKernel", d.libraryKernel(&kernel, lib, name)); err != nil {
			return err
		}
		return d.check("cuKernelGetFunction", d.kernelIn(fn, kernel))
	})
}

// ended is text as C wants it.
func ended(text []byte) []byte { return append(append([]byte(nil), text...), 0) }

var jitLine = regexp.MustCompile(`line (\d+)`)

// newJITError finds the line that the compiler's log speaks of: "ptxas application ptx input,
// line 12; error : …".
func newJITError(err error, log string, image []byte) *JITError {
	out := &JITError{Log: log}
	errors.As(err, &out.Err)
	if m := jitLine.FindStringSubmatch(log); m != nil {
		n := number([]byte(m[1]))
		if lines := strings.Split(string(image), "\n"); n >= 1 && n <= len(lines) {
			out.Line, out.Text = n, lines[n-1]
		}
	}
	return out
}

// attributes reads what the compiler allotted to a function.
func (d *driver) attributes(fn uintptr) (functionInfo, error) {
	var info functionInfo
	for _, a := range []struct {
		to *int
		id int32
	}{
		{&info.Registers, funcRegisters}, {&info.Shared, funcShared}, {&info.Local, funcLocal},
		{&info.MaxThreads, funcMaxThreads}, {&info.Binary, funcBinary},
	} {
		var v int32
		if err := d.check("cuFuncGetAttribute", d.funcAttribute(&v, a.id, fn)); err != nil {
			return info, err
		}
		*a.to = int(v)
	}
	return info, nil
}

// resources compares the loaded function's attributes with the compiler's log. They must agree: a
// disagreement is an error. Where a driver gives no log, spills are known only if there is no
// local memory at all.
func resources(info functionInfo, log, entry, arch string) (*target.Resources, error) {
	r := &target.Resources{
		Registers: info.Registers, SharedBytes: info.Shared, LocalBytes: info.Local, Arch: arch,
	}
	said, err := parseResources([]byte(log), entry, arch)
	if err != nil {
		r.SpillsUnknown = info.Local > 0
		return r, nil
	}
	if said.Registers != info.Registers || said.SharedBytes != info.Shared {
		return nil, fmt.Errorf(
			"%s: the compiler's log says %d registers and %d bytes of shared memory, the loaded function %d and %d",
			entry, said.Registers, said.SharedBytes, info.Registers, info.Shared)
	}
	r.SpillStoreBytes, r.SpillLoadBytes, r.Notes = said.SpillStoreBytes, said.SpillLoadBytes, said.Notes
	return r, nil
}
