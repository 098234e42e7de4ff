package rewrite

import "testing"

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
