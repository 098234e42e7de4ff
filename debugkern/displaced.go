package debugkern

import (
	"context"
	"maps"
	"slices"

	"tilescope/probes"
)

// Displacement is how far from where they belong the elements of an argument lie that a cell is made of: all
// of them equally far.
type Displacement struct {
	Arg   string
	By    int   // elements from those that are read to those that belong there
	Size  int   // bytes of an element
	Reads []int // instructions of the entry that read them
}

// Displaced says by how much the elements that a cell of a stage is made of are displaced in the argument
// that they are read from; nil where they are not, or not all equally. Errors are those of Lineage.
func (r *Run) Displaced(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv, row, col int,
) (*Displacement, error) {
	c, err := r.contrast(ctx, stage, block, kv)
	if err != nil || c == nil {
		return nil, err
	}
	e, ok := c.expect(row, col)
	if !ok {
		return nil, nil
	}
	at, err := c.x.at(c.trace, row, col)
	if err != nil {
		return nil, err
	}
	a, err := c.actual(ctx, at, false)
	if err != nil || a == nil {
		return nil, err
	}
	are, belong := map[int][]int{}, map[int][]int{} // elements by argument
	reads := map[int]map[int]bool{}
	for k, s := range a.of {
		if k.stage >= 0 {
			continue
		}
		are[k.arg] = append(are[k.arg], k.at)
		if reads[k.arg] == nil {
			reads[k.arg] = map[int]bool{}
		}
		if s.instr >= 0 {
			reads[k.arg][s.instr] = true
		}
	}
	for k := range e.element {
		belong[k.arg] = append(belong[k.arg], k.at)
	}
	for _, arg := range slices.Sorted(maps.Keys(are)) {
		by, ok := distance(are[arg], belong[arg])
		if !ok || by == 0 || len(reads[arg]) == 0 {
			continue
		}
		b := c.x.st.launch.Args[arg]
		return &Displacement{
			Arg: b.Name, By: by, Size: max(1, b.Buffer.DType.Size()),
			Reads: slices.Sorted(maps.Keys(reads[arg])),
		}, nil
	}
	return nil, nil
}

// distance is how far every one of to lies from its counterpart in from, where all are equally far.
func distance(from, to []int) (int, bool) {
	if len(from) == 0 || len(from) != len(to) {
		return 0, false
	}
	slices.Sort(from)
	slices.Sort(to)
	by := to[0] - from[0]
	for i := range from {
		if to[i]-from[i] != by {
			return 0, false
		}
	}
	return by, true
}
