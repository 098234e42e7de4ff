package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// example is a repository of kernels in docs/ci: its files, and a change that breaks it.
type example struct {
	name     string
	from, to string // what the change replaces
	file     string
	says     string
	trust    string
}

var examples = []example{
	{
		name: "cuda", file: "row_sum.cu", from: "        __syncthreads();\n", to: "",
		says: "missing: __syncthreads()",
	},
	{
		name: "triton", file: "add.py", from: ", mask=inside)\n", to: ")\n",
		says: "out-of-bounds", trust: ".",
	},
}

// askedCI returns the built program of a test that executes the examples of docs/ci.md as a runner does:
// requested, because it takes Triton and pre-commit on PATH.
func askedCI(t *testing.T) string {
	t.Helper()
	program := os.Getenv("TILESCOPE_BIN")
	if os.Getenv("TILESCOPE_CI") == "" || program == "" {
		t.Skip("needs Triton, pre-commit and the built program: TILESCOPE_CI is not set (make test-ci)")
	}
	return program
}

// files reads the example, as it is and with its change.
func (x *example) files(t *testing.T) (before, after map[string]string) {
	t.Helper()
	before, after = map[string]string{}, map[string]string{}
	dir := filepath.Join("..", "..", "docs", "ci", x.name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		before[e.Name()] = string(text)
	}
	broken := strings.Replace(before[x.file], x.from, x.to, 1)
	if broken == before[x.file] {
		t.Fatalf("%s has no %q", x.file, x.from)
	}
	after[x.file] = broken
	return before, after
}

// TestActionOnExamples: the action on each example, as it is and with its change, in less than a minute.
func TestActionOnExamples(t *testing.T) {
	program := askedCI(t)
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			before, after := x.files(t)
			r := newRunner(t, "", before)
			inputs := map[string]string{"program": program, "base": "all", "trust": x.trust}
			begun := time.Now()
			if out, code := r.act(inputs); code != 0 {
				t.Errorf("as it is: exit %d\n%s", code, out)
			}
			t.Logf("as it is: %.1f s", time.Since(begun).Seconds())
			r.commit(after)
			inputs["base"] = ""
			begun = time.Now()
			out, code := r.act(inputs)
			if code != 1 || !strings.Contains(out, x.says) {
				t.Errorf("broken: exit %d\n%s", code, out)
			}
			took := time.Since(begun)
			t.Logf("broken: %.1f s", took.Seconds())
			if took > time.Minute {
				t.Errorf("it takes %s", took)
			}
		})
	}
}

// TestHooksOnExamples: the hooks of .pre-commit-hooks.yaml on each example, as pre-commit installs (once) and
// calls them, of the last commit.
func TestHooksOnExamples(t *testing.T) {
	askedCI(t)
	if _, err := exec.LookPath("pre-commit"); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	head, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PRE_COMMIT_HOME", t.TempDir())
	config := fmt.Sprintf("repos:\n  - repo: %s\n    rev: %s\n"+
		"    hooks: [{id: tilescope-check}, {id: tilescope-gates}]\n", root, bytes.TrimSpace(head))
	for i, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			before, after := x.files(t)
			r := newRunner(t, "", before)
			r.commit(map[string]string{".pre-commit-config.yaml": config})
			if x.trust != "" {
				r.command("sh", "-c", "tilescope trust "+x.trust)
			}
			if i == 0 {
				begun := time.Now()
				r.command("pre-commit", "install-hooks")
				t.Logf("built: %.1f s", time.Since(begun).Seconds())
			}
			for _, files := range []map[string]string{before, after} {
				r.commit(files)
				begun := time.Now()
				out, code := r.run("pre-commit", "run", "--all-files", "--verbose")
				t.Logf("%.1f s", time.Since(begun).Seconds())
				if broken := files[x.file] != before[x.file]; broken != (code == 1) ||
					broken && !strings.Contains(out, x.says) {
					t.Errorf("exit %d\n%s", code, out)
				}
			}
		})
	}
}
