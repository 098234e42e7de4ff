package diagnose

import (
	"slices"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestUnawaited: a warp that waited before its first read of what the copy brings has waited; those that
// waited later, or at another mbarrier, have not.
func TestUnawaited(t *testing.T) {
	copied, read := &target.Source{File: "k.cu", Line: 8}, &report.Source{File: "k.cu", Line: 9}
	wait := &target.Source{File: "k.cu", Line: 7}
	line := &walk.Timeline{
		Flights: []walk.Flight{{Operation: target.Operation{
			Source: copied, MBarrier: 40, Writes: []target.Range{{Lo: 64, Hi: 128}},
		}}},
		MBarriers: []walk.MBarrierTime{
			{Addr: 40, Name: "full[0]", Passes: []walk.Pass{
				{Step: 10, Warp: 1, PC: 3, Source: wait}, {Step: 30, Warp: 2, PC: 3, Source: wait},
			}},
			{Addr: 48, Name: "empty[0]", Passes: []walk.Pass{{Step: 5, Warp: 3, PC: 6, Source: wait}}},
		},
	}
	missing := "a wait at the mbarrier that the copy completes on between k.cu:8 and k.cu:9"
	f := &report.Finding{Missing: &missing}
	sc := &scene.Scene{Request: scene.Request{Sides: [2]*report.Source{{File: "k.cu", Line: 8}, read}}}
	for warp := 1; warp < 4; warp++ {
		sc.Accesses = append(sc.Accesses, scene.Access{
			Step: 20, Warp: warp, Side: [2]bool{false, true},
		})
	}
	x := unawaitedIn(line, sc, f)
	if x == nil || x.array != "full" || x.with != 1<<1 || x.none != 1<<2|1<<3 ||
		!slices.Equal(x.waits, []int{3}) || x.wait == nil || x.wait.Line != 7 {
		t.Fatalf("%+v, want warp 1 after a wait at full at line 7, and warps 2 and 3 after none", x)
	}
	sc.Accesses = sc.Accesses[:1]
	if x := unawaitedIn(line, sc, f); x != nil {
		t.Errorf("%+v where every reader has waited", x)
	}
	line.Flights[0].Source = wait
	sc.Accesses[0].Warp = 2
	if x := unawaitedIn(line, sc, f); x != nil {
		t.Errorf("%+v of a copy at another line", x)
	}
}

// TestWaitsAlone: a branch may be left out that jumps over a wait alone, and not one that jumps over an
// arrival too.
func TestWaitsAlone(t *testing.T) {
	for more, want := range map[string]bool{
		"add.u32 %r3, %r3, 1;":                    true,
		"mbarrier.arrive.shared.b64 %rd1, [%r2];": false,
	} {
		fn := entry(t, `	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	.reg .pred %p<3>;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra BEHIND;
AGAIN:
	mbarrier.try_wait.parity.shared.b64 %p2, [%r2], %r3;
	@!%p2 bra AGAIN;
	`+more+`
BEHIND:
	ret;`)
		if got := waitsAlone(fn, 1, 2); got != want {
			t.Errorf("with %s: %v", more, got)
		}
	}
}
