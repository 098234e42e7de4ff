package source

// Clock implements view.Clocked.
func (v *Controller) Clock() uint64 { return v.walk.shot.pos.Step }
