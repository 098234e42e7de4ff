package debugkern

import (
	"errors"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/report"
)

// TestArchitectureIsAName: what is not the name of an architecture is a usage error, not the compiler's.
func TestArchitectureIsAName(t *testing.T) {
	for arch, want := range map[string]report.Code{"": 0, "sm_80": 0, "sm_90a": 0, "sm_nosuch": report.CodeUsage, "-rdc=true": report.CodeUsage, "compute_80": report.CodeUsage, "sm_80 -G": report.CodeUsage} {
		err := checkArch(arch)
		var coded *report.Error
		if want == 0 && err != nil || want != 0 && (!errors.As(err, &coded) || coded.Code != want) {
			t.Errorf("%q: %v", arch, err)
		}
	}
	s, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var coded *report.Error
	if _, err := s.Run(t.Context(), Request{Target: "flashcore_vec", Shape: "small", Backend: "emu", Arch: "sm_nosuch"}, nil); !errors.As(err, &coded) || coded.Code != report.CodeUsage {
		t.Errorf("run: %v", err)
	}
}

// TestSourceWithNUL: a compiler takes text up to its first NUL, so that a source with one is refused where the NUL stands.
func TestSourceWithNUL(t *testing.T) {
	m := &configs.Manifest{Name: "k.cu", Source: "k.cu", Dir: t.TempDir()}
	var failed *report.KernelError
	if _, err := ownBuild(m, &sourceSet{text: []byte("int a;\nint \x00b;\n")}, configs.Compile{}); !errors.As(err, &failed) || failed.Stage != "build" || failed.Source == nil || failed.Source.Line != 2 {
		t.Errorf("%v", err)
	}
}
