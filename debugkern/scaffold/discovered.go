package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/discover"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// Launch is one launch of a kernel, as the options of `check` or a bundle give it.
type Launch struct {
	Grid, Block probes.Dim3
	Shared      int
	Cooperative bool
	Cluster     probes.Dim3 // 1 block: none
	Args        []LaunchArg // the parameters, then what is Behind them: as target.Launch has them
	Bundle      bool        // the file is a bundle
	Notes       []string    // what the manifest has otherwise than the launch
}

// LaunchArg is one argument of a launch.
type LaunchArg struct {
	Name   string // the source's, "" where it has none
	DType  probes.DType
	Dims   []int // of memory; nil: a scalar
	Fill   string
	Read   bool
	Wrote  bool
	Partly bool   // elements of it are unwritten after the launch
	Value  string // of a scalar
	Size   int    // of a struct; 0: none
	Fields []LaunchField
	// Behind is memory to which a struct's field leads, or a parameter that is a Pointer: In is the index of
	// that, and Offset the address's byte there.
	Behind  bool
	In      int
	Offset  int
	Pointer bool
	Strides []int // of memory, elements from one index to the next; nil: row-major
	// Map is the tensor map that a parameter is, as a manifest has it but for the memory, argument Of; "":
	// it is none. Memory that only maps lead to is Behind, with In -1.
	Map string
	Of  int
}

// LaunchField is a number in a struct.
type LaunchField struct {
	Offset int
	DType  probes.DType
	Value  string
}

// Discovered returns, as the text of a manifest that loads, a kernel with the stages that were discovered in
// one launch of it, each with its evidence. found may be nil: why says what was not found, and the manifest
// has the launch alone.
func Discovered(
	req Request, module *ptx.Module, source bool, l *Launch, found *discover.Attention, why error,
) (*report.Init, error) {
	d := &scaffolder{Init: Blank(req), module: module}
	if err := d.choose(req.Entry, ""); err != nil {
		return nil, err
	}
	d.Notes = append(d.Notes, l.Notes...)
	if l.Bundle {
		d.Check = text.CommandLine([]string{"tilescope", "check", req.File})
	}
	var missing *discover.NotFound
	switch {
	case errors.As(why, &missing):
		d.Notes = append(d.Notes, "no stages of attention were discovered: "+missing.Why)
	case why != nil:
		return nil, why
	}
	w := &discovered{
		manifestText: &manifestText{doc: d}, req: req, l: l, a: found, role: configs.Roles(), source: source,
	}
	w.name()
	if found != nil {
		if names := w.deciding(); names != nil {
			text := fmt.Sprintf("which keys take part: it may depend on %s, which no stage has; so they are not judged",
				strings.Join(names, ", "))
			if !slices.Contains(found.Missing, text) {
				found.Missing = append(found.Missing, text)
			}
		}
	}
	d.Text = w.manifest()
	m, err := configs.ParseManifest(req.Out, []byte(d.Text))
	if err == nil && !resolves(m) {
		err = resolveError(m)
	}
	if err != nil && found != nil { // what was discovered does not make a graph: the launch alone stands
		d.Notes = append(d.Notes, "what was discovered does not make a manifest: "+firstLine(err))
		w = &discovered{manifestText: &manifestText{doc: d}, req: req, l: l, role: w.role, source: source}
		w.name()
		d.Unknown = []string{}
		d.Text = w.manifest()
		_, err = configs.ParseManifest(req.Out, []byte(d.Text))
	}
	if err != nil {
		return nil, fmt.Errorf("BUG: the manifest made of %s does not load: %w\n%s", req.File, err, d.Text)
	}
	if w.a != nil {
		for _, m := range w.a.Missing {
			d.Notes = append(d.Notes, "not found: "+short(w.named(m)))
		}
	}
	return d.Init, nil
}

// short is a text without what follows its first line's worth.
func short(s string) string {
	const most = 120
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	cut := string(r[:most])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + " …"
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// resolveError is why a manifest cannot be resolved for its first shape.
func resolveError(m *configs.Manifest) error {
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil || len(m.Shapes) == 0 {
		return err
	}
	_, err = sel.Resolve(m.Shapes[0].Shape)
	return err
}

// discovered is a manifest of a launch and what was discovered in it, under way.
type discovered struct {
	*manifestText
	req    Request
	l      *Launch
	a      *discover.Attention
	role   map[string]string
	source bool
	names  []string // of the arguments
	dims   []string // the dimensions, in the order of the shape
	scaled int      // the argument that is the scale; -1: none
	extent map[string]int
	of     map[[2]int]string // name of an argument's dimension
}

// name gives arguments names, and the dimensions of the tensors theirs.
func (w *discovered) name() {
	w.extent, w.of = map[string]int{}, map[[2]int]string{}
	roles := map[int]string{}
	if w.a != nil {
		for _, o := range w.a.Operands {
			roles[o.Arg] += w.role[string(o.Role)]
		}
	}
	for i, a := range w.l.Args {
		n, place := a.Name, fmt.Sprintf("arg%d", i)
		switch {
		case a.Pointer: // its memory has the name
			w.names = append(w.names, "")
			continue
		case a.Behind && a.In < 0: // tensor maps lead to it
		case a.Behind && w.l.Args[a.In].Pointer:
			n, place = w.l.Args[a.In].Name, fmt.Sprintf("arg%d", a.In)
		case a.Size > 0 && slices.ContainsFunc(w.l.Args, func(b LaunchArg) bool {
			return b.Behind && b.Name == n
		}):
			n += "_struct" // the tensor in it has the name
		case a.Behind:
			place = fmt.Sprintf("arg%d_%d", a.In, a.Offset)
		}
		if w.l.Bundle {
			n = notIdentifier.ReplaceAllString(n, "_")
		}
		if !identifier.MatchString(n) {
			n = place
			if r := roles[i]; r != "" && !slices.Contains(w.names, r) {
				n = r
			}
		}
		for slices.Contains(w.names, n) {
			n += "_"
		}
		w.names = append(w.names, n)
	}
	w.scaled = -1
	if w.a == nil {
		return
	}
	for i, a := range w.l.Args {
		if x, err := strconv.ParseFloat(a.Value, 64); err == nil && a.Dims == nil && a.DType == probes.F32 &&
			math.Abs(x-w.a.Scale) < 1e-6*w.a.Scale && w.scaled < 0 {
			w.scaled = i
		}
	}
	for i, n := range w.names {
		if n == scaleName && w.scaled != i {
			w.names[i] += "_"
		}
	}
	for _, r := range []discover.Role{
		discover.Queries, discover.Keys, discover.Values, discover.Result, discover.LSE,
	} {
		if o := w.a.Operand(r); o != nil {
			w.nameDims(o)
		}
	}
}

// scaleName is the name by which a scalar argument is the scale.
const scaleName = "softmax_scale"

var (
	identifier    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	notIdentifier = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// nameDims names an operand's dimensions: heads and batches in the order in which they stand before
// the rows and columns.
func (w *discovered) nameDims(o *discover.Operand) {
	others := 0
	for d := range o.Dims {
		if d != o.Rows && d != o.Cols {
			others++
		}
	}
	free := []string{"B", "H", "N2", "N3", "N4", "N5", "N6"}
	if others == 1 {
		free = free[1:]
	}
	for d, n := range o.Dims {
		if w.of[[2]int{o.Arg, d}] != "" {
			continue
		}
		var name string
		switch {
		case d == o.Rows:
			name = "S"
		case d == o.Cols:
			name = "D"
		default:
			name, free = free[0], free[1:]
		}
		own := name
		for _, suffix := range []string{"", "kv", "v"} {
			if name = own + suffix; w.extent[name] == 0 || w.extent[name] == n {
				break
			}
		}
		if have, taken := w.extent[name]; taken && have != n {
			continue // written as a number
		}
		if _, taken := w.extent[name]; !taken {
			w.dims = append(w.dims, name)
		}
		w.extent[name] = n
		w.of[[2]int{o.Arg, d}] = name
	}
}

// dimText is the extent of a dimension of an argument.
func (w *discovered) dimText(arg, d, n int) string {
	if name := w.of[[2]int{arg, d}]; name != "" {
		return name
	}
	return fmt.Sprint(n)
}

// manifest writes the text.
func (w *discovered) manifest() string {
	d := w.doc
	base := filepath.Base(d.File)
	name := strings.Trim(notInName.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(d.File)), "_"),
		".+-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "kernel_" + name
	}
	kind := "ptx"
	if w.source {
		kind = "source"
	}
	d.heading(w.manifestText,
		"A manifest of %s, made from the kernel and one launch of it: launch and scalars are "+
			"that one's.", text.Line(base))
	if w.l.Bundle {
		w.line("# The contents of its memory are read by tilescope check %[1]s, and by tilescope run with "+
			"--inputs %[1]s.", text.Line(base))
	}
	if w.a != nil {
		w.line("# Its stages were discovered: block %s was executed once more, with what its values are made of in their place.",
			w.a.Block)
		for _, also := range w.a.Also {
			w.line("# So was block %s, for what only it executes.", also)
		}
		w.line("# Guesses are marked with \"# ?\".")
	}
	for _, n := range d.Notes {
		w.line("# %s.", text.Line(n))
	}
	w.line("schema: %s\nname: %s\ntitle: %q\n%s: %q\nentry: %s", configs.Schema, name, name, kind,
		d.relative(w.req, w.req.File), scalar(d.Entry))
	d.compiledWith(w.manifestText, w.req)
	w.requires()
	also := ""
	if w.l.Cluster.Count() > 1 {
		also = ", cluster: " + list(w.l.Cluster[:])
	}
	if w.l.Cooperative {
		also += ", cooperative: true"
	}
	w.line("\nlaunch: {grid: %s, block: %s, shared: %d%s}", list(w.l.Grid[:]), list(w.l.Block[:]), w.l.Shared,
		also)
	if w.a != nil {
		w.scale()
	}
	w.arguments()
	if w.a != nil {
		w.work()
		w.stages()
	}
	w.line("\nvariants: {%s: {}}\ngates: []", name)
	if w.a == nil {
		return w.String()
	}
	var dims []string
	for _, n := range w.dims {
		dims = append(dims, fmt.Sprintf("%s: %d", n, w.extent[n]))
	}
	w.line("shapes:\n  validation: {%s}", strings.Join(dims, ", "))
	w.line("thresholds:")
	w.open("thresholds.output", "the error of the output that you accept",
		"  output: {max_abs: 0.05, mean_abs: 0.02, bad_fraction: 0.0}")
	return w.String()
}

func list(v []int) string {
	return "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ", ") + "]"
}

// requires ties the manifest to the shape of its launch.
func (w *discovered) requires() {
	var that []string
	for _, n := range w.dims {
		that = append(that, fmt.Sprintf("%s == %d", n, w.extent[n]))
	}
	if that != nil {
		w.line("requires:\n  - {that: %s, say: \"grid and scalars are those of one launch; write them in terms of the shape for others\"}",
			strings.Join(that, " && "))
	}
}

// scale writes what scores are multiplied by: 1/sqrt of the common dimension where that is it.
func (w *discovered) scale() {
	if w.scaled >= 0 {
		return // the argument says it
	}
	if x := 1 / math.Sqrt(float64(w.a.Depth)); math.Abs(w.a.Scale-x) < 1e-5*x && w.extent["D"] == w.a.Depth {
		w.line("scale: 1 / sqrt(D)   # %.9g, found", w.a.Scale)
		return
	}
	w.line("scale: %.9g", w.a.Scale)
}

// arguments writes the parameters, with what their pointers lead to.
func (w *discovered) arguments() {
	w.line("\nargs:")
	for i, a := range w.l.Args {
		switch {
		case a.Behind && a.In < 0:
			w.line("  - {name: %s, %s, parameter: false}", w.names[i], w.pointer(i, a))
		case a.Behind:
		case a.Map != "":
			w.line("  - {name: %s, type: tensormap, map: {of: %s, %s}}", w.names[i], w.names[a.Of], a.Map)
		case a.Pointer:
			j := slices.IndexFunc(w.l.Args, func(b LaunchArg) bool { return b.Behind && b.In == i })
			w.line("  - {name: %s, %s}", w.names[j], w.pointer(j, w.l.Args[j]))
		case a.Size > 0:
			w.structure(i, a)
		case a.Dims == nil:
			role := ""
			if i == w.scaled && w.names[i] != scaleName {
				role = ", role: scale"
			}
			w.line("  - {name: %s, type: %s, value: %s%s}", w.names[i], a.DType, a.Value, role)
		default:
			w.line("  - {name: %s, %s}", w.names[i], w.pointer(i, a))
		}
	}
}

// structure writes a struct by its fields.
func (w *discovered) structure(i int, a LaunchArg) {
	type field struct {
		at   int
		text string
	}
	var fields []field
	for _, f := range a.Fields {
		fields = append(fields, field{f.Offset, fmt.Sprintf("type: %s, value: %s", f.DType, f.Value)})
	}
	for j, b := range w.l.Args {
		if b.Behind && b.In == i {
			fields = append(fields, field{b.Offset, fmt.Sprintf("name: %s, %s", w.names[j], w.pointer(j, b))})
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return a.at - b.at })
	if fields == nil {
		w.line("  - {name: %s, type: \"struct{%d}\", fields: []}", w.names[i], a.Size)
		return
	}
	w.line("  - name: %s\n    type: struct{%d}\n    fields:", w.names[i], a.Size)
	for _, f := range fields {
		w.line("      - {at: %d, %s}", f.at, f.text)
	}
}

// pointer writes type, extent and role of memory.
func (w *discovered) pointer(i int, a LaunchArg) string {
	dims := a.Dims
	if w.a != nil {
		for _, o := range w.a.Operands {
			if o.Arg == i {
				dims = o.Dims
			}
		}
	}
	var sides []string
	for d, n := range dims {
		sides = append(sides, w.dimText(i, d, n))
	}
	role := "scratch"
	// Whether its contents before the launch count: those of a bundle may be what an allocator left.
	keeps := a.Read || w.l.Bundle && w.a == nil && a.Fill != "unwritten"
	switch {
	case a.Wrote && keeps && a.Fill == "":
		role = "inout" + cmp.Or(fill(a.DType), ", fill: randn")
	case a.Wrote && keeps && a.Fill != "unwritten":
		role = "inout, fill: " + filled(a.Fill)
	case a.Wrote && a.Partly && w.a == nil: // an output is written as a whole
		role = "inout, fill: unwritten"
	case a.Wrote:
		role = "output"
	case a.Read && a.Fill == "unwritten":
		role = "inout, fill: unwritten"
	case a.Read:
		role = "input"
		if w.a == nil { // no tensor of the conventions, whatever its name is
			role += ", tensor: in_" + w.names[i]
		}
		switch a.Fill {
		case "":
			role += fill(a.DType)
		case "randn":
		default:
			role += ", fill: " + filled(a.Fill)
		}
	}
	if a.Strides != nil {
		role += ", strides: " + list(a.Strides)
	}
	return fmt.Sprintf("type: \"%s*\", dims: [%s], role: %s", a.DType, strings.Join(sides, ", "), role)
}

// work writes the positions of blocks and iterations.
func (w *discovered) work() {
	w.line("\n# Where a block's queries and an iteration's keys begin, and how many iterations a block has.")
	w.line("work:\n  query: %s\n  key: %s\n  tiles: %s", quoted(w.a.Query), quoted(w.a.Key),
		quoted(w.a.Tiles))
}
