package debugkern_test

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
)

// TestPolls: what a kernel reads again and again until another block has changed it.
func TestPolls(t *testing.T) {
	const text = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<2>;
	.reg .pred %p;
	.shared .align 4 .b8 s[4];
	ld.param.u64 %rd0, [p];
	cvta.to.global.u64 %rd1, %rd0;
	ld.volatile.global.u32 %r1, [%rd1];
wait:
	LOAD
	setp.eq.u32 %p, %r0, 0;
	@%p bra wait;
	st.global.u32 [%rd1], %r0;
	ret;
}
`
	for load, want := range map[string]bool{
		"ld.volatile.global.u32 %r0, [%rd1];":             true,
		"ld.acquire.gpu.global.u32 %r0, [%rd1];":          true,
		"atom.global.cas.b32 %r0, [%rd1], 0, 1;":          true,
		"ld.global.u32 %r0, [%rd1];":                      false,
		"ld.volatile.shared.u32 %r0, [s];":                false,
		"atom.global.add.u32 %r0, [%rd1], 1;":             false,
		"atom.acq_rel.gpu.global.add.u32 %r0, [%rd1], 1;": true,
	} {
		m, err := ptx.Parse("k.ptx", []byte(strings.Replace(text, "LOAD", load, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := debugkern.Polls(m.Entries()[0]); got != want {
			t.Errorf("%s: %v", load, got)
		}
	}
}
