package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/report"
)

// stageless copies a kernel of debugkern/checkrun/testdata and a manifest without stages into a folder.
func stageless(t *testing.T, ptx string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "checkrun", "testdata", ptx))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"k.ptx": string(text), "k.yaml": `schema: tilescope.kernel/1
name: k
ptx: k.ptx
entry: reduce
launch: {grid: [2, 1, 1], block: [256, 1, 1]}
args:
  - {name: x, type: "f32*", dims: [512], role: input}
  - {name: out, type: "f32*", dims: [2], role: output}
  - {name: n, type: i32, value: 512}
`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestGuessedExtents: run and check state next to a finding, and next to the verdict that there is none, that
// it depends on an extent that init guessed.
func TestGuessedExtents(t *testing.T) {
	file := filepath.Join(stageless(t, "reduce.ptx"), "k.yaml")
	manifest := func(extent, mark string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		lines[6] = `  - {name: x, type: "f32*", dims: [` + extent + `], role: input}` + mark
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const (
		mark    = "   # ? its extent"
		verdict = "\n  the extent of x is a guess, marked at "
		finding = "depends on a guess: what "
	)
	for _, c := range []struct{ extent, mark, want, not string }{
		{"512", mark, verdict, finding},
		{"512", "", "", verdict},
		{"500", mark, finding, verdict},
		{"500", "", "out-of-bounds (error)", finding},
	} {
		manifest(c.extent, c.mark)
		for _, command := range []string{"run", "check"} {
			out, errText, code := call(t, command, file, "--backend", "emu")
			if code != map[string]int{"512": 0, "500": 1}[c.extent] || !strings.Contains(out, c.want) ||
				strings.Contains(out, c.not) {
				t.Errorf("%s, %s%s: exit %d: %s%s", command, c.extent, c.mark, code, out, errText)
			}
		}
	}
}

// TestRunCheck: run --check reports races, of a kernel without stages and of one with them; without it they
// are not looked for, and the text says so. A GPU cannot be observed.
func TestRunCheck(t *testing.T) {
	k := filepath.Join(stageless(t, "reduce-race.ptx"), "k.yaml")
	out, errText, code := call(t, "run", filepath.Join(stageless(t, "reduce.ptx"), "k.yaml"),
		"--backend", "emu")
	if code != 0 ||
		!strings.Contains(out,
			"no error was found (races and the like are looked for with --check); it has no reference") ||
		strings.Contains(out, "agree") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	out, _, code = call(t, "run", k, "--check")
	for _, want := range []string{
		"found; it has no reference, so its values are not judged", "race (error)",
		"missing: __syncthreads()", "out f32[2]: 2 elements written",
	} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q:\n%s", code, want, out)
		}
	}
	rep, code, _ := runJSON(t, "run", k, "--check")
	if code != 1 || rep.Verdict != report.Diverge || rep.Errors() == 0 || len(rep.Stages) != 3 ||
		rep.Stages[2].Verdict != report.Off || !rep.Stages[2].Reference.None() {
		t.Errorf("exit %d: %+v", code, rep)
	}
	rep, code, _ = runJSON(t, "run", "stage2", "--shape", "small", "--fault", "sync-p", "--check")
	races := 0
	for _, f := range rep.Findings {
		if f.Kind == "race" {
			races++
		}
	}
	if code != 1 || races == 0 || rep.Stages[0].Reference.Kind != report.Graph {
		t.Errorf("exit %d, %d races: %+v", code, races, rep.Findings)
	}
	if _, errText, code := call(t, "run", k, "--check", "--backend", "cuda"); code != 2 ||
		!strings.Contains(errText, "cannot be observed") {
		t.Errorf("exit %d: %s", code, errText)
	}
	if out, _, code := call(t, "run", "accum_lut"); code != 0 || !strings.Contains(out, "acc_f32 i32[32 8]") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestDiagnoseWithoutReference: the findings' causes, and no word on values.
func TestDiagnoseWithoutReference(t *testing.T) {
	out, _, code := call(t, "diagnose", filepath.Join(stageless(t, "reduce-race.ptx"), "k.yaml"),
		"--schedules", "8")
	for _, want := range []string{
		"no reference to judge values by: one cause", "1. race on part", "changes the output in",
	} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q:\n%s", code, want, out)
		}
	}
	for _, word := range []string{"agrees", "diverges", "every stage"} {
		if strings.Contains(out, word) {
			t.Errorf("%q is said of a kernel without reference:\n%s", word, out)
		}
	}
	if out, _, code := call(t, "diagnose", filepath.Join(stageless(t, "reduce.ptx"), "k.yaml")); code != 0 ||
		!strings.Contains(out, "no reference to judge values by; ") ||
		!strings.Contains(out, "tilescope check --expect judges what outputs are made of") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestGatesWithoutReference: the gates run a kernel without a reference under every checker,
// and say what decided.
func TestGatesWithoutReference(t *testing.T) {
	t.Parallel()
	for ptx, want := range map[string]struct {
		code  int
		parts []string
	}{
		"reduce.ptx":      {0, []string{"green 3/3", "counted by the emulator, not timed"}},
		"reduce-race.ptx": {1, []string{"red 0/3", "    seed 2: ", "race: ", "counted by the emulator"}},
	} {
		out, errText, code := call(t, "gates", filepath.Join(stageless(t, ptx), "k.yaml"), "--backend", "emu")
		for _, part := range append(want.parts,
			"correctness by findings alone: the kernel has no reference") {
			if code != want.code || !strings.Contains(out, part) {
				t.Errorf("%s: exit %d, no %q:\n%s%s", ptx, code, part, out, errText)
			}
		}
		if strings.Contains(out, " on ,") {
			t.Errorf("%s: a shape without a name:\n%s", ptx, out)
		}
	}
}

// TestOpenFile: a file opens the terminal with the options of check, those of its comments included,
// under every checker.
func TestOpenFile(t *testing.T) {
	folder := stageless(t, "reduce.ptx")
	ptx := filepath.Join(folder, "k.ptx")
	text, _ := os.ReadFile(ptx)
	if err := os.WriteFile(ptx,
		append([]byte("// tilescope: --grid 2 --arg 0=iota:f32[512] --arg 2=512 --seed 5\n"), text...),
		0o644); err != nil {
		t.Fatal(err)
	}
	var got Terminal
	var run *debugkern.Run
	open := func(args ...string) (string, int) {
		var out, errOut bytes.Buffer
		got, run = Terminal{}, nil
		code := Main(context.Background(), Program{
			Version: "test", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
			OpenTerminal: func(ctx context.Context, o Terminal) (err error) {
				got = o
				run, err = o.Session.Run(ctx, o.Request, nil)
				return err
			},
		})
		return errOut.String(), code
	}
	errText, code := open(ptx, "--block", "256", "--arg", "1=zeros:f32[2]")
	if code != 0 || !got.Explicit || run == nil || got.Request.Check != debugkern.EveryChecker ||
		got.Request.Seed != 5 || *run.Report.Outputs[1].Written != 2 {
		t.Fatalf("exit %d: %s, %+v", code, errText, got.Request)
	}
	if c := got.Request.Command("run"); !strings.HasPrefix(c, "tilescope check ") ||
		!strings.Contains(c, "--grid 2 --block 256") || !strings.Contains(c, "--seed 5") {
		t.Errorf(":command is %s", c)
	}
	if errText, code := open(filepath.Join(folder, "k.yaml")); code != 0 ||
		got.Request.Check != debugkern.EveryChecker {
		t.Errorf("exit %d: %s", code, errText)
	}
	if errText, code := open("stage2"); code != 0 || got.Request.Check != 0 {
		t.Errorf("exit %d: %s", code, errText)
	}
	if errText, code := open(ptx, "--block", "256"); code != 0 || got.Explicit || got.Lacks == nil ||
		got.Lacks.Error() != "no --arg for 1; reduce has 0 pointer, 1 pointer, 2 4 bytes; "+
			"for example --arg '1=zeros:f32[512]'" ||
		!slices.Equal(got.Lacking, []string{ptx, "--block=256"}) {
		t.Errorf("exit %d: %s, %v of %q", code, errText, got.Lacks, got.Lacking)
	}
	var lacks *checkrun.MissingLaunch
	if !errors.As(got.Lacks, &lacks) {
		t.Fatalf("no launch is proposed: %v", got.Lacks)
	}
	if options := lacks.Launch().Options; strings.Join(options, " ") != // what the file gives stays
		"--arg 0=iota:f32[512] --arg 1=zeros:f32[512] --arg 2=512" {
		t.Errorf("proposed: %q", options)
	}
	for says, args := range map[string][]string{
		"--shape: ":             {ptx, "--shape", "small"},
		"--gate: ":              {ptx, "--gate", "qk"},
		"arguments of a TARGET": {"stage2", "--grid", "4"},
		"no such file":          {filepath.Join(folder, "nosuch.cu"), "--grid", "1"},
		"--grid 0,1,1: x is 0":  {ptx, "--grid", "0", "--block", "256", "--arg", "1=zeros:f32[2]"},
		"unknown source":        {ptx, "--block", "256", "--arg", "1=gauss:f32[2]"},
		"is given twice": {ptx, "--block", "256", "--arg", "1=zeros:f32[2]", "--arg",
			"1=ones:f32[2]"},
		"expected POLICY": {ptx, "--block", "256", "--arg", "1=zeros:f32[2]", "--schedule",
			"sometimes"},
		"--blocks 9": {ptx, "--block", "256", "--arg", "1=zeros:f32[2]",
			"--blocks", "9"},
		"--json belongs to a command": {ptx, "--json"},
		"has no such kernel": {ptx, "--block", "256", "--entry", "nosuch", "--arg",
			"1=zeros:f32[2]"},
		"--cluster 3,1,1: x is 3": {ptx, "--block", "256", "--cluster", "3", "--arg",
			"1=zeros:f32[2]"},
	} {
		if errText, code := open(args...); code != 2 || !strings.Contains(errText, says) ||
			got.Session != nil {
			t.Errorf("%v: exit %d: %s, want %q", args[1:], code, errText, says)
		}
	}
}

// TestConstantMemory: constant memory has the numbers that main copies to it, and a note says so; where main
// does not show them it is zeros, and another note says that.
func TestConstantMemory(t *testing.T) {
	const source = `__constant__ int at[2];
__global__ void k(int *y) { y[at[threadIdx.x]] = 1; }
int main() {
    int *y, h[] = {SECOND, 0};
    cudaMemcpyToSymbol(at, h, sizeof h);
    cudaMalloc(&y, 2 * sizeof(int));
    k<<<1, 2>>>(y);
}
`
	for second, c := range map[string]struct {
		written int
		note    string
	}{
		"1":         {2, "at has the numbers that the host's code copies to it"},
		"unknown()": {1, "at is constant memory (__constant__) and all zeros here"},
	} {
		file := writeKernel(t, "k.cu", []byte(strings.Replace(source, "SECOND", second, 1)))
		var doc report.Check
		code, errText := documentOf(
			t,
			&doc,
			"check",
			file,
			"--grid",
			"1",
			"--block",
			"2",
			"--arg",
			"y=zeros:i32[2]",
		)
		skipWithoutNVRTC(t, code, errText)
		if len(doc.Outputs) != 1 || doc.Outputs[0].Written == nil || *doc.Outputs[0].Written != c.written ||
			!strings.Contains(strings.Join(doc.Build.Notes, "\n"), c.note) {
			t.Errorf("%s: exit %d, %+v, notes %q: %s", second, code, doc.Outputs, doc.Build.Notes, errText)
		}
	}
}

// TestDiagnoseNullPointer: an access through a null pointer is the caller's mistake; no edit is offered with
// which the access is not executed.
func TestDiagnoseNullPointer(t *testing.T) {
	file := writeKernel(
		t,
		"k.cu",
		[]byte("__global__ void k(int *y) { if (threadIdx.x == 0) y[blockIdx.x] = 1; }\n"),
	)
	text, errText, code := call(t, "diagnose", file, "--grid", "1", "--block", "32", "--arg", "y=null")
	skipWithoutNVRTC(t, code, errText)
	for _, want := range []string{"write of 4 bytes through a null pointer, at address 0x0",
		"change: pass memory for the pointer that this line goes through, which is null", "not tried: what is passed"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if strings.Contains(text, "in place of") || t.Failed() {
		t.Errorf("exit %d: %s%s", code, text, errText)
	}
}

// TestDiagnoseMissingFence: of a race between blocks the fences that are missing are put in by a trial,
// before the write of the flag and after the read of it, or one of them; or the fence gets the scope that it
// needs. The barrier before the atomic, which the order needs as well, is not called redundant.
func TestDiagnoseMissingFence(t *testing.T) {
	const kernel = `__device__ unsigned count;
__global__ void k(float *part, float *out) {
    __shared__ bool last;
    part[blockIdx.x * 64 + threadIdx.x] = 1.f + threadIdx.x;
    BEFORE
    __syncthreads();
    if (threadIdx.x == 0) { FLAG last = atomicAdd(&count, 1u) == gridDim.x - 1; }
    __syncthreads();
    if (!last) return;
    AFTER
    float s = 0.f;
    for (int b = 0; b < gridDim.x; b++) s += part[b * 64 + threadIdx.x];
    out[threadIdx.x] = s;
    if (threadIdx.x == 0) count = 0;
}
`
	const fence = "__threadfence();"
	for _, c := range []struct{ before, flag, after, change string }{
		{"", "", "", "put __threadfence() before the write of the flag at line 7 and after the read of the flag at line 7"},
		{"", "", fence, "put __threadfence() before the write of the flag at line 7"},
		{fence, "", "", "put __threadfence() after the read of the flag at line 7"},
		{"", "__threadfence_block();", fence, "give the membar.cta at k.cu:7 the scope of the device: __threadfence()"},
		{fence, "", fence, ""},
	} {
		text := strings.NewReplacer("BEFORE", c.before, "FLAG", c.flag, "AFTER", c.after).Replace(kernel)
		file := writeKernel(t, "k.cu", []byte(text))
		text, errText, code := call(t, "diagnose", file, "--grid", "4", "--block", "64",
			"--arg", "part=zeros:f32[256]", "--arg", "out=zeros:f32[64]")
		skipWithoutNVRTC(t, code, errText)
		proven := strings.Contains(text, "change: "+c.change) && strings.Contains(text, "the race is gone") &&
			strings.Contains(text, "nothing else is found")
		if c.change == "" {
			proven = code == 0 && !strings.Contains(text, "race:")
		}
		if !proven || strings.Contains(text, "redundant-barrier") {
			t.Errorf("%+v: exit %d: %s%s", c, code, text, errText)
		}
	}
}

// TestDiagnoseIdleWait: of two waits that each make a read of a copy under way go, the change is at the one
// that waits for nothing: the other lets the next copy run on purpose.
func TestDiagnoseIdleWait(t *testing.T) {
	file := writeKernel(t, "k.cu", []byte(`__device__ void load(float4 *to, const float4 *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n\tcp.async.commit_group;"
                 ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__global__ void k(const float4 *x, float *y, int n) {
    __shared__ float4 s[2][64];
    int t = threadIdx.x;
    load(&s[0][t], x + t);
    for (int i = 0; i < n; i++) {
        if (i + 1 < n) {
            load(&s[(i + 1) & 1][t], x + (i + 1) * 64 + t);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        }
        __syncthreads();
        y[i * 64 + t] = s[i & 1][63 - t].x;
        __syncthreads();
    }
}
`))
	text, errText, code := call(
		t,
		"diagnose",
		file,
		"--grid",
		"1",
		"--block",
		"64",
		"--arg",
		"x=randn:f32[1024]",
		"--arg",
		"y=zeros:f32[256]",
		"--arg",
		"n=4",
	)
	skipWithoutNVRTC(t, code, errText)
	if !strings.Contains(text, "change: wait for all but 0 groups at line 14") {
		t.Errorf("exit %d: %s%s", code, text, errText)
	}
}
