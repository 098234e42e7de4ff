package emu_test

import (
	"context"
	"errors"
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

// TestLaunchEndsAtFinding: the first finding that Ends wants ends the launch, at its instruction, with a
// fault of that kind; those that it does not want leave the result as it is.
func TestLaunchEndsAtFinding(t *testing.T) {
	_, k := load(t,
		".version 8.0\n.target sm_80\n.address_size 64\n.global .align 16 .b8 s[256];\n.visible .entry t()\n{\n"+
			".reg .f32 %f<5>; .reg .u32 %r<3>; .reg .pred %p;\n"+
			"mov.u32 %r1, 0;\nagain:\nst.global.f32 [s+256], 0f00000000;\nadd.u32 %r1, %r1, 1;\n"+
			"setp.lt.u32 %p, %r1, 1000;\n@%p bra again;\nret;\n}\n")
	for _, kind := range []target.Kind{target.OutOfBounds, target.Misaligned} {
		asked := 0
		res, err := k.Launch(context.Background(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1},
			Ends: func(f *target.Finding) bool { asked++; return f.Kind == kind },
		})
		var fault *target.Fault
		switch {
		case asked != 1:
			t.Errorf("%s: asked %d times, want once", kind, asked)
		case kind == target.OutOfBounds && (!errors.As(err, &fault) || fault.Kind != "finding"):
			t.Errorf("%s: %v %v, want a fault", kind, res, err)
		case kind != target.OutOfBounds && (err != nil || res.Findings[0].Count != 32_000):
			t.Errorf("%s: %v %+v, want 32000 accesses", kind, err, res)
		}
	}
}
