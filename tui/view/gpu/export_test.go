package gpu

import tea "charm.land/bubbletea/v2"

// What tests of the controller look at.

const KeptPulse = keptPulse

func (v *Controller) Pane() *Pane  { return v.pane }
func (v *Controller) Samples() int { return len(v.known.samples) }

// Pulse says that the next sample is due.
func (v *Controller) Pulse() tea.Msg { return pulseMsg{v.known.seq} }
