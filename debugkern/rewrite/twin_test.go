package rewrite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// wantLine is a line that an edit has to make of one of a text.
type wantLine struct{ line, now string }

// wantLines looks for them among the edits that can be compiled together.
func wantLines(t *testing.T, text string, want []wantLine) {
	t.Helper()
	for _, c := range want {
		line := lineOf(t, text, c.line)
		set := NewSet(Parse("own.cu", text))
		list := together(set.Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{}))
		if !slices.ContainsFunc(list, func(e Edit) bool {
			_, now, one := e.Lines()
			return one && now == c.now
		}) {
			t.Errorf("no edit of %d makes %q of the line with %q", len(list), c.now, c.line)
		}
	}
}

// A statement is like another one, with its own names.
func TestTwins(t *testing.T) {
	wantLines(t, `
constexpr int TILE_K = 32, TILE_N = 64;
__global__ void k(const float* Qs, const float* Ks, float decode, int head, int t, int warp) {
    __shared__ float sA[64][TILE_K], sB[32][TILE_N];
    float a[4], b[4];
    const float q_scale = __fmul_rn(decode, Qs[head]);
    const float k_scale = Ks[head];
    for (int i = 0; i < 4; i++) sA[(i * 128 + t) / TILE_K][t % TILE_K] = a[i];
    for (int i = 0; i < 4; i++) sB[i * 128 / TILE_N + warp][t % TILE_N] = b[i];
    store(&sA[t][0], q_scale, 1);
    store(&sB[t][0], 2.0f);
}
`, []wantLine{
		{"k_scale =", "const float k_scale = __fmul_rn(decode, Ks[head]);"},
		{"sB[i *", "for (int i = 0; i < 4; i++) sB[(i * 128 + t) / TILE_N][t % TILE_N] = b[i];"},
		{"store(&sB", "store(&sB[t][0], q_scale, 1);"},
	})
}

// Calls are left out together, a pointer is read as what it is, the kernel's own function is called, and what
// is assigned under a condition is assigned always.
func TestLeftOut(t *testing.T) {
	wantLines(t, `
__device__ float neg_inf() { return 0; }
__device__ float exp_below(float x, float m) { return x; }
__global__ void k(const float* bias, float* u, float x, float y, float scale, int n) {
    float m = fmaxf(fabsf(x), fabsf(y));
    float r = exp_below(__fmul_rn(x, scale), __fmul_rn(y, scale));
    float b = __half2float(reinterpret_cast<const half*>(bias)[n]);
    float e = exp2f(__fsub_rn(x, y));
    if (n < 8) u[n] = x;
    float root = __fsqrt_rn(x);
}
`, []wantLine{
		{"float m = ", "float m = fmaxf(x, y);"},
		{"float r ", "float r = exp_below(x, y);"},
		{"float b", "float b = bias[n];"},
		{"float e = ", "float e = exp_below(x, y);"},
		{"if (n", "u[n] = n < 8 ? x : neg_inf();"},
		{"float root", "float root = rsqrtf(x);"},
	})
}

// The digits of a number are others, and a row and column exchanged.
func TestDigits(t *testing.T) {
	wantLines(t, `
__device__ int row(int lane, int e) { return lane / 4 + e / 4 * 8; }
__device__ Row first(int lane) { return {lane / 2, lane % 2 * 8}; }
__global__ void k(float* u, int lane) { u[2 * (lane % 4)] = 0.0f; }
`, []wantLine{
		{"int row", "__device__ int row(int lane, int e) { return lane / 4 + e / 2 % 2 * 8; }"},
		{"Row first", "__device__ Row first(int lane) { return {lane % 16, lane / 16 * 8}; }"},
		{"__global__", "__global__ void k(float* u, int lane) { u[2 * (lane / 4)] = 0.0f; }"},
	})
}

// The elements of an array begin anew.
func TestElementsBegin(t *testing.T) {
	text := `
__global__ void k(float* u, const float* x, int n) {
    float sum[2] = {0.0f, 1.0f};
    for (int i = 0; i < n; i++) {
        sum[i % 2] = sum[i % 2] + x[i];
    }
}
`
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {5: 0}}, Wanted{})
	if !slices.ContainsFunc(list, func(e Edit) bool {
		return strings.Contains(e.Applied(), "{ sum[0] = 0.0f, sum[1] = 1.0f; sum[i % 2] = ")
	}) {
		t.Error("no edit gives the elements their first values")
	}
}

// With the other value of a flag the text is what it was.
func TestFlagged(t *testing.T) {
	text := `
#define FLAG 1
__global__ void k(float* u, float x, float y) {
    u[0] = __float2half_rn(__fadd_rn(x, y));
    if (x < y) u[1] = x;
    u[2] = FLAG ? x : y;
}
`
	set := NewSet(Parse("own.cu", text))
	find := func(line int, what string) *Edit {
		list := set.Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{})
		i := slices.IndexFunc(list, func(e Edit) bool { return e.What == what })
		if i < 0 {
			t.Fatalf("no edit %q", what)
		}
		return &list[i]
	}
	for _, c := range []struct {
		line, value int
		what, now   string
	}{
		{4, 1, "x in place of __fadd_rn(x, y)", "u[0] = __float2half_rn(FLAG ? x : __fadd_rn(x, y));"},
		{4, 0, "x in place of __fadd_rn(x, y)", "u[0] = __float2half_rn(FLAG ? __fadd_rn(x, y) : x);"},
		{5, 1, "without if (x < y) u[1] = x;", "if (!FLAG) if (x < y) u[1] = x;"},
		{5, 0, "without if (x < y) u[1] = x;", "if (FLAG) if (x < y) u[1] = x;"},
	} {
		e, ok := find(c.line, c.what).Flagged("FLAG", c.value)
		if _, now, _ := e.Lines(); !ok || now != c.now {
			t.Errorf("%s: %q, want %q", c.what, now, c.now)
		}
	}
	e := set.Edits(map[string]map[int]int{"own.cu": {6: 0}}, Wanted{})
	i := slices.IndexFunc(e, func(e Edit) bool { return len(e.Drops) > 0 })
	if i < 0 {
		t.Fatal("no edit leaves out the flag")
	}
	if out, ok := e[i].Flagged("FLAG", 1); ok {
		t.Errorf("%s: an edit of the flag itself", out.What)
	}
}

// Edits of a function, and of the lines that call it, multiply: not all of them are compiled together, and
// none is lost.
func TestFitting(t *testing.T) {
	var b strings.Builder
	b.WriteString("__device__ float f(float x, float y) { return __fmul_rn(__fmul_rn(x, y), 2.0f); }\n")
	b.WriteString("__global__ void k(float* u, float x, float y, int n) {\n")
	for i := range 8 {
		fmt.Fprintf(&b, "    u[n + %d] = f(x, f(y, %d.0f));\n", i, i)
	}
	b.WriteString("}\n")
	lines := map[int]int{1: 0}
	for i := range 8 {
		lines[3+i] = 0
	}
	set := NewSet(Parse("own.cu", b.String()))
	edits := together(set.Edits(map[string]map[int]int{"own.cu": lines}, Wanted{}))
	once := func(string, int) int { return 1 }
	chosen, rest := set.Fitting(edits, 200, once)
	if len(chosen)+len(rest) != len(edits) || len(chosen) == 0 || len(chosen) > 150 {
		t.Errorf("%d chosen and %d left of %d", len(chosen), len(rest), len(edits))
	}
	alone := slices.DeleteFunc(slices.Clone(edits), func(e Edit) bool { return e.Line == 1 })
	if chosen, _ := set.Fitting(alone, 200, once); len(chosen) != 200 {
		t.Errorf("%d chosen of those of one function, 200 expected", len(chosen))
	}
	often := func(string, int) int { return 80 }
	if chosen, _ := set.Fitting(alone, 200, often); len(chosen) != 60 {
		t.Errorf("%d chosen of lines that are there ten times, 60 expected", len(chosen))
	}
}

// Edits of how often a loop runs that may be unrolled stand in a compilation of their own.
func TestFittingLoops(t *testing.T) {
	text := `
__global__ void k(float* u, float x, int n) {
#pragma unroll
    for (int i = 0; i < 4; i++) u[i + n] = x;
#pragma unroll 1
    for (int i = 0; i < n; i++) u[i + n] = x;
}
`
	set := NewSet(Parse("own.cu", text))
	edits := together(set.Edits(map[string]map[int]int{"own.cu": {4: 0, 6: 0}}, Wanted{}))
	once := func(string, int) int { return 1 }
	sum := 0
	for rest := edits; len(rest) > 0; {
		var chosen []Edit
		chosen, rest = set.Fitting(rest, 1000, once)
		sum += len(chosen)
		for _, e := range chosen {
			if e.unrolls() != chosen[0].unrolls() {
				t.Fatalf("%s stands in one compilation with %s", e.What, chosen[0].What)
			}
		}
	}
	if sum != len(edits) {
		t.Errorf("%d edits chosen of %d", sum, len(edits))
	}
	for _, e := range edits {
		head := strings.Contains(strings.Split(e.Applied(), "\n")[3], "int i = 0; i < 4; i++)")
		if e.Line == 4 && head == e.unrolls() || e.Line == 6 && e.unrolls() {
			t.Errorf("%s is of a loop's head that may be unrolled: %t", e.What, e.unrolls())
		}
	}
}

// A call that changes nothing is left out.
func TestSimplified(t *testing.T) {
	for was, want := range map[string]string{
		"sP[row] = __float2half_rn(__fmul_rn(p, 1.0f));  // x":  "sP[row] = __float2half_rn(p);  // x",
		"s = c ? __fmaf_rn(0.0f, a - (b + 1), sS[row]) : 0.0f;": "s = c ? sS[row] : 0.0f;",
		"x = __fadd_rn(__fmul_rn(1.0f, f(a, b)), 0.0f);":        "x = f(a, b);",
		"x = __fsub_rn(0.0f, y);":                               "x = __fsub_rn(0.0f, y);",
		"x = __fmul_rn(y, 10.0f);":                              "x = __fmul_rn(y, 10.0f);",
		"x = __fmul_rn(":                                        "x = __fmul_rn(",
		"const int round = (kv + 0) / STAGES;":                  "const int round = kv / STAGES;",
		"x = f(n + 0) + a[2 * i - 0];":                          "x = f(n) + a[2 * i];",
		"const float dp = true ? sdP[r][n] : inf();":            "const float dp = sdP[r][n];",
		"f(true ? g(a, b) : c, d);":                             "f(g(a, b), d);",
		"x = !true ? a : b;":                                    "x = !true ? a : b;",
		"x = n + 0 * k, -0;":                                    "x = n + 0 * k, -0;",
	} {
		if now := Simplified(was); now != want {
			t.Errorf("%s becomes %s, want %s", was, now, want)
		}
	}
}

// A loop goes like another one, and a row is counted by what its column is the remainder of.
func TestStrides(t *testing.T) {
	wantLines(t, `
constexpr int ROWS = 32, COLS = 16, THREADS = 128;
__global__ void k(float* u, int t, int lane, int n) {
    for (int i = t; i < n; i += THREADS) u[i] = 0.0f;
    for (int i = lane; i < 2 * n; i += 32) {
        const int r = i % ROWS, c = i % COLS;
        const int row = r + lane / 8;
    }
}
`, []wantLine{
		{"int i = lane", "for (int i = t; i < 2 * n; i += THREADS) {"},
		{"const int r ", "const int r = i / COLS, c = i % COLS;"},
		{"const int row", "const int row = r * 4 + lane / 8;"},
	})
}

// Brackets go where they hold one word, but for those of a call or a condition.
func TestBare(t *testing.T) {
	text := `
constexpr int D = 64;
__global__ void k(float* u, int n, bool leader) {
    const int at = n * (2 * D) + 3;
    if (leader && n < 8) u[at] = 1.0f;
    u[n] = f(2 * n);
}
`
	for _, c := range []struct {
		line      int
		what, now string
	}{
		{4, "D in place of 2 * D", "const int at = n * D + 3;"},
		{5, "leader in place of leader && n < 8", "if (leader) u[at] = 1.0f;"},
		{6, "n in place of 2 * n", "u[n] = f(n);"},
	} {
		list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {c.line: 0}}, Wanted{})
		i := slices.IndexFunc(list, func(e Edit) bool { return e.What == c.what })
		if i < 0 {
			t.Errorf("no edit %q", c.what)
			continue
		}
		e := list[i].Bare()
		if _, now, _ := e.Lines(); now != c.now {
			t.Errorf("%s: %q, want %q", c.what, now, c.now)
		}
	}
}

// The smallest edit costs least, and one that loses a choice more.
func TestSmallestEdit(t *testing.T) {
	text := `
constexpr int D = 64;
__global__ void k(float* u, int key, int n, bool leader) {
    const int at = (key < n ? key : 0) * (2 * D) + 3;
    const int other = key * D + 3;
    if (leader && key < n) u[at] = 1.0f;
}
`
	cost := func(line int, what string) int {
		t.Helper()
		list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{})
		i := slices.IndexFunc(list, func(e Edit) bool { return e.What == what })
		if i < 0 {
			t.Fatalf("no edit %q", what)
		}
		return list[i].Cost()
	}
	if a, b := cost(4, "D in place of 2 * D"), cost(4, "key in place of key < n ? key : 0"); a >= b {
		t.Errorf("a factor less costs %d, a choice less %d", a, b)
	}
	part := cost(6, "leader in place of leader && key < n")
	if all := cost(6, "without the condition if (leader && key < n)"); part >= all {
		t.Errorf("a part of a condition less costs %d, all of it %d", part, all)
	}
}

// A statement is offered as another one has it with its own member, or its own number of an element.
func TestTwinsOfMembers(t *testing.T) {
	text := Parse("k.cu", `__global__ void f(float2* o, float c, float p, float2 v, int x) {
    float2 acc = o[0];
    float u[2];
    acc.x = acc.x * c + p * v.x + x;
    acc.y = acc.y + p * v.y + x;
    u[0] = u[0] * c + p;
    u[1] = u[1] + p;
    o[0] = acc;
    o[1].x = u[0] + u[1];
}
`)
	for line, want := range map[int]string{
		5: "acc.y = acc.y * c + p * v.y + x;",
		7: "u[1] = u[1] * c + p;",
	} {
		found := slices.ContainsFunc(NewSet(text).Edits(map[string]map[int]int{"k.cu": {line: 0}}, Wanted{}),
			func(e Edit) bool {
				_, now, _ := e.Lines()
				return now == want
			})
		if !found {
			t.Errorf("line %d is not offered as %s", line, want)
		}
	}
}
