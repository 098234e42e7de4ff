package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern"
)

// TestCheckPython: a kernel of Triton's is compiled and checked with the launch that its text states; the
// log has its lines, and a folder that is not trusted, or a file without a launch, is none of it.
func TestCheckPython(t *testing.T) {
	dir := tritonFolder(t,
		"# tilescope: --entry double_it --grid 2 --arg x=iota:f32[64] --arg y=unwritten:f32[64]\n"+
			"# tilescope: --arg n=60 --arg BLOCK=32 --set num_warps=1\n"+doubleIt)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	file, log := filepath.Join(dir, "k.py"), filepath.Join(dir, "log.sarif")
	out, errText, code := call(t, "check", "--trust", file, "--json")
	if code != 0 || !strings.Contains(out, `"file": "`+file+`"`) || !strings.Contains(out, `"written": 60`) {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	out, errText, code = call(t, "check", "--trust", "--changed", file, filepath.Join(dir, "triton.py"),
		"--sarif", log)
	if code != 0 || !strings.Contains(out, "2 files: 1 clean, 0 with errors, 0 not checked, 1 left out") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	for _, r := range sarifOf(t, log) {
		if uri := r.Locations[0].Physical.Artifact.URI; uri != "k.py" {
			t.Errorf("%s at %s", r.RuleID, uri)
		}
	}
	if out, errText, code = call(t, "check", "--changed", file); code != 3 ||
		!strings.Contains(out, "not checked: compiling it imports") {
		t.Errorf("an untrusted folder: exit %d: %s%s", code, out, errText)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "tilescope-check-*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if _, errText, code = call(t, "check", "--trust", file, "--block", "32"); code != 2 ||
		!strings.Contains(errText, "--block: Triton chooses it") {
		t.Errorf("exit %d: %s", code, errText)
	}
}

// TestOpenPython: the terminal is opened on a file of Python, and opens one later: its kernel is compiled,
// and again when it is reopened, to the same target; nothing of it is left behind.
func TestOpenPython(t *testing.T) {
	dir := tritonFolder(t, doubleIt)
	temp, file := t.TempDir(), filepath.Join(dir, "k.py")
	t.Setenv("TMPDIR", temp)
	words := []string{file, "--entry", "double_it", "--grid", "2", "--arg", "x=iota:f32[64]", "--arg",
		"y=unwritten:f32[64]", "--arg", "n=60", "--arg", "BLOCK=32", "--set", "num_warps=1"}
	var got Terminal
	open := func(args []string, do func(ctx context.Context, o Terminal)) (code int, errText string) {
		var out, errOut bytes.Buffer
		code = Main(t.Context(), Program{
			Version: "test", Args: append(args, "--trust"), Stdin: strings.NewReader(""), Stdout: &out,
			Stderr: &errOut,
			OpenTerminal: func(ctx context.Context, o Terminal) error {
				got = o
				do(ctx, o)
				return nil
			},
		})
		return code, errOut.String()
	}
	written := func(ctx context.Context, o Terminal, req debugkern.Request) int {
		run, err := o.Session.Run(ctx, req, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range run.Report.Outputs {
			if x.Name == "y" {
				return *x.Written
			}
		}
		t.Fatalf("no y among %+v", run.Report.Outputs)
		return 0
	}
	code, errText := open(words, func(ctx context.Context, o Terminal) {
		if len(o.Python) == 0 || o.Python[0] != file || o.Reopen == nil {
			t.Errorf("words %q", o.Python)
		}
		if n := written(ctx, o, o.Request); n != 60 {
			t.Errorf("%d elements written", n)
		}
		again, err := o.Reopen(ctx)
		if err != nil || again.Target != o.Request.Target {
			t.Errorf("reopened: %v, %s after %s", err, again.Target, o.Request.Target)
		}
		later, reopen, err := o.Open(ctx, words)
		if err != nil || reopen == nil || written(ctx, o, later) != 60 {
			t.Errorf("opened later: %v", err)
		}
		for says, words := range map[string][]string{
			"it has double_it(x, y, n, BLOCK: tl.constexpr)": {file},
			"--block: Triton chooses it":                     {file, "--entry", "double_it", "--block", "32"},
		} {
			if _, _, err := o.Open(ctx, words); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v, expected %q", words, err, says)
			}
		}
	})
	if code != 0 || got.Session == nil {
		t.Fatalf("exit %d: %s", code, errText)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "tilescope-*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// TestCheckFilesRefused: options of one launch are refused for several files, and a file that cannot be
// checked does not keep the others from it.
func TestCheckFilesRefused(t *testing.T) {
	clean := kernelFile(t, "reduce.ptx", "// tilescope: --grid 2 --block 256",
		"// tilescope: --arg 0=ones:f32[512] --arg 1=zeros:f32[2] --arg 2=512")
	missing := filepath.Join(t.TempDir(), "missing.ptx")
	out, errText, code := call(t, "check", missing, clean)
	if code != 2 || !strings.Contains(out, missing+": not checked: ") ||
		!strings.Contains(out, "2 files: 1 clean, 0 with errors, 1 not checked, 0 left out") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	if _, errText, code := call(t, "check", clean, clean, "--grid", "1"); code != 2 ||
		!strings.Contains(errText, "--grid is of one FILE") {
		t.Errorf("exit %d: %s", code, errText)
	}
}
