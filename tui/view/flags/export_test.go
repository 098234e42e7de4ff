package flags

// What tests of the controller look at.

const AheadNear = aheadNear

func (v *Controller) Pane() *Pane { return v.pane }
