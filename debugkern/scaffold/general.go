package scaffold

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// dimension is a name of the manifest's shape, and the extent that the first shape has.
type dimension struct {
	name     string
	extent   int64
	launched bool // the extent is the number of blocks that the source launches
}

// gridSide is one component of a launch's grid: so many blocks cover an extent by steps of a tile.
type gridSide struct {
	text   string // as the manifest has it
	extent string // what is covered; "" where it is not known
	tile   int64
	guess  string
}

// general is a manifest of a kernel that is no attention, under way.
type general struct {
	*manifestText
	v      *view
	f      *ptx.Func
	params []Parameter
	names  []string // of the parameters in the manifest
	dims   []dimension
	dimOf  map[int]string // dimension by parameter
	block  [3]int64
	grid   [3]gridSide
	args   []string // dims of each pointer, as the manifest has them
	why    []string // what is a guess about each parameter
	result int      // the parameter that is written; -1
	kind   *kernelKind

	geo          geometry
	given        *Launch      // nil where the launch is guessed
	indices      *indexReader // nil without the kernel's text
	guessedBlock bool
	// passedExtents: the dimensions have the extents that the launching function passes
	passedExtents bool
}

// general writes the manifest of a kernel that is no attention.
func (w *manifestText) general(f *ptx.Func, v *view, params []Parameter, name string) *general {
	g := &general{manifestText: w, v: v, f: f, params: params, dimOf: map[int]string{}, result: -1,
		args: make([]string, len(params)), why: make([]string, len(params))}
	g.settle()
	if w.doc.given != nil {
		g.take(w.doc.given)
	}
	g.writeConstants()
	g.writeLaunch()
	g.writeArguments()
	g.shared(g.doc.module.SharedLayout(f), v)
	g.writeStages(name)
	return g
}

// settle finds the launch and the extents of what it is given: as the host's code has them, else what the
// kernel's text shows, else usual numbers. A manifest and the example of a launch are both made of it.
func (g *general) settle() {
	g.name()
	g.sizes()
	g.geo = g.geometry()
	g.indices = g.indexReader()
	g.indices.blocks(&g.geo)
	g.threads()
	g.kind = g.recognise()
	g.blocks()
	g.extents()
	g.pointers()
	g.takePassed()
	g.gridAsRan()
	g.takeAllocated()
	g.orderSides()
}

// taken are names that a dimension cannot have: positions, loops, functions of expressions.
var taken = []string{"bx", "by", "bz", "kv", "r", "c", "row", "col", "e", "pi", "min", "max", "div", "abs",
	"sqrt", "pow", "ceil", "floor", "round", "true", "false", "in", "not", "and", "or"}

// name gives every parameter a name of its own.
func (g *general) name() {
	for i, p := range g.params {
		n := p.Name
		if n == "" || slices.Contains(g.names, n) {
			n = fmt.Sprintf("param_%d", i)
		}
		g.names = append(g.names, n)
	}
}

// sizes takes the integers that are passed as the shape's dimensions.
func (g *general) sizes() {
	for i, p := range g.params {
		if p.Pointer || p.Struct > 0 || p.DType.Float() || p.DType.Size() < 4 {
			continue
		}
		if n, err := strconv.ParseInt(g.passedValue(i), 10, 64); err == nil && n < 1 {
			continue // no extent: a shift, an index that is ignored
		}
		name := g.names[i]
		if strings.HasPrefix(name, "param_") {
			name = fmt.Sprintf("n%d", len(g.dims))
		}
		if slices.Contains(taken, name) {
			name = strings.ToUpper(name)
		}
		g.dimOf[i] = name
		g.dims = append(g.dims, dimension{name: name})
	}
}

func (g *general) isDim(name string) bool {
	return slices.ContainsFunc(g.dims, func(d dimension) bool { return d.name == name })
}

// threads settles the block: what the kernel is compiled for, what the host's code launches, what launch
// bounds allow.
func (g *general) threads() {
	g.block = [3]int64{0, 1, 1}
	bound, exact, bounded := g.f.BlockBound()
	if exact {
		g.block = [3]int64{int64(bound[0]), int64(bound[1]), int64(bound[2])}
		return
	}
	if g.v.launch != nil && len(g.v.launch.Config) > 1 {
		for i, e := range g.components(g.v.launch.Config[1]) {
			if n, ok := e.Eval(g.launchValue); ok && n > 0 && n <= 1024 && i < 3 {
				g.block[i] = n
			} else {
				g.guessedBlock = true
			}
		}
	}
	if r := g.v.ran; r != nil && r.Block != nil {
		g.block, g.guessedBlock = *r.Block, false
	}
	if g.block[0] > 0 {
		return
	}
	g.guessedBlock = true
	most := int64(0)
	if bounded {
		most = int64(bound[0]) * max(1, int64(bound[1])) * max(1, int64(bound[2]))
	} else if k := g.v.kernel; k != nil && len(k.Bounds) > 0 {
		most = g.number(k.Bounds[0], 1024)
	}
	g.shaped(most)
}

// components are the parts of a launch's grid or block.
func (g *general) components(text string) []*hostcode.Expr {
	for range 4 {
		if v, ok := g.v.launch.Locals[text]; ok {
			text = v
		}
	}
	inner, ok := strings.CutPrefix(text, "dim3(")
	if !ok {
		inner, ok = strings.CutPrefix(text, "dim3{")
	}
	if !ok {
		return []*hostcode.Expr{hostcode.ParseExpr(text)}
	}
	var out []*hostcode.Expr
	for _, part := range splitArguments(strings.TrimRight(strings.TrimSpace(inner), ")} ") + closing(inner)) {
		out = append(out, hostcode.ParseExpr(strings.TrimSpace(part)))
	}
	return out
}

// closing are the parentheses that belong to what is inside a dim3, which the one that ends it stands behind.
func closing(inner string) string {
	trimmed := strings.TrimRight(strings.TrimSpace(inner), ")} ")
	return strings.Repeat(")", max(0, strings.Count(trimmed, "(")-strings.Count(trimmed, ")")))
}

// launchValue is the value of a name in the function that launches: a parameter of the kernel is none.
func (g *general) launchValue(name string) *hostcode.Expr {
	if g.passed(name) != "" {
		return nil
	}
	if text, ok := g.v.launch.Locals[name]; ok {
		return hostcode.ParseExpr(text)
	}
	for i, p := range g.v.launch.Params {
		if p.Name == name && g.v.kernel != nil && i < len(g.v.launch.Template) {
			for j, t := range g.v.launch.Template {
				if t == name && j < len(g.v.kernel.Template) {
					return hostcode.ParseExpr(g.v.bound[g.v.kernel.Template[j].Name])
				}
			}
		}
	}
	return g.v.constant(name)
}

// passed is the dimension that the launching function passes under a name, "" where it passes none.
func (g *general) passed(name string) string {
	for i, a := range g.v.launch.Args {
		if a == name {
			return g.dimOf[i]
		}
	}
	return ""
}

// render writes an expression of the launching function as one of the manifest's.
func (g *general) render(e *hostcode.Expr, depth int) (string, bool) {
	if e == nil || depth > 20 {
		return "", false
	}
	if n, ok := e.Eval(g.launchValue); ok {
		return fmt.Sprint(n), true
	}
	if e.Op == "name" {
		if d := g.passed(e.Name); d != "" {
			return d, true
		}
		if text, ok := g.v.launch.Locals[e.Name]; ok {
			return g.render(hostcode.ParseExpr(text), depth+1)
		}
		return "", false
	}
	if x, y := roundedUp(e, g.launchValue); x != nil {
		a, okA := g.render(x, depth+1)
		b, okB := g.render(y, depth+1)
		return fmt.Sprintf("ceil_div(%s, %s)", a, b), okA && okB
	}
	if len(e.Args) != 2 || e.Op == "call" {
		return "", false
	}
	a, okA := g.render(e.Args[0], depth+1)
	b, okB := g.render(e.Args[1], depth+1)
	switch e.Op {
	case "+", "-", "*":
		return fmt.Sprintf("(%s %s %s)", a, e.Op, b), okA && okB
	case "/":
		return fmt.Sprintf("div(%s, %s)", a, b), okA && okB
	}
	return "", false
}

// roundedUp recognises the division that rounds up: (x + y - 1) / y, (x + 255) / 256, ceil_div(x, y).
func roundedUp(e *hostcode.Expr, value func(string) *hostcode.Expr) (x, y *hostcode.Expr) {
	if e.RoundsUp() {
		return e.Args[0], e.Args[1]
	}
	if e.Op != "/" {
		return nil, nil
	}
	n, ok := e.Args[1].Eval(value)
	up := e.Args[0]
	if !ok {
		return nil, nil
	}
	less := int64(0)
	if up.Op == "-" {
		if less, ok = up.Args[1].Eval(value); !ok {
			return nil, nil
		}
		up = up.Args[0]
	}
	if up.Op != "+" {
		return nil, nil
	}
	for i, a := range up.Args {
		if add, ok := a.Eval(value); ok && add-less == n-1 {
			return up.Args[1-i], e.Args[1]
		}
	}
	return nil, nil
}

// blocks settles the grid.
func (g *general) blocks() {
	g.grid = [3]gridSide{{text: "1", tile: 1}, {text: "1", tile: 1}, {text: "1", tile: 1}}
	if g.v.launch != nil && len(g.v.launch.Config) > 0 {
		known := false
		for i, e := range g.components(g.v.launch.Config[0]) {
			if i > 2 {
				continue
			}
			if e != nil && e.Op == "call" && !e.RoundsUp() { // a function may return all three
				e = nil
			}
			text, ok := g.render(e, 0)
			if r := g.v.ran; !ok && r != nil && r.Grid != nil {
				text, ok = fmt.Sprint(r.Grid[i]), true
			}
			if !ok {
				g.grid[i].guess = "how many blocks are launched along this axis?"
				continue
			}
			known = true
			g.grid[i] = gridSide{text: text, tile: 1, extent: text}
			if e == nil {
				continue // what executing it shows
			}
			if x, y := roundedUp(g.followed(e), g.launchValue); x != nil {
				g.grid[i].extent, _ = g.render(x, 0)
				g.grid[i].tile, _ = y.Eval(g.launchValue)
			} else if e := g.followed(e); e != nil && e.Op == "/" {
				g.grid[i].extent, _ = g.render(e.Args[0], 0)
				g.grid[i].tile, _ = e.Args[1].Eval(g.launchValue)
			}
		}
		// a number, or a name that is not passed
		rows := g.kind != nil && g.kind.rows != "" && g.grid[0].extent != g.kind.rows
		n, err := strconv.ParseInt(g.grid[0].text, 10, 32)
		if rows && err == nil && g.rowEach(n) && !g.isDim(g.kind.rows) {
			g.dims = append([]dimension{{name: g.kind.rows, extent: n, launched: true}}, g.dims...)
			g.grid[0].text, g.grid[0].extent, g.grid[0].tile = g.kind.rows, g.kind.rows, 1
			rows = false
		}
		if known && !rows {
			return
		}
	}
	g.guessGrid()
}

// rowEach reports whether so many blocks, as the source launches them, have a row each, and are few enough to
// be executed.
func (g *general) rowEach(blocks int64) bool {
	const most = 1024
	return g.grid[0].guess == "" && g.geo.tile[0] <= 1 && blocks > 0 && blocks <= most
}

// followed is an expression with a name replaced by what it starts with.
func (g *general) followed(e *hostcode.Expr) *hostcode.Expr {
	for range 8 {
		if e == nil || e.Op != "name" || g.passed(e.Name) != "" {
			break
		}
		next := g.launchValue(e.Name)
		if next == nil {
			break
		}
		e = next
	}
	return e
}

// guessGrid takes a usual grid: rows, tiles of a matrix, or elements.
func (g *general) guessGrid() {
	side := func(extent string, tile int64, guess string) gridSide {
		text := extent
		if tile > 1 {
			text = fmt.Sprintf("ceil_div(%s, %d)", extent, tile)
		}
		return gridSide{text: text, extent: extent, tile: tile, guess: guess}
	}
	const why = "which block computes what is the caller's choice"
	if g.kind != nil && g.kind.rows != "" && g.geo.extent[0] == unnamedRows {
		g.addDim(g.kind.rows)
		g.geo.extent[0] = g.kind.rows
	}
	if g.shownGrid(func(extent string, tile int64) gridSide { return side(extent, tile, why) }) {
		if g.kind != nil && g.kind.flat != "" && g.kind.flat != g.grid[0].extent {
			g.grid[0] = side(g.kind.flat, g.grid[0].tile, why)
		}
		return
	}
	switch {
	case g.kind != nil && g.kind.rows != "":
		g.addDim(g.kind.rows)
		g.grid[0] = side(g.kind.rows, 1, why)
	case g.kind != nil && g.kind.m != "":
		tile := g.tileOf()
		g.grid[0], g.grid[1] = side(g.kind.n, tile, why), side(g.kind.m, tile, why)
	case g.kind != nil && g.kind.flat != "":
		g.grid[0] = side(g.kind.flat, g.block[0], why)
	case len(g.dims) == 0:
		g.addDim("n")
		g.grid[0] = side("n", g.block[0], why)
	case len(g.dims) > 1 && g.block[1] > 1:
		g.grid[0], g.grid[1] = side(g.dims[len(g.dims)-1].name, g.block[0], why),
			side(g.dims[0].name, g.block[1], why)
	default:
		g.grid[0] = side(g.dims[0].name, g.block[0], why)
	}
}

func (g *general) addDim(name string) {
	if !g.isDim(name) {
		g.dims = append([]dimension{{name: name}}, g.dims...)
	}
}

// tileOf is the side of a matrix product's tile, as far as constants have a usual name for it.
func (g *general) tileOf() int64 {
	for _, name := range []string{"TILE", "TILE_SIZE", "BLOCK_SIZE", "TS", "BM", "TILE_M", "kTile",
		"TILE_WIDTH"} {
		if n, ok := g.v.value(name).Eval(g.v.value); ok && n > 0 && n <= 256 {
			return n
		}
	}
	return max(g.block[0], 1)
}

// extents gives every dimension an extent that no other has: multiples of what a block covers, at least a
// warp's threads.
func (g *general) extents() {
	step := int64(32)
	for _, s := range g.grid {
		for s.tile > 1 && step%s.tile != 0 && step < 1024 {
			step = step / gcd(step, s.tile) * s.tile
		}
	}
	if len(g.dims) == 1 {
		step = max(step, g.block[0])
	}
	for i := range g.dims {
		switch {
		case g.dims[i].launched:
		case len(g.dims) == 1:
			g.dims[i].extent = step * 3
		default:
			g.dims[i].extent = step * int64(i+2)
		}
	}
	if g.kind != nil && g.kind.rows != "" && len(g.dims) > 1 && bits.Len64(uint64(step)) < 8 &&
		!g.dims[0].launched {
		g.dims[0].extent = 6 // rows: one block each
	}
	if g.kind == nil && len(g.dims) > 1 {
		for a, few := range []int64{6, 5, 3} { // what has a block for each
			for i := range g.dims {
				if g.grid[a].tile == 1 && g.grid[a].extent == g.dims[i].name {
					g.dims[i].extent = few
				}
			}
		}
	}
	g.besideTiles()
	// a thread takes one element of its row
	if g.kind != nil && g.kind.rows != "" && !strides.MatchString(g.v.kernel.Body()) {
		for i := range g.dims {
			if g.dims[i].name == g.kind.cols {
				g.dims[i].extent = g.block[0]
			}
		}
	}
}

// equalExtents reports whether two dimensions have one extent.
func (g *general) equalExtents() bool {
	seen := map[int64]bool{}
	for _, d := range g.dims {
		if seen[d.extent] {
			return true
		}
		seen[d.extent] = true
	}
	return false
}

// besideTiles makes what the kernel's own conditions guard no multiple of a tile, so that the guards count:
// an odd number, or a multiple of 8 where memory is accessed by vectors or a side is divided.
func (g *general) besideTiles() {
	if g.v.kernel == nil {
		return
	}
	less := int64(3)
	body := g.v.kernel.Body()
	text := plainText(body)
	if wideAccess.MatchString(text) {
		less = 8
	}
	for _, name := range g.guarded(text) {
		for i := range g.dims {
			if d := &g.dims[i]; d.name == name && d.extent > 16 {
				d.extent -= less
			}
		}
	}
}

var (
	// wideAccess is what takes several elements at once, or a part of a side.
	wideAccess = regexp.MustCompile(`\b(?:u?(?:char|short|int|long|longlong)|float|double|half|__half|\w*bfloat16)[248]\b|` +
		`\bu?int4\b|\w*bfloat162\b|reinterpret_cast|\* \) |cp\.async|__pipeline|memcpy|wmma|\bmma|ldmatrix|` +
		` / \w| >> `)
	loopHead = regexp.MustCompile(`for \( ([^;]*) ;([^;]*);`)
)

// guarded are the dimensions that a condition of the kernel compares an index with, besides those of loops
// that do not begin with a thread's index.
func (g *general) guarded(text string) (list []string) {
	text = loopHead.ReplaceAllStringFunc(text, func(head string) string {
		if m := loopHead.FindStringSubmatch(head); strings.Contains(m[1], "threadIdx") {
			return m[2] + ";"
		}
		return ""
	})
	for _, m := range comparedBelow.FindAllStringSubmatch(text, -1) {
		if d := g.dimensionOf(m[2]); d != "" && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// strides is a loop in which a block's threads go over more elements than they are.
var strides = regexp.MustCompile(`\+= ?(?:blockDim|32\b|warpSize|\w*(?i:threads?|block)\w*)`)

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// dtype is the type of a parameter's elements, f32 where nothing shows it.
func (g *general) dtype(i int) probes.DType {
	if t := g.params[i].DType; t != 0 {
		return t
	}
	return probes.F32
}
