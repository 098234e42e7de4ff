package debugkern

import (
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// A sum in registers that is not set to 0 before it begins goes on from the sum before it: the C of a matrix
// product, or the register that a sum is added to. Nothing is then wrong with the index of what comes in so.

// Carried is a sum that goes on from an earlier one of the same line of the source.
type Carried struct {
	At   *report.Source // what adds to it
	Used *report.Source // what takes the earlier sum, as finished
}

// addressed notes which instruction's address foreign operands come in by. The address is not what is wrong
// where another instruction than a read picks them, nor need it be where the thread has what belongs there
// as well and something behind the read may choose between the two.
func (c *contrast) addressed(o *Operands, a *actual, missing []operandKey) {
	s, ok := a.of[o.first]
	if !ok || o.by < 0 || !c.fn.Body[o.by].Kind().Reads() {
		return
	}
	at := slices.Index(s.way, o.by)
	if at < 0 {
		return
	}
	chooses := len(c.copiesOf(o.by)) > 1 || slices.ContainsFunc(s.way[at+1:], func(i int) bool {
		k := c.fn.Body[i].Kind()
		return k == isa.Select || k == isa.Shuffle
	})
	if chooses {
		n := a.g.Nodes[s.nodes[at]]
		own := thread{c.trace.Step(int(n.Step)).Warp, n.Lane}
		takes := func(t taking) bool { return t.thread == own }
		for _, m := range missing {
			if m.stage == o.first.stage && m.arg == o.first.arg &&
				slices.ContainsFunc(c.takenIn(o.by)[m], takes) {
				return
			}
		}
	}
	o.Access = []int{o.by}
}

// copiesOf lists the instructions that the compiler made of the operation of the source that one is.
func (c *contrast) copiesOf(instr int) []int {
	var out []int
	for i := range c.fn.Body {
		if c.alike(i, instr) {
			out = append(out, i)
		}
	}
	return out
}

// carried finds the sum by which all foreign operands come in, where it goes on from a sum of the same line
// that something else takes as finished; nil where there is none.
func (c *contrast) carried(a *actual, foreign []operandKey) *Carried {
	right := map[int32]bool{}
	for k, s := range a.of {
		if !slices.Contains(foreign, k) {
			for _, n := range s.nodes {
				right[n] = true
			}
		}
	}
	var out *Carried
	for _, k := range foreign {
		s := a.of[k]
		at := slices.IndexFunc(s.nodes, func(n int32) bool { return right[n] })
		if at < 1 || !computes(c.fn.Body[s.way[at]].Kind()) || !c.alike(s.way[at-1], s.way[at]) {
			return nil
		}
		used := c.takenBesides(s.way[at-1])
		if used < 0 {
			return nil
		}
		out = &Carried{
			At:   report.SourceOf(target.Blame(c.fn, s.way[at])),
			Used: report.SourceOf(target.Blame(c.fn, used)),
		}
	}
	if out == nil || out.At == nil || out.Used == nil {
		return nil
	}
	return out
}

// takenBesides is the first instruction, none of a probe, that reads the result of one and is no copy of it;
// -1 where there is none.
func (c *contrast) takenBesides(instr int) int {
	made := c.fn.Body[instr].Dests(nil)
	for i, in := range c.fn.Body {
		if in.Loc.Within(target.IsProbe) || c.alike(i, instr) {
			continue
		}
		var reads, writes []int32
		cfg.Uses(in, &reads, &writes)
		if slices.ContainsFunc(reads, func(r int32) bool { return slices.Contains(made, r) }) {
			return i
		}
	}
	return -1
}
