package diagnose

import (
	"testing"

	"tilescope/debugkern/ptx"
)

// TestBitsOfNaN: constants of floats are looked at as they are, those of integers where they look written as
// a float's bits.
func TestBitsOfNaN(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
	.reg .f32 %f<4>;
	.reg .b32 %r<4>;
	mov.f32 %f1, 0fFFF00000;
	mov.f32 %f2, 0fFF800000;
	mov.b32 %r1, -1048576;
	mov.b32 %r2, -1;
	mov.b32 %r3, 64;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []bool{true, false, true, false, false}
	for i, is := range want {
		in := m.Func("k").Body[i]
		if _, got := bitsOfNaN(in, &in.Args[1]); got != is {
			t.Errorf("%s of operand %d: a NaN %t, want %t", in.Opcode(), i, got, is)
		}
	}
}

// TestCompared: the part of a line that compares, in a condition or an argument.
func TestCompared(t *testing.T) {
	for line, want := range map[string]string{
		"if (RUN) load(&s[r][c], from(K + at, row < cols));": " row < cols",
		"if (n < first || n > last) break;":                  "n < first ",
		"x = static_cast<float>(y) >> 2;":                    "",
		"*p = a->b;":                                         "",
	} {
		if got := compared(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
