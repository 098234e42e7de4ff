package frag

import "tilescope/tui/view"

// What tests of the controller look at.

func (v *Controller) Pane() *Pane        { return v.pane }
func (v *Controller) Focused() view.Part { return v.at }
