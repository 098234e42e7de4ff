package emu

import (
	"context"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestAddressesThatWrap: an access at the very end of the address space ends before it begins. It is out of
// bounds, in every state space.
func TestAddressesThatWrap(t *testing.T) {
	for _, instr := range []string{
		"ld.shared.u32 %r0, [%rd0]", "st.shared.u32 [%rd0], %r0",
		"ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1]", "atom.shared.add.u32 %r0, [%rd0], 1",
		"ld.local.u32 %r0, [%rd0]", "st.local.u32 [%rd0], %r0", "ld.global.u32 %r0, [%rd0]",
		"st.global.u64 [%rd2], %rd0", "ld.u32 %r0, [%rd0]", "atom.global.add.u32 %r0, [%rd0], 1",
		"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%rd1]",
	} {
		text := strings.Replace(`.version 8.0
.target sm_80
.address_size 64
.visible .entry wrap(.param .u64 out)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.shared .align 16 .b8 buf[256];
	.local .align 16 .b8 frame[64];
	ld.param.u64 %rd3, [out];
	mov.u32 %r0, 0;
	mov.u64 %rd0, -4;
	mov.u64 %rd1, -16;
	mov.u64 %rd2, -8;
	INSTR;
	ret;
}
`, "INSTR", instr, 1)
		m, err := ptx.Parse("wrap.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		k, err := New(chip.SM90()).Load(context.Background(), m, "wrap")
		if err != nil {
			t.Fatal(err)
		}
		out := &target.Buffer{DType: probes.U32, Dims: []int{64}, Bytes: 256, Output: true}
		r, err := k.Launch(context.Background(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1},
			Args: []target.Arg{{Name: "out", Buffer: out}},
		})
		if err != nil {
			t.Errorf("%s: %v", instr, err)
			continue
		}
		if len(r.Findings) != 1 || r.Findings[0].Kind != target.OutOfBounds {
			t.Errorf("%s: %v", instr, r.Findings)
		}
	}
}
