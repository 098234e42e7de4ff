package diagnose

import (
	"slices"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestWarpwide: an instruction by which all lanes of a warp arrive ends four phases of an mbarrier that
// counts eight, and none that it does not end of one that counts 64.
func TestWarpwide(t *testing.T) {
	fn := entry(t, `	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	mbarrier.arrive.shared.b64 %rd1, [%r1];
	mbarrier.arrive.shared.b64 %rd2, [%r2];
	ret;`)
	arrivals := func(expected, pc int) (out []walk.Arrive) {
		for warp := range 2 {
			for lane := range 32 {
				out = append(out, walk.Arrive{
					Step: uint64(10 + warp), Warp: warp, PC: pc, Count: 1,
					Number: uint64((warp*32 + lane) / expected),
					Source: &target.Source{File: "k.cu", Line: 20 + pc},
				})
			}
		}
		return out
	}
	line := &walk.Timeline{
		Last: target.AsyncState{
			MBarriers: []target.MBarrierState{{Addr: 0, Expected: 8}, {Addr: 8, Expected: 64}},
		},
		MBarriers: []walk.MBarrierTime{
			{Addr: 0, Name: "k_empty[0]", Arrivals: arrivals(8, 0)},
			{Addr: 8, Name: "v_empty[0]", Arrivals: arrivals(64, 1)},
		},
	}
	got := warpwideIn(line, fn)
	if len(got) != 1 || got[0].name != "k_empty[0]" || got[0].expected != 8 || got[0].lanes != 32 ||
		got[0].phases != 4 || got[0].at.Line != 20 || !slices.Equal(got[0].instr, []int{0}) {
		t.Fatalf("%+v", got)
	}
}

// TestSwizzledIn: the code of a swizzle is found in the number that has it, and none where the swizzle is
// the copy's.
func TestSwizzledIn(t *testing.T) {
	fn := entry(t, `	.reg .b64 %rd<5>;
	or.b64 %rd2, %rd1, -4611686018427387904;
	or.b64 %rd3, %rd1, 4611686018427387904;
	ret;`)
	all := map[int]bool{0: true, 1: true}
	const says = "the copy by map k at h.cuh:5 wrote lines of 128 bytes, swizzle 128B, and the descriptor (K-major, "
	w := swizzledIn(fn, all, says+"32-byte swizzle, start 0x0) takes chunk 2")
	if w == nil || w.have != 32 || w.want != 128 || !slices.Equal(w.instr, []int{0}) {
		t.Errorf("%+v", w)
	}
	if w := swizzledIn(fn, all, says+"128-byte swizzle, start 0x0) takes chunk 2"); w != nil {
		t.Errorf("%+v", w)
	}
}
