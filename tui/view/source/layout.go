package source

import (
	"fmt"
	"path"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/cell"
	listing "tilescope/tui/pane/source"
	"tilescope/tui/theme"
	"tilescope/tui/view"
	"tilescope/tui/view/source/ptx"
	"tilescope/tui/view/source/registers"
	"tilescope/tui/view/source/shared"
	"tilescope/tui/view/source/warps"
)

// rect is a place in the body.
type rect struct{ x, y, w, h int }

// walkLayout is where the Source view's panes stand. Below 33 lines registers and the shared array take turns
// in one place: whichever had the focus last. On very wide screens everything stands side by side.
func walkLayout(w, h int, slot view.Part, s sizes) map[view.Part]rect {
	const strip = 1
	h -= strip
	out := map[view.Part]rect{}
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

// SetSize implements view.View.
func (v *Controller) SetSize(w, h int) {
	v.w, v.h = w, h
	v.place()
}

// place gives the panes their places.
func (v *Controller) place() {
	r := walkLayout(v.w, v.h, v.walk.slot, v.sizes)
	v.code.SetSize(r[partCode].w, r[partCode].h)
	v.ptx.SetSize(r[partPTX].w, r[partPTX].h)
	v.regs.SetSize(r[partRegisters].w, r[partRegisters].h)
	v.shared.SetSize(r[partShared].w, r[partShared].h)
	v.warps.SetSize(r[partWarps].w, r[partWarps].h)
}

// Grow moves the borders between the panes.
func (v *Controller) Grow(n int) (tea.Cmd, bool) {
	switch v.at {
	case partCode:
		v.sizes.code = min(v.sizes.code+2*n, 40)
	case partPTX:
		v.sizes.code = max(v.sizes.code-2*n, -40)
	default:
		v.sizes.low = max(-12, min(v.sizes.low+n, 12))
	}
	return nil, true
}

// walkText is what is under the cursor of the Source view, to copy.
func (v *Controller) walkText() string {
	switch v.at {
	case partRegisters:
		if r, lane, ok := v.regs.Current(); ok {
			return fmt.Sprintf("%s lane %d = 0x%x", r.Name, lane, r.Bits[lane])
		}
	case partShared:
		if array, row, col, ok := v.shared.Current(); ok {
			t := v.walk.shot.shared.Tile
			return fmt.Sprintf("%s[%d][%d] = %s", array, row, col, cell.HexText(t.DType, t.Bits(row, col)))
		}
	case partPTX:
		if r, ok := v.ptx.Current(); ok {
			return r.Text
		}
	}
	file, line := v.code.Cursor()
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// SetFocus sets which pane has the focus; on small screens the one of two that has it is the one that
// is seen.
func (v *Controller) SetFocus(at view.Part) {
	v.at = at
	if (at == partRegisters || at == partShared) && at != v.walk.slot {
		v.walk.slot = at
		v.place()
	}
	v.code.SetFocus(at == partCode)
	v.ptx.SetFocus(at == partPTX)
	v.regs.SetFocus(at == partRegisters)
	v.shared.SetFocus(at == partShared)
	v.warps.SetFocus(at == partWarps)
}

// Lines joins the panes below the line that says where the block stands.
func (v *Controller) Lines() []string {
	r := walkLayout(v.w, v.h, v.walk.slot, v.sizes)
	out := append(make([]string, 0, v.h), v.walkStrip())
	code, list, regs, sh, wa := v.code.View(), v.ptx.View(), v.regs.View(), v.shared.View(), v.warps.View()
	_, hasRegs := r[partRegisters]
	_, hasShared := r[partShared]
	switch {
	case !hasRegs:
		return append(append(out, theme.Beside(code, list)...), theme.Beside(sh, wa)...)
	case !hasShared:
		return append(append(out, theme.Beside(code, list)...), theme.Beside(regs, wa)...)
	case r[partCode].h == v.h-1:
		right := append(append(append(make([]string, 0, v.h), regs...), sh...), wa...)
		return append(out, theme.Beside(code, list, right)...)
	}
	out = append(append(out, theme.Beside(code, list)...), theme.Beside(regs, sh)...)
	return append(out, wa...)
}

// walkStrip: block 0,0,0 · step 3513 · warp 0 ffffffff · kv 0 · kernel.cu:493 · by line · S captured
func (v *Controller) walkStrip() string {
	s, t := &v.walk, v.Theme
	l := t.Line(v.w)
	if s.walk == nil && s.shot.listing == nil {
		return l.Space(1).Add(t.Dim, t.Fit(v.walkEmpty(), v.w-1)).Done()
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
	if p.Source != nil && p.Source.Line > 0 && v.w >= 100 { // narrow screens have it in the source's title
		add(t.SourceLine, fmt.Sprintf("line %d", p.Source.Line))
	}
	add(t.Dim, "by "+unitNames[v.unit()])
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
func (v *Controller) walkEmpty() string {
	switch s := &v.walk; {
	case s.busy:
		return s.what
	case s.said != "":
		return s.said
	}
	return v.Idle()
}

// showWalk gives the panes the moment on screen. follow has source and PTX go where the warp stands.
func (v *Controller) showWalk(follow bool) {
	s := &v.walk
	v.showCode(follow)
	empty := v.walkEmpty()
	others := map[int]int{}
	rows := v.rowsByPC()
	for _, w := range s.shot.warps {
		for _, g := range w.Groups {
			if w.Index != s.shot.pos.Warp && g.PC < len(rows) {
				others[rows[g.PC]]++
			}
		}
	}
	d := ptx.Data{Rows: s.shot.listing, At: s.shot.pos.Listing, Others: others, Breaks: v.breakRows(),
		Empty: empty}
	if len(s.shot.listing) == 0 {
		d.At = -1
	}
	if p := s.shot.pos.Source; p != nil {
		d.File, d.Line = p.File, p.Line
	}
	v.ptx.SetData(d, follow && v.Follow)
	regs := registers.Data{Regs: s.shot.regs, Changed: s.shot.changed, Warp: s.shot.pos.Warp, Empty: empty}
	if len(s.shot.listing) > 0 {
		regs.Empty = fmt.Sprintf("warp %d has ended", s.shot.pos.Warp)
	}
	if follow {
		v.regs.SetData(regs)
	}
	v.warps.SetData(warps.Data{Warps: s.shot.warps, Current: s.shot.pos.Warp, Next: -1, Lines: s.shot.lines,
		Texts: s.shot.texts, Empty: empty})
	v.showShared(empty)
}

// rowsByPC is the listing's row of each PC.
func (v *Controller) rowsByPC() []int {
	rows := make([]int, 0, len(v.walk.shot.texts))
	for i, l := range v.walk.shot.listing {
		if l.PC >= 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// breakRows are the listing's rows at which a line with a breakpoint begins.
func (v *Controller) breakRows() map[int]listing.Mark {
	out := map[int]listing.Mark{}
	if len(v.walk.breaks) == 0 {
		return out
	}
	last := -1
	for i, l := range v.walk.shot.listing {
		if l.PC < 0 {
			continue
		}
		for _, b := range v.walk.breaks {
			if b.Line > 0 && l.Line == b.Line && l.Line != last && path.Base(l.File) == b.File {
				out[i] = listing.Plain
			}
		}
		last = l.Line
	}
	return out
}

// showCode shows the source line where the warp stands.
func (v *Controller) showCode(follow bool) {
	p := v.walk.shot.pos
	file, line := "", 0
	if p.Source != nil {
		file, line = p.Source.File, p.Source.Line
	} else if file, line = v.code.Pointed(); file == "" {
		file, _ = v.Root.SourcePlace()
	}
	if p.Source == nil {
		line = 0
	}
	text := v.codeOf(file)
	marks := map[int]listing.Mark{}
	for _, b := range v.walk.breaks {
		if b.Line > 0 && b.File == path.Base(file) {
			marks[b.Line] = listing.Plain
		}
	}
	_, was := v.code.Cursor()
	if shown, _ := v.code.Pointed(); !v.Follow && shown == file && was > 0 {
		v.code.Point(line)
	} else {
		v.code.Show(file, text, line, "")
		if follow && line > 0 {
			v.code.SetCursor(line)
		}
	}
	v.code.SetMarks(marks)
}

// codeOf is a source file of the run, looked up once.
func (v *Controller) codeOf(file string) []string {
	s := &v.walk
	if v.Run == nil || file == "" {
		return nil
	}
	if text, ok := s.files[file]; ok && s.filesOf == v.Run {
		return text
	}
	if s.filesOf != v.Run {
		s.files, s.filesOf = map[string][]string{}, v.Run
	}
	s.files[file] = v.Run.Viewer.Source(file)
	return s.files[file]
}

// showShared shows the array with the cell under the cursor.
func (v *Controller) showShared(empty string) {
	s := &v.walk
	row, col := v.cellHere()
	d := shared.Data{View: s.shot.shared, Row: row, Col: col, Changed: s.shot.cells, Watched: map[int]bool{},
		At: -1, Empty: empty}
	if len(s.shot.listing) > 0 && d.View.Tile.Data == nil {
		d.Empty = "the kernel keeps nothing in shared memory by a name that its manifest gives"
		if v.Stageless() {
			d.Empty = "the kernel has no shared array of a fixed size"
		}
	}
	for _, b := range s.breaks {
		if b.Array == d.View.Array.Name && b.Array != "" {
			d.Watched[b.Row*d.View.Tile.Cols+b.Col] = true
		}
	}
	if w := s.writes; w.array == d.View.Array.Name && w.row == row && w.col == col {
		d.Writes, d.At = w.list, w.at
	}
	v.shared.SetFormat(v.Numbers.Format)
	v.shared.SetData(d)
}

// Click focuses the pane under the mouse and chooses what is drawn there.
func (v *Controller) Click(x, y int) tea.Cmd {
	at, r := v.walkAt(x, y)
	if at == partNone {
		return nil
	}
	v.Root.Focus(at)
	switch at {
	case partCode:
		if v.code.Hit(y - r.y); v.Follow {
			v.ptx.Point(v.code.Cursor())
		}
	case partPTX:
		if v.ptx.Hit(y - r.y); v.Follow {
			v.followPTX()
		}
	case partRegisters:
		v.regs.Hit(x-r.x, y-r.y)
	case partWarps:
		if was := v.warps.Chosen(); v.warps.Hit(y-r.y) && v.warps.Chosen() == was {
			return v.setWarp(was)
		}
	case partShared:
		if row, col, ok := v.shared.Hit(x-r.x, y-r.y); ok {
			return v.Quietly(func() tea.Cmd { return v.goToShared(row, col) })
		}
	}
	return nil
}

// Wheel scrolls the pane under the mouse.
func (v *Controller) Wheel(x, y, rows, cols int) tea.Cmd {
	at, _ := v.walkAt(x, y)
	switch at {
	case partCode:
		v.code.Scroll(rows)
	case partPTX:
		v.ptx.Move(rows)
	case partRegisters:
		v.regs.Move(view.Sign(rows), cols)
	case partWarps:
		v.warps.Move(view.Sign(rows))
	case partShared:
		return v.Quietly(func() tea.Cmd { return v.nudgeShared(view.Sign(rows), cols) })
	}
	return nil
}

// walkAt is the pane at a place of the body.
func (v *Controller) walkAt(x, y int) (view.Part, rect) {
	for p, r := range walkLayout(v.w, v.h, v.walk.slot, v.sizes) {
		if x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h {
			return p, r
		}
	}
	return partNone, rect{}
}
