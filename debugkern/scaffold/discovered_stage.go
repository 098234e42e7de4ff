package scaffold

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/discover"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// stages writes what was discovered as stages. Those whose registers were not found are there too: others are
// computed from them.
func (w *discovered) stages() {
	w.line("\nstages:")
	for _, m := range w.a.Missing {
		w.line("  # not found: %s", text.Line(w.named(m)))
	}
	r := w.role
	q, k := r["queries"], r["keys"]
	w.load(discover.Queries, "q", "d", w.a.TileM, w.a.Depth, "block")
	w.load(discover.Keys, "k", "d", w.a.TileN, w.a.Depth, "tile")
	value := "d"
	if w.a.Width != w.a.Depth {
		value = "e"
	}
	w.load(discover.Values, "k", value, w.a.TileN, w.a.Width, "tile")
	mask := w.masked()
	exp := fmt.Sprintf("{exp_below: [%s, %s]%s}", r["scores"], r["maximum"], mask)
	rows, keys, cols := w.rows("q"), w.rows("k"), fmt.Sprint(w.a.Width)
	tiles := []struct {
		role     discover.Role
		axes     string
		dims     [2]int
		valid    [2]string
		op, unit string
		outside  string
		masks    bool
	}{
		{discover.Scores, "[q, k]", [2]int{w.a.TileM, w.a.TileN}, [2]string{rows, keys},
			fmt.Sprintf("{matmul: [%s, %s], transpose: right, scale: softmax_scale, over: D}", q, k),
			"", "", false},
		{discover.Maximum, "[q]", [2]int{w.a.TileM, 1}, [2]string{rows, "1"},
			fmt.Sprintf("{rowmax: %s, running: true%s}", r["scores"], mask), "", "", true},
		{discover.Sum, "[q]", [2]int{w.a.TileM, 1}, [2]string{rows, "1"},
			fmt.Sprintf("{accumulate: {rowsum: %s, over: keys}, by: %s}", exp, r["maximum"]), "", "", true},
		{discover.Weights, "[q, k]", [2]int{w.a.TileM, w.a.TileN}, [2]string{rows, keys}, exp, "", "", true},
		{discover.Accumulator, "[q, " + value + "]", [2]int{w.a.TileM, w.a.Width}, [2]string{rows, cols},
			fmt.Sprintf("{accumulate: {matmul: [%s, %s], over: keys}, by: %s}", r["weights"], r["values"],
				r["maximum"]), "", "", true},
	}
	for _, t := range tiles {
		st := w.a.Stage(t.role)
		if st == nil {
			st = &discover.Stage{Role: t.role, DType: probes.F32, Unit: 1, Parts: 1}
			if t.role == discover.Weights && w.a.WeightType != 0 {
				st.DType = w.a.WeightType
			}
		}
		w.evidence(st)
		w.line("  - name: %s\n    axes: %s\n    dtype: %s\n    dims: [%d, %d]\n    valid: [%s, %s]\n    per: tile",
			r[string(t.role)], t.axes, st.DType, t.dims[0], t.dims[1],
			quoted(t.valid[0]), quoted(t.valid[1]))
		w.line("    op: %s", t.op)
		if unit := w.unit(st.Unit); unit != "" {
			w.line("    unit: %s", unit)
		}
		if c := compute(st); c != "" {
			w.line("    compute: %s", c)
		}
		if t.masks && w.unknownMask() {
			w.line("    reference: none")
		}
		w.capture(st)
	}
	w.result(discover.Result, "[q, "+value+"]", w.a.Width,
		fmt.Sprintf("{divide: [%s, %s]}", r["accumulator"], r["sum"]))
	w.result(discover.LSE, "[q]", 1, fmt.Sprintf("{lse: [%s, %s]}", r["maximum"], r["sum"]))
}

var argumentIndex = regexp.MustCompile(`argument #([0-9]+)`)

// named puts the arguments' names into a text of evidence.
func (w *discovered) named(s string) string {
	return argumentIndex.ReplaceAllStringFunc(s, func(m string) string {
		if i, err := strconv.Atoi(m[len("argument #"):]); err == nil && i < len(w.names) {
			return "argument " + w.names[i]
		}
		return m
	})
}

// evidence writes why a stage is there.
func (w *discovered) evidence(st *discover.Stage) {
	if st.Evidence != "" {
		w.line("  # %s: %s.", st.Role, text.Line(w.named(st.Evidence)))
	}
}

// rows is how much of an axis exists from a tile's first element on.
func (w *discovered) rows(axis string) string {
	role, side, at := discover.Queries, w.a.TileM, "query"
	if axis == "k" {
		role, side, at = discover.Keys, w.a.TileN, "key"
	}
	o := w.a.Operand(role)
	if o == nil {
		return fmt.Sprint(side)
	}
	return fmt.Sprintf("min(%d, %s - %s)", side, w.dimText(o.Arg, o.Rows, o.Dims[o.Rows]), at)
}

// load writes a stage that is read from an argument.
func (w *discovered) load(role discover.Role, axis, columns string, rows, cols int, per string) {
	o := w.a.Operand(role)
	if o == nil {
		return
	}
	w.line("  # %s: argument %s, %s.", role, w.names[o.Arg], text.Line(o.Evidence))
	w.line("  - {name: %s, axes: [%s, %s], dtype: %s, dims: [%d, %d], valid: [%s, %d], per: %s, capture: none,\n     op: {load: %s, at: %s, rows: %d, cols: %d}}",
		w.role[string(role)], axis, columns, w.l.Args[o.Arg].DType, rows, cols, quoted(w.rows(axis)), cols,
		per, w.names[o.Arg], bracketed(o.At), o.Rows, o.Cols)
}

// deciding are the arguments of integers that the kernel reads and no stage has: lengths, masks and tables,
// which may decide which keys take part.
func (w *discovered) deciding() (names []string) {
	for i, a := range w.l.Args {
		operand := slices.ContainsFunc(w.a.Operands, func(o discover.Operand) bool { return o.Arg == i })
		if a.Dims != nil && a.Read && !operand && !a.DType.Float() {
			names = append(names, w.names[i])
		}
	}
	return names
}

// unknownMask reports whether keys take part by no rule that was found, or by what no stage has.
func (w *discovered) unknownMask() bool {
	if w.deciding() != nil {
		return true
	}
	for _, m := range w.a.Mask {
		if m == "?" {
			return true
		}
	}
	return false
}

// masked is the parameter of operators with the mask.
func (w *discovered) masked() string {
	if len(w.a.Mask) == 0 || w.unknownMask() {
		return ""
	}
	return fmt.Sprintf(", mask: [%s]", strings.Join(w.a.Mask, ", "))
}

// unit writes natural units for one of a stage's own as a product of what they are made of.
func (w *discovered) unit(u float64) string {
	same := func(x float64) bool { return math.Abs(u-x) < 1e-5*x }
	switch {
	case same(1):
		return ""
	case same(w.a.Scale):
		return "softmax_scale"
	case same(math.Ln2):
		return "ln2"
	case same(w.a.Scale * math.Ln2):
		return "softmax_scale * ln2"
	}
	return fmt.Sprintf("%.9g", u)
}

// compute writes how a stage is evaluated.
func compute(st *discover.Stage) string {
	var parts []string
	switch {
	case st.Computed == "tensor" && st.Block > 0:
		parts = append(parts, "unit: tensor", "acc: "+st.DType.String(), fmt.Sprintf("block: %d", st.Block))
	case st.Computed != "" && st.Computed != "tensor":
		parts = append(parts, "unit: "+st.Computed, "acc: "+st.DType.String())
	case st.Exp != "":
		parts = append(parts, "unit: none", "acc: f32")
	default:
		return ""
	}
	if st.Parts > 1 {
		parts = append(parts, fmt.Sprintf("split: %d", st.Parts))
	}
	if st.Exp != "" {
		parts = append(parts, "exp: "+st.Exp)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// capture writes where a stage's registers are.
func (w *discovered) capture(st *discover.Stage) {
	if len(st.Places) == 0 {
		w.line("    capture: none")
		return
	}
	key := "register"
	if st.Places[0].Fragment {
		key = "mma"
	}
	w.line("    capture:")
	if st.Parts > 1 {
		w.line("      combine: sum")
	}
	w.line("      %s:", key)
	for _, p := range st.Places {
		w.line("        - {%s}", placement(&p))
	}
}

// placement writes one entry.
func placement(p *discover.Placement) string {
	var parts []string
	if p.Line > 0 {
		parts = append(parts, fmt.Sprintf("line: %d, nth: %s", p.Line, list(p.Nth)))
		if p.File != "" {
			parts = append(parts, fmt.Sprintf("file: %q", p.File))
		}
	} else {
		parts = append(parts, "ptx: "+list(p.Lines))
	}
	if p.Fragment && p.Of != "d" {
		parts = append(parts, "of: "+p.Of)
	}
	if !p.Fragment && p.Dest > 0 {
		parts = append(parts, fmt.Sprintf("element: %d", p.Dest))
	}
	parts = append(parts, "row: "+quoted(p.Row))
	if p.Fragment || p.Col != "0" {
		parts = append(parts, "col: "+quoted(p.Col))
	}
	if p.Tile != "" && p.Tile != "n" {
		parts = append(parts, "tile: "+quoted(p.Tile))
	}
	return strings.Join(parts, ", ")
}

// result writes a stage that is cut out of an output.
func (w *discovered) result(role discover.Role, axes string, cols int, op string) {
	o, st := w.a.Operand(role), w.a.Stage(role)
	if o == nil || st == nil {
		return
	}
	w.evidence(st)
	along := fmt.Sprintf("rows: %d", o.Rows)
	if o.Cols >= 0 {
		along += fmt.Sprintf(", cols: %d", o.Cols)
	}
	w.line("  - name: %s\n    axes: %s\n    dtype: %s\n    dims: [%d, %d]\n    valid: [%s, %d]\n    per: block\n    op: %s",
		w.role[string(role)], axes, st.DType, w.a.TileM, cols,
		quoted(w.rows("q")), cols, op)
	if unit := w.unit(st.Unit); unit != "" {
		w.line("    unit: %s", unit)
	}
	if w.unknownMask() {
		w.line("    reference: none")
	}
	w.line("    capture: {output: %s, at: %s, %s}", w.names[o.Arg], bracketed(o.At), along)
}
