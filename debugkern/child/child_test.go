//go:build unix

package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, script string) Command {
	t.Helper()
	return Command{Dir: t.TempDir(), Argv: []string{"sh", "-c", script}}
}

// TestRun: lines of both outputs, the working directory, the environment, and how a program ended.
func TestRun(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "hunter2")
	c := shell(t, `pwd > where; echo one; printf 'two\rthree' >&2; echo; env | grep -c hunter2`)
	var printed []string
	c.Printed = func(line string) { printed = append(printed, line) }
	err := Run(t.Context(), c)
	where, _ := os.ReadFile(filepath.Join(c.Dir, "where"))
	var failed *Failed
	if !errors.As(err, &failed) || failed.State != "exit status 1" ||
		failed.Last != "0" { // what grep found none of
		t.Errorf("%v", err)
	}
	if got := strings.Join(printed, "|"); got != "one|two|three|0" {
		t.Errorf("printed %q", got)
	}
	if real, _ := filepath.EvalSymlinks(c.Dir); strings.TrimSpace(string(where)) != real {
		t.Errorf("ran in %s, want %s", where, real)
	}
	for script, want := range map[string]string{
		"exit 0": "", "exit 3": "it ended with exit status 3 and printed nothing",
		"echo why >&2; kill -SEGV $$": "signal: segmentation fault",
	} {
		c.Argv[2], c.Printed = script, nil
		if err := Run(t.Context(), c); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	for _, argv := range [][]string{{"nosuchprogram"}, {"./nosuch"}, {c.Dir}} {
		var not *NotStarted
		if err := Run(t.Context(), Command{Dir: c.Dir, Argv: argv}); !errors.As(err, &not) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

// TestRunRelativeProgram: a program named by a path is found from its working directory, wherever the parent
// stands.
func TestRunRelativeProgram(t *testing.T) {
	c := shell(t, "")
	if err := os.WriteFile(filepath.Join(c.Dir, "own"), []byte("#!/bin/sh\n: > mark\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.Argv = []string{"./own"}
	if err := Run(t.Context(), c); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "mark")); err != nil {
		t.Error(err)
	}
}

// TestFlood: what a program prints is read to the end and bounded.
func TestFlood(t *testing.T) {
	c := shell(t, `yes 0123456789 | head -c 3000000; printf '%01000d\n' 7; printf '\377\376'; exit 1`)
	bytes, last := 0, ""
	c.Printed = func(line string) { bytes, last = bytes+len(line), line }
	err := Run(t.Context(), c)
	if bytes > 2*maxForwarded || !strings.Contains(last, "not shown") {
		t.Errorf("%d bytes were forwarded, the last line %q", bytes, last)
	}
	if err == nil || !strings.HasSuffix(err.Error(), "\ufffd") {
		t.Errorf("%v", err)
	}
	c = shell(t, `printf '%01000d\n' 7`)
	c.Printed = func(line string) { last = line }
	if err := Run(t.Context(), c); err != nil || len(last) > maxLine+8 || !strings.HasSuffix(last, " …") {
		t.Errorf("%d bytes, %v", len(last), err)
	}
}

// TestEnds: a program, and what it has started, ends with the context, and what it leaves in the background
// ends with it.
func TestEnds(t *testing.T) {
	c := shell(t,
		`sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' & echo $! > pid; while [ ! -s child ]; do :; done; echo ready; wait`)
	why := errors.New("the limit")
	ctx, cancel := context.WithCancelCause(t.Context())
	c.Printed = func(string) { cancel(why) }
	if err := Run(ctx, c); err != why {
		t.Errorf("%v", err)
	}
	gone(t, filepath.Join(c.Dir, "child"))
	c = shell(t,
		`sh -c 'echo $$ > child; while :; do sleep 1; done' & while [ ! -s child ]; do :; done; exit 0`)
	start := time.Now()
	if err := Run(t.Context(), c); err != nil || time.Since(start) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	gone(t, filepath.Join(c.Dir, "child"))
	cancel(nil)
	if err := Run(ctx, c); err != why {
		t.Errorf("a context that has ended: %v", err)
	}
}

// gone waits for the end of a process whose number is in a file: a killed process is there until it is
// reaped.
func gone(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	fmt.Sscan(string(text), &pid)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if runtime.GOOS == "linux" && (err != nil || strings.Contains(string(state), ") Z ")) ||
			syscall.Kill(pid, 0) != nil {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("process %d goes on", pid)
}

// TestMaxFile: a file grows to the limit and no further.
func TestMaxFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no limits on " + runtime.GOOS)
	}
	c := shell(t, `while [ "$(ulimit -f)" = unlimited ]; do :; done; head -c 1000000 /dev/zero > big`)
	c.MaxFile = 4096
	err := Run(t.Context(), c)
	info, serr := os.Stat(filepath.Join(c.Dir, "big"))
	if err == nil || serr != nil || info.Size() > 4096 {
		t.Errorf("%v, %v, %+v", err, serr, info)
	}
}
