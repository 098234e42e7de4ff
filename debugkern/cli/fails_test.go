package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/file"
)

// faultyRun is a command in which one operation fails: a step on a file, or a reservation of memory.
type faultyRun struct {
	mu     sync.Mutex
	at     int // the operation to fail, from 1; 0: none
	count  int
	failed string // the operation that failed
	memory bool   // it was a reservation
}

// next counts an operation and reports whether it is the one to fail.
func (f *faultyRun) next(what string, memory bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count != f.at {
		return false
	}
	f.failed, f.memory = what, memory
	return true
}

// run executes a command line and returns what it printed: errors, and notes of it; its exit code, and the
// bytes that stay reserved.
func (f *faultyRun) run(args []string) (errText string, code int, reserved int64) {
	files := file.Failing(func(step file.Step, path string) error {
		if f.next(fmt.Sprint(step, " ", filepath.Base(path)), false) {
			return syscall.EIO
		}
		return nil
	})
	memory := budget.Failing(1<<40, func(part string, _ int64) bool { return f.next(part, true) })
	var out, errOut bytes.Buffer
	code = Main(context.Background(), Program{
		Version: "test", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
		Files: files, Memory: memory,
	})
	memory.Collect()
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "note: ") {
			errOut.WriteString(line)
		}
	}
	return errOut.String(), code, memory.Used()
}

// leaks waits for goroutines and files that a command has left to end, and describes those that stay.
func leaks(goroutines, descriptors int) string {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		g, d := runtime.NumGoroutine(), openFiles()
		switch {
		case g <= goroutines && d <= descriptors:
			return ""
		case time.Now().After(end):
			return fmt.Sprintf("%d goroutines, %d before; %d open files, %d before", g, goroutines,
				d, descriptors)
		}
	}
}

// openFiles counts the open files of this process; 0 where the system does not list them.
func openFiles() int {
	names, _ := os.ReadDir("/proc/self/fd")
	return len(names)
}

// sweepSamples is how many operations of a command are made to fail; all of them with TILESCOPE_LONG.
const sweepSamples = 4

// TestEveryOperationFails lets each file step (reads and openings among them) and each reservation of memory
// of a command fail in turn: exit code 2 or 4 with its reason, no output that is half there, and no
// goroutine, open file, temporary file or reservation left.
func TestEveryOperationFails(t *testing.T) {
	start := t.TempDir()
	inputs := filepath.Join(start, "in.npz")
	if _, errText, code := call(t, "run", "stage2", "--shape", "single16", "--backend", "emu", "--dump",
		inputs); code != 0 {
		t.Fatalf("exit %d, %s", code, errText)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "kernels", "wmma16x16_accum_lut.h"))
	if err != nil {
		t.Fatal(err)
	}
	header := string(text)
	for name, c := range map[string]struct {
		args []string
		out  string // replaced as a whole or not there
		ops  int    // at least
		code int    // where nothing fails
	}{
		"run --inputs --dump": {
			[]string{"run", "stage2", "--inputs", inputs, "--backend", "emu", "--dump", "%s/d.npz"}, "d.npz",
			12, 0,
		},
		"init": {[]string{"init", "%s/k.ptx", "--out", "%s/k.yaml"}, "k.yaml", 6, 0},
		"lut":  {[]string{"lut", "%s/lut.h", "--backend", "emu"}, "", 4, 0},
		"gates": {
			[]string{
				"gates", "stage2", "--shape", "single16", "--seed", "0", "--backend", "emu", "--out", "%s/g",
			}, "", 15, 0,
		},
		"diagnose of a race": {[]string{
			"diagnose", "stage2", "--shape", "single16", "--fault", "sync-s", "--schedules", "5", "--html",
			"%s/d.html", "--sarif", "%s/d.sarif",
		}, "d.html", 60, 1},
		"diagnose of arithmetic": {
			[]string{
				"diagnose", "stage2", "--shape", "single16", "--fault", "scale-twice", "--html", "%s/d.html",
			}, "d.html", 60, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := int64(0)
			one := func(n int) (*faultyRun, string, int) {
				dir := t.TempDir()
				for k, v := range map[string]string{
					"TILESCOPE_TOOLCHAIN": dir, "PATH": "", "XDG_CONFIG_HOME": filepath.Join(dir, "config"),
					"XDG_CACHE_HOME": filepath.Join(dir, "cache"),
				} {
					t.Setenv(k, v)
				}
				for f, text := range map[string]string{"k.ptx": smallPTX, "lut.h": header} {
					if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				args := make([]string, len(c.args))
				for i, a := range c.args {
					args[i] = strings.ReplaceAll(a, "%s", dir)
				}
				f := &faultyRun{at: n}
				goroutines, descriptors := runtime.NumGoroutine(), openFiles()
				errText, code, reserved := f.run(args)
				if left := temporaries(t, dir); left != "" || reserved != 0 {
					t.Errorf("operation %d, %s: %d bytes stay reserved, temporary files left: %q", n,
						f.failed, reserved, left)
				}
				if left := leaks(goroutines, descriptors); left != "" {
					t.Errorf("operation %d, %s: %s", n, f.failed, left)
				}
				if st, err := os.Stat(filepath.Join(dir, c.out)); c.out != "" && n > 0 && err == nil &&
					st.Size() != whole {
					t.Errorf("operation %d, %s: %s has %d of %d bytes", n, f.failed, c.out, st.Size(), whole)
				} else if err == nil {
					whole = st.Size()
				}
				return f, errText, code
			}
			all, errText, code := one(0)
			if code != c.code || all.count < c.ops {
				t.Fatalf("without a failure: exit %d, %d operations, %s", code, all.count, errText)
			}
			step := 1
			if os.Getenv("TILESCOPE_LONG") == "" {
				step = max(1, all.count*oneOf/sweepSamples)
			}
			for n := 1; n <= all.count; n += step {
				f, errText, code := one(n)
				want, says := exitUsage, "input/output error"
				if f.memory {
					want, says = 4, "out of memory: "
				}
				if f.memory && name == "init" { // the manifest is written, but the launch in it not tried
					want, says = 0, "was not executed to its end: launch: out of memory: "
				}
				if f.failed == "" || code != want || !strings.Contains(errText, says) ||
					strings.Contains(errText, "goroutine ") {
					t.Errorf("operation %d, %q: exit %d, want %d, %q", n, f.failed, code, want, errText)
				}
			}
			t.Logf("%d operations, every %d. failed", all.count, step)
		})
	}
}
