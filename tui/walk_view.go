package tui

import (
	"fmt"
	"path"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/cell"
	"tilescope/tui/pane/ptx"
	"tilescope/tui/pane/registers"
	"tilescope/tui/pane/shared"
	"tilescope/tui/pane/warps"
	"tilescope/tui/theme"
)

// walkParts are the Source view's panes, in the order of the focus key.
var walkParts = []part{partCode, partPTX, partRegisters, partShared, partWarps}

// rect is a place in the body.
type rect struct{ x, y, w, h int }

// walkLayout is where the Source view's panes stand. Below 33 lines registers and the shared array take turns in one place:
// whichever had the focus last. On very wide screens everything stands side by side.
func walkLayout(w, h int, slot part, s sizes) map[part]rect {
	const strip = 1
	h -= strip
	out := map[part]rect{}
	switch {
	case w >= 176 && h >= 36:
		a := max(30, min(w*30/100+s.code, w*58/100-30))
		b := w*58/100 - a
		c := w - a - b
		low := 12
		mid := max(8, min((h-low)/2+s.low, h-low-8))
		out[partCode] = rect{0, strip, a, h}
		out[partPTX] = rect{a, strip, b, h}
		out[partRegisters] = rect{a + b, strip, c, h - low - mid}
		out[partShared] = rect{a + b, strip + h - low - mid, c, mid}
		out[partWarps] = rect{a + b, strip + h - low, c, low}
	case h >= 32:
		low := 7
		mid := max(8, min((h-low)*2/5+s.low, h-low-8))
		top, a, b := h-low-mid, max(30, min(w/2+s.code, w-30)), w*11/20
		out[partCode] = rect{0, strip, a, top}
		out[partPTX] = rect{a, strip, w - a, top}
		out[partRegisters] = rect{0, strip + top, b, mid}
		out[partShared] = rect{b, strip + top, w - b, mid}
		out[partWarps] = rect{0, strip + top + mid, w, low}
	default:
		low := max(7, min(max(9, h*2/5)+s.low, h-6))
		top, a, b := h-low, max(30, min(w/2+s.code, w-30)), w*3/5
		if slot != partShared {
			slot = partRegisters
		}
		out[partCode] = rect{0, strip, a, top}
		out[partPTX] = rect{a, strip, w - a, top}
		out[slot] = rect{0, strip + top, b, low}
		out[partWarps] = rect{b, strip + top, w - b, low}
	}
	return out
}

// sizeWalk gives the Source view's panes their sizes.
func (m *Model) sizeWalk() {
	r := walkLayout(m.w, m.frame.body, m.walk.slot, m.sizes)
	m.pane.code.SetSize(r[partCode].w, r[partCode].h)
	m.pane.ptx.SetSize(r[partPTX].w, r[partPTX].h)
	m.pane.regs.SetSize(r[partRegisters].w, r[partRegisters].h)
	m.pane.shared.SetSize(r[partShared].w, r[partShared].h)
	m.pane.warps.SetSize(r[partWarps].w, r[partWarps].h)
}

// growWalk moves the borders between the Source view's panes.
func (m *Model) growWalk(at part, n int) {
	switch at {
	case partCode:
		m.sizes.code = min(m.sizes.code+2*n, 40)
	case partPTX:
		m.sizes.code = max(m.sizes.code-2*n, -40)
	default:
		m.sizes.low = max(-12, min(m.sizes.low+n, 12))
	}
}

// walkProgress says what is under way and how far it has come.
func (m *Model) walkProgress() string {
	s := &m.walk
	if s.walk == nil {
		return s.what
	}
	return fmt.Sprintf("%s · step %d", s.what, s.walk.Clock())
}

// walkText is what is under the cursor of the Source view, to copy.
func (m *Model) walkText() string {
	switch m.focused() {
	case partRegisters:
		if r, lane, ok := m.pane.regs.Current(); ok {
			return fmt.Sprintf("%s lane %d = 0x%x", r.Name, lane, r.Bits[lane])
		}
	case partShared:
		if array, row, col, ok := m.pane.shared.Current(); ok {
			t := m.walk.shot.shared.Tile
			return fmt.Sprintf("%s[%d][%d] = %s", array, row, col, cell.HexText(t.DType, t.Bits(row, col)))
		}
	case partPTX:
		if r, ok := m.pane.ptx.Current(); ok {
			return r.Text
		}
	}
	file, line := m.pane.code.Cursor()
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// focusWalk tells the panes which has the focus; on small screens the one of two that has it is the one that is seen.
func (m *Model) focusWalk(at part) {
	if (at == partRegisters || at == partShared) && at != m.walk.slot {
		m.walk.slot = at
		m.sizeWalk()
	}
	m.pane.code.SetFocus(at == partCode)
	m.pane.ptx.SetFocus(at == partPTX)
	m.pane.regs.SetFocus(at == partRegisters)
	m.pane.shared.SetFocus(at == partShared)
	m.pane.warps.SetFocus(at == partWarps)
}

// walkView joins the Source view's panes below the line that says where the block stands.
func (m *Model) walkView() []string {
	r := walkLayout(m.w, m.frame.body, m.walk.slot, m.sizes)
	out := append(make([]string, 0, m.frame.body), m.walkStrip())
	code, list, regs, sh, wa := m.pane.code.View(), m.pane.ptx.View(), m.pane.regs.View(), m.pane.shared.View(), m.pane.warps.View()
	_, hasRegs := r[partRegisters]
	_, hasShared := r[partShared]
	switch {
	case !hasRegs:
		return append(append(out, theme.Beside(code, list)...), theme.Beside(sh, wa)...)
	case !hasShared:
		return append(append(out, theme.Beside(code, list)...), theme.Beside(regs, wa)...)
	case r[partCode].h == m.frame.body-1:
		right := append(append(append(make([]string, 0, m.frame.body), regs...), sh...), wa...)
		return append(out, theme.Beside(code, list, right)...)
	}
	out = append(append(out, theme.Beside(code, list)...), theme.Beside(regs, sh)...)
	return append(out, wa...)
}

// walkStrip: block 0,0,0 · step 3513 · warp 0 ffffffff · kv 0 · kernel.cu:493 · by line · S captured
func (m *Model) walkStrip() string {
	s, t := &m.walk, m.th
	l := t.Line(m.w)
	if s.walk == nil && s.shot.listing == nil {
		return l.Space(1).Add(t.Dim, t.Fit(m.walkEmpty(), m.w-1)).Done()
	}
	p := &s.shot.pos
	add := func(style theme.Style, text string) {
		if l.Col() > 0 {
			l.Add(t.Dim, " · ")
		}
		l.Add(style, text)
	}
	add(t.Text, "block "+p.Block.String())
	add(t.Strong, "step "+strconv.FormatUint(p.Step, 10))
	add(t.Strong, fmt.Sprintf("warp %d", p.Warp))
	if p.PC >= 0 {
		l.Add(t.Dim, fmt.Sprintf(" %08x", p.Mask))
	}
	if p.KVTile >= 0 {
		add(t.Text, fmt.Sprintf("kv %d", p.KVTile))
	}
	if p.Source != nil && p.Source.Line > 0 && m.w >= 100 { // narrow screens have it in the source's title
		add(t.SourceLine, fmt.Sprintf("line %d", p.Source.Line))
	}
	add(t.Dim, "by "+unitNames[m.unit()])
	if n := len(s.breaks); n > 0 {
		add(t.Wrong, t.Glyph.Dot+strconv.Itoa(n))
	}
	switch p.Stop {
	case "end", "start", "breakpoint":
		add(t.Accent, p.Stop)
	case "deadlock", "fault":
		add(t.Wrong, t.Glyph.Wrong+" "+p.Stop)
	}
	if p.Note != "" {
		add(t.Text, t.Fit(p.Note, l.Left()-3))
	}
	return l.Done()
}

// walkEmpty is what panes without a block say.
func (m *Model) walkEmpty() string {
	switch s := &m.walk; {
	case s.busy:
		return s.what
	case s.said != "":
		return s.said
	}
	return m.idle()
}

// showWalk gives the panes the moment on screen. follow has source and PTX go where the warp stands.
func (m *Model) showWalk(follow bool) {
	s := &m.walk
	m.showCode(follow)
	empty := m.walkEmpty()
	others := map[int]int{}
	rows := m.rowsByPC()
	for _, w := range s.shot.warps {
		for _, g := range w.Groups {
			if w.Index != s.shot.pos.Warp && g.PC < len(rows) {
				others[rows[g.PC]]++
			}
		}
	}
	d := ptx.Data{Rows: s.shot.listing, At: s.shot.pos.Listing, Others: others, Breaks: m.breakRows(), Empty: empty}
	if len(s.shot.listing) == 0 {
		d.At = -1
	}
	if p := s.shot.pos.Source; p != nil {
		d.File, d.Line = p.File, p.Line
	}
	m.pane.ptx.SetData(d, follow && m.follow)
	regs := registers.Data{Regs: s.shot.regs, Changed: s.shot.changed, Warp: s.shot.pos.Warp, Empty: empty}
	if len(s.shot.listing) > 0 {
		regs.Empty = fmt.Sprintf("warp %d has ended", s.shot.pos.Warp)
	}
	if follow {
		m.pane.regs.SetData(regs)
	}
	m.pane.warps.SetData(warps.Data{Warps: s.shot.warps, Current: s.shot.pos.Warp, Next: -1, Lines: s.shot.lines, Texts: s.shot.texts, Empty: empty})
	m.showShared(empty)
}

// rowsByPC is the listing's row of each PC.
func (m *Model) rowsByPC() []int {
	rows := make([]int, 0, len(m.walk.shot.texts))
	for i, l := range m.walk.shot.listing {
		if l.PC >= 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// breakRows are the listing's rows at which a line with a breakpoint begins.
func (m *Model) breakRows() map[int]bool {
	out := map[int]bool{}
	if len(m.walk.breaks) == 0 {
		return out
	}
	last := -1
	for i, l := range m.walk.shot.listing {
		if l.PC < 0 {
			continue
		}
		for _, b := range m.walk.breaks {
			if b.Line > 0 && l.Line == b.Line && l.Line != last && path.Base(l.File) == b.File {
				out[i] = true
			}
		}
		last = l.Line
	}
	return out
}

// showCode shows the source line where the warp stands.
func (m *Model) showCode(follow bool) {
	p := m.walk.shot.pos
	file, line := "", 0
	if p.Source != nil {
		file, line = p.Source.File, p.Source.Line
	} else if file, line = m.pane.code.Pointed(); file == "" {
		file, _ = m.sourcePlace()
	}
	if p.Source == nil {
		line = 0
	}
	text := m.codeOf(file)
	marks := map[int]bool{}
	for _, b := range m.walk.breaks {
		if b.Line > 0 && b.File == path.Base(file) {
			marks[b.Line] = true
		}
	}
	_, was := m.pane.code.Cursor()
	if shown, _ := m.pane.code.Pointed(); !m.follow && shown == file && was > 0 {
		m.pane.code.Point(line)
	} else {
		m.pane.code.Show(file, text, line, "")
		if follow && line > 0 {
			m.pane.code.SetCursor(line)
		}
	}
	m.pane.code.SetMarks(marks)
}

// codeOf is a source file of the run, looked up once.
func (m *Model) codeOf(file string) []string {
	s := &m.walk
	if m.run == nil || file == "" {
		return nil
	}
	if text, ok := s.files[file]; ok && s.filesOf == m.run {
		return text
	}
	if s.filesOf != m.run {
		s.files, s.filesOf = map[string][]string{}, m.run
	}
	s.files[file] = m.run.viewer.Source(file)
	return s.files[file]
}

// showShared shows the array with the cell under the cursor.
func (m *Model) showShared(empty string) {
	s := &m.walk
	row, col := m.cellHere()
	d := shared.Data{View: s.shot.shared, Row: row, Col: col, Changed: s.shot.cells, Watched: map[int]bool{}, At: -1, Empty: empty}
	if len(s.shot.listing) > 0 && d.View.Tile.Data == nil {
		d.Empty = "the kernel keeps nothing in shared memory by a name that its manifest gives"
	}
	for _, b := range s.breaks {
		if b.Array == d.View.Array.Name && b.Array != "" {
			d.Watched[b.Row*d.View.Tile.Cols+b.Col] = true
		}
	}
	if w := s.writes; w.array == d.View.Array.Name && w.row == row && w.col == col {
		d.Writes, d.At = w.list, w.at
	}
	m.pane.shared.SetFormat(m.pane.tile.Settings().Format)
	m.pane.shared.SetData(d)
}

// clickWalk focuses the pane under the mouse and chooses what is drawn there.
func (m *Model) clickWalk(x, y int) tea.Cmd {
	at, r := m.walkAt(x, y)
	if at == partNone {
		return nil
	}
	m.focusOn(at)
	switch at {
	case partCode:
		if m.pane.code.Hit(y - r.y); m.follow {
			m.pane.ptx.Point(m.pane.code.Cursor())
		}
	case partPTX:
		if m.pane.ptx.Hit(y - r.y); m.follow {
			m.followPTX()
		}
	case partRegisters:
		m.pane.regs.Hit(x-r.x, y-r.y)
	case partWarps:
		if was := m.pane.warps.Chosen(); m.pane.warps.Hit(y-r.y) && m.pane.warps.Chosen() == was {
			return m.setWarp(was)
		}
	case partShared:
		if row, col, ok := m.pane.shared.Hit(x-r.x, y-r.y); ok {
			return m.quietly(func() tea.Cmd { return m.goToShared(row, col) })
		}
	}
	return nil
}

// wheelWalk scrolls the pane under the mouse.
func (m *Model) wheelWalk(x, y, rows, cols int) tea.Cmd {
	at, _ := m.walkAt(x, y)
	switch at {
	case partCode:
		m.pane.code.Scroll(rows)
	case partPTX:
		m.pane.ptx.Move(rows)
	case partRegisters:
		m.pane.regs.Move(sign(rows), cols)
	case partWarps:
		m.pane.warps.Move(sign(rows))
	case partShared:
		return m.quietly(func() tea.Cmd { return m.nudgeShared(sign(rows), cols) })
	}
	return nil
}

// walkAt is the pane at a place of the body.
func (m *Model) walkAt(x, y int) (part, rect) {
	for p, r := range walkLayout(m.w, m.frame.body, m.walk.slot, m.sizes) {
		if x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h {
			return p, r
		}
	}
	return partNone, rect{}
}
