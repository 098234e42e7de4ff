package emu

import (
	"slices"

	"tilescope/debugkern/target"
)

// followRegisters makes the tracer answer for a cell that is gathered from registers: the instruction that
// wrote the register.
func (t *tracer) followRegisters(g *gatherer) {
	t.makers, t.last = map[int]bool{}, map[[2]int]uint64{}
	for _, list := range g.at {
		for _, p := range list {
			for _, r := range p.Regs {
				if pc := t.maker(p, r); pc != p.PC {
					t.makers[pc] = true
				}
			}
		}
	}
	g.onCell = t.gathered
}

// maker is the instruction that a register got its value from, as far as the text before the point shows it:
// the last one before it, with no label in between; else the point itself.
func (t *tracer) maker(p *gatherPoint, reg int32) int {
	body := t.b.p.entry.Body
	if p.After {
		return p.PC
	}
	for pc := p.PC; pc > 0 && len(body[pc].Labels) == 0; {
		if pc--; slices.Contains(body[pc].Dests(nil), reg) {
			return pc
		}
	}
	return p.PC
}

// gathered notices the register that fills the cell.
func (t *tracer) gathered(
	s *gathered, kv, cell int, e *target.Event, lane int, p *gatherPoint, reg, part int,
) {
	if t.cell.Arg != "" {
		return
	}
	plan := s.g.Plan
	off, ok := t.b.l.Probe.Layout.Slot(plan.Stage, t.b.id, kv)
	size := uint64(plan.DType.Size())
	if at := off + uint64(cell)*size; !ok || t.cell.Offset < at || t.cell.Offset >= at+size {
		return
	}
	// another thread's value stands
	if h := s.tiles[kv]; h == nil || h.cells[cell].by != int32(e.Warp*32+lane)+1 {
		return
	}
	pc := t.maker(p, p.Regs[reg])
	t.found = write{
		step: e.Step, pc: int32(pc), warp: int16(e.Warp + 1), lane: uint8(lane),
		element: uint8(reg*p.Parts + part),
	}
	if step, ok := t.last[[2]int{e.Warp, pc}]; ok && pc != p.PC {
		t.found.step = step
	}
	if t.b.p.code[pc].mma != nil {
		t.found.mma = t.lastMMA[e.Warp]
	}
	t.space, t.addr = target.SpaceNone, 0
}
