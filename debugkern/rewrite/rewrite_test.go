package rewrite

import (
	"slices"
	"strings"
	"testing"
)

// kernel has one line of each kind that edits are listed for.
const kernel = `#include "own.cuh"
constexpr int TILE = 32;
constexpr int HALF = TILE / 2;
constexpr int THREADS = 128;
#define FLAG 1
#define BIAS 0.5f
constexpr float LOG2_E = 0.69314718f;
struct Shared { half q[TILE][64]; half k[TILE][64]; unsigned long long q_full, k_full; };

__device__ float warp_sum(float x) { return x; }
__device__ float warp_max(float x) { return x; }
__device__ float lowest() { return 0; }

template <int BUFFERS>
__global__ void __launch_bounds__(THREADS) attend(const half* __restrict__ Q, float* O, int S, int D TS_PARAM) {
    __shared__ half sK[TILE][64], sV[TILE][64];
    __shared__ float sS[64][TILE];
    half(&sP)[TILE][32] = *reinterpret_cast<half(*)[TILE][32]>(&sS);
    const int t = threadIdx.x, lane = t % 32;
    const int first = blockIdx.x * TILE;
    float sum = 0.0f;
    for (int n = lane; n < S; n += 32) {
        const int row16 = n / 16 * 16, key16 = n % 16;
        if (n >= S) continue;
        sum = warp_max(sum) + __half2float(sV[row16][key16 + 1]);
        O[(first + t) * D + n] = sum - 1.0f;
    }
    asm volatile("st.global.f32 [%0], %1;" :: "l"(O), "f"(sum * 2.0f));
    __syncthreads();
    sum = sum * scale<4>() * LOG2_E + BIAS;
    sS[t][first] = __int_as_float(0xfff00000) + sV[t][D];
    for (int n = 0; n <= first; n++) sum = lowest();
    sum += helper(t, lane);
}
`

const header = "__device__ int helper(int a, int b) { return a + b; }\n"

// lineOf is the line of the kernel that has a text, from 1.
func lineOf(t *testing.T, text, part string) int {
	t.Helper()
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, part) {
			return i + 1
		}
	}
	t.Fatalf("no line has %q", part)
	return 0
}

// listed lists the edits of the line that has a part of the kernel.
func listed(t *testing.T, part string) []Edit {
	t.Helper()
	own := Parse("own.cu", kernel)
	line := lineOf(t, kernel, part)
	return NewSet(own, Parse("own.cuh", header)).Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{})
}

// editsOf lists those that can be compiled together.
func editsOf(t *testing.T, part string) []Edit {
	t.Helper()
	return together(listed(t, part))
}

func together(list []Edit) []Edit {
	return slices.DeleteFunc(list, func(e Edit) bool { return e.Alone })
}

// A launch has as many threads as the kernel says, and no edit changes that.
func TestEditsKeepLaunch(t *testing.T) {
	for _, e := range listed(t, "__global__ void") {
		if strings.Contains(e.Applied(), "THREADS = ") != strings.Contains(e.Applied(), "THREADS = 128;") {
			t.Errorf("%s changes the number of threads", e.What)
		}
	}
}

// Edits of what a compiler needs the value of stand in no text with others.
func TestEditsAlone(t *testing.T) {
	for _, c := range []struct{ line, now string }{
		{"O[(first", "__global__ void __launch_bounds__(THREADS) attend(const half* __restrict__ Q, float* O, int D, int S TS_PARAM) {"},
		{"const int first", "constexpr int TILE = 64;"},
		{"sum * scale", "constexpr float LOG2_E = 1.4426950408889634f;"},
		{"sum * scale", "#define BIAS 1.0f"},
		{"__shared__ half sK", "__shared__ half sK[TILE][64 + 1], sV[TILE][64];"},
		{"half(&sP)", "__shared__ __align__(128) half sP[TILE][32];"},
	} {
		list := listed(t, c.line)
		i := slices.IndexFunc(list, func(e Edit) bool {
			_, now, ok := e.Lines()
			return ok && now == c.now
		})
		if i < 0 || !list[i].Alone {
			t.Errorf("%s: no edit alone makes %q of it", c.line, c.now)
			continue
		}
		if _, kept, _ := Switched(list[i : i+1]); len(kept) > 0 {
			t.Errorf("%s is compiled with others", list[i].What)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct{ line, now string }{
		{"sum = warp_max", "sum = warp_sum(sum) + __half2float(sV[row16][key16 + 1]);"},
		{"sum = warp_max", "sum = warp_max(sum) + __half2float(sV[key16][key16 + 1]);"},
		{"sum = warp_max", "sum = warp_max(sum) + __half2float(sK[row16][key16 + 1]);"},
		{"sum = warp_max", "sum = warp_max(sum) + __half2float(sV[row16][key16]);"},
		{"sum = warp_max", "sum = warp_max(sum) - __half2float(sV[row16][key16 + 1]);"},
		{"sum = warp_max", "sum += warp_max(sum) + __half2float(sV[row16][key16 + 1]);"},
		{"const int row16", "const int row16 = n / 16 * 16, key16 = n / 16;"},
		{"const int row16", "const int row16 = n % 16 * 16, key16 = n % 16;"},
		{"const int first", "const int first = blockIdx.y * TILE;"},
		{"const int first", "const int first = blockIdx.x * HALF;"},
		{"O[(first", "O[(first + t) * S + n] = sum - 1.0f;"},
		{"O[(first", "O[(t) * D + n] = sum - 1.0f;"},
		{"if (n >= S)", "if (n > S) continue;"},
		{"if (n >= S)", ""},
		{"for (int n", "for (int n = 0; n < S; n += 1) {"},
		{"for (int n", "for (int n = t; n < S; n += 32) {"},
		{"for (int n", "for (int n = lane; n <= S; n += 32) {"},
		{"asm volatile", `asm volatile("st.global.f32 [%0], %1;" :: "l"(O), "f"(sum));`},
		{"sum += helper", "sum += helper(lane, t);"},
		{"__syncthreads", ""},
		{"float sum", "float sum = -INFINITY;"},
		{"sum * scale", "sum = sum * scale<3>() * LOG2_E + BIAS;"},
		{"sS[t]", "sS[t][first] = __int_as_float(0xff800000) + sV[t][D];"},
		{"sum = lowest", "for (int n = 0; n <= min(first, TILE - 1); n++) sum = lowest();"},
		{"sum = lowest", "for (int n = 0; n <= first; n++) sum = -INFINITY;"},
		{"O[(first", "O[(first + t) * D + n] = sum - lowest();"},
	} {
		found := slices.ContainsFunc(editsOf(t, c.line), func(e Edit) bool {
			_, now, ok := e.Lines()
			return ok && now == c.now
		})
		if !found {
			t.Errorf("%s: no edit makes %q of it", c.line, c.now)
		}
	}
}

// What a compiler needs the value of, and names that a line does not see, have no part in edits.
func TestEditsThatCannotCompile(t *testing.T) {
	parts := []string{"constexpr int HALF", "__shared__ half sK", "#define FLAG", "struct Shared"}
	for _, part := range parts {
		if list := editsOf(t, part); len(list) > 0 {
			t.Errorf("%s: %d edits, the first %s", part, len(list), list[0].What)
		}
	}
	for _, e := range editsOf(t, "const int first") {
		for _, name := range []string{"row16", "key16", "sum"} {
			if strings.Contains(e.What, name) {
				t.Errorf("%s: %s is not declared there", e.What, name)
			}
		}
	}
}

// An edit leaves in what other builds may need, or says which flag it leaves out.
func TestEditsKeepSymbols(t *testing.T) {
	text := "#ifndef USE_RMS\n#define USE_RMS 0\n#endif\n" +
		"__global__ void f(float* y, float a, float b) {\n    y[0] = USE_RMS ? a : a + b;\n" +
		"    if (USE_RMS) y[1] = b;\n}\n"
	edits := together(NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {5: 0}}, Wanted{}))
	if len(edits) == 0 {
		t.Fatal("no edits")
	}
	flag := together(NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {6: 0}}, Wanted{}))
	for _, e := range flag {
		if _, now, ok := e.Lines(); ok && strings.Contains(now, "if (USE_RMS)") == (len(e.Drops) > 0) {
			t.Errorf("%s: %s, and leaves out %v", e.What, now, e.Drops)
		}
	}
	for _, e := range edits {
		if _, now, ok := e.Lines(); ok && strings.Contains(now, "USE_RMS") == (len(e.Drops) > 0) {
			t.Errorf("%s: %s, and leaves out %v", e.What, now, e.Drops)
		}
	}
}

// Edits that make the same text are one.
func TestEditsAreDistinct(t *testing.T) {
	for _, part := range []string{"sum = warp_max", "for (int n", "O[(first"} {
		seen := map[string]string{}
		for _, e := range editsOf(t, part) {
			text := e.Applied()
			if was, ok := seen[text]; ok {
				t.Errorf("%q and %q make the same text", was, e.What)
			}
			seen[text] = e.What
		}
	}
}

// A switched text has every edit once, and is the text itself where all numbers are 0.
func TestSwitched(t *testing.T) {
	edits := editsOf(t, "sum = warp_max")
	texts, kept, _ := Switched(edits)
	text := texts["own.cu"]
	if len(kept) < len(edits)/2 || len(texts) != 1 {
		t.Fatalf("%d of %d edits in %d texts", len(kept), len(edits), len(texts))
	}
	for k := range kept {
		if n := strings.Count(text, "tilescope_edit("+itoa(k+1)+")"); n != len(kept[k].sites) {
			t.Errorf("edit %d (%s) stands %d times", k+1, kept[k].What, n)
		}
		if EditAt(LineOf(k+1)) != k+1 {
			t.Errorf("line %d is not that of edit %d", LineOf(k+1), k+1)
		}
	}
	if EditAt(17) != 0 {
		t.Error("a line of the text is an edit's")
	}
	if rest := without(text); rest != squeezed(kernel) {
		t.Errorf("without its edits the text is another:\n%s\nexpected\n%s", rest, squeezed(kernel))
	}
}

func itoa(n int) string {
	var digits []byte
	for ; n > 0; n /= 10 {
		digits = append([]byte{byte('0' + n%10)}, digits...)
	}
	return string(digits)
}

// without is a switched text without its prelude, edits, blanks and brackets of one's own.
func without(text string) string {
	_, text, _ = strings.Cut(text, "#line 1\n")
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "#line") && !strings.Contains(line, "tilescope_edit(") {
			out = append(out, line)
		}
	}
	return squeezed(strings.Join(out, "\n"))
}

// squeezed is a text without blanks and brackets.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n(){}", r) {
			return -1
		}
		return r
	}, text)
}

func TestSpread(t *testing.T) {
	w := NewSet(Parse("own.cu", kernel), Parse("own.cuh", header))
	at := lineOf(t, kernel, "sum = warp_max")
	lines := map[string]map[int]int{"own.cu": {at: 0}}
	w.Spread(lines, 1)
	for part, far := range map[string]int{
		"sum = warp_max": 0, "const int row16": 1, "for (int n": 1, "float sum": 1, "float warp_max": 0,
		"sum += helper": 1,
	} {
		if d, ok := lines["own.cu"][lineOf(t, kernel, part)]; !ok || d != far {
			t.Errorf("%s is %d steps away (%t), expected %d", part, d, ok, far)
		}
	}
	if _, ok := lines["own.cu"][lineOf(t, kernel, "O[(first")]; ok {
		t.Error("a line that makes nothing of it is near")
	}
}

// Of edits that do as well the shorter text is the likelier.
func TestCost(t *testing.T) {
	var longer, shorter *Edit
	list := editsOf(t, "sum += helper")
	for i := range list {
		switch list[i].What {
		case "t in place of helper(t, lane)":
			shorter = &list[i]
		case "helper(t, lane) + t in place of helper(t, lane)":
			longer = &list[i]
		}
	}
	if shorter == nil || longer == nil || shorter.Cost() >= longer.Cost() {
		t.Errorf("%v and %v", shorter, longer)
	}
}

// Text that is no CUDA C++ is left alone.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		kernel, "", "{", "for (", "void f() { a < b > (c); \"", "x\\\n#define", "/*", "int f(){return 1e+;}",
		"#define OPEN (\nvoid f() { int a = OPEN + 1; }",
	} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, line int) {
		own := Parse("own.cu", text)
		set := NewSet(own)
		lines := map[string]map[int]int{"own.cu": {line: 0}}
		set.Spread(lines, 2)
		edits := set.Edits(lines, Wanted{})
		for _, e := range edits[:min(len(edits), 50)] {
			e.Applied()
			e.Lines()
		}
		Switched(edits[:min(len(edits), 50)])
	})
}

// What is known of the first wrong cells puts edits first: an array in the place of the one that is taken,
// and those of indices of the array.
func TestWanted(t *testing.T) {
	own := Parse("own.cu", kernel)
	lines := map[string]map[int]int{"own.cu": {lineOf(t, kernel, "sum = warp_max"): 0}}
	w := NewSet(own, Parse("own.cuh", header))
	if first := w.Edits(lines, Wanted{Kind: Indices, From: "V", To: "K"})[0].What; first !=
		"sK[row16][key16 + 1] in place of sV[row16][key16 + 1]" {
		t.Errorf("K in the place of V: the first edit is %s", first)
	}
	within := func(wanted Wanted) int {
		n := 0
		for _, e := range w.Edits(lines, wanted)[:10] {
			before := kernel[:e.sites[0].from]
			if strings.Contains(before[strings.LastIndex(before, "\n"):], "sV[") {
				n++
			}
		}
		return n
	}
	if was, now := within(Wanted{}), within(Wanted{Kind: Indices, Arrays: []string{"V"}}); now <= was {
		t.Errorf("of the first ten edits %d are in indices of V where these are wanted, and else %d", now, was)
	}
}

// Where something is done too early, statements at other places come before other edits.
func TestOrdered(t *testing.T) {
	const text = `__device__ void produce(int *k, int *full, int *empty, int round, int kv) {
    load(&k[kv], &full[kv], kv + 1);
    if (round > 0) wait(&empty[kv], round - 1 & 1);
}
`
	set := NewSet(Parse("own.cu", text))
	place := func(wanted Wanted) int {
		for i, e := range set.Edits(map[string]map[int]int{"own.cu": {2: 0, 3: 1}}, wanted) {
			if strings.HasPrefix(e.What, "if (round > 0) wait(&empty[kv], round - 1 & 1); before") {
				return i
			}
		}
		t.Fatal("no edit moves the wait")
		return 0
	}
	const first = 10
	was, now := place(Wanted{Kind: Indices}), place(Wanted{Kind: Indices, Ordered: true})
	if now > first || now >= was {
		t.Errorf("the wait before the load is edit %d where an order is wanted, and else %d", now, was)
	}
}

// A statement that a loop begins with, and that uses nothing of it, may belong before it.
func TestBeforeLoop(t *testing.T) {
	const text = `__device__ void sum(float *x, int n) {
    float acc[4];
    for (int d = 0; d < n; d++) {
        for (int e = 0; e < 4; e++) acc[e] = 0.0f;
        const int at = 4 * d;
        x[d] = 0.0f;
        add(acc, &x[at]);
    }
}
`
	set := NewSet(Parse("own.cu", text))
	var moved []string
	for _, e := range set.Edits(map[string]map[int]int{"own.cu": {4: 0, 6: 0, 7: 0}}, Wanted{}) {
		if strings.HasSuffix(e.What, "before the loop of line 3") {
			moved = append(moved, e.What)
			now := strings.Join(strings.Fields(e.Applied()), " ")
			want := "{ for (int e = 0; e < 4; e++) acc[e] = 0.0f; for (int d = 0; d < n; d++) { const"
			if !strings.Contains(now, want) {
				t.Errorf("%q is not in %s", want, now)
			}
		}
	}
	want := []string{"for (int e = 0; e < 4; e++) acc[e] = 0.0f; before the loop of line 3"}
	if !slices.Equal(moved, want) {
		t.Errorf("%q is moved before the loop, expected %q", moved, want)
	}
}

func TestMentioning(t *testing.T) {
	lines := map[string]map[int]int{}
	NewSet(Parse("own.cu", kernel)).Mentioning(lines, "sS[3]", 0)
	for part, far := range map[string]int{"sS[t][first]": 0, "half(&sP)": 1} {
		if d, ok := lines["own.cu"][lineOf(t, kernel, part)]; !ok || d != far {
			t.Errorf("%s is %d steps away (%t), expected %d", part, d, ok, far)
		}
	}
}

func TestIf(t *testing.T) {
	own := Parse("own.cu", kernel)
	at := lineOf(t, kernel, "if (n >= S)")
	for part, want := range map[string]int{"if (n >= S)": at, "sum = warp_max": 0, "float sum": 0} {
		if got := own.If(lineOf(t, kernel, part)); got != want {
			t.Errorf("%s belongs to the if of line %d, expected %d", part, got, want)
		}
	}
}

// Of what is accessed out of bounds, a variable of the index is compared with the numbers of the kernel.
func TestMissingBounds(t *testing.T) {
	own := Parse("own.cu", kernel)
	lines := map[string]map[int]int{"own.cu": {lineOf(t, kernel, "O[(first"): 0}}
	list := NewSet(own).Edits(lines, Wanted{Kind: Indices, Arrays: []string{"O"}, Beyond: true})
	at := slices.IndexFunc(list, func(e Edit) bool {
		_, now, ok := e.Lines()
		return ok && now == "if (n < D) O[(first + t) * D + n] = sum - 1.0f;" ||
			now == "if (n < S) O[(first + t) * D + n] = sum - 1.0f;"
	})
	if at < 0 || at > 24 {
		t.Errorf("the store under a bound is edit %d of %d", at, len(list))
	}
	sum := slices.IndexFunc(list, func(e Edit) bool { return e.What == "under the condition first + t < S" })
	if sum < 0 || sum > 20 {
		t.Errorf("the bound of the sum in brackets is edit %d of %d", sum, len(list))
	}
}

// TestBoundOfAConditional: what is stored under a condition of its own gets a missing bound in that condition
// before the whole statement is put under it, which would leave the cell as it was.
func TestBoundOfAConditional(t *testing.T) {
	own := Parse("own.cu", `__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float s[16][16], u[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        s[threadIdx.y][threadIdx.x] = (row < M) ? A[row * K + ka] : 0.f;
        u[threadIdx.y][threadIdx.x] = (kb < K && col < N) ? B[kb * N + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) acc += s[threadIdx.y][k] * u[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
`)
	lines := map[string]map[int]int{"own.cu": {7: 0}}
	list := NewSet(own).Edits(lines, Wanted{Kind: Indices, Arrays: []string{"A"}, Beyond: true})
	at := func(now string) int {
		return slices.IndexFunc(list, func(e Edit) bool {
			_, is, ok := e.Lines()
			return ok && is == now
		})
	}
	joined := at("s[threadIdx.y][threadIdx.x] = (row < M) && ka < K ? A[row * K + ka] : 0.f;")
	whole := at("if (ka < K) s[threadIdx.y][threadIdx.x] = (row < M) ? A[row * K + ka] : 0.f;")
	if joined < 0 || joined > 5 || whole >= 0 && whole < 20 { // behind all that change the condition
		t.Errorf("in its condition %d, around the statement %d", joined, whole)
	}
}

// A parameter may have a macro behind its name, and an inner declaration hides an outer one.
func TestNames(t *testing.T) {
	own := Parse("own.cu", `
__global__ void k(const float* x, int M, int K MORE) {
    float top[2] = {};
    for (int r = 0; r < M; r++) {
        const float top = x[r], best = x[r + 1];
        out[r] = exp_below(top, best);
    }
}
`)
	list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {4: 0, 6: 0}}, Wanted{})
	for _, want := range []string{
		"K in place of M", "exp_below(best, top) in place of exp_below(top, best)",
	} {
		if !slices.ContainsFunc(list, func(e Edit) bool { return e.What == want }) {
			t.Errorf("%s is not among %d edits", want, len(list))
		}
	}
}

// Terms and functions of real numbers are applied in another order.
func TestOrderOfOperations(t *testing.T) {
	own := Parse("own.cu", `
__device__ float warp_max(float x) { return x; }
__device__ float k(float m, float x, float y, float scale) {
    m = fmaxf(m, fmaxf(warp_max(x), y));
    m = rsqrtf(__fadd_rn(x, y));
    m = __fmul_rn(__fsub_rn(x, y), scale);
    m = __fmaf_rn(x, scale, y);
    return m;
}
`)
	for line, want := range map[int]string{
		4: "warp_max(fmaxf(x, y)) in place of fmaxf(warp_max(x), y)",
		5: "__fadd_rn(rsqrtf(x), y) in place of rsqrtf(__fadd_rn(x, y))",
		6: "__fsub_rn(__fmul_rn(x, scale), y) in place of __fmul_rn(__fsub_rn(x, y), scale)",
		7: "__fmul_rn(__fadd_rn(x, y), scale) in place of __fmaf_rn(x, scale, y)",
	} {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{})
		if at := slices.IndexFunc(list, func(e Edit) bool { return e.What == want }); at < 0 || at > 30 {
			t.Errorf("%s is edit %d of %d", want, at, len(list))
		}
	}
}

// What a line lacks often stands on another one: a term, a bound, a clamp, an atomic addition.
func TestTakenFromOtherLines(t *testing.T) {
	own := Parse("own.cu", `
__global__ void k(float* u, const float* x, int rows, int C, int first) {
    for (int r = 0; r < rows; r++) {
        const int at = (first + r) * C, begin = (r - first + 1) / 4;
        if (r < rows) u[at] = x[r];
        if (begin < C) u[r] = u[r] + x[at];
        u[2 * r] = r < rows ? x[r] : 0.0f;
    }
}
`)
	for line, want := range map[int]string{
		4: "max(0, r - first + 1) in place of r - first + 1",
		5: "(first + r) in place of r",
		6: "atomicAdd(&u[r], x[at]); in place of u[r] = u[r] + x[at];",
		7: "r < rows && begin < C in place of r < rows",
	} {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{})
		if at := slices.IndexFunc(list, func(e Edit) bool { return e.What == want }); at < 0 || at > 150 {
			t.Errorf("%s is edit %d of %d", want, at, len(list))
		}
	}
}

// Loops take steps of one, the parts of a list have other values, and constants of types stand for numbers.
func TestStepsAndLists(t *testing.T) {
	own := Parse("own.cu", `
constexpr int DIM = 64;
__device__ float lowest() { return 0; }
__global__ void k(float* u, int tiles) {
    if (tiles < 1) return;
    for (int kt = 0; kt < tiles; kt += DIM) u[kt] = 0;
    float top[2] = {u[0], u[1]};
    for (int d = 0; d < Tile::COLS; d += 16) u[d] = top[0];
}
`)
	for line, want := range map[int]string{
		6: "1 in place of DIM", 7: "lowest() in place of u[0]", 8: "DIM in place of Tile::COLS",
	} {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{})
		if at := slices.IndexFunc(list, func(e Edit) bool { return e.What == want }); at < 0 || at > 60 {
			t.Errorf("%s is edit %d of %d", want, at, len(list))
		}
	}
	lines := map[string]map[int]int{}
	NewSet(own).Leaving(lines, 1)
	if d, ok := lines["own.cu"][5]; !ok || d != 1 || len(lines["own.cu"]) != 1 {
		t.Errorf("threads leave at lines %v, expected 5, one step away", lines)
	}
}

// What is computed and never used belongs in what is; a loop may end where another does.
func TestUnusedAndBounds(t *testing.T) {
	own := Parse("own.cu", `
constexpr int DIM = 64, ROWS = 16;
__device__ float dot(const float* a, const float* b) {
    float even = 0.0f, odd = 0.0f;
    for (int i = 0; i < DIM; i += 2) even = even + a[i] * b[i];
    for (int i = 0; i < DIM; i += 2) odd = odd + a[i + 1] * b[i + 1];
    return even;
}
__global__ void k(float* u, int rows, int tile, int key0) {
    for (int i = threadIdx.x; i < rows * DIM; i += 128) u[i] = 0;
    const int first = rows - tile * ROWS;
    for (int j = first; j < rows; j += 128) u[j] = dot(u, u + j);
    u[key0] = 1;
}
`)
	for line, want := range map[int]string{
		7: "(even + odd) in place of even", 11: "key0 in place of tile * ROWS",
		12: "rows * DIM in place of rows",
	} {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{})
		if at := slices.IndexFunc(list, func(e Edit) bool { return e.What == want }); at < 0 || at > 60 {
			t.Errorf("%s is edit %d of %d", want, at, len(list))
		}
	}
	place := func(w Wanted) int {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {11: 0, 12: 0}}, w)
		return slices.IndexFunc(list, func(e Edit) bool { return e.What == "rows * DIM in place of rows" })
	}
	if was, now := place(Wanted{}), place(Wanted{Deciding: true}); now >= was {
		t.Errorf("where a loop leaves something out its bound is edit %d, and else %d", now, was)
	}
}

// The elements of an array go on in what is loaded from it.
func TestTakers(t *testing.T) {
	own := Parse("own.cu", `
__global__ void k(float* u) {
    __shared__ float sP[16][16];
    load(p_frag[n], &sP[row16][16 * n], 16);
    own[t] = sP[t][0];
    other[t] = u[t];
}
`)
	if got := own.takers([]string{"P"}); !slices.Equal(got, []string{"p_frag", "own"}) {
		t.Errorf("elements of P go to %v", got)
	}
}

// A sum begins anew in a loop, a loop goes on where it is left, numbers and variables stand in each other's
// place, and a constant or another operand belongs there.
func TestBegun(t *testing.T) {
	own := Parse("own.cu", `
constexpr int TILE = 16;
__global__ void k(float* u, const float* x, float scale, int rows, int C, int first) {
    float sum = 0.0f;
    for (int r = 0; r < rows - first; r++) {
        for (int c = 0; c < C; c++) {
            if (c > r) break;
            sum += x[r * C + c];
        }
        u[r % 2 * 32 + r * 8 + first] = sum;
    }
}
`)
	for _, c := range []struct {
		line      int
		what, now string
	}{
		{7, "continue; in place of break;", "if (c > r) continue;"},
		{8, "sum = 0.0f; before line 6", "{ sum = 0.0f; for (int c = 0; c < C; c++) {"},
		{8, "c and r exchanged", "sum += x[c * C + r];"},
		{10, "32 and 8 exchanged", "u[r % 2 * 8 + r * 32 + first] = sum;"},
		{5, "TILE in place of rows - first", "for (int r = 0; r < TILE; r++) {"},
		{10, "__fmul_rn(sum, scale) in place of sum", "first] = __fmul_rn(sum, scale);"},
	} {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {c.line: 0}}, Wanted{})
		at := slices.IndexFunc(list, func(e Edit) bool { return e.What == c.what })
		if at < 0 {
			t.Errorf("%s: no such edit of %d", c.what, len(list))
		} else if !strings.Contains(list[at].Applied(), c.now) {
			t.Errorf("%s: no line %q in\n%s", c.what, c.now, list[at].Applied())
		}
	}
}

// A statement behind a loop belongs in it, and the last of a loop behind it, where it uses nothing of the
// loop.
func TestLoopsAndStatements(t *testing.T) {
	own := Parse("own.cu", `
__global__ void k(float* u, const float* x, int C) {
    float sum = 0.0f, p = 0.0f;
    for (int c = 0; c < C; c++) {
        p = x[c];
    }
    sum += p;
    for (int c = 0; c < C; c++) {
        const float q = x[c];
        sum += q;
        u[0] = sum;
    }
    for (int c = 0; c < C; c++) {
        const float q = x[c];
        sum += q;
    }
    for (int c = 0; c < C; c++) {
        sum += x[c];
        for (int e = 0; e < 4; e++) u[e] = sum;
    }
}
`)
	for _, c := range []struct {
		line      int
		what, now string // now: "" where there is no such edit
	}{
		{19, "for (int e = 0; e < 4; e++) u[e] = sum; behind the loop of line 17", "} for (int e = 0; e < 4; e++)"},
		{7, "sum += p; behind line 5", "{ p = x[c]; sum += p; }"},
		{11, "u[0] = sum; behind the loop of line 8", "} u[0] = sum; }"},
		{15, "sum += q; behind the loop of line 13", ""},
	} {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {c.line: 0}}, Wanted{})
		switch at := slices.IndexFunc(list, func(e Edit) bool { return e.What == c.what }); {
		case (at < 0) != (c.now == ""):
			t.Errorf("%s: is one of %d edits: %t", c.what, len(list), at >= 0)
		case at >= 0 && !strings.Contains(list[at].Applied(), c.now):
			t.Errorf("%s: no line %q in\n%s", c.what, c.now, list[at].Applied())
		}
	}
}

// Two statements have a word in each other's place, one stands elsewhere in its block, a comparison is of
// what is not converted, and a condition never holds.
func TestCrosswise(t *testing.T) {
	own := Parse("own.cu", `
__global__ void k(float* u, float* v, const float* x, bool late, int n, int C) {
    if (static_cast<unsigned>(n - C) <= static_cast<unsigned>(C)) u[n] = 0.0f;
    fetch(n, late);
    u[n] = x[n];
    v[n] = x[C];
    store(v);
    fetch(C, late), fetch(n + 1 & 15, late);
}
`)
	for _, c := range []struct {
		line      int
		what, now string
	}{
		{5, "n and C exchanged on lines 5 and 6", "u[n] = x[C];\n    v[n] = x[n];"},
		{5, "u and v exchanged on lines 5 and 6", "v[n] = x[n];\n    u[n] = x[C];"},
		{4, "fetch(n, late); before line 7", "{ fetch(n, late); store(v); }"},
		{3, "n - C <= C in place of static_cast<unsigned>(n - C) <= static_cast<unsigned>(C)", "if (n - C <= C)"},
		{4, "false in place of late", "fetch(n, false);"},
		{8, "C & 15 in place of C", "fetch(C & 15, late)"},
	} {
		list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {c.line: 0}}, Wanted{})
		at := slices.IndexFunc(list, func(e Edit) bool { return e.What == c.what })
		if at < 0 {
			t.Errorf("%s: no such edit of %d", c.what, len(list))
		} else if !strings.Contains(list[at].Applied(), c.now) {
			t.Errorf("%s: no line %q in\n%s", c.what, c.now, list[at].Applied())
		}
	}
}

// An edit of several places alike has those of one place each, without brackets round an argument.
func TestParts(t *testing.T) {
	own := Parse("own.cu", `
__global__ void k(float* u, int n, int C) {
    const int next = n + 2;
    if (n + 1 < C) u[n] = 0.0f;
    fetch(n + 1);
}
`)
	list := NewSet(own).Edits(map[string]map[int]int{"own.cu": {4: 0}}, Wanted{})
	i := slices.IndexFunc(list, func(e Edit) bool {
		return e.What == "(n + 2) in place of n + 1 at all its places in the function"
	})
	if i < 0 {
		t.Fatal("no edit of both places")
	}
	parts := list[i].Parts()
	if len(parts) != 2 || parts[0].Line != 4 || parts[1].Line != 5 {
		t.Fatalf("%+v", parts)
	}
	for k, want := range []string{"if ((n + 2) < C) u[n] = 0.0f;\n    fetch(n + 1);", "fetch(n + 2);"} {
		if !strings.Contains(parts[k].Applied(), want) || parts[k].What != "(n + 2) in place of n + 1" {
			t.Errorf("%s: no %q in\n%s", parts[k].What, want, parts[k].Applied())
		}
	}
	if parts[0].Parts() != nil {
		t.Error("an edit of one place has parts")
	}
}
