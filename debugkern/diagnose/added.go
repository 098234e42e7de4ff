package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// An output that several blocks add to is no sum of one block's: what can be seen is which elements each
// block adds to, and how often. A block that has a part for every row adds to each row once.

// additions is how often a block adds to the elements of an output.
type additions struct {
	block probes.Dim3
	times map[int]int // by element
	at    map[int]*report.Source
	whole bool // all additions are known, and not the first of them alone
}

// added says of an output that the kernel adds to which of its rows a block adds to more than once, or never;
// false where each is added to once, or the accesses are not known.
func (q *inquiry) added(s *suspect, st probes.Stage) (bool, error) {
	sp, doc := q.run.Plan.Stage(st), q.doc.Stage(st.String())
	if sp == nil || sp.Capture.Kind != probes.CaptureOutput || doc == nil || doc.FirstBad == nil {
		return false, nil
	}
	a := q.run.Plan.Arg(sp.Capture.Output)
	var list []int
	for i, in := range q.run.Entry().Body {
		if in.Kind().Updates() && !in.Loc.Within(target.IsProbe) {
			list = append(list, i)
		}
	}
	if a == nil || len(a.Dims) < 2 || a.Strides != nil || len(list) == 0 {
		return false, nil
	}
	var most *additions
	all := map[int]bool{} // the elements that some block adds to
	first, n := doc.FirstBad.Block, 0
	for _, block := range q.base.Blocks() {
		if block[1] != first[1] || block[2] != first[2] {
			continue // of another matrix
		}
		if n++; n > mostAdding {
			return false, nil
		}
		x, err := q.additionsOf(block, list, a)
		if err != nil {
			return false, err
		}
		if x == nil {
			continue
		}
		for e := range x.times {
			all[e] = true
		}
		if most == nil || len(x.times) > len(most.times) {
			most = x
		}
	}
	return most != nil && q.blameAdditions(s, most, a, all), nil
}

// mostAdding is how many blocks may add to one matrix for it to be asked what each adds to.
const mostAdding = 16

// additionsOf counts a block's additions to an output; nil where it has none.
func (q *inquiry) additionsOf(block probes.Dim3, list []int, a *probes.Arg) (*additions, error) {
	x := &additions{block: block, times: map[int]int{}, at: map[int]*report.Source{}, whole: true}
	for _, i := range list {
		reached, all, err := q.base.Reaches(q.ctx, block, []int{i})
		if err != nil {
			return nil, q.fatal(err)
		}
		x.whole = x.whole && all
		for _, r := range reached {
			if r.Base == a.Name {
				e := int(r.Offset) / a.DType.Size()
				x.times[e]++
				x.at[e] = blame(q.run.Entry(), r.At)
			}
		}
	}
	if len(x.times) == 0 {
		return nil, nil
	}
	return x, nil
}

// blameAdditions makes the addition the place of a suspect where a block adds to rows more than once, or
// there are rows that no block adds to.
func (q *inquiry) blameAdditions(s *suspect, x *additions, a *probes.Arg, all map[int]bool) bool {
	cols := a.Dims[len(a.Dims)-1]
	rows, matrix := a.Dims[len(a.Dims)-2], 0
	for e := range x.times {
		matrix = max(matrix, e/(rows*cols))
	}
	by := map[int][]int{} // rows by how often each of their elements is added to; -1: not all alike
	for r := range rows {
		n, first := 0, (matrix*rows+r)*cols
		n = x.times[first]
		for c := range cols {
			if x.times[first+c] != n {
				n = -1
			}
		}
		by[n] = append(by[n], r)
	}
	if len(by) == 1 && (len(by[1]) > 0 || len(by[-1]) > 0) {
		return false
	}
	many := 0
	var parts []string
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(by))) {
		in := "in row " + text.Spans(by[n])
		if len(by[n]) > 1 {
			in = "in rows " + text.Spans(by[n])
		}
		switch {
		case n < 2 && !x.whole:
		case n > 1:
			many++
			parts = append(parts, fmt.Sprintf("%s %d times", in, n))
		case n == 1:
			parts = append(parts, in+" once")
		case n == 0:
			parts = append(parts, in+" never")
		default:
			parts = append(parts, fmt.Sprintf("%s not in all columns alike", in))
		}
	}
	left := x.whole && slices.ContainsFunc(by[0], func(r int) bool { return !all[(matrix*rows+r)*cols] })
	if many == 0 && (len(by[-1]) == 0 || !x.whole) && !left {
		return false
	}
	at := x.at[slices.Min(slices.Collect(maps.Keys(x.at)))]
	s.because(fmt.Sprintf("block %s adds to %s %s", x.block, a.Name, strings.Join(parts, ", ")))
	s.cause.Place.Source, s.cause.Place.Other = at, nil
	if leaves := q.leavesBefore(at); left && many == 0 && leaves != nil {
		s.cause.Place.Other = leaves
		look := fmt.Sprintf("look at the condition at %s, which leaves %s out", callText(leaves),
			lineText(at, leaves))
		s.cause.Advice = q.citing(look, ": ", leaves) + q.madeOf(leaves)
		return true
	}
	look := fmt.Sprintf("look at the index of %s at %s, and at the bounds and the step of the loop around it",
		a.Name, callText(at))
	s.cause.Advice = q.citing(look, ": ", at) + q.indexText(q.definitions(access{at, a.Name, nil}))
	return true
}
