// Package child runs programs that do not belong to tilescope: compilers, tools, and what a manifest names.
//
// The one idea: such a program gets no more than it needs and leaves nothing behind. Its environment is
// chosen, it has a process group of its own, which ends with the context, and what it prints is read to the
// end and bounded.
//
// It must not know what a program computes, or whether it may be run.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Command is a program to run to its end.
type Command struct {
	Dir  string   // working directory; a program named by a relative path is relative to it
	Argv []string // the program, looked for along PATH where it is a bare name, and its arguments
	// Printed is called with each line that the program prints, on standard output or error, without its end;
	// nil: with none. Long lines are cut, and after maxForwarded bytes no more are given. It is called from
	// one goroutine at a time.
	Printed func(line string)
	// MaxFile is how many bytes a file that it writes may have; 0: any number. It is enforced on Linux alone.
	MaxFile int64
}

// Limits of what is forwarded of a program's output.
const (
	maxLine      = 400      // bytes of a line
	maxForwarded = 64 << 10 // bytes in all
	maxTail      = 4 << 10  // bytes remembered for an error
	grace        = time.Second
)

// NotStarted is a program that could not be started.
type NotStarted struct{ Err error }

func (e *NotStarted) Error() string { return "it cannot be started: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *NotStarted) Unwrap() error { return e.Err }

// Failed is a program that ended other than with exit status 0.
type Failed struct {
	State string // "exit status 1", "signal: segmentation fault"
	Last  string // the last line that it printed, "" for none
}

func (e *Failed) Error() string {
	if e.Last == "" {
		return "it ended with " + e.State + " and printed nothing"
	}
	return fmt.Sprintf("it ended with %s: %s", e.State, e.Last)
}

// Run runs a program with the environment of ProgramEnvironment and no input. It returns when the program has
// ended and everything that it started in its group is killed, also where ctx ends first; the error is then
// ctx's cause. Other errors are *NotStarted and *Failed.
func Run(ctx context.Context, c Command) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	out := &lines{said: c.Printed}
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, ProgramEnvironment(os.Environ()), grace
	cmd.Stdout, cmd.Stderr = out, out
	OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return &NotStarted{err}
	}
	if c.MaxFile > 0 {
		limitFiles(cmd.Process.Pid, c.MaxFile)
	}
	err := cmd.Wait()
	_ = killGroup(cmd) // what it has left in the background
	out.end()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay): // it has ended, and what it started has not closed its output
		return nil
	case err != nil:
		return &Failed{State: cmd.ProcessState.String(), Last: out.last()}
	}
	return nil
}

// lines forwards what is written, line by line, and remembers the end.
type lines struct {
	said func(string)

	mu        sync.Mutex
	line      []byte // begun
	cut       bool   // the line is longer
	forwarded int
	tail      []byte
}

// Write implements io.Writer; it never fails.
func (w *lines) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(b)
	w.tail = append(w.tail, b[max(0, len(b)-maxTail):]...)
	w.tail = w.tail[max(0, len(w.tail)-maxTail):]
	for {
		i := bytes.IndexAny(b, "\n\r")
		if i < 0 {
			w.add(b)
			return n, nil
		}
		w.add(b[:i])
		w.flush()
		b = b[i+1:]
	}
}

func (w *lines) add(b []byte) {
	room := max(0, maxLine-len(w.line))
	w.cut = w.cut || len(b) > room
	w.line = append(w.line, b[:min(len(b), room)]...)
}

func (w *lines) flush() {
	text := strings.TrimRight(strings.ToValidUTF8(string(w.line), "\ufffd"), " \t")
	if w.cut {
		text += " …"
	}
	w.line, w.cut = w.line[:0], false
	if text == "" || w.said == nil || w.forwarded > maxForwarded {
		return
	}
	if w.forwarded += len(text); w.forwarded > maxForwarded {
		text = "(what else it prints is not shown)"
	}
	w.said(text)
}

// end forwards a line that was not ended.
func (w *lines) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
}

// last is the last line that is not empty.
func (w *lines) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.FieldsFunc(strings.ToValidUTF8(string(w.tail), "\ufffd"),
		func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(all) - 1; i >= 0; i-- {
		if text := strings.TrimSpace(all[i]); text != "" {
			return text[:min(len(text), maxLine)]
		}
	}
	return ""
}
