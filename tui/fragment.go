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
	if m.run == nil || m.frag.gen == m.loaded.gen {
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
	if m.run != nil {
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
	if m.run != nil {
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
