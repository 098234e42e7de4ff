package diagnose

import (
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestOverrunsIn: a copy is larger than its destination where another begins within it and the mbarrier
// expects as many bytes as lie between. It is not where the bytes that come are those that are expected,
// whatever overlaps, nor where it runs into none.
func TestOverrunsIn(t *testing.T) {
	fn := &ptx.Func{Body: make([]*ptx.Instr, 3)}
	for i := range fn.Body {
		fn.Body[i] = &ptx.Instr{Pos: ptx.Pos{File: "k.ptx", Line: 10 + i}}
	}
	for _, c := range []struct {
		name              string
		next              uint64 // where the second copy begins
		promised, arrived int
		room              int // 0: no overrun
	}{
		{"half the room", 8192, 8192, 16384, 8192},
		{"a quarter of it", 4096, 4096, 16384, 4096},
		{"overlap of what is expected", 8192, 16384, 16384, 0},
		{"another number expected", 8192, 4096, 16384, 0},
		{"next to each other", 16384, 8192, 16384, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			flight := func(pc int, lo uint64, n, mbar int) walk.Flight {
				return walk.Flight{Operation: target.Operation{
					PC: pc, Writes: []target.Range{{Lo: lo, Hi: lo + uint64(n)}}, Bytes: n, MBarrier: mbar,
				}, Buffer: -1}
			}
			got := overrunsIn(fn, &walk.Timeline{
				Flights: []walk.Flight{flight(1, 0, 16384, 65536), flight(2, c.next, 8192, 65544)},
				MBarriers: []walk.MBarrierTime{
					{Addr: 65536, Arrivals: []walk.Arrive{{PC: 0, Promise: true}}},
				},
				Last: target.AsyncState{MBarriers: []target.MBarrierState{
					{Addr: 65536, Promised: c.promised, Arrived: c.arrived},
				}},
			})
			if c.room == 0 {
				if len(got) > 0 {
					t.Fatalf("%+v", got[0])
				}
				return
			}
			if len(got) != 1 || got[0].bytes != 16384 || got[0].room != c.room || got[0].copy.Line != 11 ||
				got[0].into.Line != 12 || got[0].expects.Line != 10 {
				t.Fatalf("%+v", got)
			}
		})
	}
}
