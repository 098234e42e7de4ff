package emu

import (
	"errors"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// clusterModule is a kernel with performance directives and a body.
func clusterModule(directives, body string) string {
	return ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry t()\n" + directives +
		"\n{\n\t.reg .b32 %r<4>;\n\t" + body + "\n\tret;\n}\n"
}

// TestClusterSizes: a size that no device has is refused at the entry, or when the launch says it.
func TestClusterSizes(t *testing.T) {
	for _, c := range []struct {
		directives    string
		grid, cluster probes.Dim3
		load, launch  string
	}{
		{"", probes.Dim3{4, 1, 1}, probes.Dim3{}, "", ""},
		{"", probes.Dim3{4, 2, 1}, probes.Dim3{2, 2, 1}, "", ""},
		{".reqnctapercluster 1, 1, 1", probes.Dim3{3, 1, 1}, probes.Dim3{}, "", ""},
		{".explicitcluster .maxclusterrank 4", probes.Dim3{3, 1, 1}, probes.Dim3{}, "", ""},
		{".reqnctapercluster 2, 2, 1", probes.Dim3{2, 4, 3}, probes.Dim3{2, 2, 1}, "", ""},
		{
			".reqnctapercluster 17", probes.Dim3{17, 1, 1}, probes.Dim3{},
			".reqnctapercluster 17: 1 to 16 blocks", "",
		},
		{
			".reqnctapercluster 4, 4, 2", probes.Dim3{4, 4, 2}, probes.Dim3{}, "",
			"clusters of 32 blocks, at most 16",
		},
		{".reqnctapercluster 2", probes.Dim3{3, 1, 1}, probes.Dim3{}, "",
			"a grid of 3,1,1 blocks is no multiple of clusters of 2,1,1"},
		{".reqnctapercluster 2", probes.Dim3{4, 1, 1}, probes.Dim3{4, 1, 1}, "",
			"clusters of 4,1,1 blocks, and the kernel is compiled for 2,1,1"},
		{"", probes.Dim3{4, 1, 1}, probes.Dim3{2, 0, 1}, "", "every extent must be positive"},
	} {
		m, err := ptx.Parse("t.ptx", []byte(clusterModule(c.directives, "mov.u32 %r1, %cluster_nctarank;")))
		if err != nil {
			t.Fatal(err)
		}
		k, err := New(chip.SM90()).Load(t.Context(), m, "t")
		says := c.load
		if err == nil {
			says = c.launch
			_, err = k.Launch(t.Context(), &target.Launch{
				Grid: c.grid, Cluster: c.cluster, Block: probes.Dim3{32, 1, 1},
			})
		}
		var at *ptx.Error
		if says == "" && err != nil || says != "" && (!errors.As(err, &at) || at.Pos.Line != 4 ||
			!strings.Contains(err.Error(), says)) {
			t.Errorf("%s, grid %s, cluster %s: %v, want %q", c.directives, c.grid, c.cluster, err, says)
		}
	}
}
