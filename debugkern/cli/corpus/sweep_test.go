package corpus

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
)

// sampled are the kernels that are checked from stored PTX on every machine.
var sampled = []string{
	"attention_mma", "attention_split", "calls_deep", "conv_2d", "gemm_cp_async", "gemm_wmma_tf32",
	"histogram_shared", "mma_s8", "named_barriers", "norm_layer", "print_clock", "reduce_grid_sync",
	"reduce_last_block", "scan_lookback", "scan_warp", "softmax_warp", "stencil_jacobi", "struct_by_value",
	"transpose_padded",
}

var update = flag.Bool("update", false, "store the sampled kernels' PTX")

const samplePath = "testdata/sample.zip"

// TestSample checks the sampled kernels from stored PTX and those of Triton, and prints a table.
func TestSample(t *testing.T) {
	want := open(t, "testdata/expected.npz")
	texts := readSample(t)
	var table []string
	for _, k := range append(kernels(t, ".cu"), kernels(t, ".ptx")...) {
		clean, buggy := k.text, k.buggy
		if strings.HasSuffix(k.file, ".cu") {
			if clean, buggy = texts[k.name+".ptx"],
				texts[k.name+".bug.ptx"]; !slices.Contains(sampled, k.name) {
				continue
			}
		}
		t.Run(k.name, func(t *testing.T) {
			table = append(table, k.check(t, k.name+".ptx", clean, buggy, want).String())
		})
	}
	t.Logf("%s\n%s", tableHead, strings.Join(table, "\n"))
}

// TestSweep compiles and checks every kernel, and prints a table. With -update it stores the sampled kernels'
// PTX; otherwise that has to be what this compiler makes of them, where it is the one that made it.
func TestSweep(t *testing.T) {
	if os.Getenv("TILESCOPE_CORPUS") == "" {
		t.Skip("compiles and checks every kernel of testdata: make sweep")
	}
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: os.Getenv("TILESCOPE_TOOLCHAIN")})
	if err != nil {
		t.Fatalf("the kernels have to be compiled: %v", err)
	}
	defer tc.Close()
	want := open(t, "testdata/expected.npz")
	var table []string
	for _, k := range append(kernels(t, ".cu"), kernels(t, ".ptx")...) {
		t.Run(k.name, func(t *testing.T) {
			table = append(table, k.check(t, k.file, k.text, k.buggy, want).String())
		})
	}
	t.Logf("%s\n%s\n%d kernels", tableHead, strings.Join(table, "\n"), len(table))
	made := map[string]string{}
	for _, k := range kernels(t, ".cu") {
		if slices.Contains(sampled, k.name) {
			made[k.name+".ptx"] = compiled(t, tc, k, k.text)
			made[k.name+".bug.ptx"] = compiled(t, tc, k, k.buggy)
		}
	}
	if *update {
		writeSample(t, made)
	}
	stored := readSample(t)
	for name, text := range made {
		if compiler(text) == compiler(stored[name]) && text != stored[name] {
			t.Errorf("%s is not what its source compiles to: TILESCOPE_CORPUS=1 go test ./debugkern/cli/corpus -run TestSweep -update",
				name)
		}
	}
}

// compiler is the line of a PTX file that names its compiler.
func compiler(ptx string) string {
	_, rest, _ := strings.Cut(ptx, "Cuda compilation tools, ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// compiled is a kernel's PTX behind the options that its source gives, with arguments by index.
func compiled(t *testing.T, tc *cuda.Toolchain, k *kernel, text string) string {
	t.Helper()
	p, err := tc.Compile(t.Context(), cuda.Build{Name: k.file, Source: text, Arch: "sm_80"})
	if err != nil {
		t.Fatal(err)
	}
	_, d, _ := checked(t, k.file, text)
	return options(d, k) + p.Text
}

// options are the lines of a text that launch a kernel as a document says.
func options(d *report.Check, k *kernel) string {
	l := d.Launch
	head := fmt.Sprintf("// tilescope: --grid %s --block %s --shared %d", l.Grid, l.Block, l.Shared)
	if strings.Contains(k.text, "--cooperative") {
		head += " --cooperative"
	}
	names := ""
	for i, a := range d.Args {
		head += fmt.Sprintf("\n// tilescope: --arg %d=%s", i, a.Source)
		names += " " + a.Name
	}
	return head + "\n// arguments:" + names + "\n"
}

func readSample(t *testing.T) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(samplePath)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return out
}

func writeSample(t *testing.T, texts map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, texts[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.FromSlash(samplePath), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
