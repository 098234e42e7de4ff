package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// asked skips a test that compiles tilescope anew unless it is requested.
func asked(t *testing.T) {
	t.Helper()
	if os.Getenv("TILESCOPE_DIST") == "" {
		t.Skip("compiles tilescope: TILESCOPE_DIST is not set (make test-dist)")
	}
}

// ran is the standard output of a command.
func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	var problem bytes.Buffer
	c := exec.Command(name, args...)
	c.Stderr = &problem
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, problem.String())
	}
	return string(out)
}

// ownPlatforms are this machine's, with telemetry where cgo is there.
func ownPlatforms(t *testing.T) []string {
	t.Helper()
	own := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if runtime.GOOS == "linux" && strings.TrimSpace(ran(t, "go", "env", "CGO_ENABLED")) == "1" {
		own = append(own, own[0]+"+nvml")
	}
	return own
}

var checkLine = regexp.MustCompile("(?m)^\\$ (tilescope check .+?)(?: \\| grep -E '(.+)')?\n((?s:.+?))\n```")

// TestWheel installs each wheel of this machine into a fresh environment, without a network: the command
// prints what README says, the module works, and finds the command.
func TestWheel(t *testing.T) {
	asked(t)
	t.Chdir(root)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := checkLine.FindStringSubmatch(string(readme))
	if line == nil {
		t.Fatal("README.md has no check with what it prints")
	}
	dir := t.TempDir()
	if err := run(t.Context(), append([]string{"-wheels", "-out", dir}, ownPlatforms(t)...)); err != nil {
		t.Fatal(err)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != len(ownPlatforms(t)) {
		t.Fatalf("wheels %q, %v", wheels, err)
	}
	for _, wheel := range wheels {
		t.Run(filepath.Base(wheel), func(t *testing.T) {
			env := filepath.Join(t.TempDir(), "env")
			ran(t, "python3", "-m", "venv", env)
			bin := filepath.Join(env, "bin")
			python := filepath.Join(bin, "python")
			ran(t, python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check",
				wheel)
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			printed := ran(t, "sh", "-c", line[1])
			keep := regexp.MustCompile(line[2])
			var lines []string
			for l := range strings.Lines(printed) {
				if keep.MatchString(l) {
					lines = append(lines, strings.TrimRight(l, "\n"))
				}
			}
			if got := strings.Join(lines, "\n"); got != line[3] {
				t.Errorf("%s\nprints:\n%s\nREADME says:\n%s", line[1], got, line[3])
			}
			command := filepath.Join(bin, "tilescope")
			found := ran(t, python, "-c",
				"import tilescope; print(tilescope.executable(), tilescope.bundle.__name__)")
			if want := command + " bundle\n"; found != want {
				t.Errorf("the module finds %q, expected %q", found, want)
			}
			one, other := ran(t, python, "-m", "tilescope", "version"), ran(t, command, "version")
			if one != other {
				t.Errorf("python -m tilescope is %q, the command %q", one, other)
			}
			if _, err := os.Stat(filepath.Join(env, "share", "man", "man1", "tilescope.1")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSameBytes builds this machine's platform from two clones of the last commit, in folders of other names,
// the second with an empty cache of compiled packages: every file is the same.
func TestSameBytes(t *testing.T) {
	asked(t)
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	own := ownPlatforms(t)
	var sums []string
	for i, name := range []string{"one", "another-place"} {
		dir := filepath.Join(t.TempDir(), name)
		ran(t, "git", "clone", "--quiet", "--no-tags", repository, dir)
		c := exec.Command("go", "run", "./debugkern/cli/internal/dist", "-version", "1", own[len(own)-1])
		c.Dir = dir
		if i > 0 {
			c.Env = append(os.Environ(), "GOCACHE="+filepath.Join(t.TempDir(), "cache"))
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "dist", sumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 3 {
		t.Errorf("first:\n%ssecond:\n%s", sums[0], sums[1])
	}
	t.Logf("twice:\n%s", sums[0])
}
