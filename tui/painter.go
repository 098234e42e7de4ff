package tui

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/join"
	"tilescope/debugkern/text"
	"tilescope/tui/theme"
)

// painter brings a terminal up to date with as few bytes as it can, in place of the library's renderer. That
// one rewrites a line from its first to its last changed cell, and the linked cursor changes three places of
// a line, the width of the screen apart: 1,800 bytes a move at 200×60, where the cells themselves are 150.
//
// The one idea: every line that it is given is made of SGR sequences and characters of one column, so a cell
// is a character and an index into the styles seen so far, and a frame is the cells that differ.
type painter struct {
	screen bool // Look.Screen

	out io.Writer

	mu         sync.Mutex
	next       frame // to be drawn at the next tick
	dirty      bool
	active     bool
	last       modes    // what was sent to the terminal besides cells
	lines      []string // on the terminal
	cells      [][]glyph
	styles     map[string]uint16
	sgr        []string
	renditions []theme.Rendition
	unseen     []bool  // a blank in this style looks like any other
	row        []glyph // scratch
	pen        uint16
	x, y       int // of the terminal's cursor; x -1 where it is not known
	buf        []byte

	wake chan struct{} // holds one: there is something to draw
	stop chan struct{}
	task *join.Task[struct{}]
}

// glyph is one cell on the terminal.
type glyph struct {
	r     rune
	style uint16
}

// frame is one screen.
type frame struct {
	lines []string
	w     int
	modes
}

// modes are a frame's terminal settings.
type modes struct {
	title   string
	mouse   bool
	cursorX int // where the text cursor stands, -1 hides it
	cursorY int
}

const frameTime = time.Second / 60

// newPainter returns a painter that draws nothing until start.
func newPainter(out io.Writer) *painter {
	return &painter{
		out: out, wake: make(chan struct{}, 1), styles: map[string]uint16{"": 0}, sgr: []string{"\x1b[0m"},
		renditions: []theme.Rendition{theme.ReadRendition("\x1b[0m")},
		unseen:     []bool{true},
	}
}

// start takes the alternate screen and draws frames as they come. failed is given what
// drawing them panics with.
func (p *painter) start(failed func(*join.Panic)) {
	p.mu.Lock()
	p.enter()
	p.mu.Unlock()
	p.stop = make(chan struct{})
	p.task = join.Run(func() {
		if bug := join.Catch(p.draw); bug != nil {
			failed(bug)
		}
	})
}

// draw draws frames until stop: one as soon as it is there, those that follow at most once a frameTime.
func (p *painter) draw() {
	for {
		select {
		case <-p.stop:
			return
		case <-p.wake:
			p.flush()
		}
		select {
		case <-p.stop:
			return
		case <-time.After(frameTime):
		}
	}
}

// due wakes what draws.
func (p *painter) due() {
	select {
	case p.wake <- struct{}{}:
	default: // it is awake, and has not taken the frame yet
	}
}

// close draws nothing more and gives the screen back.
func (p *painter) close() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	p.task.Wait()
	p.leave()
}

// enter and leave take and give back the screen; an editor runs in between.
func (p *painter) enter() {
	p.active = true
	p.last = modes{cursorX: -1}
	p.lines, p.cells, p.pen, p.x = nil, nil, 0, -1
	p.write(ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste +
		"\x1b[m" + ansi.EraseEntireScreen)
	p.dirty = len(p.next.lines) > 0
}

func (p *painter) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter()
	p.due()
}

func (p *painter) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.active {
		return
	}
	p.active = false
	out := "\x1b[m"
	if p.last.mouse {
		out += mouseOff
	}
	p.write(out + ansi.ResetModeBracketedPaste + ansi.SetModeTextCursorEnable +
		ansi.ResetModeAltScreenSaveCursor)
}

const (
	mouseOn  = ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	mouseOff = ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr
)

// query writes a question to the terminal, and reports whether it did: an editor may have the screen.
func (p *painter) query(s string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active {
		p.write(s)
	}
	return p.active
}

// write ignores errors: a terminal that is gone ends the program through its input.
func (p *painter) write(s string) { _, _ = io.WriteString(p.out, s) }

// show takes a frame to be drawn. The first is drawn at once.
func (p *painter) show(f frame) {
	p.mu.Lock()
	first := p.active && p.lines == nil
	p.next, p.dirty = f, true
	p.mu.Unlock()
	if first {
		p.flush()
	}
	p.due()
}

// flush draws what has changed, in one write.
func (p *painter) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dirty || !p.active || len(p.next.lines) == 0 {
		return
	}
	p.dirty = false
	if b := p.diff(p.next); len(b) > 0 {
		_, _ = p.out.Write(b)
	}
}

// diff returns the bytes that turn what is on the terminal into f.
func (p *painter) diff(f frame) []byte {
	p.buf = p.buf[:0]
	if len(p.cells) != len(f.lines) || len(p.cells) > 0 && len(p.cells[0]) != f.w {
		p.clear(f.w, len(f.lines))
	}
	for y, line := range f.lines {
		if p.lines[y] != line {
			p.line(y, line)
			p.lines[y] = line
		}
	}
	p.settings(f.modes)
	if len(p.buf) > 1000 { // a large change is shown whole: terminals that do not know the mode ignore it
		return append(append([]byte(ansi.SetModeSynchronizedOutput), p.buf...),
			ansi.ResetModeSynchronizedOutput...)
	}
	return p.buf
}

// clear starts over on an empty screen.
func (p *painter) clear(w, h int) {
	p.buf = append(p.buf, "\x1b[m"+ansi.EraseEntireScreen...)
	p.pen, p.x = 0, -1
	p.lines = make([]string, h)
	p.cells = make([][]glyph, h)
	for i := range p.cells {
		p.cells[i] = make([]glyph, w)
		for x := range p.cells[i] {
			p.cells[i][x].r = ' '
		}
	}
}

// line draws the cells of a line that differ, from left to right or style by style, whichever is shorter: a
// row of a heat map has many cells of few styles.
func (p *painter) line(y int, text string) {
	row, want := p.cells[y], p.parse(text, len(p.cells[y]))
	pen, px, py, first := p.pen, p.x, p.y, len(p.buf)
	if p.leftToRight(y, row, want) > manyStyles {
		pen2, px2, py2, other := p.pen, p.x, p.y, slices.Clone(p.buf[first:])
		p.pen, p.x, p.y, p.buf = pen, px, py, p.buf[:first]
		if p.byStyle(y, row, want); len(p.buf)-first >= len(other) {
			p.pen, p.x, p.y, p.buf = pen2, px2, py2, append(p.buf[:first], other...)
		}
	}
	copy(row, want)
}

// manyStyles is how often the style has to change within a line for another order to be tried.
const manyStyles = 16

// leftToRight draws a line's cells in their order, and returns how often that changed the style.
func (p *painter) leftToRight(y int, row, want []glyph) (changes int) {
	for x := 0; x < len(row); x++ {
		if row[x] == want[x] {
			continue
		}
		if n := blanks(want[x:]); n > 8 && row[x] != want[x] {
			p.erase(x, y, n)
			x += n - 1
			continue
		}
		pen := p.pen
		p.put(x, y, want[x])
		if p.pen != pen {
			changes++
		}
	}
	return changes
}

// byStyle draws a line's cells one style after the other, the one with the most cells first. A short way to
// the next cell is written over where its cells are still to be drawn.
func (p *painter) byStyle(y int, row, want []glyph) {
	count := map[uint16]int{}
	for x, g := range want {
		if row[x] != g {
			count[g.style]++
		}
	}
	order := slices.Collect(maps.Keys(count))
	slices.SortFunc(order, func(a, b uint16) int {
		return cmp.Or(count[b]-count[a], int(a)-int(b))
	})
	todo := make([]bool, len(row))
	for x, g := range want {
		todo[x] = row[x] != g
	}
	for _, style := range order {
		for x, g := range want {
			if g.style != style || !todo[x] {
				continue
			}
			p.use(style)
			gap := x - p.x
			if p.y == y && p.x >= 0 && gap > 0 && gap <= 3 && !slices.Contains(todo[p.x:x], false) {
				p.buf = append(p.buf, "   "[:gap]...)
				p.x = x
			}
			if p.x != x || p.y != y {
				p.jump(x, y)
			}
			p.put(x, y, g)
			todo[x] = false
		}
	}
}

// parse makes cells of a line; the result is valid until the next call.
func (p *painter) parse(text string, w int) []glyph {
	out := p.row[:0]
	var style uint16
	for i := 0; i < len(text) && len(out) < w; {
		if n := theme.StyleLen(text[i:]); n > 0 {
			style = p.style(text[i : i+n])
			i += n
			continue
		}
		r, n := rune(text[i]), 1
		if r < 0x20 || r >= 0x7f {
			r, n = utf8.DecodeRuneInString(text[i:])
			// nothing but a character of one column comes to the terminal, whoever drew the line
			c, ok := theme.Cell(r)
			if !ok {
				i += n
				continue
			}
			r = c
		}
		i += n
		g := glyph{r, style}
		if r == ' ' && p.unseen[style] {
			g.style = 0 // a blank looks the same in every style without a ground
		}
		out = append(out, g)
	}
	for len(out) < w {
		out = append(out, glyph{' ', 0})
	}
	p.row = out
	return out
}

// blanks counts the plain blanks that cells begin with.
func blanks(cells []glyph) int {
	for i, g := range cells {
		if g != (glyph{' ', 0}) {
			return i
		}
	}
	return len(cells)
}

// erase blanks n cells.
func (p *painter) erase(x, y, n int) {
	if p.x != x || p.y != y {
		p.move(x, y)
	}
	if !p.unseen[p.pen] {
		p.use(0)
	}
	p.buf = append(strconv.AppendInt(append(p.buf, "\x1b["...), int64(n), 10), 'X')
}

// style numbers a sequence. The resets are one style.
func (p *painter) style(seq string) uint16 {
	if seq == "\x1b[0m" || seq == "\x1b[m" {
		return 0
	}
	if i, ok := p.styles[seq]; ok {
		return i
	}
	i := uint16(len(p.sgr))
	p.styles[seq] = i
	now := theme.ReadRendition(seq)
	p.renditions = append(p.renditions, now)
	p.unseen = append(p.unseen, !now.Grounded())
	p.sgr = append(p.sgr, seq)
	return i
}

// put writes one cell. A short way to it on its line is written over rather than jumped.
func (p *painter) put(x, y int, g glyph) {
	if p.x != x || p.y != y {
		p.move(x, y)
	}
	if !p.fits(g) {
		p.use(g.style)
	}
	p.buf = utf8.AppendRune(p.buf, g.r)
	p.x++
	if p.x >= len(p.cells[y]) {
		p.x = -1 // where the cursor goes after the last column is the terminal's secret
	}
}

// use changes the pen, by what differs between the two styles or by the new style's whole sequence, whichever
// is shorter.
func (p *painter) use(style uint16) {
	if style == p.pen {
		return
	}
	from, to := p.renditions[p.pen], p.renditions[style]
	want := p.sgr[style]
	if style == 0 {
		want = "\x1b[m"
	} else if more, ok := to.After(from); ok && len(more) < len(want) {
		want = more
	}
	p.buf = append(p.buf, want...)
	p.pen = style
}

// move brings the cursor to a cell by the shortest way.
func (p *painter) move(x, y int) {
	if gap := x - p.x; p.y == y && p.x >= 0 && gap > 0 && gap <= 3 && p.same(p.x, x, y) {
		for ; p.x < x; p.x++ {
			p.buf = utf8.AppendRune(p.buf, p.cells[y][p.x].r)
		}
		return
	}
	p.jump(x, y)
}

// jump brings the cursor to a cell without writing.
func (p *painter) jump(x, y int) {
	gap := x - p.x
	switch {
	case p.y == y && p.x >= 0 && gap == 1:
		p.buf = append(p.buf, "\x1b[C"...)
	case p.y == y && p.x >= 0 && gap > 0:
		p.buf = append(strconv.AppendInt(append(p.buf, "\x1b["...), int64(gap), 10), 'C')
	case p.y == y && p.x > 0: // to the left, where the line is known
		p.buf = append(strconv.AppendInt(append(p.buf, "\x1b["...), int64(x+1), 10), 'G')
	case x == 0 && p.y == y-1 && p.x > 0:
		p.buf = append(p.buf, "\x1b[E"...)
	case x == 0:
		p.buf = append(strconv.AppendInt(append(p.buf, "\x1b["...), int64(y+1), 10), 'H')
	default:
		p.buf = append(p.buf, "\x1b["...)
		p.buf = strconv.AppendInt(p.buf, int64(y+1), 10)
		p.buf = append(p.buf, ';')
		p.buf = strconv.AppendInt(p.buf, int64(x+1), 10)
		p.buf = append(p.buf, 'H')
	}
	p.x, p.y = x, y
}

// same reports whether the cells of a line from x0 up to x1 look the same when written with the pen.
func (p *painter) same(x0, x1, y int) bool {
	for _, g := range p.cells[y][x0:x1] {
		if !p.fits(g) {
			return false
		}
	}
	return true
}

// fits reports whether a cell needs no other style than the pen's.
func (p *painter) fits(g glyph) bool {
	return g.style == p.pen || g == glyph{' ', 0} && p.unseen[p.pen]
}

// settings sends the terminal what changed besides cells.
func (p *painter) settings(m modes) {
	if m.title != p.last.title {
		p.buf = append(p.buf, ansi.SetWindowTitle(text.Line(m.title))...)
	}
	if m.mouse != p.last.mouse {
		seq := mouseOff
		if m.mouse {
			seq = mouseOn
		}
		p.buf = append(p.buf, seq...)
	}
	switch {
	case m.cursorX >= 0:
		if p.x != m.cursorX || p.y != m.cursorY {
			p.move(m.cursorX, m.cursorY)
		}
		if p.last.cursorX < 0 {
			p.buf = append(p.buf, ansi.SetModeTextCursorEnable...)
		}
	case p.last.cursorX >= 0:
		p.buf = append(p.buf, ansi.ResetModeTextCursorEnable...)
	}
	p.last = m
}
