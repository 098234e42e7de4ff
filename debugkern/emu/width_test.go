package emu_test

import (
	"context"
	"slices"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestElementsOfBytes: an array that is declared as bytes, as compilers declare all, is reported by the
// elements that it is accessed as; one that is accessed in several ways, by bytes.
func TestElementsOfBytes(t *testing.T) {
	for access, want := range map[string][]int{
		"ld.global.f32 %f1, [s+256];":                                            {64},
		"ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [s];\n ld.global.f32 %f1, [s+256];": {64},
		// perhaps pairs of halves
		"ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [s+256];":         {256},
		"ld.global.u16 %h, [s];\n ld.global.f32 %f1, [s+256];": {256},
	} {
		_, k := load(t,
			".version 8.0\n.target sm_80\n.address_size 64\n.global .align 16 .b8 s[256];\n.visible .entry t()\n{\n"+
				".reg .f32 %f<5>; .reg .b16 %h;\nst.global.v4.f32 [s], {0f00000000,0f00000000,0f00000000,0f00000000};\n"+
				access+"\nret;\n}\n")
		res, err := k.Launch(context.Background(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{1, 1, 1},
		})
		if err != nil || len(res.Findings) != 1 || res.Findings[0].Kind != target.OutOfBounds ||
			!slices.Equal(res.Findings[0].Index, want) {
			t.Errorf("%s: %v %+v, want index %v", access, err, res.Findings, want)
		}
	}
}
