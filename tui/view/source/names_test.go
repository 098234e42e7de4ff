package source

import (
	"slices"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
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

// TestReaders: the line next to the one asked for that uses a variable after it was set, and has instructions
// that read.
func TestReaders(t *testing.T) {
	code := []string{"float p = f(s);", "q += p;", "sP[row] = p;", "sync();", "r = q;  // not p", "use(p);"}
	listing := []walk.Listing{
		{Text: "cvt.rn.f16.f32 %rs1, %f7", PC: 0, File: "a.cu", Line: 3, Writes: []string{"%rs1"}},
		{Text: "mov.f32 %f1, %f2", PC: 1, File: "a.cu", Line: 5, Writes: []string{"%f1"}},
		{Text: "st.shared.f32 [%rd1], %f7", PC: 2, File: "a.cu", Line: 6},
	}
	for _, c := range []struct {
		at, line int
		read     []string
	}{
		{1, 3, []string{"%f7"}}, // line 2 uses it, and has no instruction
		{3, 3, []string{"%f7"}},
		{4, 3, []string{"%f7"}},
		{6, 6, []string{"%rd1", "%f7"}},
		{60, 0, nil},
	} {
		line, read := readers(listing, code, "a.cu", "p", 1, c.at)
		if line != c.line || !slices.Equal(read, c.read) {
			t.Errorf("at line %d: line %d reads %v, want line %d, %v", c.at, line, read, c.line, c.read)
		}
	}
	if line, _ := readers(listing, code, "a.cu", "p", 3, 3); line != 6 {
		t.Errorf("after its assignment at line 3 line %d uses it, want 6", line)
	}
}

// TestElement: an array is written with an index for each of its dimensions.
func TestElement(t *testing.T) {
	for _, x := range []struct {
		dims []int
		want string
	}{{[]int{8}, "m[i]"}, {[]int{8, 4}, "m[row][col]"}, {[]int{2, 8, 4}, "m[i0][i1][i2]"}} {
		if got := element(&probes.SharedArray{Name: "m", Dims: x.dims}); got != x.want {
			t.Errorf("%v: %s, expected %s", x.dims, got, x.want)
		}
	}
}
