package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tilescope/configs"
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
	base := filepath.Join(dir, "base")
	t.Setenv("TILESCOPE_FAULTS", "p-stale-m")
	t.Setenv("TILESCOPE_FLAGS", "USE_SMEM_SWIZZLE_XOR=1")
	out, errText, code = call(t, "sweep", "stage2", "--backend", "emu", "--json", "--out", base)
	var faulty sweep.Doc
	if err := json.Unmarshal([]byte(out), &faulty); err != nil || code == exitUsage {
		t.Fatalf("exit %d: %v: %s%s", code, err, out, errText)
	}
	if r := faulty.Runs[0]; r.Name() != "stage2 --shape validation --seed 0 --fault p-stale-m --set USE_SMEM_SWIZZLE_XOR=1" {
		t.Errorf("a fault and a flag of the configuration: the run is %s", r.Name())
	}
	os.Unsetenv("TILESCOPE_FAULTS")
	os.Unsetenv("TILESCOPE_FLAGS")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sweep"}, "at least one TARGET"},
		{[]string{"sweep", "stage2"}, "needs --out DIR"},
		{[]string{"sweep", "stage1", "--out", filepath.Join(dir, "whole")}, "has another plan, of 6 runs"},
		{plan("x", "--shard", "2/2"), "--shard 2/2: expected I/N"},
		{plan("x", "--jobs", "0"), "--jobs 0"},
		{plan("x", "--on", "moon"), "--on moon: expected local, slurm or kubernetes"},
		{plan("x", "--on", "slurm", "--shard", "0/2"), "--on slurm cuts the sweep into shards itself"},
		{[]string{"sweep", "stage2", "--on", "slurm", "--out", filepath.Join(dir, "x")},
			"needs --backend emu, cuda or both"},
		{plan("x", "--on", "kubernetes"), "kubernetes.image IMAGE"},
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

// TestSweepOnSlurm runs a sweep through stand-ins for Slurm's commands: sbatch executes every shard of an
// array at once, but for the first, which dies in the first round.
func TestSweepOnSlurm(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are shell scripts")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	for name, script := range map[string]string{
		"scontrol": "echo 'MaxArraySize = 1001'\n",
		"squeue":   "",
		"sacct":    "exit 1\n",
		"scancel":  "echo \"$@\" >" + dir + "/cancelled\n",
		"sbatch": `cat >` + dir + `/script
for w in "$@"; do case $w in --array=*) array=${w#*=} ;; --chdir=*) cd "${w#*=}" ;; esac; done
echo "$@" >>` + dir + `/submitted
echo 7
[ -n "$array" ] || exit 0
export ` + asProgram + `=1
case $array in *-*) first=$((${array%-*} + 1)) ;; *) first=$array ;; esac
for SLURM_ARRAY_TASK_ID in $(seq $first ${array#*-}); do export SLURM_ARRAY_TASK_ID
  sh ` + dir + `/script >>` + dir + `/output 2>&1 || echo "shard $SLURM_ARRAY_TASK_ID: $?" >>` + dir + `/died
done
`,
	} {
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("TILESCOPE_SWEEP_CHUNK", "2")
	args := func(out string, more ...string) []string {
		return append([]string{"sweep", "stage2", "--shapes", "small", "--seeds", "0-4", "--backend", "emu",
			"--set", "USE_SMEM_SWIZZLE_XOR=0,1", "--out", filepath.Join(dir, out)}, more...)
	}
	if _, errText, code := call(t, args("local")...); code != exitOK {
		t.Fatalf("exit %d: %s", code, errText)
	}
	_, errText, code := call(t, args("jobs", "--on", "slurm")...)
	died, _ := os.ReadFile(filepath.Join(dir, "died"))
	if code != exitOK || len(died) > 0 {
		output, _ := os.ReadFile(filepath.Join(dir, "output"))
		t.Fatalf("exit %d: %s; %s%s", code, errText, died, output)
	}
	submitted, _ := os.ReadFile(filepath.Join(dir, "submitted"))
	for _, want := range []string{"--array=0-4 ", "--array=0 ", "--dependency=afterany:7 "} {
		if !strings.Contains(string(submitted), want) {
			t.Errorf("no %q in %s", want, submitted)
		}
	}
	var files [2][]byte
	for i, name := range []string{"local", "jobs"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name, sweep.DocumentFile)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the document of the jobs is another")
	}
	if _, errText, code := call(t, "sweep", "cancel", filepath.Join(dir, "jobs")); code != exitOK {
		t.Errorf("cancel: exit %d: %s", code, errText)
	}
	if ids, _ := os.ReadFile(filepath.Join(dir, "cancelled")); string(ids) != "--quiet 7 7\n" {
		t.Errorf("scancel %s", ids)
	}
}

// TestSweepTimeout: --timeout limits each run of a sweep, not the sweep.
func TestSweepTimeout(t *testing.T) {
	a := &app{config: &configs.Config{Timeout: time.Minute}}
	for name, limited := range map[string]bool{"sweep": false, "gates": true} {
		c, _, err := a.root().Find([]string{name, "stage2"})
		if err != nil {
			t.Fatal(err)
		}
		c.SetContext(t.Context())
		if err := a.limit(c); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Context().Deadline(); ok != limited {
			t.Errorf("%s has a time limit: %v", name, ok)
		}
	}
}
