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
	others           []bool  // by execution: it has values that are not of the stage
	tile             *fitted // the tile of execution n
	coef             float64
	whole            bool    // every value is one of the stage's
	cells            []int32 // numbers of the cells that it has, each once
	row, col         *fitted
	baseRow, baseCol int
	turn, turns      int // of executions that take turns: which, of how many
}

// cells is a set of the cells of a stage, by number.
type cells struct {
	in []bool
	n  int
}

// cell is the number of a cell of a stage's tiles.
func (s *study) cell(row, col, tile int) int32 {
	return int32((tile*len(s.rows)+row)*max(s.width, s.tileN) + col)
}

func (s *study) noCells() *cells {
	return &cells{in: make([]bool, s.tiles*len(s.rows)*max(s.width, s.tileN))}
}

func (c *cells) add(at int32) bool {
	if c.in[at] {
		return false
	}
	c.in[at] = true
	c.n++
	return true
}

// candidates lists the instructions all of whose values that are followed are of a stage, as pick says, in every block that was followed.
func (s *study) candidates(pick func(s *study, e *event, a *atom) (sp spot, ok bool)) []*candidate {
	return s.confirmed(func(s *study) []*candidate { return s.list(pick) })
}

// confirmed leaves out what another block does not confirm: an instruction that has other values there, or of other tiles.
func (s *study) confirmed(list func(s *study) []*candidate) []*candidate {
	found := list(s)
	if s.also == nil {
		return found
	}
	type key struct {
		pc, dest, turn, turns int
		of                    string
	}
	there := map[key]*candidate{}
	for _, c := range list(s.also) {
		there[key{c.pc, c.dest, c.turn, c.turns, c.of}] = c
	}
	return slices.DeleteFunc(found, func(c *candidate) bool {
		d := there[key{c.pc, c.dest, c.turn, c.turns, c.of}]
		if d == nil {
			return true
		}
		if s.tiles == 1 {
			c.tile = d.tile // one iteration shows no rule
		}
		return c.tileText() != d.tileText()
	})
}

// list is the candidates of one block.
func (s *study) list(pick func(s *study, e *event, a *atom) (sp spot, ok bool)) []*candidate {
	var out []*candidate
	for _, pc := range slices.Sorted(maps.Keys(s.r.sites)) {
		st := s.r.sites[pc]
		if in := s.f.Body[pc]; st.impure && !s.partial || in.Kind().Updates() || len(in.Dests(nil)) == 0 {
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
				c = &candidate{pc: pc, dest: key, frag: st.frag, whole: true, coef: float64(e.coef)}
				if st.frag != nil {
					c.of = "d"
				}
				by[key] = c
			}
			if !c.whole {
				continue
			}
			sp, ok := pick(s, e, a)
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
			if c := by[key]; c.whole && len(c.spots) > 0 && (s.partial || c.sampled(st)) {
				out = append(out, c.settle(s)...)
			}
		}
	}
	return out
}

// sampled reports whether every thread that executed the instruction, of a fragment every warp, has a value that is followed: where the others' would
// lie is not known.
func (c *candidate) sampled(st *site) bool {
	seen := make([]uint32, len(st.ran))
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

// settle finds the tile of every execution, and the positions of the registers in it: of executions that take turns with several parts of a tile
// (a loop that is not unrolled) one candidate a part. None where they follow no rule.
func (c *candidate) settle(s *study) []*candidate {
	var own []bool // by execution: it has values of the stage
	for i := range c.spots {
		own = mark(own, c.spots[i].n)
	}
	n := max(len(own), len(c.others))
	for turns := 1; turns <= min(maxTurns, n); turns++ {
		if n%turns != 0 || !apart(own, c.others, turns) {
			continue
		}
		if parts := c.parts(s, turns); parts != nil {
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
func (c *candidate) parts(s *study, turns int) []*candidate {
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
	if slices.ContainsFunc(parts, func(p *candidate) bool { return !p.regular(s) }) {
		return nil
	}
	return parts
}

// maxTurns is how many parts of a tile an instruction may take turns with.
const maxTurns = 32

// regular finds the tile of every execution, the positions, and the cells that are covered.
func (c *candidate) regular(s *study) bool {
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
	if len(lo) == 0 || !c.fitTile(lo, hi, most+1) || !c.fitPositions(s.warps()) {
		return false
	}
	seen := s.noCells()
	tiles := make([]int, most+1)
	for n := range tiles {
		tiles[n] = c.tile.at([]int{n})
	}
	for i := range c.spots {
		sp := &c.spots[i]
		if sp.row < 0 || sp.col < 0 {
			continue
		}
		if at := s.cell(sp.row, sp.col, tiles[sp.n]); seen.add(at) {
			c.cells = append(c.cells, at)
		}
	}
	return true
}

// tileText writes the tile of an execution n, -1 for those of other parts.
func (c *candidate) tileText() string {
	text := c.tile.text()
	if c.turns == 1 {
		return text
	}
	text = variableN.ReplaceAllString(text, fmt.Sprintf("div(n, %d)", c.turns))
	return fmt.Sprintf("n %% %d == %d ? %s : -1", c.turns, c.turn, text)
}

var variableN = regexp.MustCompile(`\bn\b`)

// fitTile finds the tile of execution n within what it may be: mostly first + n; with one execution, its tile.
func (c *candidate) fitTile(lo, hi map[int]int, size int) bool {
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
				f, fine := fit(v, []sample{{[]int{0}, base}, {[]int{1}, base + step}})
				c.tile = f
				return fine
			}
		}
	}
	var samples []sample
	for n := range lo {
		samples = append(samples, sample{[]int{n}, lo[n]})
	}
	f, ok := fit(v, samples)
	c.tile = f
	return ok
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
	for _, sp := range c.spots {
		at, at2 := []int{sp.warp, sp.lane, sp.e}, []int{sp.warp, sp.lane, sp.e}
		if c.of != "" {
			r, k := c.frag.Cell(sp.lane, sp.e)
			at, at2 = []int{sp.warp, r}, []int{sp.warp, k}
		}
		if sp.row >= 0 && c.row.at(at) != sp.row || sp.col >= 0 && c.col.at(at2) != sp.col {
			return false
		}
	}
	c.baseRow, c.baseCol = c.row.base, c.col.base
	return true
}

// choose takes the candidates that cover the wanted cells, the ones with most first, and returns how many cells are left. Of those that
// cover the same it takes the last in the text where late, else the first.
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

// placements writes chosen candidates as entries: those of one kind whose tiles follow the same rule, and whose positions differ by their place in
// a list, are one entry.
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
		return cmp.Or(cmp.Compare(a.tile, b.tile), cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.dest, b.dest))
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

// sourceLine is the line that blame for an instruction falls on, with the base name of its file; 0 where there is none.
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
			meant = in.Kind() == isa.Multiply
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
func entries(list []*candidate, of string, dest int, tile string, warps int, line func(pc int) int) []Placement {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.baseRow, b.baseRow), cmp.Compare(a.baseCol, b.baseCol), cmp.Compare(a.pc, b.pc))
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
	return append(entries(list[:half], of, dest, tile, warps, line), entries(list[half:], of, dest, tile, warps, line)...)
}

// entry writes candidates as one entry, if their positions follow from their place in the list.
func entry(list []*candidate, of string, dest int, tile string, warps int, line func(pc int) int) (Placement, bool) {
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

// each calls g for points that determine the function: zero, and each bit of each variable alone, and all ones.
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
