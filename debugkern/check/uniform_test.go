package check

import (
	"testing"

	"tilescope/debugkern/ptx"
)

// Who comes to an instruction together follows from what decides on the way to it.
func TestUniformity(t *testing.T) {
	const head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{\n" +
		".reg .pred %p<9>;\n.reg .b32 %r<19>;\n.reg .b64 %rd<9>;\n.shared .align 4 .b8 a[512];\n" +
		"mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nshr.u32 %r3, %r1, 5;\nand.b32 %r4, %r1, 31;\n"
	for _, c := range []struct {
		name, body  string
		block, warp bool
	}{
		{"straight", "membar.cta;\n", true, true},
		{"under a parameter", "setp.lt.u32 %p1, %r2, 4;\n@%p1 bra E;\nmembar.cta;\nE:\n", true, true},
		{"under the warp", "setp.lt.u32 %p1, %r3, 2;\n@%p1 bra E;\nmembar.cta;\nE:\n", false, true},
		{"under the lane", "setp.lt.u32 %p1, %r4, 2;\n@%p1 bra E;\nmembar.cta;\nE:\n", false, false},
		{
			"behind where the ways meet",
			"setp.lt.u32 %p1, %r4, 2;\n@%p1 bra E;\nadd.u32 %r5, %r5, 1;\nE:\nmembar.cta;\n", true, true,
		},
		{
			"a loop of as many rounds for all",
			"mov.u32 %r5, 0;\nL:\nmembar.cta;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, %r2;\n@%p1 bra L;\n",
			true, true,
		},
		{
			"a loop of more rounds for some warps",
			"mov.u32 %r5, 0;\nL:\nmembar.cta;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, %r3;\n@%p1 bra L;\n",
			false, true,
		},
		{
			"a count that differs by the way taken",
			"mov.u32 %r5, 0;\nsetp.lt.u32 %p1, %r3, 2;\n@%p1 bra E;\nmov.u32 %r5, 1;\nE:\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra F;\nmembar.cta;\nF:\n",
			false, true,
		},
		{"after some returned", "setp.lt.u32 %p1, %r3, 2;\n@%p1 ret;\nmembar.cta;\n", false, true},
		{"after a trap", "setp.lt.u32 %p1, %r3, 2;\n@!%p1 bra E;\ntrap;\nE:\nmembar.cta;\n", true, true},
		{
			"what one address holds",
			"ld.shared.u32 %r5, [a];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra E;\nmembar.cta;\nE:\n", true, true,
		},
		{
			"what each thread's address holds",
			"mov.u32 %r6, a;\nadd.u32 %r6, %r6, %r1;\nld.shared.u32 %r5, [%r6];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra E;\nmembar.cta;\nE:\n",
			false, false,
		},
		{
			"a vote",
			"setp.lt.u32 %p1, %r4, 2;\nvote.sync.any.pred %p2, %p1, -1;\n@%p2 bra E;\nmembar.cta;\nE:\n",
			false, true,
		},
		{
			"inside a branch that is inside another",
			"setp.lt.u32 %p1, %r4, 2;\n@%p1 bra E;\nsetp.lt.u32 %p2, %r2, 4;\n@%p2 bra E;\nmembar.cta;\nE:\n",
			false, false,
		},
	} {
		m, err := ptx.Parse("k.ptx", []byte(head+c.body+"ret;\n}\n"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		fn := m.Entries()[0]
		u := UniformityOf(fn)
		for i, in := range fn.Body {
			if in.Op != "membar" {
				continue
			}
			if u.Block(i) != c.block || u.Warp(i) != c.warp {
				t.Errorf("%s: all threads of a block %v, all lanes of a warp %v; want %v, %v", c.name,
					u.Block(i), u.Warp(i), c.block, c.warp)
			}
			if e := (ptx.Edit{Kind: ptx.InsertBarrier, At: i}); u.Allows(e) != c.block {
				t.Errorf("%s: a block barrier is allowed: %v", c.name, !c.block)
			}
		}
	}
}
