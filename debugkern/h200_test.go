package debugkern

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"tilescope/probes"
)

// TestEmulatorEqualsHardware runs the embedded PTX on inputs whose tiles were captured on an NVIDIA H200,
// with the same probes: every tile of every stage and the output must be equal to the bit.
func TestEmulatorEqualsHardware(t *testing.T) {
	text, err := os.ReadFile("testdata/h200.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Shapes map[string]map[string]map[string]string
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	s := openSession(t)
	compared := 0
	for shape, variants := range golden.Shapes {
		for variant, stages := range variants {
			run, err := s.Run(context.Background(), Request{
				Target: variant, Inputs: "testdata/h200_" + shape + ".npz", Builder: "embedded",
				Backend: "emu",
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range stages {
				if got := stageHash(t, run, name); got != want {
					t.Errorf("%s %s: stage %s differs from the hardware's tiles", shape, variant, name)
				}
				compared++
			}
		}
	}
	if compared != 2*3*9 {
		t.Errorf("%d stages compared", compared)
	}
}

// stageHash is SHA-256 over a stage's tiles as Dump lays them out.
func stageHash(t *testing.T, r *Run, name string) string {
	t.Helper()
	st := probes.Stage(name)
	sp := r.Plan.Stage(st)
	if sp == nil {
		t.Fatalf("stage %q", name)
	}
	var all bytes.Buffer
	switch {
	case st == "O":
		all.Write(r.state.output)
	default:
		for _, b := range r.Blocks() {
			lo, n := r.Range.Tiles(r.Plan, sp, b)
			for kv := range n {
				all.Write(clip(r.state.Tile(st, b, lo+kv), sp, b, lo+kv))
			}
		}
	}
	sum := sha256.Sum256(all.Bytes())
	return hex.EncodeToString(sum[:])
}
