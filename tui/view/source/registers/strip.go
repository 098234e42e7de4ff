package registers

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern/walk"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// steps is how many heights a strip has.
const steps = 8

// lane is where a lane's value lies among those of the register's active lanes.
type lane struct {
	level int // 0 to steps-1; -1: the lane is not active, or its value is no number
	nan   bool
	off   bool
}

// value is a register's value in a lane as a number.
func value(r *walk.Register, lane int) float64 {
	v, n := r.Bits[lane], size(r)
	switch {
	case n == 0:
		return float64(v)
	case r.Type == "f32":
		return float64(math.Float32frombits(uint32(v)))
	case r.Type == "f64":
		return math.Float64frombits(v)
	case r.Type == "f16":
		return probes.F16.Value(v)
	}
	return float64(signed(v, n))
}

// span is the least and the greatest number in active lanes, and where they are; ok is false where there is
// none.
func span(r *walk.Register) (low, high int, ok bool) {
	for i := range r.Bits {
		v := value(r, i)
		if r.Active>>i&1 == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if !ok || v < value(r, low) {
			low = i
		}
		if !ok || v > value(r, high) {
			high = i
		}
		ok = true
	}
	return low, high, ok
}

// levels places every lane's value between the least and the greatest of them.
func levels(r *walk.Register) (out [32]lane) {
	low, high, ok := span(r)
	a, b := value(r, low), value(r, high)
	for i := range out {
		v := value(r, i)
		out[i] = lane{level: -1, off: r.Active>>i&1 == 0, nan: math.IsNaN(v) || math.IsInf(v, 0)}
		if ok && !out[i].off && !out[i].nan {
			out[i].level = steps / 2
			if b > a {
				out[i].level = int((v-a)/(b-a)*(steps-1) + 0.5)
			}
		}
	}
	return out
}

// drawStrip writes a mark a lane: higher for greater values, N for what is no number, a dot for lanes that
// are not active. Marks have no colours of the ramp of values: those are grounds for numbers, and the highest
// mark covers its ground.
func (p *Pane) drawStrip(l *theme.Line, all [32]lane) {
	t := p.Theme
	for i, x := range all {
		style, mark := t.Off, t.Glyph.Equal
		switch {
		case x.off:
		case x.nan:
			style, mark = t.Wrong, t.Glyph.NaN
		default:
			style, mark = t.Text, t.Glyph.Spark[x.level+1]
			if i == p.lane {
				style = t.Key
			}
		}
		l.Glyph(style, mark)
	}
	l.Space(stripWidth - 32)
}

// spread is the register under the cursor in all lanes: ▁▂▃█ 0.25 in lane 3 to 4 in lane 31, or
// where that does not fit 0.25 @3 to 4 @31
func (p *Pane) spread(w int) string {
	t := p.Theme
	l := t.Line(w).Space(1)
	r, _, ok := p.Current()
	if !ok {
		return l.Done()
	}
	p.drawStrip(l, levels(&r))
	low, high, ok := span(&r)
	text := "no lane has a number"
	switch {
	case ok && uniform(&r):
		text = "the same in every active lane"
	case ok:
		least, most := p.Text(&r, low, 12), p.Text(&r, high, 12)
		text = fmt.Sprintf("%s in lane %d to %s in lane %d", least, low, most, high)
		if t.Width(text) > l.Left() {
			text = fmt.Sprintf("%s @%d to %s @%d", least, low, most, high)
		}
	}
	return l.Add(t.Dim, t.Fit(text, l.Left())).Done()
}

// short is a register's values in four columns each, with what they have in common.
type short struct {
	base string // "" where the values stand for themselves
	text [32]string
}

// short finds the shortest way to write all lanes that loses nothing: the values themselves, or the
// differences to the least of them. Where neither fits, an ellipsis stands for what is cut. What they have in
// common is then the value of the lane at the cursor with as many digits as fit, as that of floats is, whose
// lanes are rounded.
func (p *Pane) short(r *walk.Register) (s short) {
	const w = smallWidth - 1
	if size(r) == 0 || p.format == Typed && strings.HasPrefix(r.Type, "f") {
		for i := range s.text {
			s.text[i] = cell.FixedText(value(r, i), w)
			if size(r) == 0 {
				s.text[i] = strconv.FormatUint(r.Bits[i], 10)
			}
		}
		if size(r) > 0 {
			s.base = p.atCursor(r, "")
		}
		return s
	}
	base, prefix := 16, "0x"
	if p.format == Signed {
		base, prefix = 10, ""
	}
	write := func(i int) string {
		if base == 10 {
			return strconv.FormatInt(signed(r.Bits[i], size(r)), 10)
		}
		return strconv.FormatUint(r.Bits[i], 16)
	}
	least, longest := -1, 0
	for i := range s.text {
		s.text[i] = write(i)
		if r.Active>>i&1 == 0 {
			continue
		}
		if longest = max(longest, len(s.text[i])); least < 0 || signed(r.Bits[i], size(r)) <
			signed(r.Bits[least], size(r)) {
			least = i
		}
	}
	if s.base = prefix; base == 10 || longest > w {
		s.base = ""
	}
	if longest <= w || least < 0 {
		return s.cut(p.Theme, w)
	}
	differences, fits := [32]string{}, true
	for i := range s.text {
		differences[i] = strconv.FormatUint((r.Bits[i]-r.Bits[least])&mask(r), base)
		fits = fits && (r.Active>>i&1 == 0 || len(differences[i]) <= w)
	}
	if fits {
		s.base, s.text = prefix+write(least)+" +", differences
		return s.cut(p.Theme, w)
	}
	for i := range s.text { // the first digits of each, as many as it has bits
		text := s.text[i]
		if base == 16 {
			text = fmt.Sprintf("%0*x", 2*size(r), r.Bits[i])
		}
		s.text[i] = p.Theme.Fit(text, w)
	}
	s.base = p.atCursor(r, prefix)
	return s
}

// atCursor is the value of the lane at the cursor: @3 2.26953; of all lanes where they hold the same:
// = 2.26953.
func (p *Pane) atCursor(r *walk.Register, prefix string) string {
	lane, lead := p.lane, "@"+strconv.Itoa(p.lane)+" "
	if low, _, ok := span(r); ok && uniform(r) {
		lane, lead = low, "= "
	}
	lead += prefix
	return lead + p.Text(r, lane, baseWidth-1-len(lead))
}

// mask has the bits of a register.
func mask(r *walk.Register) uint64 { return 1<<(8*size(r)-1)<<1 - 1 }

// cut takes from the front of what does not fit.
func (s short) cut(t *theme.Theme, w int) short {
	for i, x := range s.text {
		if len(x) > w {
			s.text[i] = t.Glyph.Ellipsis + x[len(x)-w+1:]
		}
	}
	return s
}
