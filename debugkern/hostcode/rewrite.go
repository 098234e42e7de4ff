package hostcode

import (
	"bytes"
	"slices"
	"strings"
)

// edit replaces a part of a text.
type edit struct {
	start, end int
	text       string // blanks where it is ""
}

// rewrite makes each unit's text: the declarations that device code needs, blanks for the rest. Where nothing
// is the host's, declarations that no kernel needs stay: only constexpr functions are marked.
func (x *extraction) rewrite() {
	var all []*rewriter
	for _, u := range x.units {
		w := &rewriter{x: x, u: u}
		all = append(all, w)
		for _, d := range u.decls {
			if d.keep || d.form == assertion && x.sound(d) {
				w.mark(d)
				w.members(d)
			} else {
				w.blank(d)
			}
		}
	}
	code := x.result.Host
	for _, w := range all {
		for _, inc := range w.u.includes {
			w.include(inc, code)
		}
	}
	for _, w := range all {
		if !x.result.Host {
			w.edits = slices.DeleteFunc(w.edits, func(e edit) bool { return e.start < e.end })
			w.blanked = nil
		}
		slices.SortStableFunc(w.blanked, func(a, b Blanked) int { return a.Line - b.Line })
		x.result.Blanked = append(x.result.Blanked, w.blanked...)
		if len(w.edits) > 0 {
			x.result.Texts[w.u.Name] = w.apply()
		}
	}
}

type rewriter struct {
	x     *extraction
	u     *Unit
	edits []edit

	blanked []Blanked
}

const both = "__host__ __device__ "

// mark makes a constexpr function, which nvcc takes in device code as it is, the device's.
func (w *rewriter) mark(d *decl) {
	if d.form == function && !w.x.device(d) && w.x.constant(d) {
		at := w.u.code[d.head].start
		w.edits = append(w.edits, edit{at, at, both})
	}
}

// members blanks the host's functions of a class, and marks the constexpr ones.
func (w *rewriter) members(d *decl) {
	for _, m := range d.members {
		if w.x.hostMember(m) {
			w.blank(m)
			continue
		}
		w.mark(m)
		w.members(m)
	}
}

var formNames = map[form]string{
	function: "function", variable: "variable", class: "type", alias: "name", using: "name",
	usingNamespace: "using namespace",
	instantiation:  "instantiation", invocation: "macro", assertion: "static_assert", other: "declaration",
}

// blank overwrites a declaration, without the preprocessor lines within.
func (w *rewriter) blank(d *decl) {
	u := w.u
	if d.from >= d.to || d.to > len(u.code) {
		return
	}
	start, end := u.code[d.from].start, u.code[d.to-1].end
	from, _ := slices.BinarySearchFunc(u.tokens, start, func(t token, at int) int { return t.start - at })
	for _, t := range u.tokens[from:] {
		if t.start >= end {
			break
		}
		if t.kind == directive && !isPragma(u.words(t)) {
			w.cut(start, t.start)
			start = t.end
		}
	}
	w.cut(start, end)
	name := ""
	if len(d.names) > 0 {
		name = d.names[0]
	}
	w.blanked = append(w.blanked, Blanked{u.Name, formNames[d.form], name, u.beginning(d.from, d.to),
		u.line(u.code[d.from].start), u.line(end - 1)})
	if w.x.isHost(d) {
		w.x.result.Host = true
	}
}

func isPragma(words []string) bool { return len(words) > 0 && words[0] == "pragma" }

func (w *rewriter) cut(start, end int) {
	if start < end {
		w.edits = append(w.edits, edit{start, end, ""})
	}
}

// isHost reports what only a compiler of host code takes; an unused device function or a type are none.
func (x *extraction) isHost(d *decl) bool {
	switch d.form {
	case function:
		return !x.device(d) && !x.constant(d)
	case variable:
		return !x.device(d) && !x.constant(d)
	case invocation:
		return true
	case instantiation:
		return d.params >= 0
	}
	return false
}

// include blanks a header of the host's, and has the shim read in its place. One that is found nowhere and
// is not a known host header stays for the compiler to report, unless there is host code that may need it.
func (w *rewriter) include(inc *include, code bool) {
	origin := Missing
	if w.x.options.Find != nil && inc.name != "" {
		origin = w.x.options.Find(inc.name, inc.angled)
	}
	if inc.name == "" || origin != Missing && !(origin == Toolkit && hostOnly(inc.name)) {
		return
	}
	if origin == Missing && !code && !hostHeader(inc.name) {
		return
	}
	line := w.u.text[inc.token.start:inc.token.end]
	text := ""
	shim := w.x.options.Shim
	if l := LibraryOf(inc.name); l != nil && w.x.options.Standins[l.Name] != "" {
		shim = w.x.options.Standins[l.Name]
	}
	if shim != "" {
		text = "#include <" + shim + ">" + strings.Repeat("\n", bytes.Count(line, []byte("\n")))
	}
	w.edits = append(w.edits, edit{inc.token.start, inc.token.end, text})
	w.blanked = append(w.blanked, Blanked{w.u.Name, "include", inc.name, inc.name,
		w.u.line(inc.token.start), w.u.line(inc.token.end - 1)})
	w.x.result.Host = true
}

// apply makes the text: what is blanked keeps its ends of lines.
func (w *rewriter) apply() []byte {
	slices.SortStableFunc(w.edits, func(a, b edit) int { return a.start - b.start })
	out := make([]byte, 0, len(w.u.text)+64)
	pos := 0
	for _, e := range w.edits {
		if e.start < pos {
			continue // within what is blanked already
		}
		out = append(out, w.u.text[pos:e.start]...)
		if e.text != "" {
			out = append(out, e.text...)
		} else {
			for _, c := range w.u.text[e.start:e.end] {
				if c != '\n' && c != '\r' && c != '\t' {
					c = ' '
				}
				out = append(out, c)
			}
		}
		pos = e.end
	}
	return append(out, w.u.text[pos:]...)
}

// Library is a library for host code, or one that a compiler of device code has to be given.
type Library struct {
	Name   string
	device bool     // it has code for the device
	Prefix []string // of its headers
	Spaces []string // its namespaces, and beginnings of its names
	Advice string   // where the device's part needs it
}

// Libraries are those whose headers sources include.
var Libraries = []Library{
	{Name: "PyTorch", Prefix: []string{"torch/", "ATen/", "c10/", "pybind11/", "Python.h"},
		Spaces: []string{"torch", "at", "c10", "pybind11", "py"},
		Advice: "take it out of the kernel, or compile with nvcc and the include directories of PyTorch (-I)"},
	{Name: "Thrust", Prefix: []string{"thrust/"}, Spaces: []string{"thrust"},
		Advice: "it is in nvidia-cuda-cccl: give its directory with -I"},
	{Name: "CUB", device: true, Prefix: []string{"cub/"}, Spaces: []string{"cub"},
		Advice: "it is in nvidia-cuda-cccl: give its directory with -I"},
	{Name: "libcu++", device: true, Prefix: []string{"cuda/"}, Spaces: []string{"cuda"},
		Advice: "it is in nvidia-cuda-cccl: give its directory with -I"},
	{Name: "CUTLASS", device: true, Prefix: []string{"cutlass/", "cute/"},
		Spaces: []string{"cutlass", "cute"}, Advice: "give the directory of its headers with -I"},
	{Name: "cuRAND", device: true, Prefix: []string{"curand"}, Spaces: []string{"curand"},
		Advice: "it is in nvidia-curand: give its directory with -I"},
	{Name: "cuBLAS", Prefix: []string{"cublas"}, Spaces: []string{"cublas"}},
	{Name: "cuDNN", Prefix: []string{"cudnn"}, Spaces: []string{"cudnn"}},
	{Name: "cuFFT", Prefix: []string{"cufft"}, Spaces: []string{"cufft"}},
	{Name: "cuSPARSE", Prefix: []string{"cusparse"}, Spaces: []string{"cusparse"}},
	{Name: "cuSOLVER", Prefix: []string{"cusolver"}, Spaces: []string{"cusolver"}},
	{Name: "NCCL", Prefix: []string{"nccl"}, Spaces: []string{"nccl"}},
	{Name: "the driver API", Prefix: []string{"cuda.h", "cudaTypedefs.h", "cudaProfiler.h", "nvrtc.h",
		"cuda_profiler_api.h", "cuda_runtime_api.h", "cuda_occupancy.h"},
		Spaces: []string{"CU", "cu"}},
}

// LibraryOf returns the library that a header belongs to, nil where it is none of them.
func LibraryOf(header string) *Library {
	i := slices.IndexFunc(Libraries, func(l Library) bool {
		return slices.ContainsFunc(l.Prefix, func(p string) bool { return strings.HasPrefix(header, p) })
	})
	if i < 0 {
		return nil
	}
	return &Libraries[i]
}

// Declares reports whether a name is a namespace of the library's, or begins as its names do.
func (l *Library) Declares(name string) bool {
	return slices.ContainsFunc(l.Spaces, func(s string) bool {
		return name == s || len(s) > 2 && strings.HasPrefix(name, s) || s == "CU" &&
			strings.HasPrefix(name, s)
	})
}

// hostHeaders are headers of C, POSIX and CUDA's samples that have a dot; those of C++ have none.
var hostHeaders = []string{"sys/", "unistd.h", "getopt.h", "omp.h", "mpi.h", "errno.h", "time.h", "signal.h",
	"ctype.h", "inttypes.h", "locale.h", "pthread.h",
	"stdarg.h", "stdbool.h", "dlfcn.h", "fcntl.h", "helper_", "exception.h", "gtest/", "benchmark/",
	"windows.h", "Windows.h"}

// hostHeader reports a header that is known to be for host code.
func hostHeader(name string) bool {
	return LibraryOf(name) != nil || !strings.Contains(name, ".") && !strings.Contains(name, "/") ||
		slices.ContainsFunc(hostHeaders, func(p string) bool { return strings.HasPrefix(name, p) })
}

// hostOnly reports a header of the toolkit's that a compiler of device code does not take.
func hostOnly(name string) bool {
	return slices.ContainsFunc(Libraries, func(l Library) bool {
		return !l.device && slices.ContainsFunc(l.Prefix,
			func(p string) bool { return strings.HasPrefix(name, p) })
	})
}
