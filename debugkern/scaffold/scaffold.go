// Package scaffold makes a manifest of a kernel that has none: what its PTX, and its CUDA source where there
// is one, show of parameters, launch, constants and shared arrays.
//
// The one idea: the text loads at once. What the kernel cannot show is given a usual value and marked, so
// that a person corrects a manifest instead of writing one.
//
// It must not know how a kernel is compiled: it is given the module.
package scaffold

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/configs"
	"tilescope/configs/schema"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// Request asks for a manifest of File (.ptx or .cu), to stand at Out. Entry "" is the first. Include,
// Define and Std are a request's: a .cu is compiled with them, and the manifest records them.
type Request struct {
	File, Out, Entry, Arch string
	Include, Define        []string
	Std                    string
	Instantiate            []string
	Set                    []string // FLAG or FLAG=VALUE: symbols that the manifest has as flags
	// Given is the launch that the manifest is for; nil: it is guessed. Where what the text shows does not
	// agree with it, the manifest computes nothing (report.Init.Computes).
	Given *Launch
}

// scaffolder is a manifest that is being made.
type scaffolder struct {
	*report.Init
	module *ptx.Module
	kernel *ptx.Func // what it describes
	set    []string
	given  *Launch
	plain  bool // without stages
}

// Blank returns the document of a request before its kernel is read.
func Blank(req Request) *report.Init {
	return &report.Init{
		Schema: report.InitSchema, File: req.File, Out: req.Out, Entries: []string{}, Unknown: []string{},
		Notes: []string{}, Refused: []string{},
	}
}

// Write returns, as the text of a manifest that loads, what a kernel's module shows of itself, and its source
// where there is one; what they cannot show is given a usual value and marked. An entry that the module does
// not have is a usage error. refusals has what the emulator does not model of an entry.
func Write(
	req Request, module *ptx.Module, source Source, refusals func(entry string) ([]string, error),
) (*report.Init, error) {
	w := &scaffolder{Init: Blank(req), module: module, set: req.Set, given: req.Given}
	if err := w.choose(req.Entry, source.first()); err != nil {
		return nil, err
	}
	refused, err := refusals(w.Entry)
	if err != nil {
		return nil, err
	}
	w.Refused = append(w.Refused, refused...)
	if len(refused) > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("the emulator does not model %d of its instructions: %s",
			len(refused), strings.Join(refused, "; ")))
	}
	notes := len(w.Notes)
	w.Text = w.manifest(req, source)
	m, err := configs.ParseManifest(req.Out, []byte(w.Text))
	if err != nil || !resolves(m) { // what was guessed of its stages does not fit together
		w.plain, w.Computes, w.Unknown, w.Notes = true, false, []string{}, w.Notes[:notes]
		w.Text = w.manifest(req, source)
		m, err = configs.ParseManifest(req.Out, []byte(w.Text))
	}
	if err != nil {
		return nil, fmt.Errorf("BUG: the manifest made of %s does not load: %w\n%s", req.File, err, w.Text)
	}
	if req.Given == nil {
		if req.Entry = ""; len(w.Entries) > 1 {
			req.Entry = w.Entry
		}
		if w.Words = checkWords(req, m); w.Words != nil {
			w.Check = text.CommandLine(w.Words)
		}
	}
	return w.Init, nil
}

// choose settles the entry: by its name, mangled or not, with or without template arguments, else that of the
// source's first kernel, or the module's first.
func (d *scaffolder) choose(name, first string) error {
	named := func(e *ptx.Func, name string) bool {
		full := "::" + ptx.TemplateName(e.Name)
		bare, _, _ := strings.Cut(full, "<")
		name = "::" + strings.ReplaceAll(name, " ", "")
		return strings.HasSuffix(full, name) || strings.HasSuffix(bare, name)
	}
	var meant *ptx.Func
	for _, e := range d.module.Entries() {
		d.Entries = append(d.Entries, e.Name)
		if d.kernel == nil && (name == "" || e.Name == name || e.Demangled == name || named(e, name)) {
			d.kernel = e
		}
		if meant == nil && name == "" && first != "" && named(e, first) {
			meant = e
		}
	}
	d.kernel = cmp.Or(meant, d.kernel)
	switch {
	case len(d.Entries) == 0:
		return report.Usagef("%s has no kernel (.entry)", d.File)
	case d.kernel == nil:
		return report.Usagef("%s has no entry %q (it has %s)", d.File, name, strings.Join(d.Entries, ", "))
	case name == "" && len(d.Entries) > 1:
		which := "the first"
		if d.kernel.Name != d.Entries[0] {
			which = ptx.TemplateName(d.kernel.Name)
		}
		own := d.kernel.Name
		others := slices.DeleteFunc(slices.Clone(d.Entries), func(e string) bool { return e == own })
		d.Notes = append(d.Notes,
			fmt.Sprintf("%s has %d entries, this is %s; the others: %s (--entry takes one)", d.File,
				len(d.Entries), which, strings.Join(others, ", ")))
	}
	d.Entry = d.kernel.Name
	return nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.+-]+`)

// manifest writes the text.
func (d *scaffolder) manifest(req Request, source Source) string {
	w := &manifestText{doc: d}
	name := strings.Trim(notInName.ReplaceAllString(strings.TrimSuffix(filepath.Base(d.File),
		filepath.Ext(d.File)), "_"), ".+-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "kernel_" + name
	}
	params, v := Parameters(d.kernel, source), source.view(d.kernel)
	probed := len(params) > 0 && d.instrumented()
	if probed {
		params = params[:len(params)-1]
	}
	attention := d.attention(params) && !d.launchedOtherwise(params, v)
	of := "the kernel alone"
	switch {
	case d.given != nil:
		of = "the kernel and one launch of it"
	case v.launch != nil && !attention:
		of = fmt.Sprintf("the kernel and its launch on line %d", v.launch.Line)
	}
	d.heading(
		w,
		"A manifest of %s, made from %s. What it could not show has a usual value and is marked with \"# ?\":",
		text.Line(filepath.Base(d.File)),
		of,
	)
	w.line(
		"# compare each of those with your kernel, then remove the mark. Expressions may use the shape%s, constants, flags, and,",
		map[bool]string{true: " (B, H, S, D)"}[attention],
	)
	w.line("# where a block%s is meant, bx, by, bz%s.", map[bool]string{true: " or a kv tile"}[attention],
		map[bool]string{true: " and kv"}[attention])
	for _, n := range d.Notes {
		w.line("# %s.", text.Line(n))
	}
	kind := "source"
	if source.units == nil {
		kind = "ptx"
	}
	w.line("schema: %s\nname: %s\ntitle: %q\n%s: %q\nentry: %s", configs.Schema, name, name, kind,
		d.relative(req, req.File), scalar(d.Entry))
	d.compiledWith(w, req)
	if probed {
		w.line("# built with probes: its last parameter is tilescope's own and is not listed below")
	}
	if !attention {
		w.general(d.kernel, v, params, name)
		return w.String()
	}
	w.constants(d.module, v)
	w.launch(d.kernel)
	w.args(meanings(params))
	w.work()
	w.shared(d.module.SharedLayout(d.kernel), v)
	w.tail(name)
	return w.String()
}

// heading writes the first lines: the schema by which editors check the manifest, and what it is.
func (d *scaffolder) heading(w *manifestText, format string, args ...any) {
	w.line("# yaml-language-server: $schema=%s", schema.File)
	w.line("# "+format, args...)
}

// attention reports whether a kernel is described as fused attention: its parameters are named so, or, where
// they have no names, three tensors are read, one is written, and exponentials are taken.
func (d *scaffolder) attention(params []Parameter) bool {
	seen, readers, writers, named := map[string]bool{}, 0, 0, false
	for _, p := range params {
		named = named || p.Name != ""
		if p.Struct > 0 {
			return false // attention's tensors are pointers by convention
		}
		if !p.Pointer {
			continue
		}
		seen[tensorNames[strings.ToLower(strings.Trim(p.Name, "_"))]] = true
		if p.Written {
			writers++
		} else if p.Read {
			readers++
		}
	}
	if named {
		return seen["Q"] && seen["K"] && seen["V"]
	}
	exponential := slices.ContainsFunc(d.kernel.Body, func(in *ptx.Instr) bool { return in.Op == "ex2" })
	return readers >= 3 && writers > 0 && exponential
}

// launchedOtherwise reports whether the source launches the kernel itself, over tensors that are not [B, H,
// S, D]: its own launch says more then than the conventions of attention.
func (d *scaffolder) launchedOtherwise(params []Parameter, v *view) bool {
	g := settled(d.kernel, v, params)
	if !g.launchedAsIs() {
		return false
	}
	return slices.ContainsFunc(meanings(params), func(a meantParameter) bool {
		i := slices.IndexFunc(params, func(p Parameter) bool { return p.Name == a.Name })
		return len(a.tensor) == 1 && i >= 0 && len(sides(g.args[i])) != 4
	})
}

// scalar is a name as a YAML string: quoted where YAML would read something else.
func scalar(s string) string {
	var v any
	if err := yaml.Unmarshal([]byte(s), &v); err == nil && v == s && text.Line(s) == s {
		return s
	}
	return strconv.Quote(s)
}

// instrumented reports whether the build has probes: the header is among its files.
func (d *scaffolder) instrumented() bool {
	last := len(d.kernel.Params) - 1
	return last >= 0 && d.kernel.Params[last].Size == 8 &&
		slices.ContainsFunc(d.module.Files, func(f ptx.File) bool {
			return filepath.Base(f.Name) == probes.HeaderName
		})
}

// compiledWith writes down what a source was compiled with.
func (d *scaffolder) compiledWith(w *manifestText, req Request) {
	var dirs, defines []string
	for _, dir := range req.Include {
		dirs = append(dirs, fmt.Sprintf("%q", d.relative(req, dir)))
	}
	for _, def := range req.Define {
		name, value, ok := strings.Cut(def, "=")
		if !ok {
			value = "1"
		}
		defines = append(defines, fmt.Sprintf("%s: %q", name, value))
	}
	if dirs != nil {
		w.line("include: [%s]", strings.Join(dirs, ", "))
	}
	if defines != nil {
		w.line("defines: {%s}", strings.Join(slices.Compact(defines), ", "))
	}
	if len(req.Instantiate) > 0 {
		w.line("instantiate: [%s]", strings.Join(quotedAll(req.Instantiate), ", "))
	}
	if req.Std != "" {
		w.line("std: %s", req.Std)
	}
}

func quotedAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, strconv.Quote(s))
	}
	return out
}

// relative is a path as the manifest must name it.
func (d *scaffolder) relative(req Request, path string) string {
	from, errFrom := filepath.Abs(filepath.Dir(req.Out))
	to, errTo := filepath.Abs(path)
	if errFrom == nil && errTo == nil {
		if rel, err := filepath.Rel(from, to); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}
