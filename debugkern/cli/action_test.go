package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is action.yml, as much of it as the tests execute.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, Shell, Run string
			Env              map[string]string
		}
	}
}

// runner stands for the machine that executes an action, in a repository of kernels.
type runner struct {
	t         *testing.T
	dir, temp string
	env       []string
}

// newRunner makes a repository of files. program is what "tilescope" is on PATH; "" is the test's own binary.
func newRunner(t *testing.T, program string, files map[string]string) *runner {
	t.Helper()
	for _, tool := range []string{"git", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on PATH: action.yml cannot be executed", tool)
		}
	}
	r := &runner{t: t, dir: t.TempDir(), temp: t.TempDir()}
	if program == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		program = "#!/bin/sh\n" + asProgram + "=1 exec '" + exe + "' \"$@\"\n"
	}
	bin := filepath.Join(r.temp, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "tilescope"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "RUNNER_TEMP="+r.temp, "GITHUB_BASE_REF=")
	r.command("git", "init", "--quiet")
	r.commit(files)
	return r
}

// commit writes files and commits them.
func (r *runner) commit(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.command("git", "add", "--all")
	r.command("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty",
		"--message", "kernels")
}

func (r *runner) command(argv ...string) string {
	r.t.Helper()
	out, code := r.run(argv...)
	if code != 0 {
		r.t.Fatalf("%s: exit %d: %s", strings.Join(argv, " "), code, out)
	}
	return out
}

// run executes a command in the repository.
func (r *runner) run(argv ...string) (string, int) {
	r.t.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = r.dir, r.env
	out, err := c.CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		r.t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

var expression = regexp.MustCompile(`\$\{\{\s*inputs\.([a-z]+)\s*\}\}`)

// act executes the steps of action.yml with inputs, and returns what they print and the last one's code; each
// step before that has to end with 0.
func (r *runner) act(inputs map[string]string) (string, int) {
	r.t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		r.t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil || len(a.Runs.Steps) < 3 {
		r.t.Fatalf("action.yml: %v, %d steps", err, len(a.Runs.Steps))
	}
	given := r.env
	defer func() { r.env = given }()
	files := map[string]string{}
	for _, name := range []string{"GITHUB_PATH", "GITHUB_ENV", "GITHUB_OUTPUT"} {
		files[name] = filepath.Join(r.temp, name)
		given = append(slices.Clip(given), name+"="+files[name])
	}
	given = append(given, "GITHUB_ACTION_PATH="+root)
	var said strings.Builder
	for i, step := range a.Runs.Steps {
		if step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			r.t.Fatalf("step %s: expected bash, with inputs in its environment alone", step.Name)
		}
		r.env = append(slices.Clip(given), lines(r.t, files["GITHUB_ENV"])...)
		for name, value := range step.Env {
			r.env = append(r.env, name+"="+expression.ReplaceAllStringFunc(value, func(m string) string {
				input := expression.FindStringSubmatch(m)[1]
				if v, ok := inputs[input]; ok {
					return v
				}
				return a.Inputs[input].Default
			}))
		}
		for _, dir := range lines(r.t, files["GITHUB_PATH"]) {
			r.env = append(r.env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
		out, code := r.run("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		said.WriteString(out)
		if i == len(a.Runs.Steps)-1 {
			return said.String(), code
		} else if code != 0 {
			r.t.Fatalf("step %s: exit %d: %s", step.Name, code, out)
		}
	}
	return said.String(), 0
}

// lines are those of a file that may not be there.
func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// statedKernel is a kernel of the check's tests whose text states its launch.
func statedKernel(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(kernelFile(t, name, "// tilescope: --grid 2 --block 256",
		"// tilescope: --arg 0=ones:f32[512] --arg 1=zeros:f32[2] --arg 2=512"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const reduceManifest = `schema: tilescope.kernel/1
name: reduce
ptx: reduce.ptx
entry: reduce
launch: {grid: [2, 1, 1], block: [256, 1, 1]}
args:
  - {name: x, type: "f32*", dims: [512], role: input}
  - {name: out, type: "f32*", dims: [2], role: output}
  - {name: n, type: i32, value: 512}
`

// TestAction: of a change the kernels are checked that it touches and that state their launch, and the
// manifests of those are judged; a change of what all depend on has all of them looked at.
func TestAction(t *testing.T) {
	t.Parallel()
	clean, racy := statedKernel(t, "reduce.ptx"), statedKernel(t, "reduce-race.ptx")
	r := newRunner(t, "", map[string]string{
		"k/reduce.ptx": racy, "k/reduce.yaml": reduceManifest, "k/other one.ptx": racy, "notes.txt": "1",
	})
	r.commit(map[string]string{"k/reduce.ptx": clean, "plain.cu": "// host code\n"})
	out, code := r.act(nil)
	if code != 0 ||
		!strings.Contains(out, "2 files: 1 clean, 0 with errors, 0 not checked, 1 left out") ||
		!strings.Contains(out, "gates: what ran is green; not run: ") || strings.Contains(out, "other one") {
		t.Errorf("a kernel is mended: exit %d\n%s", code, out)
	}
	if results := sarifOf(t, filepath.Join(r.dir, "tilescope-sarif", "gates.sarif")); len(results) != 0 {
		t.Errorf("green gates have results: %+v", results)
	}
	r.commit(map[string]string{"k/reduce.ptx": racy})
	out, code = r.act(map[string]string{"sarif": "logs"})
	if code != 1 || !strings.Contains(out, "missing: __syncthreads()") ||
		!strings.Contains(out, "correctness red") {
		t.Errorf("a kernel is broken: exit %d\n%s", code, out)
	}
	for name, uri := range map[string]string{"check": "k/reduce.cu", "gates": "k/reduce.yaml"} {
		results := sarifOf(t, filepath.Join(r.dir, "logs", name+".sarif"))
		if len(results) == 0 || len(results[0].Fingerprints) != 1 ||
			results[0].Locations[0].Physical.Artifact.URI != uri {
			t.Errorf("%s: %+v, expected a result at %s", name, results, uri)
		}
	}
	r.commit(map[string]string{"common.h": "#pragma once\n"})
	if out, code = r.act(map[string]string{"gates": "none"}); code != 1 ||
		!strings.Contains(out, "k/other one.ptx: reduce grid") || strings.Contains(out, "gates:") {
		t.Errorf("a header changes: exit %d\n%s", code, out)
	}
	r.commit(map[string]string{"notes.txt": "2"})
	if out, code = r.act(nil); code != 0 || !strings.Contains(out, "no kernel has changed") {
		t.Errorf("no kernel changes: exit %d\n%s", code, out)
	}
}
