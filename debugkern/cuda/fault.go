package cuda

import (
	"context"
	"errors"
	"fmt"

	"tilescope/debugkern/target"
)

// faults says in words what a sticky error of the device means, and sorts it.
var faults = map[int]struct{ kind, words string }{
	cuIllegalAddress: {"illegal-address", "access to an illegal address"},
	cuLaunchTimeout:  {"timeout", "the system's display watchdog ended the kernel"},
	cuAssert:         {"assert", "a device assertion failed"},
	cuHardwareStack:  {"illegal-instruction", "the call stack is corrupt"},
	cuIllegalInstr:   {"illegal-instruction", "an illegal instruction"},
	cuMisaligned:     {"misaligned", "a misaligned access"},
	cuAddressSpace:   {"illegal-address", "an access to the wrong address space"},
	cuInvalidPC:      {"illegal-instruction", "the program counter left the program"},
	cuLaunchFailed:   {"trap", "the kernel trapped"},
}

// showWhere is how every fault ends: the GPU reports neither line nor lane.
const showWhere = "the GPU does not say where: the emulator can (--backend emu)"

// launchError makes a fault of whatever ended launch n. Cancellation stays what it is, and so does a worker
// that somebody killed: the launch is tried once more.
func (k *kernel) launchError(err error, l *target.Launch, n, of int) error {
	if ctxErr(err) {
		return err
	}
	name := fmt.Sprintf("kernel %s", k.entry.Name)
	if l.Label != "" {
		name += " (" + l.Label + ")"
	}
	var remote *remoteError
	var silent *errSilent
	var died *errDied
	f := &fault{cause: err}
	switch {
	case errors.As(err, &remote) && remote.Launch > 0 && remote.Fatal:
		f.Kind = "trap"
		words := "the device failed"
		if known, ok := faults[remote.Code]; ok {
			f.Kind, words = known.kind, known.words
		}
		f.Msg = fmt.Sprintf("%s, launch %d of %d: %s (%s: error %d, %s); %s", name, remote.Launch, of, words,
			remote.Call, remote.Code, remote.Name, showWhere)
	case errors.As(err, &silent):
		f.Kind = "timeout"
		f.Msg = fmt.Sprintf(
			"%s, launch %d of %d: no end within the time limit of %s, so its worker was killed; %s", name,
			min(n, of), of, silent.limit, showWhere)
	case errors.As(err, &died):
		f.Kind = "died"
		f.Msg = fmt.Sprintf("%s, launch %d of %d: %s; %s", name, min(n, of), of, died, showWhere)
	default:
		return fmt.Errorf("launch %s: %w", k.entry.Name, err)
	}
	return f
}

// loadError names the module. A worker lost while the driver compiled is a fault like any other.
func (k *kernel) loadError(err error) error {
	if ctxErr(err) {
		return err
	}
	var remote *remoteError
	var silent *errSilent
	var died *errDied
	switch {
	case errors.As(err, &remote) && remote.Log != "" && !remote.Fatal:
		jit := &JITError{
			Err: &Error{remote.Call, remote.Code, remote.Name}, Log: remote.Log, Line: remote.Line,
			Text: remote.Text,
		}
		return &hostError{fmt.Errorf("load %s: %w", k.name, jit)} // the worker is as good as before
	case errors.As(err, &silent):
		return &fault{
			cause: err, Fault: target.Fault{
				Kind: "timeout", Msg: fmt.Sprintf("load %s: the driver did not finish: %s", k.name, silent),
			},
		}
	case errors.As(err, &died):
		return &fault{
			cause: err, Fault: target.Fault{Kind: "died", Msg: fmt.Sprintf("load %s: %s", k.name, died)},
		}
	}
	return fmt.Errorf("load %s: %w", k.name, err)
}

func ctxErr(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// fault is a *target.Fault that remembers what it was made of.
type fault struct {
	target.Fault
	cause error
}

func (f *fault) Error() string { return f.Msg }

// Unwrap returns the fault as a *target.Fault, and its cause.
func (f *fault) Unwrap() []error { return []error{&f.Fault, f.cause} }
