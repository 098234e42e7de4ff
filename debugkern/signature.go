package debugkern

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/build"
	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// A signature compares the parameters of a kernel's entry with the arguments that it is launched with: those
// of a manifest, or of the command line.
type signature struct {
	file    string // of the kernel, as the user named it
	lists   string // what lists the arguments: "mm.yaml"; "" where the command line does
	entry   *ptx.Func
	kernel  *hostcode.Kernel // as the source declares it; nil where that is not known
	now     []scaffold.Parameter
	sizes   []int // bytes of each
	planned []probes.Arg
	address int // bytes of one
}

// agreeEntry refuses a build whose entry is not there, or takes other parameters than the plan has arguments.
// The error is at the kernel's line of the source, and says what to write.
func (r *resolved) agreeEntry(b *build.Build) error {
	err := r.entryError(b)
	if err == nil {
		return nil
	}
	out := &report.KernelError{Stage: "load", Err: err}
	var other *signatureError
	if errors.As(err, &other) && other.kernel != nil {
		out.Source = &report.Source{File: other.kernel.Unit, Line: other.kernel.Line}
	}
	return out
}

// signatureError is a kernel whose parameters are other ones than its launch has.
type signatureError struct {
	text   string
	kernel *hostcode.Kernel
}

func (e *signatureError) Error() string { return e.text }

func (r *resolved) entryError(b *build.Build) error {
	m, p := b.Module, r.plan
	man := r.sel.Manifest
	file := cmp.Or(man.Source, man.PTX)
	entry := m.Func(p.Entry)
	if entry != nil && entry.Entry {
		s := r.signatureOf(b, file, entry)
		if s.fits() || m.AddressSize != 64 { // such a module is refused where it is loaded, for its addresses
			return nil
		}
		return s.error(false)
	}
	var names []string
	for _, e := range m.Entries() {
		names = append(names, ptx.TemplateName(e.Name))
	}
	base, _, _ := strings.Cut(ptx.TemplateName(p.Entry), "<")
	if found := build.Kernels(m, base); len(found) == 1 {
		return r.signatureOf(b, file, found[0]).error(true)
	}
	has := fmt.Sprintf("%s has no kernel %s (it has %s)", file, base,
		cmp.Or(strings.Join(names, ", "), "none"))
	if lists := listing(r.sel.Manifest); lists != "" && names != nil {
		return fmt.Errorf("%s; `entry: NAME` in %s chooses one", has, lists)
	}
	return errors.New(has)
}

// listing is the file that lists a kernel's arguments, "" where the command line gives them.
func listing(m *configs.Manifest) string {
	if ext := filepath.Ext(m.File); ext == ".yaml" || ext == ".yml" {
		return filepath.Base(m.File)
	}
	return ""
}

func (r *resolved) signatureOf(b *build.Build, file string, entry *ptx.Func) *signature {
	s := &signature{
		file: file, entry: entry,
		now:     scaffold.Parameters(entry, scaffold.Source{Kernels: b.Outline.AllKernels()}),
		planned: r.plan.Parameters(), address: b.Module.AddressSize / 8, lists: listing(r.sel.Manifest),
	}
	for _, v := range entry.Params {
		s.sizes = append(s.sizes, int(v.Size))
	}
	name, _, _ := strings.Cut(ptx.TemplateName(entry.Name), "<")
	for _, k := range b.Outline.AllKernels() {
		if k.Qualified() == name && (s.kernel == nil || len(k.Parameters) == len(s.now)) {
			s.kernel = k
		}
	}
	s.dropControl()
	return s
}

// dropControl leaves the control block out, which the parameters of a build with probes end with. A pointer
// that the source itself declares there is a parameter.
func (s *signature) dropControl() {
	n := len(s.now) - 1
	if n != len(s.planned) || s.sizes[n] != 8 ||
		s.kernel != nil && len(s.kernel.Parameters) > n &&
			!strings.Contains(s.kernel.Parameters[n].Type, "ts_control") {
		return
	}
	s.now, s.sizes = s.now[:n], s.sizes[:n]
}

// fits reports whether each parameter has as many bytes as its argument.
func (s *signature) fits() bool {
	if len(s.now) != len(s.planned) {
		return false
	}
	for i, a := range s.planned {
		if s.sizes[i] != a.Bytes(s.address) {
			return false
		}
	}
	return true
}

// error says which parameters are new, gone, renamed or of another size, and what to write. renamed: the
// entry's name in the PTX, which is made of its types, is another one too.
func (s *signature) error(renamed bool) error {
	changes, todo := s.changes()
	if changes == nil {
		changes = []string{"its types are others"}
		if names := s.reordered(); names != "" {
			changes = []string{"they stand in another order: " + names}
			if s.lists != "" {
				todo = append(todo, "list args in that order")
			}
		}
	}
	than, at := "it is launched with", ""
	if s.lists != "" {
		than, at = s.lists+" lists", "in "+s.lists+" "
		if renamed {
			todo = append(todo, "write `entry: "+s.entry.Demangled+"`, which goes with any parameters")
		}
	} else {
		todo = append(todo, "`:open "+text.Shell(s.file)+"` in the terminal proposes the whole launch")
	}
	what := ""
	if len(todo) > 0 {
		what = "; " + at + strings.Join(todo, "; ")
	}
	return &signatureError{fmt.Sprintf("%s of %s has other parameters than %s: %s%s", s.entry.Demangled,
		s.file, than, strings.Join(changes, ", "), what), s.kernel}
}

// reordered lists the parameters where they have the names of the arguments in another order; else "".
func (s *signature) reordered() string {
	var now, planned []string
	for _, p := range s.now {
		now = append(now, p.Name)
	}
	for _, a := range s.planned {
		planned = append(planned, a.Name)
	}
	if slices.Equal(now, planned) || !slices.Equal(slices.Sorted(slices.Values(now)),
		slices.Sorted(slices.Values(planned))) {
		return ""
	}
	return strings.Join(now, ", ")
}

// changes compares parameters and arguments by name, where the source is known, and says what to write.
func (s *signature) changes() (changes, todo []string) {
	if slices.ContainsFunc(s.now, func(p scaffold.Parameter) bool { return p.Name == "" }) {
		for i, a := range s.planned {
			if want := a.Bytes(s.address); len(s.now) == len(s.planned) && s.sizes[i] != want {
				return []string{fmt.Sprintf("parameter %d has %d bytes, its argument %s %d", i, s.sizes[i],
					a.Name, want)}, nil
			}
		}
		return []string{fmt.Sprintf("it takes %d, and %d are given", len(s.now), len(s.planned))}, nil
	}
	planned := func(name string) int {
		return slices.IndexFunc(s.planned, func(a probes.Arg) bool { return a.Name == name })
	}
	for i, p := range s.now {
		switch at := planned(p.Name); {
		case at >= 0 && s.sizes[i] != s.planned[at].Bytes(s.address):
			if i == at { // else it is their order that differs
				changes = append(changes, fmt.Sprintf("%s has %d bytes, its argument %d", s.title(i),
					s.sizes[i], s.planned[at].Bytes(s.address)))
				if s.lists != "" {
					todo = append(todo, "give "+p.Name+" the type that it has now")
				}
			}
		case at >= 0:
		case i < len(s.planned) && s.gone(i) && s.sizes[i] == s.planned[i].Bytes(s.address):
			changes = append(changes, fmt.Sprintf("%s is now %s", s.planned[i].Name, s.title(i)))
			todo = append(todo, s.rename(i))
		default:
			changes = append(changes, s.title(i)+" is new")
			todo = append(todo, s.add(i))
		}
	}
	for i, a := range s.planned {
		renamed := i < len(s.now) && planned(s.now[i].Name) < 0 && s.sizes[i] == a.Bytes(s.address)
		if s.gone(i) && !renamed {
			changes = append(changes, a.Name+" is gone")
			todo = append(todo, s.remove(a.Name))
		}
	}
	return changes, todo
}

// gone reports whether no parameter has the name of an argument.
func (s *signature) gone(i int) bool {
	return !slices.ContainsFunc(s.now, func(p scaffold.Parameter) bool { return p.Name == s.planned[i].Name })
}

// title is a parameter with its place and type: "causal (6, int)".
func (s *signature) title(i int) string {
	kind := s.kind(i)
	if s.kernel != nil && i < len(s.kernel.Parameters) {
		kind = strings.TrimSpace(s.kernel.Parameters[i].Type)
	}
	return fmt.Sprintf("%s (%d, %s)", s.now[i].Name, i, kind)
}

// kind is a parameter's type as a manifest has it.
func (s *signature) kind(i int) string {
	p := s.now[i]
	name := strings.ToLower(p.DType.String())
	switch {
	case p.Struct > 0:
		return fmt.Sprintf("struct{%d}", p.Struct)
	case s.scalar(i):
		return cmp.Or(name, fmt.Sprintf("u%d", 8*s.sizes[i]))
	case p.DType == 0:
		name = "f32"
	}
	return name + "*"
}

// scalar reports whether a parameter is a number, by its declaration where there is one: what the kernel does
// not use may be a pointer by the PTX.
func (s *signature) scalar(i int) bool {
	if s.kernel != nil && i < len(s.kernel.Parameters) {
		return !strings.Contains(s.kernel.Parameters[i].Type, "*") && s.now[i].Struct == 0
	}
	return !s.now[i].Pointer
}

func (s *signature) rename(i int) string {
	if s.lists != "" {
		return fmt.Sprintf("rename %s in args to %s", s.planned[i].Name, s.now[i].Name)
	}
	return fmt.Sprintf("give --arg %s=VALUE for --arg %s=VALUE", s.now[i].Name, s.planned[i].Name)
}

func (s *signature) remove(name string) string {
	if s.lists != "" {
		return "remove " + name + " from args"
	}
	return "leave --arg " + name + "=VALUE out"
}

// add is what a new parameter is given by, with a value to begin with.
func (s *signature) add(i int) string {
	p := s.now[i]
	p.Pointer = p.Pointer && !s.scalar(i)
	if s.lists == "" {
		return "add " + text.CommandLine([]string{"--arg", p.Name + "=" + p.Example(1, 1)})
	}
	value := "value: 1"
	switch {
	case p.Struct > 0:
		value = "fields: {}"
	case p.Pointer && p.Written:
		value = "dims: [1], role: inout"
	case p.Pointer:
		value = "dims: [1], role: input"
	}
	at := "as the first of args"
	if i > 0 {
		at = "to args, behind " + s.now[i-1].Name
	}
	return fmt.Sprintf("add `- {name: %s, type: %q, %s}` %s", p.Name, s.kind(i), value, at)
}
