package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"tilescope/configs"
	"tilescope/configs/schema"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

func writeKernel(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInitWritesSchema: next to the manifest stands the JSON Schema that its first line names, and the
// manifest conforms to it. One of another version is replaced, a file of somebody else's stays.
func TestInitWritesSchema(t *testing.T) {
	file := writeKernel(t, "small.ptx", []byte(smallPTX))
	path := filepath.Join(filepath.Dir(file), schema.File)
	for _, there := range []string{"", `{"$comment": "` + schema.Comment + `"}`, string(schema.JSON())} {
		if there != "" {
			if err := os.WriteFile(path, []byte(there), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(filepath.Dir(file), fmt.Sprintf("m%d.yaml", len(there)))
		said, errText, code := call(t, "init", file, "--out", out)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errText)
		}
		if !strings.Contains(said, schema.File) {
			t.Errorf("the schema is not named: %s", said)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != string(schema.JSON()) {
			t.Errorf("over %.20q: %v, %.60s", there, err, got)
		}
		text, err := os.ReadFile(out)
		if err != nil ||
			!strings.HasPrefix(string(text), "# yaml-language-server: $schema="+schema.File+"\n") {
			t.Errorf("%v: %.100s", err, text)
		}
		var doc any
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		s, err := jsonschema.NewCompiler().Compile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if err := os.WriteFile(path, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, errText, code := call(t, "init", file, "--out",
		filepath.Join(filepath.Dir(file), "own.yaml")); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "{}" {
		t.Errorf("somebody else's file became %.60s (%v)", got, err)
	}
}

// brokenOutput is a standard output that takes nothing.
type brokenOutput struct{ err error }

func (b brokenOutput) Write([]byte) (int, error) { return 0, b.err }

// TestInitLeavesNothing: where a step of writing fails, the manifest or the schema can have no file, or
// what was done cannot be printed, init ends with 2 and neither of them is there: the same command can be
// given again. A reader that closed the pipe has both.
func TestInitLeavesNothing(t *testing.T) {
	run := func(prepare func(dir string), fail func(file.Step, string) error, out io.Writer, more ...string) (
		left []string, errText string, code int,
	) {
		t.Helper()
		path := writeKernel(t, "k.ptx", []byte(smallPTX))
		if prepare != nil {
			prepare(filepath.Dir(path))
		}
		t.Chdir(filepath.Dir(path))
		var errs bytes.Buffer
		code = Main(t.Context(), Program{
			Version: "test", Args: append([]string{"init", "k.ptx"}, more...), Stdin: strings.NewReader(""),
			Stdout: out, Stderr: &errs, Files: file.Failing(fail),
		})
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "k.ptx" {
				left = append(left, e.Name())
			}
		}
		return left, errs.String(), code
	}
	both := []string{"k.yaml", schema.File}
	steps := 0
	left, errText, code := run(nil, func(file.Step, string) error { steps++; return nil }, io.Discard)
	if code != 0 || !slices.Equal(left, both) || steps < 8 {
		t.Fatalf("exit %d, %d steps, %s, there is %q", code, steps, errText, left)
	}
	for n := range steps {
		at, failed := 0, ""
		left, errText, code := run(nil, func(step file.Step, path string) error {
			if at++; at-1 == n {
				failed = fmt.Sprint(step, " ", filepath.Base(path))
				return syscall.ENOSPC
			}
			return nil
		}, io.Discard)
		if code != exitUsage || !strings.Contains(errText, "no space left") || left != nil {
			t.Errorf("%s failed: exit %d, %q, left %q", failed, code, errText, left)
		}
	}
	left, errText, code = run(nil, nil, io.Discard, "--out", strings.Repeat("n", 300))
	if code != exitUsage || !strings.Contains(errText, "too long") || left != nil {
		t.Errorf("a name that is too long: exit %d, %q, left %q", code, errText, left)
	}
	left, errText, code = run(func(dir string) {
		if err := os.Mkdir(filepath.Join(dir, schema.File), 0o755); err != nil {
			t.Fatal(err)
		}
	}, nil, io.Discard)
	if code != exitUsage || !strings.Contains(errText, schema.File+": is a directory") ||
		!strings.Contains(errText, "with --out") || !slices.Equal(left, []string{schema.File}) {
		t.Errorf("a directory in the schema's place: exit %d, %q, left %q", code, errText, left)
	}
	for _, more := range [][]string{nil, {"--json"}} {
		left, errText, code = run(nil, nil, brokenOutput{syscall.ENOSPC}, more...)
		if code != exitUsage || !strings.Contains(errText, "standard output") || left != nil {
			t.Errorf("%q to a full disk: exit %d, %q, left %q", more, code, errText, left)
		}
		left, errText, code = run(nil, nil, brokenOutput{syscall.EPIPE}, more...)
		if code != exitPipe || errText != "" || !slices.Equal(left, both) {
			t.Errorf("%q to a closed pipe: exit %d, %q, left %q", more, code, errText, left)
		}
	}
	left, errText, code = run(func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, schema.File), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}, nil, brokenOutput{syscall.ENOSPC})
	if code != exitUsage || !slices.Equal(left, []string{schema.File}) {
		t.Errorf("somebody's schema: exit %d, %q, left %q", code, errText, left)
	}
}

// TestInitRuns: of a kernel's PTX alone, with and without probes, comes a manifest that loads, runs,
// and judges the output.
func TestInitRuns(t *testing.T) {
	for name, defines := range map[string][]string{"plain": nil, "with-probes": {"TS_PROBES=1"}} {
		t.Run(name, func(t *testing.T) {
			file := writeKernel(t, name+".ptx", stage2PTX(t, defines...))
			var doc report.Init
			code, errText := documentOf(t, &doc, "init", file)
			if code != 0 || doc.Schema != report.InitSchema || doc.Entry != "sdpa_fp8_stage_c_wmma" {
				t.Fatalf("exit %d, %+v: %s", code, doc, errText)
			}
			text, err := os.ReadFile(doc.Out)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), "# ? "); n != len(doc.Unknown) || n < 10 {
				t.Errorf("%d marks, the document lists %d", n, len(doc.Unknown))
			}
			m, err := configs.LoadManifest(t.Context(), doc.Out)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(m.Args) != 12 || len(m.Shared) != 11 || m.Args[6].Tensor != "O" {
				t.Errorf("%d args, %d shared arrays", len(m.Args), len(m.Shared))
			}
			rep, code, errText := runJSON(t, "run", doc.Out, "--backend", "emu", "--shape", "small")
			if o := rep.Stage("O"); code != 0 || o == nil || o.Verdict != "ok" || o.Local.Cells == 0 ||
				rep.Output == nil || rep.Output.Verdict != "ok" {
				t.Errorf("exit %d, %s: %s", code, summary(rep), errText)
			}
			if _, errText, code := call(t, "init", file); code != 2 ||
				!strings.Contains(errText, "not overwritten") {
				t.Errorf("a second time: exit %d: %s", code, errText)
			}
			if again, _ := os.ReadFile(doc.Out); string(again) != string(text) {
				t.Error("the manifest was changed")
			}
		})
	}
}

// TestInitSource: a .cu has names, so that of the arguments nothing but the extents is left open; without a
// compiler it is exit 3.
func TestInitSource(t *testing.T) {
	t.Parallel()
	src, ok := kernels.Source("sdpa_fp8_stage_c_wmma.cu")
	if !ok {
		t.Fatal("no embedded source")
	}
	var doc report.Init
	file := writeKernel(t, "mine.cu", src)
	copyHeaders(t, filepath.Dir(file))
	code, errText := documentOf(t, &doc, "init", file)
	if code == 3 && strings.Contains(errText, "NVRTC") {
		t.Skip("no NVRTC on this machine; the exit code is right")
	}
	text, _ := os.ReadFile(doc.Out)
	if code != 0 || strings.Count(string(text), "# ? its extents, and their order") != 7 {
		t.Fatalf("exit %d, unknown %v: %s", code, doc.Unknown, errText)
	}
	m, err := configs.LoadManifest(t.Context(), doc.Out)
	if err != nil || m.Source != "mine.cu" || m.Args[3].Name != "Qs" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestInitTries: what init proposes is executed, and what was found is in its notes: a race of the kernel's
// own, and nothing of a kernel that is right, whichever kernel of a file it is. A number of 8 bytes is no
// pointer.
func TestInitTries(t *testing.T) {
	t.Parallel()
	const source = `__global__ void scale(double* y, double a, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}
__global__ void turn(float* x) {
    __shared__ float s[256];
    s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    BARRIER
    x[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}
`
	for _, c := range []struct{ entry, barrier, note string }{
		{"turn", "", "executed with the guessed launch and extents: race on s at k.cu:7"},
		{"turn", "__syncthreads();", ""},
		{"scale", "", ""},
		{"", "", ""},
	} {
		file := writeKernel(t, "k.cu", []byte(strings.Replace(source, "BARRIER", c.barrier, 1)))
		args := []string{"init", file}
		if c.entry != "" {
			args = append(args, "--entry", c.entry)
		}
		var doc report.Init
		code, errText := documentOf(t, &doc, args...)
		skipWithoutNVRTC(t, code, errText)
		notes := strings.Join(doc.Notes, "\n")
		tried := strings.Contains(notes, "executed")
		if code != 0 || !strings.Contains(notes, c.note) || tried != (c.note != "") ||
			!strings.Contains(doc.Check, " --entry "+doc.Entry+" ") {
			t.Errorf("%s: exit %d, notes %q, %s%s", c.entry, code, notes, doc.Check, errText)
		}
		text, _ := os.ReadFile(doc.Out)
		if c.entry == "scale" && !strings.Contains(string(text), "{name: n, type: i64, value: n}") {
			t.Errorf("n is no number:\n%s", text)
		}
	}
}

// TestInitOfALaunch: with a launch, the stage that the text shows is written for it, and the run of the
// manifest is judged; a launch that does not agree with the text has no stage.
func TestInitOfALaunch(t *testing.T) {
	t.Parallel()
	const source = `__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.f;
}
`
	for extent, judged := range map[string]bool{"100": true, "120": false} {
		file := writeKernel(t, "k.cu", []byte(source))
		var doc report.Init
		code, errText := documentOf(t, &doc, "init", file, "--grid", "4", "--block", "32", "--arg",
			"x=rand:f32["+extent+"]", "--arg", "y=unwritten:f32[100]", "--arg", "n=100")
		skipWithoutNVRTC(t, code, errText)
		text, err := os.ReadFile(doc.Out)
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 || strings.Contains(string(text), `op: {map: "x * 2"`) != judged {
			t.Errorf("x has %s: exit %d\n%s", extent, code, text)
		}
		out, errText, code := call(t, "run", doc.Out, "--trust")
		if code != 0 || strings.Contains(out, "agree") != judged {
			t.Errorf("run: exit %d\n%s%s", code, out, errText)
		}
	}
}

const twoEntries = `.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry first(.param .u32 n) { ret; }
.visible .entry _Z6secondPf(.param .u64 x) .reqntid 64, 2, 1 { .reg .b64 %a; mov.u64 %a, room; ret; }
`

func TestInitEntries(t *testing.T) {
	file := writeKernel(t, "two.ptx", []byte(twoEntries))
	out, errText, code := call(t, "init", file)
	if code != 0 || !strings.Contains(out, "2 entries, this is the first; the others: _Z6secondPf") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	other := filepath.Join(filepath.Dir(file), "second.yaml")
	if _, errText, code := call(t, "init", file, "--entry", "second", "--out", other); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	m, err := os.ReadFile(other)
	for _, want := range []string{
		"entry: _Z6secondPf", "block: [64, 2, 1]\n", "shared: 49152   # ?", "role: scratch}   # ?",
		`ptx: "two.ptx"`, "What the kernel computes is not plain",
	} {
		if err != nil || !strings.Contains(string(m), want) {
			t.Errorf("%q is missing (%v) in:\n%s", want, err, m)
		}
	}
}

func TestInitBadInput(t *testing.T) {
	good := writeKernel(t, "good.ptx", stage2PTX(t))
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no file", []string{"init"}, 2, "one FILE"},
		{"missing", []string{"init", filepath.Join(t.TempDir(), "none.ptx")}, 2, "none.ptx"},
		{"another kind", []string{"init", writeKernel(t, "kernel.txt", []byte("x"))}, 2,
			".ptx, a .cu or a .tsl"},
		{"no such entry", []string{"init", good, "--entry", "other"}, 2, "sdpa_fp8_stage_c_wmma"},
		{"no directory", []string{"init", good, "--out", filepath.Join(t.TempDir(), "no", "dir.yaml")}, 2,
			"no directory"},
		{
			"no kernel", []string{
				"init", writeKernel(t, "none.ptx", []byte(".version 7.0\n.target sm_80\n.address_size 64\n")),
			}, 2, "no kernel",
		},
		{"malformed", []string{"init", writeKernel(t, "bad.ptx", []byte("not ptx"))}, 4, "bad.ptx:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errText, code := call(t, c.args...)
			if code != c.code || out != "" || !strings.Contains(errText, c.want) {
				t.Errorf("exit %d, want %d naming %q: %s%s", code, c.code, c.want, out, errText)
			}
			if m, _ := filepath.Glob(filepath.Join(filepath.Dir(c.args[len(c.args)-1]),
				"*.yaml")); len(m) > 0 {
				t.Errorf("a refused init left %v", m)
			}
		})
	}
	var doc report.Init
	if code, _ := documentOf(t, &doc, "init", writeKernel(t, "bad.ptx", []byte("not ptx"))); code != 4 ||
		doc.Error == nil || doc.Error.Source == nil || doc.Error.Source.Line != 1 {
		t.Errorf("exit %d, error %+v", code, doc.Error)
	}
}

// TestInitSources: what a source shows is in its manifest, no two extents are equal, and the manifest runs or
// says what has to be filled in. One source in three each time, all with TILESCOPE_LONG (make test-long).
func TestInitSources(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		file    string
		options []string
		agrees  bool // of what it computes init has a guess, which is right
		want    []string
	}{
		{
			"gemm.cu", nil, true, []string{
				`grid: ["ceil_div(N, 16)", "ceil_div(M, 16)", 1]   # as launched on line 22`,
				"block: [16, 16, 1]\n", "TILE: 16   # line 3",
				`{name: A, type: "f32*", dims: [M, K], role: input}` + "\n",
				"{name: as, type: f32, dims: [TILE, TILE]}", "{name: bs, type: f32, dims: [TILE, 17]}",
				"matmul: [",
			},
		},
		{
			"gemm_template.cu", nil, true, []string{
				"BM: 8   # argument of the template", `grid: ["ceil_div(M, 8)", "ceil_div(N, 32)", 1]`,
				"block: [32, 8, 1]\n",
				`{name: B, type: "f32*", dims: [N, K], role: input}   # ?`, "transpose: right",
				"{name: sA, type: f32, dims: [BM, 9]}",
			},
		},
		{
			"saxpy.cu", nil, true, []string{
				"block: [128, 1, 1]   # ? threads of a block", `map: "0.5 * x + max( y , 0.0)"`,
				"{name: a, type: f32, value: 0.5}   # ? what is passed?",
			},
		},
		{
			"reduce.cu", nil, true, []string{
				"how: sum", `{name: out, type: "f32*", dims: ["ceil_div(n, 256)"], role: output}`,
				"{name: part, type: f32, dims: [kThreads]}",
			},
		},
		{
			"softmax.cu", nil, true,
			[]string{"exp_below", `{name: in, type: "f32*", dims: [rows, cols], role: input}`},
		},
		{
			"layernorm.cu", nil, true,
			[]string{"THREADS: 128", "rsqrt(var + 0.00001) * w + b", "{name: sums, type: f32, dims: [4]}"},
		},
		{"flagged.cu", []string{"--set", "SCALE=3"}, true,
			[]string{"{name: SCALE, values: [0, 3]", "flagged: {SCALE: 3}", `dims: ["(rows * cols)"]`}},
		{
			"stencil.cu", nil, false, []string{
				"RADIUS: 2   # line 3", "{name: s, type: f64, dims: [68]}", "# stages:",
				"# What the kernel computes is not plain",
				"{name: in, type: \"f64*\", dims: [n], role: input}",
				"{name: out, type: \"f64*\", dims: [n], role: output}",
			},
		},
		{
			"gates.cu", nil, false, []string{
				"type: struct{32}",
				"{at: 0, type: \"f16*\", dims: [4096], role: input, tensor: gates_0}   # ?",
				"{at: 0, type: \"f16*\", dims: [4096], role: inout, fill: zeros}   # ?",
				"{at: 28, type: i32, value: 32}   # ?",
			},
		},
		{
			"attention.cu", nil, false, []string{
				"tensor: Q", "{name: head_dim, type: i32, value: D}", "shared: 49152   # ?",
				"small: [1, 2, 32, 64]",
			},
		},
	} {
		t.Run(strings.TrimSuffix(c.file, ".cu"), func(t *testing.T) {
			if !turn(i, 3) {
				t.Skip("one source in three is described without TILESCOPE_LONG: make test-long has all")
			}
			text, err := os.ReadFile(filepath.Join("testdata", "init", c.file))
			if err != nil {
				t.Fatal(err)
			}
			var doc report.Init
			code, errText := documentOf(t, &doc, append([]string{"init", writeKernel(t, c.file, text)},
				c.options...)...)
			skipWithoutNVRTC(t, code, errText)
			if code != 0 {
				t.Fatalf("exit %d: %s", code, errText)
			}
			manifest, err := os.ReadFile(doc.Out)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range c.want {
				if !strings.Contains(string(manifest), w) {
					t.Errorf("%q is missing", w)
				}
			}
			m, err := configs.LoadManifest(t.Context(), doc.Out)
			if err != nil {
				t.Fatalf("%v\n%s", err, manifest)
			}
			if len(m.Guesses) != strings.Count(string(manifest), "# ? ") ||
				c.file != "attention.cu" && strings.Contains(string(manifest), "softmax_scale") {
				t.Errorf("guesses on lines %v", m.Guesses)
			}
			distinct := map[int]bool{}
			for _, d := range m.Shapes[0].Shape {
				if d.Name == "" {
					continue
				}
				if distinct[d.N] {
					t.Errorf("two extents of %v are equal", m.Shapes[0].Shape)
				}
				distinct[d.N] = true
			}
			if t.Failed() {
				t.Logf("%s", manifest)
			}
			out, errText, code := call(t, "run", doc.Out, "--backend", "emu")
			switch {
			case c.agrees && code != 0:
				t.Errorf("run: exit %d: %s%s", code, out, errText)
			case !c.agrees && len(m.Stages) == 0 &&
				(code > 1 || !strings.Contains(out, "it has no reference, so its values are not judged")):
				t.Errorf("run: exit %d: %s%s", code, out, errText)
			case !c.agrees && len(m.Stages) > 0 &&
				(code != 1 || !strings.Contains(out, "the launch is a guess")):
				t.Errorf("run: exit %d: %s%s", code, out, errText)
			}
			words, err := shellWords(doc.Check)
			if err != nil || len(words) < 3 {
				t.Fatalf("the command %q: %v", doc.Check, err)
			}
			if out, errText, code := call(t, words[1:]...); code > 1 || c.agrees && code != 0 {
				t.Errorf("%s: exit %d: %s%s", doc.Check, code, out, errText)
			}
		})
	}
}

// shellWords cuts a command that text.Shell has quoted.
func shellWords(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	quoted, open := false, false
	for _, c := range line {
		switch {
		case c == '\'':
			quoted, open = !quoted, true
		case c == ' ' && !quoted:
			if open || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(c)
		}
	}
	if word.Len() > 0 || open {
		out = append(out, word.String())
	}
	if quoted {
		return nil, errors.New("a quote is open")
	}
	return out, nil
}

// TestInitRefusals: everything that the emulator does not model is listed, not the first alone.
func TestInitRefusals(t *testing.T) {
	const text = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r<4>;
	mov.u32 %r1, 0;
	tcgen05.fence::before_thread_sync;
	mov.u32 %r2, 1;
	tcgen05.fence::after_thread_sync;
	ret;
}
`
	var doc report.Init
	file := writeKernel(t, "odd.ptx", []byte(text))
	code, errText := documentOf(t, &doc, "init", file)
	if code != 0 || len(doc.Refused) != 2 ||
		!strings.Contains(doc.Refused[0], "odd.ptx:8: tcgen05.fence::before") ||
		!strings.Contains(doc.Refused[1], "odd.ptx:10: tcgen05.fence::after") {
		t.Fatalf("exit %d, %q: %s", code, doc.Refused, errText)
	}
	manifest, err := os.ReadFile(doc.Out)
	if err != nil || !strings.Contains(string(manifest), "does not model 2 of its instructions") {
		t.Errorf("%v:\n%s", err, manifest)
	}
}

// TestInitAndOpenPropose: the launch that init writes and the one that a file without its launch is refused
// with, which :open puts into the prompt, are the same.
func TestInitAndOpenPropose(t *testing.T) {
	for name, text := range map[string]string{
		"tiles": "constexpr int T = 16;\n__global__ void k(const float *A, float *B, int n) {\n" +
			"  __shared__ float s[T][T];\n  int ty = threadIdx.y, tx = threadIdx.x;\n" +
			"  s[ty][tx] = A[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx];\n  __syncthreads();\n" +
			"  B[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx] = s[tx][ty];\n}\n",
		"rows": "__global__ void k(const float *x, float *y, int n) {\n  int row = blockIdx.x * 4;\n" +
			"  for (int r = 0; r < 4; r++)\n    for (int i = threadIdx.x; i < n; i += blockDim.x)\n" +
			"      y[(row + r) * n + i] = x[(row + r) * n + i];\n}\n",
		"elements": "__global__ void k(const float *x, float *y, int n) {\n" +
			"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := writeKernel(t, "k.cu", []byte(text))
			var doc report.Init
			code, errText := documentOf(t, &doc, "init", path)
			skipWithoutNVRTC(t, code, errText)
			_, options, _ := strings.Cut(doc.Check, "k.cu ")
			proposed, err := shellWords(options)
			if code != 0 || err != nil || len(proposed) < 6 {
				t.Fatalf("exit %d, %q, %v: %s", code, doc.Check, err, errText)
			}
			_, errText, code = call(t, "check", path)
			_, example, found := strings.Cut(errText, "for example ")
			opened, err := shellWords(strings.TrimSpace(example))
			if code != 2 || !found || err != nil || len(opened) != len(proposed) {
				t.Fatalf("exit %d: %q, %v: %s", code, opened, err, errText)
			}
			for i, w := range proposed {
				other := opened[i]
				if _, value, ok := strings.Cut(w, "="); ok { // one names parameters, the other counts them
					w = value
					_, other, _ = strings.Cut(other, "=")
				}
				for strings.HasSuffix(w, ",1") {
					w = strings.TrimSuffix(w, ",1")
				}
				if w != other {
					t.Errorf("init has %q, open %q", proposed[i], opened[i])
				}
			}
		})
	}
}

// TestInitTemplate: a template that nothing instantiates says what it wants, and --instantiate gives it.
func TestInitTemplate(t *testing.T) {
	file := writeKernel(
		t,
		"t.cu",
		[]byte(
			"template <int N, typename T> __global__ void fill(T* y, int n) { int i = blockIdx.x * N + threadIdx.x; if (i < n) y[i] = T(1); }\n",
		),
	)
	_, errText, code := call(t, "init", file)
	skipWithoutNVRTC(t, code, errText)
	if code != 2 || !strings.Contains(errText, "template <int N, typename T> fill is not instantiated") ||
		!strings.Contains(errText, "--instantiate 'fill<64,float>'") {
		t.Errorf("exit %d: %s", code, errText)
	}
	if _, errText, code := call(t, "init", file, "--instantiate", "fill<32,float>"); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	m, err := configs.LoadManifest(t.Context(), strings.TrimSuffix(file, ".cu")+".yaml")
	if err != nil || len(m.Compile.Instantiate) != 1 || m.Compile.Instantiate[0] != "fill<32,float>" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, errText, code := call(t, "check", file, "--grid", "1", "--block", "32", "--arg", "0=zeros:f32[32]",
		"--arg", "1=32", "--instantiate", "fill; int x"); code != 2 ||
		!strings.Contains(errText, "no kernel template with arguments") {
		t.Errorf("exit %d: %s", code, errText)
	}
}

// TestInitFollowsMain: where executing main shows the launch, nothing of it is a guess: a struct's fields and
// the integers that are copied to the device are main's, and the kernel is right with them.
func TestInitFollowsMain(t *testing.T) {
	t.Parallel()
	file := writeKernel(t, "gather.cu", []byte(`struct Sizes { int bags, width; float by; };
__global__ void gather(const float *table, const int *rows, const int *begins, float *out, Sizes s) {
    for (int c = threadIdx.x; c < s.width; c += blockDim.x) {
        float sum = 0.f;
        for (int i = begins[blockIdx.x]; i < begins[blockIdx.x + 1]; i++) sum += table[rows[i] * s.width + c];
        out[blockIdx.x * s.width + c] = sum * s.by;
    }
}
int main() {
    int rows[] = {7, 1, 4}, begins[] = {0, 2, 3}, *r, *b;
    float *table, *out;
    Sizes s{2, 40, 0.25f};
    cudaMalloc(&table, 9 * s.width * sizeof(float));
    cudaMalloc(&out, s.bags * s.width * sizeof(float));
    cudaMalloc(&r, sizeof rows);
    cudaMalloc(&b, sizeof begins);
    cudaMemcpy(r, rows, sizeof rows, cudaMemcpyHostToDevice);
    cudaMemcpy(b, begins, sizeof begins, cudaMemcpyHostToDevice);
    gather<<<s.bags, 32>>>(table, r, b, out, s);
}
`))
	var doc report.Init
	code, errText := documentOf(t, &doc, "init", file)
	skipWithoutNVRTC(t, code, errText)
	written, _ := os.ReadFile(doc.Out)
	for _, want := range []string{"its launch on line 19", "grid: [2, 1, 1]   # as launched on line 19",
		"dims: [3], role: input, fill: [7, 1, 4]}", "{at: 4, type: I32, value: 40}   # as passed on line 19",
		"{at: 8, type: F32, value: 0.25}   # as passed on line 19"} {
		if !strings.Contains(strings.ToLower(string(written)), strings.ToLower(want)) {
			t.Errorf("the manifest lacks %q:\n%s", want, written)
		}
	}
	if code != 0 || strings.Contains(string(written), "# ? ") ||
		strings.Contains(fmt.Sprint(doc.Notes), "executed") {
		t.Errorf("exit %d, notes %q, %s:\n%s", code, doc.Notes, errText, written)
	}
}

// TestInitTensorsAsAllocated: memory that has the names of attention's tensors and other extents.
func TestInitTensorsAsAllocated(t *testing.T) {
	t.Parallel()
	file := writeKernel(t, "scores.cu", []byte(`__global__ void scores(const float *Q, const float *K,
        const float *V, float *O, int S) {
    float s = 0.f;
    for (int i = 0; i < S; i++) s += Q[blockIdx.x * 8 + threadIdx.x] * K[i * 8 + threadIdx.x] * V[i];
    O[blockIdx.x * 8 + threadIdx.x] = s;
}
int main() {
    const int S = 5;
    float *q, *k, *v, *o;
    cudaMalloc(&q, S * 8 * sizeof(float));
    cudaMalloc(&k, S * 8 * sizeof(float));
    cudaMalloc(&v, S * sizeof(float));
    cudaMalloc(&o, S * 8 * sizeof(float));
    scores<<<S, 8>>>(q, k, v, o, S);
}
`))
	var doc report.Init
	code, errText := documentOf(t, &doc, "init", file)
	skipWithoutNVRTC(t, code, errText)
	if code != 0 {
		t.Fatal(code, errText)
	}
	out, errText, code := call(t, "run", doc.Out)
	if code != 0 || !strings.Contains(out, "O f32[5 8]") {
		t.Errorf("exit %d, %s:\n%s", code, errText, out)
	}
}
