package rewrite

import (
	"slices"
	"strings"
	"testing"
)

// at is where an edit stands among others, -1 where it does not.
func at(list []Edit, what string) int {
	return slices.IndexFunc(list, func(e Edit) bool { return e.What == what })
}

// TestOnePart: where too many warps arrive at a barrier, one warpgroup may be meant, whether the call has a
// condition or not.
func TestOnePart(t *testing.T) {
	const text = `#define TURNS 1
__global__ void turns(int tiles) {
    const int thread = threadIdx.x - 128;
    const int group = thread / 128, lane = threadIdx.x & 31, step = tiles / 4;
    if (TURNS) arrive(1, 256);
    arrive(2, 256);
    if constexpr (TURNS) arrive(3, 256);
    if (int turn = next()) arrive(turn, 256);
    if (last(tiles)) arrive(4, 256); else arrive(5, 256);
}
`
	set := NewSet(Parse("own.cu", text))
	for line := 7; line <= 9; line++ { // no condition that could be joined with another
		for _, e := range set.Edits(map[string]map[int]int{"own.cu": {line: 0}}, Wanted{Often: true}) {
			if strings.Contains(e.What, "&& group") {
				t.Errorf("line %d: %s", line, e.What)
			}
		}
	}
	for _, c := range []struct {
		line int
		what string
	}{
		{5, "TURNS && group == 0 in place of TURNS"},
		{5, "TURNS && group == 1 in place of TURNS"},
		{6, "under the condition group == 1"},
		{6, "under the condition lane == 0"},
	} {
		lines := map[string]map[int]int{"own.cu": {c.line: 0}}
		seldom, often := set.Edits(lines, Wanted{}), set.Edits(lines, Wanted{Often: true})
		was, now := at(seldom, c.what), at(often, c.what)
		if was < 0 || now < 0 || now > 5 || now >= was {
			t.Errorf("line %d: %q is edit %d, and %d where too many arrive", c.line, c.what, was, now)
		}
		if at(often, "under the condition step == 0") >= 0 {
			t.Error("a number that is not of a thread chooses a part of a block")
		}
	}
}

// TestExtentsOfSiblings: an array that is too short may have the extent of the other members of its struct.
func TestExtentsOfSiblings(t *testing.T) {
	const text = `#define STAGES 3
constexpr int COLS = 64;
struct Shared { half k[STAGES][COLS]; half v[2][COLS]; unsigned long long full[STAGES]; };
__global__ void copies(Shared* shared, int at) {
    load(shared->v[at], COLS, COLS, COLS);
}
`
	list := NewSet(Parse("own.cu", text)).Edits(map[string]map[int]int{"own.cu": {5: 0}}, Wanted{Short: true})
	list = slices.DeleteFunc(list, func(e Edit) bool { return !e.Alone })
	named, more := at(list, "STAGES in place of 2"), at(list, "2 + 1 in place of 2")
	if named < 0 || more < named {
		t.Errorf("the extent of the other members is edit %d, one more is %d", named, more)
	}
}

// TestSameMember: a member may be taken of the wrong one of two variables of a type.
func TestSameMember(t *testing.T) {
	const text = `struct At { int row, col; };
__global__ void mixed(float* O) {
    const At q_at = rows(threadIdx.x), k_at = columns(threadIdx.x);
    O[q_at.row * 16 + k_at.col] = 0.0f;
}
`
	lines := map[string]map[int]int{"own.cu": {4: 0}}
	list := NewSet(Parse("own.cu", text)).Edits(lines, Wanted{Kind: Indices})
	if i := at(list, "q_at.col in place of k_at.col"); i < 0 || i > 12 {
		t.Errorf("the column of the other variable is edit %d", i)
	}
}

// TestExtentsOfOtherTexts: an array of a header may be indexed too, and its extents are no tokens of the
// source: read there, they are other text, or lie behind its end.
func TestExtentsOfOtherTexts(t *testing.T) {
	header := strings.Repeat("__device__ int unused;\n", 40) + "__device__ int table[32][8];\n"
	const text = `#include "own.cuh"
__global__ void sums(int* O) {
    for (int i = 0; i < 4; i++) O[i] = table[i][0];
}
`
	set := NewSet(Parse("own.cu", text), Parse("own.cuh", header))
	list := set.Edits(map[string]map[int]int{"own.cu": {3: 0}}, Wanted{})
	if at(list, "<= in place of <") < 0 {
		t.Errorf("of %d edits of the loop none changes its comparison", len(list))
	}
}
