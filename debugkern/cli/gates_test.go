package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/gates"
)

// TestGates judges one variant on one shape, end to end: document, artefacts, exit code.
func TestGates(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	out, errText, code := call(t, "gates", "stage2", "--shapes", "small", "--shape", "small", "--seeds", "0",
		"--backend", "emu", "--out", dir, "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	var doc gates.Doc
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != gates.Schema || doc.Verdict != gates.Green || len(doc.Targets) != 1 {
		t.Fatalf("%s %s, %d targets", doc.Schema, doc.Verdict, len(doc.Targets))
	}
	d := doc.Targets[0]
	if d.Correctness.Passed != 1 || d.Correctness.Total != 1 || d.Correctness.Limits.MaxAbs != 0.06 ||
		d.Build.Builder != "embedded" {
		t.Errorf("correctness %+v, build %+v", d.Correctness, d.Build)
	}
	c := d.Correctness.Cells[0]
	if c.Plain != "equal" || c.Output == nil || c.Output.MaxAbs > 0.04 || len(c.OutputSHA256) != 64 ||
		c.Backend.Name != "emu" {
		t.Errorf("cell %+v", c)
	}
	if p := d.Performance; p.Verdict != gates.NotRun || p.Reason == "" || p.Times != nil || p.Counts == nil ||
		p.Counts.Barriers == 0 || p.Counts.SharedAccesses == 0 {
		t.Errorf("performance %+v: the emulator counts, and does not time", p)
	}
	if len(d.PTXAS.Archs) != len(gates.ArchsOf("")) {
		t.Errorf("architectures %+v", d.PTXAS.Archs)
	}
	for _, a := range d.PTXAS.Archs {
		if a.Verdict == gates.NotRun {
			if a.Reason == "" {
				t.Errorf("%s: not run without a reason", a.Arch)
			}
		} else if a.Resources == nil || a.Resources.SharedBytes != 37120 || a.Verdict != gates.Green {
			t.Errorf("%s: %s %+v: stage2 has 37,120 shared bytes", a.Arch, a.Verdict, a.Resources)
		}
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{
		gates.CompareFile, gates.BuildFile, gates.CorrectnessFile, gates.PerfFile,
	}; !slices.Equal(names, want) {
		t.Errorf("artefacts %v, want %v", names, want)
	}
}

// TestGatesRed plants a fault: exit 1, and the text says what is wrong.
func TestGatesRed(t *testing.T) {
	t.Parallel()
	out, errText, code := call(t, "gates", "stage2", "--fault", "scale-twice", "--shape", "small", "--seed",
		"3", "--backend", "emu", "--against", "stage1")
	if code != 1 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	for _, want := range []string{
		"gates: red", "red 0/1", "small seed 3: wrong: S", "counted by the emulator, not timed",
		"stage1 on small",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// TestStage3AEqualsStage2 compares O of both to the bit, on partial and whole tiles.
func TestStage3AEqualsStage2(t *testing.T) {
	t.Parallel()
	out, errText, code := call(t, "gates", "stage2", "stage3a", "--shapes", "small,partial49,1,2,64,64",
		"--seeds", "0-1", "--shape", "small", "--backend", "emu", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	var doc gates.Doc
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	a, b := doc.Targets[0].Correctness.Cells, doc.Targets[1].Correctness.Cells
	if len(a) != 6 || len(b) != 6 {
		t.Fatalf("%d and %d cells", len(a), len(b))
	}
	for i := range a {
		if a[i].OutputSHA256 != b[i].OutputSHA256 || a[i].OutputSHA256 == "" {
			t.Errorf("%s seed %d: O differs", a[i].Label(), a[i].Seed)
		}
	}
}

// TestGatesShapes leaves out the shapes on which a fault can do nothing.
func TestGatesShapes(t *testing.T) {
	t.Parallel()
	out, errText, code := call(t, "gates", "stage2", "--fault", "mask-missing", "--seeds", "0", "--backend",
		"emu", "--json")
	if code != 1 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	var doc gates.Doc
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	var shapes []string
	for _, c := range doc.Targets[0].Correctness.Cells {
		shapes = append(shapes, c.Shape)
		if c.Verdict != gates.Red {
			t.Errorf("%s is %s with a fault planted", c.Shape, c.Verdict)
		}
	}
	if want := []string{"single16", "partial", "partial49"}; !slices.Equal(shapes, want) {
		t.Errorf("shapes %v, want %v", shapes, want)
	}
}

func TestGatesRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"at least one TARGET": {}, `"nix"`: {"stage2", "--shapes", "nix"}, "unknown target": {"nix"},
		"--against": {"stage2", "--against", "nix"}, "--seeds": {"stage2", "--seeds", "3-1"},
		"--arch": {"stage2", "--arch", "80"}, "four numbers": {"stage2", "--shapes", "1,2,3"},
		"--launches": {"stage2", "--launches", "1"},
		"--dump":     {"stage2", "--dump", filepath.Join(t.TempDir(), "x.npz")},
	} {
		out, errText, code := call(t, append([]string{"gates"}, args...)...)
		if code != 2 || out != "" || !strings.Contains(errText, want) {
			t.Errorf("gates %v: exit %d, %q on standard error, want 2 naming %q", args, code, errText, want)
		}
	}
}

func TestGatesLists(t *testing.T) {
	shapes, err := shapeList("small, 1,1,32,64,mission,small")
	if err != nil || !slices.Equal(shapes, []string{"small", "1,1,32,64", "mission"}) {
		t.Errorf("shapes %q, %v", shapes, err)
	}
	seeds, err := seedList("0-2,7,1,18446744073709551615")
	if err != nil || !slices.Equal(seeds, []uint64{0, 1, 2, 7, 1<<64 - 1}) {
		t.Errorf("seeds %v, %v", seeds, err)
	}
}
