package rewrite

import (
	"slices"
	"strings"
	"testing"
)

// TestLikelyMistakes: what is easily mistaken in C, and what a kernel is passed and does not use.
func TestLikelyMistakes(t *testing.T) {
	const text = `constexpr int TILE_N = 16, DIM = 64, TILE_M = 32, THREADS = 128;
__device__ int swizzled(int n, int d) { return d ^ (n & 1 * 8); }
__global__ void k(float* x, const float* gamma, const float* beta, int C, int K) {
    const int t = threadIdx.x;
    const int tiles = __float2int_rn(static_cast<float>(K) / TILE_N);



    const int d = t % TILE_N;
    for (int r = t / TILE_N; r < TILE_M; r += THREADS / TILE_N) {
        x[r * DIM + d] = gamma[C + d];
    }


    x[tiles >> 2] = __fmul_rn(x[C], 1 / C);
}
`
	set := NewSet(Parse("own.cu", text))
	for part, what := range map[string]string{
		"return d ^": "(n & 1) * 8 in place of n & 1 * 8",
		"int tiles":  "__float2int_ru in place of __float2int_rn",
		"int d = t":  "DIM in place of TILE_N at all its places on the lines next to it",
		"gamma[":     "beta[d] in place of gamma[C + d]",
		"1 / C":      "__fdiv_rn(x[C], static_cast<float>(C)) in place of __fmul_rn(x[C], 1 / C)",
		"tiles >> 2": "/ in place of >>",
	} {
		list := set.Edits(map[string]map[int]int{"own.cu": {lineOf(t, text, part): 0}}, Wanted{})
		if at(list, what) < 0 {
			t.Errorf("%q is not listed", what)
		}
	}
}

// TestRegistersInOrder: registers of a fragment that changed places, where they are given values and where
// they are passed on; a register that another one is computed of is none.
func TestRegistersInOrder(t *testing.T) {
	const text = `__device__ int pack(const int* p) { return *p; }
__global__ void k(const int* x, int* y, int n) {
    int a[4], b0, b1;
    a[0] = pack(x + n);
    a[1] = pack(x + n + 8);
    a[2] = pack(x + (n + 1) * 8);
    b0 = pack(y);
    b1 = pack(y + 4);
    const int c0 = pack(x + 1), d = 3;
    const int e0 = pack(x + 2);
    const int e1 = pack(x + 3);
    const int e2 = e1 + 1;
    asm volatile("mma {%0}, {%1, %2}, {%3};" : "+r"(y[0]) : "r"(a[0]), "r"(a[1]), "r"(b1), "r"(b0));
}
`
	set := NewSet(Parse("own.cu", text))
	lines := map[int]int{}
	for n := range strings.Count(text, "\n") {
		lines[n+1] = 0
	}
	list := set.Edits(map[string]map[int]int{"own.cu": lines}, Wanted{})
	for what, now := range map[string]string{
		"a[1] and a[2] exchanged on lines 5 and 6": "a[2] = pack(x + n + 8);\n    a[1] = pack(x + (n + 1) * 8);",
		"a[0] and a[2] exchanged on lines 4 and 6": "a[2] = pack(x + n);",
		"b0 and b1 exchanged on lines 7 and 8":     "b1 = pack(y);\n    b0 = pack(y + 4);",
		"pack(x + 2) and pack(x + 3) exchanged on lines 10 and 11": "e0 = pack(x + 3);\n" +
			"    const int e1 = pack(x + 2);",
		"a[0] and a[1] exchanged": `"r"(a[1]), "r"(a[0]), "r"(b1)`,
		"b1 and b0 exchanged":     `"r"(b0), "r"(b1));`,
	} {
		if i := at(list, what); i < 0 || !strings.Contains(list[i].Applied(), now) {
			t.Errorf("%q is not listed as %q", what, now)
		}
	}
	for _, e := range list {
		for _, not := range []string{"a[1] and b1", "e1 + 1 and", "and e1 + 1 exchanged", "y[0] and"} {
			if strings.Contains(e.What, not) {
				t.Error(e.What)
			}
		}
	}
}

// TestWithinExtent: a score of the last tile counts only within the extent that the loop goes over, and so
// does a term of a sum.
func TestWithinExtent(t *testing.T) {
	const text = `__global__ void k(const float* x, float* y, int n) {
    const int lane = threadIdx.x % 32;
    float l = 0.0f;
    for (int t0 = 0; t0 < n; t0 += 32) {
        float s = x[lane];
        const float p = __expf(s - 1.0f);
        l += p;
    }
    y[lane] = l;
}
`
	lines := map[int]int{5: 0, 6: 0, 7: 0, 9: 0}
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": lines}, Wanted{})
	for what, now := range map[string]string{
		"t0 + lane < n ? x[lane] : -INFINITY in place of x[lane]": "s = t0 + lane < n ? x[lane] : -INFINITY;",
		"t0 + lane < n ? p : 0.0f in place of p":                  "l += t0 + lane < n ? p : 0.0f;",
	} {
		if i := at(list, what); i < 0 || !strings.Contains(list[i].Applied(), now) {
			t.Errorf("%q is not listed as %q", what, now)
		}
	}
	for _, e := range list {
		for _, not := range []string{"y[lane] = t0", "l += t0 + lane < n ? p : -"} {
			if strings.Contains(e.Applied(), not) {
				t.Error(e.What)
			}
		}
	}
}

// TestLackingInHelpers: a term that is not rescaled as the other one is, and a last tile that is taken whole.
func TestLackingInHelpers(t *testing.T) {
	const text = `struct ML { float m, l; };
__device__ float joined(ML a, ML b, float m) { return a.l + b.l * expf(b.m - m); }
__global__ void k(const float* x, float* y, int len) {
    float sum = 0.0f;
    for (int page = threadIdx.x; page * 16 < len; page++) {
        int n = 16;
        for (int t = 0; t < n; t++) sum += x[t];
    }
    for (int first = 0; first < len; first += 8)
        for (int t = 0; t < 8; t++) sum += x[first + t];
    y[0] = sum;
}
`
	lines := map[string]map[int]int{"own.cu": {2: 0, 6: 0, 10: 0}}
	list := NewSet(Parse("own.cu", text)).Edits(lines, Wanted{})
	for _, c := range [][2]string{
		{"a.l * expf(a.m - m) in place of a.l", "return a.l * expf(a.m - m) + b.l * expf(b.m - m);"},
		{"min(16, len - page * 16) in place of 16", "int n = min(16, len - page * 16);"},
		{"min(8, len - first) in place of 8", "t < min(8, len - first); t++"},
	} {
		if i := at(list, c[0]); i < 0 || !strings.Contains(list[i].Applied(), c[1]) {
			t.Errorf("%q is not listed as %q", c[0], c[1])
		}
	}
}

// TestAddressedOtherwise: the addresses of ldmatrix of an A operand and of two B operands, each for the
// other.
func TestAddressedOtherwise(t *testing.T) {
	const text = `__global__ void k(const float* s, float* y, int kk) {
    const int lane = threadIdx.x % 32;
    load(y, &s[(lane % 16) * 40 + kk + lane / 16 * 8]);
    load(y, &s[((lane & 7) + (lane >> 4) * 8) * 40 + kk + ((lane >> 3) & 1) * 8]);
}
`
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {3: 0, 4: 0}}, Wanted{})
	for _, want := range []string{
		"&s[((lane % 8 + lane / 16 * 8)) * 40 + kk + (lane / 8 % 2 * 8)]",
		"&s[((lane % 16)) * 40 + kk + (lane / 16 * 8)]",
	} {
		const what = "the second and third of four matrices exchanged, by their addresses"
		if !slices.ContainsFunc(list, func(e Edit) bool {
			return e.What == what && strings.Contains(e.Applied(), want)
		}) {
			t.Errorf("not listed: %s", want)
		}
	}
}

// TestLacking: what a kernel of fragments lacks or has twice: a scale that it is passed, a matrix transposed,
// a step of a reduction, a comparison with what it computes for it; and registers exchanged at all their
// places.
func TestLacking(t *testing.T) {
	const text = `__device__ void load(int (&r)[4], int s) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(s));
}
__device__ void loadt(int (&r)[4], int s) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(s));
}
__global__ void k(const float* x, float* y, int n, float scale) {
    int a[4];
    load(a, n);
    const int key = threadIdx.x, row = blockIdx.x;
    float s = key < n ? x[key] : -1.0f;
    float mx = s;
    mx = fmaxf(mx, __shfl_xor_sync(0xffffffffu, mx, 1));
    const float m = fmaxf(y[0], mx);
    int p[4] = {key * 2, n, key + 3, 4};
    use(a[0], a[1]);
    use(a[2], a[3]);
    y[key] = s - m;
    float l[2], c[2], o;
    for (int h = 0; h < 2; h++) {
        o *= c[h];
        l[h] = l[h] + s;
    }
}
`
	lines := map[int]int{}
	for n := range strings.Count(text, "\n") {
		lines[n+1] = 0
	}
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": lines}, Wanted{})
	const step = "mx = fmaxf(mx, __shfl_xor_sync(0xffffffffu, mx, "
	const matrix = "ldmatrix.sync.aligned.m8n8.x4"
	for _, c := range [][2]string{
		{"(x[key] * scale) in place of x[key]", "key < n ? (x[key] * scale) : -1.0f"},
		{"key < n && key <= row in place of key < n", "float s = key < n && key <= row ? x[key]"},
		{"a[1] and a[2] exchanged wherever they are read", "use(a[0], a[2]);\n    use(a[1], a[3]);"},
		{"l[h] * c[h] in place of l[h] in the sum", "l[h] = l[h] * c[h] + s;"},
		{"key * 2 and key + 3 exchanged", "{key + 3, n, key * 2, 4}"},
		{matrix + ".trans in place of " + matrix, "x4.trans.shared.b16 {%0}"},
		{matrix + " in place of " + matrix + ".trans", "x4.shared.b16 {%0}"},
		{step + "2)); behind " + step + "1));", "mx, 1)); " + step + "2));"},
	} {
		if i := at(list, c[0]); i < 0 || !strings.Contains(list[i].Applied(), c[1]) {
			t.Errorf("%q is not listed as %q", c[0], c[1])
		}
	}
	for _, e := range list {
		now := e.Applied()
		for _, not := range []string{
			"m = fmaxf(y[0], scale)", "m = fmaxf(y[0], y[0])", "m = fmaxf(mx, mx)", "m = y[0];",
		} {
			if strings.Contains(now, not) {
				t.Errorf("%q: %s", e.What, not)
			}
		}
	}
}

// TestIntegersBeginAsIntegers: no integer begins as a real number.
func TestIntegersBeginAsIntegers(t *testing.T) {
	const text = `__global__ void k(float* x, int S) {
    const int hidden = S / 2;
    float sum = fmaxf(x[0], x[1]);
    float u = 0.0f;
    for (int n = max(0, hidden + 2); n < S; n++) sum = __fmaf_rn(x[n], x[n + S], sum);
    x[1] = sum + x[hidden] + u;
}
`
	lines := map[string]map[int]int{"own.cu": {2: 0, 3: 0, 4: 0, 5: 0}}
	var reals int
	for _, e := range NewSet(Parse("own.cu", text)).Edits(lines, Wanted{}) {
		now := e.Applied()
		if strings.Contains(now, "int n = 0.0f") || strings.Contains(now, "hidden = 0.0f") {
			t.Error(e.What)
		}
		if strings.Contains(now, "sum = 0.0f") {
			reals++
		}
	}
	if reals == 0 {
		t.Error("a sum does not begin as 0.0f")
	}
}
