package build

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/report"
)

// TestArchitectureIsAName: what is not the name of an architecture is a usage error, not the compiler's.
func TestArchitectureIsAName(t *testing.T) {
	for arch, want := range map[string]report.Code{
		"": 0, "sm_80": 0, "sm_90a": 0, "sm_nosuch": report.CodeUsage, "-rdc=true": report.CodeUsage,
		"compute_80": report.CodeUsage, "sm_80 -G": report.CodeUsage,
	} {
		err := checkArch(arch)
		var coded *report.Error
		if want == 0 && err != nil || want != 0 && (!errors.As(err, &coded) || coded.Code != want) {
			t.Errorf("%q: %v", arch, err)
		}
	}
}

// TestSourceWithNUL: a compiler takes text up to its first NUL, so that a source with one is refused
// where the NUL stands.
func TestSourceWithNUL(t *testing.T) {
	m := &configs.Manifest{Name: "k.cu", Source: "k.cu", Dir: t.TempDir()}
	var failed *report.KernelError
	if _, err := ownBuild(m, &SourceSet{Text: []byte("int a;\nint \x00b;\n")},
		configs.Compile{}); !errors.As(err, &failed) || failed.Stage != "build" || failed.Source == nil ||
		failed.Source.Line != 2 {
		t.Errorf("%v", err)
	}
}

// TestOddPTX: what is no regular file is refused, and named, where a manifest brings its PTX.
func TestOddPTX(t *testing.T) {
	dir := t.TempDir()
	paths := map[string]string{dir: "is a directory"}
	if runtime.GOOS == "linux" {
		paths["/dev/zero"] = "is a device"
	}
	for path, want := range paths {
		_, err := readPTX(t.Context(), path)
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
