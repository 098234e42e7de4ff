package debugkern

import (
	"cmp"
	"math"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// A store that copies what a load brought is no place where an operand is chosen, and neither is a load that
// brings the right one into a register which nothing reads: what goes wrong does so before, or behind.

// copied reports whether an instruction stores a foreign operand as it was loaded, and no instruction of the
// block loads what belongs in its place: the load is where it goes wrong.
func (c *contrast) copied(at int, k operandKey, s seen, missing []operandKey) bool {
	if c.fn.Body[at].Kind() != isa.Store || s.instr < 0 || !c.fn.Body[s.instr].Kind().Loads() {
		return false
	}
	i := slices.IndexFunc(missing, func(m operandKey) bool { return m.stage == k.stage && m.arg == k.arg })
	return i >= 0 && !c.takes(anyRead, missing[i])
}

// leftIn reports whether the load that brought a foreign operand brought one that belongs in its place too,
// in a register that no instruction reads.
func (c *contrast) leftIn(k operandKey, s seen, missing []operandKey) bool {
	if s.instr < 0 || len(s.steps) == 0 || !c.fn.Body[s.instr].Kind().Reads() {
		return false
	}
	step := c.trace.Step(int(s.steps[0]))
	for index, reg := range c.fn.Body[s.instr].Dests(nil) {
		if c.readsRegister(reg) {
			continue
		}
		for lane := range uint8(32) {
			if step.Mask>>lane&1 != 0 && c.hasOne(lineage.Ref{
				Step: s.steps[0], Lane: lane, Index: uint8(index), N: 4,
			}, missing) {
				return true
			}
		}
	}
	return false
}

// takenAgain is the instruction by which an operand comes in that is in a cell more than once: the one that
// reads it, unless that is done once alone; then the first one that makes a value of two that have it.
func (c *contrast) takenAgain(a *actual, k operandKey) int {
	s := a.of[k]
	if s.user < 0 || len(s.nodes) == 0 || !c.fn.Body[s.instr].Kind().Loads() {
		return s.instr
	}
	reads := 0
	ways := make([]int, len(a.g.Nodes)) // in which the operand comes to a node
	for n := range a.g.Nodes {
		for _, e := range a.g.Uses(int32(n)) {
			if e.Leaf && c.isKey(a.g.Leaves[e.To], k) && c.own(a.g, int32(n)) {
				ways[n] = 1
				reads++
				break
			}
		}
	}
	if reads > 1 {
		return s.instr
	}
	order := make([]int32, len(a.g.Nodes)) // what a node is made of was made before
	for n := range order {
		order[n] = int32(n)
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		return cmp.Compare(a.g.Nodes[x].Step, a.g.Nodes[y].Step)
	})
	for _, n := range order {
		for _, e := range a.g.Uses(n) {
			if !e.Leaf {
				ways[n] += ways[e.To]
			}
		}
		if ways[n] > 1 && c.own(a.g, n) {
			return c.trace.Step(int(a.g.Nodes[n].Step)).Instr.Index
		}
	}
	return s.user
}

// isKey reports whether a leaf is an operand.
func (c *contrast) isKey(l lineage.Leaf, k operandKey) bool {
	if l.Kind == lineage.LeafCut {
		return slices.Contains(c.lists[l.Cut], k)
	}
	return l.Kind == lineage.LeafElement && l.Arg == k.arg && l.Element == k.at && k.stage < 0
}

// hasOne reports whether a value is made directly of one of some operands.
func (c *contrast) hasOne(r lineage.Ref, keys []operandKey) bool {
	for _, u := range c.trace.Uses(r, false, false) {
		if u.Leaf != nil {
			if u.Leaf.Kind == lineage.LeafElement &&
				slices.Contains(keys, operandKey{stage: -1, arg: u.Leaf.Arg, at: u.Leaf.Element}) {
				return true
			}
			continue
		}
		if id, ok := c.cut(u.Ref); ok && slices.ContainsFunc(c.lists[id], func(k operandKey) bool {
			return slices.Contains(keys, k)
		}) {
			return true
		}
	}
	return false
}

// readsRegister reports whether an instruction of the entry reads a register.
func (c *contrast) readsRegister(reg int32) bool {
	var reads, writes []int32
	return slices.ContainsFunc(c.fn.Body, func(in *ptx.Instr) bool {
		cfg.Uses(in, &reads, &writes)
		return slices.Contains(reads, reg)
	})
}

// unread says of foreign operands which load left what belongs in their place in a register that nothing
// reads.
func (c *contrast) unread(o *Operands, a *actual, missing []operandKey) {
	s, there := a.of[o.first]
	if there && c.leftIn(o.first, s, missing) {
		o.Unread = report.SourceOf(target.Blame(c.fn, s.instr))
	}
}

// loadedAt is where the block first loads an operand; nil where it does not.
func (c *contrast) loadedAt(k operandKey) *report.Source { return c.loadedIn(k, -1) }

// loadedIn is loadedAt of one warp's loads; of all for -1.
func (c *contrast) loadedIn(k operandKey, warp int) *report.Source {
	for i := range c.trace.Len() {
		s := c.trace.Step(i)
		if warp >= 0 && s.Warp != warp || !s.Func.Entry || !s.Instr.Kind().Loads() ||
			s.Instr.Loc.Within(target.IsProbe) ||
			probing.MatchString(c.text(report.SourceOf(target.Blame(c.fn, s.Instr.Index)))) {
			continue
		}
		for lane := range uint8(32) {
			for index := range s.Instr.Dests(nil) {
				r := lineage.Ref{
					Step: uint32(i), Lane: lane, Index: uint8(index),
					N: uint8(max(1, min(8, s.Instr.Type().Bytes()))),
				}
				if s.Mask>>lane&1 != 0 && c.hasOne(r, []operandKey{k}) {
					return report.SourceOf(target.Blame(c.fn, s.Instr.Index))
				}
			}
		}
	}
	return nil
}

// filled is where an asynchronous copy gave a cell zeros in the place of what it did not read; nil where none
// did.
func (c *contrast) filled(a *actual) *report.Source {
	for n := range a.g.Nodes {
		for _, e := range a.g.Uses(int32(n)) {
			if e.Leaf && a.g.Leaves[e.To].Kind == lineage.LeafFill && c.own(a.g, int32(n)) {
				return report.SourceOf(target.Blame(c.fn, c.trace.Step(int(a.g.Nodes[n].Step)).Instr.Index))
			}
		}
	}
	return nil
}

// copiedAside reports whether a copy of a whole tile brought a foreign element, and not the reads of what it
// copied took another one: the element lies another distance from where it belongs than a tile has, and in
// another iteration the cell is right, which is read there in the same way.
func (c *contrast) copiedAside(k operandKey, s seen, missing []operandKey) bool {
	sp := c.x.stage
	if k.stage >= 0 || len(missing) == 0 || s.instr < 0 || c.fn.Body[s.instr].Kind() != isa.BulkCopy ||
		!sp.PerTile || (missing[0].at-k.at)%(sp.Rows*sp.Cols) == 0 {
		return false
	}
	row, col := c.x.cell.Row, c.x.cell.Col
	lo, n := c.run.Tiles(c.block)
	for kv := lo; kv < lo+n; kv++ {
		v, err := c.run.View(Place{Stage: sp.Stage, Block: c.block, KVTile: kv})
		if kv != c.kv && err == nil && v.Referenced() && v.Got.Reached() && v.Judged(row, col, true) &&
			!v.Bad(row, col, true) {
			return true
		}
	}
	return false
}

// padding finds cells past the valid ones of a tile that a cell is made of, and that change it: what a kernel
// puts there has to add nothing to a sum, and be no maximum.
func (c *contrast) padding(e *expected, a *actual, out *Contrast) {
	if _, _, products := c.vectors(e); products {
		return // what lies past one operand may be multiplied by 0
	}
	for _, p := range e.direct {
		if p.Stage < 0 {
			continue
		}
		sp := c.g.Stage(p.Stage)
		v, err := c.run.View(Place{Stage: sp.Stage, Block: c.block, KVTile: p.Iter})
		if err != nil || !v.Got.Reached() {
			continue
		}
		var past []operandKey
		for k := range a.of {
			row, col := k.at/max(1, sp.Cols), k.at%max(1, sp.Cols)
			if k.stage != p.Stage || k.iter != p.Iter || row < p.Valid[0] && col < p.Valid[1] ||
				!v.Got.Captured(row, col) {
				continue
			}
			if x := v.Got.At(row, col); x != 0 && !math.IsInf(x, -1) {
				past = append(past, k)
			}
		}
		if len(past) == 0 {
			continue
		}
		list, _ := c.operands(past, a.of, func(operandKey) (int, error) { return -1, nil })
		first := list[0].first
		row, col := first.at/sp.Cols, first.at%sp.Cols
		out.Padding = &Padding{Text: list[0].Text, Value: v.Got.At(row, col), Stored: c.storedAt(p, row, col)}
		return
	}
}

// storedAt is where the kernel stores a cell of an operand's tile last; nil where it does not.
func (c *contrast) storedAt(p ref.Part, row, col int) *report.Source {
	x := *c.x
	x.stage, x.arg, x.element = c.run.Plan.Stage(c.g.Stage(p.Stage).Stage), "", -1
	x.cell.Stage, x.cell.KVTile = x.stage.Stage, p.Iter
	at, err := x.at(c.trace, row, col)
	if err != nil {
		return nil
	}
	if by, ok := c.lastStored(at); ok {
		return report.SourceOf(target.Blame(c.fn, c.trace.Step(int(by.Step)).Instr.Index))
	}
	return nil
}

// lastStored is the last store of the kernel's own by which the bytes at a place came there; false where they
// came without one.
func (c *contrast) lastStored(at lineage.Place) (lineage.Ref, bool) {
	for _, r := range c.trace.Carried(at) {
		step := c.trace.Step(int(r.Step))
		if r.Index == lineage.InMemory && step.Func.Entry && !step.Instr.Loc.Within(target.IsProbe) {
			return r, true
		}
	}
	return lineage.Ref{}, false
}
