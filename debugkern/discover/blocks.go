package discover

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// blocks is where every block of a launch reads and writes its arguments.
type blocks struct {
	l   *target.Launch
	ids []probes.Dim3
	by  map[probes.Dim3]*footprint

	unwritten map[string]int // target.Result.Unwritten
	ordered   bool           // target.Result.Ordered
}

// footprints executes a launch and notes which elements of the arguments its blocks access.
func footprints(ctx context.Context, k target.Kernel, l *target.Launch) (*blocks, error) {
	one := *l
	b := &blocks{l: l, by: map[probes.Dim3]*footprint{}}
	var mu sync.Mutex
	one.Observe = func(id probes.Dim3) target.Observer {
		f := &footprint{reach: map[int]*span{}}
		mu.Lock()
		defer mu.Unlock()
		b.by[id] = f
		return f
	}
	one.Discard = func() {
		mu.Lock()
		defer mu.Unlock()
		clear(b.by)
	}
	res, err := k.Launch(ctx, &one)
	if err != nil {
		return nil, err
	}
	b.unwritten, b.ordered = res.Unwritten, res.Ordered || l.Cooperative
	for i := range l.Grid.Count() {
		if id := l.Grid.At(i); b.by[id] != nil {
			b.ids = append(b.ids, id)
		}
	}
	return b, nil
}

// accessed is the arguments that blocks read and write.
func (b *blocks) accessed() (read, wrote map[string]bool) {
	read, wrote = map[string]bool{}, map[string]bool{}
	for _, f := range b.by {
		for _, x := range f.out {
			wrote[x.arg] = wrote[x.arg] || x.store
			read[x.arg] = read[x.arg] || x.load
		}
	}
	return read, wrote
}

// richest is the block that stores most, and of those that store as much the one that reads most: one with a
// whole tile of rows, and many iterations.
func (b *blocks) richest() probes.Dim3 {
	best := b.ids[0]
	for _, id := range b.ids {
		x, y := b.by[id], b.by[best]
		if cmp.Or(cmp.Compare(x.stores, y.stores), cmp.Compare(x.loads, y.loads)) > 0 {
			best = id
		}
	}
	return best
}

// longest is the block that reads most.
func (b *blocks) longest() probes.Dim3 {
	best := b.ids[0]
	for _, id := range b.ids {
		if b.by[id].loads > b.by[best].loads {
			best = id
		}
	}
	return best
}

// function is a number that depends on the block, as an expression over bx, by and bz.
type function struct {
	text string
	vary bool // it is not the same for all blocks
}

// fitBlocks finds an expression that gives every block its number; false where there is none of the
// forms that are tried.
func (b *blocks) fitBlocks(value func(id probes.Dim3) (int, bool)) (function, bool) {
	var samples []sample
	for _, id := range b.ids {
		if v, ok := value(id); ok {
			samples = append(samples, sample{[]int{id[0], id[1], id[2]}, v})
		}
	}
	if len(samples) == 0 {
		return function{}, false
	}
	v := []variable{{"bx", b.l.Grid[0]}, {"by", b.l.Grid[1]}, {"bz", b.l.Grid[2]}}
	constant := true
	for _, s := range samples {
		constant = constant && s.v == samples[0].v
	}
	if constant {
		return function{text: fmt.Sprint(samples[0].v)}, true
	}
	linear := &fitted{vars: v, byBit: make([]bool, 3)}
	if linear.solve(samples) {
		return function{linear.text(), true}, true
	}
	for axis := range 3 { // one side of the grid covers several dimensions
		if text, ok := folded(samples, axis, v[axis]); ok {
			return function{text, true}, true
		}
	}
	return function{}, false
}

// folded fits step·(div(b, n) % m) + base for one component b of the block.
func folded(samples []sample, axis int, v variable) (string, bool) {
	base, step := samples[0].v, 0
	for _, s := range samples {
		base = min(base, s.v)
	}
	for _, s := range samples {
		if d := s.v - base; d > 0 && (step == 0 || d < step) {
			step = d
		}
	}
	if step == 0 {
		return "", false
	}
	for n := 1; n < v.size; n++ {
		for m := 2; m <= (v.size+n-1)/n; m++ {
			for _, down := range []bool{false, true} {
				ok := true
				for _, s := range samples {
					x := s.at[axis] / n % m
					if down {
						x = m - 1 - x
					}
					ok = ok && s.v == base+step*x
				}
				if ok {
					return foldedText(v.name, n, m, step, base, down, m*n >= v.size), true
				}
			}
		}
	}
	return "", false
}

func foldedText(name string, n, m, step, base int, down, last bool) string {
	text := name
	if n > 1 {
		text = fmt.Sprintf("div(%s, %d)", name, n)
	}
	if !last {
		text = fmt.Sprintf("(%s %% %d)", text, m)
	}
	if down {
		text = fmt.Sprintf("(%d - %s)", m-1, text)
	}
	if step != 1 {
		text = fmt.Sprintf("%d * %s", step, text)
	}
	if base > 0 {
		text += fmt.Sprintf(" + %d", base)
	}
	return text
}

// layout is how an operand lies in its argument.
type layout struct {
	dims       []int
	rows, cols int   // dimensions that rows and columns run along; cols -1: there are none
	first      []int // position of the first row, in the block that was followed
}

// laid finds the dimensions that rows and columns run along, by their steps, from the argument's; of a
// flat one they are made of the steps. first is the element of the first row and column, rows and cols
// are how many there are.
func (s *study) laid(arg, first, stepRow, rows, stepCol, cols int) (*layout, error) {
	dims := slices.Clone(s.l.Args[arg].Buffer.Dims)
	if len(dims) == 1 && cols > 1 {
		dims = unfolded(dims[0], stepRow, stepCol)
	}
	out := &layout{dims: dims, rows: -1, cols: -1, first: probes.Index(first, dims)}
	stride := 1
	for d := len(dims) - 1; d >= 0; d-- {
		end := out.first[d]
		switch {
		case cols > 1 && stride == stepCol && dims[d] > 1 && out.cols < 0 && end+cols <= dims[d]:
			out.cols = d
		case stride == stepRow && stepRow > 0 && dims[d] > 1 && out.rows < 0 && end+rows <= dims[d]:
			out.rows = d
		}
		stride *= dims[d]
	}
	if stepRow == 0 { // one row: the dimension next to its columns
		for d := range dims {
			if d != out.cols {
				out.rows = d
			}
		}
	}
	if out.rows < 0 || cols > 1 && out.cols < 0 {
		return nil, notFound(
			"rows %d and columns %d elements apart are no dimensions of argument %s, which has %v", stepRow,
			stepCol, inText(arg), s.l.Args[arg].Buffer.Dims)
	}
	return out, nil
}

// unfolded makes two dimensions of a flat argument: the larger step is a row of the memory.
func unfolded(n, stepRow, stepCol int) []int {
	if big := max(stepRow, stepCol); n%big == 0 {
		return []int{n / big, big}
	}
	return []int{n}
}

// stepOf is the step between rows or keys: the difference of neighbours, which must be the
// same; 0 for one alone.
func stepOf(list []int32) (int, error) {
	if len(list) < 2 {
		return 0, nil
	}
	step := int(list[1] - list[0])
	for i := 1; i < len(list); i++ {
		if int(list[i]-list[i-1]) != step {
			return 0, notFound("rows %d and %d are not as far apart as the first two", i-1, i)
		}
	}
	return step, nil
}

// queries is how the block's rows of the queries lie in their argument.
func (s *study) queries() (*layout, error) {
	step, err := stepOf(s.rows)
	if err != nil {
		return nil, err
	}
	return s.laid(s.query(), int(s.rows[0]), step, len(s.rows), s.stepQ, int(s.depth))
}

// place finds where the operands lie in the arguments, for every block.
func (s *study) place(a *Attention, b *blocks) error {
	stepKey, err := stepOf(s.keys)
	if err != nil {
		return err
	}
	s.stepKey = stepKey
	q, err := s.queries()
	if err != nil {
		return err
	}
	k, err := s.laid(s.key(), int(s.keys[0]), stepKey, len(s.keys), s.stepK, int(s.depth))
	if err != nil {
		return err
	}
	z, err := s.laid(int(s.argZ), s.z0, s.stepZ, len(s.keys), s.stepD, s.width)
	if err != nil {
		return err
	}
	if err := s.counted(a, b, q, k); err != nil {
		return err
	}
	for _, x := range []struct {
		role Role
		arg  int
		at   *layout
		says string
	}{
		{Queries, s.query(), q, "rows of the scores"}, {Keys, s.key(), k, "columns of the scores"},
		{Values, int(s.argZ), z, "what weights multiply"},
	} {
		o, err := s.operand(x.role, x.arg, x.at, b, a)
		if err != nil {
			a.Missing = append(a.Missing, fmt.Sprintf("%s: %v", x.role, err))
			continue
		}
		o.Evidence = x.says
		a.Operands = append(a.Operands, *o)
	}
	return s.results(a, b)
}

// readers are the instructions that read (or write) an operand in the block that was followed: those whose
// accesses lie at its position in all dimensions that neither rows nor columns run along.
func (s *study) readers(arg int, at *layout, b *blocks, id probes.Dim3, store bool) []int {
	var out []int
	f := b.by[id]
	for _, pc := range slices.Sorted(maps.Keys(f.out)) {
		x := f.out[pc]
		if x.arg != s.argName(arg) || x.store != store {
			continue
		}
		same := true
		lo := s.position(x.lo, at, arg)
		for d, p := range lo {
			same = same && (d == at.rows || d == at.cols || p == at.first[d])
		}
		if same {
			out = append(out, pc)
		}
	}
	return b.alike(s.argName(arg), store, out, id, func(x span2) []int {
		p := s.position(x.lo, at, arg)
		for d := range p {
			if d == at.rows || d == at.cols {
				p[d] = 0
			}
		}
		return p
	})
}

// alike adds the instructions that access an argument in other blocks where those that are known do, and that
// the block that was followed did not need.
func (b *blocks) alike(arg string, store bool, known []int, id probes.Dim3, where func(x span2) []int) []int {
	for _, other := range b.ids {
		f := b.by[other]
		var at []int
		for _, pc := range known {
			if x, ok := f.out[pc]; ok {
				at = where(x)
				break
			}
		}
		for _, pc := range slices.Sorted(maps.Keys(f.out)) {
			x := f.out[pc]
			_, here := b.by[id].out[pc]
			if !here && at != nil && x.arg == arg && x.store == store && !slices.Contains(known, pc) &&
				slices.Equal(at, where(x)) {
				known = append(known, pc)
			}
		}
	}
	return known
}

// element is the number of an element of an argument, by its index.
func (s *study) element(index []int, arg int) int {
	e := 0
	for d, n := range s.l.Args[arg].Buffer.Dims {
		e = e*n + index[d]
	}
	return e
}

// position is an index of an argument in a layout's dimensions.
func (s *study) position(index []int, at *layout, arg int) []int {
	return probes.Index(s.element(index, arg), at.dims)
}

// operand finds the position of an operand's first row as expressions of the block.
func (s *study) operand(role Role, arg int, at *layout, b *blocks, a *Attention) (*Operand, error) {
	o := &Operand{Role: role, Arg: arg, Dims: at.dims, Rows: at.rows, Cols: at.cols}
	store := role == Result || role == LSE
	pcs := s.readers(arg, at, b, a.Block, store)
	if len(pcs) == 0 {
		return nil, notFound("no instruction was seen to access argument %s there", inText(arg))
	}
	lowest := func(id probes.Dim3) []int { return s.lowest(b, id, pcs, at, arg) }
	here := lowest(a.Block)
	for d := range at.dims {
		if d == at.cols {
			o.At = append(o.At, fmt.Sprint(at.first[d]))
			continue
		}
		f, ok := b.fitBlocks(func(id probes.Dim3) (int, bool) {
			low := lowest(id)
			if low == nil {
				return 0, false
			}
			return low[d] + at.first[d] - here[d], true
		})
		if !ok {
			return nil, notFound(
				"its position in dimension %d of argument %s is no expression of the block that was tried",
				d, inText(arg))
		}
		o.At = append(o.At, f.text)
		if d != at.rows {
			continue
		}
		switch role {
		case Queries:
			a.Query = f.text
		case Keys:
			a.Key = s.keyPosition(f.text, a.Tiles)
			o.At[d] = a.Key
		case Values:
			o.At[d] = s.keyPosition(f.text, a.Tiles)
		}
	}
	return o, nil
}

// lowest is the lowest position in every dimension at which instructions of a block access an argument; nil
// where they do not.
func (s *study) lowest(b *blocks, id probes.Dim3, pcs []int, at *layout, arg int) []int {
	var low []int
	for _, pc := range pcs {
		if x, ok := b.by[id].out[pc]; ok {
			p := s.position(x.lo, at, arg)
			if low == nil {
				low = p
			}
			for d := range low {
				low[d] = min(low[d], p[d])
			}
		}
	}
	return low
}

// keyPosition is the position of an iteration's first key.
func (s *study) keyPosition(first, tiles string) string {
	text := fmt.Sprintf("kv * %d", s.tileN)
	if s.falling {
		text = fmt.Sprintf("(%s - 1 - kv) * %d", tiles, s.tileN)
	}
	if first != "0" {
		text = first + " + " + text
	}
	return text
}

// counted finds how many iterations every block has: by the keys that it reads.
func (s *study) counted(a *Attention, b *blocks, q, k *layout) error {
	pcs := s.readers(s.key(), k, b, a.Block, false)
	tiles := func(id probes.Dim3) (int, bool) {
		lo, hi := -1, -1
		for _, pc := range pcs {
			if x, ok := b.by[id].out[pc]; ok {
				// Lanes past the last key may have addresses of the next head: rows are
				// counted, not looked up.
				p := s.position(x.lo, k, s.key())[k.rows]
				q := p + (s.element(x.hi, s.key())-s.element(x.lo, s.key()))/max(s.stepKey, 1)
				if lo < 0 {
					lo, hi = p, q
				}
				lo, hi = min(lo, p), max(hi, q)
			}
		}
		return (hi - lo + s.tileN) / s.tileN, lo >= 0
	}
	if n, ok := tiles(a.Block); !ok || n != s.tiles {
		return notFound("block %s has %d iterations, and reads the keys of %d", a.Block, s.tiles, n)
	}
	if f, ok := b.fitBlocks(tiles); ok {
		a.Tiles = f.text
		return nil
	}
	// A causal loop ends with the block's last query.
	most := 0
	for _, id := range b.ids {
		if n, ok := tiles(id); ok {
			most = max(most, n)
		}
	}
	rows := s.readers(s.query(), q, b, a.Block, false)
	tilesTo := func(end int) int { return (end + s.tileN - 1) / s.tileN }
	all := func(ends func(id probes.Dim3, n int) bool) bool {
		return !slices.ContainsFunc(b.ids, func(id probes.Dim3) bool {
			n, known := tiles(id)
			return known && !ends(id, n)
		})
	}
	if all(func(id probes.Dim3, n int) bool {
		row := s.lowest(b, id, rows, q, s.query())
		return row != nil && n == min(most, tilesTo(row[q.rows]+a.TileM))
	}) {
		a.Tiles = fmt.Sprintf("min(%d, ceil_div(query + %d, %d))", most, a.TileM, s.tileN)
		return nil
	}
	for axis, name := range []string{"bx", "by", "bz"} {
		if all(func(id probes.Dim3, n int) bool {
			return n == min(most, max(1, tilesTo((id[axis]+1)*s.tileM)))
		}) {
			a.Tiles = fmt.Sprintf("min(%d, ceil_div((%s + 1) * %d, %d))", most, name, s.tileM, s.tileN)
			return nil
		}
	}
	return notFound("the number of iterations is no expression of the block that was tried")
}

// results finds what is stored: weighted sums divided by sums, and logarithms of sums.
func (s *study) results(a *Attention, b *blocks) error {
	g := s.d.algebra
	byArg := map[int32]*quotients{}
	lse := map[int32]map[int]int32{}
	natural := 0.0
	for _, x := range s.r.store {
		f := &g.forms[x.x]
		if at, coef, ok := f.single(); ok && g.atoms[at].kind == quotient && near(coef, 1) {
			row, col, right := s.divided(&g.atoms[at])
			if row < 0 {
				continue
			}
			q := byArg[x.arg]
			if q == nil {
				q = &quotients{cells: map[[2]int]int32{}, right: map[[2]int]bool{}}
				byArg[x.arg] = q
			}
			q.cells[[2]int{row, col}] = x.element
			if right {
				q.right[[2]int{row, col}] = true
			}
			continue
		}
		if row, unit, ok := s.logarithm(f); ok {
			if lse[x.arg] == nil {
				lse[x.arg] = map[int]int32{}
			}
			lse[x.arg][row], natural = x.element, unit
		}
	}
	if len(byArg) == 0 {
		a.Missing = append(a.Missing,
			fmt.Sprintf("%s: no weighted sum divided by the sum of its weights is stored", Result))
	}
	for arg, q := range byArg {
		if err := s.result(a, b, int(arg), q); err != nil {
			a.Missing = append(a.Missing, fmt.Sprintf("%s: %v", Result, err))
		}
	}
	for arg, rows := range lse {
		if err := s.sums(a, b, int(arg), rows, natural); err != nil {
			a.Missing = append(a.Missing, fmt.Sprintf("%s: %v", LSE, err))
		}
	}
	return nil
}

// quotients are the places of weighted sums that are divided, and which of these are what attention stores.
type quotients struct {
	cells map[[2]int]int32 // element by row and column
	right map[[2]int]bool
}

// divided is the row and column of a quotient, by the first of its weights and values, -1 where these
// are none of the study's; right: it is the sum of all of a row's weights times values, divided by
// that of the same weights.
func (s *study) divided(q *atom) (row, col int, right bool) {
	w, p := &s.d.atoms[q.ref], &s.d.atoms[q.ref2]
	row = -1
	for at := q.ref; at != 0 && row < 0; at = s.d.atoms[at].left {
		if a := &s.d.atoms[at]; a.at > 0 {
			row = int(s.rowOf[s.d.pairs[a.at].a])
		}
	}
	col, ok := s.columnOf(q.ref)
	if !ok || w.arg != s.argZ || row < 0 {
		return -1, -1, false
	}
	in, ok := s.match(w)
	sum, ok2 := s.match(p)
	return row, col, ok && ok2 && in.row == row && sum.row == row && in.last == s.tiles-1 &&
		sum.last == s.tiles-1 && w.ref == p.ref
}

// logarithm is the row whose logarithm of a sum of exponentials a form is, and natural units
// for one of its own.
func (s *study) logarithm(f *form) (row int, unit float64, ok bool) {
	g := s.d.algebra
	if f.n != 2 {
		return 0, 0, false
	}
	var log, top int
	switch {
	case g.atoms[f.atom[0]].kind == logarithm && g.atoms[f.atom[1]].kind == maximum:
		log, top = 0, 1
	case g.atoms[f.atom[1]].kind == logarithm && g.atoms[f.atom[0]].kind == maximum:
		log, top = 1, 0
	default:
		return 0, 0, false
	}
	p := &g.atoms[g.atoms[f.atom[log]].ref]
	in, ok := s.match(p)
	if !ok || in.last != s.tiles-1 || p.ref != f.atom[top] ||
		!near(f.coef[top]/f.coef[log], g.alphas[s.alpha]) {
		return 0, 0, false
	}
	return in.row, ln2 / f.coef[log], true
}

const ln2 = 0.693147180559945309417232121458176568

// result places the output. Where some of its values are something else, for the kernel is wrong, the others
// show where it lies.
func (s *study) result(a *Attention, b *blocks, arg int, q *quotients) error {
	rows := 0
	var samples []sample
	for c, x := range q.cells {
		rows = max(rows, c[0]+1)
		samples = append(samples, sample{[]int{c[0], c[1]}, int(x)})
	}
	if len(q.right) < rows*s.width {
		rows = len(s.rows)
	}
	v := []variable{{"row", rows}, {"col", s.width}}
	f := &fitted{vars: v, byBit: make([]bool, len(v))}
	if !f.solve(samples) {
		return notFound("its elements are not evenly spaced in argument %s", inText(arg))
	}
	stored := 0
	for r := range rows {
		for c := range s.width {
			if s.r.wrote[element1{int32(arg), int32(f.at([]int{r, c}))}] {
				stored++
			}
		}
	}
	stepRow, stepCol := f.weights[0][0], f.weights[1][0]
	if stored < rows*s.width || rows > 1 && stepRow == 0 || stepCol == 0 {
		return notFound("%d of %d cells are stored", stored, rows*s.width)
	}
	if len(q.right) < rows*s.width {
		a.Missing = append(a.Missing,
			fmt.Sprintf(
				"%s: %d of the %d values that block %s stores are a weighted sum of all values divided by the sum of its weights",
				Result, len(q.right), rows*s.width, a.Block))
	}
	e := func(r, c int) int { return f.at([]int{r, c}) }
	at, err := s.laid(arg, e(0, 0), stepRow, rows, stepCol, s.width)
	if err != nil {
		return err
	}
	o, err := s.operand(Result, arg, at, b, a)
	if err != nil {
		return err
	}
	o.Evidence = "the weighted sums divided by the sums of weights are stored to it"
	a.Operands = append(a.Operands, *o)
	a.Stages = append(a.Stages, Stage{
		Role: Result, DType: s.l.Args[arg].Buffer.DType, Unit: 1, Parts: 1,
		Evidence: fmt.Sprintf("argument %s gets, row by row, %s divided by %s", inText(arg),
			Accumulator, Sum),
	})
	return nil
}

// sums places the logarithms.
func (s *study) sums(a *Attention, b *blocks, arg int, rows map[int]int32, unit float64) error {
	step := 0
	if len(rows) > 1 {
		step = int(rows[1] - rows[0])
	}
	for r, x := range rows {
		if int(x) != int(rows[0])+r*step {
			return notFound("its elements are not evenly spaced in argument %s", inText(arg))
		}
	}
	at, err := s.laid(arg, int(rows[0]), step, len(rows), 0, 1)
	if err != nil {
		return err
	}
	o, err := s.operand(LSE, arg, at, b, a)
	if err != nil {
		return err
	}
	o.Evidence = "maximum + log(sum) of each row is stored to it"
	a.Operands = append(a.Operands, *o)
	a.Stages = append(a.Stages, Stage{
		Role: LSE, DType: s.l.Args[arg].Buffer.DType, Unit: unit, Parts: 1,
		Evidence: fmt.Sprintf("argument %s gets the logarithm of each row's sum of exponentials",
			inText(arg)),
	})
	return nil
}

// mask finds the rule by which keys take part: those that a row's weights are made of.
func (s *study) mask(a *Attention) {
	if len(s.keys) == 0 || a.Query == "" || a.Key == "" {
		return
	}
	// Offsets of the last and first key that a row sees, where that is not all.
	var upper, lower []sample
	full := true
	for r := range s.rows {
		first, last := -1, -1
		for k, in := range s.seen[r] {
			if in {
				if first < 0 {
					first = k
				}
				last = k
			}
		}
		for k := first; k <= last && k >= 0; k++ {
			if !s.seen[r][k] {
				a.Missing = append(a.Missing, "mask: rows see keys with gaps between them")
				a.Mask = []string{"?"}
				return
			}
		}
		if last < len(s.keys)-1 {
			full = false
			upper = append(upper, sample{[]int{r}, last})
		}
		if first > 0 {
			full = false
			lower = append(lower, sample{[]int{r}, first})
		}
	}
	if full {
		return
	}
	rel := func(list []sample) (int, bool) {
		d := list[0].v - list[0].at[0]
		for _, x := range list {
			if x.v-x.at[0] != d {
				return 0, false
			}
		}
		return d, true
	}
	offset := s.absolute(a)
	if upper != nil {
		d, ok := rel(upper)
		if !ok {
			a.Missing = append(a.Missing, "mask: the last key that a row sees follows no rule that was tried")
			a.Mask = []string{"?"}
			return
		}
		a.Mask = append(a.Mask, strings.TrimSpace("key + c <= query + r"+signed(d+offset)))
	}
	if lower != nil {
		d, ok := rel(lower)
		if !ok {
			a.Missing = append(a.Missing,
				"mask: the first key that a row sees follows no rule that was tried")
			a.Mask = []string{"?"}
			return
		}
		a.Mask = append(a.Mask, "key + c >= query + r"+signed(d+offset))
	}
}

// absolute is the position of the block's first key less that of its first query.
func (s *study) absolute(a *Attention) int {
	q, k := a.Operand(Queries), a.Operand(Keys)
	if q == nil || k == nil {
		return 0
	}
	pos := func(first int32, o *Operand) int { return probes.Index(int(first), o.Dims)[o.Rows] }
	return pos(s.keys[0], k) - pos(s.rows[0], q)
}

func signed(d int) string {
	switch {
	case d > 0:
		return fmt.Sprintf(" + %d", d)
	case d < 0:
		return fmt.Sprintf(" - %d", -d)
	}
	return ""
}
