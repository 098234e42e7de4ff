package debugkern

import (
	"context"
	"fmt"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// StoredAway is how a block stores a tile of the output where another tile belongs.
type StoredAway struct {
	At           *report.Source // the first store
	First, Where string         // the first element that is stored, and the first that should be, by name
	// Steps are how far it is from one row to the next, and how far the first element moves from this block
	// to the next along an axis of the grid, where that is not as far as it should
	Steps []Step
}

// StoredAway looks whether a block stores as many elements of the output that a stage is taken from as it
// should, all of them equally far from where they belong, or in rows that are equally far from each other.
// nil where it does not. Errors are those of Lineage.
func (r *Run) StoredAway(ctx context.Context, stage probes.Stage, block probes.Dim3) (*StoredAway, error) {
	sp := r.Plan.Stage(stage)
	if r.state == nil || sp == nil || sp.Capture.Kind != probes.CaptureOutput || sp.OfLaunch() {
		return nil, nil
	}
	arg := r.Plan.Arg(sp.Capture.Output)
	stores := r.globalStores()
	if arg.Strides != nil || len(stores) == 0 {
		return nil, nil
	}
	is, should, at, err := r.storedBy(ctx, sp, arg, block, stores)
	if err != nil {
		return nil, err
	}
	by, ok := distance(is, should)
	rows := rowStep(is, should, arg.Name)
	if (!ok || by == 0) && rows == nil {
		return nil, nil
	}
	name := func(at int) string { return arg.Name + lineage.Box(arg.Dims, []int{at}) }
	out := &StoredAway{
		At: report.SourceOf(target.Blame(r.Entry(), at)), First: name(is[0]), Where: name(should[0]),
	}
	if rows != nil {
		out.Steps = append(out.Steps, *rows)
	}
	for axis := range 3 {
		step, err := r.storeStep(ctx, sp, arg, block, stores, axis, is[0], should[0])
		if err != nil {
			return nil, err
		}
		if step != nil {
			out.Steps = append(out.Steps, *step)
		}
	}
	return out, nil
}

// storeStep compares how far the first element moves to a neighbour along an axis of the grid; nil where
// that is as far as it should, or there is no neighbour.
func (r *Run) storeStep(
	ctx context.Context, sp *probes.StagePlan, arg *probes.Arg, b probes.Dim3, stores []int,
	axis, is, should int,
) (*Step, error) {
	for _, by := range []int{1, -1} {
		to := b
		if to[axis] += by; to[axis] < 0 || !slices.Contains(r.Blocks(), to) {
			continue
		}
		there, belong, _, err := r.storedBy(ctx, sp, arg, to, stores)
		if err != nil || len(there) == 0 || len(belong) == 0 {
			return nil, err
		}
		s := &Step{
			Of: arg.Name, Along: fmt.Sprintf("blockIdx.%c", "xyz"[axis]), By: 1, Got: by * (there[0] - is),
			Want: by * (belong[0] - should),
		}
		if s.Got == s.Want {
			return nil, nil
		}
		return s, nil
	}
	return nil, nil
}

// globalStores lists the instructions of the entry that write memory outside the block.
func (r *Run) globalStores() []int {
	var out []int
	for i, in := range r.Entry().Body {
		if in.Kind().Writes() && in.Space() != ptx.SpaceShared && !in.Loc.Within(target.IsProbe) {
			out = append(out, i)
		}
	}
	return out
}

// storedBy lists the elements of an argument that a block stores, and those that it should, in order, with
// the instruction that stores the first; no elements where not all that it stores is known.
func (r *Run) storedBy(
	ctx context.Context, sp *probes.StagePlan, arg *probes.Arg, block probes.Dim3, stores []int,
) (is, should []int, first int, err error) {
	list, all, err := r.Reaches(ctx, block, stores)
	if err != nil || !all {
		return nil, nil, -1, err
	}
	size := max(1, arg.DType.Size())
	least := -1
	for _, x := range list {
		if x.Base != arg.Name {
			continue
		}
		in := r.Entry().Body[x.At]
		for k := range max(1, in.Type().Bytes()*in.Vec()/size) {
			at := int(x.Offset)/size + k
			if is = append(is, at); least < 0 || at < least {
				least, first = at, x.At
			}
		}
	}
	slices.Sort(is)
	is = slices.Compact(is)
	tile := sp.InArgument(block, 0)
	for row := range tile.Rows {
		for col := range tile.Cols {
			should = append(should, arg.Place(tile.Element(row, col)))
		}
	}
	slices.Sort(should)
	return is, should, first, nil
}

// rowStep compares how far rows of elements, or single elements, are from each other with how far they should
// be; nil where the
// elements are no rows of the same length and number, or are as far.
func rowStep(is, should []int, arg string) *Step {
	length, step, ok := evenRows(is)
	want, by, even := evenRows(should)
	if !even { // the rows touch: one run
		want, by, even = length, length, len(should) > 0 && should[len(should)-1]-should[0] == len(should)-1
	}
	if !ok || !even || len(is) != len(should) || length != want || step == by {
		return nil
	}
	along := "row"
	if length == 1 {
		along = "element"
	}
	return &Step{Of: arg, Along: along, By: 1, Got: step, Want: by}
}

// evenRows reports whether ascending numbers are runs of consecutive ones, several, all of one length and one
// distance.
func evenRows(list []int) (length, step int, ok bool) {
	var starts []int
	for i, at := range list {
		if i == 0 || at != list[i-1]+1 {
			starts = append(starts, i)
		}
	}
	if len(starts) < 2 {
		return 0, 0, false
	}
	length, step = starts[1], list[starts[1]]-list[0]
	for k, at := range starts {
		end := len(list)
		if k+1 < len(starts) {
			end = starts[k+1]
		}
		if end-at != length || k > 0 && list[at]-list[starts[k-1]] != step {
			return 0, 0, false
		}
	}
	return length, step, true
}
