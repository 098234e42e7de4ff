package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/hostrun"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// parseProduct cuts an expression into its factors, with locals replaced; nil where it is no plain product.
func parseProduct(text string, locals map[string]string) []*hostcode.Expr {
	var out []*hostcode.Expr
	var walk func(e *hostcode.Expr, depth int) bool
	walk = func(e *hostcode.Expr, depth int) bool {
		switch {
		case e == nil || depth > 20:
			return false
		case e.Op == "*":
			return walk(e.Args[0], depth+1) && walk(e.Args[1], depth+1)
		case e.Op == "name":
			if v := hostcode.ParseExpr(locals[e.Name]); v != nil && v.Op == "*" {
				return walk(v, depth+1)
			}
		}
		out = append(out, e)
		return true
	}
	if !walk(hostcode.ParseExpr(text), 0) {
		return nil
	}
	return out
}

// writeConstants lists the whole numbers that the kernel names, with their values.
func (g *general) writeConstants() {
	var lines []string
	add := func(name string, from string) {
		n, ok := g.v.value(name).Eval(g.v.value)
		_, listed := g.v.listed[name]
		if !ok || listed || n < -1<<31 || n >= 1<<31 || !plainName.MatchString(name) || g.isDim(name) ||
			slices.Contains(taken, name) {
			return
		}
		g.v.listed[name] = n
		lines = append(lines, fmt.Sprintf("  %s: %d   # %s", name, n, from))
	}
	if k := g.v.kernel; k != nil {
		for _, p := range k.Template {
			if p.Name != "" {
				add(p.Name, "argument of the template")
			}
		}
		for _, c := range g.v.source.Constants {
			if k.Uses(c.Name) {
				add(c.Name, g.v.source.place(c))
			}
		}
	}
	if lines == nil {
		return
	}
	g.line("\nconstants:\n%s", strings.Join(lines, "\n"))
}

func (g *general) writeLaunch() {
	g.line("\nlaunch:")
	why := ""
	for _, s := range g.grid {
		if s.guess != "" {
			why = s.guess
		}
	}
	text := fmt.Sprintf("  grid: [%s, %s, %s]", quoted(g.grid[0].text), quoted(g.grid[1].text),
		quoted(g.grid[2].text))
	from := ""
	if g.given != nil {
		why = ""
	} else if g.v.launch != nil {
		from = fmt.Sprintf("   # as launched on line %d", g.v.launch.Line)
	}
	if why != "" {
		g.open("launch.grid", why, "%s", text)
	} else {
		g.line("%s%s", text, from)
	}
	text = fmt.Sprintf("  block: [%d, %d, %d]", g.block[0], g.block[1], g.block[2])
	if g.guessedBlock {
		g.open("launch.block", "threads of a block", "%s", text)
	} else {
		g.line("%s", text)
	}
	g.writeDynamic()
	cooperative, cluster := false, probes.Dim3{}
	switch r := g.v.ran; {
	case g.given != nil:
		cooperative, cluster = g.given.Cooperative, g.given.Cluster
	case r != nil && r.Cluster != nil:
		cooperative, cluster = r.Cooperative, extent(*r.Cluster)
	case r != nil:
		cooperative = r.Cooperative
	}
	if cluster.Count() > 1 {
		g.line("  cluster: [%d, %d, %d]", cluster[0], cluster[1], cluster[2])
	}
	if cooperative {
		g.line("  cooperative: true")
	}
}

// writeDynamic writes the dynamic shared bytes, where the kernel has such an array.
func (g *general) writeDynamic() {
	if !slices.ContainsFunc(g.doc.module.SharedLayout(g.f), func(s ptx.Symbol) bool { return s.Dynamic }) {
		return
	}
	if g.given != nil {
		g.line("  shared: %d", g.given.Shared)
		return
	}
	if text := g.dynamic(); text != "" {
		g.line("  shared: %s", quoted(text))
		return
	}
	g.open("launch.shared", "dynamic shared bytes that the caller asks for", "  shared: 49152")
}

// dynamic is how many bytes of dynamic shared memory the launch asks for, as an expression; "" where it asks
// for none, or that is not known.
func (g *general) dynamic() string {
	if l := g.v.launch; l != nil && len(l.Config) > 2 {
		if text, ok := g.render(hostcode.ParseExpr(l.Config[2]), 0); ok && text != "0" {
			return text
		}
	}
	if r := g.v.ran; r != nil && r.Shared > 0 {
		return fmt.Sprint(r.Shared)
	}
	return ""
}

// quoted is an expression in a flow list: one with a comma needs quotes.
func quoted(text string) string {
	if strings.ContainsAny(text, ",()") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// bracketed is a flow list of expressions.
func bracketed(list []string) string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = quoted(x)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (g *general) writeArguments() {
	g.line(
		"\n# name, type (* for a pointer), and for pointers the extent and what the host does with it.\nargs:",
	)
	for i, p := range g.params {
		field := fmt.Sprintf("args[%d]", i)
		switch {
		case p.Struct > 0:
			g.structure(i, field)
		case g.dimOf[i] != "":
			why := ""
			if strings.HasPrefix(g.names[i], "param_") {
				why = "which size is it?"
			}
			g.mark(why, field, fmt.Sprintf("  - {name: %s, type: %s, value: %s}", g.names[i], p.DType,
				g.dimOf[i]))
		case !p.Pointer && g.given != nil:
			g.line("  - {name: %s, type: %s, value: %s}", g.names[i], p.DType, g.scalar(i))
		case !p.Pointer && g.passedValue(i) != "":
			g.line("  - {name: %s, type: %s, value: %s}   # as passed on line %d", g.names[i], p.DType,
				g.passedValue(i), g.v.launch.Line)
		case !p.Pointer:
			g.open(field, "what is passed?", "  - {name: %s, type: %s, value: %s}", g.names[i], p.DType,
				g.scalar(i))
		default:
			g.pointer(i, field)
		}
	}
}

// guessedElements is how many elements a pointer in a struct is given, and guessedNumber what its numbers
// are: extents and strides, which the source does not say.
const (
	guessedElements = 4096
	guessedNumber   = 32
)

// structure writes a struct that is passed by value: what the kernel reads of it.
func (g *general) structure(i int, field string) {
	p, passed := g.params[i], g.argument(i).Struct
	g.line("  - name: %s\n    type: struct{%d}\n    fields:", g.names[i], p.Struct)
	if len(p.Fields) == 0 {
		g.open(field, "nothing is read of it", "      - {at: 0, type: u8, value: 0}")
	}
	for k, f := range p.Fields {
		at := fmt.Sprintf("%s.fields[%d]", field, k)
		t := f.DType
		if t == 0 {
			t = probes.F32
		}
		switch line := g.passedField(passed, f); {
		case line != "":
			g.line("      - {at: %d, %s}   # as passed on line %d", f.Offset, line, g.v.launch.Line)
		case f.Pointer && f.Written:
			g.open(at, "which tensor, and how large?",
				"      - {at: %d, type: \"%s*\", dims: [%d], role: inout, fill: zeros}", f.Offset, t,
				guessedElements)
		case f.Pointer:
			g.open(at, "which tensor, and how large?",
				"      - {at: %d, type: \"%s*\", dims: [%d], role: input, tensor: %s_%d%s}", f.Offset, t,
				guessedElements, g.names[i], f.Offset, fill(t))
		default:
			g.open(at, "an extent or a stride?", "      - {at: %d, type: %s, value: %d}", f.Offset, t,
				guessedNumber)
		}
	}
}

// passedField is a field of a struct that the host's code passes, as a manifest has it without its offset; ""
// where that is not known.
func (g *general) passedField(s *hostrun.Struct, f Field) string {
	if s == nil || g.given != nil || g.v.launch == nil {
		return ""
	}
	i := slices.IndexFunc(s.Fields, func(p hostrun.Field) bool { return p.At == int64(f.Offset) })
	if i < 0 || s.Fields[i].Pointer != f.Pointer {
		return ""
	}
	passed := s.Fields[i]
	t := cTypes[passed.Type]
	if passed.Type == "bool" {
		t = probes.U8
	}
	if t == 0 {
		return ""
	}
	m := passed.Argument.Memory
	switch {
	case !f.Pointer:
		if text := number(passed.Argument, t); text != "" {
			return fmt.Sprintf("type: %s, value: %s", t, text)
		}
		return ""
	case m == nil || elements(m, t) < 1 || elements(m, t) > mostPassed:
		return ""
	}
	source := contents(m, t)
	switch {
	case source == "" && !m.Written && f.Written:
		source = unwritten
	case source == "" && t.Float() || t.Float() && !f.Written:
		source = "randn"
	case source == "":
		source = integers(t)
	}
	role := "input"
	if f.Written {
		role = "inout"
	}
	return fmt.Sprintf(
		"type: \"%s*\", dims: [%d], role: %s, fill: %s",
		t,
		elements(m, t),
		role,
		asFill(m, source),
	)
}

func (g *general) pointer(i int, field string) {
	p, why := g.params[i], g.why[i]
	if g.given != nil {
		why = ""
	}
	if p.DType == 0 || p.Guessed {
		why = strings.TrimPrefix(why+"; element type guessed from use", "; ")
	}
	role := "input" + fill(g.dtype(i))
	if source := g.left(i); source != "" && g.given == nil && !g.dtype(i).Float() {
		role = "input, fill: " + asFill(g.argument(i).Memory, source)
	}
	var given LaunchArg
	if g.given != nil {
		given = g.given.Args[i]
	}
	switch given.Fill {
	case "", "randn":
	case "unwritten":
		role = "inout, fill: unwritten"
	default:
		role = "input, fill: " + filled(given.Fill)
	}
	also := func(what string) { why = strings.TrimPrefix(why+"; "+what, "; ") }
	switch {
	case given.Wrote && given.Partly && !p.Loaded: // an output is written as a whole
		role = "inout, fill: unwritten"
	case !p.Read && !p.Written:
		role, why = "scratch", "which tensor is it? Nothing reads or writes it"
	case !p.Written:
	case p.Read:
		role = "inout, fill: " + g.before(i)
		if m := g.argument(i).Memory; g.left(i) == "" || !m.Written {
			also("it is read too: what does it hold before the launch?")
		}
	default:
		if role = "output"; i != g.result {
			also("a result too, or scratch memory?")
		}
		if m := g.argument(i).Memory; m != nil && m.Padded { // nothing has to write to the ends of its rows
			role = "inout, fill: unwritten"
		}
	}
	g.mark(why, field, fmt.Sprintf("  - {name: %s, type: \"%s*\", dims: %s, role: %s}", g.names[i],
		g.dtype(i), g.args[i], role))
}

// before is what memory that is read holds before the launch: random values, but zeros where atomic
// operations alone read it, as counters and sums begin.
func (g *general) before(i int) string {
	if g.given != nil && g.given.Args[i].Fill != "" {
		return filled(g.given.Args[i].Fill)
	}
	if source := g.left(i); source != "" {
		return asFill(g.argument(i).Memory, source)
	}
	switch p := g.params[i]; {
	case p.Written && !p.Loaded:
		return "zeros"
	case g.dtype(i).Float():
		return "randn"
	}
	return strconv.Quote(integers(g.dtype(i)))
}

// writeStages writes the output as the only stage judged where it is plain what the kernel computes, else
// what has to be filled in.
func (g *general) writeStages(name string) {
	row, col, tm, tn := g.place()
	op := ""
	if g.kind != nil && g.kind.op != nil && tn != "" && g.result >= 0 && !g.doc.plain {
		op = g.kind.op(g)
	}
	out := "OUTPUT"
	if g.result >= 0 {
		out = g.names[g.result]
	}
	stage := "y"
	if slices.Contains(g.names, stage) {
		stage = "result"
	}
	if op == "" {
		g.doc.Notes = append(
			g.doc.Notes,
			"what the kernel computes is not plain from its text: fill in work and stages to have it compared; until then tilescope check is the "+
				"command for it",
		)
		g.line(
			"\n# What the kernel computes is not plain from its text. To have its output compared, say which part of it a block computes, and from what",
		)
		g.line("# (docs/operators.md has the operators), and remove the marks of comments:")
		g.writeExampleStage(stage, out)
		g.writeExampleReference(out)
		g.doc.Unknown = append(g.doc.Unknown, "stages")
		g.ending(name, false)
		return
	}
	g.line("\n# %s: guessed from the kernel's text.\n# Which part of it a block (bx, by, bz) computes.",
		upper(g.kind.what))
	at, axes := g.kind.place("row", "col"), "[row, col]"
	if row != "" {
		g.open("work", "guessed from the launch", "work: {row: %s, col: %s}", row, col)
	} else {
		at, axes = "at: [at], rows: 0", "[at]"
		g.open("work", "guessed from the launch", "work: {at: %s}", col)
	}
	rows, cols := g.valid(tm, tn)
	g.line("stages:")
	g.doc.Computes = true
	g.open(
		"stages",
		"what the kernel computes",
		"  - {name: %s, axes: %s, dtype: %s, dims: [%s, %s], valid: [%s, %s], per: block,\n     op: {%s},\n     capture: {output: %s, %s}}",
		stage,
		axes,
		g.resultType(),
		tm,
		tn,
		rows,
		cols,
		op,
		out,
		at,
	)
	g.ending(name, true)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (g *general) resultType() probes.DType {
	if g.result < 0 {
		return probes.F32
	}
	return g.dtype(g.result)
}

// place is the position and extent of a block's part of the output; tn is "" where it is not known.
func (g *general) place() (row, col, tm, tn string) {
	step := func(i int) string {
		if g.grid[i].tile == 1 {
			return [3]string{"bx", "by", "bz"}[i]
		}
		return fmt.Sprintf("%s * %d", [3]string{"bx", "by", "bz"}[i], g.grid[i].tile)
	}
	k := g.kind
	switch {
	case k == nil:
		return "", "", "", ""
	case k.m != "" && g.grid[0].extent == k.n && g.grid[1].extent == k.m:
		return step(1), step(0), fmt.Sprint(g.grid[1].tile), fmt.Sprint(g.grid[0].tile)
	case k.m != "" && g.grid[0].extent == k.m && g.grid[1].extent == k.n:
		return step(0), step(1), fmt.Sprint(g.grid[0].tile), fmt.Sprint(g.grid[1].tile)
	case k.m != "":
		return "", "", "", ""
	case k.rows != "" && g.grid[0].tile == 1 && g.grid[0].extent == k.rows:
		return "bx", "0", "1", k.cols
	case k.rows != "":
		return "", "", "", ""
	case k.one && g.isDim(g.grid[0].extent):
		return "", "bx", "1", "1"
	case k.flat != "" && g.grid[0].extent == k.flat:
		return "", step(0), fmt.Sprint(g.grid[0].tile), "1"
	}
	return "", "", "", ""
}

// valid are the rows and columns of a block's part that are within the output.
func (g *general) valid(tm, tn string) (rows, cols string) {
	k := g.kind
	switch {
	case k.m != "":
		return fmt.Sprintf("\"min(%s, %s - row)\"", tm, k.m), fmt.Sprintf("\"min(%s, %s - col)\"", tn, k.n)
	case k.rows != "":
		return "1", k.cols
	case k.one:
		return "1", "1"
	}
	return fmt.Sprintf("\"min(%s, %s - at)\"", tm, g.grid[0].extent), "1"
}

// ending writes variants, shapes and thresholds.
func (g *general) ending(name string, judged bool) {
	var flags, set []string
	for _, s := range g.doc.set {
		flag, value, ok := strings.Cut(s, "=")
		if !ok {
			value = "1"
		}
		flags = append(flags, fmt.Sprintf("  - {name: %s, %shelp: \"a preprocessor symbol of the source\"}",
			flag, flagValues(value)))
		set = append(set, flag+": "+value)
	}
	if flags != nil {
		g.line("\nflags:\n%s", strings.Join(flags, "\n"))
	}
	g.line("\nvariants:\n  %s: {%s}\ndefault: %s\ngates: []", name, strings.Join(set, ", "), name)
	var large []string
	for _, d := range g.dims {
		large = append(large, fmt.Sprintf("%s: %d", d.name, d.extent))
	}
	alone := large == nil // the launch has nothing that could differ
	if alone {
		large = []string{"n: 1"}
	}
	if g.given != nil || g.passedExtents || alone || g.equalExtents() {
		g.line("\nshapes:")
	} else {
		g.line("\nshapes:   # no two extents equal, so that swapped axes show")
	}
	switch text := fmt.Sprintf("  validation: {%s}", strings.Join(large, ", ")); {
	case g.given != nil, alone && g.launchedAsIs():
		g.line("%s", text)
	case g.passedExtents:
		g.line("%s   # as passed on line %d", text, g.v.launch.Line)
	default:
		g.open("shapes", "sizes that the kernel takes", "%s", text)
	}
	if judged {
		g.line("\nthresholds:")
		g.open("thresholds.output", "the error of the output that you accept",
			"  output: {max_abs: 0.06, mean_abs: 0.02, bad_fraction: 0.01}")
	}
}

var digits = regexp.MustCompile(`^[0-9]+$`)

// flagValues are the values of a flag that is set to one besides 0 and 1.
func flagValues(value string) string {
	if digits.MatchString(value) && value != "0" && value != "1" {
		return "values: [0, " + value + "], "
	}
	return ""
}
