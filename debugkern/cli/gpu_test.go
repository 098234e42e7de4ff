package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tilescope/debugkern"
)

// TestGPUEqualsEmulator runs every variant of family A on a GPU and on the emulator, on every small shape: all captured tiles
// equal to the bit, the same output with and without probes, and nothing found. It drives the built program, which is also
// its own worker; TILESCOPE_BIN names one that is already built, for a machine without Go.
func TestGPUEqualsEmulator(t *testing.T) {
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
	for _, target := range []string{"scalar", "stage1", "stage2"} {
		for _, shape := range []string{"small", "validation", "single16", "partial", "partial49"} {
			out, err := exec.Command(bin, "run", target, "--shape", shape, "--backend", "both", "--json").Output()
			if err != nil {
				t.Errorf("%s %s: %v", target, shape, err)
				continue
			}
			rep := &debugkern.Report{}
			if err := json.Unmarshal(out, rep); err != nil {
				t.Fatal(err)
			}
			if x := rep.Cross; x == nil || x.Class != "equal" || x.Cells == 0 {
				t.Errorf("%s %s: cross %+v", target, shape, x)
			} else {
				t.Logf("%s %s on %s: %d cells of %d tiles, %d differ", target, shape, rep.Backend.Device, x.Cells, x.Tiles, x.Differing)
			}
		}
	}
}
