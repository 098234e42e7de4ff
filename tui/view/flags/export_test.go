package flags

// What tests of the controller look at.

const AheadNear = aheadNear

func (v *Controller) Pane() *Pane { return v.pane }

// Select puts the cursor on a switch.
func (p *Pane) Select(k Kind, name string) bool {
	for i, it := range p.data.Items {
		if it.Kind == k && it.Name == name {
			p.sel, p.Changed = i, true
			return true
		}
	}
	return false
}
