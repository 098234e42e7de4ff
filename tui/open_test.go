package tui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// withOpen is an opener that knows stage1, and refuses everything else.
func withOpen(asked *[]string) func(*Options) {
	return func(o *Options) {
		o.Open = func(_ context.Context, words []string) (Opened, error) {
			*asked = words
			if words[0] != "stage1" {
				return Opened{}, errors.New("--grid is missing; expected X[,Y[,Z]]")
			}
			return Opened{Request: debugkern.Request{Target: words[0], Seed: 7}}, nil
		}
	}
}

// TestOpen: :open, and :target, run what the words of a command line name; a refusal leaves the run as it is.
func TestOpen(t *testing.T) {
	var asked []string
	d := started(t, 120, 40, plainLook, withOpen(&asked))
	runs := len(d.e.Asked())
	d.command("open 'my k.cu' --block 256").hasStatus("--grid is missing")
	if !slices.Equal(asked, []string{"my k.cu", "--block", "256"}) || len(d.e.Asked()) != runs ||
		d.m.Task.Active {
		t.Errorf("asked %q, %d runs", asked, len(d.e.Asked())-runs)
	}
	d.command("open 'my").hasStatus("a quote has no end")
	d.command("open tables/lut.h --grid 4").hasStatus("lut.h is a header, not a kernel")
	d.command("open tables/lut.h").hasStatus("tables/lut.h: covers every cell") // as :header does
	if d.m.Showing() != view.Frag {
		t.Errorf("a header is judged in %s", d.m.Showing())
	}
	d.press("2").command("target stage1 --seed 7").hasStatus("opened stage1 · ✓ agree")
	if d.m.Showing() != view.Tile {
		t.Errorf("another target of the catalogue is shown in %s", d.m.Showing())
	}
	if got := d.m.Req; got.Target != "stage1" || got.Seed != 7 {
		t.Errorf("runs %+v", got)
	}
	d.command("target stage2").command("fault p-stale-m")
	if len(d.m.Req.Faults) != 1 {
		t.Errorf("faults %q", d.m.Req.Faults)
	}
	d.command("target stage1").hasStatus("opened stage1, without p-stale-m · ✓ agree")
	started(t, 120, 40, plainLook).command("open x.cu").hasStatus("`tilescope FILE`")
}

// TestOpenHeaderWithoutItsCommand: a header needs :header, whose absence is a bug with a name.
func TestOpenHeaderWithoutItsCommand(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	d.m.views = nil
	defer func() {
		if r := recover(); r != "BUG: no command :header" {
			t.Errorf("%v", r)
		}
	}()
	d.m.palette().openHeader([]string{"my_lut.h"})
}

// TestAFileThatDoesNotBuild: what could not be opened stands in the place of the run before, with its reasons
// and its source; nothing is diagnosed in its place, the editor opens its line, and a save, or whatever asks
// for a run, opens it again.
func TestAFileThatDoesNotBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("k.cu", []byte("// first line\n// the line that is wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := &report.Error{Code: report.CodeFailed, Err: &report.KernelError{Stage: "build",
		Err: errors.New("k.cu:2:27: outt is undefined"), Source: &report.Source{File: "k.cu", Line: 2}}}
	var asked [][]string
	good := false
	d := started(t, 120, 40, plainLook, withRaces(&tuitest.Races{Bare: true}), func(o *Options) {
		o.Environ = []string{"EDITOR=true"}
		o.Open = func(_ context.Context, words []string) (Opened, error) {
			if asked = append(asked, words); !good {
				return Opened{}, broken
			}
			return Opened{Request: debugkern.Request{Target: "stage1"}}, nil
		}
	})
	words, runs := []string{"./k.cu", "--grid", "4"}, len(d.e.Asked())
	d.command("open ./k.cu --grid 4").hasStatus("outt is undefined")
	for _, want := range []string{"ts▸k.cu", "BUILD FAILED", "the line that is wrong", "requested: ./k.cu",
		"x opens it again, and so does a save", "previous run: stage2"} {
		if !strings.Contains(d.text(), want) {
			t.Errorf("no %q:\n%s", want, d.text())
		}
	}
	if d.m.Current() || strings.Contains(d.text(), "●emulator") {
		t.Errorf("the run before is shown as the file's:\n%s", d.text())
	}
	if got := d.m.remembered().Target; got != "stage2" {
		t.Errorf("the next session opens %s", got)
	}
	d.command("diagnose").hasStatus("./k.cu is not open: ")
	if roots := d.m.file.watched(); roots.source != "k.cu" {
		t.Errorf("watched: %+v", roots)
	}
	n := len(asked)
	d.press("x").hasStatus("outt is undefined")
	d.command("seed 3").hasStatus("./k.cu is not open: ")
	if len(asked) != n+1 || !slices.Equal(asked[n], words) || len(d.e.Asked()) != runs {
		t.Errorf("asked %q, %d runs", asked[n:], len(d.e.Asked())-runs)
	}
	before := len(d.Msgs)
	if d.press("1", "e"); len(d.Msgs) == before+1 {
		t.Error("e opens nothing")
	}
	d.send(editedMsg{file: "k.cu", own: true, again: words})
	d.hasStatus("closed, as it was")
	d.press("esc")
	if !strings.Contains(d.text(), "previous run: stage2") || d.m.failure.open() {
		t.Errorf("Esc does not show the run before:\n%s", d.text())
	}
	good = true
	d.send(editedMsg{file: "k.cu", own: true, saved: true, again: words})
	d.hasStatus("opened ./k.cu")
	if d.m.Req.Target != "stage1" || !d.m.Current() || len(d.e.Asked()) != runs+1 {
		t.Errorf("%+v, %d runs", d.m.Req, len(d.e.Asked())-runs)
	}
	good = false
	d.command("open ./k.cu --grid 4").command("revert")
	if d.m.Req.Target != "stage1" || d.m.Fail != nil {
		t.Errorf("back to %+v", d.m.Req)
	}
}

// TestFailingLine: the line of a file for which it could not be built.
func TestFailingLine(t *testing.T) {
	broken := &report.Error{Code: report.CodeFailed, Err: &report.KernelError{Stage: "build",
		Err: errors.New("k.cu:11:27: outt is undefined"), Source: &report.Source{File: "k.cu", Line: 11}}}
	for _, c := range []struct {
		file string
		err  error
		line int
	}{
		{"x/k.cu", broken, 11}, {"k.yaml", broken, 0}, {"other.cu", broken, 0}, {"k.cu", errors.New("no"), 0},
	} {
		if got := failingLine(c.file, c.err); got != c.line {
			t.Errorf("%s, %v: line %d, want %d", c.file, c.err, got, c.line)
		}
	}
}

// TestOpenable: of the files, those that can be opened are offered, and folders.
func TestOpenable(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	t.Chdir("../configs")
	got := strings.Join(d.m.palette().openable("kernels/gemm"), " ")
	if !strings.Contains(got, "kernels/gemm_wmma.yaml") || strings.Contains(got, ".go") {
		t.Errorf("offered %s", got)
	}
	if got := d.m.palette().openable("stage"); !slices.Contains(got, "stage2") {
		t.Errorf("offered %s", got)
	}
	if got := d.m.palette().openable("k.cu --"); got != nil {
		t.Errorf("after the file: %s", got)
	}
}

// lacksLaunch is a refusal with a launch to begin with.
type lacksLaunch struct{}

func (lacksLaunch) Error() string { return "--grid is missing" }

func (lacksLaunch) Launch() debugkern.ProposedLaunch {
	return debugkern.ProposedLaunch{
		Options: []string{"--grid", "4", "--block", "256", "--arg", "x=ones:f32[4]", "--arg", "n=4"},
		Kernel:  "sum(float *x, int n)",
	}
}

// TestOpenProposes: a file without its launch gets one in the prompt, without what was given; what is opened
// is offered again, in the next session too.
func TestOpenProposes(t *testing.T) {
	var asked []string
	open := func(o *Options) {
		o.StateDir = t.TempDir()
		o.Open = func(_ context.Context, words []string) (Opened, error) {
			if asked = words; !slices.Contains(words, "--grid") {
				return Opened{}, &wrapped{lacksLaunch{}}
			}
			return Opened{Request: debugkern.Request{Target: words[0], Launch: words[1:]}}, nil
		}
	}
	d := started(t, 120, 40, plainLook, open).press("5")
	d.command("open stage1 --block 64 --arg n=7")
	const line = "open stage1 --block 64 --arg n=7 --grid 4 --arg x=ones:f32[4]"
	if lead, _ := d.m.prompt.Active(); lead != ":" || d.m.prompt.Text() != line {
		t.Fatalf("the prompt has %q", d.m.prompt.Text())
	}
	if !strings.Contains(d.Text(), "launch of sum(float *x, int n): these numbers are a beginning") {
		t.Errorf("no word on it:\n%s", d.Text())
	}
	if d.press("enter"); d.m.Showing() != view.Pipe {
		t.Errorf("the file is shown in %s", d.m.Showing())
	}
	if want := strings.Fields(line)[1:]; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	for _, typed := range []string{"", "stage1", "stage1 --b"} {
		if got := d.m.palette().openable(typed); len(got) == 0 || got[0] != line[len("open "):] {
			t.Errorf("%q offers %q", typed, got)
		}
	}
	if got := d.m.palette().unopenable("nothing.c"); !strings.Contains(got, "begins with nothing.c") {
		t.Errorf("nothing to offer: %s", got)
	}
	next := started(t, 120, 40, plainLook, open, func(o *Options) { o.State = d.m.remembered() })
	if got := next.m.palette().openable("stage1 "); len(got) == 0 {
		t.Error("the next session does not offer it")
	}
}

// TestChangesALaunch: :arg, :grid and :block open the file on screen with what they say in the place of what
// its launch gave.
func TestChangesALaunch(t *testing.T) {
	var asked []string
	d := started(t, 120, 40, plainLook, func(o *Options) {
		o.Open = func(_ context.Context, words []string) (Opened, error) {
			asked = words
			return Opened{Request: debugkern.Request{Target: words[0], Launch: words[1:]}}, nil
		}
	})
	d.command("arg n=1")
	if d.hasStatus("no command \"arg\""); asked != nil {
		t.Errorf("a target of the catalogue was opened: %q", asked)
	}
	d.command("open stage1 --grid 2 --block 64 --arg x=ones:f32[4] --arg n=4")
	for _, c := range []struct{ line, want string }{
		{"arg n=7", "stage1 --grid 2 --block 64 --arg x=ones:f32[4] --arg n=7"},
		{"arg n=8 x=iota:f32[8]", "stage1 --grid 2 --block 64 --arg x=iota:f32[8] --arg n=8"},
		{"grid 3,2", "stage1 --grid 3,2 --block 64 --arg x=iota:f32[8] --arg n=8"},
		{"block 96", "stage1 --grid 3,2 --block 96 --arg x=iota:f32[8] --arg n=8"},
	} {
		if d.command(c.line); strings.Join(asked, " ") != c.want {
			t.Errorf("%s opens %q, want %s", c.line, asked, c.want)
		}
	}
	d.m.Req.Guessed = true
	for _, c := range []struct {
		line string
		want bool
	}{{"arg n=9", true}, {"grid 3", true}, {"block 32", false}} {
		if d.command(c.line); d.m.Req.Guessed != c.want {
			t.Errorf("after %s: guessed %v", c.line, d.m.Req.Guessed)
		}
	}
	asked = nil
	d.command("arg m=1").hasStatus("the launch gives x=iota:f32[8] n=9; expected one of them as NAME=VALUE")
	if asked != nil {
		t.Errorf("opened %q", asked)
	}
}

// TestStartProposes: a file that the command line gives no launch is asked for, over a screen that says that
// nothing is opened and shows no other kernel; Esc leaves that, Enter opens the file.
func TestStartProposes(t *testing.T) {
	var asked []string
	before := &configs.State{Setup: configs.Setup{Target: "stage3", Faults: []string{"p-stale-m"}},
		View: "races"}
	lacking := func(o *Options) {
		o.State = before
		o.Lacking, o.Lacks = []string{"my.cu", "--block=64"}, &wrapped{lacksLaunch{}}
		o.Open = func(_ context.Context, words []string) (Opened, error) {
			if asked = words; len(words) == 2 {
				return Opened{}, &wrapped{lacksLaunch{}}
			}
			return Opened{Request: debugkern.Request{Target: "stage1"}}, nil
		}
	}
	const line = "open my.cu --block=64 --grid 4 --arg x=ones:f32[4] --arg n=4"
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := started(t, size[0], size[1], plainLook, lacking)
		if lead, _ := d.m.prompt.Active(); lead != ":" || d.m.prompt.Text() != line {
			t.Fatalf("the prompt has %q", d.m.prompt.Text())
		}
		if !strings.Contains(d.Text(), "launch of sum(float *x, int n): these numbers are a beginning") {
			t.Errorf("no word on it:\n%s", d.Text())
		}
		if d.m.Status.Bad || len(d.e.Asked()) != 0 {
			t.Errorf("status %q, ran %+v", d.m.Status.Text, d.e.Asked())
		}
		if got := d.m.remembered(); got.Target != "stage3" || got.View != "races" {
			t.Errorf("remembered: %+v", got)
		}
		d.press("esc").hasStatus("my.cu is not opened: :open my.cu asks again")
		d.m.recent.lines = []string{"other.cu --grid 1"}
		d.command("theme light")
		if got := d.m.remembered(); got.Target != "stage3" || got.Display["theme"] != "light" ||
			!slices.Equal(got.Opened, d.m.recent.lines) || before.Display["theme"] == "light" {
			t.Errorf("remembered: %+v", got)
		}
		d.command("theme auto")
		d.m.recent.lines = nil
		for _, s := range d.m.Keys.Scopes() {
			text := d.open(s).Text()
			for _, other := range []string{"stage2", "stage3", "stale", "validation", "failed"} {
				if strings.Contains(text, other) {
					t.Errorf("%s shows another kernel, or a failure:\n%s", s, text)
				}
			}
			fits(t, d, string(s))
		}
		if text := d.open(view.Pipe).Text(); !strings.Contains(text, "NOT OPENED") ||
			!strings.Contains(text, "my.cu is not opened yet: ") || !strings.Contains(text, "ts▸my.cu") {
			t.Errorf("after Esc:\n%s", text)
		}
		if d.press("x"); d.m.prompt.Text() != line {
			t.Errorf("x puts %q into the prompt", d.m.prompt.Text())
		}
		d.press("enter").hasStatus("opened my.cu")
		if want := strings.Fields(line)[1:]; !slices.Equal(asked, want) {
			t.Errorf("asked %q", asked)
		}
		if d.m.Fail != nil || d.m.Run == nil {
			t.Errorf("opened, and not shown:\n%s", d.Text())
		}
	}
	d := started(t, 120, 40, plainLook, lacking).press("esc").command("variant stage2")
	if d.m.Fail != nil || d.m.Req.Target != "stage2" || d.m.Run == nil {
		t.Errorf("after :variant stage2 %+v:\n%s", d.m.Req, d.Text())
	}
}

// TestEscAtAProposal: in a session that shows a kernel too, Esc at the launch of a file says that the file is
// not opened, and how it is asked for again; Esc at another line says nothing.
func TestEscAtAProposal(t *testing.T) {
	d := started(t, 120, 40, plainLook, func(o *Options) {
		o.Open = func(context.Context, []string) (Opened, error) { return Opened{}, &wrapped{lacksLaunch{}} }
	})
	d.command("open my.cu").press("esc").hasStatus("my.cu is not opened: :open my.cu asks again")
	if d.m.Status.Bad || d.m.Req.Target != "stage2" {
		t.Errorf("status %q, request %+v", d.m.Status.Text, d.m.Req)
	}
	d.press("esc")
	if d.press(":").typed("quit").press("esc"); strings.Contains(d.m.Status.Text, "opened") {
		t.Errorf("status %q", d.m.Status.Text)
	}
}

// wrapped is an error around another one.
type wrapped struct{ error }

func (w *wrapped) Unwrap() error { return w.error }

// TestEditorOf: the user's choice, else an editor that is there, else what to do.
func TestEditorOf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if editor, why := editorOf(nil); editor != "" || !strings.Contains(why, "EDITOR=NAME") {
		t.Errorf("without any: %q, %q", editor, why)
	}
	if err := os.WriteFile(filepath.Join(dir, "vi"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if editor, why := editorOf([]string{"EDITOR= "}); editor != "vi" || !strings.Contains(why, "$EDITOR") {
		t.Errorf("with vi alone: %q, %q", editor, why)
	}
	if editor, why := editorOf([]string{"EDITOR=ed -s", "VISUAL=code"}); editor != "code" || why != "" {
		t.Errorf("with both set: %q, %q", editor, why)
	}
}
