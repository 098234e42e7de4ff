package checkrun

import (
	"os"
	"path/filepath"
	"testing"

	"tilescope/debugkern"
)

// TestUnreached: lines of branches that are not taken are listed; a line that has instructions only next to a
// copy of what was executed elsewhere is not.
func TestUnreached(t *testing.T) {
	const kernel = `.version 7.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 x) {
	.reg .b64 %a<2>;
	.reg .b32 %r<4>;
	.reg .pred %p<3>;
	.loc 1 4 0
	ld.param.u64 %a1, [x];
	mov.u32 %r1, %ctaid.x;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra COPY;
	setp.ne.u32 %p2, %r1, 1;
	@%p2 bra MAIN;
	.loc 1 20 0
	mov.u32 %r1, 7;
	.loc 1 21 0
	add.u32 %r1, %r1, 7;
	bra MAIN;
COPY:
	.loc 1 11 0
	mov.u32 %r1, 3;
	.loc 1 12 0
	st.global.u32 [%a1], %r1;
	bra END;
MAIN:
	.loc 1 12 0
	st.global.u32 [%a1], %r1;
END:
	.loc 1 14 0
	ret;
}
`
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	req := request("", 1, 1, "0=unwritten:u32[1]")
	req.File = filepath.Join(t.TempDir(), "k.ptx")
	if err := os.WriteFile(req.File, []byte(kernel), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Kernel(t.Context(), s, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, l := range c.Doc.Coverage.Unreached {
		lines = append(lines, l.Line)
	}
	if len(lines) != 2 || lines[0] != 20 || lines[1] != 21 {
		t.Errorf("lines %v were not executed, want 20 and 21", lines)
	}
}
