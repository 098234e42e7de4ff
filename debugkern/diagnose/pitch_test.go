package diagnose

import (
	"slices"
	"testing"
)

// TestArgumentsOf: the arguments of the call that is given the array, and not of one around or before it.
func TestArgumentsOf(t *testing.T) {
	for line, want := range map[string][]string{
		"if (run(a, 1)) store(&sP[warp][0], frag, TILE_N, row);": {"&sP[warp][0]", "frag", "TILE_N", "row"},
		"wmma::load(frag, &sP[f(a, b)][k], TILE_K + PAD);":       {"frag", "&sP[f(a, b)][k]", "TILE_K + PAD"},
		"sP[row][col] = 0;": nil,
	} {
		if got := argumentsOf(line, "sP"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestBrackets: the indices of the one place at which a line names an array.
func TestBrackets(t *testing.T) {
	for line, want := range map[string][]string{
		"for (int i = 0; i < 4; i++) sA[b][(i * T + t) / 32][t % 32] = a[i];": {"b", "(i * T + t) / 32", "t % 32"},
		"x = sA[p[i]];":         {"p[i]"},
		"sA[i] = sA[j];":        nil,
		"sB[i] = 0; // of sA[]": nil,
	} {
		if got := brackets(line, "sA"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestWidths: the leading dimension of a matrix, in a register or not, and the bytes of an access.
func TestWidths(t *testing.T) {
	fn := entry(t, `	.reg .b32 %r<9>;
	.reg .b64 %rd<2>;
	mov.u32 %r1, 40;
	wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%rd1], {%r2, %r3, %r4, %r5}, %r1;
	wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%rd1], {%r2, %r3, %r4, %r5}, 32;
	ld.param.u32 %r6, [n];
	wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%rd1], {%r2, %r3, %r4, %r5}, %r6;
	ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];
	st.global.u16 [%rd1], %r2;
	ret;`)
	for at, want := range map[int]int{1: 40, 2: 32, 4: -1} {
		n, ok := leadingDimension(fn, at)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("instruction %d: a leading dimension of %d, want %d", at, n, want)
		}
	}
	for at, want := range map[int]int{0: 0, 5: 16, 6: 2} {
		if n := accessBytes(fn.Body[at]); n != want {
			t.Errorf("instruction %d: %d bytes, want %d", at, n, want)
		}
	}
}
