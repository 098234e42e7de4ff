package trial

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// TestPerturbedKernels perturbs the catalogue's kernels: they stay valid, NVIDIA's assembler takes them where
// there is one, and on the emulator, which does not sleep, they compute what they did.
func TestPerturbedKernels(t *testing.T) {
	ptxas := filepath.Join("..", "..", ".toolchain", "nvidia", "cuda_nvcc", "bin", "ptxas")
	if _, err := os.Stat(ptxas); err != nil {
		if ptxas, err = exec.LookPath("ptxas"); err != nil {
			t.Log("no ptxas in .toolchain or on the path: the kernels are not assembled")
		}
	}
	for _, target := range []string{"stage3b", "swizzle3a", "flashcore_fused_wmma"} {
		t.Run(target, func(t *testing.T) {
			run := debugtest.Run(t, debugkern.Request{Target: target, Shape: "small"})
			plain, err := run.Relaunch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m, places, err := ptx.Perturbed(plain.Module(), run.Plan.Entry, 7)
			if err != nil || places < 10 {
				t.Fatalf("%d places, %v", places, err)
			}
			if err := ptx.Validate(m); err != nil {
				t.Fatal(err)
			}
			now, err := plain.Execute(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(now.Output(), run.Outcome().Output()) {
				t.Error("the perturbed kernel computes something else")
			}
			if ptxas == "" {
				return
			}
			in := filepath.Join(t.TempDir(), "k.ptx")
			var text bytes.Buffer
			if err := errors.Join(ptx.Print(&text, m), os.WriteFile(in, text.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
			if msg, err := exec.Command(ptxas, "-arch=sm_90", "-o", in+".cubin", in).
				CombinedOutput(); err != nil {
				t.Errorf("ptxas: %v\n%s", err, msg)
			}
		})
	}
}

func TestPerturbWantsAGPU(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: "single16"})
	_, err := Perturb(t.Context(), run, 3, nil)
	var coded *report.Error
	if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
		!strings.Contains(err.Error(), "--schedules") {
		t.Errorf("%v", err)
	}
}

// A launch that did not end has no output to compare: no elements and no changes are printed.
func TestPerturbationWords(t *testing.T) {
	p := Perturbation{
		Device: "a GPU", Seeds: 5, Differed: 1, Failed: 1, Failure: "timeout", Worst: 2, MaxAbs: math.Inf(1),
	}
	if want := "1 of 5 launches with seeds of delays on a GPU did not end (seed 2): timeout"; p.String() !=
		want {
		t.Errorf("%s, want %s", &p, want)
	}
	p = Perturbation{Device: "a GPU", Seeds: 5, Differed: 2, Worst: 3, MaxAbs: 0.5, Elements: 7}
	if want := "O differs under 2 of 5 seeds of delays on a GPU, by up to 0.5 (seed 3, 7 elements)"; p.String() != want {
		t.Errorf("%s, want %s", &p, want)
	}
}
