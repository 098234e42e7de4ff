package tile

import (
	"testing"

	"tilescope/debugkern/target"
	"tilescope/tui/theme"
)

// TestWriterNamesBothLines: where a value is computed at another line than it is stored or captured at, both
// are named; where the files do not fit, their lines are, and at last that of the store.
func TestWriterNamesBothLines(t *testing.T) {
	x := &target.WriteSite{Warp: 1, Lane: 2, Space: target.SpaceGlobal, Addr: 0x5100090764, Probe: true,
		Source:   &target.Source{File: "kernels/gemm_wmma.cu", Line: 161},
		Computed: &target.Source{File: "kernels/gemm_wmma.cu", Line: 160},
		PTXLine:  1387, Instr: "st.global.f32 [%rd340+16], %f33;", Step: 21698}
	p := &Pane{Frame: theme.NewFrame(theme.New(theme.Options{}), 0)}
	const who = "warp 1 lane 2 · global 0x5100090764 · "
	for w, want := range map[int]string{
		119: who + "computed at kernels/gemm_wmma.cu:160, captured at line 161",
		94:  who + "computed at line 160, captured at 161",
		70:  who + "captured at line 161",
	} {
		if got := p.writerText(x, w); got != want {
			t.Errorf("%d columns: %q, want %q", w, got, want)
		}
	}
	x.Computed, x.Probe = nil, false
	if got, want := p.writerText(x, 94), who+"stored at kernels/gemm_wmma.cu:161"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
