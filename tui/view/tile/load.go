package tile

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// loading is which tiles of the run on screen have been read, and which one is being read. The tiles are in
// the context.
type loading struct {
	order []debugkern.Place // oldest first
	place debugkern.Place
	busy  bool
}

const keptTiles = 64

// forget drops the tiles: they are of another run, or are compared with another run now.
func (v *Controller) forget() { v.Tiles, v.loading = view.Tiles{}, loading{} }

// keep stores a tile, or why there is none, and drops the oldest of too many.
func (v *Controller) keep(p debugkern.Place, t *debugkern.TileView, err error) {
	if v.Tiles.Views == nil {
		v.Tiles = view.Tiles{
			Views: map[debugkern.Place]*debugkern.TileView{}, Errs: map[debugkern.Place]error{},
		}
	}
	if err != nil {
		v.Tiles.Errs[p] = err
		return
	}
	if _, ok := v.Tiles.Views[p]; !ok {
		v.loading.order = append(v.loading.order, p)
	}
	v.Tiles.Views[p] = t
	if len(v.loading.order) > keptTiles {
		delete(v.Tiles.Views, v.loading.order[0])
		v.loading.order = v.loading.order[1:]
	}
}

// tileMsg is a tile with its references.
type tileMsg struct {
	gen   int
	place debugkern.Place
	tile  *debugkern.TileView
	err   error
}

// loadTile shows the cursor's tile, or asks for it.
func (v *Controller) loadTile() tea.Cmd {
	v.showTile()
	p := v.At()
	if v.Run == nil || v.Tiles.Views[p] != nil || v.Tiles.Errs[p] != nil {
		return nil
	}
	if v.loading.busy && v.loading.place == p {
		return nil
	}
	v.loading.busy, v.loading.place = true, p
	viewer, gen := v.Run.Viewer, v.Gen
	return func() tea.Msg {
		t, err := viewer.View(p)
		return tileMsg{gen, p, t, err}
	}
}

func (v *Controller) tileLoaded(msg tileMsg) {
	if msg.gen != v.Gen {
		return
	}
	if v.loading.place == msg.place {
		v.loading.busy = false
	}
	v.keep(msg.place, msg.tile, msg.err)
	v.showTile()
	v.Root.Announce(view.TileRead{})
	v.showLane()
}

// showTile gives the panes what is known of the cursor's tile.
func (v *Controller) showTile() {
	p := v.At()
	d := Data{Place: p}
	if v.Run != nil && v.Run.Plan != nil {
		d.Plan = v.Run.Plan.Stage(p.Stage)
	}
	if v.Run != nil && v.Run.Pair != nil {
		d.A, d.B = v.Run.Against, request.KernelTitle(v.Run.Request)
	}
	switch {
	case v.Run == nil:
		d.Message = v.Idle()
	case v.Tiles.Views[p] != nil:
		d.View = v.Tiles.Views[p]
		d.Stage = v.Run.Report.Stage(p.Stage.String())
		if g := v.Run.Plan.Gate; !d.View.Got.Reached() && !g.Judged.Has(p.Stage) {
			d.Message = fmt.Sprintf("gate %s leaves stage %s out: nothing of it was captured", g.Name, p.Stage)
		}
	case v.Tiles.Errs[p] != nil:
		d.Message = v.Tiles.Errs[p].Error()
	default:
		d.Message = "computing the reference"
		if d.Plan != nil && d.Plan.OfLaunch() {
			d.Message = "reading " + d.Plan.Help
		}
	}
	v.pane.SetData(d)
	v.mini.SetView(d.View, v.Numbers.Ref, v.Numbers.Bound)
}

// writer is the search for who wrote the cursor's cell: asked for when the cursor rests, superseded when it
// moves. What was found is in the context.
type writer struct {
	seq    int
	cancel context.CancelFunc
	loud   bool // the answer goes to the status line too
	shown  bool // the answer stands in the status line
}

func (w *writer) stop() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

// resetWriter forgets who wrote what: the run is another.
func (v *Controller) resetWriter() {
	v.who.stop()
	v.who.seq++
	v.Writers = view.Writers{Known: map[debugkern.Cell]*target.WriteSite{}, Errs: map[debugkern.Cell]string{}}
}

// writerDueMsg says that the cursor has rested.
type writerDueMsg struct{ seq int }

// writerMsg is who wrote a cell.
type writerMsg struct {
	seq    int
	cell   debugkern.Cell
	writer *target.WriteSite
	err    error
}

// askWriter shows the writer where it is known, else asks once the cursor rests.
func (v *Controller) askWriter() tea.Cmd {
	v.who.stop()
	v.who.seq++
	v.who.loud, v.who.shown = false, false
	at := v.Root.Showing()
	if at != view.Tile && at != view.Frag || v.Run == nil {
		return nil
	}
	if v.showWriter() && (v.Side == 0 || at != view.Tile) {
		return nil
	}
	seq := v.who.seq
	return tea.Tick(v.Pace.Quiet, func(time.Time) tea.Msg { return writerDueMsg{seq} })
}

// injectedText is why a cell of a tile that the gate feeds in has neither writer nor lineage.
const injectedText = "injected, no instruction wrote it"

// unwritten is why nothing can have written the cursor's cell, "" where something may have.
func (v *Controller) unwritten() string {
	p := v.At()
	g := v.Run.Plan.Gate
	switch {
	case g.Injected.Has(p.Stage):
		return injectedText
	case v.Tiles.Views[p] == nil || v.Tiles.Views[p].Got.Reached():
		return ""
	case !g.Judged.Has(p.Stage):
		return fmt.Sprintf("gate %s leaves stage %s out: no instruction wrote it", g.Name, p.Stage)
	}
	if sp := v.Run.Plan.Stage(p.Stage); sp != nil && sp.Capture.Kind == probes.CaptureNone {
		return fmt.Sprintf("values of stage %s are not captured: the manifest says capture: none", p.Stage)
	}
	return "execution did not reach this tile: no instruction wrote it"
}

// showWriter puts what is known of the cell's writer on screen and reports whether that is all there will be.
func (v *Controller) showWriter() bool {
	whole := v.drawWriter()
	v.Root.Announce(view.WriterFound{})
	return whole
}

func (v *Controller) drawWriter() bool {
	c := v.PlaceOf(v.Cursor)
	if why := v.unwritten(); why != "" {
		v.Writers.Errs[c] = why
	}
	if w := v.Writers.Known[c]; w != nil {
		v.pane.SetWriter(w, "")
		if v.Follow && w.Source != nil && !v.how.open {
			v.source.Show(w.Source.File, v.Run.Viewer.Source(w.Source.File), w.Source.Line,
				stores(w)+" "+cell.Name(v.Run.Plan.Stage(c.Stage), c.Row, c.Col))
			v.source.SetPatch(v.PatchOf(w.Source.File))
		}
		return true
	}
	v.pane.SetWriter(nil, v.Writers.Errs[c])
	if v.Writers.Errs[c] == "" {
		return false // what is shown of another cell stays, with its name, until this one's is known
	}
	if file, line := v.Root.SourcePlace(); !v.how.open {
		if v.unwritten() != "" {
			line = 0
		}
		v.source.Show(file, v.SourceOf(file), line, "")
		v.source.SetPatch(v.PatchOf(file))
	}
	return true
}

func (v *Controller) writerDue(msg writerDueMsg) tea.Cmd {
	if msg.seq != v.who.seq {
		return nil
	}
	if v.showLane(); v.showWriter() {
		return nil
	}
	return v.fetchWriter()
}

func (v *Controller) fetchWriter() tea.Cmd {
	if v.Run == nil {
		return nil
	}
	v.who.stop()
	ctx, cancel := context.WithCancel(v.Ctx)
	v.who.cancel = cancel
	c, seq, viewer := v.PlaceOf(v.Cursor), v.who.seq, v.Run.Viewer
	return func() tea.Msg {
		defer cancel()
		w, err := viewer.Writer(ctx, c)
		return writerMsg{seq, c, w, err}
	}
}

func (v *Controller) writerFound(msg writerMsg) {
	if msg.seq != v.who.seq || v.Writers.Known == nil {
		return
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		return
	case msg.err != nil:
		v.Writers.Errs[msg.cell] = "writer: " + msg.err.Error()
	case msg.writer == nil:
		v.Writers.Errs[msg.cell] = "no instruction of the kernel wrote this cell"
	default:
		v.Writers.Known[msg.cell] = msg.writer
	}
	v.showWriter()
	if v.who.loud {
		v.sayWriter()
	}
}

// sayWriter writes the whole answer to the status line.
func (v *Controller) sayWriter() {
	c := v.PlaceOf(v.Cursor)
	if w := v.Writers.Known[c]; w != nil {
		text := writerText(w, "%d") + storedAt(w)
		if v.Root.Showing() == view.Tile {
			v.who.shown = true // what the line below the tile lacks comes first: the end may be cut
			text = v.Keys.Label(keymap.Who) + " opens it · " + instructionText(w) + " · " + text
		} else {
			text += " · " + instructionText(w)
		}
		v.Say(text)
	} else if e := v.Writers.Errs[c]; e != "" {
		v.Complain(e)
	}
}
