// Package registers is the pane that shows a warp's registers, a value a lane.
//
// The one idea: a register that holds the same in every lane is one value, so that what differs by
// lane is what is seen.
//
// It must not know runs, walks or keys.
package registers

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern/walk"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// Format is how values are written.
type Format uint8

// The formats, in the order of their key.
const (
	Typed  Format = iota // floats as numbers, the rest in hexadecimal
	Hex                  // all in hexadecimal
	Signed               // integers as signed decimals
	Halves               // 32 bits as a pair of f16
	numFormats
)

var formatNames = [numFormats]string{"by type", "hexadecimal", "signed", "pairs of f16"}

func (f Format) String() string { return formatNames[f] }

// Data is what is shown.
type Data struct {
	Regs    []walk.Register
	Changed map[string]bool // since the stop before
	Warp    int
	Empty   string
}

// Pane draws registers.
type Pane struct {
	theme.Frame[bool]
	data      Data
	format    Format
	plain     bool // without strips
	row, lane int
	top, left int
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false)} }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.scroll()
	}
}

// SetData shows another state; the list starts at its top, with what the instruction names.
func (p *Pane) SetData(d Data) {
	p.data, p.Changed = d, true
	p.row, p.top = 0, 0
	p.scroll()
}

// SetLane moves the cursor to a lane.
func (p *Pane) SetLane(lane int) {
	p.lane, p.Changed = lane, true
	p.scroll()
}

// Select moves the cursor to a register, where it is listed.
func (p *Pane) Select(name string) {
	for i, r := range p.data.Regs {
		if r.Name == name {
			p.row, p.Changed = i, true
			p.scroll()
		}
	}
}

// NextFormat changes how values are written.
func (p *Pane) NextFormat() Format {
	p.format, p.Changed = (p.format+1)%numFormats, true
	p.scroll()
	return p.format
}

// ToggleStrip shows the values of all lanes as strips, or no longer, and reports which.
func (p *Pane) ToggleStrip() bool {
	p.plain, p.Changed = !p.plain, true
	p.scroll()
	return !p.plain
}

// Lane is the lane under the cursor.
func (p *Pane) Lane() int { return p.lane }

// Current is the register and lane under the cursor.
func (p *Pane) Current() (r walk.Register, lane int, ok bool) {
	if p.row >= len(p.data.Regs) {
		return r, 0, false
	}
	return p.data.Regs[p.row], p.lane, true
}

// Move moves the cursor by registers and lanes and reports whether it moved.
func (p *Pane) Move(rows, lanes int) bool {
	row, lane := p.row, p.lane
	p.row = max(0, min(p.row+rows, len(p.data.Regs)-1))
	p.lane = max(0, min(p.lane+lanes, 31))
	p.scroll()
	p.Changed = true
	return row != p.row || lane != p.lane
}

// Hit puts the cursor on what is drawn at x, y.
func (p *Pane) Hit(x, y int) {
	row := p.top + y - 2
	if y < 2 || y >= p.H-1-p.below() || row >= len(p.data.Regs) {
		return
	}
	p.row, p.Changed = row, true
	at := 1 + p.values()
	if i := (x - at) / p.cell(); x >= at && i < p.lanes() {
		p.lane = p.left + i
	} else if x -= 1 + nameWidth; p.strip() && x >= 0 && x < 32 {
		p.lane = x
	}
}

// Widths: ▸Δ%rd513 b32 , then a strip or what all values of a row have in common, and a value a lane.
const (
	nameWidth  = 14
	stripWidth = 33
	cellWidth  = 10
	// where all lanes are shown
	baseWidth  = 20
	smallWidth = 5
)

// all reports whether there is room for every lane, in short form.
func (p *Pane) all() bool {
	return p.W-2 >= nameWidth+baseWidth+32*smallWidth && p.format != Halves
}

// strip reports whether rows begin with a strip.
func (p *Pane) strip() bool {
	return !p.plain && !p.all() && p.W-2 >= nameWidth+stripWidth+2*cellWidth
}

// values is the column where values begin, cell the columns of one.
func (p *Pane) values() int {
	switch {
	case p.all():
		return nameWidth + baseWidth
	case p.strip():
		return nameWidth + stripWidth
	}
	return nameWidth
}

func (p *Pane) cell() int {
	if p.all() {
		return smallWidth
	}
	return cellWidth
}

// lanes is how many lanes stand side by side.
func (p *Pane) lanes() int { return max(1, min(32, (p.W-2-p.values())/p.cell())) }

// below is the lines under the registers: the value under the cursor, and where there is room its strip.
func (p *Pane) below() int {
	if p.H >= 9 && !p.plain {
		return 2
	}
	return 1
}

func (p *Pane) body() int { return max(1, p.H-3-p.below()) }

func (p *Pane) scroll() {
	p.top = theme.Into(p.top, p.row, p.body(), len(p.data.Regs))
	p.left = theme.Into(p.left, p.lane, p.lanes(), 32)
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	w, t := max(p.W-2, 0), p.Theme
	title := "REGISTERS"
	if len(p.data.Regs) == 0 {
		return t.Box(title, "", []string{t.Line(w).Space(1).Add(t.Dim, t.Fit(p.data.Empty, w-1)).Done()}, p.W,
			p.H, p.Focus)
	}
	title = fmt.Sprintf("%s warp %d", title, p.data.Warp)
	head := t.Line(w)
	if p.strip() {
		head.Pad(nameWidth).Add(t.Dim, "lanes 0 to 31")
	}
	for i := range p.lanes() {
		style, name := t.Dim, "lane "+strconv.Itoa(p.left+i)
		if p.left+i == p.lane {
			style = t.Strong
		}
		if p.all() {
			name = strconv.Itoa(i)
		}
		head.Right(style, name, p.values()+(i+1)*p.cell()-1)
	}
	out := []string{head.Done()}
	for i := p.top; i < min(p.top+p.body(), len(p.data.Regs)); i++ {
		out = append(out, p.register(i, w))
	}
	for len(out) < p.body()+1 {
		out = append(out, t.Line(w).Done())
	}
	if p.below() > 1 {
		out = append(out, p.spread(w))
	}
	out = append(out, p.detail(w))
	note := fmt.Sprintf("%d live · %s", len(p.data.Regs), p.format)
	if p.W >= 80 {
		note = fmt.Sprintf("%d of the line, %s", ofLine(p.data.Regs), note)
	}
	if n := p.lanes(); n < 32 {
		note = fmt.Sprintf("lanes %d to %d of 32 · %s", p.left, p.left+n-1, note)
	}
	return t.Box(title, note, out, p.W, p.H, p.Focus)
}

// ofLine counts the registers of the source line, which come first.
func ofLine(regs []walk.Register) (n int) {
	for n < len(regs) && (regs[n].Named || regs[n].OfLine) {
		n++
	}
	return n
}

func (p *Pane) register(i, w int) string {
	r, t := &p.data.Regs[i], p.Theme
	l := t.Line(w)
	name, plain := t.Dim, t.Dim
	switch {
	case r.Named:
		name, plain = t.Strong, t.Text
		l.Pointer(true)
	case r.OfLine:
		name, plain = t.Text, t.Text
		l.Glyph(t.Accent, t.Glyph.V)
	default:
		l.Space(1)
	}
	if p.data.Changed[r.Name] {
		l.Add(t.Taint, "Δ")
	} else {
		l.Space(1)
	}
	l.Add(name, t.Fit(r.Name, 7)).Pad(10).Add(t.Dim, strings.TrimSuffix(r.Type, "red")).Pad(nameWidth)
	one, heat := uniform(r), levels(r)
	if p.strip() {
		p.drawStrip(l, heat)
	}
	var small short
	if p.all() {
		small = p.short(r)
		l.Add(t.Dim, t.Fit(small.base, baseWidth-1)).Pad(p.values())
	}
	for j := range p.lanes() {
		lane := p.left + j
		style := plain
		if p.data.Changed[r.Name] {
			style = t.Taint
		}
		text := ""
		if p.all() {
			text = small.text[lane]
			if !p.plain && heat[lane].level >= 0 && !one {
				style = t.Value[heat[lane].level*(len(t.Value)-1)/(steps-1)]
			}
		} else {
			text = p.Text(r, lane, cellWidth-1)
		}
		if r.Active>>lane&1 == 0 {
			style = t.Off
		}
		if one && j > 0 {
			style, text = t.Dim, t.Glyph.Equal
		}
		if i == p.row && lane == p.lane {
			style = t.Here
			if !p.Focus {
				style = t.Strong
			}
		}
		l.Right(style, text, p.values()+(j+1)*p.cell()-1)
	}
	return l.Done()
}

// uniform reports whether every active lane holds the same.
func uniform(r *walk.Register) bool {
	first, seen := uint64(0), false
	for lane, v := range r.Bits {
		if r.Active>>lane&1 == 0 {
			continue
		}
		if seen && v != first {
			return false
		}
		first, seen = v, true
	}
	return true
}

// size is a register's bytes, 0 for a predicate.
func size(r *walk.Register) int {
	bits, err := strconv.Atoi(strings.TrimLeft(r.Type, "bsuf"))
	if err != nil {
		return 0
	}
	return bits / 8
}

// Text is a lane's value in w columns.
func (p *Pane) Text(r *walk.Register, lane, w int) string {
	v, n := r.Bits[lane], size(r)
	switch {
	case n == 0:
		return strconv.FormatUint(v, 10)
	case p.format == Halves && n == 4:
		return p.Theme.Fit(half(v)+" "+half(v>>16), w)
	case p.format == Signed && !strings.HasPrefix(r.Type, "f"):
		return p.Theme.Fit(strconv.FormatInt(signed(v, n), 10), w)
	case p.format == Typed && r.Type == "f32":
		return p.number(float64(math.Float32frombits(uint32(v))), w)
	case p.format == Typed && r.Type == "f64":
		return p.number(math.Float64frombits(v), w)
	case p.format == Typed && r.Type == "f16":
		return p.number(probes.F16.Value(v), w)
	}
	text := strconv.FormatUint(v, 16)
	if n < 8 {
		text = fmt.Sprintf("%0*x", 2*n, v)
	}
	if len(text) > w { // the high end of an address says which memory, the low end where
		text = p.Theme.Glyph.Ellipsis + text[len(text)-w+1:]
	}
	return text
}

func signed(v uint64, n int) int64 { return int64(v<<(64-8*n)) >> (64 - 8*n) }

func half(v uint64) string { return strconv.FormatFloat(probes.F16.Value(v&0xffff), 'g', 3, 64) }

// number writes v with as many digits as fit.
func (p *Pane) number(v float64, w int) string {
	for digits := 6; digits > 1; digits-- {
		if s := strconv.FormatFloat(v, 'g', digits, 64); len(s) <= w {
			return s
		}
	}
	return p.Theme.Fit(strconv.FormatFloat(v, 'g', 1, 64), w)
}

// detail is the value under the cursor in full: lane 14 %r513 0x3c003c00 = 1006648320 · 1 1
func (p *Pane) detail(w int) string {
	t := p.Theme
	l := t.Line(w).Space(1)
	r, lane, ok := p.Current()
	if !ok {
		return l.Done()
	}
	v, n := r.Bits[lane], size(&r)
	text := fmt.Sprintf("%s lane %d ", r.Name, lane)
	switch {
	case n == 0:
		text += map[bool]string{true: "true", false: "false"}[v != 0]
	default:
		text += fmt.Sprintf("0x%0*x", 2*n, v)
		if !strings.HasPrefix(r.Type, "f") {
			text += " = " + strconv.FormatInt(signed(v, n), 10)
		}
	}
	switch n {
	case 2:
		text += " · f16 " + half(v)
	case 4:
		text += fmt.Sprintf(" · f32 %.7g · f16 %s, %s", math.Float32frombits(uint32(v)), half(v), half(v>>16))
	}
	if r.Active>>lane&1 == 0 {
		text += " · lane not active"
	}
	return l.Add(t.Text, t.Fit(text, w-1)).Done()
}
