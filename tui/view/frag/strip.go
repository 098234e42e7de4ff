package frag

import (
	"fmt"

	"tilescope/debugkern/fragment"
	"tilescope/tui/theme"
)

// rebank works the phases out anew.
func (p *Pane) rebank() {
	p.Changed = true
	p.phases, p.refused = nil, nil
	f := p.fragment()
	if f == nil {
		return
	}
	p.phases, p.refused = fragment.Banks(p.pattern(f))
	p.phase = max(0, min(p.phase, len(p.phases)-1))
}

func (p *Pane) pattern(f *choice) fragment.BankPattern {
	rows, cols := f.doc.Extents()
	return fragment.BankPattern{
		Lanes: f.doc.Lanes, Columns: f.columns, Bits: fragment.Bits(f.doc.DType), LD: p.ld,
		Swizzle: p.swizzle,
		Rows:    rows, Cols: cols, Matrix: p.matrix,
	}
}

// StepLD changes the leading dimension by n chunks of 16 bytes and returns it.
func (p *Pane) StepLD(n int) int {
	step := 8
	if f := p.fragment(); f != nil {
		step = 128 / fragment.Bits(f.doc.DType)
	}
	return p.SetLD((p.ld/step + n) * step)
}

// SetLD sets the leading dimension, in elements, and returns what it became.
func (p *Pane) SetLD(n int) int {
	p.ld = max(16, min(n, 4096))
	p.rebank()
	p.layout()
	return p.ld
}

// NextSwizzle goes through none, n&1, n&3, n&7.
func (p *Pane) NextSwizzle() string {
	p.SetSwizzle((2*p.swizzle + 1) % 15)
	return p.swizzleName()
}

// SetSwizzle sets which bits of a line's number exchange its 16-byte chunks; 0 none.
func (p *Pane) SetSwizzle(mask int) {
	p.swizzle = mask
	p.rebank()
}

func (p *Pane) swizzleName() string {
	if p.swizzle == 0 {
		return "none"
	}
	chunk := 8
	if f := p.fragment(); f != nil {
		chunk = 128 / fragment.Bits(f.doc.DType)
	}
	return fmt.Sprintf("e^(n&%d)*%d", p.swizzle, chunk)
}

// ToggleMatrix changes between each lane's own elements and lines of 16 bytes, and says which it is.
func (p *Pane) ToggleMatrix() string {
	p.matrix = !p.matrix
	p.rebank()
	p.layout()
	return p.moves()
}

func (p *Pane) moves() string {
	if p.matrix {
		return "ldmatrix"
	}
	return "by lane"
}

// Phases moves the window of phases by n.
func (p *Pane) Phases(n int) bool {
	was := p.phase
	p.phase = max(0, min(p.phase+n, len(p.phases)-(p.banks.h-3)))
	p.Changed = true
	return p.phase != was
}

// briefly is the title where there is little room: BANKS ld 64, no swizzle; of ldmatrix its name leads.
func (p *Pane) briefly() string {
	lead, swizzle := "BANKS", "no swizzle"
	if p.matrix {
		lead = p.moves()
	}
	if p.swizzle != 0 {
		swizzle = p.swizzleName()
	}
	return fmt.Sprintf("%s ld %d, %s", lead, p.ld, swizzle)
}

// worst is the greatest degree, and what all phases cost against what they would free of conflicts.
func (p *Pane) worst() (degree, cost int) {
	for _, ph := range p.phases {
		degree = max(degree, ph.Degree)
		cost += ph.Degree
	}
	return degree, cost
}

// costs is the note of the strip's title: 4-way, 32 for 8; or ✓ free, 8.
func (p *Pane) costs(of string) string {
	degree, cost := p.worst()
	if degree == 1 {
		return fmt.Sprintf("%s free, %d", p.Theme.Glyph.OK, len(p.phases))
	}
	return fmt.Sprintf("%d-way, %d%s%d", degree, cost, of, len(p.phases))
}

// drawBanks is the strip: a line a phase, a column a bank, in it how many words are asked of the bank.
func (p *Pane) drawBanks(a area) []string {
	w := a.w - 2
	title := fmt.Sprintf("BANKS ld %d, swizzle %s, %s", p.ld, p.swizzleName(), p.moves())
	if p.refused != nil {
		return p.Theme.Box(title, "", p.wrapped(p.refused.Error(), w, p.Theme.Wrong), a.w, a.h,
			p.Focus == Banks)
	}
	var lines []string
	lines = append(lines, p.bankHead(w, a.h-3))
	for i := p.phase; i < len(p.phases); i++ {
		lines = append(lines, p.phaseLine(&p.phases[i], w))
	}
	if room := a.h - 2 - len(lines); room > 0 {
		lines = append(lines, p.bankNotes(w, room)...)
	}
	note := p.costs(" for ")
	if room := a.w - 6 - p.Theme.Width(note); p.Theme.Width(title) > room {
		note = p.costs("/")
		title = p.Theme.Fit(p.briefly(), a.w-6-p.Theme.Width(note))
	}
	return p.Theme.Box(title, note, lines, a.w, a.h, p.Focus == Banks)
}

// bankHead is the head of the strip: the numbers of banks, and at its right end which phases are shown where
// not all of them fit in the given rows.
func (p *Pane) bankHead(w, rows int) string {
	head := p.Theme.Line(w)
	if w >= wideStrip {
		head.Add(p.Theme.Dim, "bank")
	}
	head.Pad(labelWidth(w))
	for b := 0; b < 24; b += 8 {
		head.Add(p.Theme.Dim, fmt.Sprintf("%-8d", b))
	}
	head.Add(p.Theme.Dim, "24")
	all := len(p.phases)
	last := min(p.phase+rows, all)
	if p.phase == 0 && last == all {
		if w >= wideStrip {
			head.Pad(labelWidth(w)+32).Add(p.Theme.Dim, "  words a bank")
		}
		return head.Done()
	}
	for _, text := range []string{
		fmt.Sprintf("phases %d-%d of %d", p.phase+1, last, all),
		fmt.Sprintf("%d-%d of %d", p.phase+1, last, all),
		fmt.Sprintf("%d-%d/%d", p.phase+1, last, all),
		fmt.Sprintf("%d of %d", last-p.phase, all),
	} {
		if p.Theme.Width(text) < head.Left() {
			return head.Right(p.Theme.Dim, text, w).Done()
		}
	}
	return head.Done()
}

// wideStrip is the width from which a phase is named in full.
const wideStrip = 60

func labelWidth(w int) int {
	if w >= wideStrip {
		return 24
	}
	return max(0, min(4, w-36))
}

func (p *Pane) phaseLine(ph *fragment.BankPhase, w int) string {
	l := p.Theme.Line(w).Add(p.Theme.Dim, p.Theme.Fit(phaseName(ph, w >= wideStrip), labelWidth(w))).
		Pad(labelWidth(w))
	here := -1
	f := p.fragment()
	pattern := p.pattern(f)
	if x, ok := p.holder(); ok && pattern.Asks(ph, x.lane, x.element, p.cell) {
		here = pattern.Bank(p.cell)
	}
	for b, n := range ph.Words {
		switch {
		case b == here:
			l.Glyph(p.Theme.Here, degreeDigit(n))
		case n == 0:
			l.Glyph(p.Theme.Off, p.Theme.Glyph.Equal)
		case n == 1:
			l.Glyph(p.Theme.Text, "1")
		default:
			l.Glyph(p.Theme.Wrong, degreeDigit(n))
		}
	}
	style := p.Theme.OK
	if ph.Degree > 1 {
		style = p.Theme.Wrong
	}
	return l.Right(style, fmt.Sprintf("%d×", ph.Degree), min(w, l.Col()+4)).Done()
}

func degreeDigit(n uint8) string {
	if n > 9 {
		return "+"
	}
	return fmt.Sprint(n)
}

func phaseName(ph *fragment.BankPhase, full bool) string {
	if ph.Lanes == 0 {
		if full {
			return fmt.Sprintf("lines %d-%d, chunk %d", ph.First, ph.Last, ph.Lane)
		}
		return fmt.Sprintf("%d:%d", ph.First, ph.Lane)
	}
	elements := fmt.Sprint(ph.First)
	if ph.Last > ph.First {
		elements += fmt.Sprintf("-%d", ph.Last)
	}
	if full {
		return fmt.Sprintf("element %s lanes %d-%d", elements, ph.Lane, ph.Lane+ph.Lanes-1)
	}
	return elements
}

func (p *Pane) wrapped(text string, w int, s theme.Style) []string {
	var out []string
	for _, t := range p.Theme.Wrap(text, w-2) {
		out = append(out, p.Theme.Line(w).Space(1).Add(s, t).Done())
	}
	return out
}
