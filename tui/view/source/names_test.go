package source

import (
	"slices"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestRegistersOfALine: what a line reads is what none of its instructions has written before, of every copy
// that a loop was unrolled to.
func TestRegistersOfALine(t *testing.T) {
	listing := []walk.Listing{
		{Text: "ex2.approx.f32 %f486, %f270", PC: 0, File: "d/a.cu", Line: 142, Writes: []string{"%f486"}},
		{Text: "// a.cu:487", PC: -1, File: "d/a.cu", Line: 487},
		{Text: "add.s64 %rd477, %rd508, -128", PC: 1, File: "d/a.cu", Line: 487, Writes: []string{"%rd477"}},
		{Text: "cvt.rn.f16.f32 %rs89, %f486", PC: 2, File: "d/a.cu", Line: 487, Writes: []string{"%rs89"}},
		{Text: "st.shared.u16 [%rd477+64], %rs89", PC: 3, File: "d/a.cu", Line: 487},
		{Text: "mov.u32 %r1, %tid.x", PC: 4, File: "b.cu", Line: 487, Writes: []string{"%r1"}},
		{Text: "cvt.rn.f16.f32 %rs90, %f487", PC: 5, File: "d/a.cu", Line: 487, Writes: []string{"%rs90"}},
	}
	for _, c := range []struct {
		at            target.Source
		written, read []string
	}{
		{target.Source{File: "a.cu", Line: 487}, []string{"%rd477", "%rs89", "%rs90"},
			[]string{"%rd508", "%f486", "%f487"}},
		{target.Source{File: "a.cu", Line: 142}, []string{"%f486"}, []string{"%f270"}},
		{target.Source{File: "b.cu", Line: 487}, []string{"%r1"}, nil},
		{target.Source{File: "a.cu", Line: 1}, nil, nil},
	} {
		written, read := registersOf(listing, c.at)
		if !slices.Equal(written, c.written) || !slices.Equal(read, c.read) {
			t.Errorf("%+v: writes %v, reads %v, want %v and %v", c.at, written, read, c.written, c.read)
		}
	}
}
