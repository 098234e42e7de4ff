package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// Strayed is how the first element of an argument that a block reads moves from it to other blocks, where
// that is not as far as the first that stages are made of by the manifest does.
type Strayed struct {
	Read, Belongs string // the block's first element, by name, and the one that belongs in its place
	Steps         []Step
	// Moves are the summands of the address that differ between the two blocks of the first step
	Moves []Move
}

// Move is by how many elements one summand of an address moves along a step.
type Move struct {
	At int // the instruction of the entry's body whose result the summand is a multiple of
	By int
}

// Strays compares the first element that accesses of a block read of an argument, and that its neighbours in
// the grid read, with what the manifest says that stages' first cells are made of. nil where the elements are
// the right ones or move as far as they should, where no compared block begins with the right one (what is
// compared may then be another thing), and where the addresses are no sums. Errors are those of Lineage.
func (r *Run) Strays(
	ctx context.Context, block probes.Dim3, arg string, accesses []int,
) (*Strayed, error) {
	a := r.Plan.Arg(arg)
	if r.state == nil || r.state.ref == nil || r.state.launch == nil || a == nil || a.Strides != nil {
		return nil, nil
	}
	s := &straying{run: r, accesses: accesses, firsts: map[probes.Dim3]*first{}}
	s.c = &contrast{run: r, x: &ancestry{st: r.state}, g: r.state.ref.Graph()}
	for i := range r.state.launch.Args {
		if x := &r.state.launch.Args[i]; x.Name == arg && x.Buffer != nil {
			s.of = source{stage: -1, arg: i}
		}
	}
	s.size = max(1, a.DType.Size())
	own, err := s.first(ctx, block)
	if err != nil || own == nil || own.got == own.want {
		return nil, err
	}
	name := func(at int) string { return arg + lineage.Box(a.Dims, []int{at}) }
	out := &Strayed{Read: name(own.got), Belongs: name(own.want)}
	for axis := range 3 {
		list, to, err := s.along(ctx, block, axis)
		if err != nil {
			return nil, err
		}
		if out.Steps = append(out.Steps, list...); len(list) > 0 && out.Moves == nil {
			out.Moves = s.moves(own, s.firsts[to], block[axis] < to[axis])
		}
	}
	for _, f := range s.firsts {
		if f != nil && f.got == f.want && len(out.Steps) > 0 {
			return out, nil
		}
	}
	return nil, nil
}

// straying compares the first elements that blocks read of an argument.
type straying struct {
	run      *Run
	c        *contrast // of no block: for what the manifest says
	accesses []int
	of       source
	size     int // bytes of an element
	firsts   map[probes.Dim3]*first
}

// first is the first element that a block reads, with the access, and the one that it should.
type first struct {
	index
	reach Reach
}

// first finds them for a block; nil where one of them is not known.
func (s *straying) first(ctx context.Context, block probes.Dim3) (*first, error) {
	if f, known := s.firsts[block]; known {
		return f, nil
	}
	s.firsts[block] = nil
	list, all, err := s.run.Reaches(ctx, block, s.accesses)
	if err != nil || !all { // one that is left out may be the first
		return nil, err
	}
	var f *first
	for _, x := range list {
		if x.Base == s.c.sourceName(s.of) && (f == nil || x.Offset < f.reach.Offset) {
			f = &first{reach: x}
		}
	}
	want, ok := s.belongs(block)
	if f == nil || !ok {
		return nil, nil
	}
	f.index = index{got: int(f.reach.Offset) / s.size, want: want}
	s.firsts[block] = f
	return f, nil
}

// belongs is the first element of the argument that a first cell of a stage should be made of in a block.
func (s *straying) belongs(block probes.Dim3) (least int, ok bool) {
	tile, _ := s.run.Tiles(block)
	for i := range s.c.g.Stages() {
		parts, known := s.c.g.MadeOf(i, block, tile, ref.Span{0, 1}, ref.Span{0, 1})
		if !known {
			continue
		}
		for _, p := range parts {
			if p.Stage >= 0 {
				continue
			}
			for _, k := range s.c.elementKeys(p) {
				if k.arg == s.of.arg && (!ok || k.at < least) {
					least, ok = k.at, true
				}
			}
		}
	}
	return least, ok
}

// along finds the wrong step from a block to its neighbours along an axis of the grid, and the first of
// these.
func (s *straying) along(
	ctx context.Context, block probes.Dim3, axis int,
) (out []Step, neighbour probes.Dim3, err error) {
	at := func(f *first) map[source]index {
		if f == nil {
			return nil
		}
		return map[source]index{s.of: f.index}
	}
	from := moved{at: at(s.firsts[block]), name: "block " + block.String()}
	var list []moved
	for _, by := range []int{-1, 1, -2, 2} {
		to := block
		if to[axis] += by; to[axis] < 0 || !slices.Contains(s.run.Blocks(), to) {
			continue
		}
		f, err := s.first(ctx, to)
		if err != nil {
			return nil, block, err
		}
		if len(list) == 0 {
			neighbour = to
		}
		list = append(list, moved{by, at(f), "block " + to.String()})
		if out = s.c.wrongSteps("blockIdx."+"xyz"[axis:axis+1], from, list); len(list) == mostNeighbours {
			break
		}
	}
	return out, neighbour, nil
}

// moves are the summands of a block's first access that are others than in a neighbour's, where that is
// the same lane's by the same instruction; ahead: the neighbour comes after the block.
func (s *straying) moves(own, other *first, ahead bool) []Move {
	if other == nil || own.reach.At != other.reach.At || own.reach.Warp != other.reach.Warp ||
		own.reach.Lane != other.reach.Lane {
		return nil
	}
	var out []Move
	by := map[int]int64{}
	for _, t := range own.reach.Terms {
		by[t.At] -= t.Value * t.Factor
	}
	for _, t := range other.reach.Terms {
		by[t.At] += t.Value * t.Factor
	}
	seen := map[int]bool{}
	for _, t := range append(slices.Clone(own.reach.Terms), other.reach.Terms...) {
		n := by[t.At]
		if !ahead {
			n = -n
		}
		if n != 0 && !seen[t.At] {
			seen[t.At] = true
			out = append(out, Move{At: t.At, By: int(n) / s.size})
		}
	}
	return out
}
