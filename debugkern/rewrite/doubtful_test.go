package rewrite

import (
	"slices"
	"strings"
	"testing"
)

// tiled has loops and tiles whose numbers are easily mistaken for each other.
const tiled = `#define DEBUG 0
constexpr int TILE_M = 32, TILE_N = 32, TILE_K = 16, THREADS = 128, ROWS = 8;
constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr bool RUN = !DEBUG;
struct Place { int row, col; };
__device__ int swizzled(int row, int col) { return col ^ (row % 8) * 8; }
__global__ void tiles(float* x, int S, int K, int rows) {
    const int first = threadIdx.x / 32 * ROWS;
    const int tiles = (K + TILE_N - 1) / TILE_N;
    const int some = (S - first + TILE_N - 1) / TILE_N;
    for (int r = first; r < min(ROWS, rows - first); r++) x[r] = 0.0f;
    for (int r = first; r < ROWS; r++) x[r] = 0.0f;
    for (int i = 0; i < min(first + ROWS, rows); i++) x[first + i] = 0.0f;
    if (RUN && first < S) x[first] = 1.0f;
    for (int kv = 0; kv < tiles; kv++) x[kv] = kv > 0 ? x[kv] : __shfl_sync(ALL_LANES, x[kv], 0);
    Place at = {first, some};
    x[swizzled(at.row, 16 * some + at.col)] = 2.0f;
    x[first] = fmaf(x[some], x[S], x[K]);
}
`

// TestTiledIdioms: what several tokens state together is edited together.
func TestTiledIdioms(t *testing.T) {
	set := NewSet(Parse("own.cu", tiled))
	for _, c := range []struct {
		line int
		what string
		not  bool
	}{
		{9, "(K + TILE_K - 1) / TILE_K in place of (K + TILE_N - 1) / TILE_N", false},
		{9, "ALL_LANES in place of 1", true},
		{10, "(S + TILE_N - 1) / TILE_N - first / TILE_N in place of (S - first + TILE_N - 1) / TILE_N", false},
		{11, "min(first + ROWS, rows) in place of min(ROWS, rows - first)", false},
		{12, "first + ROWS in place of ROWS", false},
		{13, "min(ROWS, rows - first) in place of min(first + ROWS, rows)", false},
		{17, "16 * some + at.col in place of swizzled(at.row, 16 * some + at.col)", false},
		{18, "fmaf(x[some], x[K], x[S]) in place of fmaf(x[some], x[S], x[K])", false},
	} {
		list := set.Edits(map[string]map[int]int{"own.cu": {c.line: 0}}, Wanted{})
		if found := at(list, c.what) >= 0; found == c.not {
			t.Errorf("line %d: %q is listed: %v", c.line, c.what, found)
		}
	}
	list := set.Edits(map[string]map[int]int{"own.cu": {9: 0}}, Wanted{})
	rounded := slices.IndexFunc(list, func(e Edit) bool { return strings.HasPrefix(e.What, "(K + TILE_") })
	if rounded < 0 || !strings.Contains(list[rounded].What, "TILE_K") {
		t.Errorf("K is divided by another extent first: %v", list[max(rounded, 0)].What)
	}
}

// TestDoubts: an edit that no author would make is doubtful, though a kernel may be right with it.
func TestDoubts(t *testing.T) {
	set := NewSet(Parse("own.cu", tiled))
	for _, c := range []struct {
		line int
		what string
		n    int
	}{
		{9, "(K + TILE_K - 1) / TILE_K in place of (K + TILE_N - 1) / TILE_N", 0},
		{9, "TILE_K in place of TILE_N", 1},            // (K + TILE_K - 1) / TILE_N
		{9, "THREADS in place of (K + TILE_N - 1)", 1}, // no variable has a part in it
		{11, "first and r exchanged", 1},               // first < ...
		{15, ">= in place of >", 1},                    // it always holds
		{11, "min(first + ROWS, rows) in place of min(ROWS, rows - first)", 0},
	} {
		list := set.Edits(map[string]map[int]int{"own.cu": {c.line: 0}}, Wanted{})
		i := at(list, c.what)
		if i < 0 {
			if c.n > 0 {
				t.Errorf("line %d: %q is not listed", c.line, c.what)
			}
			continue
		}
		if n := list[i].Doubts(); n != c.n {
			t.Errorf("line %d: %q has %d doubts, want %d", c.line, c.what, n, c.n)
		}
	}
	list := set.Edits(map[string]map[int]int{"own.cu": {14: 0}}, Wanted{})
	part, all := at(list, "RUN in place of RUN && first < S"), -1
	for i := range list {
		for _, out := range []string{"without if", "without the condition"} {
			if strings.HasPrefix(list[i].What, out) {
				all = i
			}
		}
	}
	if part < 0 || all >= 0 && list[all].Cost() < list[part].Cost() {
		t.Errorf("a constant that flags decide is left out sooner than what is wrong")
	}
}

// TestGuarding: what the conditions of a line compare is made on other lines.
func TestGuarding(t *testing.T) {
	lines := map[string]map[int]int{}
	NewSet(Parse("own.cu", tiled)).Guarding(lines, "own.cu", 15, 0)
	if list := lines["own.cu"]; len(list) != 2 || list[9] != 0 || list[15] != 0 {
		t.Errorf("line 15 has a bound of line 9 and a counter: %v", list)
	}
}

// TestGuardingChanged: what the condition of a loop compares is changed under another condition.
func TestGuardingChanged(t *testing.T) {
	const text = `__global__ void walk(float* x, int rows, int n) {
    int r = threadIdx.x / n, c = threadIdx.x % n;
    while (r < rows) {
        x[r * n + c] = 0.0f;
        c += 32;
        if (c >= n) {
            c -= n;
            r++;
        }
    }
}
`
	lines := map[string]map[int]int{}
	NewSet(Parse("own.cu", text)).Guarding(lines, "own.cu", 4, 0)
	if list := lines["own.cu"]; len(list) != 3 || list[2] != 0 || list[6] != 0 || list[8] != 0 {
		t.Errorf("r is made on line 2 and changed on line 8 under the condition of line 6: %v", list)
	}
}

// TestOverlaying: an array that is given the place of another one.
func TestOverlaying(t *testing.T) {
	const text = `__global__ void lay(float* x) {
    __shared__ float a[4][8];
    half(&b)[4][8] = reinterpret_cast<half(&)[4][8]>(a);
    a[0][1] = x[0] & a[1][1];
    for (int i = 0; i < 4; i++) a[i][0] = x[i];
}
`
	lines := map[string]map[int]int{}
	NewSet(Parse("own.cu", text)).Overlaying(lines, "a", -1)
	if list := lines["own.cu"]; len(list) != 1 || list[3] != -1 {
		t.Errorf("line 3 lays b over a: %v", list)
	}
}

// TestPartsAndWholes: what is left of an extent, a loop over all of it, an element by its indices, a sum as a
// factor, and what stands in a loop twice.
func TestPartsAndWholes(t *testing.T) {
	const text = `constexpr int TILE = 32, ROWS = 8;
__global__ void parts(float* x, int S, int D, unsigned word) {
    __shared__ float s[TILE][TILE + 1];
    const int first = blockIdx.x * TILE, own = threadIdx.x / 32 * ROWS;
    const int rows = min(TILE, S);
    for (int r = own; r < min(own + ROWS, rows); r++) x[r] = 0.0f;
    for (int i = threadIdx.x; i < TILE * TILE; i += 128) {
        const int r = i / TILE, c = i % TILE;
        (&s[0][0])[i] = x[first + r * D + c];
    }
    for (int r = threadIdx.x / 32; r < TILE; r += 4) {
        s[own + r][0] = 0.0f;
        s[own + r][1] = 0.0f;
    }
    s[own + 1][2] = x[word >> 8 * own + 1 & 0xffu];
    for (int r = 0; r < ROWS; r++) x[r] = s[own + r][3];
}
`
	set := NewSet(Parse("own.cu", text))
	for _, c := range []struct {
		line int
		what string
	}{
		{5, "S - first in place of S"},
		{6, "from 0 to rows in place of from own to min(own + ROWS, rows)"},
		{9, "s[r][c] in place of (&s[0][0])[i]"},
		{12, "r in place of own + r at all its places in the loop"},
		{15, "8 * (own + 1) in place of 8 * own + 1"},
	} {
		list := set.Edits(map[string]map[int]int{"own.cu": {c.line: 0}}, Wanted{})
		if at(list, c.what) < 0 {
			t.Errorf("line %d: %q is not listed", c.line, c.what)
		}
	}
}

// A condition that never holds any more is a choice lost, as one that is left out.
func TestLosesChoice(t *testing.T) {
	text := `
constexpr int CHUNK = 16;
__device__ float neg_inf() { return __int_as_float(0xff800000); }
__global__ void k(float* u, float m, unsigned b) {
    u[0] = u[1] - m == neg_inf() ? 0.0f : u[1] - m;
    u[1] = (b & 0x7fu) == 0x7fu ? 0.0f : m;
    u[2] = FLAG ? fmaxf(u[3], 0.0f) : m;
}
`
	want := map[string]bool{
		"-3.402823466e+38f in place of neg_inf()": true, "CHUNK in place of b": true,
		"u[1] - m in place of u[1] - m == neg_inf() ? 0.0f : u[1] - m": true,
		"0x3fu in place of 0x7fu":                                      true, "m in place of 0.0f": false,
		"m in place of fmaxf(u[3], 0.0f)": true,
	}
	seen := map[string]bool{}
	lines := map[string]map[int]int{"own.cu": {5: 0, 6: 0, 7: 0}}
	for _, e := range NewSet(Parse("own.cu", text)).Edits(lines, Wanted{}) {
		if lost, ok := want[e.What]; ok && !seen[e.What] {
			if seen[e.What] = true; e.LosesChoice() != lost {
				t.Errorf("%s on line %d: a choice is lost: %v", e.What, e.Line, e.LosesChoice())
			}
		}
	}
	if len(seen) < len(want) {
		t.Errorf("seen %v", seen)
	}
}
