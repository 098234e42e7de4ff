package check_test

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestCopyByEveryLane: a bulk copy that all lanes of a warp issue is a race of the instruction with itself,
// which one lane that issues it ends; that of one lane is silent. A wait that lacks only the bytes of a copy
// that is wrong itself has no advice of its own.
func TestCopyByEveryLane(t *testing.T) {
	for _, c := range []struct{ guard, to, kind, missing string }{
		{"@%p1", "[s]", "", ""},
		{"", "[s]", "race", "exclusive access: one lane that issues the copy at "},
		{"@%p1", "[s+8]", "hang", ""},
	} {
		k := loaded(t, `.version 8.0
.target sm_90
.address_size 64
.visible .entry t(.param .u64 in)
{
	.reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
	.shared .align 128 .b8 s[1024];
	.shared .align 8 .b64 bar;
	ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0;
	@%p1 mbarrier.init.shared.b64 [bar], 1;
	fence.mbarrier_init.release.cluster; bar.sync 0;
	@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
	`+c.guard+` cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes `+c.to+`, [%rd1], 512, [bar];
W:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
	@!%p2 bra W;
	ret;
}
`)
		o := check.New(check.Options{Set: check.All})
		r, err := k.Launch(t.Context(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Observe: o.Observer, Discard: o.Discard,
			Args: []target.Arg{{Name: "in", Buffer: &target.Buffer{
				DType: probes.U32, Dims: []int{256}, Bytes: 1024, Init: make([]byte, 1024),
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.DeleteFunc(append(r.Findings, o.Findings()...), func(f target.Finding) bool {
			return f.Kind.Severity() == target.SeverityAdvice
		})
		hit := slices.ContainsFunc(found, func(f target.Finding) bool {
			return string(f.Kind) == c.kind && strings.HasPrefix(f.Missing, c.missing) &&
				(c.missing != "" || f.Missing == "" && strings.Contains(f.Message, "were left out"))
		})
		if c.kind == "" && len(found) > 0 || c.kind != "" && !hit {
			t.Errorf("%s %s: %+v", c.guard, c.to, found)
		}
	}
}
