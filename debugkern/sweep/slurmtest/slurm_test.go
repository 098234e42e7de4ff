//go:build linux

package slurmtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tilescope/debugkern/sweep"
)

// program is the built tilescope.
func program(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("TILESCOPE_BIN")
	if os.Getenv("TILESCOPE_SLURM") == "" || bin == "" {
		t.Skip("starts a real Slurm: make test-slurm")
	}
	return bin
}

// user is a user's home, configuration and sweeps.
type user struct {
	c   *cluster
	bin string
}

// script is slurm.template: a node has one processor, so that its shards get one.
const script = "#!/bin/sh\nexport GOMAXPROCS=1\n{{.Command}}\n"

func (u *user) command(more ...string) *exec.Cmd {
	args := append([]string{"sweep", "stage2", "--shapes", "partial,partial49", "--seeds", "0-999",
		"--backend", "emu"}, more...)
	cmd := exec.Command(u.bin, args...)
	cmd.Dir = u.c.dir
	cmd.Env = u.c.environment("HOME="+u.c.dir, "GOMAXPROCS=1", "TILESCOPE_SWEEP_CHUNK=50",
		"TILESCOPE_SLURM_TEMPLATE="+filepath.Join(u.c.dir, "script"))
	return cmd
}

// sweep executes a sweep of 2,000 runs in a folder and returns its document and the time it took; nil where
// it failed.
func (u *user) sweep(out string, more ...string) ([]byte, time.Duration) {
	t := u.c.t
	t.Helper()
	dir := filepath.Join(u.c.dir, out)
	begun := time.Now()
	if printed, err := u.command(append(more, "--out", dir)...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", out, err, printed)
		return nil, 0
	}
	took := time.Since(begun)
	b, err := os.ReadFile(filepath.Join(dir, sweep.DocumentFile))
	if err != nil {
		t.Error(err)
	}
	return b, took
}

// done is how many runs of a folder have results.
func (u *user) done(out string) int {
	b, err := exec.Command(u.bin, "sweep", "status", filepath.Join(u.c.dir, out), "--json").Output()
	var s sweep.Status
	if err != nil || json.Unmarshal(b, &s) != nil {
		return 0 // there is no plan yet
	}
	return s.Done
}

// TestSlurm executes the same 2,000 runs here, on one node, on three, on three of which one is killed
// twice, and on three by a command that detaches: each document has the bytes of the first.
func TestSlurm(t *testing.T) {
	bin := program(t)
	c := start(t, "n1", "n2", "n3")
	c.write("script", []byte(script), 0o644)
	u := &user{c: c, bin: bin}
	t.Logf("%d processors, %s", runtime.NumCPU(), strings.TrimSpace(c.slurm("sinfo", "--version")))
	want, local := u.sweep("local", "--jobs", "1")
	var doc sweep.Doc
	if err := json.Unmarshal(want, &doc); err != nil || len(doc.Runs) != 2000 {
		t.Fatalf("%v, %d runs", err, len(doc.Runs))
	}
	t.Logf("%-42s %7.1f s", "2,000 runs here, one at a time", local.Seconds())
	same := func(what string, got []byte, took, base time.Duration) {
		t.Helper()
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the document is another", what)
		}
		t.Logf("%-42s %7.1f s, %.2f times as fast as one node", what, took.Seconds(),
			base.Seconds()/took.Seconds())
	}
	os.Setenv("TILESCOPE_SLURM_OPTIONS", "--partition=one")
	got, one := u.sweep("one", "--on", "slurm")
	os.Unsetenv("TILESCOPE_SLURM_OPTIONS")
	same("one node, 40 shards in 2 arrays", got, one, one)
	got, three := u.sweep("three", "--on", "slurm")
	same("three nodes", got, three, one)
	u.killed(same, one)
	u.detached(same, one)
}

// killed kills a node twice while a sweep is executed, and boots it again.
func (u *user) killed(same func(string, []byte, time.Duration, time.Duration), one time.Duration) {
	t, c := u.c.t, u.c
	t.Helper()
	ended := make(chan struct{})
	var got []byte
	var took time.Duration
	go func() {
		defer close(ended)
		got, took = u.sweep("killed", "--on", "slurm")
	}()
	for _, at := range []int{200, 700} {
		c.until("n2 executes a shard", time.Minute, func() bool {
			return u.done("killed") >= at && c.slurm("squeue", "-h", "-w", "n2", "-t", "R") != ""
		})
		n := c.kill("n2")
		t.Logf("n2 killed after %d runs, %d processes", u.done("killed"), n)
		c.until("n2 is down", time.Minute, func() bool {
			return strings.Contains(c.slurm("sinfo", "-h", "-p", "all", "-n", "n2", "-o", "%T"), "down")
		})
		c.boot("n2")
	}
	<-ended
	if t.Failed() {
		return
	}
	same("three nodes, one killed twice", got, took, one)
}

// detached interrupts the command that waits, and attaches with another.
func (u *user) detached(same func(string, []byte, time.Duration, time.Duration), one time.Duration) {
	t := u.c.t
	t.Helper()
	begun := time.Now()
	cmd := u.command("--on", "slurm", "--out", filepath.Join(u.c.dir, "detached"))
	var printed bytes.Buffer
	cmd.Stderr = &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	u.c.until("200 runs are done", time.Minute, func() bool { return u.done("detached") >= 200 })
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	if code != 130 || !strings.Contains(printed.String(), "detached: the jobs go on") {
		t.Errorf("Ctrl-C: exit code %d: %s", code, printed.String())
	}
	before := u.done("detached")
	u.c.until("the jobs go on", time.Minute, func() bool { return u.done("detached") > before })
	got, _ := u.sweep("detached", "--on", "slurm")
	same("three nodes, detached and attached again", got, time.Since(begun), one)
}
