package emu

import (
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// timedWait is a loop that waits, by an instruction, for a phase, or until the time in %rd3 has passed.
func timedWait(instr string) string {
	return `mov.u64 %rd4, %clock64;
W:
	` + instr + `.parity.shared.b64 %p3, [bar], 0;
	@%p3 bra E;
	mov.u64 %rd5, %clock64; sub.u64 %rd5, %rd5, %rd4; setp.gt.u64 %p4, %rd5, %rd3;
	@!%p4 bra W;`
}

// delay is a loop that goes on until the time in %rd3 has passed.
const delay = `mov.u64 %rd4, %clock64;
V:
	mov.u64 %rd5, %clock64; sub.u64 %rd5, %rd5, %rd4; setp.gt.u64 %p4, %rd5, %rd3;
	@!%p4 bra V;
	`

// timeoutKernel has warp 0 execute one thing and the others another, after an mbarrier was initialised with
// one arrival.
func timeoutKernel(first, others string) string {
	return `.version 8.0
.target sm_90
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out)
{
	.reg .pred %p<6>; .reg .b32 %r<4>; .reg .b64 %rd<8>;
	.shared .align 8 .b64 bar;
	ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; setp.eq.u32 %p2, %r1, 0;
	@%p2 mbarrier.init.shared.b64 [bar], 1;
	bar.sync 0;
	@%p1 bra A;
	` + others + `
	bra E;
A:
	` + first + `
E:
	@%p2 st.global.u32 [%rd1], 1;
	ret;
}
`
}

// TestTimeouts: a wait that a time-out by the clock ends is a hang all the same, reported once and without
// waiting for the time-out, and execution goes on after it; what comes in time is silent, whoever waits by
// the clock.
func TestTimeouts(t *testing.T) {
	const arrive = "@%p2 mbarrier.arrive.shared.b64 _, [bar];"
	const wait = "U:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra U;"
	const year = "mov.u64 %rd3, 20000000000000000; "
	for _, c := range []struct {
		name, first, others string
		hangs               bool
	}{
		{"nobody arrives", "", year + timedWait("mbarrier.test_wait"), true},
		{"nobody arrives, and the threads are suspended", "", year + timedWait("mbarrier.try_wait"), true},
		{"a trap follows", "", year + timedWait("mbarrier.test_wait") + "\ntrap;", true},
		{"an arrival after a delay", "mov.u64 %rd3, 50000; " + delay + arrive, wait, false},
		{"an arrival within the time", "mov.u64 %rd3, 5000; " + delay + arrive,
			year + timedWait("mbarrier.test_wait"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := load8(t, "t.ptx", timeoutKernel(c.first, c.others))
			for _, policy := range []string{"in-order", "reverse", "random"} {
				l := &target.Launch{
					Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{128, 1, 1}, Args: inOut(nil, 4),
					Budget: 30_000_000,
				}
				l.Schedule.Policy = policy
				r, err := k.Launch(t.Context(), l)
				if err != nil {
					t.Fatal(err)
				}
				hangs, other := 0, 0
				for _, f := range r.Findings {
					switch {
					case f.Kind == target.Hang && f.Variable == "bar" &&
						f.Consequence == "the wait ends by its time-out alone":
						hangs++
					case f.Kind != target.Trap:
						other++
					}
				}
				trap, want := strings.Contains(c.others, "trap"), 0
				if c.hangs {
					want = 1
				}
				if hangs != want || other > 0 || !trap && r.Outputs["out"][0] != 1 {
					t.Errorf("%s: %d hangs, out %v: %+v", policy, hangs, r.Outputs["out"], r.Findings)
				}
			}
		})
	}
}
