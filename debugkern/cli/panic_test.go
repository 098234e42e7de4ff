package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/file"
	"tilescope/debugkern/join"
)

// plantedBug panics: its name is looked for in the stack.
func plantedBug() { panic("BUG: planted") }

// TestPanicOfAGoroutine panics in a goroutine below a command: exit 70 and one line, with the goroutine's own
// stack only where it is asked for, and no temporary file left.
func TestPanicOfAGoroutine(t *testing.T) {
	for _, trace := range []string{"", "1"} {
		t.Run("trace="+trace, func(t *testing.T) {
			t.Setenv("TILESCOPE_TRACE", trace)
			dir, files := t.TempDir(), file.New()
			var stdout, stderr bytes.Buffer
			code := Main(t.Context(), Program{
				Version: "test", Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: files,
				OpenTerminal: func(context.Context, Terminal) error {
					if _, err := files.Create(filepath.Join(dir, "state.json"), 0o600); err != nil {
						t.Error(err)
					}
					join.Run(plantedBug).Wait()
					return nil
				},
			})
			line, rest, _ := strings.Cut(stderr.String(), "\n")
			if code != exitInternal || !strings.Contains(line, "BUG: planted") ||
				!strings.Contains(line, "please report it") || stdout.Len() > 0 {
				t.Errorf("exit %d, standard output %q, standard error %q", code, stdout.String(),
					stderr.String())
			}
			if got := strings.Contains(rest, "plantedBug"); got != (trace != "") ||
				trace == "" && rest != "" {
				t.Errorf("after the first line: %q", rest)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v left, %v", left, err)
			}
		})
	}
}
