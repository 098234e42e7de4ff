package region

import (
	"fmt"
	"strings"

	"tilescope/probes"
)

// shape is a set of cells within a tile.
type shape struct {
	text   string
	cost   float64
	free   bool // no limit
	rows   bool // it limits rows
	has    func(r, c int) bool
	inside []int // by tile of the set: how many of its judged cells are in the shape
}

// count fills inside; full tiles of one extent have the same number.
func (sh *shape) count(s *Set) {
	sh.inside = make([]int, len(s.tiles))
	known := map[[2]int]int{}
	for i := range s.tiles {
		x := &s.tiles[i]
		size := [2]int{x.Rows, x.Cols}
		n, ok := known[size]
		if !ok || x.skip != nil {
			n = sh.cellsOf(s, x)
		}
		if x.skip == nil {
			known[size] = n
		}
		sh.inside[i] = n
	}
}

func (sh *shape) cellsOf(s *Set, x *tile) int {
	n := 0
	for r := range x.Rows {
		for c := range x.Cols {
			if sh.has(r, c) && !has(x.skip, r*s.space.Cols+c) {
				n++
			}
		}
	}
	return n
}

// shapes lists the sets of cells that contain all wrong ones: products of rows and columns, and those that
// are made of both.
func (s *Set) shapes() []shape {
	rows, cols := make([]state, s.space.Rows), make([]state, s.space.Cols)
	union := make([]state, s.space.Rows*s.space.Cols)
	for i := range s.tiles {
		x := &s.tiles[i]
		for r := range x.Rows {
			for c := range x.Cols {
				k := r*s.space.Cols + c
				if has(x.skip, k) {
					continue
				}
				st := right
				if has(x.bits, k) {
					st = wrong
				}
				rows[r], cols[c], union[k] = max(rows[r], st), max(cols[c], st), max(union[k], st)
			}
		}
	}
	var out []shape
	for _, r := range phrases(rows) {
		for _, c := range phrases(cols) {
			sh := shape{
				cost: r.cost + c.cost, free: r.kind == all && c.kind == all, rows: r.kind != all,
				has: func(i, j int) bool { return r.has(i) && c.has(j) },
			}
			rowText, colText := r.words("row", lastOf(rows)), c.words("column", lastOf(cols))
			switch {
			case r.kind != all && c.kind != all:
				sh.text = rowText + " in " + colText
			case r.kind != all:
				sh.text = rowText + s.owners(rows)
			case c.kind != all:
				sh.text = colText
			}
			out = append(out, sh)
		}
	}
	if s.space.Cols > 1 {
		out = append(out, s.mixed(union)...)
	}
	for i := range out {
		out[i].count(s)
	}
	return out
}

// owners says which warps have the wrong rows, on condition: where these are all rows of half of the warps or
// fewer.
func (s *Set) owners(rows []state) string {
	n := s.space.Warps
	if n < 2 || s.space.Rows%n != 0 {
		return ""
	}
	per := s.space.Rows / n
	shares := make([]state, n)
	for r, st := range rows {
		if st == unjudged {
			continue
		}
		if share := &shares[r/per]; *share != unjudged && *share != st {
			return ""
		}
		shares[r/per] = st
	}
	var names []string
	judged := 0
	for w, st := range shares {
		if st != unjudged {
			judged++
		}
		if st == wrong {
			names = append(names, fmt.Sprint(w))
		}
	}
	if 2*len(names) > judged {
		return ""
	}
	who, each := "warp "+names[0]+"'s", fmt.Sprintf("%d rows", per)
	if len(names) > 1 {
		who = "those of warps " + join(names)
	}
	if per == 1 {
		each = "one row"
	}
	return fmt.Sprintf(" (%s, if each of %d warps has %s)", who, n, each)
}

// lastOf is the highest coordinate that was judged.
func lastOf(axis []state) int {
	for x := len(axis) - 1; x > 0; x-- {
		if axis[x] != unjudged {
			return x
		}
	}
	return 0
}

// mixed lists shapes in which rows and columns depend on each other, those that exactly fit the cells that
// are wrong in some tile.
func (s *Set) mixed(union []state) []shape {
	var out []shape
	add := func(text string, cost float64, has func(r, c int) bool) {
		for k, st := range union {
			in := has(k/s.space.Cols, k%s.space.Cols)
			if st == wrong && !in || st == right && in {
				return
			}
		}
		out = append(out, shape{text: text, cost: cost, has: has})
	}
	for k := 1; k < s.space.Cols && k < s.space.Rows; k *= 2 {
		name := fmt.Sprintf("the %d×%d blocks", k, k)
		if k == 1 {
			name = "the cells"
		}
		add(name+" off the diagonal of each "+fmt.Sprintf("%d×%d", 2*k, 2*k), 3,
			func(r, c int) bool { return (r^c)&k != 0 })
		add(name+" on the diagonal of each "+fmt.Sprintf("%d×%d", 2*k, 2*k), 3,
			func(r, c int) bool { return (r^c)&k == 0 })
	}
	add("the cells above the diagonal", 2, func(r, c int) bool { return c > r })
	add("the cells below the diagonal", 2, func(r, c int) bool { return c < r })
	add("the cells off the diagonal", 2, func(r, c int) bool { return c != r })
	add("the diagonal", 2, func(r, c int) bool { return c == r })
	for m := 2; m <= 32 && m < s.space.Cols && m < s.space.Rows; m *= 2 {
		if m > 2 {
			add(fmt.Sprintf("the cells off the diagonal of each %d×%d block", m, m), 3,
				func(r, c int) bool { return r%m != c%m })
		}
	}
	return out
}

// tileSet is a set of iterations.
type tileSet struct {
	text string
	cost float64
	free bool
	has  func(t *Tile) bool
}

// tileSets lists the sets of iterations that contain all wrong cells.
func (s *Set) tileSets() []tileSet {
	free := tileSet{free: true, has: func(*Tile) bool { return true }}
	n := s.iterations()
	if s.space.Tile == "" || n < 2 {
		return []tileSet{free}
	}
	byIter, fromEnd := make([]state, n), map[bool]state{}
	for i := range s.tiles {
		x := &s.tiles[i]
		st := right
		if x.bits != nil {
			st = wrong
		}
		byIter[x.Iter] = max(byIter[x.Iter], st)
		last := x.Iter == x.Last
		fromEnd[last] = max(fromEnd[last], st)
	}
	var out []tileSet
	name := s.space.Tile
	p := phrases(byIter)[0]
	if p.kind != all {
		text := p.words(name, n-1)
		switch {
		case p.kind == one && p.has(n-1) && s.sameLength():
			text = "the last " + name + " alone"
		case p.kind == one:
			text = name + " " + p.text + " alone"
		case !p.has(0) && (p.kind == but || p.kind == from && p.text == "1"):
			text = "every " + name + " but the first"
		case p.kind == from:
			text = fmt.Sprintf("%ss from %s on", name, p.text)
		case p.kind == but:
			text = fmt.Sprintf("every %s but %s", name, p.text)
		}
		out = append(out, tileSet{text: text, cost: p.cost, has: func(t *Tile) bool { return p.has(t.Iter) }})
	}
	if fromEnd[true] != fromEnd[false] && fromEnd[false] == right {
		out = append(out, tileSet{
			text: "the last " + name + " alone", cost: 0.9,
			has: func(t *Tile) bool { return t.Iter == t.Last },
		})
	}
	if fromEnd[true] == right && fromEnd[false] == wrong {
		out = append(out, tileSet{
			text: "every " + name + " but the last", cost: 1.4,
			has: func(t *Tile) bool { return t.Iter != t.Last },
		})
	}
	return append(out, free)
}

// sameLength reports whether all blocks have as many iterations.
func (s *Set) sameLength() bool {
	for i := range s.tiles {
		if s.tiles[i].Last != s.tiles[0].Last {
			return false
		}
	}
	return true
}

// blockSet is a set of blocks.
type blockSet struct {
	text string
	cost float64
	free bool
	has  func(b probes.Dim3) bool
}

// blockSets lists the sets of blocks that contain all wrong cells: by a named position, by an index of the
// grid, by two of them, and one block.
func (s *Set) blockSets() []blockSet {
	free := blockSet{free: true, has: func(probes.Dim3) bool { return true }}
	state := map[probes.Dim3]state{}
	nWrong := 0
	var some probes.Dim3
	for i := range s.tiles {
		x := &s.tiles[i]
		if x.bits != nil {
			if state[x.Block] != wrong {
				nWrong++
			}
			state[x.Block], some = wrong, x.Block
		} else {
			state[x.Block] = max(state[x.Block], right)
		}
	}
	if nWrong == len(state) {
		return []blockSet{free}
	}
	var axes []blockSet
	for _, a := range s.blockAxes() {
		if b, ok := a.describe(state); ok {
			axes = append(axes, b)
		}
	}
	out := axes
	for i, a := range axes {
		for _, b := range axes[i+1:] {
			out = append(out, blockSet{
				text: strings.TrimSuffix(a.text, " alone") + ", " + b.text, cost: a.cost + b.cost,
				has: func(x probes.Dim3) bool { return a.has(x) && b.has(x) },
			})
		}
	}
	if nWrong == 1 {
		out = append(out, blockSet{
			text: fmt.Sprintf("block %s alone", some), cost: 2.5,
			has: func(b probes.Dim3) bool { return b == some },
		})
	}
	return append(out, free)
}

// blockAxis is a number of each block.
type blockAxis struct {
	name string
	cost float64 // on top of that of its set
	at   func(b probes.Dim3) int
}

func (s *Set) blockAxes() []blockAxis {
	var out []blockAxis
	for _, p := range s.space.Positions {
		if p.At.Dims[3] == 1 {
			out = append(out, blockAxis{p.Name, 0, func(b probes.Dim3) int { return p.At.At(b, 0) }})
		}
	}
	for d, name := range []string{"x", "y", "z"} {
		if s.space.Grid[d] > 1 {
			out = append(out, blockAxis{name, 0.3, func(b probes.Dim3) int { return b[d] }})
		}
	}
	return out
}

// describe says which values of the axis blocks with wrong cells have; ok is false where all values do, or
// the values are no simple set.
func (a blockAxis) describe(blocks map[probes.Dim3]state) (blockSet, bool) {
	values := map[int]state{}
	for b, st := range blocks {
		x := a.at(b)
		values[x] = max(values[x], st)
	}
	keys := sorted(values)
	ranks := make([]state, len(keys))
	rank := map[int]int{}
	for i, x := range keys {
		ranks[i], rank[x] = values[x], i
	}
	p := phrases(ranks)[0]
	if p.kind == all || p.kind == modular {
		return blockSet{}, false
	}
	nth := func(want state) (first, last int) {
		first = -1
		for i, st := range ranks {
			if st == want {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		return keys[max(first, 0)], keys[last]
	}
	lo, hi := nth(wrong)
	no, _ := nth(right)
	text := ""
	switch p.kind {
	case one:
		text = fmt.Sprintf("%s %d alone", a.name, lo)
		if a.cost > 0 || keys[len(keys)-1]-keys[0] != len(keys)-1 {
			text = fmt.Sprintf("blocks with %s = %d alone", a.name, lo)
		}
	case but:
		text = fmt.Sprintf("blocks with %s other than %d", a.name, no)
	case from:
		text = fmt.Sprintf("blocks with %s ≥ %d", a.name, lo)
	case below:
		text = fmt.Sprintf("blocks with %s ≤ %d", a.name, hi)
	case odd, even:
		if step := keys[1] - keys[0]; step != 1 || keys[0] != 0 {
			return blockSet{}, false
		}
		text = fmt.Sprintf("blocks with %s %s", p.text, a.name)
	default:
		return blockSet{}, false
	}
	return blockSet{
		text: text, cost: p.cost + a.cost,
		has: func(b probes.Dim3) bool {
			i, ok := rank[a.at(b)]
			return ok && p.has(i)
		},
	}, true
}
