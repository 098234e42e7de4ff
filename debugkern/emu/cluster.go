package emu

import (
	"fmt"

	"tilescope/debugkern/ptx"
)

// Every block is a cluster of its own: what an instruction does to other blocks of its cluster is not
// modelled.

// clusters notes whether an entry is launched in clusters, and refuses clusters of several blocks.
func (d *decoder) clusters() {
	f := d.p.entry
	c, ok := f.Directive("reqnctapercluster")
	_, explicit := f.Directive("explicitcluster")
	d.p.cluster = ok || explicit
	n := uint64(1)
	for _, x := range c.Args {
		n *= x
	}
	if !ok || n == 1 {
		return
	}
	e := &ptx.Error{
		Pos: f.Pos, Msg: fmt.Sprintf("clusters of %d blocks (.reqnctapercluster) are not modelled", n),
	}
	if d.refused == nil {
		panic(e)
	}
	*d.refused = append(*d.refused, e)
}
