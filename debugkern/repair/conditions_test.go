package repair

import (
	"testing"

	"tilescope/debugkern/ptx"
)

// TestValue: a value of a choice is named by its number, or by the one instruction that gives it.
func TestValue(t *testing.T) {
	mod, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
	.reg .pred %p<2>; .reg .b32 %r<5>; .reg .f32 %f<5>;
	mov.u32 %r1, %tid.x;
	setp.gt.u32 %p1, %r1, 3;
	add.f32 %f1, %f0, %f0;
	mov.f32 %f2, 0f00000000;
	mov.f32 %f2, 0f3F800000;
	selp.f32 %f3, %f1, 0fFF800000, %p1;
	selp.f32 %f4, %f2, 0f3FC00000, %p1;
	selp.b32 %r2, -1, 8, %p1;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	m := menu{fn: mod.Funcs[0], defs: map[int32][]int{}}
	var got []string
	for i, in := range m.fn.Body {
		for _, r := range in.Dests(nil) {
			m.defs[r] = append(m.defs[r], i)
		}
		if in.Op == "selp" {
			got = append(got, m.value(&in.Args[1]), m.value(&in.Args[2]))
		}
	}
	for i, want := range []string{
		"the result of add.f32 at k.ptx:9", "-Inf", "one of its values", "1.5", "-1", "8",
	} {
		if i >= len(got) || got[i] != want {
			t.Fatalf("%q, want %q at %d", got, want, i)
		}
	}
}
