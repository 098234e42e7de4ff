package cli

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/file"
)

// cancelledCommands are every command, each with work that takes long enough to be cancelled somewhere.
func cancelledCommands(dir string) map[string][]string {
	kernel := filepath.Join(dir, "kernel.ptx")
	return map[string][]string{
		"run": {"run", "stage2", "--dump", filepath.Join(dir, "tiles.npz")},
		"run, inputs": {"run", "stage2", "--shape", "1,4,60000,64", "--blocks", "0,0,0", "--tiles", "0",
			"--stages", "O"},
		"run, output": {"run", "stage2", "--shape", "mission", "--json"},
		"diagnose": {"diagnose", "stage3b-reported", "--shape", "small", "--html",
			filepath.Join(dir, "d.html"), "--sarif", filepath.Join(dir, "d.sarif")},
		"gates": {"gates", "stage2", "--shapes", "small", "--out", filepath.Join(dir, "gates")},
		"sweep": {"sweep", "stage2", "--shapes", "small", "--seeds", "0-9", "--backend", "emu", "--out",
			filepath.Join(dir, "sweep")},
		"compare": {"compare", "stage1", "stage2"},
		"bisect":  {"bisect", "stage2", "stage2", "--fault", "kt-ld", "--fault", "quant-127.5"},
		"init":    {"init", kernel, "--out", filepath.Join(dir, "kernel.yaml")},
		"lut":     {"lut", "--kind", "acc"},
		"kernels": {"kernels"},
		"doctor":  {"doctor"},
		"config":  {"config", "show"},
		"version": {"version"},
		"man":     {"man"},
	}
}

// longKernel is PTX of n instructions: some time to read.
func longKernel(n int) string {
	var b strings.Builder
	b.WriteString(
		".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, 0;\n")
	b.WriteString(strings.Repeat("\tadd.u32 %r2, %r1, %r1;\n", n))
	b.WriteString("\tst.global.u32 [%rd1], %r2;\n\tret;\n}\n")
	return b.String()
}

// soon is what a command may take to end on a machine with other work to do; on an idle one it
// takes under 100 ms.
const soon = 5 * time.Second

// TestCancelAnywhere cancels every command at random moments of its work: it ends soon with 130, or with
// its own code where it had finished, and leaves neither temporary files nor goroutines. The log has how
// long they took to end.
func TestCancelAnywhere(t *testing.T) {
	moments := 6
	if os.Getenv("TILESCOPE_LONG") != "" {
		moments = 40
	}
	var took []time.Duration
	for name, args := range cancelledCommands("") {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "kernel.ptx"), []byte(longKernel(100_000)),
				0o600); err != nil {
				t.Fatal(err)
			}
			args = cancelledCommands(dir)[name]
			before := runtime.NumGoroutine()
			r := rand.New(rand.NewPCG(11, uint64(len(name))))
			cancelled := 0
			span := 20 * time.Millisecond
			for i := range moments {
				after := time.Duration(r.Float64() * float64(span))
				code, late, ended, stderr := cancelledAfter(t, args, after)
				if code == ExitCancelled {
					cancelled++
					took = append(took, late)
					span = min(span*3/2, 600*time.Millisecond) // later moments of commands that take long
				}
				if code != ExitCancelled && code != exitOK && code != exitDiverged && code != exitUsage ||
					late > soon {
					t.Errorf("moment %d, after %s: exit %d %s later\n%s", i, after, code, late, stderr)
				}
				if !ended {
					span = min(span, after+after/2+time.Millisecond) // it had finished: earlier moments
				}
				_ = os.Remove(filepath.Join(dir, "kernel.yaml"))
			}
			noneLeft(t, dir, before)
			t.Logf("%d of %d cancelled", cancelled, moments)
		})
	}
	slices.Sort(took)
	if n := len(took); n < 5*moments {
		t.Errorf("only %d commands were cancelled", n)
	} else {
		t.Logf("%d cancelled commands ended after a median of %s, at most %s", n, took[n/2], took[n-1])
	}
}

// cancelledAfter runs a command, cancels it, and returns its exit code, how long it went on, and whether it
// was still at work then.
func cancelledAfter(
	t *testing.T, args []string, after time.Duration,
) (code int, late time.Duration, working bool, text string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stdout, stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- Main(ctx, Program{
			Version: "test", Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			Files: file.New(),
		})
	}()
	select {
	case code := <-ended:
		return code, 0, false, stderr.String()
	case <-time.After(after):
	}
	start := time.Now()
	cancel()
	select {
	case code = <-ended:
	case <-time.After(4 * soon):
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		t.Fatalf("%v, cancelled after %s, does not end:\n%s", args, after, stacks.String())
	}
	return code, time.Since(start), true, stderr.String()
}

// noneLeft fails where a temporary file, or a goroutine of a command, is left.
func noneLeft(t *testing.T, dir string, before int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(soon); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, stacks.String())
	}
}

// TestTimeoutCoversTheCommand gives commands a limit that ends in their inputs, in an experiment, or in one
// of several runs: exit 4 with the limit in the message, soon.
func TestTimeoutCoversTheCommand(t *testing.T) {
	for name, args := range map[string][]string{
		"run": {"run", "stage2", "--shape", "1,4,60000,64", "--blocks", "0,0,0", "--tiles", "0",
			"--stages", "O"},
		"diagnose": {"diagnose", "stage3b-reported", "--shape", "mission"},
		"gates":    {"gates", "stage2", "--shapes", "mission", "--out", filepath.Join(t.TempDir(), "gates")},
		"compare":  {"compare", "stage1", "stage2", "--shape", "long"},
		"bisect": {"bisect", "stage2", "stage2", "--shape", "mission", "--fault", "kt-ld", "--fault",
			"quant-127.5"},
	} {
		t.Run(name, func(t *testing.T) {
			const limit = 200 * time.Millisecond
			var stdout, stderr bytes.Buffer
			start := time.Now()
			code := Main(t.Context(), Program{
				Version: "test", Args: append(args, "--timeout", limit.String()),
				Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			})
			if took := time.Since(start); code != 4 || took > limit+soon {
				t.Errorf("exit %d after %s", code, took)
			}
			if want := fmt.Sprintf("no result within the time limit of %s",
				limit); !strings.Contains(stderr.String(), want) {
				t.Errorf("standard error %q does not say %q", stderr.String(), want)
			}
		})
	}
}
