package emu

import (
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestHangNamesItsPhase: what is missing is reported for the phase that cannot complete. Here the first phase
// expects its 16 bytes, and the second, in which as many arrive, expects none.
func TestHangNamesItsPhase(t *testing.T) {
	const text = `.version 8.0
.target sm_90a
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out)
{
	.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
	.shared .align 16 .b8 s[16]; .shared .align 8 .b64 bar;
	ld.param.u64 %rd1, [in]; mov.u32 %r1, s; mov.u32 %r2, bar;
	mbarrier.init.shared::cta.b64 [%r2], 1; fence.proxy.async;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];
FIRST:
	mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
	@!%p1 bra FIRST;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];
	mbarrier.arrive.shared::cta.b64 _, [%r2];
SECOND:
	mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 1;
	@!%p1 bra SECOND;
	ret;
}
`
	// the second copy lands at its issue, before the arrival that would end a phase without bytes
	k := load8(t, "t.ptx", text)
	r, err := k.Launch(t.Context(), &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{1, 1, 1}, Args: inOut(make([]byte, 16), 16),
		Schedule: target.Schedule{Async: "earliest"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Kind != target.Hang {
			continue
		}
		if !strings.Contains(f.Message, "phase 1 ") ||
			!strings.Contains(f.Message, "16 bytes more have come") {
			t.Errorf("message %s", f.Message)
		}
		if want := "an expectation of 16 bytes in this phase"; !strings.HasPrefix(f.Missing, want) {
			t.Errorf("missing %q, want %q", f.Missing, want)
		}
		return
	}
	t.Fatalf("no hang: %+v", r.Findings)
}
