package attention

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/cli"
	"tilescope/debugkern/cli/clitest"
	"tilescope/debugkern/report"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// found is where a planted fault is found: the first wrong stage, and the fingerprint that explains nine of
// ten wrong cells, if any.
type found struct{ stage, fingerprint, value string }

// faults are those of the manifests, each found at its stage.
var faults = map[string]map[string]found{
	"alibi":        {"slope": {stage: "A"}},
	"bottom_right": {"top-left": {"m", "mask", "without its offset of 16"}},
	"bshd":         {"no-padding": {stage: "K"}},
	"combine":      {"no-rescale": {"acc", "term", "carried acc, coefficient 1"}},
	"dropout":      {"next-query": {"dropped", "shifted", "the mask of the next row"}},
	"lse":          {"log2": {"LSE", "factor", "log2 instead of log"}},
	"mqa":          {"own-head": {stage: "V"}},
	"packed":       {"head-first": {"Q", "permuted", "dimensions 2 and 3 of QKV exchanged in memory"}},
	"padded":       {"one-more": {"l", "mask", "moved by one column to the right"}},
	"paged":        {"no-table": {"V", "permuted", "V without the index: entry i taken as i"}},
	"softcap":      {"no-cap": {"C", "factor", "1/2"}},
	"split":        {"no-maximum": {"sum", "term", "m left out: log l alone"}},
	"swizzle":      {"plain": {stage: "S"}},
	"transposed_v": {"row-major": {"V", "permuted", "dimensions 2 and 3 of V exchanged in memory"}},
	"varlen":       {"first-sequence": {stage: "K"}},
	"window": {
		"one-short": {"m", "mask", "the rule key + c >= query + r - LEFT moved by one column to the right"},
	},
}

// document runs a command with --json and returns its exit code and document.
func document(t *testing.T, args ...string) (int, *report.Run) {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), cli.Program{
		Version: "test", Args: append(args, "--backend", "emu", "--json"), Stdout: &out, Stderr: &errs,
	})
	rep := &report.Run{}
	if err := json.Unmarshal(out.Bytes(), rep); err != nil {
		t.Fatalf("%v: exit %d: %v\n%s", args, code, err, errs.String())
	}
	return code, rep
}

// manifests are the kernels of testdata by name.
func manifests(t *testing.T) map[string]*configs.Manifest {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 16 {
		t.Fatalf("%d manifests: %v", len(files), err)
	}
	out := map[string]*configs.Manifest{}
	for _, f := range files {
		m, err := configs.LoadManifest(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		out[m.Name] = m
	}
	return out
}

// kernelSample: of so many kernels one is built and judged without TILESCOPE_LONG.
const kernelSample = 4

// TestKernels: each kernel agrees on every shape of its manifest, with no finding of the checkers, and its
// planted fault is found. One kernel in kernelSample each time, all with TILESCOPE_LONG (make test-long).
func TestKernels(t *testing.T) {
	clitest.NeedNVRTC(t)
	all := manifests(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		t.Run(name, func(t *testing.T) {
			if i%kernelSample != 0 && os.Getenv("TILESCOPE_LONG") == "" {
				t.Skip("one kernel of four is judged without TILESCOPE_LONG: make test-long has all")
			}
			t.Parallel()
			for _, s := range m.Shapes {
				code, rep := document(t, "diagnose", m.File, "--shape", s.Name)
				judged := 0
				for _, st := range rep.Stages {
					if st.Verdict != report.OK {
						t.Errorf("%s: stage %s is %s", s.Name, st.Name, st.Verdict)
					}
					judged += st.Local.Cells
				}
				if code != 0 || rep.Verdict != report.Agree || judged == 0 || rep.Errors() > 0 {
					t.Errorf("%s: exit %d, verdict %s, %d cells judged, findings %+v", s.Name, code,
						rep.Verdict, judged, rep.Findings)
				}
			}
			if len(m.Faults) != len(faults[name]) || len(m.Faults) == 0 {
				t.Fatalf("%d faults in the manifest, %d in the table", len(m.Faults), len(faults[name]))
			}
			for _, f := range m.Faults {
				checkFault(t, m, f.Name, f.Shape, faults[name][f.Name])
			}
		})
	}
}

func checkFault(t *testing.T, m *configs.Manifest, fault, shape string, want found) {
	t.Helper()
	code, rep := document(t, "run", m.File, "--shape", shape, "--fault", fault)
	if code != 1 || rep.Verdict != report.Diverge || len(rep.Guilty) == 0 ||
		rep.Guilty[0].Stage != want.stage {
		t.Fatalf("%s: exit %d, verdict %s, guilty %+v; want %s", fault, code, rep.Verdict,
			rep.Guilty, want.stage)
	}
	st := rep.Stage(want.stage)
	if b := st.FirstBad; b == nil || b.Source == nil || b.Source.Line == 0 {
		t.Errorf("%s: the first bad cell of %s has no writer: %+v", fault, want.stage, b)
	}
	if want.fingerprint == "" {
		return
	}
	if len(st.Fingerprints) == 0 {
		t.Fatalf("%s: %s has no fingerprint", fault, want.stage)
	}
	best := st.Fingerprints[0]
	if best.Name != want.fingerprint || !strings.Contains(best.Value, want.value) || best.Explains < 0.9 {
		t.Errorf("%s: %s looks like %s %s (%.2f), want %s %s", fault, want.stage, best.Name, best.Value,
			float64(best.Explains), want.fingerprint, want.value)
	}
}

// TestInputsOfLengths: extents follow the elements that --inputs brings, and what they cannot be is
// refused at its expression. The first is diagnosed, the others run: all are diagnosed with TILESCOPE_LONG
// (make test-long).
func TestInputsOfLengths(t *testing.T) {
	clitest.NeedNVRTC(t)
	dir := t.TempDir()
	dump := filepath.Join(dir, "seed1.npz")
	code, other := document(t, "run", "testdata/padded.yaml", "--shape", "seven", "--seed", "1",
		"--dump", dump)
	if code != 0 {
		t.Fatalf("exit %d", code)
	}
	again := filepath.Join(dir, "again.npz")
	rewrite(t, dump, again, nil)
	code, rep := document(t, "run", "testdata/padded.yaml", "--shape", "seven", "--inputs", again)
	if code != 0 || rep.Digest != other.Digest {
		t.Errorf("exit %d, digest %s, want that of seed 1: %s", code, rep.Digest, other.Digest)
	}
	for i, c := range []struct {
		used []int32
		code int
		says string
	}{
		{[]int32{40, 0, 0, 0, 0, 0, 40}, 0, ""},
		{make([]int32, 7), 0, ""},
		// a key past the cache is the next head's: the kernel's own mistake, and it is found
		{[]int32{0, 0, 41, 0, 0, 0, 0}, 1, ""},
		{
			[]int32{
				0, 0, -17, 0, 0, 0, 0,
			}, 2, `work.tiles: "ceil_div(used[bz], N)" is -1; expected 0 to 2147483647 (shape B=7,H=1,S=40, bz = 2, used[2] = -17)`,
		},
		{[]int32{0, 1 << 30, 0, 0, 0, 0, 0}, 2, "kv tiles are possible"},
		{[]int32{1, 2}, 2, "array used has shape [2]: B is 2, but 7 in array Qx"},
	} {
		path := filepath.Join(dir, "changed.npz")
		rewrite(t, again, path, c.used)
		var out, errs bytes.Buffer
		command := "run"
		if i == 0 || os.Getenv("TILESCOPE_LONG") != "" {
			command = "diagnose"
		}
		args := []string{
			command, "testdata/padded.yaml", "--shape", "seven", "--inputs", path, "--backend", "emu",
		}
		if code := cli.Main(t.Context(), cli.Program{
			Version: "test", Args: args, Stdout: &out, Stderr: &errs,
		}); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("used %v: exit %d, want %d and %q: %s%s", c.used, code, c.code, c.says, errs.String(),
				out.String())
		}
	}
}

// TestDumpOfOutputs: a dump has every output that a stage is cut out of, in its dimensions and without the
// gaps of its strides.
func TestDumpOfOutputs(t *testing.T) {
	clitest.NeedNVRTC(t)
	for _, c := range []struct {
		kernel, shape string
		arrays        map[string]string
	}{
		{
			"lse", "ragged", map[string]string{
				"O.npy": "(2, 1, 37, 32)", "LSE.npy": "(2, 1, 37)", "ref_LSE.npy": "(6, 1, 16, 1)",
			},
		},
		{"bshd", "ragged", map[string]string{"O.npy": "(2, 21, 3, 32)", "K.npy": "(2, 21, 3, 32)"}},
	} {
		dump := filepath.Join(t.TempDir(), "dump.npz")
		if code, _ := document(t, "run", "testdata/"+c.kernel+".yaml", "--shape", c.shape, "--dump",
			dump); code != 0 {
			t.Fatalf("%s: exit %d", c.kernel, code)
		}
		r, err := zip.OpenReader(dump)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			head := make([]byte, 128)
			if _, err := io.ReadFull(in, head); err != nil {
				t.Fatal(err)
			}
			if want, ok := c.arrays[f.Name]; ok && strings.Contains(string(head), "'shape': "+want) {
				delete(c.arrays, f.Name)
			}
		}
		r.Close()
		if len(c.arrays) > 0 {
			t.Errorf("%s: not in the dump as they should be: %v", c.kernel, c.arrays)
		}
	}
}

// rewrite copies the inputs of a dump, as they were before encoding; used replaces the lengths.
func rewrite(t *testing.T, from, to string, used []int32) {
	t.Helper()
	r, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	for _, f := range r.File {
		if !slices.Contains([]string{"Qx.npy", "Kx.npy", "Vx.npy", "used.npy"}, f.Name) {
			continue
		}
		out, err := w.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "used.npy" && used != nil {
			head := fmt.Sprintf("{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }", len(used))
			head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
			out.Write(append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8)))
			io.WriteString(out, head)
			if err := binary.Write(out, binary.LittleEndian, used); err != nil {
				t.Fatal(err)
			}
			continue
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		in.Close()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
