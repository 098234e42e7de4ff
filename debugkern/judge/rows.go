package judge

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/probes"
)

// rowSet is the rows of a stage's tiles that have bad cells, in whichever tile, and how many
// rows were looked at.
type rowSet struct {
	bad    []bool
	judged int
}

func (s *rowSet) add(row int) {
	if row >= len(s.bad) {
		s.bad = append(s.bad, make([]bool, row+1-len(s.bad))...)
	}
	s.bad[row] = true
}

func (s *rowSet) merge(o *rowSet) {
	s.judged = max(s.judged, o.judged)
	for r, bad := range o.bad {
		if bad {
			s.add(r)
		}
	}
}

// text says in which rows all bad cells are and which warps have those; "" where rows of more than half of
// the warps are among them. Which warp has a row is not known here, so it is said on condition: the shares of
// warps that divide a tile's rows evenly.
func (s *rowSet) text(sp *probes.StagePlan, warps int) string {
	if warps < 2 || sp.Rows%warps != 0 || !slices.Contains(s.bad, true) {
		return ""
	}
	per := sp.Rows / warps
	var names []string
	share := make([]bool, (s.judged+per-1)/per)
	for r, bad := range s.bad {
		if bad && !share[r/per] {
			share[r/per] = true
			names = append(names, fmt.Sprint(r/per))
		}
	}
	if 2*len(names) > len(share) {
		return ""
	}
	rows, who := ranges(s.bad), "warp "+names[0]+"'s"
	if len(rows) > 4 {
		rows = append(rows[:3], fmt.Sprintf("%d more places", len(rows)-3))
	}
	if len(names) > 1 {
		who = "those of warps " + list(names)
	}
	head := "row "
	if len(rows) > 1 || strings.Contains(rows[0], " ") {
		head = "rows "
	}
	each := fmt.Sprintf("%d rows", per)
	if per == 1 {
		each = "one row"
	}
	return fmt.Sprintf("%s%s of the tile alone (%s, if each of %d warps has %s)", head, list(rows),
		who, warps, each)
}

// ranges writes the runs of set positions: "8 to 15".
func ranges(set []bool) []string {
	var out []string
	for i := 0; i < len(set); i++ {
		if !set[i] {
			continue
		}
		first := i
		for i+1 < len(set) && set[i+1] {
			i++
		}
		if i == first {
			out = append(out, fmt.Sprint(first))
		} else {
			out = append(out, fmt.Sprintf("%d to %d", first, i))
		}
	}
	return out
}

// list writes "a, b and c".
func list(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
