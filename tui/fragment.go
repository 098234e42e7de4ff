package tui

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/frag"
)

// introspector is offered by engines that can read fragment layouts back.
type introspector interface {
	Lut(ctx context.Context, req debugkern.Request, pick debugkern.LutFilter) (*debugkern.LutDoc, error)
	TableFile(ctx context.Context, req debugkern.Request, path string) (*debugkern.Table, error)
}

// tabled is offered by runs whose kernel may have its own table of the accumulator.
type tabled interface {
	Table(ctx context.Context) (*debugkern.Table, error)
}

var (
	_ introspector = (*debugkern.Session)(nil)
	_ tabled       = (*debugkern.Run)(nil)
)

// fragments is what the Frag view knows: maps by backend, and the table of the run on screen.
type fragments struct {
	backend string // what was chosen: emu or cuda; "" is the run's
	docs    map[string]*debugkern.LutDoc
	errs    map[string]string
	asked   map[string]bool
	header  *debugkern.Table // a file's, in place of the kernel's
	table   *debugkern.Table
	gen     int // of the run that the table is of
}

// mappedMsg is the fragment maps of a backend.
type mappedMsg struct {
	backend string
	doc     *debugkern.LutDoc
	err     error
}

// tableMsg is the table of a run's kernel.
type tableMsg struct {
	gen   int
	table *debugkern.Table
	err   error
}

// fragBackend is the backend whose maps are shown.
func (m *Model) fragBackend() string {
	switch {
	case m.frag.backend != "":
		return m.frag.backend
	case m.req.Backend == "both":
		return "cuda"
	}
	return m.req.Backend
}

// loadFragments shows what is known in the Frag view and asks for what it lacks.
func (m *Model) loadFragments() tea.Cmd {
	if m.view != keymap.Frag && (m.view != keymap.Tile || m.frame.side == 0) {
		return nil
	}
	m.showFragments()
	return tea.Batch(m.askMaps(), m.askTable())
}

func (m *Model) askMaps() tea.Cmd {
	be := m.fragBackend()
	e, ok := m.opt.Engine.(introspector)
	if !ok || m.frag.asked[be] {
		return nil
	}
	if m.frag.asked == nil {
		m.frag.asked, m.frag.docs, m.frag.errs = map[string]bool{}, map[string]*debugkern.LutDoc{}, map[string]string{}
	}
	m.frag.asked[be] = true
	ctx, req := m.ctx, debugkern.Request{Backend: be, Device: m.req.Device}
	return func() tea.Msg {
		doc, err := e.Lut(ctx, req, debugkern.LutFilter{})
		return mappedMsg{be, doc, err}
	}
}

func (m *Model) askTable() tea.Cmd {
	if m.run == nil || m.run.viewer == nil || m.frag.gen == m.loaded.gen {
		return nil
	}
	m.frag.gen, m.frag.table = m.loaded.gen, nil
	v, ok := m.run.viewer.(tabled)
	if !ok {
		return nil
	}
	ctx, gen := m.ctx, m.loaded.gen
	return func() tea.Msg {
		t, err := v.Table(ctx)
		return tableMsg{gen, t, err}
	}
}

// mapped keeps the maps of a backend. One that is not there is said, and the choice goes back.
func (m *Model) mapped(msg mappedMsg) {
	if msg.err != nil {
		m.frag.asked[msg.backend] = false
		m.frag.errs[msg.backend] = oneLine(msg.err)
		if m.frag.backend == msg.backend && msg.backend != "" {
			m.frag.backend = ""
			m.complain(msg.backend + ": " + oneLine(msg.err))
		}
	} else {
		m.frag.docs[msg.backend] = msg.doc
		m.sayAgreement(msg.backend)
	}
	m.showFragments()
	m.showLane()
}

// sayAgreement tells whether two backends lay fragments out alike.
func (m *Model) sayAgreement(backend string) {
	doc := m.frag.docs[backend]
	for other, was := range m.frag.docs {
		if other == backend || was.Backend.Name == doc.Backend.Name {
			continue
		}
		differ := 0
		for i := range min(len(doc.Maps), len(was.Maps)) {
			for l := range doc.Maps[i].Lanes {
				for e, c := range doc.Maps[i].Lanes[l] {
					if was.Maps[i].Lanes[l][e] != c {
						differ++
					}
				}
			}
		}
		m.say(fmt.Sprintf("%s and %s: %d entries differ", was.Backend.Name, doc.Backend.Name, differ))
	}
}

func (m *Model) tableFound(msg tableMsg) {
	if msg.gen != m.frag.gen {
		return
	}
	m.frag.table = msg.table
	if msg.err != nil {
		m.complain("the kernel's own table: " + oneLine(msg.err))
	}
	m.showFragments()
	m.showLane()
}

// showFragments gives the pane the maps, the table, and the cursor's tile.
func (m *Model) showFragments() {
	be := m.fragBackend()
	d := frag.Data{}
	if m.run != nil && m.run.plan != nil {
		d.Target = m.run.request.Target
		if m.frag.gen == m.loaded.gen {
			d.Table = m.frag.table
		}
	}
	if m.frag.header != nil {
		d.Table = m.frag.header
	}
	switch doc := m.frag.docs[be]; {
	case doc != nil:
		d.Maps, d.Backend = doc.Maps, doc.Backend.Device
		if d.Backend == "" {
			d.Backend = doc.Backend.Name
		}
	case m.frag.errs[be] != "":
		d.Message = m.frag.errs[be]
	default:
		d.Message = "reading the fragments back: the introspection kernel runs"
	}
	m.pane.frag.SetData(d)
	m.showLive()
}

// showLive gives the Frag view the tile at the cursor and who wrote its cell.
func (m *Model) showLive() {
	l := frag.Live{}
	s := m.pane.tile.Settings()
	l.Ref, l.Bound = s.Ref, s.Bound
	if m.run != nil && m.run.plan != nil {
		c := m.placeOf(m.cursor)
		l.View = m.loaded.views[c.Place]
		sp := m.run.plan.Stage(c.Stage)
		if l.View != nil && sp != nil {
			l.Raw = sp.Capture.Kind == probes.CaptureFrag
			m.pane.frag.Follow(m.cursor.Row, m.cursor.Col, sp.Rows, sp.Cols)
		}
		if row, col := m.pane.frag.Place(); row == c.Row && col == c.Col {
			l.Writer, l.Note = m.who.known[c], m.who.errs[c]
		} else {
			l.Note = "the tile has no such cell"
		}
	}
	m.pane.frag.SetLive(l)
}

// fragMove is hjkl in the Frag view: grid and tile move the one cursor, the strip scrolls.
func (m *Model) fragMove(rows, cols int) tea.Cmd { return m.moveIn(m.focused(), rows, cols) }

// moveIn moves in one of the view's panes.
func (m *Model) moveIn(at part, rows, cols int) tea.Cmd {
	p := m.pane.frag
	moved := false
	switch at {
	case partBanks:
		if cols != 0 {
			return m.stepLD(cols)
		}
		return m.scrolled(p.Phases(rows))
	case partGrid:
		moved = p.MoveGrid(rows, cols)
	case partCells:
		if m.hasCell(m.cursor.Row+rows, m.cursor.Col+cols) && m.onCursor() {
			return m.nudge(rows, cols)
		}
		moved = p.MoveCell(rows, cols)
	}
	if !moved {
		m.say("edge of the map: H L other kv tiles, J K other stages, o another fragment")
		return nil
	}
	return m.fragMoved()
}

// fragWheel is fragMove for what is under the mouse, wherever the focus is.
func (m *Model) fragWheel(x, y, rows, cols int) tea.Cmd {
	part, _, _, _ := m.pane.frag.Hit(x, y)
	return m.moveIn(fragParts[part], rows, cols)
}

// hasCell reports whether the run's tile at the cursor has a cell.
func (m *Model) hasCell(row, col int) bool {
	if m.run == nil || m.run.plan == nil {
		return false
	}
	sp := m.run.plan.Stage(m.cursor.Stage)
	return sp != nil && row >= 0 && col >= 0 && row < sp.Rows && col < sp.Cols
}

// onCursor reports whether the map's cell is the cursor's: a tile narrower than the map does not have them all.
func (m *Model) onCursor() bool {
	row, col := m.pane.frag.Place()
	return row == m.cursor.Row && col == m.cursor.Col
}

// fragMoved takes the run's cursor to where the map's went, as far as the tile has it.
func (m *Model) fragMoved() tea.Cmd {
	row, col := m.pane.frag.Place()
	if m.run == nil || m.run.plan == nil {
		return nil
	}
	c := m.cursor
	c.Row, c.Col = row, col
	to := m.run.nearest(c)
	to.KVTile = m.cursor.KVTile
	if to == m.cursor {
		m.showLive()
		return nil
	}
	m.cursor = to
	return m.moved()
}

// fragEdge goes to the first or last lane, element, row or column.
func (m *Model) fragEdge(rows, cols int) tea.Cmd {
	const far = 1 << 12
	p := m.pane.frag
	moved := false
	switch m.focused() {
	case partBanks:
		moved = p.Phases(far * (rows + cols))
	case partGrid:
		moved = p.MoveGrid(far*rows, far*cols)
	default:
		moved = p.MoveCell(far*rows, far*cols)
	}
	if !moved {
		m.say("there already")
		return nil
	}
	return m.fragMoved()
}

// fragNext is n and N: the next entry that the kernel's table has wrong, else the next bad cell.
func (m *Model) fragNext(dir int) tea.Cmd {
	if m.pane.frag.NextWrong(dir) {
		m.say("table and hardware disagree: " + m.pane.frag.CellText())
		return m.fragMoved()
	}
	return m.nextBad(dir)
}

func (m *Model) nextFragment(n int) tea.Cmd {
	name := m.pane.frag.Next(n)
	if name == "" {
		m.say("no fragment maps yet")
		return nil
	}
	m.say("fragment: " + name)
	return nil
}

// otherBackend introspects on the GPU in place of the emulator, or the other way round.
func (m *Model) otherBackend(string) tea.Cmd {
	now := "emu"
	if doc := m.frag.docs[m.fragBackend()]; doc != nil {
		now = doc.Backend.Name
	}
	return m.introspectOn(map[bool]string{true: "cuda", false: "emu"}[now == "emu"])
}

func (m *Model) introspectOn(backend string) tea.Cmd {
	m.frag.backend = backend
	m.say("fragments as read back on " + backend)
	m.showFragments()
	return m.askMaps()
}

func (m *Model) toggleTable() tea.Cmd {
	table, ok := m.pane.frag.ToggleTable()
	switch {
	case !ok:
		m.say("the kernel has no table of its own for this fragment")
	case table:
		m.say("the grid shows the kernel's own table")
	default:
		m.say("the grid shows the hardware's map")
	}
	return nil
}

func (m *Model) stepLD(n int) tea.Cmd {
	m.say(fmt.Sprintf("leading dimension %d", m.pane.frag.StepLD(n)))
	return nil
}

// clickFrag focuses what is under the mouse and moves the cursor there.
func (m *Model) clickFrag(x, y int) tea.Cmd {
	part, i, j, ok := m.pane.frag.Hit(x, y)
	m.focusOn(fragParts[part])
	if !ok {
		return nil
	}
	if part == frag.Grid {
		m.pane.frag.Go(i, j)
	} else {
		m.pane.frag.GoCell(i, j)
	}
	return m.fragMoved()
}

// fragmenting is what the view's own keys do.
func fragmenting() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.NextFrag:   func(m *Model, _ string) tea.Cmd { return m.nextFragment(1) },
		keymap.PrevFrag:   func(m *Model, _ string) tea.Cmd { return m.nextFragment(-1) },
		keymap.Introspect: (*Model).otherBackend,
		keymap.Swizzle: func(m *Model, _ string) tea.Cmd {
			m.say("swizzle: " + m.pane.frag.NextSwizzle())
			return nil
		},
		keymap.Matrix: func(m *Model, _ string) tea.Cmd {
			m.say("moved " + m.pane.frag.ToggleMatrix())
			return nil
		},
	}
}

// fragParts are the view's panes, as the pane counts them.
var fragParts = []part{frag.Grid: partGrid, frag.Tile: partCells, frag.Banks: partBanks}

// fragCommands are the palette's lines of the Frag view.
func fragCommands() []command {
	return []command{
		{"frag", "KIND [DTYPE] [row|col] [emu|cuda]", "choose a fragment: a, b, acc", func(m *Model) []string { return m.pane.frag.Names() }, (*Model).fragCommand},
		{"header", "FILE|-", "hold a header's WMMA_ACCUM_LUT against the hardware; - the kernel's own again", nil, (*Model).headerCommand},
		{"ld", "N", "leading dimension of the bank strip, in elements", nil, func(m *Model, arg string) tea.Cmd {
			n, err := strconv.Atoi(arg)
			if err != nil || n < 16 || n > 4096 {
				m.complain(fmt.Sprintf("leading dimension %q: expected a number from 16 to 4096", arg))
				return nil
			}
			m.say(fmt.Sprintf("leading dimension %d", m.pane.frag.SetLD(n)))
			return nil
		}},
		{"swizzle", "0|1|3|7", "which bits of a line's number exchange its 16-byte chunks", func(*Model) []string { return []string{"0", "1", "3", "7"} }, func(m *Model, arg string) tea.Cmd {
			n, err := strconv.Atoi(arg)
			if err != nil || n < 0 || n > 7 {
				m.complain(fmt.Sprintf("swizzle %q: expected 0, 1, 3 or 7", arg))
				return nil
			}
			m.pane.frag.SetSwizzle(n)
			m.say("swizzle: line & " + arg)
			return nil
		}},
	}
}

// headerMsg is a header's table.
type headerMsg struct {
	table *debugkern.Table
	err   error
}

// headerCommand holds a header's table against the hardware in place of the kernel's; "-" takes it away.
func (m *Model) headerCommand(arg string) tea.Cmd {
	if arg == "-" {
		m.frag.header = nil
		m.say("the kernel's own table again")
		return m.show(keymap.Frag)
	}
	e, ok := m.opt.Engine.(introspector)
	if !ok {
		m.complain("this engine cannot introspect")
		return nil
	}
	ctx, req := m.ctx, debugkern.Request{Backend: m.fragBackend(), Device: m.req.Device}
	return func() tea.Msg {
		t, err := e.TableFile(ctx, req, arg)
		return headerMsg{t, err}
	}
}

func (m *Model) headerRead(msg headerMsg) tea.Cmd {
	if msg.err != nil {
		m.complain(oneLine(msg.err))
		return nil
	}
	m.frag.header = msg.table
	cmd := m.show(keymap.Frag)
	m.say(msg.table.Name + ": " + msg.table.Explanation)
	return cmd
}

// showLane draws the lane at the cursor beside a very wide tile: only once the cursor rests, for its lines all change at once.
func (m *Model) showLane() {
	if m.frame.side == 0 || m.view != keymap.Tile {
		return
	}
	m.showLive()
	m.lane = m.pane.frag.Side(m.frame.side, m.laneHeight())
}

// laneHeight is what minimap and figures leave of the right column.
func (m *Model) laneHeight() int {
	rest := m.frame.body - m.miniHeight()
	return rest - min(rest, factLines)
}

func (m *Model) fragCommand(arg string) tea.Cmd {
	var words []string
	backend := ""
	for _, w := range strings.Fields(arg) {
		if w == "emu" || w == "cuda" {
			backend = w
		} else {
			words = append(words, w)
		}
	}
	cmd := m.show(keymap.Frag)
	if len(words) > 0 && !m.pane.frag.Choose(words) {
		m.complain(fmt.Sprintf("no fragment %q: there are %s", strings.Join(words, " "), strings.Join(m.pane.frag.Names(), ", ")))
		return cmd
	}
	if backend != "" {
		return tea.Batch(cmd, m.introspectOn(backend))
	}
	return cmd
}
