package tui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// ownKernel is a folder with a manifest, its source and a header, and a terminal that has run it.
type ownKernel struct {
	*driver
	dir   string
	clock time.Time
}

func openOwn(t *testing.T) *ownKernel {
	t.Helper()
	k := &ownKernel{dir: t.TempDir(), clock: time.Now()}
	k.write("mine.yaml", string(tuitest.Manifest(t, "sdpa_fp8_stage_c_wmma.yaml")))
	k.write("sdpa_fp8_stage_c_wmma.cu", "#include \"a.cuh\"\n__global__ void k() {}\n")
	k.write("a.cuh", "#pragma once\n#include \"deep/b.cuh\"\n")
	k.driver = started(t, 120, 40, plainLook, withRequest(debugkern.Request{Target: k.path("mine.yaml"),
		Faults: []string{"p-stale-m"}}))
	k.looks(2)
	return k
}

func (k *ownKernel) path(name string) string { return filepath.Join(k.dir, name) }

// write saves a file, a second after the last one.
func (k *ownKernel) write(name, text string) {
	k.clock = k.clock.Add(time.Second)
	if err := os.WriteFile(k.path(name), []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Chtimes(k.path(name), k.clock, k.clock); err != nil {
		panic(err)
	}
}

// looks lets the terminal look at the files n times, and returns how many runs there have been.
func (k *ownKernel) looks(n int) int {
	for range n {
		k.send(k.m.file.look()())
	}
	return len(k.e.Asked())
}

// TestSavedSaysTheSourcesLaunch: where a save changes the launch that the source makes itself, and the one on
// screen is another, the status line says so.
func TestSavedSaysTheSourcesLaunch(t *testing.T) {
	const source = "sdpa_fp8_stage_c_wmma.cu"
	k := &ownKernel{dir: t.TempDir(), clock: time.Now()}
	k.write("mine.yaml", string(tuitest.Manifest(t, "sdpa_fp8_stage_c_wmma.yaml")))
	k.write(source, "// n=37\n")
	number := regexp.MustCompile(`n=\d+`)
	req := debugkern.Request{Target: k.path("mine.yaml"), Launch: []string{"--grid", "1", "--arg", "n=37"}}
	k.driver = started(t, 160, 40, plainLook, withRequest(req), func(o *Options) {
		o.Reopen = func(context.Context) (debugkern.Request, error) { return req, nil }
		o.Launched = func(_ context.Context, file, _ string) ([]string, int) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			return []string{"--grid", "1", "--arg", number.FindString(string(b))}, 9
		}
	})
	k.looks(2)
	for _, c := range []struct{ text, says string }{
		{"// n=33\n", "line 9 launches it with n=33 now, and this run does not: :open " + source + " proposes that"},
		{"// n=33 as before\n", ""},
	} {
		k.write(source, c.text)
		k.looks(2)
		if got := k.m.Status.Text; !strings.Contains(got, source+" saved: "+c.says) ||
			strings.Contains(got, "launches it") != (c.says != "") {
			t.Errorf("%q: status %q", c.text, got)
		}
	}
}

// TestSavedSaysWhatIsLeftOut: where a part of a source was not compiled, the status line and the messages say
// so after a save, once as long as it is the same part, and Pipe says so always.
func TestSavedSaysWhatIsLeftOut(t *testing.T) {
	const note = "the device's part alone was compiled, by NVRTC; left out: x (line 3)"
	k := openOwn(t)
	k.e.Document = func(r *report.Run) { r.Build.Notes = []string{note} }
	for i, line := range []string{"int x = ;\n", "int  x = ;\n"} {
		k.write("sdpa_fp8_stage_c_wmma.cu", "#include \"a.cuh\"\n__global__ void k() {}\n"+line)
		k.looks(2)
		status := k.m.Status.Text
		if !strings.Contains(status, " saved: ") || strings.Contains(status, note) != (i == 0) {
			t.Errorf("save %d: status %q", i, status)
		}
	}
	k.e.Document = nil
	k.press("x")
	k.e.Document = func(r *report.Run) { r.Build.Notes = []string{note} }
	if k.press("x"); k.m.Status.Text != note {
		t.Errorf("after a run without a save: status %q", k.m.Status.Text)
	}
	k.press("1")
	if k.m.resize(160, 60); !strings.Contains(k.text(), "left out: x (line 3)") {
		t.Errorf("Pipe:\n%s", k.text())
	}
}

// TestSavedFilesRunAgain: the source, headers at any depth, and the manifest; once they rest, once each.
func TestSavedFilesRunAgain(t *testing.T) {
	k := openOwn(t)
	runs := k.looks(0)
	if got := slices.Sorted(maps.Keys(k.m.file.looked)); !slices.Equal(got, []string{k.path("a.cuh"),
		k.path("deep/b.cuh"), k.path("mine.yaml"), k.path("sdpa_fp8_stage_c_wmma.cu")}) {
		t.Fatalf("watched: %v", got)
	}
	for _, c := range []struct {
		name string
		save func()
		says string
	}{
		{"source", func() { k.write("sdpa_fp8_stage_c_wmma.cu", "#include \"a.cuh\"\nint x;\n") },
			"sdpa_fp8_stage_c_wmma.cu saved"},
		{"header", func() { k.write("a.cuh", "#pragma once\n#include \"deep/b.cuh\"\nint y;\n") },
			"a.cuh saved"},
		{"a header that appears", func() {
			if err := os.Mkdir(k.path("deep"), 0o700); err != nil {
				t.Fatal(err)
			}
			k.write("deep/b.cuh", "int z;\n")
		}, "b.cuh saved"},
		{"manifest", func() {
			k.write("mine.yaml", string(tuitest.Manifest(t, "sdpa_fp8_stage_c_wmma.yaml"))+"# more\n")
		}, "mine.yaml saved"},
		{"by renaming", func() {
			k.write("new", "int again;\n")
			if err := os.Rename(k.path("new"), k.path("sdpa_fp8_stage_c_wmma.cu")); err != nil {
				t.Fatal(err)
			}
		}, "sdpa_fp8_stage_c_wmma.cu saved"},
		{"both", func() {
			k.write("a.cuh", "int w;\n")
			k.write("mine.yaml", string(tuitest.Manifest(t, "sdpa_fp8_stage_c_wmma.yaml")))
		}, "mine.yaml saved"},
	} {
		c.save()
		if n := k.looks(1); n != runs {
			t.Errorf("%s: ran in the middle of a write", c.name)
		}
		if runs++; k.looks(1) != runs {
			t.Fatalf("%s: %d runs, expected %d", c.name, len(k.e.Asked()), runs)
		}
		k.hasStatus(c.says)
		k.hasStatus("no change: every captured value has the same bits")
		if k.looks(3) != runs {
			t.Errorf("%s: ran again without a change", c.name)
		}
	}
}

// TestAFileBetweenTwoNames: an editor moves the old file away before the new one has its name.
func TestAFileBetweenTwoNames(t *testing.T) {
	k := openOwn(t)
	runs := k.looks(0)
	source := k.path("sdpa_fp8_stage_c_wmma.cu")
	if err := os.Rename(source, source+"~"); err != nil {
		t.Fatal(err)
	}
	if k.looks(absentLooks-1) != runs {
		t.Error("ran while an editor saves")
	}
	k.write("sdpa_fp8_stage_c_wmma.cu", "int x;\n")
	if k.looks(2) != runs+1 {
		t.Error("did not run what was saved")
	}
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	if k.looks(absentLooks) != runs+2 {
		t.Error("a source that is gone for good does not run, which would say so")
	}
}

// TestASaveKeepsTheCursor: the run on the saved file does not jump to its first bad cell.
func TestASaveKeepsTheCursor(t *testing.T) {
	k := openOwn(t)
	k.command("stage S").command("goto 7,5").open(view.Tile)
	at := k.m.Cursor
	k.write("a.cuh", "int w;\n")
	if k.looks(2); k.m.Cursor != at {
		t.Errorf("the cursor is on %+v, was on %+v", k.m.Cursor, at)
	}
	if k.press("x"); k.m.Cursor.Stage != "P" {
		t.Errorf("a run that was asked for does not go to its first bad cell: %+v", k.m.Cursor)
	}
}

// TestAManifestIsReadAgain: what it says about the kernel is on screen after it was saved.
func TestAManifestIsReadAgain(t *testing.T) {
	k := openOwn(t)
	text := string(tuitest.Manifest(t, "sdpa_fp8_stage_c_wmma.yaml"))
	k.write("mine.yaml", strings.Replace(text, "\ntitle: ", "\ntitle: renamed ", 1))
	k.looks(2)
	if !strings.HasPrefix(k.m.Mine.Title, "renamed ") {
		t.Errorf("the manifest's title is %q", k.m.Mine.Title)
	}
}

// TestAFailedBuildLeavesThePreviousRun: the reasons are on screen, Esc shows what ran before, dimmed, and
// :failure the reasons again.
func TestAFailedBuildLeavesThePreviousRun(t *testing.T) {
	k := openOwn(t)
	k.open(view.Tile)
	k.e.Fail = failedWith("build", "mine.cu:33: expected a ;", "mine.cu", 33)
	k.write("a.cuh", "broken\n")
	k.looks(2)
	if !contains(k.text(), "BUILD FAILED") || !contains(k.text(), "Esc shows the previous run") {
		t.Fatalf("no failure:\n%s", k.text())
	}
	k.press("esc")
	if !contains(k.text(), "previous run:") || !contains(k.text(), "q4 ") {
		t.Errorf("the previous run is not on screen:\n%s", k.text())
	}
	k.command("failure")
	if !contains(k.text(), "BUILD FAILED") {
		t.Errorf("the reasons are gone:\n%s", k.text())
	}
	k.press("q")
	if k.Quit || contains(k.text(), "BUILD FAILED") {
		t.Error("q does not close the reasons")
	}
	k.e.Fail = nil
	k.write("a.cuh", "right\n")
	k.looks(2)
	k.hasStatus("a.cuh saved: no change")
	if contains(k.text(), "previous run:") {
		t.Errorf("still the previous run:\n%s", k.text())
	}
	k.command("failure").hasStatus("has not failed")
}

// TestChangeBetween: what the status says of two runs.
func TestChangeBetween(t *testing.T) {
	run := func(verdict string, bad int, digest string, findings int) *report.Run {
		r := &report.Run{Verdict: report.Agree, Digest: digest, Stages: []report.Stage{
			{Name: "S", Verdict: report.OK}, {Name: "P", Verdict: verdict, Local: report.ErrorStats{Bad: bad},
				Global: report.ErrorStats{Bad: 2 * bad}}, {Name: "O", Verdict: report.OK},
		}}
		for range findings {
			r.Findings = append(r.Findings, report.Finding{Severity: "error"})
		}
		return r
	}
	spoilt := run(report.Wrong, 512, "b", 0)
	spoilt.Stages[2].Verdict = report.Tainted
	gated := run(report.OK, 0, "a", 0)
	gated.Gate = "pv"
	for _, c := range []struct {
		a, b   *report.Run
		want   string
		values string
	}{
		{a: run(report.Wrong, 512, "a", 0), b: run(report.OK, 0, "b", 0),
			want: "P: 512 bad cells in all blocks → 0, ok"},
		{a: run(report.OK, 0, "a", 0), b: run(report.Wrong, 1, "b", 0),
			want: "P: 0 bad cells in all blocks → 1, wrong"},
		{a: run(report.OK, 0, "a", 0), b: spoilt,
			want: "P: 0 bad cells in all blocks → 512, wrong; O tainted"},
		{a: spoilt, b: run(report.OK, 0, "a", 0), want: "P: 512 bad cells in all blocks → 0, ok; O ok"},
		{a: run(report.Wrong, 512, "a", 0), b: run(report.Wrong, 37, "b", 0),
			want: "P: 512 bad cells in all blocks → 37, still wrong"},
		{a: run(report.Tainted, 4, "a", 0), b: run(report.OK, 0, "b", 0),
			want: "P: 8 bad cells against the true inputs in all blocks → 0, ok"},
		{a: run(report.Tainted, 4, "a", 0), b: run(report.Wrong, 3, "b", 0), // 8 and 6, not 8 and 3
			want: "P: 8 bad cells against the true inputs in all blocks → 6, wrong"},
		{a: run(report.Wrong, 4, "a", 0), b: run(report.Tainted, 5, "b", 0),
			want: "P: 8 bad cells against the true inputs in all blocks → 10, tainted"},
		{a: run(report.Off, 0, "a", 0), b: run(report.Wrong, 3, "b", 0), want: "P: off → wrong"},
		{a: run(report.OK, 0, "a", 2), b: run(report.OK, 0, "a", 0), want: "2 findings → 0"},
		{a: run(report.OK, 0, "a", 0), b: run(report.OK, 0, "b", 0),
			want: "no change of a verdict; captured values differ"},
		{a: run(report.OK, 0, "a", 0), b: run(report.OK, 0, "b", 0), want: "out: 4 of 4",
			values: "out: 4 of 4"},
		{a: run(report.OK, 0, "a", 2), b: run(report.OK, 0, "b", 0), want: "2 findings → 0; out: 4 of 4",
			values: "out: 4 of 4"},
		{a: run(report.OK, 0, "a", 0), b: run(report.OK, 0, "a", 0),
			want: "no change: every captured value has the same bits"},
		{a: gated, b: gated, want: "no change under gate pv, which leaves out a part of the kernel: every " +
			"captured value has the same bits"},
	} {
		if got := changeBetween(c.a, c.b, c.values); got != c.want {
			t.Errorf("%q, expected %q", got, c.want)
		}
	}
}

// TestLaunchComments: where the comments that give the launch of a file have changed, they are read again,
// and the file runs by them; what was set by hand stays.
func TestLaunchComments(t *testing.T) {
	k := openOwn(t)
	man, _ := k.m.Manifest()
	k.m.Engine.Catalogue().Adopt(man) // as the manifest of a file's launch is
	f, opened, fails := k.m.file, 0, error(nil)
	f.opened = k.m.Req
	f.reopen = func(context.Context) (debugkern.Request, error) {
		opened++
		req := f.opened
		req.Launch = []string{"--grid", fmt.Sprint(opened)}
		return req, fails
	}
	save := func(text string) int {
		k.write("sdpa_fp8_stage_c_wmma.cu", text)
		return k.looks(3)
	}
	save("// tilescope: --grid 4\nint x;\n")
	f.options = nil // as at the start
	runs := save("// tilescope: --grid 4\nint y;\n")
	if before := opened; save("// tilescope: --grid 4\nint z;\n") != runs+1 || opened != before {
		t.Error("comments that have not changed were read again, or the source did not run")
	}
	opened = 0
	k.m.Req.Seed = 7
	runs = save("// tilescope: --grid 8\nint y;\n")
	if req := k.e.Asked()[runs-1]; opened != 1 || !slices.Equal(req.Launch, []string{"--grid", "1"}) ||
		req.Seed != 7 {
		t.Errorf("%d times read again; the request is %+v", opened, req)
	}
	fails = errors.New("--grid x: not a number")
	if save("// tilescope: --grid x\nint y;\n") != runs {
		t.Error("a comment that cannot be read was run")
	}
	k.hasStatus("saved, not run by its `// tilescope:` comment: --grid x: not a number")
	fails = nil
	if n := save("// tilescope: --grid x\nint z;\n"); opened != 3 || n != runs+1 { // it is tried again
		t.Errorf("read %d times, %d runs", opened, n-runs)
	}
}

// TestParametersAreBoundAgain: a save that changes a kernel's declaration, or a line of the preprocessor, has
// the arguments bound again; any other does not. Where they cannot be, the request runs as it is, which says
// why.
func TestParametersAreBoundAgain(t *testing.T) {
	k := openOwn(t)
	man, _ := k.m.Manifest()
	adopt := func(names ...string) {
		m := *man
		m.Args = slices.Clone(man.Args)
		for _, n := range names {
			scalar := man.Args[len(man.Args)-1]
			scalar.Name = n
			m.Args = append(m.Args, scalar)
		}
		k.m.Engine.Catalogue().Adopt(&m)
	}
	adopt("a", "b")
	f, opened, fails, now := k.m.file, 0, error(nil), []string{"a", "b"}
	f.opened = k.m.Req
	f.reopen = func(context.Context) (debugkern.Request, error) {
		opened++
		if fails == nil {
			adopt(now...)
		}
		return f.opened, fails
	}
	save := func(text string) (runs int) {
		before := len(k.e.Asked())
		k.write("sdpa_fp8_stage_c_wmma.cu", text)
		return k.looks(3) - before
	}
	save("__global__ void k(int a, int b) {}\n")
	f.options = nil // as at the start
	for _, c := range []struct {
		text   string
		now    []string
		opened int
		says   string
	}{
		{"__global__ void k(int a, int b) {}\n", nil, 0, "saved: "},
		{"__global__ void k(int a, int b) { a = 1; }\n", nil, 0, "saved: no change"},
		{"__global__ void k(int b, int a) {}\n", []string{"b", "a"}, 1,
			", b, a; arguments are bound by name"},
		{"__global__ void k(int b, int c) {}\n", []string{"b", "c"}, 1, "saved: parameters: a is now c; "},
		{"#define X\n__global__ void k(int b, int c) {}\n", []string{"b", "c"}, 1, "saved: no change"},
	} {
		opened = 0
		if c.now != nil {
			now = c.now
		}
		if runs := save(c.text); runs != 1 || opened != c.opened {
			t.Errorf("%s: %d runs, bound %d times", c.text, runs, opened)
		}
		k.hasStatus(c.says)
	}
	fails = errors.New("no --arg for d (2)")
	for range 2 { // it is tried again
		opened = 0
		if runs := save("__global__ void k(int b, int c, int d) {}\n"); runs != 1 || opened != 1 {
			t.Errorf("arguments that do not fit: %d runs, bound %d times", runs, opened)
		}
	}
}

// TestParametersChanged names what has changed of a kernel's parameters.
func TestParametersChanged(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a b", "a b", ""}, {"", "a b", ""}, {"a b", "b a", "they are in another order: b, a"},
		{"a b", "a c", "b is now c"}, {"a b", "a b c", "c is new"}, {"a b", "a", "b is gone"},
		{"a b c", "a c", "b is gone"}, {"a b", "c a b", "c is new"},
	} {
		got := parametersChanged(strings.Fields(c.before), strings.Fields(c.after))
		if c.before == "" {
			got = parametersChanged(nil, strings.Fields(c.after))
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s, then %s: %q", c.before, c.after, got)
		}
	}
}

// TestEditOpensTheUsersFile: the source and headers of an own kernel are edited in place; of an embedded one,
// and of lines that a fault has changed, a copy is opened only after that was said.
func TestEditOpensTheUsersFile(t *testing.T) {
	k := openOwn(t)
	for name, want := range map[string]string{
		"sdpa_fp8_stage_c_wmma.cu": k.path("sdpa_fp8_stage_c_wmma.cu"), "a.cuh": k.path("a.cuh"),
		k.path("a.cuh"): k.path("a.cuh"),
	} {
		k.m.Run.Request.Faults = nil
		if path, why := k.m.editable(name); path != want {
			t.Errorf("%s is edited at %q (%s)", name, path, why)
		}
	}
	if path, why := k.m.editable("cuda_fp16.h"); path != "" || !contains(why, "no file of yours") {
		t.Errorf("a header of the compiler: %q, %q", path, why)
	}
	d := started(t, 120, 40, plainLook, withRequest(faulty), func(o *Options) {
		o.Environ = []string{"EDITOR=true"}
	})
	d.open(view.Source)
	before := len(d.Msgs)
	d.press("e").hasStatus("e again opens a read-only copy")
	if len(d.Msgs) != before+1 { // the key alone
		t.Errorf("the first key did %d things", len(d.Msgs)-before)
	}
	if d.m.offered == "" {
		t.Error("nothing was offered")
	}
	d.press("e")
	if d.m.offered != "" {
		t.Error("the second key opens nothing")
	}
	d.send(editedMsg{file: "k.cu"})
	d.hasStatus("k.cu was a read-only copy")
	d.send(editedMsg{file: "k.cu", own: true})
	d.hasStatus("closed, as it was")
}
