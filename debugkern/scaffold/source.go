package scaffold

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
)

// Source is what the text of a CUDA source shows of its kernels and their launches. The zero value is that of
// PTX alone.
type Source struct {
	Text      string
	Kernels   []*hostcode.Kernel
	Launches  []hostcode.Launch
	Constants []hostcode.Constant
	Shared    []hostcode.SharedArray
}

// ReadSource reads a source, and the user's headers that it includes, by name.
func ReadSource(name, text string) Source {
	u := hostcode.Read(name, []byte(text))
	return Source{
		Text: text, Kernels: hostcode.Kernels(u), Launches: hostcode.Launches(u),
		Constants: hostcode.Constants(u), Shared: hostcode.SharedArrays(u),
	}
}

// view is what the source shows of one entry.
type view struct {
	source Source
	kernel *hostcode.Kernel // nil: it is not there, or a macro makes it
	launch *hostcode.Launch
	bound  map[string]string // values of the kernel's template parameters
	locals map[string]string // of the kernel
	listed []string          // constants of the manifest
}

// view finds an entry in the source.
func (s Source) view(f *ptx.Func) *view {
	v := &view{source: s, bound: map[string]string{}, locals: map[string]string{}}
	full := ptx.TemplateName(f.Name)
	name, args, _ := strings.Cut(strings.TrimSuffix(full, ">"), "<")
	for _, k := range s.Kernels {
		if k.Name == f.Demangled || k.Qualified() == name {
			if v.kernel == nil || len(k.Parameters) == len(f.Params) &&
				len(v.kernel.Parameters) != len(f.Params) {
				v.kernel = k
			}
		}
	}
	if v.kernel == nil {
		return v
	}
	for i, a := range splitArguments(args) {
		if i < len(v.kernel.Template) {
			v.bound[v.kernel.Template[i].Name] = a
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
	return v
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

// constant is the value of a name at namespace scope.
func (v *view) constant(name string) *hostcode.Expr {
	i := slices.IndexFunc(v.source.Constants, func(c hostcode.Constant) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return hostcode.ParseExpr(v.source.Constants[i].Value)
}

// eval is the value of an expression in the kernel.
func (v *view) eval(text string) (int64, bool) { return hostcode.ParseExpr(text).Eval(v.value) }

// sharedArray is the declaration of a shared array that comes to so many bytes, with its extents as numbers;
// nil where there is none, or two that differ.
func (v *view) sharedArray(name string, bytes int) (a *sharedArray) {
	for _, s := range v.source.Shared {
		if s.Name != name {
			continue
		}
		kind := v.resolve(s.Type)
		d := &sharedArray{dtype: cTypes[kind]}
		if d.dtype == 0 {
			continue
		}
		n := d.dtype.Size()
		for _, side := range s.Dims {
			x, ok := v.eval(side)
			if !ok || x <= 0 || x > 1<<24 {
				n = -1
				break
			}
			n *= int(x)
			d.sides = append(d.sides, v.spelled(side, x))
		}
		if n != bytes {
			continue
		}
		if a != nil && (a.dtype != d.dtype || !slices.Equal(a.sides, d.sides)) {
			return nil
		}
		a = d
	}
	return a
}

var typeWord = regexp.MustCompile(`[A-Za-z_]\w*`)

// spelled is an extent as the manifest has it: a constant that it lists, or a number.
func (v *view) spelled(side string, n int64) string {
	if slices.Contains(v.listed, side) {
		return side
	}
	return strconv.FormatInt(n, 10)
}

// resolve replaces the kernel's template types in a type, and leaves out qualifiers.
func (v *view) resolve(kind string) string {
	kind = typeWord.ReplaceAllStringFunc(qualifier.ReplaceAllString(kind, " "), func(w string) string {
		if b, ok := v.bound[w]; ok {
			return b
		}
		return w
	})
	return strings.Join(strings.Fields(strings.ReplaceAll(kind, "extern", " ")), " ")
}
