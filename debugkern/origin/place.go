package origin

import (
	"fmt"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Place is an instruction that a thread executed.
type Place struct {
	Source     *target.Source // the line, with its call sites
	Block      probes.Dim3
	Warp, Lane int
}

// way is how a leaf comes into an element: the value that reads it, the next one that reads from memory what
// was made of it, the first that hands it to another lane, and the first that computes with it; -1 for none.
type way struct{ read, then, hand, user int32 }

// Lost is where an element that is missing is lost, given one that is not and comes in another way: the
// instruction that reads that one, or where it reads the missing one as well, the one that hands on what it
// read (a shuffle, a load from memory that the block wrote). nil where there is no such instruction.
func (m *Made) Lost(missing, present Element) *Place {
	for _, p := range m.parts {
		w, ok := p.way(present)
		if !ok {
			continue
		}
		if w.read >= 0 && p.takes(w.read, missing) {
			for _, next := range []int32{w.hand, w.then, w.user} {
				if next >= 0 {
					return p.place(next)
				}
			}
		}
		return p.place(w.read)
	}
	return nil
}

// Enters is where a foreign element comes in: the instruction that reads it, or, where that one is right to
// read it (handed is true), the one that hands it on or uses it. nil where it does not enter.
func (m *Made) Enters(e Element, handed bool) *Place {
	for _, p := range m.parts {
		w, ok := p.way(e)
		if !ok {
			continue
		}
		if handed {
			for _, next := range []int32{w.then, w.hand, w.user} {
				if next >= 0 {
					return p.place(next)
				}
			}
			return m.Stores()
		}
		return p.place(w.read)
	}
	return nil
}

// Shares reports whether another element takes e from the value by which this one does: the instruction that
// reads it reads it for both.
func (m *Made) Shares(other *Made, e Element) bool {
	for _, p := range m.parts {
		for _, o := range other.parts {
			w, ok := p.way(e)
			v, also := o.way(e)
			if ok && also && p.block == o.block && p.graph.Nodes[w.read] == o.graph.Nodes[v.read] {
				return true
			}
		}
	}
	return false
}

// Again is where an element enters once more than another one of its kind does: the last instruction that
// reads it and does not read the usual one, else the last that reads it where several do, else the one that
// takes two values made of it, else the one that hands on what was read. nil where it does not enter.
func (m *Made) Again(e, usual Element) *Place {
	for _, p := range m.parts {
		w, ok := p.way(e)
		if !ok {
			continue
		}
		last, other := w.read, int32(-1)
		reads := 0
		for n := range p.graph.Nodes {
			for _, u := range p.graph.Uses(int32(n)) {
				if u.Kind != lineage.ByValue || !u.Leaf || !p.is(u.To, e) {
					continue
				}
				reads++
				if p.graph.Nodes[n].Step >= p.graph.Nodes[last].Step {
					last = int32(n)
				}
				if !p.takes(int32(n), usual) {
					other = int32(n)
				}
			}
		}
		switch {
		case other >= 0:
			return p.place(other)
		case reads > 1:
			return p.place(last)
		}
		if n := p.joins(e); n >= 0 && p.joins(usual) < 0 {
			return p.place(n)
		}
		for _, next := range []int32{w.hand, w.then, w.user} {
			if next >= 0 {
				return p.place(next)
			}
		}
		return p.place(last)
	}
	return nil
}

// joins is the first instruction that takes two values which are both made of an element, so that what it
// gives has the element twice; -1 where there is none.
func (p *part) joins(e Element) int32 {
	const unknown, open = -1, -2
	made := make([]int, len(p.graph.Nodes)) // how many operands of a value are made of the element
	for i := range made {
		made[i] = unknown
	}
	var follow func(n int32) int
	follow = func(n int32) int {
		if made[n] != unknown {
			return max(made[n], 0)
		}
		made[n] = open
		count := 0
		for _, u := range p.graph.Uses(n) {
			if u.Kind == lineage.ByValue && (u.Leaf && p.is(u.To, e) || !u.Leaf && follow(u.To) > 0) {
				count++
			}
		}
		made[n] = count
		return count
	}
	first := int32(-1)
	for n := range p.graph.Nodes {
		if follow(int32(n)) > 1 && (first < 0 || p.graph.Nodes[n].Step < p.graph.Nodes[first].Step) {
			first = int32(n)
		}
	}
	return first
}

// is reports whether a leaf is an element.
func (p *part) is(leaf int32, e Element) bool {
	l := &p.graph.Leaves[leaf]
	return l.Kind == lineage.LeafElement && l.Arg == e.Arg && l.Element == e.At
}

// Takes reports whether a thread of the blocks that made the element reads another one, e.
func (m *Made) Takes(e Element) bool {
	for _, p := range m.parts {
		if p.takes(-1, e) {
			return true
		}
	}
	return false
}

// Stores is the instruction that stored the element.
func (m *Made) Stores() *Place {
	if len(m.parts) > 0 {
		for _, root := range m.parts[0].graph.Roots {
			if !root.Leaf {
				return m.parts[0].place(root.To)
			}
		}
	}
	return nil
}

// way finds the way of an element; ok is false where it is no leaf by value.
func (p *part) way(e Element) (w way, ok bool) {
	if p.ways == nil {
		p.find()
	}
	for i := range p.graph.Leaves {
		if p.is(int32(i), e) && p.ways[i].read >= 0 {
			return p.ways[i], true
		}
	}
	return way{}, false
}

// find finds the way of every leaf.
func (p *part) find() {
	g := p.graph
	p.ways = make([]way, len(g.Leaves))
	for i := range p.ways {
		p.ways[i] = way{-1, -1, -1, -1}
	}
	user := make([]int32, len(g.Nodes)) // a value that is made of it
	for i := range user {
		user[i] = -1
	}
	for n := range g.Nodes {
		for _, e := range g.Uses(int32(n)) {
			switch {
			case e.Kind != lineage.ByValue:
			case !e.Leaf:
				if user[e.To] < 0 {
					user[e.To] = int32(n)
				}
			case p.ways[e.To].read < 0:
				p.ways[e.To].read = int32(n)
			}
		}
	}
	for i := range p.ways {
		w := &p.ways[i]
		if w.read < 0 {
			continue
		}
		for n := user[w.read]; n >= 0; n = user[n] {
			in := p.instr(n)
			switch k := in.Kind(); {
			case w.then < 0 && (k == isa.Load || k == isa.LoadFragment || k == isa.LoadMatrix) &&
				in.Space() != ptx.SpaceParam:
				w.then = n
			case w.hand < 0 && (k == isa.Shuffle || k == isa.Vote):
				w.hand = n
			case w.user < 0 && (k == isa.Arith || k == isa.Multiply || k == isa.Special):
				w.user = n
			}
		}
	}
}

func (p *part) instr(n int32) *ptx.Instr { return p.trace.Step(int(p.graph.Nodes[n].Step)).Instr }

func (p *part) place(n int32) *Place {
	r := p.graph.Nodes[n]
	s := p.trace.Step(int(r.Step))
	return &Place{
		Source: target.Blame(s.Func, s.Instr.Index), Block: p.block, Warp: s.Warp, Lane: int(r.Lane),
	}
}

// takes reports whether the instruction of a value, or a copy that the compiler made of it, reads an element
// in some thread of the block; -1: any instruction.
func (p *part) takes(n int32, e Element) bool {
	at := ""
	if n >= 0 {
		s := p.trace.Step(int(p.graph.Nodes[n].Step))
		at = line(s.Func, s.Instr)
	}
	list, known := p.trace.reads[at]
	if !known {
		list = p.trace.readBy(at)
		p.trace.reads[at] = list
	}
	return list[e]
}

// line is what copies of one instruction have in common.
func line(f *ptx.Func, in *ptx.Instr) string {
	b := target.Blame(f, in.Index)
	return fmt.Sprint(b.File, ":", b.Line, " ", in.Op)
}

// readBy lists what the instructions of a line read in any thread of the block; "": all instructions.
func (t *record) readBy(at string) map[Element]bool {
	out := map[Element]bool{}
	same := map[*ptx.Instr]bool{}
	for i := range t.Len() {
		s := t.Step(i)
		is, known := same[s.Instr]
		if !known {
			is = s.Instr.Index < len(s.Func.Body) && (at == "" || line(s.Func, s.Instr) == at)
			same[s.Instr] = is
		}
		if !is {
			continue
		}
		for lane := range uint8(32) {
			if s.Mask>>lane&1 != 0 {
				t.Reads(i, int(lane), func(l *lineage.Leaf) {
					if l.Kind == lineage.LeafElement {
						out[Element{l.Arg, l.Element}] = true
					}
				})
			}
		}
	}
	return out
}
