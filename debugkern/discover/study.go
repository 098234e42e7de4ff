package discover

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// study makes stages of what an interpretation recorded: first the scores and which of them are a row's, then
// the iterations in which they are made, then where each stage's values lie in registers.
type study struct {
	r *recorder
	d *domain
	l *target.Launch

	// Scores: Σ X[i]·Y[j] over depth pairs; query says whether rows are X's (true) or Y's.
	argX, argY   int32
	depth        int32
	byX          bool
	rowOf        []int32 // by score: number of its row, -1 where it is none of these
	keyOf        []int32 // by score: number of its key
	rows, keys   []int32 // first element of each row of the queries and of the keys, ascending
	stepKey      int     // elements between neighbouring keys
	stepQ, stepK int     // elements between neighbours of the common dimension

	alpha   uint16
	groups  [][]group       // by row: what was added in each iteration, in order
	seen    [][]bool        // by row: the keys that it takes part with
	weighed [][]bool        // by row: the keys with weights, those that are 0 for a mask among them
	tileN   int             // keys of an iteration
	tiles   int             // iterations
	falling bool            // iterations go from the last keys to the first
	expect  map[cover]place // what a row's set is after an iteration
	refs    [][]int32       // by row and iteration: the maximum

	argZ             int32
	z0, stepZ, stepD int // the value of key 0 in column 0, and between keys and columns
	width            int // columns of the values

	f     *ptx.Func
	tileM int         // rows of a block
	wide  int         // of one iteration the columns that registers hold
	id    probes.Dim3 // the block
	// also: other blocks: what this one shows must hold in them, and what only they execute is added
	also       []*study
	base       int          // of the numbers of its cells
	side       int          // keys of an iteration, where another block has shown it; 0: none has
	weightType probes.DType // what weights are rounded to before they are multiplied
	source     string       // base name of the source whose lines name instructions; "": lines of the PTX do
}

// group is what one iteration added to a row: the keys, and the maximum that weights are relative to.
type group struct {
	ref    int32
	size   int32
	lo, hi int32 // keys
	n      int32
	sum    uint64
}

// cover identifies a set of scores.
type cover struct {
	n   int32
	sum uint64
}

// place is a row and the iterations after which it has a set: from first to last.
type place struct{ row, first, last int }

// scoresOf finds the scores: the products that most weights are made of.
func (s *study) scoresOf() error {
	g := s.d.algebra
	type class struct{ x, y, n int32 }
	count := map[class]int{}
	for i := range g.atoms {
		a := &g.atoms[i]
		if a.kind == power && a.idx > 0 {
			sc := &g.scores[a.idx]
			count[class{sc.arg, sc.arg2, sc.n}]++
		}
	}
	var best class
	for c, n := range count {
		if n > count[best] || n == count[best] && c.n > best.n {
			best = c
		}
	}
	if count[best] == 0 {
		return notFound("no exponential of a product of elements of two arguments was found")
	}
	s.argX, s.argY, s.depth = best.x, best.y, best.n
	if s.depth < 2 {
		return notFound(
			"the exponentials are of products of two elements, not of sums over a common dimension")
	}
	return nil
}

// mine reports whether a score is one of the study's.
func (s *study) mine(sc *score) bool { return sc.arg == s.argX && sc.arg2 == s.argY && sc.n == s.depth }

// sides decides which operand has the rows: the one that all scores of a maximum, or of a sum of
// weights, have in common.
func (s *study) sides() error {
	g := s.d.algebra
	x, y := 0, 0
	vote := func(list []int32) {
		if len(list) < 2 {
			return
		}
		sameX, sameY := true, true
		for _, m := range list {
			sameX = sameX && g.scores[m].lo == g.scores[list[0]].lo
			sameY = sameY && g.scores[m].lo2 == g.scores[list[0]].lo2
		}
		if sameX != sameY && sameX {
			x++
		} else if sameY {
			y++
		}
	}
	for _, list := range g.sets {
		vote(list)
	}
	if x+y == 0 {
		for i := range g.atoms {
			if a := &g.atoms[i]; a.kind == power && a.n > 1 && a.n <= 64 {
				var list []int32
				g.terms(int32(i), func(p pair) { list = append(list, p.a) })
				vote(list)
			}
		}
	}
	if x == 0 && y == 0 || x > 0 && y > 0 {
		return notFound("scores of one row have no operand in common")
	}
	s.byX = x > 0
	return nil
}

// ends are the first elements of a score's row and key.
func (s *study) ends(sc *score) (row, key int32) {
	if s.byX {
		return sc.lo, sc.lo2
	}
	return sc.lo2, sc.lo
}

// index numbers rows and keys. Every finished product counts, those that a mask hides too.
func (s *study) index() error {
	g := s.d.algebra
	for i := range g.atoms {
		if a := &g.atoms[i]; a.kind == product && !a.extended && a.arg == s.argX && a.arg2 == s.argY &&
			a.n == s.depth {
			g.scoreIn(int32(i))
		}
	}
	rows, keys := map[int32]int32{}, map[int32]int32{}
	for i := range g.scores[1:] {
		if sc := &g.scores[i+1]; s.mine(sc) {
			q, k := s.ends(sc)
			rows[q], keys[k] = 0, 0
		}
	}
	number := func(m map[int32]int32) []int32 {
		var out []int32
		for k := range m {
			out = append(out, k)
		}
		slices.Sort(out)
		for i, k := range out {
			m[k] = int32(i)
		}
		return out
	}
	s.rows, s.keys = number(rows), number(keys)
	s.rowOf, s.keyOf = make([]int32, len(g.scores)), make([]int32, len(g.scores))
	taken := map[pair]int32{}
	for i := range g.scores {
		s.rowOf[i] = -1
		if sc := &g.scores[i]; i > 0 && s.mine(sc) {
			q, k := s.ends(sc)
			at := pair{rows[q], keys[k]}
			if other, twice := taken[at]; twice {
				return notFound("two products of row %d and key %d differ (%d and %d)", at.a, at.b, other, i)
			}
			taken[at] = int32(i)
			s.rowOf[i], s.keyOf[i] = at.a, at.b
		}
	}
	return s.common()
}

// common finds the steps of the common dimension in both operands.
func (s *study) common() error {
	g := s.d.algebra
	checked := 0
	for i := range g.scores {
		if s.rowOf[i] < 0 || i%97 != 0 && checked > 2 {
			continue
		}
		checked++
		sc := &g.scores[i]
		var list []pair
		g.terms(sc.atom, func(p pair) {
			if !s.byX {
				p.a, p.b = p.b, p.a
			}
			list = append(list, p)
		})
		slices.SortFunc(list, func(a, b pair) int { return cmp.Compare(a.a, b.a) })
		q, k := int(list[1].a-list[0].a), int(list[1].b-list[0].b)
		for j, p := range list {
			if int(p.a) != int(list[0].a)+j*q || int(p.b) != int(list[0].b)+j*k {
				return notFound(
					"the operands of the scores are not evenly spaced along the common dimension: elements %d and %d are multiplied as term %d",
					p.a, p.b, j)
			}
		}
		if q < 1 || k < 1 || s.stepQ != 0 && (q != s.stepQ || k != s.stepK) {
			return notFound("the steps along the common dimension differ between scores")
		}
		s.stepQ, s.stepK = q, k
	}
	return nil
}

// iterations finds the iterations: the groups of keys whose weights are relative to one
// maximum after the other.
func (s *study) iterations() error {
	g := s.d.algebra
	type at struct {
		row int32
		ref int32
	}
	by := map[at]*group{}
	s.seen, s.weighed = make([][]bool, len(s.rows)), make([][]bool, len(s.rows))
	for i := range s.seen {
		s.seen[i], s.weighed[i] = make([]bool, len(s.keys)), make([]bool, len(s.keys))
	}
	alphas := map[uint16]int{}
	for i := range g.atoms {
		a := &g.atoms[i]
		if a.kind != power || a.idx == 0 || a.n != 1 || a.left != 0 || s.rowOf[a.idx] < 0 || a.ref2 != 0 {
			continue
		}
		row, key := s.rowOf[a.idx], s.keyOf[a.idx]
		alphas[a.alpha]++
		x := by[at{row, a.ref}]
		if x == nil {
			x = &group{ref: a.ref, lo: key, hi: key, size: g.atoms[a.ref].n}
			by[at{row, a.ref}] = x
		}
		x.lo, x.hi = min(x.lo, key), max(x.hi, key)
		x.n++
		x.sum += scoreHash(a.idx)
		s.seen[row][key], s.weighed[row][key] = g.visible(a.idx), true
	}
	for a, n := range alphas {
		if n > alphas[s.alpha] {
			s.alpha = a
		}
	}
	if len(alphas) > 1 {
		return notFound("exponentials have different factors: %d of them", len(alphas))
	}
	s.groups = make([][]group, len(s.rows))
	for k, x := range by {
		s.groups[k.row] = append(s.groups[k.row], *x)
	}
	longest := 0
	for r := range s.groups {
		slices.SortFunc(s.groups[r], func(a, b group) int { return cmp.Compare(a.size, b.size) })
		if len(s.groups[r]) > len(s.groups[longest]) {
			longest = r
		}
	}
	return s.partition(s.groups[longest])
}

// partition finds the size and direction of iterations by the row with most of them, and checks the others.
func (s *study) partition(list []group) error {
	if len(list) == 0 {
		return notFound("no row has a weight")
	}
	if list[0].ref == 0 {
		return notFound("exponentials are of scores from which no maximum is subtracted")
	}
	s.tiles = len(list)
	if s.tiles == 1 {
		if s.tileN = len(s.keys); s.tileN < s.side {
			s.tileN = s.side // of another block: this one has the last keys alone
		}
	} else {
		s.falling = list[1].lo < list[0].lo
		// The first keys of neighbours are a tile apart.
		for i := 1; i < len(list); i++ {
			a, b := list[i-1], list[i]
			if s.falling {
				a, b = b, a
			}
			n := int(b.lo - a.lo)
			if s.tileN == 0 {
				s.tileN = n
			}
			switch {
			case n < 1 || s.tileN < 1:
				return notFound("the iterations do not take the keys in order, as those of pages are not")
			case n != s.tileN:
				return notFound("iterations have different numbers of keys: %d and %d", s.tileN, n)
			}
		}
	}
	s.tiles = max(s.tiles, (len(s.keys)+s.tileN-1)/s.tileN) // no row takes part with the keys of some
	for r, list := range s.groups {
		for i, x := range list {
			if int(x.lo)/s.tileN != int(x.hi)/s.tileN {
				return notFound(
					"row %d has weights relative to one maximum in two iterations: keys %d and %d (a maximum that is not brought up to date in every iteration?)",
					r, x.lo, x.hi)
			}
			if i > 0 && s.time(int(x.lo)) <= s.time(int(list[i-1].lo)) {
				return notFound(
					"row %d: its maximum grows in another order than the iterations of other rows", r)
			}
		}
	}
	return s.expected()
}

// time is the iteration of a key.
func (s *study) time(key int) int {
	t := key / s.tileN
	if s.falling {
		return s.tiles - 1 - t
	}
	return t
}

// column is the column of a key in its iteration's tile.
func (s *study) column(key int) int { return key % s.tileN }

// expected works out what the set of every row is after every iteration, and the maximum.
func (s *study) expected() error {
	s.expect = map[cover]place{}
	s.refs = make([][]int32, len(s.rows))
	for r, list := range s.groups {
		s.refs[r] = make([]int32, s.tiles)
		c, t := cover{}, 0
		for i, x := range list {
			c.n += x.n
			c.sum += x.sum
			if m := &s.d.atoms[x.ref]; m.n != c.n || m.sum != c.sum {
				return notFound(
					"row %d, iteration %d: the maximum is taken of %d scores, and weights are made of %d up to there",
					r, s.time(int(x.lo)), m.n, c.n)
			}
			first, last := s.time(int(x.lo)), s.tiles-1
			if i+1 < len(list) {
				last = s.time(int(list[i+1].lo)) - 1
			}
			s.expect[c] = place{r, first, last}
			for t = first; t <= last; t++ {
				s.refs[r][t] = x.ref
			}
		}
	}
	return nil
}

// values finds the layout of what the weights multiply: the element of each key and column.
func (s *study) values() error {
	g := s.d.algebra
	row := int32(0)
	for r := range s.seen {
		if count(s.seen[r]) > count(s.seen[row]) {
			row = int32(r)
		}
	}
	found := make([]map[int32]bool, len(s.keys))
	s.argZ = -1
	for i := range g.atoms {
		a := &g.atoms[i]
		if a.kind != weighted || a.at == 0 {
			continue
		}
		own := a.n
		if a.left != 0 {
			own -= g.atoms[a.left].n
		}
		for _, p := range g.pairs[a.at : a.at+own] {
			if s.rowOf[p.a] != row {
				continue
			}
			if s.argZ >= 0 && a.arg != s.argZ {
				return notFound("weights multiply elements of two arguments")
			}
			s.argZ = a.arg
			k := s.keyOf[p.a]
			if found[k] == nil {
				found[k] = map[int32]bool{}
			}
			found[k][p.b] = true
		}
	}
	if s.argZ < 0 {
		return notFound("nothing is multiplied by the weights")
	}
	return s.spacing(found)
}

func count(list []bool) int {
	n := 0
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// spacing checks that the values' elements are evenly spaced along keys and columns. A key may lack columns,
// where what is added to them is not followed: of a wrong kernel.
func (s *study) spacing(found []map[int32]bool) error {
	for _, m := range found {
		s.width = max(s.width, len(m))
	}
	lists := make([][]int32, len(found))
	first, last, z := -1, -1, []int32(nil)
	for k, m := range found {
		lists[k] = slices.Sorted(maps.Keys(m))
		if len(m) < s.width {
			continue
		}
		if first < 0 {
			first, z = k, lists[k]
			if s.width > 1 {
				s.stepD = int(z[1] - z[0])
			}
		} else if last == first {
			s.stepZ = int(lists[k][0]-z[0]) / (k - first)
		}
		last = k
	}
	for k, list := range lists {
		for i, e := range list {
			rel := int(e) - int(z[0]) - (k-first)*s.stepZ
			if len(list) == s.width && rel != i*s.stepD ||
				s.stepD != 0 && (rel%s.stepD != 0 || rel/s.stepD < 0 || rel/s.stepD >= s.width) {
				return notFound("the values are not evenly spaced over keys and columns")
			}
		}
	}
	if first < 0 || last == first {
		return notFound("no row sees two keys: the layout of the values does not follow")
	}
	if s.width < 2 || s.stepZ == 0 || s.stepD == 0 {
		return notFound("the values have %d columns", s.width)
	}
	s.z0 = int(z[0]) - first*s.stepZ
	return nil
}

// valueAt is the key and column of an element of the values; false where it is none of them.
func (s *study) valueAt(e int) (key, col int, ok bool) {
	rel := e - s.z0
	if abs(s.stepZ) >= abs(s.stepD)*s.width { // keys are the larger step
		key = floorDiv(rel, s.stepZ)
		col = (rel - key*s.stepZ) / s.stepD
	} else {
		col = floorDiv(rel, s.stepD)
		if s.stepZ < s.stepD {
			key = (rel - col*s.stepD) / s.stepZ
		}
	}
	ok = key >= 0 && col >= 0 && col < s.width && s.z0+key*s.stepZ+col*s.stepD == e
	return key, col, ok
}

func floorDiv(a, b int) int { return int(math.Floor(float64(a) / float64(b))) }

// match is the row and the iterations of a sum whose set is what a row has after them; false
// where it is no such set.
func (s *study) match(a *atom) (place, bool) {
	p, ok := s.expect[cover{a.n, a.sum}]
	return p, ok
}

// NotFound says why stages are not there, or not all.
type NotFound struct{ Why string }

func (e *NotFound) Error() string { return e.Why }

func notFound(format string, args ...any) error { return &NotFound{fmt.Sprintf(format, args...)} }
