package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// inFolder writes a sequence to a folder with copies of the kernels that it names, and returns its path.
func inFolder(t *testing.T, text string, kernels ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, k := range kernels {
		data, err := os.ReadFile(k)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(k)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "sequence.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const splitSum = `schema: tilescope.sequence/1
name: split_sum
buffers:
  x: ones:f32[4000]
  partial: unwritten:f32[17]
  sum: unwritten:f32[1]
steps:
  - {file: split.ptx, entry: part, grid: 16, block: 256, args: {0: x, 1: partial, 2: 4000}}
  - {memset: sum, value: 0}
  - {file: split.ptx, entry: combine, grid: 1, block: 32, args: {0: partial, 1: sum, 2: 16}}
`

// TestCheckSequence: what a launch leaves is what the next one reads, unwritten bytes among it.
func TestCheckSequence(t *testing.T) {
	run := func(text string, args ...string) (report.Check, string, int) {
		out, errText, code := call(t,
			append([]string{
				"check", inFolder(t, text, filepath.Join("..", "..", "docs", "check", "split.ptx")), "--json",
			}, args...)...)
		var d report.Check
		if out != "" {
			if err := json.Unmarshal([]byte(out), &d); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		return d, errText, code
	}
	dump := filepath.Join(t.TempDir(), "o.npz")
	d, errText, code := run(splitSum, "--dump", dump)
	if code != 0 || d.Verdict != report.Clean || len(d.Steps) != 3 || d.Coverage.Blocks != 17 ||
		*d.Outputs[1].Written != 16 || *d.Outputs[2].Written != 1 {
		t.Fatalf("exit %d %s %+v", code, errText, d)
	}
	if d.Steps[1].Memset != "sum" || d.Steps[2].Entry != "combine" ||
		d.Steps[2].Args[0].Source != "buffer partial" {
		t.Errorf("%+v", d.Steps)
	}
	again, _, _ := run(splitSum)
	if again.Digest != d.Digest || d.Digest == "" {
		t.Errorf("digests %s and %s", d.Digest, again.Digest)
	}
	if info, err := os.Stat(dump); err != nil || info.Size() < 500 {
		t.Errorf("dump: %v", err)
	}
	for old, c := range map[string]struct {
		is       string
		variable string
	}{
		"2: 16}":                            {"2: 17}", "partial"}, // one part more than there are
		"  - {memset: sum, value: 0}\n":     {"", "sum"},           // added to what nobody has set
		"args: {0: partial, 1: sum, 2: 16}": {"args: {0: x, 1: partial, 2: 16}", ""},
	} {
		d, errText, code := run(strings.Replace(splitSum, old, c.is, 1))
		if c.variable == "" {
			if code != 0 {
				t.Errorf("%q: exit %d %s %+v", c.is, code, errText, d.Findings)
			}
			continue
		}
		if code != 1 || len(d.Findings) == 0 || d.Findings[0].Kind != "uninitialised" ||
			d.Findings[0].Variable != c.variable || d.Findings[0].Step == nil ||
			d.Steps[*d.Findings[0].Step].Entry != "combine" {
			t.Errorf("%q: exit %d %s %+v", c.is, code, errText, d.Findings)
		}
	}
	for old, c := range map[string][2]string{
		"ones:f32[4000]": {"ones", "buffers.x"}, "unwritten:f32[1]": {"5", "expected memory"},
		"entry: part": {"entry: nosuch", "steps[0]"}, "2: 4000": {"3: 4000", "no such parameter"},
		"split.ptx": {"nosuch.ptx", "nosuch.ptx"}, "block: 256": {"block: 2048", "expected 1 to 1024"},
	} {
		if _, errText, code := run(strings.Replace(splitSum, old, c[0], 1)); code != 2 ||
			!strings.Contains(errText, c[1]) || !strings.Contains(errText, "sequence.yaml:") {
			t.Errorf("%q: exit %d, want %q: %s", c[0], code, c[1], errText)
		}
	}
	if _, errText, code := run(splitSum, "--blocks", "0"); code != 2 ||
		!strings.Contains(errText, "is a sequence") {
		t.Errorf("--blocks: exit %d: %s", code, errText)
	}
}

// TestCheckPointersInStructs: a struct by value may have pointers in it, and one buffer may be
// several parameters.
func TestCheckPointersInStructs(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"0={0: ones:f32[64], 8: iota:i32[64], 16: 64:i32}", "1=ones:f32[1]", "2=null"}, 0,
			[]string{"arg0+0 f32[64]: 64 elements written", "arg0+8 i32[64]: 0 elements"}},
		{[]string{"0={0: ones:f32[64], 8: null, 16: 64:i32}", "1=ones:f32[1]", "2=zeros:f32[1]"}, 0,
			[]string{"arg2 f32[1]: 1 elements written"}},
		{[]string{"0={0: ones:f32[63], 8: null, 16: 64:i32}", "1=ones:f32[1]", "2=null"}, 1,
			[]string{"reads arg0+0[63]; arg0+0 has 63 elements"}},
		{[]string{"0={0: ones:f32[64], 8: unwritten:i32[64], 16: 64:i32}", "1=ones:f32[1]", "2=null"}, 1,
			[]string{"uninitialised", "arg0+8["}},
		{[]string{"0={20: ones:f32[64]}", "1=ones:f32[1]", "2=null"}, 2,
			[]string{"a pointer ends at byte 28, and the parameter has 24 bytes"}},
		{[]string{"0={0: {0: 1:i32}}", "1=ones:f32[1]", "2=null"}, 2, []string{"--arg 0"}},
	} {
		args := []string{"check", kernelFile(t, "view.ptx"), "--grid", "1", "--block", "64"}
		for _, a := range c.args {
			args = append(args, "--arg", a)
		}
		out, errText, code := call(t, args...)
		for _, s := range c.says {
			if code != c.code || !strings.Contains(out+errText, s) {
				t.Errorf("%q: exit %d, want %d and %q\n%s%s", c.args, code, c.code, s, out, errText)
			}
		}
	}
	// one buffer under two names: what is written by the one is read by the other
	text := `schema: tilescope.sequence/1
name: twice
buffers:
  a: ones:f32[64]
steps:
  - {file: view.ptx, grid: 1, block: 64, args: {0: "{0: ones:f32[4], 8: null, 16: 4:i32}", 1: a, 2: a}}
`
	out, errText, code := call(t, "check", inFolder(t, text,
		filepath.Join("..", "checkrun", "testdata", "view.ptx")))
	if code != 1 || !strings.Contains(out, "race") || !strings.Contains(out, "a[0]") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
}

// TestCheckSequenceOfStructs: pointers of a struct lead to buffers that launches share, and advice that holds
// in several steps is printed once.
func TestCheckSequenceOfStructs(t *testing.T) {
	t.Parallel()
	const kernel = `struct Part { const float *from; float *to; int n, step; };
__global__ void copy(Part p) {
    for (int i = threadIdx.x; i < p.n; i += 32) p.to[i * p.step] = p.from[i * p.step] + 1.0f;
}
`
	dir := filepath.Dir(writeKernel(t, "copy.cu", []byte(kernel)))
	path := filepath.Join(dir, "copies.yaml")
	put(t, path, `schema: tilescope.sequence/1
name: copies
buffers: {a: "ones:f32[256]", b: "unwritten:f32[256]", c: "unwritten:f32[256]"}
steps:
  - {file: copy.cu, grid: 1, block: 32, args: {p: {0: a, 8: b, 16: "64:i32", 20: "4:i32"}}}
  - {file: copy.cu, grid: 1, block: 32, args: {p: {0: b, 8: c, 16: "64:i32", 20: "4:i32"}}}
  - {file: copy.cu, grid: 1, block: 32, args: {p: {0: c, 8: a, 16: "65:i32", 20: "1:i32"}}}
`)
	out, errText, code := call(t, "check", path)
	skipWithoutNVRTC(t, code, errText)
	for _, want := range []string{"uninitialised (error): c[1] is read before it is written", "in step 2, ",
		"in steps 0, 1, ", "b f32[256]: 64 elements written"} {
		if !strings.Contains(out, want) {
			t.Errorf("exit %d, %s: %q is missing:\n%s", code, errText, want, out)
		}
	}
	for _, command := range []string{"run", "diagnose"} {
		if _, errText, code := call(t, command, path); code != 2 ||
			!strings.Contains(errText, "a sequence is checked as a whole, by tilescope check") {
			t.Errorf("%s: exit %d, %s", command, code, errText)
		}
	}
}
