package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
)

// scalar is the value of a parameter that is a number: what the launching function passes, else a usual one.
func (g *general) scalar(i int) string {
	if g.given != nil {
		return g.given.Args[i].Value
	}
	if text := g.passedValue(i); text != "" {
		return text
	}
	if g.params[i].DType.Float() {
		return scalarValue(g.names[i])
	}
	return "1"
}

// passedValue is the number that the launching function passes for a parameter, "" where its text has none.
func (g *general) passedValue(i int) string {
	if text := number(g.argument(i), g.params[i].DType); text != "" {
		return text
	}
	l := g.v.launch
	if l == nil || i >= len(l.Args) {
		return ""
	}
	if !g.params[i].DType.Float() {
		if n, ok := hostcode.ParseExpr(l.Args[i]).Eval(g.hostValue); ok {
			return fmt.Sprint(n)
		}
		return ""
	}
	text := l.Args[i]
	for range 8 {
		if value, ok := l.Locals[text]; ok {
			text = value
		} else if c := slices.IndexFunc(g.v.source.Constants, func(c hostcode.Constant) bool {
			return c.Name == text
		}); c >= 0 {
			text = g.v.source.Constants[c].Value
		}
	}
	n, err := strconv.ParseFloat(strings.TrimRight(strings.ReplaceAll(text, " ", ""), "fF"), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// hostValue is the value of a name in the function that launches.
func (g *general) hostValue(name string) *hostcode.Expr {
	if text, ok := g.v.launch.Locals[name]; ok {
		return hostcode.ParseExpr(text)
	}
	return g.v.constant(name)
}

// mostPassed is how many elements the launch and its buffers have at most where a host's extents are taken:
// the emulator executes it.
const mostPassed = 1 << 17

// takePassed gives the dimensions the extents that the launching function passes, where its text has a number
// for each that is a parameter, and the emulator executes such a launch in a moment.
func (g *general) takePassed() {
	guessed := slices.Clone(g.dims)
	known := 0
	for i, d := range g.dimOf {
		n, err := strconv.ParseInt(g.passedValue(i), 10, 32)
		if err != nil || n < 1 {
			return
		}
		for j := range guessed {
			if guessed[j].name == d {
				guessed[j].extent = n
				known++
			}
		}
	}
	for _, d := range guessed {
		if d.launched {
			known++
		}
	}
	if known != len(g.dims) || known == 0 {
		return
	}
	before := g.dims
	g.dims, g.passedExtents = guessed, true
	_, most := g.launched()
	for i, p := range g.params {
		if m := g.argument(i).Memory; p.Pointer && m != nil && g.why[i] != "" {
			most = max(most, elements(m, g.dtype(i)))
		} else if p.Pointer {
			most = max(most, g.volume(i))
		}
	}
	if most > mostPassed {
		g.dims, g.passedExtents = before, false
	}
}

// takeAllocated gives memory whose extents are a guess as many elements as the host's code allocates, where
// the dimensions have the extents that it passes: the extents that were guessed where their product is that
// number, else dimensions with that product, else one extent.
func (g *general) takeAllocated() {
	if !g.passedExtents && len(g.dims) > 0 {
		return
	}
	for i, p := range g.params {
		m := g.argument(i).Memory
		if !p.Pointer || m == nil || g.why[i] == "" || elements(m, g.dtype(i)) < 1 ||
			elements(m, g.dtype(i)) > mostPassed {
			continue
		}
		if n := elements(m, g.dtype(i)); g.volume(i) != n {
			list := g.factors(i, n)
			if list == nil {
				list = []string{fmt.Sprint(n)}
			}
			g.args[i] = bracketed(list)
		}
		g.why[i] = ""
	}
}

// factors are the dimensions whose product is a number of elements, in the order in which they are passed;
// nil where there are none, or several choices of which not one has the stride of the pointer's index.
func (g *general) factors(i int, n int64) []string {
	var fit [][]string
	for set := 1; set < 1<<min(len(g.dims), 8); set++ {
		var list []string
		product := int64(1)
		for d := range g.dims {
			if set>>d&1 == 1 {
				list = append(list, g.dims[d].name)
				product *= g.dims[d].extent
			}
		}
		if product == n {
			fit = append(fit, list)
		}
	}
	if step := g.stride(i); len(fit) > 1 && step != "" {
		fit = slices.DeleteFunc(fit, func(list []string) bool { return !slices.Contains(list, step) })
	}
	if len(fit) != 1 {
		return nil
	}
	return fit[0]
}

// orderSides puts the side last that the kernel's index steps over, where cudaMalloc has it first: "pitch *
// h" are h rows of pitch elements where the index is y * pitch + x.
func (g *general) orderSides() {
	for i := range g.params {
		list, step, shape := sides(g.args[i]), g.stride(i), g.indices.shapeOf(i)
		if !g.passedExtents || len(list) != 2 {
			continue
		}
		if len(shape) == 2 {
			if g.inShape(shape[0]) == g.inShape(list[1]) && g.inShape(shape[1]) == g.inShape(list[0]) {
				g.args[i] = bracketed(shape)
			}
			continue
		}
		if step == "" || shape != nil {
			continue
		}
		if n := g.inShape(step); g.inShape(list[0]) == n && g.inShape(list[1]) != n {
			g.args[i] = bracketed([]string{list[1], list[0]})
		}
	}
}

// volume is how many elements the extents of a pointer are.
func (g *general) volume(i int) int64 {
	n := int64(1)
	for _, side := range sides(g.args[i]) {
		n *= max(1, g.inShape(side))
	}
	return n
}

// sides are the extents of a pointer as the manifest has them in brackets.
func sides(text string) (list []string) {
	for _, d := range splitArguments(strings.Trim(text, "[]")) {
		list = append(list, strings.Trim(strings.TrimSpace(d), `"`))
	}
	return list
}

// writeExampleStage writes a stage for a person to fill in, with the part of the output that a block of the
// launch covers.
func (g *general) writeExampleStage(stage, out string) {
	part := g.part()
	g.line(
		"# work: {%s}\n# stages:\n#   - {name: %s, axes: [%s], dtype: %s, dims: [%s, %s], valid: [%s, %s], per: block,",
		strings.Join(part.work, ", "),
		stage,
		strings.Join(part.axes, ", "),
		g.resultType(),
		part.tile[0],
		part.tile[1],
		part.valid[0],
		part.valid[1],
	)
	g.line(
		"#      op: {map: \"x * 2\", x: {load: INPUT, %s, dims: [%s, %s]}}, capture: {output: %s, %s}}",
		part.at,
		part.tile[0],
		part.tile[1],
		out,
		part.at,
	)
}

// writeExampleReference writes how an output is compared with what a command computes.
func (g *general) writeExampleReference(out string) {
	var inputs []string
	for i, p := range g.params {
		if p.Pointer && p.Read {
			inputs = append(inputs, fmt.Sprintf("a[%q]", g.names[i]))
		}
	}
	g.line(
		"\n# Or it is compared with what a command computes, docs/references.md: write in the line of %s above",
		out,
	)
	g.line("#   reference: {command: [python3, reference.py]}, tolerance: {rtol: 1.0e-5, atol: 1.0e-6}")
	g.line("# and in reference.py, with NumPy, of %s:",
		cmp.Or(strings.Join(inputs, ", "), "the arguments by their names"))
	g.line("#   import sys, numpy; a = numpy.load(sys.argv[1]); numpy.savez(sys.argv[2], %s=...)", out)
}

// blockPart is the part of the output that a block computes, as a stage has it.
type blockPart struct {
	work, axes  []string
	tile, valid [2]string // rows and columns
	at          string    // where in the output
}

// part is the part of the output that a block covers by the launch: along each of the last two sides the tile
// of the axis of the grid that covers it, or all of a side that none covers. Where nothing shows the
// output's sides it is a usual tile.
func (g *general) part() blockPart {
	usual := blockPart{
		work: []string{"row: by * 16", "col: bx * 16"}, axes: []string{"row", "col"},
		tile: [2]string{"16", "16"}, valid: [2]string{"16", "16"}, at: "at: [row, col], rows: 0, cols: 1",
	}
	if g.result < 0 {
		return usual
	}
	extents := sides(g.args[g.result])
	names := []string{"row", "col"}
	if len(extents) == 1 {
		names = []string{"at"}
	}
	ahead := len(extents) - len(names)
	if ahead < 0 {
		return usual
	}
	out := blockPart{tile: [2]string{"1", "1"}, valid: [2]string{"1", "1"}}
	var at []string
	used := [3]bool{}
	for k, side := range extents {
		from, tile, valid := "0", side, side
		for a := range g.grid {
			if g.grid[a].extent == side && !used[a] {
				used[a] = true
				from, tile, valid = [3]string{"bx", "by", "bz"}[a], "1", "1"
				if n := g.grid[a].tile; n > 1 {
					from, tile = fmt.Sprintf("%s * %d", from, n), fmt.Sprint(n)
					valid = fmt.Sprintf("\"min(%d, %s - %s)\"", n, side, names[max(0, k-ahead)])
				}
				break
			}
		}
		if k < ahead {
			if from == "0" || tile != "1" {
				return usual // a block's part is no tile
			}
			at = append(at, from)
			continue
		}
		name := names[k-ahead]
		out.work = append(out.work, name+": "+from)
		out.axes = append(out.axes, name)
		out.tile[k-ahead], out.valid[k-ahead] = quoted(tile), valid
		at = append(at, name)
	}
	if used == [3]bool{} {
		return usual
	}
	out.at = fmt.Sprintf("at: [%s], rows: %d", strings.Join(at, ", "), ahead)
	if len(names) > 1 {
		out.at += fmt.Sprintf(", cols: %d", ahead+1)
	}
	return out
}
