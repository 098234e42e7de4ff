package emu_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// trapKernel leaves its loop over a local array through a branch at line 12 to a trap. %s is the trap.
const trapKernel = `.version 8.0
.target sm_80
.address_size 64
.visible .entry t(.param .u64 in)
{
	.local .align 4 .b8 depot[32];
	.reg .pred %%p<2>; .reg .b32 %%r<9>; .reg .b64 %%rd<9>;
%s	mov.u32 %%r1, %%tid.x;
	mov.u64 %%rd1, depot;
	mul.wide.u32 %%rd2, %%r1, 0;
	add.u64 %%rd1, %%rd1, %%rd2;
	st.local.u32 [%%rd1], %%r1;
	setp.eq.u32 %%p1, %%r1, 5;
%s	@%%p1 bra BAD;
	bra DONE;
DONE:
%s	ret;
BAD:
	%s
}
%s`

// TestTrapCandidates: a compiler's trap lists what may have been wrong, nearest evidence first; the source's
// own and one of PTX without lines do not.
func TestTrapCandidates(t *testing.T) {
	lines := func(trap string, with bool) string {
		if !with {
			return fmt.Sprintf(trapKernel, "", "", "", trap, "")
		}
		return fmt.Sprintf(trapKernel, ".loc 1 9 1\n", ".loc 1 12 1\n", ".loc 1 20 1\n", trap,
			".file 1 \"k.cu\"\n")
	}
	for _, c := range []struct{ text, message, consequence string }{
		{lines("trap;", true), "the compiler proved",
			"candidates: what only the condition at k.cu:12 leads to; a local array indexed past its end, as at k.cu:9; a division"},
		{lines("// begin inline asm\n\ttrap;\n\t// end inline asm", true), "the kernel executed trap", ""},
		{lines("trap;", false), "the kernel executed trap", ""},
	} {
		_, k := load(t, c.text)
		r, err := k.Launch(context.Background(), &target.Launch{
			Grid: probes.Dim3{2, 1, 1}, Block: probes.Dim3{32, 1, 1},
			Args: []target.Arg{
				{
					Name: "in", Buffer: &target.Buffer{
						DType: probes.I32, Dims: []int{1}, Bytes: 4, Init: make([]byte, 4),
					},
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != 1 || r.Reached {
			t.Fatalf("%+v", r.Findings)
		}
		f := r.Findings[0]
		if f.Kind != target.Trap || f.Count != 2 || fmt.Sprint(f.Lanes) != "[5]" ||
			!strings.HasPrefix(f.Message, c.message) ||
			!strings.HasPrefix(f.Consequence, c.consequence) ||
			(c.consequence == "") != (f.Consequence == "") {
			t.Errorf("%+v", f)
		}
	}
}
