package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/probes"
)

// kernelKind is what a kernel seems to compute, by its names and the text of its stores: a guess that its
// manifest marks.
type kernelKind struct {
	what    string // in words
	m, n, k string // of a matrix product
	batch   string // of several of them: how many, one each step of the grid's z
	rows    string // of a kernel that takes a row at a time: the dimension of its blocks
	cols    string
	one     bool                    // every block makes one number
	flat    string                  // of an elementwise kernel: how many elements there are
	op      func(g *general) string // the output stage's operation; "" where it cannot be written
}

// recognise guesses what a kernel computes; nil where nothing shows it.
func (g *general) recognise() *kernelKind {
	inputs, outputs := g.roles()
	if len(outputs) > 0 {
		g.result = outputs[len(outputs)-1]
	}
	// the operations below sum in f32, which a kernel of doubles does not, and say nothing of
	// how codes are scaled
	other := slices.ContainsFunc(slices.Concat(inputs, outputs), func(i int) bool {
		t := g.dtype(i)
		return t == probes.F64 || t == probes.E4M3 || t == probes.E5M2
	})
	if g.v.kernel == nil || len(outputs) != 1 || len(inputs) == 0 || other {
		return nil
	}
	name := strings.ToLower(g.v.kernel.Name)
	switch {
	case len(inputs) == 2 && g.product():
		return g.productKind()
	case strings.Contains(name, "softmax"):
		return g.rowKind("softmax of rows", softmaxOp)
	case strings.Contains(name, "rms"):
		return g.rowKind("rmsnorm of rows", rmsOp)
	case strings.Contains(name, "layernorm") || strings.Contains(name, "layer_norm"):
		return g.rowKind("layernorm of rows", layernormOp)
	}
	if k := g.elementwise(); k != nil {
		return k
	}
	return g.blockSum(name)
}

// blockSum recognises a reduction of a block's elements to one: its only store goes to out[blockIdx.x].
func (g *general) blockSum(name string) *kernelKind {
	stores := g.v.kernel.Stores()
	inputs, _ := g.roles()
	if len(stores) != 1 || stores[0].Op != "=" || stores[0].Index != "blockIdx.x" || len(g.dims) != 1 ||
		len(inputs) != 1 {
		return nil
	}
	how := "sum"
	switch {
	case strings.Contains(name, "max"):
		how = "max"
	case !strings.Contains(name, "sum") && !strings.Contains(name, "reduc"):
		return nil
	}
	return &kernelKind{what: how + " of a block's elements", one: true, op: func(g *general) string {
		return "reduce: " + loadRow(g.names[inputs[0]], fmt.Sprintf("[bx * %d]", g.grid[0].tile),
			g.grid[0].tile) + ", how: " + how
	}}
}

// roles are the pointers that are only read, and those that are written.
func (g *general) roles() (inputs, outputs []int) {
	for i, p := range g.params {
		switch {
		case !p.Pointer:
		case p.Written:
			outputs = append(outputs, i)
		case p.Read:
			inputs = append(inputs, i)
		}
	}
	return inputs, outputs
}

// product reports three integers that are named as a matrix product's.
func (g *general) product() bool {
	return g.dimNamed("m") != "" && g.dimNamed("n") != "" && g.dimNamed("k") != ""
}

// dimNamed is the dimension with one of these names, whatever its case.
func (g *general) dimNamed(names ...string) string {
	for _, d := range g.dims {
		if slices.Contains(names, strings.ToLower(strings.Trim(d.name, "_"))) {
			return d.name
		}
	}
	return ""
}

func (g *general) productKind() *kernelKind {
	k := &kernelKind{what: "matrix product", m: g.dimNamed("m"), n: g.dimNamed("n"), k: g.dimNamed("k")}
	scale, plain := g.productScale()
	if !plain {
		return k
	}
	k.op = func(g *general) string {
		if scale != "" {
			return fmt.Sprintf("map: \"x * %s\", x: {%s}", scale, g.productOp())
		}
		return g.productOp()
	}
	return k
}

// productOp is the product alone.
func (g *general) productOp() string {
	k := g.kind
	inputs, _ := g.roles()
	a, b := inputs[0], inputs[1]
	tm, tn := g.grid[1].tile, g.grid[0].tile
	if g.grid[0].extent == k.m && g.grid[1].extent == k.n {
		tm, tn = tn, tm
	}
	tile := func(i int, row, col, rows, cols string) string {
		return fmt.Sprintf("{load: %s, %s, dims: [%s, %s]}", g.names[i], k.place(row, col), rows, cols)
	}
	left := tile(a, "row", "0", itoa(int(tm)), k.k)
	if list := sides(g.args[b]); slices.Equal(list[len(list)-2:], []string{k.n, k.k}) {
		return "matmul: [" + left + ", " + tile(b, "col", "0", itoa(int(tn)), k.k) +
			"], transpose: right, over: K"
	}
	return "matmul: [" + left + ", " + tile(b, "0", "col", k.k, itoa(int(tn))) + "], over: K"
}

var (
	// conversion is a call that stores a sum as another type.
	conversion = regexp.MustCompile(`^(?:__float2half|__float2half_rn|__float2bfloat16|__float2bfloat16_rn|half|__half|` +
		`float|T)\s*\((.*)\)$`)
	factorFirst = regexp.MustCompile(`^([\w.]+)\s*\*\s*([^*/+?-]+)$`)
	factorLast  = regexp.MustCompile(`^([^*/+?-]+)\s*\*\s*([\w.]+)$`)
)

// productScale is what a product is multiplied by where it is stored, "" for nothing. plain is false where
// the stores do not show that: the kernel takes a floating-point number that does not stand there alone.
func (g *general) productScale() (scale string, plain bool) {
	open := map[string]string{} // what is passed, by name
	for i, p := range g.params {
		if !p.Pointer && p.Struct == 0 && p.DType.Float() {
			open[g.names[i]] = g.scalar(i)
		}
	}
	if len(open) == 0 {
		return "", true
	}
	for _, s := range g.v.kernel.Stores() {
		value := strings.TrimSpace(s.Value)
		if m := conversion.FindStringSubmatch(value); m != nil {
			value = strings.TrimSpace(m[1])
		}
		name := ""
		if m := factorFirst.FindStringSubmatch(value); m != nil && open[m[1]] != "" {
			name = m[1]
		} else if m := factorLast.FindStringSubmatch(value); m != nil {
			name = m[2]
		}
		if open[name] == "" || scale != "" && scale != open[name] || len(open) > 1 {
			return "", false
		}
		scale = open[name]
	}
	return scale, scale != ""
}

// place is where a tile begins in memory, and which of its dimensions are the rows and columns.
func (k *kernelKind) place(row, col string) string {
	if k.batch != "" {
		return fmt.Sprintf("at: [bz, %s, %s], rows: 1, cols: 2", row, col)
	}
	return fmt.Sprintf("at: [%s, %s], rows: 0, cols: 1", row, col)
}

var rowNames = []string{"rows", "r", "m", "batch", "b", "num_rows", "nrows", "height", "h", "n_rows",
	"tokens", "num_tokens"}

// rowKind is a kernel that takes a row at a time: x and maybe weights in, y out.
func (g *general) rowKind(what string, op func(*general) string) *kernelKind {
	k := &kernelKind{what: what, op: op}
	for i := range g.params {
		if s := g.stride(i); s != "" {
			k.cols = s
		}
	}
	if k.cols == "" {
		k.cols = g.dimNamed("cols", "c", "n", "d", "dim", "hidden", "hidden_size", "width", "w", "ncols",
			"num_cols", "len", "row_size")
	}
	if k.rows = g.dimNamed(rowNames...); k.rows == "" || k.rows == k.cols {
		k.rows = "rows"
	}
	if k.cols == "" {
		return nil
	}
	return k
}

// stride is the dimension that a pointer's index multiplies something by: the length of its rows.
func (g *general) stride(i int) string {
	k := g.v.kernel
	if k == nil || i >= len(k.Parameters) {
		return ""
	}
	var texts []string
	for _, x := range k.Indices() {
		if x.Name == k.Parameters[i].Name {
			texts = append(texts, x.Index)
		}
	}
	for _, v := range g.v.locals {
		if rest, ok := strings.CutPrefix(v, k.Parameters[i].Name); ok &&
			strings.HasPrefix(strings.TrimSpace(rest), "+") {
			texts = append(texts, rest)
		}
	}
	offset := regexp.MustCompile(`\b` + k.Parameters[i].Name + ` \+ ([^,;]*)`)
	for _, m := range offset.FindAllStringSubmatch(k.Body(), -1) { // load_matrix_sync(b, B + k * n + col, n)
		texts = append(texts, m[1])
	}
	slices.Sort(texts)
	for _, t := range texts {
		for _, m := range factor.FindAllStringSubmatch(t, -1) {
			for _, side := range []string{m[2], m[1]} { // row * n rather than n * row
				for j := range k.Parameters {
					if d, ok := g.dimOf[j]; ok && k.Parameters[j].Name == side {
						return d
					}
				}
			}
		}
	}
	return ""
}

// factor is a product in an index: the names on its sides.
var factor = regexp.MustCompile(`([A-Za-z_]\w*)?\s*\)?\s*\*\s*(?:\([\w\s]+\)\s*)?([A-Za-z_]\w*)?`)

// elementwise recognises a kernel whose only store is y[i] = an expression of x[i].
func (g *general) elementwise() *kernelKind {
	k := g.v.kernel
	stores := k.Stores()
	if len(stores) != 1 || stores[0].Op != "=" {
		return nil
	}
	// elements of a matrix: of a grid with two sides, or a square of which one side is passed
	stored := slices.IndexFunc(k.Parameters, func(p hostcode.Parameter) bool {
		return p.Name == stores[0].Name
	})
	if len(g.dims) > 1 && g.block[1] > 1 || len(g.dims) == 1 && stored >= 0 && g.stride(stored) != "" {
		return nil
	}
	s := stores[0]
	for _, x := range k.Indices() {
		if x.Index != s.Index {
			return nil
		}
	}
	text, ok := g.mapOf(s)
	if !ok {
		return nil
	}
	if len(g.dims) == 0 {
		g.addDim("n")
	}
	var all []string
	for _, d := range g.dims {
		all = append(all, d.name)
	}
	kind := &kernelKind{what: "elementwise, as line " + itoa(s.Line) + " has it",
		flat: strings.Join(all, " * ")}
	if len(all) > 1 {
		kind.flat = "(" + kind.flat + ")"
	}
	kind.op = func(g *general) string {
		out := "map: \"" + text + "\""
		inputs, _ := g.roles()
		for _, i := range inputs {
			if regexp.MustCompile(`\b` + g.names[i] + `\b`).MatchString(text) {
				out += ", " + g.names[i] + ": " + loadColumn(g.names[i], "[at]", g.grid[0].tile)
			}
		}
		return out
	}
	return kind
}

// mapFunctions are functions of CUDA by the name that map has for them.
var mapFunctions = map[string]string{
	"expf": "exp", "exp": "exp", "__expf": "exp", "exp2f": "exp2", "logf": "log", "__logf": "log",
	"log2f": "log2", "sqrtf": "sqrt", "rsqrtf": "rsqrt",
	"tanhf": "tanh", "erff": "erf", "fabsf": "abs", "fmaxf": "max", "fminf": "min", "max": "max",
	"min": "min", "sqrt": "sqrt", "tanh": "tanh", "fabs": "abs",
}

var mapToken = regexp.MustCompile(`[A-Za-z_]\w*|[0-9.]+(?:[eE][-+]?[0-9]+)?[fF]?|[-+*/(),]|\s+|.`)

// mapOf writes the value of a store as an expression of map; ok is false where it has more than elements at
// the store's index, numbers, scalars and functions that map has.
func (g *general) mapOf(s hostcode.Store) (string, bool) {
	value := s.Value
	for i, p := range g.v.kernel.Parameters {
		if i < len(g.params) && g.params[i].Pointer && p.Name != "" {
			value = strings.ReplaceAll(value, p.Name+"["+s.Index+"]", " "+g.names[i]+" ")
		}
	}
	var out strings.Builder
	for _, t := range mapToken.FindAllString(value, -1) {
		switch i := slices.Index(g.names, t); {
		case mapFunctions[t] != "":
			out.WriteString(mapFunctions[t])
		case i >= 0 && g.params[i].Pointer && !g.params[i].Written:
			out.WriteString(t)
		case i >= 0 && !g.params[i].Pointer && g.params[i].DType.Float():
			out.WriteString(g.scalar(i))
		case t[0] >= '0' && t[0] <= '9' || t[0] == '.' && len(t) > 1:
			n := strings.TrimRight(t, "fF")
			if strings.HasPrefix(n, ".") {
				n = "0" + n
			}
			out.WriteString(strings.TrimSuffix(n, "."))
		case strings.Contains("+-*/(), ", t) || strings.TrimSpace(t) == "":
			out.WriteString(t)
		default:
			return "", false
		}
	}
	return strings.Join(strings.Fields(out.String()), " "), true
}

// scalarValue is what a scalar of floating point is given: by its name, an epsilon or a factor.
func scalarValue(name string) string {
	if strings.Contains(strings.ToLower(name), "eps") {
		return "0.00001"
	}
	return "0.5"
}
