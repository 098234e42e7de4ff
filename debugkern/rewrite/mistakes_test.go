package rewrite

import (
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
