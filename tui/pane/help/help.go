// Package help is the overlay that lists the keys of the focused view. It is generated from the key table, so
// it cannot say anything else than what the keys do. It must not know models or panes.
package help

import (
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
)

// Pane draws the overlay.
type Pane struct {
	th     *theme.Theme
	words  map[keymap.Action]string // in place of the table's; "" leaves a key out
	scroll int
	height int // lines of text
	body   int // lines of text on screen
}

// New returns the overlay.
func New(th *theme.Theme) *Pane { return &Pane{th: th} }

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) { p.th = th }

// SetWords replaces what is said of some keys; "" leaves a key out.
func (p *Pane) SetWords(words map[keymap.Action]string) { p.words = words }

// Scroll moves by n lines.
func (p *Pane) Scroll(n int) { p.scroll = max(0, min(p.scroll+n, p.height-p.body)) }

// Reset goes back to the first line.
func (p *Pane) Reset() { p.scroll = 0 }

// View lists what works in a view, in as many columns as fit, in w×h.
func (p *Pane) View(m *keymap.Map, s keymap.Scope, w, h int) []string {
	cols := max(1, (w-2)/58)
	cw := (w - 2) / cols
	text := p.text(m, s, cw)
	p.body = h - 2
	per := (len(text) + cols - 1) / cols
	p.height = per
	p.scroll = max(0, min(p.scroll, per-p.body))
	var out []string
	for i := p.scroll; i < min(per, p.scroll+p.body); i++ {
		l := p.th.Line(w - 2)
		for c := range cols {
			if k := c*per + i; k < len(text) {
				l.Raw(text[k], cw)
			}
		}
		out = append(out, l.Done())
	}
	note := "Esc closes"
	if per > p.body {
		note = "j/k scroll · Esc closes"
	}
	return p.th.Box("HELP "+string(s), note, out, w, h, true)
}

func (p *Pane) text(m *keymap.Map, s keymap.Scope, w int) []string {
	var out []string
	for _, sec := range m.Help(s) {
		out = append(out, p.th.Line(w).Space(1).Add(p.th.Title, sec.Title).Done())
		for _, b := range sec.Bindings {
			text := b.Help
			if other, ok := p.words[b.Action]; ok {
				if text = other; text == "" {
					continue
				}
			}
			if b.Later != "" {
				text += " (to come)"
			}
			for i, line := range p.th.Wrap(text, w-12) {
				l := p.th.Line(w).Space(2)
				if i == 0 {
					l.Add(p.th.Key, b.Label)
				}
				out = append(out, l.Pad(10).Add(p.th.Text, line).Done())
			}
		}
	}
	return out
}
