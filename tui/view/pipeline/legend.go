package pipeline

import (
	"slices"

	"tilescope/debugkern/walk"
	"tilescope/tui/view"
)

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	owners := []view.Mark{}
	for o := walk.Empty; o <= walk.Clash; o++ {
		glyph, _ := v.pane.glyph(markOwner + mark(o))
		owners = append(owners, view.Mark{Glyph: glyph, Text: "a buffer of shared memory: " + ownerText[o]})
	}
	if p != parts[Timeline] {
		return owners
	}
	var out []view.Mark
	for _, x := range []struct {
		mark mark
		text string
	}{
		{markRun, "warps execute"}, {markReady, "they are ready, but not scheduled"},
		{markWait, "they wait at an mbarrier"}, {markBlock, "they wait at a barrier of the block"},
		{markIssue, "an operation is issued"}, {markLand, "one lands: it has read and written everything"},
		{markFlight + 2, "how many are pending (9: or more)"},
	} {
		glyph, _ := v.pane.glyph(x.mark)
		out = append(out, view.Mark{Glyph: glyph, Text: x.text})
	}
	here := view.Mark{Glyph: v.Theme.Glyph.Below, Text: "over the column in which the block stands"}
	out = append(out, here)
	return slices.Concat(out, owners)
}

var ownerText = [...]string{
	walk.Empty: "empty, or read for the last time: it may be filled", walk.Filling: "operations fill it",
	walk.Full: "full, and not read yet", walk.InUse: "in use: it has been read, and is not released",
	walk.Clash: "read while it is filled",
}
