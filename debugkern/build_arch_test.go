package debugkern

import (
	"errors"
	"testing"

	"tilescope/configs"
)

// TestArchitectureIsAName: what is not the name of an architecture is a usage error, not the compiler's.
func TestArchitectureIsAName(t *testing.T) {
	for arch, want := range map[string]Code{"": 0, "sm_80": 0, "sm_90a": 0, "sm_nosuch": CodeUsage, "-rdc=true": CodeUsage, "compute_80": CodeUsage, "sm_80 -G": CodeUsage} {
		err := checkArch(arch)
		var coded *Error
		if want == 0 && err != nil || want != 0 && (!errors.As(err, &coded) || coded.Code != want) {
			t.Errorf("%q: %v", arch, err)
		}
	}
	s, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var coded *Error
	if _, err := s.Run(t.Context(), Request{Target: "flashcore_vec", Shape: "small", Backend: "emu", Arch: "sm_nosuch"}, nil); !errors.As(err, &coded) || coded.Code != CodeUsage {
		t.Errorf("run: %v", err)
	}
}

// TestSourceWithNUL: a compiler takes text up to its first NUL, so that a source with one is refused where the NUL stands.
func TestSourceWithNUL(t *testing.T) {
	m := &configs.Manifest{Name: "k.cu", Source: "k.cu", Dir: t.TempDir()}
	var failed *runError
	if _, err := ownBuild(m, &sourceSet{text: []byte("int a;\nint \x00b;\n")}, configs.Compile{}); !errors.As(err, &failed) || failed.stage != "build" || failed.source == nil || failed.source.Line != 2 {
		t.Errorf("%v", err)
	}
}
