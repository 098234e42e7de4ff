package diagnose

import (
	"maps"
	"slices"
	"testing"
)

// TestDecidedBy has two comparisons of one bound. What the first decides is its select, and what its result
// is combined to guards; the second decides another select, and no number is made a decision.
func TestDecidedBy(t *testing.T) {
	fn := entry(t, `	.reg .pred %p<5>;
	.reg .b32 %r<8>;
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	setp.lt.s32 %p1, %r2, %r1;
	setp.lt.s32 %p2, %r1, 64;
	selp.b32 %r3, %r2, 0, %p1;
	and.pred %p3, %p1, %p2;
	@%p3 add.s32 %r4, %r3, 1;
	selp.b32 %r5, 1, 0, %p2;
	add.s32 %r6, %r3, %r5;
	ret;`)
	got := slices.Sorted(maps.Keys(decidedBy(fn, map[int]bool{2: true})))
	if want := []int{4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("the first comparison decides instructions %v, expected %v", got, want)
	}
}

// TestConstantLine has lines that declare a constant, and lines that only have one.
func TestConstantLine(t *testing.T) {
	for line, want := range map[string]string{
		"constexpr float LOG2_E = 1.4426950408889634f;":    "LOG2_E",
		"    static const double half = 0.5;":              "half",
		"#define SCALE 0.125f":                             "SCALE",
		"return exp2f(x * 1.4426950408889634f);":           "",
		"const float y = f(x, 127.0f);":                    "y",
		"void g(const float x, float y) { h(x, 127.0f); }": "",
	} {
		got := ""
		if m := constantLine.FindStringSubmatch(line); m != nil {
			got = m[1] + m[2]
		}
		if got != want {
			t.Errorf("%s declares %q, expected %q", line, got, want)
		}
	}
}
