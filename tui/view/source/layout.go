package source

import (
	"fmt"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"

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

// extras are how many rows the panes have that are not always there.
type extras struct {
	watches int // 0: there are none
	list    int // of breakpoints or calls; 0: it is closed
}

// Least heights: of what stands above the panes of rows, and of one of those.
const (
	leastUpper = 13 // source and PTX, and below them registers or the shared array
	leastRows  = 3
)

// heights are the watches' and the list's, borders included, in a view of h lines. Both get what their rows
// need, within a part of the view, as far as the other panes keep their least heights; the rest is scrolled.
func (x extras) heights(h int) (watches, list int) {
	if x.watches > 0 {
		watches = 2 + min(x.watches, max(2, h/8))
	}
	if x.list > 0 {
		list = 2 + min(x.list, max(3, h/5))
	}
	for watches+list > h-leastUpper && (watches > leastRows || list > leastRows) {
		if list > leastRows && (list >= watches || watches <= leastRows) {
			list--
		} else {
			watches--
		}
	}
	return watches, list
}

// walkLayout is where the Source view's panes stand. Below 33 lines registers and the shared array take turns
// in one place: whichever had the focus last. On very wide screens source, PTX and shared array stand side by
// side above the registers, which have room for all lanes there. A list and watches stand below everything,
// as wide as the view; all other panes give up some of their lines to them, and none is hidden.
func walkLayout(w, h int, slot view.Part, s sizes, x extras) map[view.Part]rect {
	const strip = 1
	h -= strip
	tall, wide := h >= 32, w >= 176 && h >= 34
	out := map[view.Part]rect{}
	watches, list := x.heights(h)
	if watches > 0 {
		h -= watches
		out[partWatches] = rect{0, strip + h, w, watches}
	}
	if list > 0 {
		h -= list
		out[partList] = rect{0, strip + h, w, list}
	}
	switch {
	case wide:
		a := max(30, min(w*34/100+s.code, w*65/100-30))
		b := w*65/100 - a
		c := w - a - b
		low := max(8, min(h*2/7+s.low, h-18))
		mid := h - low
		below := min(10, mid-8) // the warps
		out[partCode] = rect{0, strip, a, mid}
		out[partPTX] = rect{a, strip, b, mid}
		out[partShared] = rect{a + b, strip, c, mid - below}
		out[partWarps] = rect{a + b, strip + mid - below, c, below}
		out[partRegisters] = rect{0, strip + mid, w, low}
	case tall:
		low := min(7, max(5, h/5))
		mid := max(7, min((h-low)*2/5+s.low, h-low-7))
		top, a, b := h-low-mid, max(30, min(w/2+s.code, w-30)), w*11/20
		out[partCode] = rect{0, strip, a, top}
		out[partPTX] = rect{a, strip, w - a, top}
		out[partRegisters] = rect{0, strip + top, b, mid}
		out[partShared] = rect{b, strip + top, w - b, mid}
		out[partWarps] = rect{0, strip + top + mid, w, low}
	default:
		low := max(6, min(max(9, h*2/5)+s.low, h-6))
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

// layout is where the panes stand now.
func (v *Controller) layout() map[view.Part]rect {
	all := walkLayout(v.w, v.h, v.walk.slot, v.sizes,
		extras{watches: len(v.walk.watches), list: v.listed()})
	if _, ok := all[v.at]; ok && v.zoomed {
		return map[view.Part]rect{v.at: {0, 1, v.w, v.h - 1}}
	}
	return all
}

// Zoom implements view.Zoomer. The line that says where the block is stays.
func (v *Controller) Zoom(on bool) {
	if on != v.zoomed {
		v.zoomed = on
		v.place()
	}
}

// SetSize implements view.View.
func (v *Controller) SetSize(w, h int) {
	v.w, v.h = w, h
	v.place()
}

// place gives the panes their places.
func (v *Controller) place() {
	r := v.layout()
	v.code.SetSize(r[partCode].w, r[partCode].h)
	v.ptx.SetSize(r[partPTX].w, r[partPTX].h)
	v.regs.SetSize(r[partRegisters].w, r[partRegisters].h)
	v.shared.SetSize(r[partShared].w, r[partShared].h)
	v.warps.SetSize(r[partWarps].w, r[partWarps].h)
	v.watches.SetSize(r[partWatches].w, r[partWatches].h)
	v.lists.SetSize(r[partList].w, r[partList].h)
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
	case partWatches:
		if i := v.watches.Current(); i >= 0 {
			return v.printed(v.walk.watches[i].e)
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
	if v.zoomed {
		v.place()
	}
	v.code.SetFocus(at == partCode)
	v.ptx.SetFocus(at == partPTX)
	v.regs.SetFocus(at == partRegisters)
	v.shared.SetFocus(at == partShared)
	v.warps.SetFocus(at == partWarps)
	v.watches.SetFocus(at == partWatches)
	v.lists.SetFocus(at == partList)
}

// Lines joins the panes below the line that says where the block stands.
func (v *Controller) Lines() []string {
	r := v.layout()
	panes := []struct {
		part view.Part
		draw func() []string
	}{
		{partCode, v.code.View}, {partPTX, v.ptx.View}, {partRegisters, v.regs.View},
		{partShared, v.shared.View},
		{partWarps, v.warps.View}, {partList, v.lists.View}, {partWatches, v.watches.View},
	}
	out := append(make([]string, 0, v.h), v.walkStrip())
	for len(out) < v.h { // a line consists of the panes that stand there, from the left
		y, row := len(out), [][]string{}
		x, end := 0, v.h
		for x < v.w {
			found := false
			for _, p := range panes {
				if at, ok := r[p.part]; ok && at.x == x && y >= at.y && y < at.y+at.h {
					row = append(row, p.draw()[y-at.y:])
					x, end, found = x+at.w, min(end, at.y+at.h), true
					break
				}
			}
			if !found {
				return append(out, v.Theme.Blank(v.w, v.h-len(out))...)
			}
		}
		for i := range row {
			row[i] = row[i][:end-y]
		}
		out = append(out, theme.Beside(row...)...)
	}
	return out
}

// walkStrip: block 0,0,0 · kv 0 · warp 0, all 32 lanes · step 3513 · line 493 · stepping by line
func (v *Controller) walkStrip() string {
	s, t := &v.walk, v.Theme
	l := t.Line(v.w)
	if s.walk == nil && s.shot.listing == nil {
		return l.Space(1).Add(t.Dim, t.Fit(v.walkEmpty(), v.w-1)).Done()
	}
	p := &s.shot.pos
	const separator = 3
	add := func(style theme.Style, text string) {
		if l.Left() < 5 {
			return // an ellipsis stands there
		}
		if l.Col() > 0 {
			l.Add(t.Dim, " · ")
		}
		l.Add(style, t.FitWords(text, l.Left()))
	}
	whole := func(style theme.Style, text string) { // half of it would say nothing
		if t.Width(text)+separator > l.Left() {
			text = t.Glyph.Ellipsis
		}
		add(style, text)
	}
	add(t.Text, "block "+p.Block.String())
	if p.KVTile >= 0 {
		add(t.Text, v.Iteration(p.KVTile))
	}
	add(t.Strong, fmt.Sprintf("warp %d", p.Warp))
	if p.PC >= 0 {
		l.Add(t.Dim, ", "+lanesText(p.Mask))
	}
	add(t.Strong, "step "+strconv.FormatUint(p.Step, 10))
	stopped := p.Stop == "breakpoint" && s.shot.stop != ""
	if stopped {
		add(t.Accent, s.shot.stop)
	}
	// narrow screens have the line in the source's title
	if !stopped && p.Source != nil && p.Source.Line > 0 && v.w >= 100 {
		add(t.SourceLine, fmt.Sprintf("line %d", p.Source.Line))
	}
	if chain := v.callChain(min(l.Left()-separator, max(36, v.w-l.Col()-46))); chain != "" {
		add(t.Text, chain)
	}
	unit := "stepping by " + unitNames[v.unit()]
	if t.Width(unit)+separator > l.Left() {
		unit = "by " + unitNames[v.unit()]
	}
	whole(t.Dim, unit)
	if n := len(s.breaks); n > 0 { // all that are listed, and how many of them stop the block
		stops := slices.DeleteFunc(s.enabled(), func(b stop) bool { return v.missing(b) != "" })
		text := theme.Count(n, "breakpoint")
		if len(stops) < n {
			text = fmt.Sprintf("%d of %s", len(stops), text)
		}
		whole(t.Wrong, text)
	}
	switch p.Stop {
	case "end", "start":
		add(t.Accent, p.Stop)
	case "deadlock", "fault":
		add(t.Wrong, t.Glyph.Wrong+" "+p.Stop)
	}
	// a stop of type breakpoint that is none of the list's is the place that a motion ran to
	if p.Note != "" && p.Stop != "breakpoint" && l.Left() > 15 { // the status line has it too
		add(t.Text, v.Worded(p.Note))
	}
	return l.Done()
}

// lanesText is an active mask in words: all 32 lanes, lane 5 alone, 8 lanes (000000ff).
func lanesText(mask uint32) string {
	switch n := bits.OnesCount32(mask); n {
	case 32:
		return "all 32 lanes"
	case 1:
		return fmt.Sprintf("lane %d alone", bits.TrailingZeros32(mask))
	default:
		return fmt.Sprintf("%d lanes (%08x)", n, mask)
	}
}

// callChain is the function that was inlined where the warp stands and the lines that it was called from,
// innermost first: in cl ← 255. It is "" in the kernel's own body. Where room is less, the calls between the
// first and the outermost go first, then all but the first, then the namespaces of the function, then the
// first: an ellipsis stands for calls that are left out. A name is never cut: where even it has no room,
// nothing is written.
func (v *Controller) callChain(room int) string {
	frames, t := v.walk.shot.frames, v.Theme
	if len(frames) < 2 {
		return ""
	}
	var lines []string
	for _, f := range frames[1:] {
		lines = append(lines, " ← "+strconv.Itoa(f.Line))
	}
	whole := plainName(frames[0].Function)
	bare := whole
	if i := strings.IndexAny(bare, "<("); i > 0 {
		bare = bare[:i]
	}
	bare = bare[strings.LastIndexByte(bare, ':')+1:]
	more, first := " ← "+t.Glyph.Ellipsis, lines[0]
	forms := []string{whole + strings.Join(lines, "")}
	if n := len(lines); n > 2 {
		forms = append(forms, whole+first+more+lines[n-1])
	}
	if len(lines) > 1 {
		first += more
	}
	for _, s := range append(forms, whole+first, bare+first, bare+more) {
		if out := "in " + s; t.Width(out) <= room {
			return out
		}
	}
	return ""
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
		Wrote: -1, Empty: empty}
	if w := s.shot.pos.Writer; w != nil && w.PC < len(rows) {
		d.Wrote = rows[w.PC]
	}
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
		PTX: s.shot.ptx, Texts: s.shot.texts, Empty: empty})
	v.showShared(empty)
	v.showLists()
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

// breakRows are the listing's rows at which breakpoints may stop.
func (v *Controller) breakRows() map[int]listing.Mark {
	out := map[int]listing.Mark{}
	if len(v.walk.breaks) == 0 {
		return out
	}
	for i, l := range v.walk.shot.listing {
		for _, b := range v.walk.breaks {
			if l.Begins && b.Line > 0 && l.Line == b.Line && path.Base(l.File) == b.File {
				out[i] = b.mark()
			}
		}
	}
	return out
}

// mark is how a breakpoint is drawn.
func (b stop) mark() listing.Mark {
	switch {
	case b.off:
		return listing.Off
	case b.When.If != nil || b.When.Hits != nil:
		return listing.Conditional
	}
	return listing.Plain
}

// marksOf are the lines of a file with breakpoints.
func (v *Controller) marksOf(file string) map[int]listing.Mark {
	marks := map[int]listing.Mark{}
	for _, b := range v.walk.breaks {
		if b.Line > 0 && b.File == path.Base(file) {
			marks[b.Line] = b.mark()
		}
	}
	return marks
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
	_, was := v.code.Cursor()
	if shown, _ := v.code.Pointed(); !v.Follow && shown == file && was > 0 {
		v.code.Point(line)
	} else {
		v.code.Show(file, text, line, v.BuiltNote())
		if follow && line > 0 {
			v.code.SetCursor(line)
		}
	}
	v.code.SetPatch(v.PatchOf(file))
	v.code.SetMarks(v.marksOf(file))
	v.code.SetWrote(v.wroteIn(file))
}

// wroteIn are the lines of a file to which the instruction belongs that changed the cell which stopped the
// block: its own, and that of the kernel's body where it was inlined.
func (v *Controller) wroteIn(file string) []int {
	s := &v.walk.shot
	w := s.pos.Writer
	if w == nil {
		return nil
	}
	var lines []int
	if rows := v.rowsByPC(); w.PC < len(rows) && s.listing[rows[w.PC]].File == file {
		lines = append(lines, s.listing[rows[w.PC]].Line)
	}
	if at := w.Source; at != nil && at.File == file && !slices.Contains(lines, at.Line) {
		lines = append(lines, at.Line)
	}
	return lines
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
		d.Stands = w.at >= 0 && w.at < len(w.list) && w.list[w.at].Step == s.shot.pos.Step
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
	case partWatches:
		v.watches.Hit(y - r.y)
	case partList:
		v.lists.Hit(y - r.y)
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
	case partWatches:
		v.watches.Move(view.Sign(rows), 0)
	case partList:
		v.lists.Move(view.Sign(rows), 0)
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
	for p, r := range v.layout() {
		if x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h {
			return p, r
		}
	}
	return partNone, rect{}
}
