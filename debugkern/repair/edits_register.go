package repair

import (
	"cmp"
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// A line may use the wrong variable: another size of the launch, another index. The right one can be computed
// far from the line. The register values at the time when the line is executed narrow the search: a register
// with the same value as the one in use changes nothing, and of several registers with equal values only one
// is tried. A variable that the source line names once is replaced in all instructions compiled from that
// line.

// How much is asked of the block's registers, and how many of them are tried.
const (
	mostUsed     = 64  // variables of a line in the place of which others are tried
	mostKept     = 384 // registers that are looked at
	mostStandIns = 112 // trials
	leastStandIn = 32
	sizesApart   = 16 // a value that is that many times larger or smaller is no other index
)

// InPlace is Cure.Taken where a value is taken in the place of another.
const InPlace = "in place of"

// instead is how a value is taken: in place of another, or added to it or subtracted from it.
type instead struct {
	op    string // of the PTX; "": in place
	text  string // with a place for where the value is computed
	taken string // what it does, in words
	worth int    // how much later it is tried
	most  int    // how many values are tried that way in the place of one
}

var (
	inPlace = instead{"", "the result of %s in place of an operand", InPlace, 0, 12}
	added   = instead{"add", "the result of %s added to an operand", "added to", 8, 6}
	ways    = []instead{
		inPlace, added, {"sub", "the result of %s subtracted from an operand", "subtracted from", 24, 4},
	}
)

// standIns lists other integers of the kernel in place of those that lines use, grouped by their values:
// each group lists its likeliest member first.
func (s *search) standIns() ([][]candidate, error) {
	m := s.menu
	uses := m.integerUses()
	index, samples, err := s.sampled(uses)
	if err != nil {
		return nil, err
	}
	var out [][]candidate
	for _, u := range uses {
		near := u.near
		if len(m.addresses) > 0 && m.fn.Body[u.at].Kind() == isa.Compare {
			near = 0 // the condition of an access
		}
		for _, how := range ways {
			if how != inPlace && !m.scaled(u) {
				continue
			}
			for rank, class := range m.classes(u, how, index, samples[u.at]) {
				var list []candidate
				for _, x := range class {
					if c, ok := m.standing(u, x.def, how); ok {
						c.rank = near/2 + 5*rank + how.worth + 8*x.kin
						list = append(list, c)
					}
				}
				if len(list) > 0 {
					out = append(out, list)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b []candidate) int { return cmp.Compare(a[0].rank, b[0].rank) })
	return out, nil
}

// sampled reads the block's register values at some uses: samples by instruction, in which a register has
// the number that index says. It notes what else each use could be of.
func (s *search) sampled(uses []*use) (
	index map[int32]int, samples map[int][]debugkern.Sample, err error,
) {
	m, defs := s.menu, s.menu.integers()
	if len(uses) == 0 {
		return nil, nil, nil
	}
	var regs []int32
	index = map[int32]int{}
	note := func(r int32) {
		if _, there := index[r]; !there {
			index[r] = len(regs)
			regs = append(regs, r)
		}
	}
	var at []int
	for _, u := range uses {
		at = append(at, u.at)
		for _, d := range defs {
			if d, there := m.nearestCopy(d, u.at); there && len(regs) < mostKept {
				u.others = append(u.others, d)
				note(m.fn.Body[d].Args[0].Reg)
			}
		}
		for k := range m.fn.Body[u.at].Args {
			if o := &m.fn.Body[u.at].Args[k]; k > 0 && o.Kind == ptx.OpReg {
				note(o.Reg)
			}
		}
	}
	all, err := s.run.Sampled(s.ctx, s.q.Block, at, regs)
	if err != nil {
		if s.ctx.Err() != nil || debugkern.OutOfMemory(err) {
			return nil, nil, err
		}
		return nil, nil, nil // the block cannot be executed to its end: nothing is known of its registers
	}
	samples = map[int][]debugkern.Sample{}
	for _, x := range all {
		samples[x.At] = append(samples[x.At], x)
	}
	return index, samples, nil
}

// standInsTried tries them: of each class one, and the others where that one is a cure that was not
// confirmed.
func (s *search) standInsTried(each uint64) error {
	classes, err := s.standIns()
	if err != nil {
		return err
	}
	var first []candidate
	for n := range classes {
		classes[n][0].class = n + 1
		first = append(first, classes[n][0])
	}
	s.out.Candidates += len(first)
	s.left = int(min(mostStandIns, max(leastStandIn, warpInstructions/max(1, each))))
	s.earlier = len(s.out.Cures)
	err = s.all(first)
	if err == nil && s.q.Quick {
		err = s.all(s.promising())
	}
	if err != nil || s.confirmed() {
		return err
	}
	var others []candidate
	for _, n := range s.unconfirmed {
		others = append(others, classes[n-1][1:]...)
	}
	return s.all(others)
}

// standing is what another instruction gives in the place of what a line uses, added to it or taken from it,
// wherever the line uses that: in each instruction what the nearest copy of the other gives. ok is false
// where one has none.
func (m *menu) standing(u *use, def int, how instead) (c candidate, ok bool) {
	c = candidate{
		kind: Operand, text: fmt.Sprintf(how.text, m.places[def]), taken: how.taken,
		given: m.describe(m.fn.Body[def].Args[0].Reg), gave: m.describe(u.reg),
	}
	if other := m.summandOf(def, u.reg); how == inPlace && other >= 0 {
		c.given, c.taken = m.describe(other), added.taken
		c.text = fmt.Sprintf(added.text, m.places[def])
	} else if how == inPlace {
		c.from, c.to = c.gave.Name, c.given.Name
	}
	for n := 0; n < len(u.all); {
		at := u.all[n].at
		d, there := m.nearestCopy(def, at)
		if !there || d == at {
			return c, false
		}
		edit := m.taking(at, m.fn.Body[d].Args[0].Reg, m.fn.Body[at].Args[u.all[n].arg].Reg, how)
		now := m.fn.Body[at].With(func(in *ptx.Instr) {
			for ; n < len(u.all) && u.all[n].at == at; n++ {
				in.Args[u.all[n].arg].Reg = edit.reg
			}
		})
		c.edits = append(append(c.edits, edit.before...), ptx.Edit{
			Kind: ptx.Replace, Func: m.fn.Name, At: at, New: now, Fresh: edit.fresh,
		})
	}
	return c, len(c.edits) > 0
}

// ready is what makes a register ready for an instruction.
type ready struct {
	before []ptx.Edit
	fresh  []ptx.Type
	reg    int32 // to be used there
}

// taking makes a value ready that an instruction takes in place of one that it has, which may be wider, or
// with it.
func (m *menu) taking(at int, r, was int32, how instead) (t ready) {
	from, to := m.fn.Regs[r].Type.Bits(), m.fn.Regs[was].Type.Bits()
	if t.reg = r; from == to && how == inPlace {
		return t
	}
	t.fresh = []ptx.Type{ptx.B32, ptx.B32, ptx.B64, ptx.B64}
	next := int32(len(m.fn.Regs))
	if to == 64 {
		next += 2
	}
	insert := func(op string, mods []string, args ...int32) {
		in := &ptx.Instr{Op: op, Mods: mods}
		for _, a := range args {
			in.Args = append(in.Args, ptx.RegisterOf(a))
		}
		t.before = append(t.before, ptx.Edit{
			Kind: ptx.Insert, Func: m.fn.Name, At: at, New: in, Fresh: t.fresh,
		})
		t.reg = args[0]
	}
	if from != to {
		insert("cvt", []string{fmt.Sprintf("s%d", to), fmt.Sprintf("s%d", from)}, next, r)
	}
	if how != inPlace {
		insert(how.op, []string{fmt.Sprintf("s%d", to)}, next+1, was, t.reg)
	}
	return t
}
