package scaffold

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/probes"
)

func itoa(n int) string { return strconv.Itoa(n) }

// load is a tile of an input whose rows and columns are its dimensions.
func load(name, at string, rows int64, cols string) string {
	return fmt.Sprintf("{load: %s, at: %s, rows: 0, cols: 1, dims: [%d, %s]}", name, at, rows, cols)
}

// loadRow is a tile of an input of one dimension.
func loadRow(name, at string, cols int64) string {
	return fmt.Sprintf("{load: %s, at: %s, cols: 0, dims: [1, %d]}", name, at, cols)
}

// loadColumn is such a tile along its rows, as an output of one dimension is captured.
func loadColumn(name, at string, rows int64) string {
	return fmt.Sprintf("{load: %s, at: %s, rows: 0, dims: [%d, 1]}", name, at, rows)
}

// weights are the inputs besides the first, each a row.
func (g *general) weights() []string {
	inputs, _ := g.roles()
	var out []string
	for _, i := range inputs[1:] {
		out = append(out, g.names[i])
	}
	return out
}

// x is the row that a block of such a kernel reads.
func (g *general) x() string {
	inputs, _ := g.roles()
	return load(g.names[inputs[0]], "[row, 0]", 1, g.kind.cols)
}

func softmaxOp(g *general) string {
	x := g.x()
	e := fmt.Sprintf("{exp_below: [%s, {rowmax: %s}]}", x, x)
	return fmt.Sprintf("divide: [%s, {rowsum: %s}]", e, e)
}

// epsilon is what the kernel adds before the root.
func (g *general) epsilon() string {
	for i, p := range g.params {
		if !p.Pointer && p.DType.Float() && strings.Contains(strings.ToLower(g.names[i]), "eps") {
			return g.scalar(i)
		}
	}
	return "0.00001"
}

func rmsOp(g *general) string {
	x := g.x()
	text, operands := "x * rsqrt(ms + "+g.epsilon()+")",
		fmt.Sprintf("x: %s, ms: {reduce: {map: v * v, v: %s}, how: mean}", x, x)
	for _, w := range g.weights() {
		text += " * w"
		operands += ", w: " + fmt.Sprintf("{load: %s, at: [0], cols: 0, dims: [1, %s]}", w, g.kind.cols)
		break
	}
	return fmt.Sprintf("map: \"%s\", %s", text, operands)
}

func layernormOp(g *general) string {
	x := g.x()
	mean := fmt.Sprintf("{reduce: %s, how: mean}", x)
	text := "(x - mean) * rsqrt(var + " + g.epsilon() + ")"
	operands := fmt.Sprintf(
		"x: %s, mean: %s, var: {reduce: {map: (v - a) * (v - a), v: %s, a: %s}, how: mean}", x, mean, x, mean)
	for i, w := range g.weights() {
		name, op := "w", " * "
		if i == 1 {
			name, op = "b", " + "
		}
		if i > 1 {
			break
		}
		text += op + name
		operands += fmt.Sprintf(", %s: {load: %s, at: [0], cols: 0, dims: [1, %s]}", name, w, g.kind.cols)
	}
	return fmt.Sprintf("map: \"%s\", %s", text, operands)
}

// pointers settles the extents of every pointer: what cudaMalloc is asked for, what the kernel computes, how
// it indexes.
func (g *general) pointers() {
	for i, p := range g.params {
		if !p.Pointer {
			continue
		}
		if list := g.allocated(i); list != nil {
			if shape := g.indices.shapeOf(i); sameFactors(shape, list) { // in the order of the index
				list = shape
			}
			g.args[i] = bracketed(list)
			continue
		}
		g.args[i], g.why[i] = g.guessDims(i), "its extent"
		if n := g.params[i].Vector; n > 1 && g.kind == nil { // what the kernel counts are vectors
			g.args[i] = bracketed(append(sides(g.args[i]), fmt.Sprint(n)))
		}
	}
	if g.kind != nil && g.kind.m != "" {
		g.productDims()
	}
}

// sameFactors reports whether two lists of extents have the same product, factor by factor.
func sameFactors(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// allocated are the factors of what the launching function asks cudaMalloc for: dimensions and numbers, nil
// where it is no plain product.
func (g *general) allocated(i int) []string {
	l := g.v.launch
	if l == nil || i >= len(l.Args) {
		return nil
	}
	text := l.Bytes[l.Args[i]]
	if v, ok := l.Locals[text]; ok {
		text = v
	}
	e := parseProduct(text, l.Locals)
	if e == nil {
		return nil
	}
	var dims []string
	size := int64(g.dtype(i).Size())
	if n := len(e); n == 1 && e[0].Op == "" && e[0].Num > size && e[0].Num%size == 0 { // in bytes
		return []string{fmt.Sprint(e[0].Num / size)}
	}
	for _, f := range e {
		if f.Op == "" && f.Num == size {
			continue
		}
		if n := g.params[i].Vector; n > 1 && f.Op == "" && f.Num == int64(n*g.dtype(i).Size()) {
			f = &hostcode.Expr{Num: int64(n)}
		}
		d, ok := g.render(f, 0)
		if !ok {
			return nil
		}
		dims = append(dims, d)
	}
	return dims
}

func (g *general) guessDims(i int) string {
	var all []string
	for _, d := range g.dims {
		all = append(all, d.name)
	}
	k := g.kind
	switch inputs, _ := g.roles(); {
	case k != nil && k.rows != "" && (len(inputs) > 0 && inputs[0] == i || g.result == i):
		return "[" + k.rows + ", " + k.cols + "]"
	case k != nil && k.rows != "":
		return "[" + k.cols + "]"
	case k != nil && k.flat != "":
		return "[" + quoted(k.flat) + "]"
	case k != nil && k.one && g.result == i:
		return fmt.Sprintf("[\"ceil_div(%s, %d)\"]", g.dims[0].name, g.grid[0].tile)
	case g.indices.shapeOf(i) != nil:
		return "[" + strings.Join(g.indices.shapeOf(i), ", ") + "]"
	case len(all) > 0 && g.indexed(i) != nil:
		return "[" + strings.Join(g.indexed(i), ", ") + "]"
	case len(all) > 1:
		if s := g.stride(i); s != "" {
			for _, d := range all {
				if d != s {
					return "[" + d + ", " + s + "]"
				}
			}
		}
	}
	if len(all) == 0 { // nothing that the kernel takes says how many: an element for each thread
		_, n := g.launched()
		return fmt.Sprintf("[%d]", n)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// productDims gives the operands of a matrix product their extents: rows and columns in the order that the
// index shows, and before them a matrix for each step of the grid's z.
func (g *general) productDims() {
	inputs, _ := g.roles()
	k := g.kind
	shape := func(i int, rows, cols, stride string) []string {
		usual := []string{rows, cols}
		if g.stride(i) == stride {
			usual = []string{cols, rows}
		}
		had := sides(g.args[i])
		index := g.indices.shapeOf(i)
		known := g.why[i] == "" || index != nil // cudaMalloc's, or the whole of the index
		switch {
		case known && sameFactors(had, usual):
			if index != nil {
				usual = index
			}
		case known:
			for at, batch := range had {
				if rest := slices.Delete(slices.Clone(had), at, at+1); sameFactors(rest, usual) {
					if !sameFactors(index, had) {
						had = append([]string{batch}, usual...)
					}
					break
				}
			}
			g.args[i] = bracketed(had)
			return had
		}
		if g.args[i] != bracketed(usual) {
			g.args[i], g.why[i] = bracketed(usual), "row by row, as its index has it?"
		}
		return usual
	}
	a, b := shape(inputs[0], k.m, k.k, k.m), shape(inputs[1], k.k, k.n, k.k)
	c := shape(g.result, k.m, k.n, k.m)
	if z := g.grid[2]; len(a) == 3 && len(b) == 3 && len(c) == 3 && z.tile == 1 && z.text != "1" &&
		a[0] == z.extent && b[0] == z.extent && c[0] == z.extent {
		k.batch, a, b, c = z.extent, a[1:], b[1:], c[1:]
	}
	right := slices.Equal(b, []string{k.k, k.n}) || slices.Equal(b, []string{k.n, k.k})
	if !right || !slices.Equal(a, []string{k.m, k.k}) || !slices.Equal(c, []string{k.m, k.n}) {
		// by columns, or another number of dimensions: the operation is to be filled in
		g.kind = &kernelKind{what: k.what, m: k.m, n: k.n, k: k.k}
	}
}

// fill is what an input holds: small numbers where it is of an integer type.
func fill(t probes.DType) string {
	if t.Float() {
		return ""
	}
	return ", fill: \"" + integers(t) + "\""
}

// anyIntegers are integers as --arg has them: one word.
func anyIntegers(t probes.DType) string { return strings.ReplaceAll(integers(t), " ", "") }

// integers are the values of a buffer of integers: all that a byte has, else numbers that an index may have.
func integers(t probes.DType) string {
	switch t {
	case probes.U8:
		return "randint(0, 255)"
	case probes.I8:
		return "randint(-128, 127)"
	}
	return "randint(0, 8)"
}
