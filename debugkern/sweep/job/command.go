package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tilescope/debugkern/child"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// CommandError is a scheduler's command that ended other than with exit status 0.
type CommandError struct {
	Name    string
	Printed string // on standard error, else on standard output; in one line
	Err     error
}

func (e *CommandError) Error() string {
	if e.Printed == "" {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return e.Name + ": " + e.Printed
}

// Unwrap returns the error of the process.
func (e *CommandError) Unwrap() error { return e.Err }

const (
	longest  = 2 * time.Minute // of a command
	maxShown = 1000            // bytes of what a failed command printed
)

// Command executes a scheduler's command from the user's PATH with the user's environment and returns what
// it printed on standard output. A command that is not there is a *report.Error with CodeUnavailable,
// another failure a *CommandError. The command is not in the terminal's process group: Ctrl-C does not
// reach it.
func Command(ctx context.Context, stdin, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &report.Error{
			Code: report.CodeUnavailable,
			Err:  fmt.Errorf("%s is not in PATH: this machine cannot submit jobs", name),
		}
	}
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(limited, path, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = strings.NewReader(stdin), &out, &errs, time.Second
	child.OwnGroup(cmd)
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return "", &CommandError{Name: name, Err: fmt.Errorf("no answer in %s", longest)}
	case err != nil:
		printed := strings.TrimSpace(errs.String())
		if printed == "" {
			printed = strings.TrimSpace(out.String())
		}
		printed = text.Line(printed[:min(len(printed), maxShown)])
		return "", &CommandError{Name: name, Printed: printed, Err: err}
	}
	return out.String(), nil
}
