package scaffold

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/hostrun"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// launchOf is the launch of a kernel that the host's code makes first, by executing it; nil where it reaches
// none that is understood.
func (s Source) launchOf(k *hostcode.Kernel) *hostrun.Launch {
	if s.runs == nil {
		return nil
	}
	list := s.runs()
	for i := range list {
		l := &list[i]
		if l.Kernel[strings.LastIndexByte(l.Kernel, ':')+1:] == k.Name && len(l.Args) == len(k.Parameters) {
			return l
		}
	}
	return nil
}

// follow takes the launch that the host's code makes first for the one that is read.
func (v *view) follow() {
	v.ran = v.source.launchOf(v.kernel)
	if v.ran == nil || v.launch != nil && v.launch.Line == v.ran.Line {
		return
	}
	for i, l := range v.source.Launches {
		if l.Line == v.ran.Line && len(l.Args) == len(v.kernel.Parameters) {
			v.launch = &v.source.Launches[i]
			return
		}
	}
	// by cudaLaunchKernel, or from within a macro
	v.launch = &hostcode.Launch{Line: v.ran.Line, Kernel: v.ran.Kernel}
}

// attributes are the options of the launch that is made besides grid, block and shared memory: with their
// values, and those without one.
func (v *view) attributes() (pairs, flags []string) {
	if v.ran == nil {
		return nil, nil
	}
	if c := v.ran.Cluster; c != nil && extent(*c).Count() > 1 {
		pairs = []string{"--cluster", extent(*c).Short()}
	}
	if v.ran.Cooperative {
		flags = []string{"--cooperative"}
	}
	return pairs, flags
}

// gridAsRan is the grid that the host's code launches: in the kernel's own sides, as the text shows them,
// where that is the same one, else in numbers.
func (g *general) gridAsRan() {
	r := g.v.ran
	if r == nil || r.Grid == nil {
		return
	}
	if len(g.dimOf) == 0 && g.kind == nil { // the kernel takes no size
		g.dims = nil
	}
	grid, _ := g.launched()
	for i := range g.grid {
		if known := g.passedExtents || len(g.dims) == 0 || g.grid[i].text == "1"; !known {
			continue
		}
		if grid[i] != r.Grid[i] {
			n := fmt.Sprint(r.Grid[i])
			g.grid[i] = gridSide{text: n, tile: 1, extent: n}
		}
		g.grid[i].guess = ""
	}
}

// argument is what the host's code passes for a parameter, the zero value where that is not known.
func (g *general) argument(i int) (a hostrun.Argument) {
	if r := g.v.ran; r != nil && i < len(r.Args) {
		return r.Args[i]
	}
	return a
}

// number is a number that is passed, "" where it is none or not known. A floating-point number is what a
// float has, in the shortest digits that say so.
func number(a hostrun.Argument, t probes.DType) string {
	switch {
	case a.Int != nil:
		return fmt.Sprint(*a.Int)
	case a.Float != nil && !t.Float():
		return fmt.Sprint(int64(*a.Float))
	case a.Float != nil && t == probes.F64:
		return strconv.FormatFloat(*a.Float, 'g', -1, 64)
	case a.Float != nil:
		return strconv.FormatFloat(*a.Float, 'g', -1, 32)
	}
	return ""
}

// elements is how many elements of a type memory has from where an argument leads to it.
func elements(m *hostrun.Memory, t probes.DType) int64 { return m.Bytes / int64(max(1, t.Size())) }

// mostListed is how many numbers of a buffer an option or a manifest lists.
const mostListed = 64

// contents is what the host's code leaves in memory before the launch, as --arg has it; "" where that is not
// known, or any numbers of the type will do.
func contents(m *hostrun.Memory, t probes.DType) string {
	switch {
	case m.Floats != nil && alike(m.Floats, 0) || m.Ints != nil && alike(m.Ints, 0):
		return "zeros"
	case m.Floats != nil && alike(m.Floats, 1) || m.Ints != nil && alike(m.Ints, 1):
		return "ones"
	case t.Float() || int64(len(m.Ints)) > 0 && elements(m, t) != int64(len(m.Ints)):
		return ""
	case m.Ints != nil && counts(m.Ints):
		return "iota"
	case m.Ints != nil && len(m.Ints) <= mostListed:
		var list []string
		for _, n := range m.Ints {
			list = append(list, fmt.Sprint(n))
		}
		return "list(" + strings.Join(list, ",") + ")"
	case m.Ints != nil:
		return "main"
	case m.Range:
		return fmt.Sprintf("randint(%d,%d)", m.Lo, m.Hi)
	}
	return ""
}

// MainNumbers are the numbers of a type that a source's main copies to the memory of a parameter before it
// launches an entry, or to that of a pointer at an offset in a struct. The error says why there are none.
func (s Source) MainNumbers(f *ptx.Func, index, offset int, t probes.DType) ([]float64, error) {
	v := s.view(f)
	if v.ran == nil || index >= len(v.ran.Args) {
		return nil, errors.New("the source does not show how main launches this kernel")
	}
	a := v.ran.Args[index]
	m := a.Memory
	if a.Struct != nil {
		for _, field := range a.Struct.Fields {
			if field.At == int64(offset) {
				m = field.Argument.Memory
			}
		}
	}
	switch {
	case m == nil || m.Ints == nil && m.Floats == nil:
		return nil, fmt.Errorf("the source does not show what main copies there before line %d", v.ran.Line)
	case t.Float() != (m.Floats != nil):
		return nil, fmt.Errorf("main copies numbers of type %s there", m.Type)
	case m.Floats != nil:
		return m.Floats, nil
	}
	out := make([]float64, len(m.Ints))
	for i, n := range m.Ints {
		out[i] = float64(n)
	}
	return out, nil
}

func alike[T int64 | float64](list []T, n T) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(x T) bool { return x != n })
}

// counts reports 0, 1, 2, ...
func counts(list []int64) bool {
	for i, n := range list {
		if n != int64(i) {
			return false
		}
	}
	return len(list) > 1
}

// madeUp reports memory that does not have the numbers of the host's code.
func madeUp(m *hostrun.Memory, t probes.DType, source string) bool {
	return source != contents(m, t) && (m.Written || source != "zeros" && source != unwritten)
}

// unwritten is the source of memory that nothing was written to.
const unwritten = "unwritten"

// mostFilled is how many numbers of a buffer a manifest lists.
const mostFilled = 1 << 13

// asFill is a source of memory as a manifest has it: what main copies there is a list, or, where that would
// be too long, numbers of the same range.
func asFill(m *hostrun.Memory, source string) string {
	if source != "main" {
		return filled(source)
	}
	bytes := m.Bytes == int64(len(m.Ints)) // weights, not indices
	if len(m.Ints) > mostFilled || bytes && len(m.Ints) > mostListed {
		return filled(fmt.Sprintf("randint(%d, %d)", m.Lo, m.Hi))
	}
	return strings.ReplaceAll(fmt.Sprint(m.Ints), " ", ", ")
}

// filled is a source of memory as a manifest has it: list(1,2) is a list.
func filled(source string) string {
	if list, ok := strings.CutPrefix(source, "list("); ok {
		return "[" + strings.ReplaceAll(strings.TrimSuffix(list, ")"), ",", ", ") + "]"
	}
	return strconv.Quote(source)
}

// asRan is the launch that the host's code makes, where all of it is known and the emulator executes it in a
// moment; nil otherwise.
func (g *general) asRan() *Example {
	r := g.v.ran
	if r == nil || r.Grid == nil || r.Block == nil || r.Shared < 0 || g.v.launch == nil {
		return nil
	}
	threads := int64(1)
	for _, d := range []*[3]int64{r.Grid, r.Block} {
		for _, n := range d {
			threads *= n
			if threads > mostPassed {
				return nil
			}
		}
	}
	out := &Example{Line: r.Line, Assumed: r.Assumed,
		Options: []string{"--grid", extent(*r.Grid).Short(), "--block", extent(*r.Block).Short()}}
	if r.Shared > 0 {
		out.Options = append(out.Options, "--shared", fmt.Sprint(r.Shared))
	}
	pairs, flags := g.v.attributes()
	out.Options = append(out.Options, pairs...)
	out.Shown = slices.Clone(out.Options)
	for i := range g.params {
		value, shown := g.ranValue(i)
		if value == "" {
			return nil
		}
		name := g.params[i].Name
		if name == "" {
			name = fmt.Sprint(i)
		}
		option := []string{"--arg", name + "=" + value}
		out.Options = append(out.Options, option...)
		if shown {
			out.Shown = append(out.Shown, option...)
		} else {
			out.Random = append(out.Random, name)
		}
	}
	out.Options, out.Shown = append(out.Options, flags...), append(out.Shown, flags...)
	return out
}

// ranValue is what the host's code passes for a parameter as --arg has it, "" where that is not known or too
// much; shown reports that all of it is the host's.
func (g *general) ranValue(i int) (value string, shown bool) {
	a, p := g.argument(i), g.params[i]
	switch {
	case p.Struct > 0 && a.Struct != nil:
		if value, shown, known := structure(a.Struct, p.Fields); known {
			return value, shown
		}
		return "", false
	case p.Struct > 0:
		return "", false
	case !p.Pointer:
		value = number(a, p.DType)
		return value, value != ""
	case a.Memory == nil || strings.Count(p.Declared, "*") > 1: // of pointers: no option has such memory
		return "", false
	}
	t := g.dtype(i)
	n := elements(a.Memory, t)
	if n < 1 || n > mostPassed {
		return "", false
	}
	source := g.source(i, a.Memory)
	return fmt.Sprintf("%s:%s[%s]", source, strings.ToLower(t.String()), g.extentsOf(i, n)),
		!madeUp(a.Memory, t, source)
}

// source is what memory holds before the launch, as --arg has it: what the host's code leaves in it, but
// random numbers where the kernel only reads floating-point numbers, which then show more.
func (g *general) source(i int, m *hostrun.Memory) string {
	p, t := g.params[i], g.dtype(i)
	if s := contents(m, t); s != "" && (p.Written || !t.Float()) {
		return s
	}
	return g.unlisted(i, m)
}

// left is what the host's code leaves in a parameter's memory, as --arg has it, where the extents are its
// own; "" where they are not.
func (g *general) left(i int) string {
	m := g.argument(i).Memory
	if m == nil || !g.passedExtents && len(g.dims) > 0 {
		return ""
	}
	if g.volume(i) != elements(m, g.dtype(i)) {
		return ""
	}
	return g.source(i, m)
}

// unlisted is what memory begins with whose numbers are not known: it is left unwritten where the host writes
// nothing into it and the kernel does.
func (g *general) unlisted(i int, m *hostrun.Memory) string {
	if !m.Written && g.params[i].Written {
		return unwritten
	}
	if g.dtype(i).Float() {
		return "randn"
	}
	return anyIntegers(g.dtype(i))
}

// extentsOf are the extents of memory of so many elements: those that the source has for it where they come
// to as many, else their number.
func (g *general) extentsOf(i int, n int64) string {
	var dims []string
	for _, side := range sides(g.args[i]) {
		d := g.inShape(side)
		if d < 1 {
			return fmt.Sprint(n)
		}
		dims = append(dims, fmt.Sprint(d))
	}
	if g.volume(i) != n || !g.passedExtents && len(g.dims) > 0 {
		return fmt.Sprint(n)
	}
	return strings.Join(dims, ",")
}

// structure is a struct that is passed, as --arg has it. shown reports that all of it is the host's; known
// that the host's code shows all of it but numbers of memory. What it does not show and the kernel reads is a
// guess.
func structure(s *hostrun.Struct, reads []Field) (value string, shown, known bool) {
	shown, known = true, true
	var list []string
	for _, f := range s.Fields {
		i := slices.IndexFunc(reads, func(r Field) bool {
			return int64(r.Offset) == f.At && r.Pointer == f.Pointer
		})
		var read *Field
		if i >= 0 {
			read = &reads[i]
		}
		text, own := fieldValue(f, read)
		if text == "" {
			known = false
			if read == nil {
				continue // the kernel does not need it
			}
			guess := *read
			if t := cTypes[f.Type]; t != 0 {
				guess.DType = t
			}
			text = guess.example()
		}
		shown = shown && own
		list = append(list, fmt.Sprintf("%d: %s", f.At, text))
	}
	if list == nil {
		return "", false, false
	}
	return "{" + strings.Join(list, ", ") + "}", shown && known, known
}

// fieldValue is a field of a struct that is passed, "" where that is not known or too much; own reports that
// all of it is the host's. read is what the kernel does with it, nil for nothing.
func fieldValue(f hostrun.Field, read *Field) (text string, own bool) {
	t, m := cTypes[f.Type], f.Argument.Memory
	switch {
	case f.Type == "bool":
		t = probes.U8
	case t == 0 && (!f.Pointer || m == nil):
		return "", false
	case t == 0:
		t = probes.U8
	}
	name := strings.ToLower(t.String())
	if !f.Pointer {
		if text = number(f.Argument, t); text != "" {
			text += ":" + name
		}
		return text, text != ""
	}
	if m == nil || elements(m, t) < 1 || elements(m, t) > mostPassed {
		return "", false
	}
	source := contents(m, t)
	switch {
	case source != "":
	case !m.Written && read != nil && read.Written:
		source = unwritten
	case t.Float():
		source = "randn"
	case !m.Written:
		source = "zeros"
	default:
		source = anyIntegers(t)
	}
	return fmt.Sprintf("%s:%s[%d]", source, name, elements(m, t)), !madeUp(m, t, source)
}

// example is a field's value to begin with, as --arg has it in a struct.
func (f Field) example() string {
	text := f.Parameter.Example(guessedElements, guessedNumber)
	if !f.Pointer {
		text += ":" + strings.ToLower(f.DType.String())
	}
	return text
}
