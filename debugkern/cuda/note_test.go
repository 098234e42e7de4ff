package cuda

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/target"
)

// ptxasOutput is what ptxas 12.0, 12.9 and a driver print of modules with several entries.
const ptxasOutput = `ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma instructions reading accumulator registers of  a wgmma between start and end of the pipeline stage in the function 't'
ptxas info    : (C7517) warpgroup.wait is injected in around line 15 by compiler to allow use of registers defined by GMMA in function 't'
ptxas info    : (C7519) warpgroup.arrive is injected in around line 13 by compiler to allow use of registers in GMMA in function 'helper'
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'other'
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
info    : Potential Performance Loss: wgmma.mma_async instructions are serialized due to ill formed pipeline stage in the function 't'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90a'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, 8192 bytes smem
ptxas info    : Compiling entry function 't' for 'sm_90a'
ptxas info    : Function properties for t
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers, used 0 barriers, 8192 bytes smem
`

func TestParseNotes(t *testing.T) {
	want := []target.CompilerNote{
		{Code: "C7514", Function: "t", Text: "wgmma.mma_async instructions are serialized due to non wgmma " +
			"instructions reading accumulator registers of a wgmma between start and end of the pipeline stage"},
		{Code: "C7517", Function: "t", Line: 15,
			Text: "warpgroup.wait is injected by compiler to allow use of registers defined by GMMA"},
		{Code: "C7519", Function: "helper", Line: 13,
			Text: "warpgroup.arrive is injected by compiler to allow use of registers in GMMA"},
		{Code: "C7508", Text: "'setmaxnreg' ignored; unable to determine register count at entry"},
		{Function: "t", Text: "wgmma.mma_async instructions are serialized due to ill formed pipeline stage"},
	}
	r, err := parseResources([]byte(ptxasOutput), "t", "sm_90a")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Notes, want) || r.Registers != 31 {
		t.Errorf("got %+v", r)
	}
	if r, err = parseResources([]byte(ptxasOutput), "other", "sm_90a"); err != nil || len(r.Notes) != 3 ||
		r.Notes[1].Code != "C7510" {
		t.Errorf("of the other entry: %+v, %v", r, err)
	}
}

// TestAssembleNotes: a ptxas says of a product whose accumulator is read too early what it does about it, and
// nothing of one that is waited for.
func TestAssembleNotes(t *testing.T) {
	tc := toolchain(t)
	if tc.PTXAS == "" {
		t.Skip("no ptxas on this machine")
	}
	const module = `.version 8.0
.target sm_90a
.address_size 64
.visible .entry t(.param .u64 out)
{
	.reg .pred %%p<2>; .reg .f32 %%f<4>; .reg .b32 %%r<2>; .reg .b64 %%rd<8>;
	.shared .align 1024 .b8 s[8192];
	ld.param.u64 %%rd1, [out]; mov.u32 %%r1, s; setp.eq.u32 %%p1, %%r1, 0;
	cvt.u64.u32 %%rd6, %%r1; shr.u64 %%rd6, %%rd6, 4; or.b64 %%rd6, %%rd6, 0x1000080000; add.u64 %%rd7, %%rd6, 64;
	mov.f32 %%f0, 0f00000000; mov.f32 %%f1, 0f00000000; mov.f32 %%f2, 0f00000000; mov.f32 %%f3, 0f00000000;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%f0, %%f1, %%f2, %%f3}, %%rd6, %%rd7, %%p1, 1, 1, 0, 0;
	%s
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	st.global.f32 [%%rd1], %%f0;
	ret;
}
`
	for early, store := range map[bool]string{true: "st.global.f32 [%rd1], %f1;", false: ""} {
		r, err := tc.Assemble(t.Context(), fmt.Appendf(nil, module, store), "t", "sm_90a")
		if err != nil {
			t.Fatal(err)
		}
		// 12.0 serialises the products, 12.9 inserts a wait
		repaired := slices.ContainsFunc(r.Notes, func(n target.CompilerNote) bool {
			return n.Function == "t" && n.Repairs() &&
				(strings.Contains(n.Text, "reading accumulator") || n.Line > 0)
		})
		if repaired != early || !early && len(r.Notes) > 0 {
			t.Errorf("read early %v: %+v", early, r.Notes)
		}
	}
}

// TestAssembleRegisters: a ptxas allots what the emulator assumes of entries with setmaxnreg.
func TestAssembleRegisters(t *testing.T) {
	tc := toolchain(t)
	if tc.PTXAS == "" {
		t.Skip("no ptxas on this machine")
	}
	text, err := os.ReadFile("../emu/testdata/registers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		number, directives, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number == "#" {
			continue
		}
		src := ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n" + directives + `
{
	.reg .pred %p<2>; .reg .b32 %r<2>;
	mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128;
	@%p1 bra A;
	setmaxnreg.inc.sync.aligned.u32 232;
	bra.uni E;
A:
	setmaxnreg.dec.sync.aligned.u32 40;
E:
	ret;
}
`
		r, err := tc.Assemble(t.Context(), []byte(src), "k", "sm_90a")
		if err != nil {
			t.Errorf("%q: %v", directives, err)
			continue
		}
		ignored := slices.ContainsFunc(r.Notes, func(n target.CompilerNote) bool { return n.Code == "C7508" })
		if number == "0" && !ignored || number != "0" && (ignored || strconv.Itoa(r.Registers) != number) {
			t.Errorf("%q: %d registers, %v, want %s", directives, r.Registers, r.Notes, number)
		}
	}
}
