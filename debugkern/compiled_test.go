package debugkern

import (
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// TestNoteFinding: a note is advice at the line that it names, else at the first instruction that it is
// about, and only what repairs undefined PTX warns of equal results.
func TestNoteFinding(t *testing.T) {
	m, err := ptx.Parse("t.ptx", []byte(`.version 8.0
.target sm_90a
.address_size 64
.visible .entry t()
{
	.reg .pred %p<2>; .reg .f32 %f<4>; .reg .b64 %rd<2>;
	setmaxnreg.dec.sync.aligned.u32 24;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %p1, 1, 1, 0, 0;
	wgmma.commit_group.sync.aligned;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	const due = "wgmma.mma_async instructions are serialized due to "
	for _, c := range []struct {
		note          target.CompilerNote
		line          int
		missing, then string
	}{
		{target.CompilerNote{Code: "C7515", Function: "t", Text: due + "non wgmma instructions defining " +
			"accumulator registers of a wgmma between start and end of the pipeline stage"}, 9, "wgmma.fence",
			"does not show"},
		{target.CompilerNote{Text: due + "ill formed pipeline stage"}, 9, "wgmma.commit_group",
			"does not show"},
		{target.CompilerNote{Text: due + "insufficient register resources for the function"}, 9,
			"fewer registers", "each product waits"},
		{target.CompilerNote{Text: due + "a reason of a later version"}, 9, "", "each product waits"},
		{target.CompilerNote{Code: "C7517", Function: "t", Line: 10,
			Text: "warpgroup.wait is injected by compiler to allow use of registers defined by GMMA"}, 10,
			"wgmma.wait_group", "does not show"},
		{target.CompilerNote{Code: "C7508",
			Text: "'setmaxnreg' ignored; unable to determine register count at entry"}, 7,
			"__launch_bounds__", ""},
	} {
		f := noteFinding(&c.note, "ptxas 1.2.3", m, "t")
		if f.Severity != target.SeverityAdvice || f.Source == nil || f.Source.Line != c.line ||
			!strings.Contains(f.Missing, c.missing) || !strings.Contains(f.Consequence, c.then) ||
			(c.missing == "") != (f.Missing == "") || (c.then == "") != (f.Consequence == "") ||
			f.Message != "ptxas 1.2.3 reports of t: "+c.note.String() {
			t.Errorf("%+v: %+v", c.note, f)
		}
	}
}
