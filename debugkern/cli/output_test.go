package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tilescope/debugkern/file"
)

// TestStandardOutputFull writes every kind of output to a disk that is full: exit 2 and a line
// that says so, never 0.
func TestStandardOutputFull(t *testing.T) {
	for _, args := range [][]string{
		{"run", "stage2", "--shape", "small", "--backend", "emu"},
		{"run", "stage2", "--shape", "small", "--backend", "emu", "--json"}, {"kernels"},
		{"kernels", "--json"}, {"config", "show"}, {"version"}, {"lut"}, {"--help"}, {"completion", "bash"},
		{"man"},
	} {
		for _, room := range []int{0, 10} {
			var errOut bytes.Buffer
			code := Main(context.Background(), Program{
				Version: "test", Args: args, Stdin: strings.NewReader(""),
				Stdout: &full{room: room, err: syscall.ENOSPC}, Stderr: &errOut,
			})
			if code != exitUsage || !strings.Contains(errOut.String(), "no space left") {
				t.Errorf("%q with room for %d bytes: exit %d, %q", args, room, code, errOut.String())
			}
		}
	}
}

// full takes room bytes and then fails.
type full struct {
	room int
	err  error
}

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	f.room -= n
	if n < len(b) {
		return n, f.err
	}
	return n, nil
}

// fileSamples is about how many steps of a command are made to fail; all of them with TILESCOPE_LONG.
const fileSamples = 5

// TestEveryFileStepFails lets each step of writing files fail in turn, for every command that writes: an
// error and its exit code, the old file or the whole new one, and no temporary file left. What a cache cannot
// keep changes no verdict. Without TILESCOPE_LONG (make test-long) fileSamples of a command's steps fail.
func TestEveryFileStepFails(t *testing.T) {
	const old = "what was there before\n"
	page := "<!doctype html>\n<title>tilescope: " + old
	log := `{"driver": {"name": "tilescope"}} ` + old
	member := make([]byte, zipNames)
	copy(member, zipMember)
	member[zipLength] = byte(len("O.npy"))
	dump := string(member) + "O.npy" + old
	for name, c := range map[string]struct {
		args  []string          // with %s for a directory
		files map[string]string // in that directory: replaced as a whole or not at all; what they have before
	}{
		"run --dump": {
			[]string{"run", "stage2", "--shape", "single16", "--backend", "emu", "--dump", "%s/d.npz"},
			map[string]string{"d.npz": dump},
		},
		"diagnose --sarif": {
			[]string{
				"diagnose", "stage2", "--shape", "single16", "--backend", "emu", "--schedules", "1",
				"--sarif", "%s/s", "--html", "%s/h",
			}, map[string]string{"s": log, "h": page},
		},
		"gates --out": {
			[]string{
				"gates", "stage2", "--shape", "single16", "--seed", "0", "--backend", "emu", "--out", "%s/g",
			}, nil,
		},
		"config set": {[]string{"config", "set", "seed", "3"},
			map[string]string{"config/tilescope/config.yaml": "seed: 1\n# " + old}},
		"init --out": {[]string{"init", "%s/k.ptx", "--out", "%s/k.yaml"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(fail func(file.Step, string) error) (dir, errText string, code int) {
				dir = t.TempDir()
				t.Chdir(dir)
				t.Setenv("TILESCOPE_TOOLCHAIN", dir) // no compiler there: gates would spend its time in ptxas
				t.Setenv("PATH", "")
				t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
				t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
				for f, content := range c.files {
					path := filepath.Join(dir, f)
					if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
						os.WriteFile(path, []byte(content), 0o644)); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(dir, "k.ptx"), []byte(smallPTX), 0o644); err != nil {
					t.Fatal(err)
				}
				args := make([]string, len(c.args))
				for i, a := range c.args {
					args[i] = strings.ReplaceAll(a, "%s", dir)
				}
				var errOut bytes.Buffer
				code = Main(context.Background(), Program{
					Version: "test", Args: args, Stdin: strings.NewReader(""), Stdout: io.Discard,
					Stderr: &errOut, Files: file.Failing(fail),
				})
				return dir, errOut.String(), code
			}
			steps := 0
			dir, errText, code := run(func(file.Step, string) error { steps++; return nil })
			if code != 0 || steps == 0 {
				t.Fatalf("without a failure: exit %d, %d steps, %s", code, steps, errText)
			}
			whole := map[string]int{}
			for f := range c.files {
				b, err := os.ReadFile(filepath.Join(dir, f))
				if err != nil {
					t.Fatal(err)
				}
				whole[f] = len(b)
			}
			for n := range steps {
				if !turn(n, max(1, steps/fileSamples)) {
					continue
				}
				at, failed := 0, ""
				dir, errText, code := run(func(step file.Step, path string) error {
					if at++; at-1 == n {
						failed = fmt.Sprint(step, " ", filepath.Base(path))
						return syscall.ENOSPC
					}
					return nil
				})
				if code != exitUsage || !strings.Contains(errText, "no space left") ||
					strings.Contains(errText, "goroutine ") {
					t.Errorf("step %d, %s: exit %d, %q", n, failed, code, errText)
				}
				for f := range c.files {
					if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil ||
						!strings.HasSuffix(string(b), old) && len(b) != whole[f] {
						t.Errorf("step %d, %s: %s is %d bytes, %v", n, failed, f, len(b), err)
					}
				}
				if left := temporaries(t, dir); left != "" {
					t.Errorf("step %d, %s: left %s", n, failed, left)
				}
			}
		})
	}
}

// temporaries lists the temporary files below dir.
func temporaries(t *testing.T, dir string) string {
	t.Helper()
	var left []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(left, " ")
}

// smallPTX is a kernel for a manifest to be written of.
const smallPTX = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
	ret;
}
`
