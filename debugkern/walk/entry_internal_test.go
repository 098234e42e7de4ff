package walk

import (
	"slices"
	"testing"

	"tilescope/debugkern/target"
)

// TestEntries: where lines begin in compiled code, by basic block. A case is instructions, "" a label before
// the next one.
func TestEntries(t *testing.T) {
	const both = forBreaks | forSteps
	called := string(target.CallsOf([]target.Site{{File: "k.cu", Line: 20, Function: "k"}}))
	type at struct {
		line     int
		text     string
		function string
		expected entry
	}
	for name, code := range map[string][]at{
		"interleaved statements begin once": {
			{495, "ld.shared.f32 %f1, [%r1]", "", both},
			{496, "add.f32 %f2, %f1, %f1", "", both},
			{495, "mul.f32 %f3, %f1, %f1", "", breaksIfLed | stepsIfLed},
			{496, "st.shared.f32 [%r1], %f2", "", 0},
		},
		"an unrolled statement repeats": {
			{18, "ld.shared.f32 %f1, [%r1]", "", both},
			{19, "add.f32 %f2, %f1, %f2", "", both},
			{18, "ld.shared.f32 %f3, [%r1+4]", "", forSteps | breaksIfLed | stepsIfLed},
			{19, "add.f32 %f2, %f3, %f2", "", forSteps},
		},
		"indices computed amid a later statement are moved": {
			{118, "st.global.f32 [%rd1], %f1", "", both},
			{119, "ld.global.u32 %r1, [%rd1]", "", both},
			{109, "mov.u32 %r2, %ctaid.y", "", forBreaks},
			{119, "sub.s32 %r3, %r2, %r1", "", 0},
			{109, "mov.u32 %r4, %ctaid.z", "", 0},
			{119, "st.global.f32 [%rd1], %f1", "", 0},
		},
		"loads amid a later statement are a statement": {
			{20, "max.f32 %f1, %f1, %f2", "", both},
			{18, "ld.shared.f32 %f2, [%r1]", "", both},
			{20, "setp.lt.f32 %p1, %f2, %f1", "", breaksIfLed | stepsIfLed},
		},
		"a statement after the end of the block before's": {
			{159, "setp.lt.s32 %p1, %r1, 2", "", both},
			{159, "@%p1 bra L", "", 0},
			{0, "", "", 0},
			{159, "add.s32 %r2, %r1, %r3", "", both},
			{108, "shl.b32 %r4, %r5, 4", "", forBreaks},
			{154, "sub.s32 %r6, %r7, %r4", "", forBreaks},
			{159, "setp.lt.s32 %p2, %r6, 4", "", breaksIfLed | stepsIfLed},
		},
		"a call does not end its statement": {
			{20, "mov.u32 %r1, 0", "", both},
			{5, "ex2.approx.f32 %f1, %f2", called, both},
			{20, "st.shared.f32 [%r1], %f1", "", 0},
		},
		"no line": {{0, "mov.u32 %r1, 0", "", 0},
			{7, "mov.u32 %r1, 0", "", both}},
	} {
		var lines lineMap
		var listing []Listing
		var expected []entry
		for _, x := range code {
			if x.text == "" {
				listing = append(listing, Listing{Text: "L:", PC: -1, Target: -1})
				continue
			}
			l := Listing{Text: x.text, PC: len(expected), Target: -1}
			if operation(x.text) == "bra" {
				l.Target = len(expected) + 1
			}
			src := &target.Source{File: "k.cu", Line: x.line, Calls: target.Calls(x.function)}
			if listing = append(listing, l); x.line == 0 {
				lines.add(nil, -1)
			} else {
				lines.add(src, int32(x.line))
			}
			expected = append(expected, x.expected)
		}
		if got := entriesOf(lines, headsOf(listing), listing); !slices.Equal(got, expected) {
			t.Errorf("%s: %v, expected %v", name, got, expected)
		}
	}
}
