package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/hostrun"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Example is a launch of a kernel to begin with, for somebody who has given none: what the source shows, and
// usual numbers where it shows nothing. A floating-point buffer that is only read is random, others are
// zeros.
type Example struct {
	Kernel string // as it is declared; of PTX the entry's name
	// Options of the command line, one word each: those with a value, then those without one.
	Options []string
	// Line is where the source launches it with this grid and block; 0: they are guessed.
	Line int
	// Shown are those of Options that the launch on Line shows: grid, block, and numbers that it passes.
	Shown []string
	// Guessed are the arguments whose numbers or extents the source does not show, and Random those of memory
	// that has random numbers in the place of those that the host's code computes.
	Guessed, Random []string
	Assumed         bool // it depends on the device, and is as hostrun assumes one
	// Others are the other kernels of the source, as --entry takes them, where the user has named none.
	Others []string
}

// Device is the device that the launch is made for, where it depends on that; "" where it does not.
func (x *Example) Device() string {
	if !x.Assumed {
		return ""
	}
	return fmt.Sprintf("a device of %d multiprocessors, with %d blocks on each", hostrun.Multiprocessors,
		hostrun.BlocksOfEach)
}

// SourceExample is a launch of a kernel of a CUDA source, of the first for entry ""; nil where there is none.
func SourceExample(s Source, entry string) *Example {
	i := slices.IndexFunc(s.Kernels, func(k *hostcode.Kernel) bool {
		return k.Defined && (entry == "" || k.Name == entry || k.Qualified() == entry)
	})
	if i < 0 {
		return nil
	}
	k := s.Kernels[i]
	v := s.viewOf(k, "")
	params := declaredParameters(v)
	for i := range params {
		params[i].Read, params[i].Loaded, params[i].Written = usedAs(k, i)
		if kind := strings.Fields(v.resolve(k.Parameters[i].Type)); !params[i].Pointer && len(kind) > 0 &&
			slices.Contains(s.structs, kind[len(kind)-1]) {
			params[i].Struct = 1 // of how many bytes its text does not say
			params[i].Fields = fieldsByText(k, i, v.ran)
		}
	}
	out := exampleOf(&ptx.Func{}, v, params)
	out.Kernel = k.Name + "(" + signature(k) + ")"
	if entry == "" && len(s.Kernels) > 1 {
		out.Options = append([]string{"--entry", k.Qualified()}, out.Options...)
		for _, o := range s.Kernels {
			if o != k && o.Defined {
				out.Others = append(out.Others, o.Qualified())
			}
		}
	}
	if instance := s.instance(k, v.ran); entry == "" && instance != "" {
		if len(out.Options) > 0 && out.Options[0] == "--entry" {
			out.Options[1] = instance
		} else {
			out.Options = append([]string{"--entry", instance}, out.Options...)
		}
	}
	return out
}

// instance is the instance of a kernel template that a launch is of, as the source spells it, where there are
// several; "" where there are not, or it is not known which.
func (s Source) instance(k *hostcode.Kernel, ran *hostrun.Launch) string {
	if ran == nil || ran.Template == nil {
		return ""
	}
	all := 0
	var fit []string
	for _, i := range hostcode.Instances(s.units...) {
		name, inside, _ := strings.Cut(strings.TrimSuffix(i.Name, ">"), "<")
		if name != k.Qualified() {
			continue
		}
		all++
		args := splitArguments(inside)
		if len(args) >= len(ran.Template) && s.sameIntegers(args, ran.Template) {
			fit = append(fit, i.Name)
		}
	}
	if all < 2 || len(fit) != 1 {
		return ""
	}
	return fit[0]
}

// first is the first kernel that is defined, as an entry is named: of a template the instance that the host's
// code launches, and without its arguments where that is not known; "" for none.
func (s Source) first() string {
	i := slices.IndexFunc(s.Kernels, func(k *hostcode.Kernel) bool { return k.Defined })
	if i < 0 {
		return ""
	}
	k := s.Kernels[i]
	return cmp.Or(s.instance(k, s.launchOf(k)), k.Qualified())
}

// sameIntegers reports whether template arguments have the integers of a launch, as far as both are known.
func (s Source) sameIntegers(args []string, template []*int64) bool {
	for i, want := range template {
		n, ok := hostcode.NumberOf(args[i], s.Constants)
		if truth, is := map[string]int64{"true": 1, "false": 0}[args[i]]; is {
			n, ok = truth, true
		}
		if ok && want != nil && n != *want {
			return false
		}
	}
	return true
}

// usedAs reports whether a kernel's text reads and writes memory through a parameter, and loads elements of
// it itself. What is not const is written, unless the text has nothing but reads of its elements.
func usedAs(k *hostcode.Kernel, i int) (read, loaded, written bool) {
	p := k.Parameters[i]
	if !strings.Contains(p.Type, "*") {
		return false, false, false
	}
	if slices.Contains(strings.Fields(p.Type), "const") {
		return true, true, false
	}
	name := regexp.QuoteMeta(p.Name)
	elements := len(regexp.MustCompile(`\b`+name+`\s*\[`).FindAllString(k.Body(), -1))
	addressed := len(regexp.MustCompile(`(?:^|[^&])&\s*`+name+`\s*\[`).FindAllString(k.Body(), -1))
	stored, assigned := false, 0
	for _, s := range k.Stores() {
		if s.Name == p.Name {
			stored = true
			if s.Op == "=" {
				assigned++
			}
		}
	}
	taken := regexp.MustCompile(`(?:(?:^|[^&])&\s*|\+\+\s*|--\s*)`+name+`\b`).MatchString(k.Body()) ||
		regexp.MustCompile(`\b`+name+`\s*\[[^\]]*\]\s*(?:\+\+|--|[|&^%]=|<<=|>>=)`).MatchString(k.Body())
	uses := len(regexp.MustCompile(`\b`+name+`\b`).FindAllString(k.Body(), -1))
	return true, elements > addressed+assigned, stored || taken || elements == 0 || uses != elements
}

// fieldsByText are the fields of a struct that the host's code passes, the parameter of an index: a kernel's
// text shows which of the pointers it writes through, nil where the host's code does not show the struct.
func fieldsByText(k *hostcode.Kernel, index int, ran *hostrun.Launch) (out []Field) {
	if ran == nil || index >= len(ran.Args) || ran.Args[index].Struct == nil {
		return nil
	}
	body := k.Body()
	for _, f := range ran.Args[index].Struct.Fields {
		p := Parameter{Name: f.Name, DType: cTypes[f.Type], Pointer: f.Pointer, Read: f.Pointer,
			Loaded: f.Pointer}
		if f.Pointer {
			p.Written = writtenField(body, f.Name[strings.LastIndexByte(f.Name, '.')+1:])
		}
		out = append(out, Field{Offset: int(f.At), Parameter: p})
	}
	return out
}

// writtenField reports whether a kernel's text assigns to elements behind a pointer of a struct, or takes the
// address of one, as atomic operations need it.
func writtenField(body, name string) bool {
	field := `(?:\.|->)\s*` + regexp.QuoteMeta(name) + `\b`
	for _, at := range regexp.MustCompile(field+`\s*\)?\s*\[`).FindAllStringIndex(body, -1) {
		depth, i := 1, at[1]
		for ; i < len(body) && depth > 0; i++ {
			switch body[i] {
			case '[':
				depth++
			case ']':
				depth--
			}
		}
		if assigns.MatchString(body[i:]) {
			return true
		}
	}
	return regexp.MustCompile(`(?:^|[^&])&\s*\w+\s*`+field).MatchString(body) ||
		regexp.MustCompile(`\batomic\w+\s*\(\s*\w+\s*`+field).MatchString(body)
}

// assigns matches what follows an element that is assigned to.
var assigns = regexp.MustCompile(`^\s*(?:\.\s*[xyzw]\s*)?(?:(?:[-+*/%&|^]|<<|>>)?=[^=]|\+\+|--)`)

// ModuleExample is a launch of an entry of which there is only PTX: its parameters have indices for names.
func ModuleExample(f *ptx.Func) *Example {
	out := exampleOf(f, Source{}.view(f), Parameters(f, Source{}))
	out.Kernel = f.Demangled
	return out
}

func signature(k *hostcode.Kernel) string {
	var list []string
	for _, p := range k.Parameters {
		list = append(list, strings.TrimSpace(p.Type+" "+p.Name))
	}
	return strings.Join(list, ", ")
}

// settled is what a manifest of the same kernel has.
func settled(f *ptx.Func, v *view, params []Parameter) *general {
	g := &general{v: v, f: f, params: params, dimOf: map[int]string{}, result: -1,
		args: make([]string, len(params)), why: make([]string, len(params))}
	g.settle()
	return g
}

// exampleOf settles block, grid and arguments as a manifest of the same kernel has them.
func exampleOf(f *ptx.Func, v *view, params []Parameter) *Example {
	g := settled(f, v, params)
	if e := g.asRan(); e != nil {
		return e
	}
	grid, threads := g.launched()
	out := &Example{Options: []string{"--grid", extent(grid).Short(), "--block", extent(g.block).Short()}}
	if g.launchedAsIs() {
		out.Line, out.Shown = v.launch.Line, slices.Clone(out.Options)
	}
	if n := g.inShape(g.dynamic()); n > 0 {
		out.Options = append(out.Options, "--shared", fmt.Sprint(n))
	}
	pairs, flags := v.attributes()
	out.Options = append(out.Options, pairs...)
	for i, p := range params {
		name := p.Name
		if name == "" {
			name = fmt.Sprint(i)
		}
		option := []string{"--arg", name + "=" + g.exampleValue(i, threads)}
		out.Options = append(out.Options, option...)
		passed := g.passedValue(i) != "" && (g.dimOf[i] == "" || g.passedExtents)
		switch known := g.passedExtents && g.why[i] == ""; {
		case !p.Pointer && p.Struct == 0 && passed && out.Line > 0:
			out.Shown = append(out.Shown, option...)
		case p.Pointer && known && strings.Contains(option[1], "=rand"):
			out.Random = append(out.Random, name)
		case !p.Pointer && !passed, p.Pointer && !known, p.Struct > 0:
			out.Guessed = append(out.Guessed, name)
		}
	}
	out.Options = append(out.Options, flags...)
	return out
}

// launchedAsIs reports whether grid and block are those that the source launches.
func (g *general) launchedAsIs() bool {
	if g.v.launch == nil || g.guessedBlock {
		return false
	}
	for _, s := range g.grid {
		known := g.passedExtents || !slices.ContainsFunc(g.dims, func(d dimension) bool {
			return regexp.MustCompile(`\b` + d.name + `\b`).MatchString(s.text)
		})
		if s.guess != "" || !known {
			return false
		}
	}
	return true
}

// launched are the blocks of the launch, and how many threads it has.
func (g *general) launched() (grid [3]int64, n int64) {
	n = g.block[0] * g.block[1] * g.block[2]
	for i := range grid {
		grid[i] = max(1, g.inShape(g.grid[i].text))
		n *= grid[i]
	}
	return grid, n
}

// exampleValue is a parameter's value as --arg has it; of memory whose extent nothing shows an element for
// each thread.
func (g *general) exampleValue(i int, threads int64) string {
	p := g.params[i]
	switch {
	case p.Struct > 0:
		grid, _ := g.launched()
		if g.argument(i).Struct != nil && (g.v.ran.Grid == nil || *g.v.ran.Grid == grid) {
			if value, _, _ := structure(g.argument(i).Struct, p.Fields); value != "" {
				return value
			}
		}
		return p.Example(1, 1)
	case p.Pointer:
		var dims []string
		for _, d := range sides(g.args[i]) {
			dims = append(dims, fmt.Sprint(max(1, g.inShape(d))))
		}
		if dims == nil {
			dims = []string{fmt.Sprint(min(threads, mostElements))}
		}
		fill := "zeros"
		if p.Loaded || !p.Written {
			fill = cmp.Or(g.left(i), strings.ReplaceAll(strings.Trim(g.before(i), `"`), " ", ""))
		}
		return fmt.Sprintf("%s:%s[%s]", fill, strings.ToLower(g.dtype(i).String()), strings.Join(dims, ","))
	case g.dimOf[i] != "":
		return fmt.Sprint(g.inShape(g.dimOf[i]))
	}
	return g.scalar(i)
}

// inShape is an expression of the manifest in its first shape; 0 where it has no value.
func (g *general) inShape(text string) int64 {
	e := hostcode.ParseExpr(text)
	if e == nil {
		return 0
	}
	divisions(e)
	n, _ := e.Eval(func(name string) *hostcode.Expr {
		for _, d := range g.dims {
			if d.name == name {
				return hostcode.ParseExpr(fmt.Sprint(d.extent))
			}
		}
		return nil
	})
	return n
}

// divisions makes the calls of div in an expression of the manifest divisions of C++.
func divisions(e *hostcode.Expr) {
	if e.Op == "call" && e.Name == "div" && len(e.Args) == 2 {
		e.Op = "/"
	}
	for _, a := range e.Args {
		divisions(a)
	}
}

// Given is what somebody has given of a launch: its grid and block, and by parameter the extents of memory
// and the values of integers, nil where none was given.
type Given struct {
	Grid, Block probes.Dim3
	Extents     [][]int
	Integers    []*int64
}

// ValuesFor are values to begin with for all parameters of an entry, which agree with what was given. Where s
// shows what the kernel computes, or a launch of it, they are those of SourceExample for this launch, else
// ExampleValues.
func ValuesFor(f *ptx.Func, s Source, given Given) []string {
	params, v, n := Parameters(f, s), s.view(f), given.threads()
	if v.kernel == nil {
		return ExampleValues(params, n)
	}
	g := settled(f, v, params)
	if g.kind == nil && v.launch == nil {
		return ExampleValues(params, n)
	}
	if r := v.ran; r != nil && r.Grid != nil && r.Block != nil && extent(*r.Grid) == given.Grid &&
		extent(*r.Block) == given.Block {
		if e := g.asRan(); e != nil {
			return e.values(len(params))
		}
	}
	g.fit(given)
	out := make([]string, len(params))
	for i := range params {
		out[i] = g.exampleValue(i, n)
	}
	return out
}

// values are those of the last so many arguments.
func (e *Example) values(n int) (out []string) {
	options := slices.DeleteFunc(slices.Clone(e.Options), func(w string) bool { return w == "--cooperative" })
	for i := len(options) - 2*n + 1; i < len(options); i += 2 {
		_, value, _ := strings.Cut(options[i], "=")
		out = append(out, value)
	}
	return out
}

// threads is how many threads are launched.
func (g *Given) threads() int64 {
	n := int64(1)
	for _, d := range []probes.Dim3{g.Grid, g.Block} {
		for _, x := range d {
			n = min(n*int64(max(1, x)), math.MaxInt32)
		}
	}
	return n
}

// fit gives the dimensions the extents that follow from what was given: integers that are passed and extents
// of memory first, then what the grid covers.
func (g *general) fit(given Given) {
	for i, n := range given.Block {
		if s := &g.grid[i]; s.tile == g.block[i] && s.tile != int64(n) {
			if s.text == fmt.Sprintf("ceil_div(%s, %d)", s.extent, s.tile) {
				s.text = fmt.Sprintf("ceil_div(%s, %d)", s.extent, n)
			}
			s.tile = int64(n)
		}
		g.block[i] = int64(n)
	}
	if grid, _ := g.launched(); !g.passedExtents || extent(grid) != given.Grid {
		g.passedExtents = false // it is not as the source launches it
		g.extents()
	}
	known := map[string]bool{}
	set := func(name string, n int64) {
		for i := range g.dims {
			if g.dims[i].name == name && !known[name] && n > 0 {
				g.dims[i].extent, known[name] = n, true
			}
		}
	}
	for i, n := range given.Integers {
		if n != nil {
			set(g.dimOf[i], *n)
		}
	}
	for i, dims := range given.Extents {
		list := sides(g.args[i])
		for k := 0; k < len(dims) && len(dims) == len(list); k++ {
			set(list[k], int64(dims[k]))
		}
	}
	for i, side := range g.grid {
		if g.inShape(side.text) != int64(given.Grid[i]) {
			set(side.extent, int64(given.Grid[i])*max(1, side.tile))
		}
	}
}

// take gives the manifest the extents of a launch. Where what is guessed of the kernel does not agree with
// it, nothing is guessed of what it computes.
func (g *general) take(l *Launch) {
	given := Given{Grid: l.Grid, Block: l.Block, Extents: make([][]int, len(g.params)),
		Integers: make([]*int64, len(g.params))}
	if len(l.Args) != len(g.params) { // there is memory behind a struct or a tensor map
		g.kind = nil
		return
	}
	for i, a := range l.Args {
		given.Extents[i] = a.Dims
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			given.Integers[i] = &n
		}
	}
	g.guessedBlock = false
	g.fit(given)
	g.given = l
	grid, _ := g.launched()
	agrees := extent(grid) == l.Grid && extent(g.block) == l.Block
	for i, a := range l.Args {
		var dims []int
		for _, side := range sides(g.args[i]) {
			dims = append(dims, int(g.inShape(side)))
		}
		if g.params[i].Pointer {
			agrees = agrees && g.dtype(i) == a.DType && slices.Equal(dims, a.Dims)
		} else if d := g.dimOf[i]; d != "" {
			agrees = agrees && fmt.Sprint(g.inShape(d)) == a.Value
		}
	}
	if !agrees {
		g.kind = nil
	}
}

// mostElements is how many elements a buffer of an example has at most.
const mostElements = 1 << 20

// ExampleValues are values to begin with for the parameters of a kernel that so many threads execute: as many
// elements in each buffer, and one side of a square of them for each number, where there are several.
func ExampleValues(params []Parameter, threads int64) (out []string) {
	n := int(max(1, min(threads, mostElements)))
	numbers := 0
	for _, p := range params {
		if !p.Pointer && !p.DType.Float() {
			numbers++
		}
	}
	side := n
	if numbers > 1 {
		for side = 1; (side+1)*(side+1) <= n; {
			side++
		}
	}
	for _, p := range params {
		out = append(out, p.Example(n, side))
	}
	return out
}

// threadName is a variable that has a thread's index.
var threadName = regexp.MustCompile(`\b(\w+)\s*=\s*threadIdx\.x\s*;`)

// cellsOfThreads is the length of a shared array that has a cell for each thread, s[threadIdx.x], 0 where
// there is none.
func (g *general) cellsOfThreads() int64 {
	if g.v.kernel == nil {
		return 0
	}
	body := g.v.kernel.Body()
	index := []string{`threadIdx\.x`}
	for _, m := range threadName.FindAllStringSubmatch(body, -1) {
		index = append(index, m[1])
	}
	for _, s := range g.v.source.Shared {
		if len(s.Dims) != 1 {
			continue
		}
		own := regexp.MustCompile(`\b` + regexp.QuoteMeta(s.Name) + `\s*\[\s*(` + strings.Join(index, "|") +
			`)\s*\]\s*=[^=]`)
		if n, ok := g.v.eval(s.Dims[0]); ok && n > 0 && n <= 1024 && own.MatchString(body) {
			return n
		}
	}
	return 0
}

// extent is a grid or a block as plans have it.
func extent(d [3]int64) probes.Dim3 { return probes.Dim3{int(d[0]), int(d[1]), int(d[2])} }

// Example is a value to begin with, as --arg has it: of a pointer so many elements, of a number its value.
func (p Parameter) Example(elements, number int) string {
	dtype := p.DType
	switch {
	case p.Struct > 0 && p.Fields == nil:
		return "{0: 0:u8}"
	case p.Struct > 0:
		var list []string
		for _, f := range p.Fields {
			list = append(list, fmt.Sprintf("%d: %s", f.Offset, f.example()))
		}
		return "{" + strings.Join(list, ", ") + "}"
	case !p.Pointer && dtype.Float():
		return "1"
	case !p.Pointer:
		return fmt.Sprint(number)
	case dtype == 0:
		dtype = probes.F32
	}
	fill := "zeros"
	if (p.Loaded || !p.Written) && dtype.Float() {
		fill = "randn"
	}
	return fmt.Sprintf("%s:%s[%d]", fill, strings.ToLower(dtype.String()), elements)
}
