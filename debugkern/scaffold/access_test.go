package scaffold

import (
	"reflect"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

const sharedKernel = `.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 tile[256];
.shared .align 4 .b8 mixed[64];
.shared .align 16 .b8 halves[512];
.shared .align 4 .b8 copied[64];
.extern .shared .align 16 .b8 dyn[];
.visible .entry k(.param .u32 n)
{
	.reg .b32 %r<12>;
	.reg .f32 %f<6>;
	.reg .b16 %h<2>;
	ld.param.u32 %r1, [n];
	mov.u32 %r2, tile;
	shl.b32 %r3, %r1, 2;
	add.s32 %r4, %r2, %r3;
	ld.shared.v2.f32 {%f1, %f2}, [%r4+8];
	st.shared.f32 [tile+4], %f1;
	mov.u32 %r5, mixed;
	add.s32 %r6, %r5, %r1;
	st.shared.b16 [%r6], %h1;
	st.shared.f32 [mixed+8], %f1;
	mov.u32 %r7, halves;
	mad.lo.s32 %r8, %r1, 16, %r7;
	ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r8];
	mov.u32 %r10, copied;
	mov.u32 %r11, dyn;
	st.shared.f32 [%r11+16], %f2;
	ret;
}
`

// Arrays have elements of the size that every access to them has; where accesses differ, or nothing is
// accessed, places stay bytes. What the source declares goes before, where the bytes agree.
func TestSharedArrays(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(sharedKernel))
	if err != nil {
		t.Fatal(err)
	}
	got := SharedArrays(m, m.Entries()[0], Source{}, 64)
	want := []probes.SharedArray{
		{Name: "tile", DType: probes.U32, Dims: []int{64}, Bytes: 256},
		{Name: "halves", DType: probes.U16, Dims: []int{256}, Bytes: 512},
		{Name: "dyn", DType: probes.U32, Dims: []int{16}, Bytes: 64},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	const arrays = "__shared__ float tile[8][8]; __shared__ __half halves[4][4]; __shared__ float mixed[16]; "
	got = SharedArrays(m, m.Entries()[0], read(arrays), 0)
	want = []probes.SharedArray{
		{Name: "tile", DType: probes.F32, Dims: []int{8, 8}, Bytes: 256},
		{Name: "mixed", DType: probes.F32, Dims: []int{16}, Bytes: 64},
		{Name: "halves", DType: probes.U16, Dims: []int{256}, Bytes: 512},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("with the source: %+v\nwant %+v", got, want)
	}
	for declared, dtype := range map[string]probes.DType{
		"float": probes.F32, "char": probes.U32, "half": probes.U32,
	} {
		got = SharedArrays(m, m.Entries()[0], read(arrays+"extern __shared__ "+declared+" dyn[];"), 64)
		if last := got[len(got)-1]; last.Name != "dyn" || last.DType != dtype ||
			!reflect.DeepEqual(last.Dims, []int{16}) {
			t.Errorf("dynamic memory declared as %s, accessed by 4 bytes: %+v", declared, last)
		}
	}
}
