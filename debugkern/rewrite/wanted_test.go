package rewrite

import "testing"

// ofBlock has numbers of cells, parts of a block's threads and loops over tiles.
const ofBlock = `constexpr int TILE_M = 32, TILE_N = 16, THREADS = 128;
constexpr bool CAUSAL = FLAG;
__device__ half element(unsigned word, int i) {
    return __ushort_as_half(static_cast<unsigned char>(word >> 16 * (i % 2)));
}
__global__ void __launch_bounds__(THREADS) block(float* x, const float* y, int S) {
    __shared__ float sK[TILE_N][64], sPart[4][16];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int keys = min(TILE_M, S - blockIdx.x * TILE_N);
    int cell[8];
    for (int e = 0; e < 8; e++) cell[e] = warp * TILE_N + lane + e;
    for (int e = 0; e < 8; e++) if (cell[e] >= keys) x[e] = 0.0f;
    for (int u = lane; u < 256; u += THREADS) x[u] = 1.0f;
    for (int u = threadIdx.x; u < 256; u += 256) x[u] = 2.0f;
    for (int d = 0; d < 64; d += 2 * TILE_M) x[d] = y[d];
    for (int c = threadIdx.x; c < keys; c += THREADS) {
        x[c] = sK[c][0];
    }
    x[lane] = __fadd_rn(sPart[warp][lane], sPart[warp ^ 1][lane]);
    x[S] = CAUSAL ? y[0] : __fadd_rn(y[0], y[1]);
}
`

// TestWantedOfBlock: what is known of a bug lists the edits that it suggests before the others of its line.
func TestWantedOfBlock(t *testing.T) {
	set := NewSet(Parse("own.cu", ofBlock))
	beyond := Wanted{Kind: Indices, Beyond: true, Arrays: []string{"sK"}}
	for _, c := range []struct {
		part   string
		wanted Wanted
		what   string
		before string // an edit that is less likely; "": none is looked at
	}{
		{
			"return __ushort", Wanted{},
			"static_cast<unsigned short> in place of static_cast<unsigned char>", "",
		},
		{
			"cell[e] >= keys", Wanted{},
			"cell[e] % TILE_N in place of cell[e]", "cell[e] / TILE_N in place of cell[e]",
		},
		{"int u = lane", Wanted{}, "threadIdx.x in place of lane", "256 in place of THREADS"},
		{"int u = threadIdx.x", Wanted{}, "THREADS in place of 256", "blockDim.x in place of 256"},
		{"int d = 0", Wanted{Step: 16}, "16 in place of 2 * TILE_M", "1 in place of 2 * TILE_M"},
		{"int keys", beyond, "TILE_N in place of TILE_M", "1 in place of TILE_M"},
		{
			"x[lane] =", Wanted{Kind: Indices, Arrays: []string{"sPart"}},
			"sPart[warp][lane] in place of __fadd_rn(sPart[warp][lane], sPart[warp ^ 1][lane])",
			"2 in place of 1",
		},
		{
			"x[S] =", Wanted{},
			"CAUSAL ? __fadd_rn(y[0], y[1]) : y[0] in place of CAUSAL ? y[0] : __fadd_rn(y[0], y[1])", "",
		},
	} {
		lines := map[string]map[int]int{"own.cu": {lineOf(t, ofBlock, c.part): 0}}
		if c.wanted.Beyond {
			lines["own.cu"][lineOf(t, ofBlock, "x[c] = sK")] = 0
		}
		list := set.Edits(lines, c.wanted)
		own, other := at(list, c.what), len(list)
		if c.before != "" {
			other = at(list, c.before)
		}
		if own < 0 || own >= other {
			t.Errorf("%q is at %d of %d, %q at %d", c.what, own, len(list), c.before, other)
		}
	}
}

// TestCostOfChoice: a condition that comes with what stands elsewhere makes an edit less likely than what it
// chooses.
func TestCostOfChoice(t *testing.T) {
	const text = `constexpr bool RUN = FLAG;
__global__ void k(float* x, float carried) {
    for (int i = 0; i < 4; i++) {
        const float m = RUN ? x[i] : carried;
        x[i + 4] = m;
    }
    for (int i = 0; i < 4; i++) {
        float m = fmaxf(x[i], x[i + 4]);
        x[i + 8] = m;
    }
}
`
	lines := map[string]map[int]int{"own.cu": {8: 0}}
	list := NewSet(Parse("own.cu", text)).Edits(lines, Wanted{})
	alone, chosen := at(list, "x[i] in place of fmaxf(x[i], x[i + 4])"),
		at(list, "RUN ? x[i] : carried in place of fmaxf(x[i], x[i + 4])")
	if alone < 0 || chosen < 0 || list[alone].Cost() >= list[chosen].Cost() {
		t.Errorf("x[i] is at %d, what chooses it at %d", alone, chosen)
	}
}
