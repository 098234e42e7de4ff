package tile

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// partAncestry is the pane of that tree. It takes the place of the tile; the source follows its cursor.
const partAncestry view.Part = "lineage"

// lineal is a run that can say what a cell is made of.
type lineal interface {
	Lineage(ctx context.Context, c debugkern.Cell, ask debugkern.LineageRequest) (*report.Lineage, error)
}

// how is the tree on screen, and the search for it.
type how struct {
	open   bool
	busy   bool
	seq    int
	cancel context.CancelFunc
	cell   debugkern.Cell
}

func (h *how) stop() {
	if h.cancel != nil {
		h.cancel()
		h.cancel = nil
	}
	h.seq++
	h.busy = false
}

// howMsg is what a cell is made of.
type howMsg struct {
	seq int
	doc *report.Lineage
	err error
}

// AskHow opens the tree of what the cell under the cursor is made of, or closes it.
func (v *Controller) AskHow(string) tea.Cmd {
	if v.how.open {
		v.closeHow()
		return nil
	}
	if !v.Movable() {
		return v.NothingYet()
	}
	c := v.PlaceOf(v.Cursor)
	if why := v.unwritten(); why != "" {
		v.Say(v.named(c) + ": " + why)
		return nil
	}
	run, ok := v.Run.Viewer.(lineal)
	if !ok {
		v.Complain("this run cannot say what its cells are made of")
		return nil
	}
	v.how.stop()
	ctx, cancel := context.WithCancel(v.Ctx)
	v.how.open, v.how.busy, v.how.cancel, v.how.cell = true, true, cancel, c
	v.tree.Say(v.named(c), "executing block "+c.Block.String()+" again to see what this cell is made of")
	v.Root.Layout()
	v.Root.Focus(partAncestry)
	seq := v.how.seq
	return func() tea.Msg {
		defer cancel()
		doc, err := run.Lineage(ctx, c, debugkern.LineageRequest{})
		return howMsg{seq, doc, err}
	}
}

// onTile is an action on the tile, which is refused while the tree covers it.
func (v *Controller) onTile(do func(string) tea.Cmd) func(string) tea.Cmd {
	return func(arg string) tea.Cmd {
		if v.how.open {
			v.Say(fmt.Sprintf("that changes the tile, which the tree covers: %s or %s goes back to it",
				v.Keys.Label(keymap.How), v.Keys.Label(keymap.Cancel)))
			return nil
		}
		return do(arg)
	}
}

// closeHow gives tile and source their place again.
func (v *Controller) closeHow() {
	v.how.stop()
	v.how.open = false
	v.showSource()
	v.Root.Layout()
	v.Root.Focus(partKernel)
}

// named is a cell as the tree's title has it.
func (v *Controller) named(c debugkern.Cell) string {
	return string(c.Stage) + " " + cell.Name(v.Run.Plan.Stage(c.Stage), c.Row, c.Col)
}

// followTree shows the line of the operation under the tree's cursor; of a sum over several lines the one
// that makes its total, where Enter goes.
func (v *Controller) followTree() {
	if n, ok := v.tree.Chosen(); ok && n.Source != nil {
		line := n.Source.Line
		if n.At != nil && n.At.Line > 0 {
			line = n.At.Line
		}
		v.source.Show(n.Source.File, v.SourceOf(n.Source.File), line, n.Op)
		v.source.SetPatch(v.PatchOf(n.Source.File))
	}
}

func (v *Controller) howFound(msg howMsg) {
	if msg.seq != v.how.seq {
		return
	}
	v.how.busy = false
	name := v.named(v.how.cell)
	switch {
	case errors.Is(msg.err, context.Canceled):
	case msg.err != nil:
		v.tree.Say(name, msg.err.Error())
	default:
		v.tree.Show(name, msg.doc)
		v.followTree()
		v.Say(fmt.Sprintf("%s goes to the operation in Source, %s or %s back to the tile",
			v.Keys.Label(keymap.Open), v.Keys.Label(keymap.How), v.Keys.Label(keymap.Cancel)))
	}
}

// openOperation is Enter: the moment at which the operation under the cursor was executed, in view Source.
func (v *Controller) openOperation(string) tea.Cmd {
	if !v.how.open {
		v.Say(fmt.Sprintf("%s goes to an operation of a cell's lineage: %s shows that", v.Keys.Label(keymap.Open),
			v.Keys.Label(keymap.How)))
		return nil
	}
	n, ok := v.tree.Chosen()
	if !ok || n.At == nil {
		v.Say("no instruction belongs to this line")
		return nil
	}
	block := v.how.cell.Block
	if n.Block != nil {
		block = probes.Dim3(*n.Block)
	}
	return v.others.Stepper.ToStep(block, n.At.Step, n.At.Warp, n.At.Lane, n.Op)
}

// Busy implements view.Worker.
func (v *Controller) Busy() (what string, waits bool) {
	if v.how.busy {
		return "looking for what the cell is made of", true
	}
	return "", false
}

// Cancel implements view.Worker.
func (v *Controller) Cancel() bool { return v.how.busy && v.Uncover() }

// Uncover implements view.Covered.
func (v *Controller) Uncover() bool {
	if !v.how.open {
		return false
	}
	v.closeHow()
	return true
}
