// Package ancestry is the pane that says how a cell came about: the tree of operations and elements
// that it is made of.
//
// The one idea: the tree is lines that package report wrote, each about one operation, so the pane has a
// cursor and scrolls, and no more.
//
// It must not know sessions, recordings or keys.
package ancestry

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// Pane draws the tree.
type Pane struct {
	theme.Frame[bool]
	doc     *report.Lineage
	message string // while there is no tree: why
	cell    string
	lines   []report.LineageLine
	at, top int
	left    int // columns that are scrolled away
	widest  int
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false)} }

// Show shows a cell's tree, from its top on.
func (p *Pane) Show(cell string, doc *report.Lineage) {
	*p = Pane{Frame: p.Frame, doc: doc, cell: cell, lines: doc.Tree(0)}
	for _, l := range p.lines {
		p.widest = max(p.widest, p.Theme.Width(l.Brief))
	}
	p.Changed = true
}

// Say shows a message about a cell in place of a tree.
func (p *Pane) Say(cell, message string) {
	*p = Pane{Frame: p.Frame, cell: cell, message: message}
	p.Changed = true
}

// Move moves the cursor through the lines, and the text sideways.
func (p *Pane) Move(rows, cols int) {
	p.at = max(0, min(p.at+rows, len(p.lines)-1))
	p.left = max(0, min(p.left+8*cols, p.widest-(p.W-4)))
	p.Changed = true
}

// Page is the lines that are shown.
func (p *Pane) Page() int { return max(1, p.H-2) }

// Hit puts the cursor on the line drawn at y.
func (p *Pane) Hit(y int) {
	if i := p.top + y - 1; y >= 1 && y < p.H-1 && i < len(p.lines) {
		p.at, p.Changed = i, true
	}
}

// Chosen is the operation of the line under the cursor. The first line is the cell, whose last operation it
// is.
func (p *Pane) Chosen() (n *report.LineageNode, ok bool) {
	switch {
	case p.at >= len(p.lines):
		return nil, false
	case p.lines[p.at].Node >= 0:
		return &p.doc.Nodes[p.lines[p.at].Node], true
	case p.at == 0 && len(p.doc.Nodes) > 0:
		return &p.doc.Nodes[0], true
	}
	return nil, false
}

// Text is the tree as plain text, for copying.
func (p *Pane) Text() string {
	var b strings.Builder
	for _, l := range p.lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	if p.W < 8 || p.H < 3 {
		return p.Theme.Blank(p.W, p.H)
	}
	w, h := p.W-2, p.H-2
	title, note := "HOW "+p.cell+" CAME ABOUT", ""
	var out []string
	if p.message != "" {
		for _, s := range p.Theme.Wrap(p.message, w-2) {
			out = append(out, p.Theme.Line(w).Space(1).Add(p.Theme.Dim, s).Done())
		}
		return p.Theme.Box(title, note, out, p.W, p.H, p.Focus)
	}
	p.top = theme.Into(p.top, p.at, h, len(p.lines))
	for i := p.top; i < len(p.lines) && i < p.top+h; i++ {
		l := p.Theme.Line(w).Pointer(i == p.at)
		style := p.Theme.Text
		if i == p.at {
			style = p.Theme.Strong
		}
		out = append(out, l.Add(style, p.cut(p.lines[i].Brief, l.Left())).Done())
	}
	if len(p.lines) > h {
		note = fmt.Sprintf("%d of %d", p.at+1, len(p.lines))
	}
	return p.Theme.Box(title, note, out, p.W, p.H, p.Focus)
}

// cut is the part of a line that is not scrolled away, and fits.
func (p *Pane) cut(text string, w int) string {
	if runes := []rune(text); p.left > 0 {
		text = string(runes[min(p.left, len(runes)):])
	}
	return p.Theme.Fit(text, w)
}
