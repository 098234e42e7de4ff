package emu_test

import (
	"context"
	"encoding/binary"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// gridBarrierKernel adds 1 to the count in the grid barrier, 4 bytes behind its start, and stores what was
// there and the address.
const gridBarrierKernel = `.version 8.0
.target sm_80
.address_size 64
.visible .entry t(.param .u64 out)
{
	.reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %envreg2;
	mov.u32 %r2, %envreg1;
	mov.b64 %rd2, {%r1, %r2};
	setp.eq.u64 %p1, %rd2, 0;
	mov.u32 %r3, %ctaid.x;
	mul.wide.u32 %rd3, %r3, 4;
	add.u64 %rd3, %rd1, %rd3;
	mov.u32 %r4, 77;
	@!%p1 atom.add.release.gpu.u32 %r4, [%rd2+4], 1;
	st.global.u32 [%rd3], %r4;
	mov.u32 %r5, %envreg9;
	st.global.u32 [%rd3+12], %r5;
	ret;
}
`

// TestGridBarrier: the blocks of a cooperative launch share a barrier whose address the environment registers
// hold; other launches have none, and the other environment registers are 0.
func TestGridBarrier(t *testing.T) {
	_, k := load(t, gridBarrierKernel)
	for cooperative, want := range map[bool][3]uint32{true: {0, 1, 2}, false: {77, 77, 77}} {
		for range 2 { // each launch starts with a barrier of its own
			res, err := k.Launch(context.Background(), &target.Launch{
				Grid: probes.Dim3{3, 1, 1}, Block: probes.Dim3{1, 1, 1}, Cooperative: cooperative,
				Args: []target.Arg{
					{
						Name:   "out",
						Buffer: &target.Buffer{DType: probes.U32, Dims: []int{6}, Bytes: 24, Output: true},
					},
				},
			})
			if err != nil || len(res.Findings) > 0 {
				t.Fatal(err, res)
			}
			for i, w := range want {
				out := res.Outputs["out"]
				if got, zero := binary.LittleEndian.Uint32(out[4*i:]),
					binary.LittleEndian.Uint32(out[4*i+12:]); got != w || zero != 0 {
					t.Errorf("cooperative %v, block %d: %d and %d, want %d and 0", cooperative, i,
						got, zero, w)
				}
			}
		}
	}
}
