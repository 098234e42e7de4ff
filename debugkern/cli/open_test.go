package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
)

// TestOpenFromTheTerminal: what the terminal opens later is parsed as the command line is, on the same
// session: a target, a manifest, a file with its launch, which can be reopened.
func TestOpenFromTheTerminal(t *testing.T) {
	folder := stageless(t, "reduce.ptx")
	ptx, manifest := filepath.Join(folder, "k.ptx"), filepath.Join(folder, "k.yaml")
	var asked error
	inTerminal(t, func(ctx context.Context, o Terminal) {
		req, again, err := o.Open(ctx, []string{"stage2", "--shape", "small", "--fault", "kt-ld"})
		if err != nil || req.Target != "stage2" || req.Shape != "small" || req.Check != 0 || again != nil {
			t.Errorf("a target: %v, %+v", err, req)
		}
		req, _, err = o.Open(ctx, []string{manifest})
		if err != nil || req.Check != debugkern.EveryChecker {
			t.Errorf("a manifest: %v, %+v", err, req)
		}
		req, again, err = o.Open(ctx, []string{ptx, "--grid", "2", "--block", "256",
			"--arg", "0=iota:f32[512]", "--arg", "1=zeros:f32[2]", "--arg", "2=512"})
		if err != nil || again == nil {
			t.Fatalf("a file: %v", err)
		}
		if run, err := o.Session.Run(ctx, req, nil); err != nil || *run.Report.Outputs[1].Written != 2 {
			t.Errorf("a file's run: %v", err)
		}
		stated, _, err := o.Open(ctx, []string{ptx, "--grid", "2", "--block", "256", "--expect",
			"arg1[i] <- arg0[i]", "--arg", "0=iota:f32[512]", "--arg", "1=zeros:f32[2]", "--arg", "2=512"})
		if err != nil || len(stated.Expectations()) != 1 {
			t.Errorf("a file with an expectation: %v, %q", err, stated.Launch)
		}
		if _, _, err = o.Open(ctx, []string{"stage2", "--expect", "o[i] <- q[i]"}); err == nil ||
			!strings.Contains(err.Error(), "--expect: given here for a FILE") {
			t.Errorf("a target with an expectation: %v", err)
		}
		if req, _, err = o.Open(ctx, []string{folder}); err != nil || req.Target != manifest {
			t.Errorf("a folder with one manifest: %v, %s", err, req.Target)
		}
		named := debugkern.Request{Target: folder, Backend: "emu"}
		if run, err := o.Session.Run(ctx, named, nil); err != nil || run.Report.Kernel == "" {
			t.Errorf("a run of a folder: %v", err)
		}
		other := filepath.Join(folder, "other.yaml")
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err = o.Open(ctx, []string{folder}); err == nil || !strings.Contains(err.Error(), other) {
			t.Errorf("a folder with two: %v", err)
		}
		if _, err = o.Session.Run(ctx, named, nil); err == nil ||
			!strings.Contains(err.Error(), other) {
			t.Errorf("a run of a folder with two: %v", err)
		}
		text, _ := os.ReadFile(ptx)
		asked = os.WriteFile(ptx, append([]byte("// tilescope: --seed 5\n"), text...), 0o644)
		if req, err := again(ctx); err != nil || req.Seed != 5 {
			t.Errorf("reopened: %v, seed %d", err, req.Seed)
		}
		for says, words := range map[string][]string{
			"found 0":            {"--seed", "1"},
			"found 2":            {"stage1", "stage2"},
			"unknown target":     {"nosuch"},
			"--grid is missing":  {ptx},
			"unknown flag":       {"stage1", "--nosuch"},
			"arguments of a TAR": {"stage1", "--grid", "4"},
			"with no manifest":   {t.TempDir()},
		} {
			if _, _, err := o.Open(ctx, words); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v, expected %q", words, err, says)
			}
		}
	})
	if asked != nil {
		t.Fatal(asked)
	}
}

// TestOpenWithoutALaunch: a file without its launch opens the terminal too, with the words to complete and
// the error that proposes a launch; one of which no kernel is known does not.
func TestOpenWithoutALaunch(t *testing.T) {
	ptx := filepath.Join(stageless(t, "reduce.ptx"), "k.ptx")
	var got Terminal
	open := func(args ...string) (int, string) {
		var out, errOut bytes.Buffer
		got = Terminal{}
		code := Main(context.Background(), Program{
			Version: "test", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
			OpenTerminal: func(_ context.Context, o Terminal) error {
				got = o
				return o.Lacks // as the terminal does that has none on its output
			},
		})
		return code, errOut.String()
	}
	code, says := open(ptx, "--block", "256", "--arg", "0=iota:f32[512]", "--arg", "2=512", "--seed", "3")
	if code != 2 || !strings.Contains(says, "--grid is missing") {
		t.Errorf("exit %d: %s", code, says)
	}
	want := []string{ptx, "--arg=0=iota:f32[512]", "--arg=2=512", "--block=256", "--seed=3"}
	if !slices.Equal(got.Lacking, want) || got.Explicit || got.Reopen != nil ||
		got.Request.Target != "stage2" {
		t.Errorf("opened with %q, %+v", got.Lacking, got.Request)
	}
	if code, _ := open(filepath.Join(t.TempDir(), "nosuch.cu")); code != 2 || got.Session != nil {
		t.Errorf("a file that is not there: exit %d, opened %t", code, got.Session != nil)
	}
}

// inTerminal runs do where the terminal would be opened.
func inTerminal(t *testing.T, do func(context.Context, Terminal)) {
	t.Helper()
	var out, errOut bytes.Buffer
	opened := false
	code := Main(context.Background(), Program{
		Version: "test", Args: []string{"stage2"}, Stdin: strings.NewReader(""), Stdout: &out,
		Stderr: &errOut,
		OpenTerminal: func(ctx context.Context, o Terminal) error {
			opened = true
			do(ctx, o)
			return nil
		},
	})
	if code != 0 || !opened {
		t.Fatalf("exit %d, opened %t: %s", code, opened, errOut.String())
	}
}
