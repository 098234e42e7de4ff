package frag

import (
	"fmt"

	"tilescope/tui/view"
)

// bankLegend explains what the strip shows now: the names of its rows, the note of its title, the right end
// of a row, and its title.
func (p *Pane) bankLegend() []view.Mark {
	if p.fragment() == nil || len(p.phases) == 0 {
		return nil
	}
	ph := &p.phases[min(p.phase, len(p.phases)-1)]
	wide, of := p.banks.w-2 >= wideStrip, "/"
	name := phaseName(ph, wide)
	row := "a row is one access"
	if wide {
		of = " for "
	} else if ph.Lanes > 0 {
		row += fmt.Sprintf(": element %s of lanes %d-%d; a row of the same name is of the next lanes", name, ph.Lane,
			ph.Lane+ph.Lanes-1)
	}
	moves := view.Mark{Glyph: p.moves(), Text: "each lane moves its own elements, as many at a time as lie next to " +
		"each other in memory, at most 16 bytes"}
	if ph.Lanes == 0 {
		row = fmt.Sprintf("a row is one access: lines %d-%d of the tile, and in them chunk %d of 16 bytes",
			ph.First, ph.Last, ph.Lane)
		moves.Text = "an access moves 8 lines of 16 bytes, a matrix of 8×8 elements of 16 bits"
	}
	degree, cost := p.worst()
	costs := fmt.Sprintf("no access has a bank conflict; there are %d", len(p.phases))
	if degree > 1 {
		costs = fmt.Sprintf("an access takes up to %d turns, and all %d accesses take %d: without conflicts one each",
			degree, len(p.phases), cost)
	}
	swizzle := view.Mark{Glyph: "no swizzle", Text: "the elements of a line are stored in their order"}
	if p.swizzle != 0 {
		swizzle = view.Mark{Glyph: p.swizzleName(), Text: "the place of element e in line n: a swizzle"}
	}
	return []view.Mark{
		{Glyph: name, Text: row}, {Glyph: p.costs(of), Text: costs},
		{Glyph: fmt.Sprintf("%d×", ph.Degree), Text: "right end of a row: turns that the access takes, as many as " +
			"the most words that one bank has to give"},
		{Glyph: fmt.Sprintf("ld %d", p.ld), Text: "leading dimension: elements from the beginning of a line of the " +
			"tile to that of the next"},
		swizzle, moves,
	}
}

// bankNotes is as much of the legend as has room below the strip's rows.
func (p *Pane) bankNotes(w, room int) []string {
	var out []string
	for _, m := range p.bankLegend() {
		lines := p.wrapped(m.Glyph+": "+m.Text, w, p.Theme.Dim)
		if len(out)+len(lines)+1 > room { // a blank line keeps them apart from the rows
			break
		}
		out = append(out, lines...)
	}
	if len(out) > 0 {
		out = append([]string{p.Theme.Line(w).Done()}, out...)
	}
	return out
}
