package discover

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// Placement is where a stage's values lie in registers: one entry of a manifest's capture.
type Placement struct {
	Fragment bool   // of a matrix product, else a register
	Of       string // which fragment: d, a or b
	Lines    []int  // of the PTX; nil where Line says it
	Line     int    // of the source, and which of the instructions that can be meant there, from 0
	File     string // base name of the file of Line, where it is not the source
	Nth      []int
	Dest     int    // of a register: which of those that the instruction writes
	Row, Col string // expressions over i, warp, lane, r, c and e
	Tile     string // over n; "" where the stage has one tile a block
}

// spot is one value of a stage in a register: where it is, and which cell of which tile.
type spot struct {
	warp, lane, n int
	e             int // of a fragment: the element; of a register: part
	row, col      int
	first, last   int // tiles that it may be of
}

// candidate is an instruction whose registers may be a stage.
type candidate struct {
	pc               int
	dest             int
	of               string // which fragment; "": a register
	frag             *isa.Fragment
	spots            []spot
	rest             []other // what the registers hold besides
	others           []bool  // by execution: it has values that are not of the stage
	tiles            []ruled // the tile of an execution, by block
	coef             float64
	whole            bool    // every value is one of the stage's
	summed           bool    // lanes have parts of a cell
	lanes            int     // then: how many, at most
	cells            []int32 // numbers of the cells that it has, each once
	row, col         *fitted
	baseRow, baseCol int
	turn, turns      int // of executions that take turns: which, of how many
}

// ruled is the tile of execution n in a block, and what is known of it.
type ruled struct {
	s      *study
	tile   *fitted
	lo, hi []int // by execution: the tiles that it may be of; -1: any
}

// cells is a set of the cells of a stage, by number.
type cells struct {
	in []bool
	n  int
}

// cell is the number of a cell of a stage's tiles. Blocks that are followed have numbers of their own.
func (s *study) cell(row, col, tile int) int32 {
	return int32(s.base + (tile*len(s.rows)+row)*max(s.width, s.tileN) + col)
}

// size is how many numbers the cells of a block may have.
func (s *study) size() int { return s.tiles * len(s.rows) * max(s.width, s.tileN) }

func (s *study) noCells() *cells {
	n := s.base + s.size()
	for _, o := range s.also {
		n = max(n, o.base+o.size())
	}
	return &cells{in: make([]bool, n)}
}

func (c *cells) add(at int32) bool {
	if c.in[at] {
		return false
	}
	c.in[at] = true
	c.n++
	return true
}

// search is a look for the registers of one stage.
type search struct {
	// pick returns where a value lies, of a candidate that is none of the operands of a product.
	pick func(s *study, e *event, a *atom) (sp spot, ok bool)
	// list returns the candidates of one block; nil: those of pick.
	list func(s *study, x *search) []*candidate
	want func(s *study) *cells // the cells that a block has
	late bool                  // of registers that have the same the last
	sums bool                  // sums: what converts them has them rounded
	keys bool                  // columns are keys
	// guides are the candidates of the first block.
	guides []*candidate
}

// candidates lists the instructions all of whose values that are followed are of a stage, in every
// block that was followed.
func (s *study) candidates(x *search) []*candidate {
	if x.list == nil {
		x.list = (*study).list
	}
	x.guides = nil
	found := x.list(s, x)
	x.guides = slices.Clone(found)
	for _, o := range s.also {
		found = s.joined(x, found, o, x.list(o, x))
	}
	return found
}

// place1 identifies a candidate.
type place1 struct {
	pc, dest, turn, turns int
	of                    string
}

func (c *candidate) place() place1 { return place1{c.pc, c.dest, c.turn, c.turns, c.of} }

// joined adds the candidates of another block: those that only it executes, and the cells of those that both
// do. What either has other values in is left out.
func (s *study) joined(x *search, found []*candidate, o *study, theirs []*candidate) []*candidate {
	there := map[place1]*candidate{}
	for _, d := range theirs {
		there[d.place()] = d
	}
	var bare []*candidate // all that they have in the other block lies outside its cells
	before := map[string][]*candidate{}
	found = slices.DeleteFunc(found, func(c *candidate) bool {
		d := there[c.place()]
		delete(there, c.place())
		if d == nil {
			bare = append(bare, c)
			return o.uses(x, c)
		}
		rule := c.tileText()
		before[rule] = append(before[rule], c)
		c.tiles = append(c.tiles, d.tiles...)
		c.cells = append(c.cells, d.cells...)
		return c.tileText() == ""
	})
	for _, c := range bare { // they go on with those that are executed as often
		for _, with := range before[c.tileText()] {
			if o.r.executed(c.pc) == o.r.executed(with.pc) && c.turns == with.turns {
				c.tiles = append(c.tiles, with.tiles[len(with.tiles)-1])
				break
			}
		}
	}
	for _, d := range theirs {
		if there[d.place()] == d && !s.uses(x, d) {
			found = append(found, d)
		}
	}
	return found
}

// uses reports whether a block has values in a candidate's registers that are no numbers: it
// has no such candidate.
func (s *study) uses(x *search, c *candidate) bool {
	if c.of == "a" || c.of == "b" {
		return slices.ContainsFunc(s.r.mixed, func(m *mixed) bool { return m.pc == c.pc })
	}
	st := s.r.sites[c.pc]
	if st == nil {
		return false
	}
	if st.impure || slices.ContainsFunc(st.events, func(e event) bool {
		return c.of != "" || int(e.dest) == c.dest
	}) {
		return true
	}
	here := *c
	here.rest, here.cells, here.tiles = st.others, nil, []ruled{{s: s, tile: c.tiles[0].tile}}
	return !here.alone(s, x.want(s))
}

// list is the candidates of one block.
func (s *study) list(x *search) []*candidate {
	var out, open []*candidate
	want := x.want(s)
	for _, pc := range slices.Sorted(maps.Keys(s.r.sites)) {
		st := s.r.sites[pc]
		in := s.f.Body[pc]
		if st.impure || in.Kind().Updates() || len(in.Dests(nil)) == 0 || x.sums && in.Kind() == isa.Convert {
			continue
		}
		by := map[int]*candidate{}
		for i := range st.events {
			e := &st.events[i]
			a := &s.d.atoms[e.atom]
			key := int(e.dest)
			if st.frag != nil {
				key = 0
			}
			c := by[key]
			if c == nil {
				c = &candidate{
					pc: pc, dest: key, frag: st.frag, whole: true, coef: float64(e.coef), rest: st.others,
				}
				if st.frag != nil {
					c.of = "d"
				}
				by[key] = c
			}
			if !c.whole {
				continue
			}
			sp, ok := x.pick(s, e, a)
			if !ok || !near(c.coef, float64(e.coef)) {
				c.whole = st.repeats() // another execution may have the stage
				c.others = mark(c.others, int(e.n))
				continue
			}
			sp.warp, sp.lane, sp.n, sp.e = int(e.warp), int(e.lane), int(e.n), int(e.part)
			if st.frag != nil {
				sp.e += int(e.dest) * st.frag.PerRegister
			}
			c.spots = append(c.spots, sp)
		}
		for _, key := range slices.Sorted(maps.Keys(by)) {
			if c := by[key]; c.whole && len(c.spots) > 0 {
				out, open = s.sort(x, c, want, out, open)
			}
		}
	}
	return s.guided(x, open, want, out)
}

// sort puts a candidate among those that are settled, or among those whose positions others show.
func (s *study) sort(
	x *search, c *candidate, want *cells, out, open []*candidate,
) (settled, unsettled []*candidate) {
	if x.guides == nil && s.sampled(c) {
		if list := c.settle(s, want, nil); list != nil {
			return append(out, list...), open
		}
	}
	return out, append(open, c)
}

// guided settles candidates whose own values do not show where all that their registers hold would lie: rows
// and columns are those of the first block's, or of another copy of the instruction, moved. Only where there
// is none do they show it themselves.
func (s *study) guided(x *search, open []*candidate, want *cells, out []*candidate) []*candidate {
	guides := slices.Concat(x.guides, out)
	for _, c := range open {
		list := c.settle(s, want, guides)
		if list == nil && x.guides != nil && s.sampled(c) {
			list = c.settle(s, want, nil)
		}
		out = append(out, list...)
	}
	return out
}

// sampled reports whether every thread that executed the instruction, of a fragment every warp, has a value
// that is followed, or numbers alone: where the others' would lie is not known.
func (s *study) sampled(c *candidate) bool {
	st := s.r.sites[c.pc]
	if st == nil {
		return true
	}
	seen := make([]uint32, len(st.ran))
	open := make([]uint32, len(st.ran))
	for i := range st.others {
		if o := &st.others[i]; o.kind == unknown {
			open[o.warp] |= 1 << o.lane
		} else {
			seen[o.warp] |= 1 << o.lane
		}
	}
	for w := range seen {
		seen[w] &^= open[w]
	}
	for i := range c.spots {
		seen[c.spots[i].warp] |= 1 << c.spots[i].lane
	}
	for w, ran := range st.ran {
		if c.of != "" && ran != 0 && seen[w] == 0 || c.of == "" && ran&^seen[w] != 0 {
			return false
		}
	}
	return true
}

// settle finds the tile of every execution, and the positions of the registers in it: of executions that take
// turns with several parts of a tile (a loop that is not unrolled) one candidate a part. None where they
// follow no rule. With guides, positions are those of one of these.
func (c *candidate) settle(s *study, want *cells, guides []*candidate) []*candidate {
	var own []bool // by execution: it has values of the stage
	for i := range c.spots {
		own = mark(own, c.spots[i].n)
	}
	n := max(len(own), len(c.others))
	for turns := 1; turns <= min(maxTurns, n); turns++ {
		if n%turns != 0 || !apart(own, c.others, turns) {
			continue
		}
		if parts := c.parts(s, turns, want, guides); parts != nil {
			return parts
		}
	}
	return nil
}

// mark sets an element of a list that grows as needed.
func mark(list []bool, i int) []bool {
	for i >= len(list) {
		list = append(list, false)
	}
	list[i] = true
	return list
}

// apart reports whether no part, of executions that take turns, has both values of the stage and others.
func apart(own, others []bool, turns int) bool {
	mixed := make([]uint8, turns)
	for n, is := range own {
		if is {
			mixed[n%turns] |= 1
		}
	}
	for n, is := range others {
		if is {
			mixed[n%turns] |= 2
		}
	}
	return !slices.Contains(mixed, 3)
}

// parts are the candidates of executions that take turns; nil where one follows no rule.
func (c *candidate) parts(s *study, turns int, want *cells, guides []*candidate) []*candidate {
	parts := make([]*candidate, turns)
	for i := range parts {
		part := *c
		parts[i], part.spots, part.turn, part.turns = &part, nil, i, turns
	}
	for _, sp := range c.spots {
		p := parts[sp.n%turns]
		sp.n /= turns
		p.spots = append(p.spots, sp)
	}
	parts = slices.DeleteFunc(parts, func(p *candidate) bool { return len(p.spots) == 0 })
	if slices.ContainsFunc(parts, func(p *candidate) bool { return !p.regular(s, want, guides) }) {
		return nil
	}
	return parts
}

// maxTurns is how many parts of a tile an instruction may take turns with.
const maxTurns = 32

// regular finds the tile of every execution, the positions, and the cells that are covered.
func (c *candidate) regular(s *study, want *cells, guides []*candidate) bool {
	lo, hi := map[int]int{}, map[int]int{}
	most := 0
	for _, sp := range c.spots {
		if _, ok := lo[sp.n]; !ok {
			lo[sp.n], hi[sp.n] = sp.first, sp.last
		}
		lo[sp.n], hi[sp.n] = max(lo[sp.n], sp.first), min(hi[sp.n], sp.last)
		most = max(most, sp.n)
	}
	for n := range lo {
		if lo[n] > hi[n] {
			return false
		}
	}
	tile, ok := fitTile(lo, hi, most+1)
	if len(lo) == 0 || !ok {
		return false
	}
	r := ruled{s: s, tile: tile, lo: make([]int, most+1), hi: make([]int, most+1)}
	for n := range r.lo {
		if first, is := lo[n]; is {
			r.lo[n], r.hi[n] = first, hi[n]
		} else {
			r.lo[n], r.hi[n] = -1, -1
		}
	}
	c.tiles = []ruled{r}
	if guides == nil {
		return c.fitPositions(s.warps()) && c.covers(s, want)
	}
	return c.follows(s, want, guides)
}

// covers lists the cells that the spots are, and reports whether nothing else would be
// captured into the block's.
func (c *candidate) covers(s *study, want *cells) bool {
	seen := s.noCells()
	c.cells = nil
	for i := range c.spots {
		sp := &c.spots[i]
		if sp.row < 0 || sp.col < 0 {
			continue
		}
		if at := s.cell(sp.row, sp.col, c.tiles[0].tile.at([]int{sp.n})); seen.add(at) {
			c.cells = append(c.cells, at)
		}
	}
	return c.alone(s, want)
}

// alone reports whether what the registers hold besides lies outside the cells that the block has. A number
// may be what such a cell has that nothing was added to.
func (c *candidate) alone(s *study, want *cells) bool {
	var own map[int32]bool
	for i := range c.rest {
		o := &c.rest[i]
		n := int(o.n)
		if c.turns > 1 {
			if n%c.turns != c.turn {
				continue
			}
			n /= c.turns
		}
		at, at2 := []int{int(o.warp), int(o.lane), int(o.part)}, []int(nil)
		if c.of == "" && int(o.dest) != c.dest {
			continue
		}
		if at2 = at; c.of != "" {
			e := int(o.part)
			if c.of == "d" {
				e += int(o.dest) * c.frag.PerRegister
			}
			r, k := c.frag.Cell(int(o.lane), e)
			at, at2 = []int{int(o.warp), r}, []int{int(o.warp), k}
		}
		tile, row, col := c.tiles[0].tile.at([]int{n}), c.row.at(at), c.col.at(at2)
		if tile < 0 || tile >= s.tiles || row < 0 || row >= len(s.rows) || col < 0 ||
			col >= max(s.width, s.tileN) {
			continue
		}
		cell := s.cell(row, col, tile)
		switch {
		case !want.in[cell]:
			continue
		case o.kind == unknown, o.kind == numeral && c.summed:
			return false
		case c.summed:
			continue
		}
		if own == nil {
			own = make(map[int32]bool, len(c.cells))
			for _, x := range c.cells {
				own[x] = true
			}
		}
		if own[cell] {
			return false
		}
	}
	return true
}

// follows takes the positions of the guide that is the same instruction, else those that all guides that
// fit have in common.
func (c *candidate) follows(s *study, want *cells, guides []*candidate) bool {
	for _, g := range guides {
		if g.place() == c.place() {
			c.row, c.col = g.row, g.col
			return c.agrees() && c.covers(s, want)
		}
	}
	var found *candidate
	for _, g := range guides {
		if g.of != c.of ||
			g.frag != nil &&
				(g.frag.Rows != c.frag.Rows || g.frag.Cols != c.frag.Cols ||
					g.frag.PerRegister != c.frag.PerRegister) {
			continue
		}
		try := *c
		if !try.moved(g) || !try.agrees() || !try.covers(s, want) {
			continue
		}
		if found != nil && (found.row.text() != try.row.text() || found.col.text() != try.col.text()) {
			return false
		}
		found = &try
	}
	if found != nil {
		*c = *found
	}
	return found != nil
}

// moved gives a candidate the rows and columns of another, moved to where its own begin.
func (c *candidate) moved(g *candidate) bool {
	c.row, c.col = nil, nil
	for i := range c.spots {
		sp := &c.spots[i]
		at, at2 := c.within(sp)
		if c.row == nil && sp.row >= 0 {
			c.row = g.row.moved(sp.row - g.row.at(at))
		}
		if c.col == nil && sp.col >= 0 {
			c.col = g.col.moved(sp.col - g.col.at(at2))
		}
		if c.row != nil && c.col != nil {
			return true
		}
	}
	return false
}

// within is what a spot's row and column are functions of.
func (c *candidate) within(sp *spot) (row, col []int) {
	if c.of == "" {
		at := []int{sp.warp, sp.lane, sp.e}
		return at, at
	}
	r, k := c.frag.Cell(sp.lane, sp.e)
	return []int{sp.warp, r}, []int{sp.warp, k}
}

// tileText writes the tile of an execution n, -1 for those of other parts; "" where the blocks that were
// followed have no rule in common.
func (c *candidate) tileText() string {
	text := c.ruleText()
	if c.turns == 1 || text == "" {
		return text
	}
	text = variableN.ReplaceAllString(text, fmt.Sprintf("div(n, %d)", c.turns))
	return fmt.Sprintf("n %% %d == %d ? %s : -1", c.turns, c.turn, text)
}

// ruleText is the tile of an execution of this part: the rule of one block where it fits the others, else its
// first tile as an expression of the block.
func (c *candidate) ruleText() string {
	for _, r := range c.tiles {
		if !slices.ContainsFunc(c.tiles, func(o ruled) bool { return !o.admits(r.tile) }) {
			return r.tile.text()
		}
	}
	first := c.tiles[0].tile
	for _, r := range c.tiles {
		if !slices.EqualFunc(r.tile.weights, first.weights, slices.Equal) {
			return ""
		}
	}
	base := c.baseText()
	if base == "" {
		return ""
	}
	if text := first.moved(-first.base).text(); text != "0" {
		return base + " + " + text
	}
	return base
}

// tilesMark stands in the text of a placement for the number of a block's iterations.
const tilesMark = "tiles"

// baseText is the tile of the first execution, which differs between blocks: as far from the block's last,
// from that which the block's first query is in, or, where iterations go from the last keys to the first,
// from that one; else a function of the block.
func (c *candidate) baseText() string {
	side := c.tiles[0].s.tileN
	for _, from := range []struct {
		text           string
		tiles, queries int // how often they are counted
	}{
		{tilesMark, 1, 0}, {fmt.Sprintf("div(query, %d)", side), 0, 1},
		{fmt.Sprintf("%s - div(query, %d)", tilesMark, side), 1, -1},
	} {
		by, same := 0, true
		for i, r := range c.tiles {
			n := r.tile.base - from.tiles*r.s.tiles
			if from.queries != 0 {
				row, ok := r.s.firstQuery()
				n, same = n-from.queries*(row/side), same && ok
			}
			same = same && (i == 0 || n == by)
			by = n
		}
		if same {
			return added(from.text, by)
		}
	}
	var samples []sample
	for _, r := range c.tiles {
		samples = append(samples, sample{r.s.id[:], r.tile.base})
	}
	grid := c.tiles[0].s.l.Grid
	f := &fitted{
		vars: []variable{{"bx", grid[0]}, {"by", grid[1]}, {"bz", grid[2]}}, byBit: make([]bool, 3),
	}
	if f.solve(samples) {
		return f.text()
	}
	return exceptions(f.vars, samples)
}

// added writes an expression and a number that is added to it.
func added(text string, n int) string {
	switch {
	case n > 0:
		return fmt.Sprintf("%s + %d", text, n)
	case n < 0:
		return fmt.Sprintf("%s - %d", text, -n)
	}
	return text
}

// firstQuery is the position of the block's first row.
func (s *study) firstQuery() (int, bool) {
	at, err := s.queries()
	if err != nil {
		return 0, false
	}
	return at.first[at.rows], true
}

// exceptions is a number that is the same in most blocks, and another where one component of the block has
// some value; "" where no component decides it.
func exceptions(vars []variable, samples []sample) string {
	for axis, v := range vars {
		by, times := map[int]int{}, map[int]int{}
		decides, usual := true, samples[0].v
		for _, s := range samples {
			x, seen := by[s.at[axis]]
			decides = decides && (!seen || x == s.v)
			if by[s.at[axis]] = s.v; !seen {
				times[s.v]++
			}
			if times[s.v] > times[usual] {
				usual = s.v
			}
		}
		if !decides {
			continue
		}
		text := ""
		for _, x := range slices.Sorted(maps.Keys(by)) {
			if by[x] != usual {
				text += fmt.Sprintf("%s == %d ? %d : ", v.name, x, by[x])
			}
		}
		return fmt.Sprintf("(%s%d)", text, usual)
	}
	return ""
}

// admits reports whether every execution may be of the tile that a rule gives.
func (r *ruled) admits(rule *fitted) bool {
	for n := range r.lo {
		if t := rule.at([]int{n}); r.lo[n] >= 0 && (t < r.lo[n] || t > r.hi[n]) {
			return false
		}
	}
	return true
}

var variableN = regexp.MustCompile(`\bn\b`)

// fitTile finds the tile of execution n within what it may be: mostly first + n; with one
// execution, its tile.
func fitTile(lo, hi map[int]int, size int) (*fitted, bool) {
	v := []variable{{"n", size}}
	top := 0
	for n := range hi {
		top = max(top, hi[n])
	}
	for _, step := range []int{1, -1} {
		for base := range top + 1 {
			ok := true
			for n := range lo {
				t := base + step*n
				ok = ok && t >= lo[n] && t <= hi[n]
			}
			if ok {
				return fit(v, []sample{{[]int{0}, base}, {[]int{1}, base + step}})
			}
		}
	}
	var samples []sample
	for n := range lo {
		samples = append(samples, sample{[]int{n}, lo[n]})
	}
	return fit(v, samples)
}

// fragmentOf fits the positions of a fragment's cells to warp and the fragment's row and column.
func (c *candidate) fitPositions(warps int) bool {
	var rows, cols []sample
	if c.of == "" {
		seen := map[sample3]bool{}
		for _, sp := range c.spots {
			k := sample3{sp.warp, sp.lane, sp.e}
			if seen[k] {
				continue
			}
			seen[k] = true
			rows = append(rows, sample{[]int{sp.warp, sp.lane, sp.e}, sp.row})
			cols = append(cols, sample{[]int{sp.warp, sp.lane, sp.e}, sp.col})
		}
		v := []variable{{"warp", warps}, {"lane", 32}, {"e", 8}}
		var ok, ok2 bool
		c.row, ok = fit(v, rows)
		c.col, ok2 = fit(v, cols)
		return ok && ok2 && c.agrees()
	}
	seenRow, seenCol := map[sample3]bool{}, map[sample3]bool{}
	for _, sp := range c.spots {
		r, k := c.frag.Cell(sp.lane, sp.e)
		if at := (sample3{sp.warp, r, 0}); sp.row >= 0 && !seenRow[at] {
			seenRow[at] = true
			rows = append(rows, sample{[]int{sp.warp, r}, sp.row})
		}
		if at := (sample3{sp.warp, k, 0}); sp.col >= 0 && !seenCol[at] {
			seenCol[at] = true
			cols = append(cols, sample{[]int{sp.warp, k}, sp.col})
		}
	}
	var ok, ok2 bool
	c.row, ok = fit([]variable{{"warp", warps}, {"r", c.frag.Rows}}, rows)
	c.col, ok2 = fit([]variable{{"warp", warps}, {"c", c.frag.Cols}}, cols)
	return ok && ok2 && c.agrees()
}

type sample3 [3]int

// agrees reports whether the fitted positions are those of every spot: the same in every execution.
func (c *candidate) agrees() bool {
	for i := range c.spots {
		sp := &c.spots[i]
		at, at2 := c.within(sp)
		if sp.row >= 0 && c.row.at(at) != sp.row || sp.col >= 0 && c.col.at(at2) != sp.col {
			return false
		}
	}
	c.baseRow, c.baseCol = c.row.base, c.col.base
	return true
}

// choose takes the candidates that cover the wanted cells, the ones with most first, and returns how many
// cells are left. Of those that cover the same it takes the last in the text where late, else the first.
func choose(list []*candidate, want *cells, late bool) (chosen []*candidate, left int) {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		c := cmp.Compare(a.pc, b.pc)
		if late {
			c = -c
		}
		return cmp.Or(cmp.Compare(a.turns, b.turns), c)
	})
	open := slices.Clone(want.in)
	left = want.n
	gain := make([]int, len(list)) // at most; exact where known is the number of those chosen
	known := make([]int, len(list))
	for i, c := range list {
		gain[i], known[i] = len(c.cells), -1
	}
	for left > 0 {
		best := -1
		for i := range list {
			if best < 0 || gain[i] > gain[best] {
				best = i
			}
		}
		if best < 0 || gain[best] == 0 {
			break
		}
		if known[best] < len(chosen) {
			known[best], gain[best] = len(chosen), 0
			for _, at := range list[best].cells {
				if open[at] {
					gain[best]++
				}
			}
			continue
		}
		for _, at := range list[best].cells {
			if open[at] {
				open[at] = false
				left--
			}
		}
		chosen = append(chosen, list[best])
		gain[best] = 0
	}
	return chosen, left
}

// placements writes chosen candidates as entries: those of one kind whose tiles follow the same rule, and
// whose positions differ by their place in a list, are one entry.
func (s *study) placements(chosen []*candidate, perTile bool, line func(pc int) int) ([]Placement, error) {
	type kind struct {
		of         string
		dest       int
		tile       string
		rows, cols int
		file       string
		line       int
	}
	groups := map[kind][]*candidate{}
	var order []kind
	for _, c := range chosen {
		k := kind{of: c.of, dest: c.dest}
		if perTile {
			k.tile = c.tileText()
		}
		if c.frag != nil {
			k.rows, k.cols = c.frag.Rows, c.frag.Cols
		}
		if s.source != "" {
			if k.file, k.line = s.sourceLine(c.pc); k.line == 0 {
				return nil, fmt.Errorf("PTX line %d stems from no line of the source", s.line(c.pc))
			}
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	slices.SortFunc(order, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.tile, b.tile), cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line),
			cmp.Compare(a.dest, b.dest))
	})
	var out []Placement
	for _, k := range order {
		list := entries(groups[k], k.of, k.dest, k.tile, s.warps(), line)
		for i := range list {
			if k.line > 0 {
				s.bySource(&list[i], k.file, k.line)
			}
		}
		out = append(out, list...)
	}
	return out, nil
}

// sourceLine is the line that blame for an instruction falls on, with the base name of its file; 0
// where there is none.
func (s *study) sourceLine(pc int) (string, int) {
	if s.f.Body[pc].Loc == nil {
		return "", 0
	}
	at := target.Blame(s.f, pc)
	return path.Base(strings.ReplaceAll(at.File, `\`, "/")), at.Line
}

// bySource names an entry's instructions by their source line.
func (s *study) bySource(p *Placement, file string, line int) {
	nth := map[int]int{} // by line of the PTX
	for pc, in := range s.f.Body {
		meant := len(in.Dests(nil)) > 0
		if p.Fragment {
			meant = in.Kind().Product()
		}
		if at, l := s.sourceLine(pc); meant && l == line && at == file && !in.Loc.Within(target.IsProbe) {
			nth[in.Pos.Line] = len(nth)
		}
	}
	if p.Line = line; file != s.source {
		p.File = file
	}
	for _, l := range p.Lines {
		p.Nth = append(p.Nth, nth[l])
	}
	p.Lines = nil
}

// maxLines is how many instructions an entry names.
const maxLines = 64

// entries writes candidates of one kind.
func entries(
	list []*candidate, of string, dest int, tile string, warps int, line func(pc int) int,
) []Placement {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.baseRow, b.baseRow), cmp.Compare(a.baseCol, b.baseCol),
			cmp.Compare(a.pc, b.pc))
	})
	if len(list) <= maxLines {
		if p, ok := entry(list, of, dest, tile, warps, line); ok {
			return []Placement{p}
		}
	}
	if len(list) == 1 {
		panic("BUG: an entry of one instruction that does not fit")
	}
	half := len(list) / 2
	return append(entries(list[:half], of, dest, tile, warps, line),
		entries(list[half:], of, dest, tile, warps, line)...)
}

// entry writes candidates as one entry, if their positions follow from their place in the list.
func entry(
	list []*candidate, of string, dest int, tile string, warps int, line func(pc int) int,
) (Placement, bool) {
	p := Placement{Fragment: of != "", Of: of, Dest: dest, Tile: tile}
	for _, c := range list {
		p.Lines = append(p.Lines, line(c.pc))
	}
	side := func(of func(c *candidate) *fitted) (string, bool) {
		if len(list) == 1 {
			return of(list[0]).text(), true
		}
		vars := append([]variable{{"i", len(list)}}, of(list[0]).vars...)
		var samples []sample
		for i, c := range list {
			f := of(c)
			f.each(func(at []int) { samples = append(samples, sample{append([]int{i}, at...), f.at(at)}) })
		}
		f, ok := fit(vars, samples)
		if !ok {
			return "", false
		}
		return f.text(), true
	}
	var ok, ok2 bool
	p.Row, ok = side(func(c *candidate) *fitted { return c.row })
	p.Col, ok2 = side(func(c *candidate) *fitted { return c.col })
	return p, ok && ok2
}

// each calls g for points that determine the function: zero, and each bit of each variable
// alone, and all ones.
func (f *fitted) each(g func(at []int)) {
	at := make([]int, len(f.vars))
	g(at)
	for i, v := range f.vars {
		for b := 1; b < v.size; b *= 2 {
			at[i] = b
			g(at)
		}
		at[i] = v.size - 1
		g(at)
		at[i] = 0
	}
	for i, v := range f.vars {
		at[i] = v.size - 1
	}
	g(at)
}

func (s *study) warps() int { return (s.l.Block.Count() + 31) / 32 }
