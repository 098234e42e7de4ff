package frag

// SetFocus says which part has the focus, -1 for none.
func (p *Pane) SetFocus(part int) {
	p.Frame.SetFocus(part)
	if p.Zoomed {
		p.layout()
	}
}

// SetZoom has the part that has the focus drawn alone, or all parts.
func (p *Pane) SetZoom(on bool) {
	p.Frame.SetZoom(on)
	p.layout()
}

// layoutAlone gives the part that has the focus all lines above the detail; it reports false where no part is
// drawn alone.
func (p *Pane) layoutAlone(main int) bool {
	if !p.Zoomed || p.Focus < 0 {
		return false
	}
	whole := area{0, 0, p.W, main}
	p.grid, p.second, p.banks, p.tile, p.lane, p.cover = area{}, area{}, area{}, area{}, area{}, area{}
	switch p.Focus {
	case Tile:
		p.tile = whole
	case Banks:
		p.banks = whole
	default:
		p.grid = whole
	}
	if p.grid.h > 0 && p.ownTable() != nil && p.W >= bothFrom {
		p.grid.w = p.W / 2
		p.second = area{p.grid.w, 0, p.W - p.grid.w, main}
	}
	return true
}

// drawAlone draws the part that has the focus.
func (p *Pane) drawAlone() []string {
	switch {
	case p.tile.h > 0:
		return p.drawTile(p.tile, p.shows)
	case p.banks.h > 0:
		return p.drawBanks(p.banks)
	}
	return p.drawGrids()
}
