package tile

import "tilescope/tui/view"

// What tests of the controller look at.

func (v *Controller) Pane() *Pane        { return v.pane }
func (v *Controller) Rail() int          { return v.frame.rail }
func (v *Controller) Focused() view.Part { return v.at }

// Counts are the shown tile's bad and compared cells under the settings.
func (p *Pane) Counts() (bad, cells int) { return p.stats.Bad, p.stats.Cells }
