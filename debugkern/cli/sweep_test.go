package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/sweep"
)

// TestSweep runs small plans end to end: documents, exit codes, shards, and what is refused.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	plan := func(out string, more ...string) []string {
		return append([]string{"sweep", "stage2", "stage3b", "--shapes", "small", "--seeds", "0-2",
			"--backend", "emu", "--out", filepath.Join(dir, out)}, more...)
	}
	out, errText, code := call(t, append(plan("whole"), "--json")...)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errText)
	}
	var doc sweep.Doc
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != sweep.Schema || len(doc.Runs) != 6 {
		t.Fatalf("%+v", doc)
	}
	if r := doc.Runs[4]; r.Name() != "stage3b --shape small --seed 1" || len(r.Digest) != 64 ||
		r.Digest == doc.Runs[3].Digest {
		t.Errorf("%+v", doc)
	}
	if _, errText, code = call(t, plan("whole")...); code != exitOK ||
		!strings.Contains(errText, "6 of 6 runs were done before") {
		t.Errorf("again: exit %d: %s", code, errText)
	}
	for _, part := range []string{"0/2", "1/2"} {
		if _, errText, code = call(t, plan("parts", "--shard", part)...); code != exitOK {
			t.Errorf("shard %s: exit %d: %s", part, code, errText)
		}
	}
	if _, errText, code = call(t, "sweep", "merge", filepath.Join(dir, "parts")); code != exitOK {
		t.Errorf("merge: exit %d: %s", code, errText)
	}
	var files [2][]byte
	for i, name := range []string{"whole", "parts"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name, sweep.DocumentFile)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the shards' document is another")
	}
	out, errText, code = call(t, "sweep", "stage2", "--faults", "p-stale-m,mask-zero", "--check", "--set",
		"USE_SMEM_SWIZZLE_XOR=0,1", "--gates", "none,softmax", "--out", filepath.Join(dir, "faults"))
	for _, want := range []string{
		"4 runs: 0 agree, 4 do not", "4 combinations cannot be",
		"--fault p-stale-m --set USE_SMEM_SWIZZLE_XOR=1: diverge in P",
		"fault mask-zero can do nothing on shape",
	} {
		if !strings.Contains(out, want) || code != exitDiverged {
			t.Errorf("faults: exit %d, no %q in\n%s%s", code, want, out, errText)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sweep"}, "at least one TARGET"},
		{[]string{"sweep", "stage2"}, "needs --out DIR"},
		{[]string{"sweep", "stage1", "--out", filepath.Join(dir, "whole")}, "has another plan, of 6 runs"},
		{plan("x", "--shard", "2/2"), "--shard 2/2: expected I/N"},
		{plan("x", "--jobs", "0"), "--jobs 0"},
		{plan("x", "--on", "moon"), "--on moon: expected local"},
		{plan("x", "--set", "USE_WMMA_PV=one"), `"one" is no whole number`},
		{plan("x", "--gates", "qk,,pv"), "an empty name"},
		{plan("x", "--gates", "nope"), "no run of this sweep can be"},
		{[]string{"sweep", "nope", "--out", filepath.Join(dir, "x")}, `unknown target "nope"`},
		{[]string{"sweep", "status", dir}, "is no folder of tilescope sweep"},
		{[]string{"sweep", "merge"}, "takes the folder DIR"},
	} {
		if _, errText, code := call(t, c.args...); code != exitUsage || !strings.Contains(errText, c.want) {
			t.Errorf("%v: exit %d, %q, want %q", c.args, code, errText, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a refused sweep has left a folder")
	}
}
