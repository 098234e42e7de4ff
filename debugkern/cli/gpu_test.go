package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tilescope/debugkern/report"
)

// TestGPUEqualsEmulator runs every variant of family A on a GPU and on the emulator, on every small shape:
// all captured tiles equal to the bit, the same output with and without probes, and nothing found. It drives
// the built program, which is also its own worker; TILESCOPE_BIN names one that is already built, for a
// machine without Go.
func TestGPUEqualsEmulator(t *testing.T) {
	bin := gpuProgram(t)
	for _, target := range []string{"scalar", "stage1", "stage2"} {
		for _, shape := range []string{"small", "validation", "single16", "partial", "partial49"} {
			out, err := exec.Command(bin, "run", target, "--shape", shape, "--backend", "both", "--json").
				Output()
			if err != nil {
				t.Errorf("%s %s: %v", target, shape, err)
				continue
			}
			rep := &report.Run{}
			if err := json.Unmarshal(out, rep); err != nil {
				t.Fatal(err)
			}
			if x := rep.Cross; x == nil || x.Class != "equal" || x.Cells == 0 {
				t.Errorf("%s %s: cross %+v", target, shape, x)
			} else {
				t.Logf("%s %s on %s: %d cells of %d tiles, %d differ", target, shape, rep.Backend.Device,
					x.Cells, x.Tiles, x.Differing)
			}
		}
	}
}

// TestGPUCrossClass: where a faulty kernel's bits differ between GPU and emulator, the class says what leaves
// them open, and a finding has its lines; they are never unexplained. Whether they differ is up to the GPU:
// at least one kernel's must.
func TestGPUCrossClass(t *testing.T) {
	bin := gpuProgram(t)
	differed := 0
	for _, c := range []struct{ target, fault, shape, class, kind string }{
		{"stage2", "sync-p", "validation", "schedule", "race"},
		{"stage2", "sync-s", "validation", "schedule", "race"},
		{"stage3b", "softmax-race", "validation", "schedule", "race"},
		{"stage2", "score-uninit", "validation", "undefined", "uninitialised"},
		{"stage2", "q-overread", "partial", "undefined", "out-of-bounds"},
	} {
		out, err := exec.Command(bin, "run", c.target, "--fault", c.fault, "--shape", c.shape, "--backend",
			"both", "--json").Output()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Errorf("%s %s: %v", c.target, c.fault, err)
			continue
		}
		rep := &report.Run{}
		if err := json.Unmarshal(out, rep); err != nil {
			t.Fatal(err)
		}
		if rep.Cross == nil {
			t.Fatalf("%s %s: no cross document", c.target, c.fault)
		}
		t.Logf("%s %s on %s: %d cells of %d differ, class %s", c.target, c.fault, rep.Backend.Device,
			rep.Cross.Differing, rep.Cross.Cells, rep.Cross.Class)
		if rep.Cross.Differing == 0 {
			if rep.Cross.Class != "equal" {
				t.Errorf("%s %s: class %s, nothing differs", c.target, c.fault, rep.Cross.Class)
			}
			continue
		}
		differed++
		if rep.Cross.Class != c.class {
			t.Errorf("%s %s: class %s, expected %s", c.target, c.fault, rep.Cross.Class, c.class)
		}
		var cause, difference *report.Finding
		for i := range rep.Findings {
			switch f := &rep.Findings[i]; f.Kind {
			case "backend-difference":
				difference = f
			case c.kind:
				cause = f
			}
		}
		if cause == nil || cause.Source == nil || difference == nil || difference.Source == nil ||
			c.class == "schedule" && difference.Other == nil {
			t.Errorf("%s %s: findings %+v", c.target, c.fault, rep.Findings)
		} else {
			t.Logf("  %s (%s)", difference.Message, difference.Consequence)
		}
	}
	if differed == 0 {
		t.Error("no kernel's bits differ: nothing was tested")
	}
}

// gpuProgram is the program under test; the test is skipped where nobody says that there is a GPU.
func gpuProgram(t *testing.T) string {
	t.Helper()
	if os.Getenv("TILESCOPE_GPU") == "" {
		t.Skip("needs an NVIDIA GPU: set TILESCOPE_GPU=1 (make test-gpu)")
	}
	bin := os.Getenv("TILESCOPE_BIN")
	if bin == "" {
		bin = filepath.Join(t.TempDir(), "tilescope")
		if out, err := exec.Command("go", "build", "-o", bin, "tilescope").CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	return bin
}

// TestGPUPerturb: seeded delays change what racy kernels compute, and nothing of what clean ones do. Clean
// ones get 200 seeds each with TILESCOPE_LONG set, else 25.
func TestGPUPerturb(t *testing.T) {
	bin := gpuProgram(t)
	perturb := func(seeds string, args ...string) (differed int) {
		t.Helper()
		args = append(append([]string{"diagnose"}, args...), "--backend", "cuda", "--schedules", "1",
			"--perturb="+seeds, "--json")
		out, err := exec.Command(bin, args...).Output()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("%v: %v", args, err)
		}
		var doc struct {
			Perturbed *struct {
				Seeds, Differed int
				Says            string
			}
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Perturbed == nil || fmt.Sprint(doc.Perturbed.Seeds) != seeds {
			t.Fatalf("%v: perturbed %+v", args, doc.Perturbed)
		}
		t.Logf("%v: %s", args[1:3], doc.Perturbed.Says)
		return doc.Perturbed.Differed
	}
	for _, racy := range [][]string{{"stage3b", "--fault", "softmax-race"}, {"stage2", "--fault", "sync-p"}} {
		if perturb("50", racy...) == 0 {
			t.Errorf("%v: no seed changes anything", racy)
		}
	}
	seeds := "25"
	if os.Getenv("TILESCOPE_LONG") != "" {
		seeds = "200"
	}
	for _, target := range []string{
		"scalar", "stage1", "stage2", "stage3a", "stage3b", "swizzle", "swizzle3a", "pipe3", "kvlut",
		"flashcore_vec", "flashcore_fused_wmma",
	} {
		if n := perturb(seeds, target); n > 0 {
			t.Errorf("%s: %d of %s seeds change a clean kernel", target, n, seeds)
		}
	}
}
