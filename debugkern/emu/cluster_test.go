package emu

import (
	"errors"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
)

// TestClusters: a kernel for clusters of several blocks is refused at its entry, and listed with what else
// is.
func TestClusters(t *testing.T) {
	for directive, says := range map[string]string{
		"": "", ".reqnctapercluster 1, 1, 1": "", ".explicitcluster .maxclusterrank 4": "",
		".reqnctapercluster 2, 2, 1": "clusters of 4 blocks (.reqnctapercluster) are not modelled",
		".reqnctapercluster 8":       "clusters of 8 blocks",
	} {
		text := ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry t()\n" + directive +
			"\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %cluster_nctarank;\n\tret;\n}\n"
		m, err := ptx.Parse("t.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(chip.SM90()).Load(t.Context(), m, "t")
		var at *ptx.Error
		if says == "" && err != nil || says != "" && (!errors.As(err, &at) || at.Pos.Line != 4 ||
			!strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", directive, err, says)
		}
		refused := []*ptx.Error{}
		if _, err := decode(t.Context(), chip.SM90(), m, "t", true, &refused); err != nil ||
			(len(refused) > 0) != (says != "") {
			t.Errorf("%s: %v, %v", directive, refused, err)
		}
	}
}
