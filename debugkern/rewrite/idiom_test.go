package rewrite

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// What several tokens say together is rounded, halved, split or put together in another way.
func TestIdioms(t *testing.T) {
	wantLines(t, `
constexpr int ROWS = 16;
constexpr int COLS = 64;
__device__ float lowest() { return __int_as_float(0xff80000); }
__device__ int row_of(int lane, int e) { return lane / 4 * 2 + e / 2 % 2; }
__device__ float sum_of(float x) {
    for (int o = 32; o > 1; o /= 2) x += __shfl_xor_sync(0xffffffffu, x, o);
    return x;
}
__global__ void k(float* u, int n, int m) {
    const int ahead = (n + ROWS - 1) / ROWS * ROWS - m;
    const int tiles = (n + ROWS - 1) / ROWS;
    const int begins = n / COLS * COLS - m;
    const int lane = threadIdx.x % 32;
    const bool leader = lane < 4;
    const bool more = (ahead + 3) * ROWS <= n;
    float most = u[0];
    most = fmaxf(u[1], lowest());
    for (int i = threadIdx.x; i < ROWS * COLS; i += 32) {
        const int r = i % ROWS, c = i / ROWS;
        u[r * COLS + c] = lowest();
    }
    for (int j = 0; j + COLS <= n; j += COLS) u[j] = u[j + 1] * 128.0f;
}
`, []wantLine{
		{"float lowest", "__device__ float lowest() { return __int_as_float(0xff800000); }"},
		{"int row_of", "__device__ int row_of(int lane, int e) { return lane / 4 + (e / 2 % 2) * 8; }"},
		{"int o = 32", "for (int o = 16; o > 0; o /= 2) x += __shfl_xor_sync(0xffffffffu, x, o);"},
		{"int ahead", "const int ahead = n - m;"},
		{"int tiles", "const int tiles = n / ROWS;"},
		{"int begins", "const int begins = n - COLS + 1 - m;"},
		{"most = fmaxf", "most = fmaxf(most, lowest());"},
		{"bool leader", "const bool leader = lane % 4 == 0;"},
		{"bool more", "const bool more = (ahead + 2) * ROWS < n;"},
		{"int j = 0", "for (int j = 0; j < n; j += COLS) u[j] = u[j + 1] * 128.0f;"},
		{"int j = 0", "for (int j = 0; j + COLS <= n; j += COLS) u[j] = u[j + 1] * 127.0f;"},
		{"int r = ", "const int r = i / COLS, c = i % COLS;"},
	})
}

// A condition in a loop that does not move with the loop any more is recognised.
func TestFreezes(t *testing.T) {
	text := `
__global__ void k(float* u, int n) {
    for (int i = 0; i < n; i++) {
        const int row = 2 * i;
        if (row + 3 <= n) u[i] = 0.0f;
    }
}
`
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {5: 0}}, Wanted{})
	for now, want := range map[string]bool{
		"if (row + 2 <= n)": false, "if (i + 3 <= n)": false, "if (n + 3 <= n)": true,
	} {
		i := slices.IndexFunc(list, func(e Edit) bool {
			_, line, ok := e.Lines()
			return ok && strings.HasPrefix(line, now)
		})
		if i < 0 || list[i].Freezes() != want {
			t.Errorf("%s: edit %d, expected one that freezes: %t", now, i, want)
		}
	}
}

// A condition of a name and its negation is recognised.
func TestContradicts(t *testing.T) {
	text := `
__global__ void k(float* u, int n) {
    const bool reached = n > 2, first = n > 1;
    if (first && !reached) u[n] = 0.0f;
}
`
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {4: 0}}, Wanted{})
	for now, want := range map[string]bool{
		"if (reached && !reached)": true, "if (first && !first)": true, "if (first || !reached)": false,
	} {
		i := slices.IndexFunc(list, func(e Edit) bool {
			_, line, ok := e.Lines()
			return ok && strings.HasPrefix(line, now)
		})
		if i < 0 || list[i].Contradicts() != want {
			t.Errorf("%s: edit %d, expected one that contradicts: %t", now, i, want)
		}
	}
}

// A comparison of a name with itself is recognised, alone and next to another condition.
func TestContradictsItself(t *testing.T) {
	text := Parse("own.cu", "void f() {\n    s[i] = x < nx && y < ny ? u[y] : 0.0f;\n}\n")
	at := strings.Index(text.text, "nx")
	for now, want := range map[string]bool{"x": true, "ny": false, "nx && y < y": true} {
		e := Edit{Text: text, Line: 2, sites: []site{{from: at, to: at + len("nx"), now: now}}}
		if got := e.Contradicts(); got != want {
			t.Errorf("%s: %t", e.Applied(), got)
		}
	}
}

// A statement that leaves a loop is left out whole, also where a flag of the build stands in its condition.
func TestLeavesOut(t *testing.T) {
	text := `
#define WINDOW 1
__global__ void k(float* u, int n) {
    for (int i = 0; i < n; i++) {
        if (WINDOW > 0 && i <= n - 2) continue;
        u[i] = 0.0f;
    }
}
`
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {5: 0}}, Wanted{})
	leaves := func(e Edit) bool { return strings.Contains(e.Applied(), "continue") }
	i := slices.IndexFunc(list, func(e Edit) bool { return e.LeavesOut() && !leaves(e) })
	if i < 0 || !slices.Equal(list[i].Drops, []string{"WINDOW"}) {
		t.Errorf("no edit leaves out the statement and says that it drops WINDOW: %d", i)
	}
	if n := slices.IndexFunc(list, func(e Edit) bool { return e.LeavesOut() && leaves(e) }); n >= 0 {
		t.Errorf("%s leaves out nothing", list[n].What)
	}
}

// What changes its own condition may have to be repeated, and a loop may have to be no loop.
func TestRepeated(t *testing.T) {
	text := `
__global__ void k(float* u, int n, int m) {
    int c = n;
    if (c >= m) c -= m;
    if (c > 0) u[c] = 0.0f;
    while (c >= m) { c -= m; }
}
`
	lines := map[string]map[int]int{"own.cu": {4: 0, 5: 0, 6: 0}}
	list := NewSet(Parse("own.cu", text)).Edits(lines, Wanted{})
	got := map[int]string{}
	for _, e := range list {
		if e.What == "while in place of if" || e.What == "if in place of while" {
			_, got[e.Line], _ = e.Lines()
		}
	}
	want := map[int]string{4: "while (c >= m) c -= m;", 6: "if (c >= m) { c -= m; }"}
	if !maps.Equal(got, want) {
		t.Errorf("repeated: %v, expected %v", got, want)
	}
}

// A loop whose variable is divided by the extent of a row goes over so many rows, not over so many of another
// extent: that is tried before other factors of its bound.
func TestRowsOfALoop(t *testing.T) {
	text := `
constexpr int ROWS = 16;
constexpr int COLS = 64;
__global__ void k(float* u, int n, int m) {
    for (int c = threadIdx.x; c < n * ROWS; c += 32) u[c / COLS * m + c % COLS] = 0.0f;
}
`
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {5: 0}}, Wanted{})
	i := slices.IndexFunc(list, func(e Edit) bool { return e.What == "COLS in place of ROWS" })
	j := slices.IndexFunc(list, func(e Edit) bool { return e.What == "m in place of ROWS" })
	if i < 0 || j < i || list[i].Rank != rankRowsAt {
		t.Errorf("the row's extent is edit %d, another variable %d", i, j)
	}
}
