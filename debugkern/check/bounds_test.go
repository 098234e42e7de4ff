package check_test

import (
	"context"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestRacesEndWithSharedMemory: shared memory is watched in whole lines of 16 bytes, and what lies behind its
// end in the last of them belongs to nobody: accesses there are out of bounds and no race.
func TestRacesEndWithSharedMemory(t *testing.T) {
	for _, instr := range []string{
		"st.shared.u32 [%r1], %r0", "atom.shared.add.u32 %r2, [%r1], 1", "ld.shared.u32 %r2, [%r1]",
		"cp.async.ca.shared.global [%r1], [%rd0], 4",
	} {
		m, err := ptx.Parse("end.ptx", []byte(strings.ReplaceAll(`.version 8.0
.target sm_80
.address_size 64
.visible .entry end(.param .u64 out)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	.shared .align 4 .b32 s[1];
	ld.param.u64 %rd0, [out];
	mov.u32 %r0, %tid.x;
	shr.u32 %r1, %r0, 7;
	add.u32 %r1, %r1, 12;
	st.shared.u32 [%r1], %r0;
	INSTR;
	INSTR;
	ret;
}
`, "INSTR", instr)))
		if err != nil {
			t.Fatal(err)
		}
		k, err := emu.New(chip.SM90()).Load(context.Background(), m, "end")
		if err != nil {
			t.Fatal(err)
		}
		c := check.New(check.Options{Set: check.All | check.Origins})
		r, err := k.Launch(context.Background(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{64, 1, 1}, Observe: c.Observer,
			Args: []target.Arg{
				{
					Name: "out",
					Buffer: &target.Buffer{
						DType: probes.U32, Dims: []int{64}, Bytes: 256, Init: make([]byte, 256),
					},
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) == 0 || r.Findings[0].Kind != target.OutOfBounds {
			t.Errorf("%s: the emulator finds %v", instr, r.Findings)
		}
		for _, f := range c.Findings() {
			if f.Kind == target.Race || f.Kind == target.CpAsync {
				t.Errorf("%s: %s: %s", instr, f.Kind, f.Message)
			}
		}
	}
}
