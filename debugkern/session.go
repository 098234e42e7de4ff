// Package debugkern is the debugger: a Session opens a kernel, runs it, compares every stage with the reference, and says
// which went wrong. Terminal and command line call nothing else.
//
// The one idea: a Run is a value. It holds the captured tiles, the references and the verdicts of one execution, is
// immutable once returned, and answers every later question (a tile's error, a cell's writer) by looking or by executing
// one block again; nothing has to be kept alive for it.
//
// It must not know screens, arguments or exit codes of its own beyond Report.ExitCode.
package debugkern

import (
	"fmt"
	"time"

	"tilescope/probes"
)

// Request says what to run: the options of the command line, parsed but not yet checked against a manifest.
type Request struct {
	Target   string // a catalogue name or the path of a manifest
	Shape    string // a name or "B,H,S,D"; "" is validation
	Seed     uint64
	Set      map[string]string // FLAG → VALUE
	Faults   []string
	Gate     probes.Gate
	Inject   string // "reference" (default) or "uniform"
	Backend  string // auto, emu, cuda, both
	Builder  string // auto, embedded, nvrtc, nvcc
	Arch     string
	Inputs   string // path of an .npz, "" for seeded normal data
	Timeout  time.Duration
	Device   int
	Repeat   int
	Schedule string // POLICY:SEED
	Blocks   string // X,Y,Z, each a number, A-B or *; "" all
	Tiles    string // A-B; "" all
	Stages   string // comma-separated; "" all
	Plain    bool   // also run the build without probes and compare O
}

// Progress is told as a run goes on. Done of Total units of Phase are finished; Total 0 means unknown.
type Progress struct {
	Phase       string // "resolve", "inputs", "build", "load", "run", "compare", "explain"
	Detail      string // which builder, which block, which stage
	Done, Total int
}

// Code sorts the errors that stop a run before it has a verdict; its values are the contract's exit codes.
type Code int

const (
	CodeUsage       Code = 2 // bad input: nothing was run
	CodeUnavailable Code = 3 // the backend or compiler asked for is not there
	CodeFailed      Code = 4 // the kernel did not build, load or run
	CodeInternal    Code = 70
)

// Error carries an exit code with the error. Report is the document of a failed run, where there is one.
type Error struct {
	Code   Code
	Err    error
	Report *Report
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// usage makes a CodeUsage error.
func usage(format string, args ...any) error {
	return &Error{Code: CodeUsage, Err: fmt.Errorf(format, args...)}
}
