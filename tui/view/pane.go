package view

import (
	"slices"

	"tilescope/tui/theme"
)

// Pane draws a whole view, in parts that it numbers from 0.
type Pane interface {
	SetTheme(th *theme.Theme)
	SetSize(w, h int)
	// SetFocus says which part has the focus, -1 for none.
	SetFocus(part int)
	// SetZoom has the part that has the focus drawn alone, in the whole place, or all parts.
	SetZoom(on bool)
	View() []string
}

// OnePane is the drawing side of a View whose one pane draws all of it. A controller embeds it.
type OnePane struct {
	pane    Pane
	parts   []Part
	focused Part
}

// NewOnePane returns the drawing side of a view; parts are the names of the pane's parts, by its numbers.
func NewOnePane(p Pane, parts []Part) OnePane { return OnePane{pane: p, parts: parts} }

// SetTheme implements View.
func (o *OnePane) SetTheme(th *theme.Theme) { o.pane.SetTheme(th) }

// SetSize implements View.
func (o *OnePane) SetSize(w, h int) { o.pane.SetSize(w, h) }

// Lines implements View.
func (o *OnePane) Lines() []string { return o.pane.View() }

// Parts implements View: all parts, in the order of their numbers.
func (o *OnePane) Parts() []Part { return o.parts }

// SetFocus implements View.
func (o *OnePane) SetFocus(p Part) {
	o.focused = p
	o.pane.SetFocus(slices.Index(o.parts, p))
}

// Zoom implements Zoomer.
func (o *OnePane) Zoom(on bool) { o.pane.SetZoom(on) }

// Focused is the part that has the focus, "" where none has.
func (o *OnePane) Focused() Part { return o.focused }
