package debugkern

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// entering is how an operand of a type enters.
func (c *contrast) entering(ways uint64, r reader, t probes.DType) seen {
	s := seen{ways, r.instr, r.then, r.user, r.lanes, 1}
	if r.instr >= 0 {
		switch in := c.fn.Body[r.instr]; {
		case in.Kind() == isa.Load:
			s.each = max(1, in.Type().Bytes()*in.Vec()/max(1, t.Size()))
		case in.Kind() == isa.CopyAsync && len(in.Args) > 2 && in.Args[2].Kind == ptx.OpInt:
			s.each = max(1, int(in.Args[2].Imm)/max(1, t.Size()))
		}
	}
	return s
}

// reader is the way of a leaf into the cell: the instruction that reads it, the next one that reads from
// memory what was made of it, the first that computes with it, and the first that hands it to another lane;
// -1 where there is none in the entry's own code.
type reader struct{ instr, then, user, lanes int }

// readers finds the way of every leaf.
func (c *contrast) readers(g *lineage.Graph) []reader {
	out, by := make([]reader, len(g.Leaves)), make([]int32, len(g.Leaves))
	for i := range out {
		out[i], by[i] = reader{-1, -1, -1, -1}, -1
	}
	user := make([]int32, len(g.Nodes)) // a node that is made of it
	for i := range user {
		user[i] = -1
	}
	for n := range g.Nodes {
		for _, e := range g.Uses(int32(n)) {
			switch {
			case !e.Leaf:
				if user[e.To] < 0 {
					user[e.To] = int32(n)
				}
			case by[e.To] < 0 && c.own(g, int32(n)):
				by[e.To] = int32(n)
			}
		}
	}
	for i, n := range by {
		for first := true; n >= 0; n, first = user[n], false {
			in := c.trace.Step(int(g.Nodes[n].Step)).Instr
			if !c.own(g, n) {
				continue
			}
			k := in.Kind()
			switch {
			case first:
				out[i].instr = in.Index
			case out[i].then < 0 && (k == isa.Load || k == isa.LoadFragment || k == isa.LoadMatrix) &&
				in.Space() != ptx.SpaceParam:
				out[i].then = in.Index
			}
			if out[i].lanes < 0 && (k == isa.Shuffle || k == isa.Vote) {
				out[i].lanes = in.Index
			}
			if out[i].user < 0 && (k == isa.Arith || k == isa.Multiply || k == isa.Special) {
				out[i].user = in.Index
			}
		}
	}
	return out
}

// own reports whether a value was made by the entry's own code, and not by a probe.
func (c *contrast) own(g *lineage.Graph, n int32) bool {
	s := c.trace.Step(int(g.Nodes[n].Step))
	return s.Func.Entry && !s.Instr.Loc.Within(target.IsProbe)
}

// anyRead is an instruction for takes: all that read memory.
const anyRead = -1

// takes reports whether an instruction, or a copy that the compiler made of it, takes an operand in some
// thread of the block.
func (c *contrast) takes(instr int, k operandKey) bool {
	line := func(i int) string {
		b := target.Blame(c.fn, i)
		return fmt.Sprint(b.File, b.Line, c.fn.Body[i].Op)
	}
	at := ""
	if instr != anyRead {
		at = line(instr)
	}
	list, known := c.taken[at]
	if known {
		return list[k]
	}
	same := make([]bool, len(c.fn.Body))
	for i, in := range c.fn.Body {
		if instr == anyRead {
			same[i] = in.Kind().Reads() && !in.Loc.Within(target.IsProbe)
		} else {
			same[i] = in.Op == c.fn.Body[instr].Op && line(i) == at
		}
	}
	list = c.takenBy(same)
	c.taken[at] = list
	return list[k]
}

// takenBy lists what instructions of the entry take in any thread of the block.
func (c *contrast) takenBy(instr []bool) map[operandKey]bool {
	out := map[operandKey]bool{}
	for i := range c.trace.Len() {
		s := c.trace.Step(i)
		if !s.Func.Entry || !instr[s.Instr.Index] {
			continue
		}
		size := uint8(max(1, min(8, s.Instr.Type().Bytes())))
		for lane := range uint8(32) {
			if s.Mask>>lane&1 == 0 {
				continue
			}
			for _, u := range c.trace.Uses(lineage.Ref{Step: uint32(i), Lane: lane, N: size}, false, false) {
				if u.Leaf == nil {
					if id, ok := c.cut(u.Ref); ok {
						for _, k := range c.lists[id] {
							out[k] = true
						}
					}
				} else if u.Leaf.Kind == lineage.LeafElement {
					out[operandKey{stage: -1, arg: u.Leaf.Arg, at: u.Leaf.Element}] = true
				}
			}
		}
	}
	return out
}

// lost is the instruction by which an operand is lost, where others come in another way: the one that reads
// them, unless it reads that one as well; then the one that hands them on.
func (c *contrast) lost(other seen, missing operandKey) int {
	if other.instr < 0 || !c.takes(other.instr, missing) {
		return other.instr
	}
	for _, next := range []int{other.lanes, other.then, other.user} {
		if next >= 0 {
			return next
		}
	}
	return other.instr
}

// departs is the instruction by which a foreign operand comes in, where others are missing: the
// one that reads it, unless it reads the missing one as well. Then it is the one that reads next
// what was made of both.
func (c *contrast) departs(k operandKey, s seen, missing []operandKey) int {
	all := missing
	missing = slices.DeleteFunc(slices.Clone(missing), func(m operandKey) bool {
		return m.stage != k.stage || m.arg != k.arg
	})
	together := slices.ContainsFunc(missing, func(m operandKey) bool {
		return s.each > 1 && m.iter == k.iter && m.at/s.each == k.at/s.each
	})
	switch {
	case s.instr < 0 || len(all) == 0:
	// both were read: which of them is taken is decided later
	case len(missing) == 0 && c.takes(anyRead, all[0]):
		if s.then >= 0 {
			return s.then
		}
		return max(s.user, s.instr)
	case len(missing) == 0:
	case s.then >= 0 && (together || c.takes(s.instr, missing[0])):
		return s.then
	case together && s.user >= 0:
		return s.user
	}
	return s.instr
}
