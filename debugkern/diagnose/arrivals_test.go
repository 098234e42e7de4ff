package diagnose

import (
	"testing"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// stuckAt is a block in which a producer waits for v_empty, where nobody arrives, and consumers for the
// producer: two lines arrive at k_empty.
func stuckAt() *hanging {
	line := func(n int) *target.Source { return &target.Source{File: "k.cu", Line: n} }
	v := target.MBarrierState{Addr: 96, Expected: 8, Pending: 8}
	full := target.MBarrierState{Addr: 32, Expected: 1, Pending: 1}
	k := target.MBarrierState{Addr: 64, Expected: 8, Pending: 8}
	return &hanging{
		timeline: &walk.Timeline{
			Last: target.AsyncState{MBarriers: []target.MBarrierState{full, k, v}},
			MBarriers: []walk.MBarrierTime{
				{Addr: 32, Name: "v_full[0]", Arrivals: []walk.Arrive{{PC: 0, Count: 1, Source: line(5)}}},
				{Addr: 64, Name: "k_empty[0]", Arrivals: []walk.Arrive{
					{PC: 1, Count: 8, Source: line(7)}, {PC: 2, Count: 8, Source: line(9)},
				}},
				{Addr: 96, Name: "v_empty[0]"},
			},
		},
		hang: &walk.Hang{Waits: []walk.Stuck{
			{At: "v_full[0]", Source: line(8), MBarrier: &full, Debts: []walk.Debt{{Needs: []int{1}}}},
			{At: "v_empty[0]", Source: line(4), MBarrier: &v, Debts: []walk.Debt{{Why: "no thread does"}}},
		}},
	}
}

// TestMisdirected: of the lines that arrive at a barrier with others, each may be meant for the one that a
// wait lacks; a line that arrives alone is not.
func TestMisdirected(t *testing.T) {
	fn := entry(t, `	.reg .b32 %r<2>;
	mbarrier.arrive.shared.b64 _, [%r1];
	mbarrier.arrive.shared.b64 _, [%r1];
	mbarrier.arrive.shared.b64 _, [%r1];
	ret;`)
	list := stuckAt().misdirected(fn)
	if len(list) != 2 || list[0].at.Line != 7 || list[1].at.Line != 9 {
		t.Fatalf("%d candidates: %+v", len(list), list)
	}
	if got := list[1]; got.from != "k_empty" || got.to != "v_empty" || got.by != 32 || got.rest != "line 7" {
		t.Errorf("%+v", got)
	}
}

// TestWaitsFor: a wait for threads that hang elsewhere is a consequence of theirs, and not the other way
// round.
func TestWaitsFor(t *testing.T) {
	q := &inquiry{hangs: map[probes.Dim3]*hanging{{}: stuckAt()}, doc: &Diagnosis{}}
	suspects := make([]*suspect, 2)
	for i, name := range []string{"v_full", "v_empty"} {
		q.doc.Findings = append(q.doc.Findings, report.Finding{
			Kind: "hang", Variable: name, Source: &report.Source{File: "k.cu", Line: 8 - 4*i},
		})
		suspects[i] = &suspect{cause: Cause{Kind: "hang", Finding: i}}
	}
	if !q.waitsFor(suspects[0], suspects[1]) || q.waitsFor(suspects[1], suspects[0]) {
		t.Error("the consumers wait for the producer, and the producer for nobody that hangs")
	}
}
