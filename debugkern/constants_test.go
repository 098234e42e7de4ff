package debugkern

import (
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
)

// TestUnsetConstants: constant memory that the entry uses and nothing gives values is named, what has an
// initialiser or belongs to another kernel is not.
func TestUnsetConstants(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(`.version 7.0
.target sm_80
.address_size 64
.const .align 4 .b8 filter[36];
.const .align 4 .b8 table[4] = {1, 2, 3, 4};
.const .align 4 .b8 others[4];
.visible .entry k() {
	.reg .b32 %r<3>;
	ld.const.u32 %r1, [filter];
	ld.const.u32 %r2, [table];
	ret;
}
.visible .entry b() {
	.reg .b32 %r<2>;
	ld.const.u32 %r1, [others];
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	notes := UnsetConstants(m, m.Func("k"))
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "filter is constant memory") {
		t.Errorf("%q", notes)
	}
}
