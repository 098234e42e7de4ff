package report

import (
	"context"
	"errors"
	"fmt"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Code sorts the errors that stop a command before it has a verdict; its values are the
// contract's exit codes.
type Code int

// The exit codes of errors. 0 and 1 are verdicts', see Run.ExitCode.
const (
	CodeUsage       Code = 2 // bad input: nothing was run
	CodeUnavailable Code = 3 // the backend or compiler asked for is not there
	CodeFailed      Code = 4 // the kernel did not build, load or run
	CodeInternal    Code = 70
)

// exitCode is the contract's exit code of a verdict: 0 for the one that is good, 4 for
// Failed, 1 for any other.
func exitCode(verdict, good string) int {
	switch verdict {
	case good:
		return 0
	case Failed:
		return int(CodeFailed)
	}
	return 1
}

// Error carries an exit code with the error. Report is the document of a failed run, where there is one.
type Error struct {
	Code   Code
	Err    error
	Report *Run

	Diagnostics []Diagnostic // of a kernel that did not compile
}

// Error implements error: the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns an *Error with CodeUsage, worded as fmt.Errorf words it.
func Usagef(format string, args ...any) error {
	return &Error{Code: CodeUsage, Err: fmt.Errorf(format, args...)}
}

// Unavailablef returns an *Error with CodeUnavailable, worded as fmt.Errorf words it.
func Unavailablef(format string, args ...any) error {
	return &Error{Code: CodeUnavailable, Err: fmt.Errorf(format, args...)}
}

// KernelError is a kernel that did not build, load, launch or run. Its Failure stands in a document
// whose verdict is Failed.
type KernelError struct {
	Stage  string // as a Failure's
	Err    error
	Source *Source // nil where no place is known

	Diagnostics []Diagnostic // of a compiler or parser
}

// Error implements error: the stage and the text of Err.
func (e *KernelError) Error() string { return e.Stage + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *KernelError) Unwrap() error { return e.Err }

// Failure is why a kernel did not build, load or run.
type Failure struct {
	Stage   string  `json:"stage"` // build, load, launch, run, reference
	Message string  `json:"message"`
	Source  *Source `json:"source"`

	Diagnostics []Diagnostic `json:"diagnostics,omitempty"` // everything that the compiler had to say
}

// Failure returns the error as a document has it: at its own place, or where a parser found it.
func (e *KernelError) Failure() *Failure {
	f := &Failure{Stage: e.Stage, Message: e.Err.Error(), Source: e.Source, Diagnostics: e.Diagnostics}
	var pe *ptx.Error
	if f.Source == nil && errors.As(e.Err, &pe) {
		f.Source = &Source{File: pe.Pos.File, Line: pe.Pos.Line}
	}
	return f
}

// FailureOf returns why a kernel failed, of an error with CodeFailed; nil for any other error.
func FailureOf(err error) *Failure {
	var coded *Error
	var failed *KernelError
	if !errors.As(err, &coded) || coded.Code != CodeFailed || !errors.As(coded.Err, &failed) {
		return nil
	}
	return failed.Failure()
}

// LaunchError returns the error of a launch: a *target.Fault as a *KernelError of stage run, with its place;
// any other error as it is.
func LaunchError(err error) error {
	var f *target.Fault
	if !errors.As(err, &f) {
		return err
	}
	e := &KernelError{Stage: "run", Err: f, Source: SourceOf(f.Source)}
	if f.Kind == "passes" { // the manifest's mistake: nothing is judged
		e.Err = errors.New(f.Msg)
	}
	return e
}

// Unread is the error of a user's file that was not read: a usage error, unless the context ended.
func Unread(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %w", what, err)
	}
	return Usagef("%s %w", what, err)
}
