package diagnose

import (
	"fmt"
	"regexp"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/needed"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// What an online softmax carries from one tile to the next is multiplied by the exponential of a difference
// of two maxima. The factor of the tile before has the maximum of this tile in it nowhere.

// rescaling matches what a stage carries on in a formula of the manifest, and the maxima of its factor.
var rescaling = regexp.MustCompile(`^(\w+ of the previous tile)\*exp\((\w+ of the previous tile) - (\w+)\)`)

// rescaledLate makes the multiplication the place of a suspect whose wrong cells all carry on what is
// multiplied by the factor of an earlier tile; false where they do not.
func (q *inquiry) rescaledLate(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	sp := q.run.Plan.Stage(st)
	if sp == nil || sp.Op == nil {
		return false, nil
	}
	m := rescaling.FindStringSubmatch(debugkern.Formula(sp.Op))
	if m == nil {
		return false, nil
	}
	tiles, err := q.formed(st, b)
	if err != nil || len(tiles) == 0 {
		return false, err
	}
	fn := q.run.Entry()
	var at, made *report.Source
	for i := range tiles[0] {
		c := &tiles[0][i]
		if !c.Wrong {
			continue
		}
		product, factor := factorOfLeaf(c, m[1])
		if product < 0 {
			return false, nil
		}
		of := leavesOf(c, factor)
		src := blame(fn, c.Values[product].At)
		if src == nil || at != nil && at.At() != src.At() || !slices.Contains(of, m[2]) ||
			slices.Contains(of, m[3]) {
			return false, nil
		}
		at, made = src, blame(fn, c.Values[factor].At)
	}
	if at == nil {
		return false, nil
	}
	says := fmt.Sprintf("%s is multiplied at %s by a factor in which %s of this tile has no part", m[1],
		callText(at), m[3])
	s.cause.Advice = fmt.Sprintf("multiply at %s by exp(%s - %s), behind where %s of this tile is computed",
		callText(at), m[2], m[3], m[3])
	if made != nil && made.At() != at.At() {
		says += "; it is made at " + lineText(made, at)
		s.cause.Place.Other = made
	}
	s.because(says)
	s.cause.Place.Source = at
	s.cause.Advice = q.citing(s.cause.Advice, ": ", at) + q.seeFirst(st)
	return true, nil
}

// factorOfLeaf finds the product of which a value that nothing more is followed of is a factor, maybe through
// moves, and the other factor, as indices in Values; -1, -1 where there is none.
func factorOfLeaf(c *needed.Cell, name string) (product, factor int) {
	at := slices.IndexFunc(c.Values, func(v needed.Value) bool { return v.Name == name })
	for range c.Values {
		if at < 0 {
			break
		}
		user := slices.IndexFunc(c.Values, func(v needed.Value) bool {
			return slices.ContainsFunc(v.Operands, func(o needed.Operand) bool { return o.Value == at })
		})
		if user < 0 {
			break
		}
		v := &c.Values[user]
		if (v.Instr.Op == "mul" || v.Instr.Op == "fma") && len(v.Operands) >= 2 && v.At >= 0 {
			for _, o := range v.Operands[:2] {
				if o.Value != at {
					return user, o.Value
				}
			}
		}
		if !v.Moves() {
			break
		}
		at = user
	}
	return -1, -1
}

// leavesOf lists the names of what a value of a cell is made of.
func leavesOf(c *needed.Cell, value int) (names []string) {
	seen, open := map[int]bool{value: true}, []int{value}
	for len(open) > 0 {
		v := &c.Values[open[0]]
		open = open[1:]
		if v.Name != "" {
			names = append(names, v.Name)
		}
		for _, o := range v.Operands {
			if !seen[o.Value] {
				seen[o.Value] = true
				open = append(open, o.Value)
			}
		}
	}
	return names
}
