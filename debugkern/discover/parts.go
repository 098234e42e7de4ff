package discover

import (
	"maps"
	"slices"

	"tilescope/debugkern/isa"
)

// findParts finds registers among which a row's running sum is divided: lanes that each have the sum over
// keys of their own, which together are all.
func (s *study) findParts() (*Stage, []*candidate, int, error) {
	parts := 0
	st, chosen, err := s.chosen(&search{
		late: true, want: (*study).perRow, list: func(s *study, x *search) []*candidate {
			found, n := s.listParts(x)
			parts = max(parts, n)
			return found
		},
	})
	return st, chosen, parts, err
}

// listParts is the candidates of one block, and among how many lanes they divide a row.
func (s *study) listParts(x *search) (list []*candidate, parts int) {
	var open []*candidate
	want := x.want(s)
	rowBy := map[int32]int{}
	for r := range s.refs {
		for _, ref := range s.refs[r] {
			if ref != 0 {
				rowBy[ref] = r
			}
		}
	}
	for _, pc := range slices.Sorted(maps.Keys(s.r.sites)) {
		st := s.r.sites[pc]
		if kind := s.f.Body[pc].Kind(); st.impure || st.frag != nil || kind.Updates() || kind == isa.Convert {
			continue
		}
		by := map[int]*candidate{}
		// by destination: by row, execution and maximum, what the lanes have together
		sums := map[int]map[[3]int]cover{}
		refs := map[[3]int]int32{}
		for i := range st.events {
			e := &st.events[i]
			a := &s.d.atoms[e.atom]
			c := by[int(e.dest)]
			if c == nil {
				c = &candidate{
					pc: pc, dest: int(e.dest), whole: true, coef: float64(e.coef), summed: true,
					rest: st.others,
				}
				by[int(e.dest)], sums[int(e.dest)] = c, map[[3]int]cover{}
			}
			row, ok := rowBy[a.ref]
			if a.kind != power || !ok || a.ref2 != 0 || a.alpha != s.alpha || !near(c.coef, float64(e.coef)) {
				c.whole = false
				continue
			}
			at := [3]int{row, int(e.n), int(a.ref)}
			sum := sums[int(e.dest)][at]
			sum.n, sum.sum = sum.n+a.n, sum.sum+a.sum
			sums[int(e.dest)][at], refs[at] = sum, a.ref
			c.spots = append(c.spots, spot{
				warp: int(e.warp), lane: int(e.lane), n: int(e.n), e: int(e.part), row: row,
			})
		}
		for _, dest := range slices.Sorted(maps.Keys(by)) {
			c := by[dest]
			if !c.whole {
				continue
			}
			lanes := map[[2]int]int{}
			for i := range c.spots {
				sp := &c.spots[i]
				lanes[[2]int{sp.row, sp.n}]++
				found := false
				for at, sum := range sums[dest] {
					if at[0] != sp.row || at[1] != sp.n {
						continue
					}
					p, ok := s.expect[sum]
					if found = ok && p.row == sp.row && s.refs[p.row][p.first] == refs[at]; found {
						sp.first, sp.last = p.first, p.last
					}
					break
				}
				c.whole = c.whole && found
			}
			if !c.whole {
				continue
			}
			for _, n := range lanes {
				c.lanes = max(c.lanes, n)
			}
			list, open = s.sort(x, c, want, list, open)
		}
	}
	list = s.guided(x, open, want, list)
	for _, c := range list {
		parts = max(parts, c.lanes)
	}
	return list, parts
}
