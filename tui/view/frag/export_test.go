package frag

// What tests of the controller look at.

func (v *Controller) Pane() *Pane { return v.pane }
