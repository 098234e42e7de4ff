package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/hostcode"
)

// product is a term of an index: a number, times dimensions of the shape, times what varies.
type product struct {
	number int64
	dims   []string // sorted: the step from one value of vars to the next
	vars   []string // sorted
}

// indexReader takes the indices of a kernel's pointers apart.
type indexReader struct {
	g       *general
	text    string            // the kernel's body, one blank between tokens
	locals  map[string]string // variables that keep the value that they start with
	bounded map[string][]string
	// bounded are the dimensions that a sum stays below, by its variables as sumKey has them
}

var (
	builtinIndex = regexp.MustCompile(`\b(threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*([xyz])\b`)
	changedName  = regexp.MustCompile(`\b(\w+) (?:(?:[-+*/%&|^]|<<|>>)=|\+\+|--)|(?:\+\+|--) (\w+)\b`)
	assignedName = regexp.MustCompile(`\b(\w+) = [^=]`)
	// endsOperand are the tokens that end an operand of a comparison
	endsOperand = []string{"&&", "||", ";", "?", ":", ",", "=", "{", "}", "return", "!", "<", ">", "<=", ">=",
		"==", "!="}
)

// indexReader reads the kernel's text; nil where there is none.
func (g *general) indexReader() *indexReader {
	if g.v.kernel == nil {
		return nil
	}
	body := builtinIndex.ReplaceAllString(g.v.kernel.Body(), "${1}_$2")
	r := &indexReader{
		g: g, text: " " + strings.Join(geometryToken.FindAllString(body, -1), " ") + " ",
		locals: map[string]string{}, bounded: map[string][]string{},
	}
	times := map[string]int{}
	for _, m := range assignedName.FindAllStringSubmatch(r.text, -1) {
		times[m[1]]++
	}
	for _, m := range changedName.FindAllStringSubmatch(r.text, -1) {
		times[m[1]+m[2]] += 2
	}
	for name, value := range g.v.locals {
		if times[name] == 1 {
			r.locals[name] = builtinIndex.ReplaceAllString(value, "${1}_$2")
		}
	}
	r.comparisons()
	return r
}

// comparisons notes which sums are compared with a dimension: m0 + r < M, row >= M, K > k.
func (r *indexReader) comparisons() {
	tokens := strings.Fields(r.text)
	for i, t := range tokens {
		var sum, limit string
		switch t {
		case "<", ">=":
			sum, limit = operandBefore(tokens, i), operandAfter(tokens, i)
		case ">", "<=":
			sum, limit = operandAfter(tokens, i), operandBefore(tokens, i)
		default:
			continue
		}
		dim := r.expand(hostcode.ParseExpr(limit), false, 0)
		if len(dim) != 1 || dim[0].number != 1 || len(dim[0].dims) != 1 || dim[0].vars != nil {
			continue
		}
		for _, deep := range []bool{false, true} {
			terms := r.expand(hostcode.ParseExpr(sum), deep, 0)
			key := sumKey(terms)
			if key != "" && !slices.Contains(r.bounded[key], dim[0].dims[0]) {
				r.bounded[key] = append(r.bounded[key], dim[0].dims[0])
			}
		}
	}
}

// operandBefore is the operand that ends before a token.
func operandBefore(tokens []string, at int) string {
	depth, from := 0, at
	for from > 0 {
		t := tokens[from-1]
		if t == ")" || t == "]" {
			depth++
		} else if t == "(" || t == "[" {
			depth--
		}
		if depth < 0 || depth == 0 && slices.Contains(endsOperand, t) {
			break
		}
		from--
	}
	return strings.Join(tokens[from:at], " ")
}

// operandAfter is the operand that begins behind a token.
func operandAfter(tokens []string, at int) string {
	depth, to := 0, at+1
	for to < len(tokens) {
		t := tokens[to]
		if t == "(" || t == "[" {
			depth++
		} else if t == ")" || t == "]" {
			depth--
		}
		if depth < 0 || depth == 0 && slices.Contains(endsOperand, t) {
			break
		}
		to++
	}
	return strings.Join(tokens[at+1:to], " ")
}

// expand writes an expression as a sum of products; nil where it is none. deep replaces the kernel's own
// variables by their values too where those vary, else only where they are made of numbers and dimensions.
func (r *indexReader) expand(e *hostcode.Expr, deep bool, depth int) []product {
	if e == nil || depth > 20 {
		return nil
	}
	switch e.Op {
	case "":
		return []product{{number: e.Num}}
	case "name":
		return r.expandName(e.Name, deep, depth)
	case "+", "-", "*":
		a, b := r.expand(e.Args[0], deep, depth+1), r.expand(e.Args[1], deep, depth+1)
		if a == nil || b == nil || len(a)*len(b) > 64 {
			return nil
		}
		if e.Op == "*" {
			return multiplied(a, b)
		}
		out := slices.Clone(a)
		for _, t := range b {
			if e.Op == "-" {
				t.number = -t.number
			}
			out = append(out, t)
		}
		return out
	}
	for _, a := range e.Args { // a quotient, a remainder, a call: a variable, unless a dimension is in it
		for _, t := range r.expand(a, deep, depth+1) {
			if t.dims != nil {
				return nil
			}
		}
	}
	return []product{{number: 1, vars: []string{spelling(e)}}}
}

func (r *indexReader) expandName(name string, deep bool, depth int) []product {
	if d := r.g.dimensionOf(name); d != "" {
		return []product{{number: 1, dims: []string{d}}}
	}
	if value, ok := r.locals[name]; ok {
		terms := r.expand(hostcode.ParseExpr(value), deep, depth+1)
		varies := slices.ContainsFunc(terms, func(t product) bool { return t.vars != nil })
		if terms != nil && (deep || !varies) {
			return terms
		}
	} else if _, own := r.g.v.locals[name]; !own {
		if n, ok := r.g.v.eval(name); ok {
			return []product{{number: n}}
		}
	}
	return []product{{number: 1, vars: []string{name}}}
}

func multiplied(a, b []product) (out []product) {
	for _, x := range a {
		for _, y := range b {
			p := product{
				number: x.number * y.number, dims: slices.Concat(x.dims, y.dims),
				vars: slices.Concat(x.vars, y.vars),
			}
			slices.Sort(p.dims)
			slices.Sort(p.vars)
			out = append(out, p)
		}
	}
	return out
}

// spelling is an expression as a name for what it stands for.
func spelling(e *hostcode.Expr) string {
	switch {
	case e == nil:
		return ""
	case e.Op == "":
		return fmt.Sprint(e.Num)
	case e.Op == "name":
		return e.Name
	}
	var args []string
	for _, a := range e.Args {
		args = append(args, spelling(a))
	}
	return e.Op + e.Name + "(" + strings.Join(args, ",") + ")"
}

// sumKey identifies a sum by the products that vary in it, whatever their order; "" where none does, or
// a dimension is in it.
func sumKey(terms []product) string {
	var list []string
	for _, t := range terms {
		if t.dims != nil {
			return ""
		}
		if t.vars != nil {
			list = append(list, fmt.Sprint(t.number, t.vars))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "+")
}

// shapeOf are the dimensions of the elements that all indices of a pointer show: the step of a row, and of
// what is over it, gives the sides inside, and what the outermost sum stays below the first. nil where an
// index does not show it, or two show different ones.
func (r *indexReader) shapeOf(i int) []string {
	if r == nil {
		return nil
	}
	k := r.g.v.kernel
	if i >= len(k.Parameters) || k.Parameters[i].Name == "" {
		return nil
	}
	offsets, ok := r.offsets(k.Parameters[i].Name)
	if !ok {
		return nil
	}
	var dims []string
	for _, text := range offsets {
		e := hostcode.ParseExpr(text)
		terms := r.expand(e, false, 0)
		if terms == nil {
			return nil
		}
		if !slices.ContainsFunc(terms, func(t product) bool { return t.vars != nil || t.dims != nil }) {
			continue // a number
		}
		shape := r.sides(terms)
		if shape == nil {
			shape = r.sides(r.expand(e, true, 0))
		}
		if shape == nil || dims != nil && !slices.Equal(dims, shape) {
			return nil
		}
		dims = shape
	}
	return dims
}

// offsets are the indices of a pointer's elements, those by way of a pointer that is made of it with what it
// is ahead, and what a pointer that is moved is ahead. ok is false where the pointer is used in another way.
func (r *indexReader) offsets(name string) (list []string, ok bool) {
	move := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + ` \+= ([^;]+) ;`)
	moved, ahead := move.FindAllStringSubmatch(r.text, -1), "0"
	for _, m := range moved {
		ahead += " + (" + m[1] + ")"
	}
	aliases := map[string]string{name: ahead}
	own := len(moved)
	for local, value := range r.locals {
		rest, ok := strings.CutPrefix(strings.TrimSpace(value), name)
		rest = strings.TrimSpace(rest)
		if by, added := strings.CutPrefix(rest, "+"); ok && (added || rest == "") {
			if aliases[local] = ahead; added {
				aliases[local] = ahead + " + " + by
			}
			own++
		}
	}
	for alias, ahead := range aliases {
		elements := 0
		for _, x := range r.g.v.kernel.IndicesOf(alias) {
			index := builtinIndex.ReplaceAllString(x.Index, "${1}_$2")
			list = append(list, "("+ahead+") + ("+index+")")
			elements++
		}
		uses := len(regexp.MustCompile(`\b`+regexp.QuoteMeta(alias)+`\b`).FindAllString(r.text, -1))
		if others := uses - elements; alias == name && others != own || alias != name && others != 1 {
			return nil, false
		}
	}
	slices.Sort(list)
	return list, len(list) > 0
}

// sides are the dimensions that a sum of products addresses; nil where it does not show them.
func (r *indexReader) sides(terms []product) []string {
	steps := map[string][]product{}
	var order [][]string
	for _, t := range terms {
		if t.vars == nil && t.dims != nil && t.number != 0 {
			return nil // so many rows ahead
		}
		if t.vars == nil {
			continue
		}
		key := strings.Join(t.dims, "*")
		if steps[key] == nil {
			order = append(order, t.dims)
		}
		steps[key] = append(steps[key], product{number: t.number, vars: t.vars})
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortFunc(order, func(a, b []string) int { return len(a) - len(b) })
	var dims []string // from the innermost side
	var inside []string
	for _, step := range order {
		side := without(step, inside)
		if len(step) > 0 && side == nil {
			return nil
		}
		slices.SortFunc(side, func(a, b string) int { return r.place(b) - r.place(a) })
		dims, inside = append(dims, side...), step
	}
	outer := r.limit(steps[strings.Join(inside, "*")], inside)
	if outer == "" {
		return nil
	}
	dims = append(dims, outer)
	slices.Reverse(dims)
	return dims
}

// blocks settles what the blocks of an axis cover that no index is compared with, where the index of a
// pointer has their place itself: in (s * H + h) * D, h stays below H, and s below the dimension that is
// left, or, where none is, below unnamedRows.
func (r *indexReader) blocks(geo *geometry) {
	if r == nil {
		return
	}
	for _, p := range r.g.v.kernel.Parameters {
		if p.Name == "" || !strings.Contains(p.Type, "*") {
			continue
		}
		offsets, _ := r.offsets(p.Name)
		for _, text := range offsets {
			r.blocksOf(r.expand(hostcode.ParseExpr(text), true, 0), geo)
		}
	}
}

// unnamedRows is how many rows a launch has where nothing counts them.
const unnamedRows = "7"

// blocksOf is blocks for one index.
func (r *indexReader) blocksOf(terms []product, geo *geometry) {
	slices.SortStableFunc(terms, func(a, b product) int { return len(a.dims) - len(b.dims) })
	var used []string
	for i, t := range terms {
		next := slices.IndexFunc(terms[i:], func(u product) bool { return len(u.dims) > len(t.dims) })
		used = append(used, t.dims...)
		axis := -1
		if len(t.vars) == 1 {
			axis = slices.Index([]string{"blockIdx_x", "blockIdx_y", "blockIdx_z"}, t.vars[0])
		}
		if axis < 0 || geo.extent[axis] != "" || !geo.alone[axis] && t.number == 1 {
			continue
		}
		switch {
		case next >= 0:
			if side := without(terms[i+next].dims, t.dims); len(side) == 1 {
				geo.extent[axis] = side[0]
			}
		case len(t.dims) > 0 && t.number == 1:
			geo.extent[axis] = unnamedRows
			var left []string
			for _, d := range r.g.dims {
				if !slices.Contains(used, d.name) && !slices.Contains(geo.extent[:], d.name) {
					left = append(left, d.name)
				}
			}
			if len(left) == 1 {
				geo.extent[axis] = left[0]
			}
		}
		if t.number > 1 && geo.extent[axis] != "" {
			geo.alone[axis] = false
		}
	}
}

// place is where a dimension stands among the shape's.
func (r *indexReader) place(name string) int {
	return slices.IndexFunc(r.g.dims, func(d dimension) bool { return d.name == name })
}

// without are the factors of a product that another lacks; nil where it has one that the first lacks, or all.
func without(all, some []string) []string {
	rest := slices.Clone(all)
	for _, s := range some {
		i := slices.Index(rest, s)
		if i < 0 {
			return nil
		}
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// limit is what a sum stays below: what it is compared with, what the loop over it is, what the blocks cover.
// A sum that is compared with several dimensions is not below the step of its own rows.
func (r *indexReader) limit(sum []product, step []string) string {
	among := func(candidates []string) string {
		var others []string
		for _, c := range candidates {
			if !slices.Contains(step, c) {
				others = append(others, c)
			}
		}
		switch {
		case len(others) == 1:
			return others[0]
		case len(others) == 0 && len(candidates) == 1:
			return candidates[0]
		}
		return ""
	}
	deep := r.deeper(sum)
	for _, s := range [][]product{sum, deep} {
		if d := among(r.bounded[sumKey(s)]); d != "" {
			return d
		}
	}
	var found []string // a tile's place along a dimension, and what is inside the tile
	for _, t := range sum {
		for _, d := range r.bounded[sumKey([]product{t})] {
			if !slices.Contains(found, d) {
				found = append(found, d)
			}
		}
	}
	if d := among(found); d != "" || len(found) > 0 {
		return d
	}
	return r.covered(deep)
}

// deeper is a sum with the kernel's own variables replaced by their values.
func (r *indexReader) deeper(sum []product) (out []product) {
	for _, t := range sum {
		terms := []product{{number: t.number}}
		for _, v := range t.vars {
			of := r.expandName(v, true, 0)
			if of == nil {
				of = []product{{number: 1, vars: []string{v}}}
			}
			terms = multiplied(terms, of)
		}
		out = append(out, terms...)
	}
	return out
}

// covered is the extent that the launch's blocks cover, where a sum has a block's place in it; "" where it
// has none, or that of several.
func (r *indexReader) covered(sum []product) (extent string) {
	for _, t := range sum {
		for a, name := range []string{"x", "y", "z"} {
			if !slices.Contains(t.vars, "blockIdx_"+name) {
				continue
			}
			by, grid := t.number, r.g.grid[a]
			if slices.Contains(t.vars, "blockDim_"+name) && len(t.vars) == 2 {
				by *= r.g.block[a]
			} else if len(t.vars) != 1 {
				return ""
			}
			number := grid.tile == 1 && regexp.MustCompile(`^\d+$`).MatchString(grid.text)
			if extent != "" || by != grid.tile || !number && !r.g.isDim(grid.extent) {
				return ""
			}
			extent = grid.extent
			if number {
				extent = grid.text
			}
		}
	}
	return extent
}
