package emu

import (
	"context"
	"fmt"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// counting is two warps that count on their own for a while: nothing but the policy decides
// how they interleave.
const counting = `.version 8.0
.target sm_80
.address_size 64
.visible .entry t()
{
	.reg .pred %p<2>;
	.reg .b32 %r<3>;
	.shared .align 4 .b8 flag[4];
	mov.u32 %r1, 0;
loop:
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, 3000;
	@%p1 bra loop;
	ret;
}
`

// turns notes each change of warp.
type turns struct{ warps []int }

func (s *turns) Event(e *target.Event) {
	if n := len(s.warps); n == 0 || s.warps[n-1] != e.Warp {
		s.warps = append(s.warps, e.Warp)
	}
}

func turnsOf(t *testing.T, s target.Schedule, text string, warps int) []int {
	t.Helper()
	kern := load8(t, "t.ptx", text)
	var o turns
	l := &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32 * warps, 1, 1}, Schedule: s, Budget: 1 << 20,
		Observe: func(probes.Dim3) target.Observer { return &o },
	}
	if _, err := kern.Launch(context.Background(), l); err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return o.warps
}

func TestPoliciesInterleave(t *testing.T) {
	seen := map[string]int{}
	for _, policy := range []string{"in-order", "reverse", "random", "ahead", "priority"} {
		for seed := range uint64(6) {
			s := target.Schedule{Policy: policy, Seed: seed}
			a, b := turnsOf(t, s, counting, 3), turnsOf(t, s, counting, 3)
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s:%d is not the same twice: %v, %v", policy, seed, a, b)
			}
			seen[policy+fmt.Sprint(a)]++
			if policy == "in-order" && a[0] != 0 || policy == "reverse" && a[0] != 2 {
				t.Errorf("%s begins with warp %d", policy, a[0])
			}
		}
	}
	orders := map[string]int{}
	for k := range seen {
		for _, policy := range []string{"in-order", "reverse", "random", "ahead", "priority"} {
			if len(k) > len(policy) && k[:len(policy)] == policy {
				orders[policy]++
			}
		}
	}
	if orders["in-order"] != 1 || orders["reverse"] != 1 || orders["ahead"] < 2 || orders["random"] != 6 ||
		orders["priority"] != 6 {
		t.Errorf("orders that six seeds gave: %v", orders)
	}
}

// TestSpinningWarpsEnd: a warp that waits for another's flag gets it under every policy.
func TestSpinningWarpsEnd(t *testing.T) {
	const waiting = `.version 8.0
.target sm_80
.address_size 64
.visible .entry t()
{
	.reg .pred %p<4>;
	.reg .b32 %r<5>;
	.shared .align 4 .b8 flag[4];
	mov.u32 %r1, %tid.x;
	setp.eq.u32 %p1, %r1, 0;
	mov.u32 %r2, 0;
	@%p1 st.volatile.shared.u32 [flag], %r2;
	bar.sync 0;
	shr.u32 %r3, %r1, 5;
wait:
	ld.volatile.shared.u32 %r2, [flag];
	setp.ne.u32 %p2, %r2, %r3;
	@%p2 bra wait;
	and.b32 %r4, %r1, 31;
	setp.eq.u32 %p3, %r4, 0;
	add.u32 %r2, %r2, 1;
	@%p3 st.volatile.shared.u32 [flag], %r2;
	ret;
}
`
	for _, policy := range []string{"in-order", "reverse", "random", "ahead", "priority"} {
		for seed := range uint64(4) {
			turnsOf(t, target.Schedule{Policy: policy, Seed: seed}, waiting, 4)
		}
	}
}
