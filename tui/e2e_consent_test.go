//go:build unix

package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/kernels"
)

// consentAsked opens the program in a directory that brings an nvcc of its own. It is executed after a yes,
// and not before; n leaves the reason on the screen and is not asked twice; a yes is recorded for the next
// session, and not for another nvcc.
func consentAsked(t *testing.T, program string) {
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err == nil {
		t.Skip("the nvcc of this machine needs no consent")
	}
	home := t.TempDir()
	mark := filepath.Join(t.TempDir(), "mark")
	nvcc := fakeNVCC(t, home, mark)
	terminal := func() *terminal {
		return openAt(t, program, home, 80, 24, []string{"PATH=/bin:/usr/bin"}, "--builder", "nvcc",
			"--shape", "small")
	}
	executed := func(want bool, when string) {
		t.Helper()
		if _, err := os.Stat(mark); (err == nil) != want {
			t.Fatalf("%s: nvcc was executed: %t", when, !want)
		}
	}
	x := terminal()
	x.shows("TRUST ", "directory", "digest", "bin/nvcc", "y    trust them", "n    do not use them")
	executed(false, "while the question is open")
	x.press("n")
	x.shows("✗ NOT RUN", "is not used:", ":trust asks again")
	x.press("x")
	x.shows("✗ NOT RUN", "x runs again") // no question in its place
	x.press(":trust\r")
	x.shows("y    trust them")
	executed(false, "after n")
	x.press("y")
	x.shows("✓ AGREE")
	executed(true, "after y")
	x.leaves()
	record, err := os.ReadFile(filepath.Join(home, "tilescope", "trust.json"))
	if err != nil || !strings.Contains(string(record), nvcc) {
		t.Fatalf("the record is %s, %v", record, err)
	}
	x = terminal()
	x.shows("✓ AGREE")
	x.leaves()
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(nvcc, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "# another")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	x = terminal()
	x.shows("TRUST ", "n    do not use them")
	x.press("\x1b")
	x.shows("✗ NOT RUN")
	executed(false, "changed")
	x.leaves()
}

// fakeNVCC puts a command below home that leaves a mark and gives out the archive's build of stage2.
func fakeNVCC(t *testing.T, home, mark string) string {
	t.Helper()
	entry, ok, err := kernels.Find(kernels.Key{
		Kernel: "sdpa_fp8_stage_c_wmma", Defines: []string{"TS_PROBES=1", "USE_CP_ASYNC=1", "USE_WMMA_PV=1"},
	})
	if err != nil || !ok {
		t.Fatalf("no build of stage2 in the archive: %v", err)
	}
	nvcc := filepath.Join(home, ".toolchain", "bin", "nvcc")
	ptx := filepath.Join(home, "stage2.ptx")
	for path, text := range map[string]string{
		nvcc: fmt.Sprintf(
			"#!/bin/sh\n: > %s\ncase $1 in --version) echo 'release 12.0, V12.0.140';; *) cp %s out.ptx;; esac\n",
			mark, ptx), ptx: string(entry.PTX),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return nvcc
}
