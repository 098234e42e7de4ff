package build

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// Entry chooses one of a build's kernels: by its name in the PTX, its name in the source, with or without
// namespaces and template arguments; "" where there is one only. What is not plain is a usage error that
// lists the kernels.
func (b *Build) Entry(file, name string) (*ptx.Func, error) {
	all := b.Module.Entries()
	found := b.matching(name)
	if len(found) == 0 {
		found = b.matching(b.Outline.asMangled(name))
	}
	missing := b.Outline.Uninstantiated(name)
	switch {
	case len(found) == 1:
		return found[0], nil
	case missing != "" && len(found) == 0:
		return nil, report.Usagef("%s", missing)
	case len(all) == 0:
		return nil, report.Usagef("%s has no kernel (%s)", file, kernelMark(file))
	case len(found) == 0:
		return nil, report.Usagef("--entry %s: %s has no such kernel (it has %s)", name, file,
			kernelNames(all))
	case name == "":
		return nil, report.Usagef("%s has %d kernels: choose one with --entry (%s)", file, len(all),
			kernelNames(all))
	}
	return nil, report.Usagef("--entry %s: %s has %d kernels of that name: choose one of %s", name, file,
		len(found), kernelNames(found))
}

// kernelMark is what a file's text marks a kernel with.
func kernelMark(file string) string {
	if filepath.Ext(file) == ".ptx" {
		return ".entry"
	}
	return "a function marked __global__"
}

// Has reports whether a build has a kernel of that name, as Entry takes it.
func (b *Build) Has(name string) bool { return len(b.matching(name)) > 0 }

func (b *Build) matching(name string) []*ptx.Func { return Kernels(b.Module, name) }

// Kernels are the kernels of a module that a name may mean: one where it is the name in the PTX, all of them
// for "".
func Kernels(m *ptx.Module, name string) []*ptx.Func {
	var found []*ptx.Func
	for _, e := range m.Entries() {
		full := ptx.TemplateName(e.Name)
		plain, _, _ := strings.Cut(full, "<")
		bare := strings.ReplaceAll(full, " ", "")
		numbers := enumerator.ReplaceAllString(bare, "$1")
		want := strings.ReplaceAll(name, " ", "")
		if name == "" || slices.Contains([]string{e.Name, e.Demangled, full, plain}, name) ||
			strings.HasSuffix("::"+bare, "::"+want) || strings.HasSuffix("::"+numbers, "::"+want) {
			found = append(found, e)
		}
	}
	if exact := slices.IndexFunc(found, func(e *ptx.Func) bool { return e.Name == name }); exact >= 0 {
		found = found[exact : exact+1]
	}
	return found
}

// enumerator is an argument of a template as a mangled name has it: (Op)1.
var enumerator = regexp.MustCompile(`\([A-Za-z_]\w*(?:::\w+)*\)(-?\d)`)

// mangledTypes are types as a mangled name has them, without blanks.
var mangledTypes = map[string]string{
	"half": "__half", "half2": "__half2", "nv_bfloat16": "__nv_bfloat16", "unsigned": "unsignedint",
	"uint32_t": "unsignedint", "int32_t": "int", "uint16_t": "unsignedshort", "int16_t": "short",
	"uint8_t": "unsignedchar", "int8_t": "signedchar", "uint64_t": "unsignedlong", "size_t": "unsignedlong",
	"int64_t": "long",
}

// asMangled is a kernel's name with its template arguments as a mangled name has them: k<1,__half> for
// k<Op::Scale, half>.
func (o *Outline) asMangled(name string) string {
	head, inside, ok := strings.Cut(strings.TrimSuffix(strings.ReplaceAll(name, " ", ""), ">"), "<")
	if !ok || o == nil || strings.ContainsAny(inside, "<>") {
		return name
	}
	args := strings.Split(inside, ",")
	constants := hostcode.Constants(o.Units...)
	for i, a := range args {
		if n, ok := hostcode.NumberOf(a, constants); ok {
			args[i] = fmt.Sprint(n)
		} else if t := mangledTypes[a]; t != "" {
			args[i] = t
		}
	}
	return head + "<" + strings.Join(args, ",") + ">"
}

// kernelNames lists kernels as --entry takes them: as the source names them, and by their name in the PTX
// where two have the same.
func kernelNames(list []*ptx.Func) string {
	count := map[string]int{}
	for _, e := range list {
		count[ptx.TemplateName(e.Name)]++
	}
	var names []string
	for _, e := range list {
		name := ptx.TemplateName(e.Name)
		if count[name] > 1 {
			name = e.Name
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
