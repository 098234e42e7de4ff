package emu

import (
	"encoding/binary"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// indirectKernel calls a function of its table by the lane: two of them, and where %s says so one that is
// none of them, or itself through the table.
const indirectKernel = `.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 v);
.visible .func (.param .b32 r) negate(.param .b32 v);
.visible .func (.param .b32 r) again(.param .b32 v);
.global .align 8 .u64 table[3] = {twice, negate, again};
.visible .func (.param .b32 r) twice(.param .b32 v)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [v];
	add.s32 %r2, %r1, %r1;
	st.param.b32 [r], %r2;
	ret;
}
.visible .func (.param .b32 r) negate(.param .b32 v)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [v];
	neg.s32 %r2, %r1;
	st.param.b32 [r], %r2;
	ret;
}
.visible .func (.param .b32 r) again(.param .b32 v)
{
	.reg .b32 %r<3>; .reg .b64 %rd<3>;
	ld.global.u64 %rd1, [table+16];
	ld.param.b32 %r1, [v];
	{
	.param .b32 a; .param .b32 b;
	st.param.b32 [a], %r1;
	P1: .callprototype (.param .b32 _) _ (.param .b32 _);
	call (b), %rd1, (a), P1;
	ld.param.b32 %r2, [b];
	}
	st.param.b32 [r], %r2;
	ret;
}
.visible .entry k(.param .u64 out)
{
	.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 1;
	setp.lt.u32 %p1, %r1, 30;
	mul.wide.u32 %rd2, %r2, 8;
	mov.u64 %rd3, table;
	add.u64 %rd3, %rd3, %rd2;
	ld.global.u64 %rd4, [%rd3];
	INSERT
	mov.u32 %r4, 1000;
	{
	.param .b32 a; .param .b32 b;
	st.param.b32 [a], %r1;
	st.param.b32 [b], %r4;
	P0: .callprototype (.param .b32 _) _ (.param .b32 _);
	@%p1 call (b), %rd4, (a), P0;
	ld.param.b32 %r4, [b];
	}
	activemask.b32 %r5;
	mul.wide.u32 %rd5, %r1, 8;
	add.s64 %rd6, %rd1, %rd5;
	st.global.u32 [%rd6], %r4;
	st.global.u32 [%rd6+4], %r5;
	ret;
}
`

func launchIndirect(t *testing.T, insert string) (*target.Result, error) {
	t.Helper()
	k := loadOn(t, New(chip.SM90()), "t.ptx", strings.Replace(indirectKernel, "INSERT", insert, 1))
	return k.Launch(t.Context(), &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Budget: 10000,
		Args: []target.Arg{
			{
				Name:   "out",
				Buffer: &target.Buffer{DType: probes.I32, Dims: []int{64}, Bytes: 256, Output: true},
			},
		},
	})
}

// TestIndirectCalls: lanes that call different functions get their own results, those whose guard is false go
// on, and all are together again behind the call.
func TestIndirectCalls(t *testing.T) {
	res, err := launchIndirect(t, "")
	if err != nil || len(res.Findings) > 0 {
		t.Fatal(err, res)
	}
	for lane := range int32(32) {
		want := [2]int32{2 * lane, -lane}[lane&1]
		if lane >= 30 {
			want = 1000
		}
		out := res.Outputs["out"][8*lane:]
		if got, active := int32(binary.LittleEndian.Uint32(out)),
			binary.LittleEndian.Uint32(out[4:]); got != want || active != allLanes {
			t.Errorf("lane %d: %d, want %d; together with %#x", lane, got, want, active)
		}
	}
	res, err = launchIndirect(t, "mov.u64 %rd4, 12345;")
	if err != nil || len(res.Findings) != 1 || res.Findings[0].Kind != target.Trap ||
		!strings.Contains(res.Findings[0].Message, "0x3039, where no function") {
		t.Errorf("%v %+v", err, res)
	}
	res, err = launchIndirect(t, "ld.global.u64 %rd4, [table+16];")
	if err != nil || len(res.Findings) != 1 || res.Findings[0].Kind != target.OutOfBounds ||
		!strings.Contains(res.Findings[0].Message, "calling again here overflows") {
		t.Errorf("%v %+v", err, res)
	}
}
