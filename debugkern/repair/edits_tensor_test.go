package repair

import (
	"testing"

	"tilescope/debugkern/ptx"
)

// TestPointer: an address is of the parameter that it is computed from, also round a loop; of none where an
// index was loaded from another tensor, or where it is the difference of two.
func TestPointer(t *testing.T) {
	mod, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<9>;
	.reg .pred %p<2>;
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u32 %r1, [n];
	cvta.to.global.u64 %rd3, %rd1;
	mul.wide.u32 %rd4, %r1, 2;
	add.s64 %rd5, %rd3, %rd4;
LOOP:
	ld.global.u32 %r2, [%rd5];
	add.s64 %rd5, %rd5, 64;
	setp.lt.u32 %p1, %r2, %r1;
	@%p1 bra LOOP;
	ld.global.u64 %rd6, [%rd5];
	add.s64 %rd7, %rd2, %rd6;
	add.s64 %rd8, %rd1, %rd2;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	m := &menu{fn: mod.Funcs[0], defs: map[int32][]int{}, element: []int{2, 2, 0}}
	m.needs()
	for i, c := range map[int]struct{ param, load int }{5: {0, 0}, 11: {1, 1}, 12: {-1, -1}, 4: {-1, -1}} {
		r := m.fn.Body[i].Args[0].Reg
		if p, l := m.pointer(r); p != c.param || l != c.load {
			t.Errorf("what instruction %d gives is of parameter %d by %d, want %d by %d", i, p, l, c.param, c.load)
		}
	}
}
