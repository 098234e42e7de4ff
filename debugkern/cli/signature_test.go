package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// scaleSource is a kernel with a parameter list in the place of %.
const scaleSource = `__global__ void scale(%)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}
`

// writeScale writes scale.cu with a parameter list, and returns its path.
func writeScale(t *testing.T, dir, parameters string) string {
	t.Helper()
	path := filepath.Join(dir, "scale.cu")
	text := strings.Replace(scaleSource, "%", parameters, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOtherParameters: a kernel whose parameters are no longer those of its manifest is refused with what is
// new or gone, what to write, and its line; no message names the module that was compiled.
func TestOtherParameters(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, "scale.yaml")
	write := func(entry string) {
		t.Helper()
		text := strings.Replace(`schema: tilescope.kernel/1
name: scale
source: scale.cu
entry: ENTRY
constants: {TILE: 4}
launch: {grid: [2, 1, 1], block: [32, 1, 1]}
args:
  - {name: x, type: "f32*", dims: [64], role: input}
  - {name: y, type: "f32*", dims: [64], role: output}
  - {name: n, type: i32, value: 64}
`, "ENTRY", entry, 1)
		if err := os.WriteFile(manifest, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		parameters string
		says       []string // nil: it runs
	}{
		{"const float* x, float* y, int n", nil},
		{"const float* from, float* y, int n", nil}, // by position, as a manifest's are
		{"const float* x, float* y, int n, int causal", []string{
			"causal (3, int) is new", "add `- {name: causal, type: \"i32\", value: 1}` to args, behind n",
		}},
		{"const float* x, float* y, int n, const float* mask", []string{"mask (3, const float*) is new"}},
		{"const float* x, float* y", []string{"n is gone", "remove n from args"}},
		{"const float* x, float* y, long n", []string{"n (2, long) has 8 bytes, its argument 4"}},
	} {
		for _, entry := range []string{"_Z5scalePKfPfi", "scale"} {
			write(entry)
			writeScale(t, dir, c.parameters)
			if strings.Contains(c.parameters, "from") {
				replaceIn(t, filepath.Join(dir, "scale.cu"), "x[i]", "from[i]")
			}
			_, errText, code := call(t, "run", manifest, "--backend", "emu", "--check")
			skipWithoutNVRTC(t, code, errText)
			if (code == 4) != (c.says != nil) {
				t.Errorf("%s: exit %d, %s", c.parameters, code, errText)
			}
			says := c.says
			if says != nil {
				says = append([]string{"scale of scale.cu has other parameters than scale.yaml lists"}, says...)
			}
			if says != nil && entry != "scale" {
				says = append(says, "write `entry: scale`")
			}
			for _, want := range says {
				if !strings.Contains(errText, want) {
					t.Errorf("%s: %q lacks %q", c.parameters, errText, want)
				}
			}
			if strings.Contains(errText, ".ptx") || strings.Contains(errText, "TS_") {
				t.Errorf("%s: a module's name in %q", c.parameters, errText)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "scale.cu"), []byte("\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errText, code := call(t, "run", manifest, "--backend", "emu"); code != exitUsage ||
		!strings.Contains(errText, "scale.cu is empty: it has no kernel") {
		t.Errorf("an empty source: exit %d, %s", code, errText)
	}
}

// TestAddressesOf32Bits: a module of 32-bit addresses is refused for them, with its line, and not for the
// sizes of its parameters.
func TestAddressesOf32Bits(t *testing.T) {
	file := writeKernel(t, "k.ptx", []byte(smallPTX))
	if _, errText, code := call(t, "init", file); code != 0 {
		t.Fatalf("exit %d, %s", code, errText)
	}
	replaceIn(t, file, ".address_size 64", ".address_size 32")
	for _, command := range []string{"run", "diagnose"} {
		_, errText, code := call(t, command, filepath.Join(filepath.Dir(file), "k.yaml"), "--backend", "emu")
		if code != 4 || !strings.Contains(errText, "k.ptx:4:10: error: 32-bit addressing is not modelled") {
			t.Errorf("%s: exit %d, %s", command, code, errText)
		}
	}
}

// replaceIn replaces a text in a file.
func replaceIn(t *testing.T, path, old, by string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s: %v", path, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, by)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReopenedByName: a file that is opened again has its arguments by name: parameters that change places
// take theirs along, one that is renamed keeps its own, and the request's words are those of the new names.
// One that is new is an error, and so is the run of the launch as it was, which says what is new.
func TestReopenedByName(t *testing.T) {
	dir := t.TempDir()
	file := writeScale(t, dir, "const float* x, float* y, int n")
	args := []string{"x=ones:f32[64]", "y=zeros:f32[32]", "n=64"}
	inTerminal(t, func(ctx context.Context, o Terminal) {
		words := []string{file, "--grid", "1", "--block", "32"}
		for _, a := range args {
			words = append(words, "--arg", a)
		}
		_, again, err := o.Open(ctx, words)
		if err != nil {
			if coded := (*report.Error)(nil); errors.As(err, &coded) {
				skipWithoutNVRTC(t, int(coded.Code), err.Error())
			}
			t.Fatal(err)
		}
		reopened := func(parameters string) (launch []string, names string, err error) {
			t.Helper()
			writeScale(t, dir, parameters)
			req, err := again(ctx)
			for _, a := range o.Session.Catalogue().Adopted(file).Args {
				names += a.Name + " "
			}
			return req.Launch, names, err
		}
		launch, names, err := reopened("float* y, const float* x, int n")
		if err != nil || names != "y x n " {
			t.Errorf("another order: %q, %v", names, err)
		}
		for _, to := range []string{"n", "count", "many"} {
			launch, names, err = reopened("float* y, const float* x, int " + to)
			if err != nil || names != "y x "+to+" " || !slices.Contains(launch, to+"=64") {
				t.Errorf("renamed to %s: %q, %q, %v", to, names, launch, err)
			}
			if _, _, err := o.Open(ctx, append([]string{file}, launch...)); err != nil {
				t.Errorf("the words %q: %v", launch, err)
			}
		}
		if _, _, err = reopened("float* y, const float* x, int many, int causal"); err == nil ||
			!strings.Contains(err.Error(), "no --arg for causal (3)") {
			t.Errorf("a new one: %v", err)
		}
		req := o.Request
		req.Target, req.Launch, req.Faults, req.Set = file, launch, nil, nil
		if _, err := o.Session.Run(ctx, req, nil); err == nil ||
			!strings.Contains(err.Error(), "causal (3, int) is new; add --arg causal=1; `:open ") {
			t.Errorf("the run: %v", err)
		}
		if _, _, err = reopened("float* y, const float* x"); err == nil ||
			!strings.Contains(err.Error(), "--arg many: no such parameter") {
			t.Errorf("one is gone: %v", err)
		}
	})
}
