package theme

// Frame is what panes have in common: theme, place, focus, and what was drawn last. F says what the focus is:
// a bool, or the number of the part that has it.
type Frame[F comparable] struct {
	Theme   *Theme
	W, H    int // borders included
	Focus   F
	Changed bool // it has to be drawn again
	Zoomed  bool // the part that has the focus is drawn alone, in the whole place

	lines []string
}

// NewFrame returns a frame without a place, to be drawn.
func NewFrame[F comparable](th *Theme, focus F) Frame[F] {
	return Frame[F]{Theme: th, Focus: focus, Changed: true}
}

// SetTheme changes colours and glyphs.
func (f *Frame[F]) SetTheme(th *Theme) { f.Theme, f.Changed = th, true }

// SetSize gives the pane its place.
func (f *Frame[F]) SetSize(w, h int) { f.Resize(w, h) }

// Resize is SetSize for panes that lay themselves out: it reports whether the place is another.
func (f *Frame[F]) Resize(w, h int) bool {
	if w == f.W && h == f.H {
		return false
	}
	f.W, f.H, f.Changed = w, h, true
	return true
}

// SetFocus says whether the pane has the focus, or which part of it.
func (f *Frame[F]) SetFocus(focus F) {
	if focus != f.Focus {
		f.Focus, f.Changed = focus, true
	}
}

// SetZoom has the part that has the focus drawn alone, or all parts.
func (f *Frame[F]) SetZoom(on bool) {
	if on != f.Zoomed {
		f.Zoomed, f.Changed = on, true
	}
}

// Draw returns what was drawn last, drawn again where something has changed.
func (f *Frame[F]) Draw(draw func() []string) []string {
	if f.Changed {
		f.Changed = false
		f.lines = draw()
	}
	return f.lines
}

// Into scrolls a window of n (at least one) over total lines or columns: it returns the first shown so that
// at is among them, moving first as little as it can.
func Into(first, at, n, total int) int {
	n = max(n, 1)
	if at < first {
		first = at
	}
	if at >= first+n {
		first = at - n + 1
	}
	return max(0, min(first, total-n))
}
