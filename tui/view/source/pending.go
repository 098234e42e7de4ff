package source

import tea "charm.land/bubbletea/v2"

// isOpen reports whether the block under the cursor is open.
func (v *Controller) isOpen() bool {
	s := &v.walk
	return s.walk != nil && s.owner == v.Run && s.block == v.Cursor.Block
}

// whenOpen carries out a command that needs the block under the cursor: now where it is open, else as soon as
// it has been opened. A block that cannot be opened says why, and the command is dropped.
func (v *Controller) whenOpen(do func() tea.Cmd) tea.Cmd {
	if v.isOpen() {
		return do()
	}
	cmd := v.loadWalk()
	if v.walk.busy {
		v.walk.pending = append(v.walk.pending, do)
	}
	return cmd
}

// carryOut carries out what has waited for the block; after an error nothing of it.
func (v *Controller) carryOut(err error) tea.Cmd {
	waiting := v.walk.pending
	v.walk.pending = nil
	if err != nil {
		return nil
	}
	var cmds []tea.Cmd
	for _, do := range waiting {
		cmds = append(cmds, do())
	}
	return tea.Batch(cmds...)
}
