package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/tile"
)

// tiles are the tiles of the run on screen that have been laid beside their references.
type tiles struct {
	gen     int // of the run
	views   map[debugkern.Place]*debugkern.TileView
	order   []debugkern.Place // oldest first
	errs    map[debugkern.Place]error
	loading debugkern.Place
	busy    bool
}

const keptTiles = 64

func (t *tiles) keep(p debugkern.Place, v *debugkern.TileView, err error) {
	if t.views == nil {
		t.views, t.errs = map[debugkern.Place]*debugkern.TileView{}, map[debugkern.Place]error{}
	}
	if err != nil {
		t.errs[p] = err
		return
	}
	if _, ok := t.views[p]; !ok {
		t.order = append(t.order, p)
	}
	t.views[p] = v
	if len(t.order) > keptTiles {
		delete(t.views, t.order[0])
		t.order = t.order[1:]
	}
}

// tileMsg is a tile laid beside its references.
type tileMsg struct {
	gen   int
	place debugkern.Place
	view  *debugkern.TileView
	err   error
}

// loadTile shows the cursor's tile, or asks for it.
func (m *Model) loadTile() tea.Cmd {
	m.showTile()
	p := m.at()
	if m.run == nil || m.loaded.views[p] != nil || m.loaded.errs[p] != nil {
		return nil
	}
	if m.loaded.busy && m.loaded.loading == p {
		return nil
	}
	m.loaded.busy, m.loaded.loading = true, p
	v, gen := m.run.viewer, m.loaded.gen
	return func() tea.Msg {
		view, err := v.View(p)
		return tileMsg{gen, p, view, err}
	}
}

func (m *Model) tileLoaded(msg tileMsg) {
	if msg.gen != m.loaded.gen {
		return
	}
	if m.loaded.loading == msg.place {
		m.loaded.busy = false
	}
	m.loaded.keep(msg.place, msg.view, msg.err)
	m.showTile()
	m.showLane()
}

// showTile gives the panes what is known of the cursor's tile.
func (m *Model) showTile() {
	p := m.at()
	d := tile.Data{Place: p}
	if m.run != nil && m.run.plan != nil {
		d.Plan = m.run.plan.Stage(p.Stage)
	}
	if m.run != nil && m.run.pair != nil {
		d.A, d.B = m.run.against, kernelTitle(m.run.request)
	}
	switch {
	case m.run == nil:
		d.Message = m.idle()
	case m.loaded.views[p] != nil:
		d.View = m.loaded.views[p]
		d.Stage = m.run.report.Stage(p.Stage.String())
	case m.loaded.errs[p] != nil:
		d.Message = m.loaded.errs[p].Error()
	default:
		d.Message = "computing the reference"
	}
	m.pane.tile.SetData(d)
	s := m.pane.tile.Settings()
	m.pane.mini.SetView(d.View, s.Ref, s.Bound)
	m.showLive()
}

// idle is what an empty screen says.
func (m *Model) idle() string {
	if m.job.active {
		return "running " + title(m.req)
	}
	if m.status.bad {
		return m.status.text
	}
	return "nothing has run yet: x runs"
}

// writer is the search for who wrote the cursor's cell: asked for when the cursor rests, superseded when it moves.
type writer struct {
	seq    int
	cancel context.CancelFunc
	known  map[debugkern.Cell]*debugkern.Writer
	errs   map[debugkern.Cell]string
	loud   bool // the answer goes to the status line too
	told   bool // the status line has told it
}

func (w *writer) stop() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

func (w *writer) reset() {
	w.stop()
	w.seq++
	w.known, w.errs = map[debugkern.Cell]*debugkern.Writer{}, map[debugkern.Cell]string{}
}

// writerDueMsg says that the cursor has rested.
type writerDueMsg struct{ seq int }

// writerMsg is who wrote a cell.
type writerMsg struct {
	seq    int
	cell   debugkern.Cell
	writer *debugkern.Writer
	err    error
}

// askWriter shows the writer where it is known, else asks once the cursor rests.
func (m *Model) askWriter() tea.Cmd {
	m.who.stop()
	m.who.seq++
	m.who.loud, m.who.told = false, false
	if m.view != keymap.Tile && m.view != keymap.Frag || m.run == nil {
		return nil
	}
	if m.showWriter() && (m.frame.side == 0 || m.view != keymap.Tile) {
		return nil
	}
	seq := m.who.seq
	return tea.Tick(m.opt.quiet, func(time.Time) tea.Msg { return writerDueMsg{seq} })
}

// showWriter puts what is known of the cell's writer on screen and reports whether that is all there will be.
func (m *Model) showWriter() bool {
	c := m.placeOf(m.cursor)
	defer m.showLive()
	if w := m.who.known[c]; w != nil {
		m.pane.tile.SetWriter(tile.WriterText(w, m.w >= 160))
		if m.follow && w.Source != nil {
			m.pane.source.Show(w.Source.File, m.run.viewer.Source(w.Source.File), w.Source.Line, "wrote "+cell.Name(m.run.plan.Stage(c.Stage), c.Row, c.Col))
		}
		return true
	}
	m.pane.tile.SetWriter(m.who.errs[c])
	return m.who.errs[c] != ""
}

func (m *Model) writerDue(msg writerDueMsg) tea.Cmd {
	if msg.seq != m.who.seq {
		return nil
	}
	if m.showLane(); m.showWriter() {
		return nil
	}
	return m.fetchWriter()
}

func (m *Model) fetchWriter() tea.Cmd {
	if m.run == nil {
		return nil
	}
	m.who.stop()
	ctx, cancel := context.WithCancel(m.ctx)
	m.who.cancel = cancel
	c, seq, v := m.placeOf(m.cursor), m.who.seq, m.run.viewer
	return func() tea.Msg {
		defer cancel()
		w, err := v.Writer(ctx, c)
		return writerMsg{seq, c, w, err}
	}
}

func (m *Model) writerFound(msg writerMsg) {
	if msg.seq != m.who.seq || m.who.known == nil {
		return
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		return
	case msg.err != nil:
		m.who.errs[msg.cell] = "writer: " + msg.err.Error()
	case msg.writer == nil:
		m.who.errs[msg.cell] = "no instruction of the kernel wrote this cell"
	default:
		m.who.known[msg.cell] = msg.writer
	}
	m.showWriter()
	if m.who.loud {
		m.sayWriter()
	}
}

// sayWriter writes the whole answer to the status line.
func (m *Model) sayWriter() {
	c := m.placeOf(m.cursor)
	if w := m.who.known[c]; w != nil {
		text := tile.WriterText(w, true)
		if m.view == keymap.Tile {
			m.who.told = true
			text += " · w goes there"
		}
		m.say(text)
	} else if e := m.who.errs[c]; e != "" {
		m.complain(e)
	}
}
