package tui

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// openPython is a terminal that has opened a file of Python, whose kernel compiles as long as its text says
// so.
func openPython(t *testing.T) (k *ownKernel, compiled *int) {
	t.Helper()
	k, compiled = &ownKernel{dir: t.TempDir(), clock: time.Now()}, new(int)
	k.write("add.py", "good\n")
	compile := func() (debugkern.Request, error) {
		*compiled++
		text, err := os.ReadFile(k.path("add.py"))
		if err == nil && strings.HasPrefix(string(text), "bad") {
			err = &report.Error{Code: report.CodeFailed, Err: &report.KernelError{Stage: "build",
				Err:    errors.New("add.py: nope is undefined"),
				Source: &report.Source{File: "add.py", Line: 2}}}
		}
		return debugkern.Request{Target: "stage1"}, err // stands for the bundle
	}
	k.driver = started(t, 120, 40, plainLook, func(o *Options) {
		o.Open = func(context.Context, []string) (Opened, error) {
			req, err := compile()
			return Opened{Request: req, Reopen: func(context.Context) (debugkern.Request, error) {
				return compile()
			}}, err
		}
	})
	k.command("open " + k.path("add.py") + " --entry add --grid 4").hasStatus("opened ")
	k.looks(2)
	return k, compiled
}

// TestAFileOfPython: it is watched, and compiled again when it is saved; the editor opens it, the command
// line names it, and it is offered again. One that does not compile any more stands in the place of the run.
func TestAFileOfPython(t *testing.T) {
	k, compiled := openPython(t)
	runs := k.looks(0)
	if *compiled != 1 || k.m.file.watched().source != k.path("add.py") {
		t.Fatalf("compiled %d times, watched %+v", *compiled, k.m.file.watched())
	}
	if path, why := k.m.editable("add.py"); path != k.path("add.py") {
		t.Errorf("e opens %q: %s", path, why)
	}
	words := k.path("add.py") + " --entry add --grid 4"
	k.command("command").hasStatus("tilescope check " + words)
	if offered := k.m.palette().openable("add"); !slices.ContainsFunc(offered, func(line string) bool {
		return strings.HasSuffix(line, "add.py --entry add --grid 4")
	}) {
		t.Errorf("offered again: %q", offered)
	}
	k.write("add.py", "good, and another\n")
	if n := k.looks(3); n != runs+1 || *compiled != 2 {
		t.Errorf("after a save %d runs more, compiled %d times", n-runs, *compiled)
	}
	k.write("add.py", "bad\nnope\n")
	if n := k.looks(3); n != runs+1 || k.m.Fail == nil || k.m.Fail.Opening == nil {
		t.Fatalf("%d runs more, %+v", n-runs, k.m.Fail)
	}
	for _, want := range []string{"BUILD FAILED", "nope is undefined", "previous run: stage1"} {
		if !strings.Contains(k.text(), want) {
			t.Errorf("no %q:\n%s", want, k.text())
		}
	}
	k.write("add.py", "good again\n")
	if n := k.looks(4); n != runs+2 || !k.m.Current() || k.m.Req.Target != "stage1" {
		t.Errorf("mended: %d runs more, %+v:\n%s", n-runs, k.m.Req, k.text())
	}
	k.command("target stage1") // the catalogue's, by an opener that compiles nothing
	if k.m.file.ofPython() {
		t.Error("another target is taken for the file's")
	}
}
