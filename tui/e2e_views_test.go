//go:build unix

package tui

import "testing"

// fragmentJudged shows the table that Stage 3B was reported with, as the module holds it: every cell
// there, the order wrong.
func fragmentJudged(t *testing.T, program string) {
	x := open(t, program, 120, 40, nil, "stage3b", "--fault", "lut-order")
	x.shows("✗ DIVERGE")
	x.press(":stage S\r")
	x.opens("3")
	x.shows("HARDWARE acc f32 row",
		"✗ WMMA_ACCUM_LUT covers every cell, order wrong in 128 of 256: sorted by row")
	x.press("n")
	x.shows("✗ table says")
	x.line("S block 0,0,0 kv 0: 16×16 block 1 of 4, the accumulator of warp 0", "written by warp 0 lane")
	x.press(":frag b col\r+")
	x.shows("HARDWARE b f16 col", "ld 72", "✓ free, 4")
	x.leaves()
}

// bisectedAndCompared pins the clean kernel, plants a fault, bisects to it, and goes to the
// first cell that differs.
func bisectedAndCompared(t *testing.T, program string) {
	x := agrees(t, program, 120, 40)
	x.press("4a:fault p-stale-m\r")
	x.shows("✗ diverge P")
	x.press("B")
	x.shows("smallest set: +p-stale-m", "every smaller set was tried")
	x.press("C")
	x.shows("A and B differ first in P", "S  ✓ 65536 cells equal")
	x.press("\r")
	x.shows("A stage2", "B stage2 p-stale-m", "B - A ulp")
	x.line("q1,k0", "B 0.4883 0x37D0", "A 0.3237 0x352E", "ulp")
	x.leaves()
}

// gatesCancelled starts a sweep, ends it in its middle, and starts it again: it goes on where it was.
func gatesCancelled(t *testing.T, program string) {
	x := agrees(t, program, 80, 24)
	x.press("6")
	x.shows("not judged")
	x.press("x")
	x.shows("scalar correctness", "/260 · Esc cancels")
	x.press("\x1b")
	x.shows("goes on from there")
	x.press("x")
	x.shows("/260 · Esc cancels")
	x.press("\x1b")
	x.shows("goes on from there")
	x.leaves()
}
