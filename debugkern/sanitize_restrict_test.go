package debugkern

import (
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A launch is restricted to the blocks that are named, where no code can notice that the grid is smaller.
func TestRestrict(t *testing.T) {
	const head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()"
	const plain = "mov.u32 %r1, %ctaid.x;"
	for _, c := range []struct {
		name, directive, body string
		launch                target.Launch
		blocks                []probes.Dim3
		want                  probes.Dim3
	}{
		{"one block", "", plain, target.Launch{}, []probes.Dim3{{0, 0, 0}}, probes.Dim3{1, 1, 1}},
		{"two blocks", "", plain, target.Launch{}, []probes.Dim3{{2, 0, 0}, {1, 3, 0}},
			probes.Dim3{3, 4, 1}},
		{"none is named", "", plain, target.Launch{}, nil, probes.Dim3{4, 6, 2}},
		{"the size of the grid is read", "", "mov.u32 %r1, %nctaid.y;", target.Launch{},
			[]probes.Dim3{{0, 0, 0}}, probes.Dim3{4, 6, 2}},
		{"clusters", ".reqnctapercluster 2, 1, 1", plain, target.Launch{},
			[]probes.Dim3{{0, 0, 0}}, probes.Dim3{4, 6, 2}},
		{"cooperative", "", plain, target.Launch{Cooperative: true},
			[]probes.Dim3{{0, 0, 0}}, probes.Dim3{4, 6, 2}},
	} {
		m, err := ptx.Parse("k.ptx",
			[]byte(head+"\n"+c.directive+"\n{\n.reg .b32 %r<2>;\n"+c.body+"\nret;\n}\n"))
		if err != nil {
			t.Fatal(c.name, err)
		}
		l := c.launch
		l.Grid = probes.Dim3{4, 6, 2}
		restrict(m, &l, c.blocks)
		if l.Grid != c.want {
			t.Errorf("%s: grid %s, want %s", c.name, l.Grid, c.want)
		}
	}
}
