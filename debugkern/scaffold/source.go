package scaffold

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/hostrun"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Source is what the text of a CUDA source shows of its kernels and their launches. The zero value is that of
// PTX alone.
type Source struct {
	units     []*hostcode.Unit
	Kernels   []*hostcode.Kernel
	Launches  []hostcode.Launch
	Constants []hostcode.Constant
	Shared    []hostcode.SharedArray
	structs   []string                // names of the structs that it defines
	aliases   map[string]string       // types by the other names that it gives them
	runs      func() []hostrun.Launch // what executing the host's code shows, nil where there is none
}

// SourceOf is what the units of a translation unit show: a source, then headers. Of none it
// is the zero Source.
func SourceOf(units ...*hostcode.Unit) Source {
	return Source{
		units: units, Kernels: hostcode.Kernels(units...), Launches: hostcode.Launches(units...),
		Constants: hostcode.Constants(units...), Shared: hostcode.SharedArrays(units...),
		structs: hostcode.Structs(units...), aliases: hostcode.Aliases(units...),
		runs: sync.OnceValue(func() []hostrun.Launch { return hostrun.Run(units...) }),
	}
}

// asWritten is a source of which nothing is executed: enough for what a kernel's own text shows.
func (s Source) asWritten() Source {
	s.runs = nil
	return s
}

// place is where a constant is defined: its line, and its file where that is a header.
func (s Source) place(c hostcode.Constant) string {
	if len(s.units) == 0 || c.Unit == s.units[0].Name {
		return fmt.Sprintf("line %d", c.Line)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(c.Unit), c.Line)
}

// view is what the source shows of one entry.
type view struct {
	source Source
	kernel *hostcode.Kernel // nil: it is not there, or a macro makes it
	launch *hostcode.Launch
	ran    *hostrun.Launch   // the same launch as executing the host's code reaches it; nil where it does not
	bound  map[string]string // values of the kernel's template parameters
	inside *hostrun.Inside   // nil until an expression needs it
	locals map[string]string // of the kernel
	listed map[string]int64  // constants of the manifest, and their values
}

// view finds an entry in the source.
func (s Source) view(f *ptx.Func) *view {
	full := ptx.TemplateName(f.Name)
	name, args, _ := strings.Cut(strings.TrimSuffix(full, ">"), "<")
	var found *hostcode.Kernel
	for _, k := range s.Kernels {
		if k.Name == f.Demangled || k.Qualified() == name {
			if found == nil || len(k.Parameters) == len(f.Params) &&
				len(found.Parameters) != len(f.Params) {
				found = k
			}
		}
	}
	return s.viewOf(found, args)
}

// viewOf is what the source shows of a kernel, nil where it has none, with these template arguments.
func (s Source) viewOf(k *hostcode.Kernel, args string) *view {
	v := &view{
		source: s, kernel: k, bound: map[string]string{}, locals: map[string]string{},
		listed: map[string]int64{},
	}
	if k == nil {
		return v
	}
	for i, a := range splitArguments(args) {
		if i < len(v.kernel.Template) {
			v.bound[v.kernel.Template[i].Name] = a
		}
	}
	for _, t := range v.kernel.Template {
		if _, given := v.bound[t.Name]; !given && t.Default != "" {
			v.bound[t.Name] = t.Default
		}
	}
	v.locals = v.kernel.Locals()
	for i, l := range s.Launches {
		if l.Kernel[strings.LastIndexByte(l.Kernel, ':')+1:] == v.kernel.Name &&
			len(l.Args) == len(v.kernel.Parameters) {
			v.launch = &s.Launches[i]
			break
		}
	}
	v.follow()
	if args == "" && v.launch != nil {
		v.bindLaunched()
	}
	return v
}

// bindLaunched gives the kernel's template parameters the arguments of the launch, but for those that are
// parameters of the template that launches.
func (v *view) bindLaunched() {
	l := v.launch
	for i, a := range l.Template {
		open := slices.ContainsFunc(l.Params, func(p hostcode.Parameter) bool { return p.Name == a })
		if value, ok := l.Locals[a]; ok {
			a = value
		}
		if i < len(v.kernel.Template) && !open {
			v.bound[v.kernel.Template[i].Name] = a
		}
	}
}

// splitArguments cuts "64,std::pair<a,b>" at its outer commas.
func splitArguments(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

// value is the value of a name in a kernel: of its template, its own constants, the file's.
func (v *view) value(name string) *hostcode.Expr {
	name = name[strings.LastIndexByte(name, ':')+1:]
	for _, m := range []map[string]string{v.bound, v.locals} {
		if text, ok := m[name]; ok {
			return hostcode.ParseExpr(text)
		}
	}
	return v.constant(name)
}

// constant is the value of a name at namespace scope, or in the manifest where the source has none.
func (v *view) constant(name string) *hostcode.Expr {
	i := slices.IndexFunc(v.source.Constants, func(c hostcode.Constant) bool { return c.Name == name })
	if i >= 0 {
		return hostcode.ParseExpr(v.source.Constants[i].Value)
	}
	if n, ok := v.listed[name]; ok {
		return hostcode.ParseExpr(strconv.FormatInt(n, 10))
	}
	return nil
}

// eval is the value of an expression in the kernel.
func (v *view) eval(text string) (int64, bool) {
	if n, ok := hostcode.ParseExpr(text).Eval(v.value); ok {
		return n, true
	}
	if v.kernel == nil || v.source.units == nil || !strings.Contains(text, "::") {
		return 0, false
	}
	if v.inside == nil { // a constant of a type: T::kLd
		v.inside = hostrun.InsideKernel(v.kernel, v.bound, v.source.units...)
	}
	return v.inside.Int(text)
}

// sharedArray is a shared array as the source declares it.
type sharedArray struct {
	dtype probes.DType
	dims  []int
	sides []string // the same extents as the manifest has them: constants that it lists, or numbers
}

// sharedArray is the declaration of a shared array that comes to so many bytes; nil where there is none, or
// two that differ. An extent that the launch gives is what is left of the bytes.
func (v *view) sharedArray(name string, bytes int) (a *sharedArray) {
	for _, s := range v.source.Shared {
		if s.Name != name {
			continue
		}
		d := v.declared(s, bytes)
		if d == nil {
			continue
		}
		if a != nil && (a.dtype != d.dtype || !slices.Equal(a.dims, d.dims)) {
			return nil
		}
		a = d
	}
	return a
}

// declared is a declaration with its extents evaluated; nil where it is not understood, or
// comes to other bytes.
func (v *view) declared(s hostcode.SharedArray, bytes int) *sharedArray {
	d := &sharedArray{dtype: cTypes[v.resolve(s.Type)]}
	if d.dtype == 0 {
		return nil
	}
	n, open := d.dtype.Size(), -1
	for i, side := range s.Dims {
		if side == "" && open < 0 {
			open = i
			d.dims, d.sides = append(d.dims, 1), append(d.sides, "")
			continue
		}
		x, ok := v.eval(side)
		if !ok || x <= 0 || x > int64(bytes/n) {
			return nil
		}
		n *= int(x)
		d.dims, d.sides = append(d.dims, int(x)), append(d.sides, v.spelled(side, x))
	}
	if open >= 0 && bytes > 0 && bytes%n == 0 {
		d.dims[open], d.sides[open] = bytes/n, strconv.Itoa(bytes/n)
		n = bytes
	}
	if n != bytes {
		return nil
	}
	return d
}

var typeWord = regexp.MustCompile(`[A-Za-z_]\w*`)

// spelled is an extent as the manifest has it: a constant that it lists with this value, or a number.
func (v *view) spelled(side string, n int64) string {
	if x, ok := v.listed[side]; ok && x == n {
		return side
	}
	return strconv.FormatInt(n, 10)
}

// resolve replaces the kernel's template types in a type, and other names of element types, and leaves out
// qualifiers.
func (v *view) resolve(kind string) string {
	kind = typeWord.ReplaceAllStringFunc(qualifier.ReplaceAllString(kind, " "), func(w string) string {
		if b, ok := v.bound[w]; ok {
			w = b
		}
		if of := v.source.aliases[w]; cTypes[of] != 0 && cTypes[w] == 0 {
			return of
		}
		return w
	})
	return strings.Join(strings.Fields(strings.ReplaceAll(kind, "extern", " ")), " ")
}
