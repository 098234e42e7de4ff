//go:build unix

package attack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"testing"

	"github.com/creack/pty"
)

// TestTerminalIsAskedNothing runs commands that fail, and help, in a terminal that answers no question. They
// print their text and end: a question for the terminal's colours waits seconds for an answer, in which
// Ctrl-C is a character and no signal.
func TestTerminalIsAskedNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"usage", 2, []string{"run", "--nosuch"}},
		{"no such target", 2, []string{"run", "nosuch"}},
		{"help", 0, []string{"--help"}},
		{"help of a command", 0, []string{"help", "run"}},
		{"diverges", 1, []string{"run", "stage2", "--fault", "p-stale-m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := newBox(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), defaultTime)
			defer cancel()
			cmd := b.command(ctx, []string{"TERM=xterm-256color"}, c.args...)
			tty, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			var text bytes.Buffer
			_, _ = io.Copy(&text, tty) // ends with EIO when the program ends
			err = cmd.Wait()
			var ended *exec.ExitError
			if err != nil && !errors.As(err, &ended) || cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("%v, want exit code %d", err, c.code)
			}
			if text.Len() == 0 || bytes.Contains(text.Bytes(), []byte("\x1b]")) {
				t.Errorf("printed %q, want text and no question", text.String())
			}
		})
	}
}
