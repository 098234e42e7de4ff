package debugkern

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/configs"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// ScaffoldRequest asks for a manifest of File (.ptx or .cu), to stand at Out. Entry "" is the first. Include,
// Define and Std are a request's: a .cu is compiled with them, and the manifest records them.
type ScaffoldRequest struct {
	File, Out, Entry, Arch string
	Include, Define        []string
	Std                    string
}

// scaffolder is a manifest that is being made.
type scaffolder struct {
	*report.Init
	module *ptx.Module
	kernel *ptx.Func // what it describes
}

// Init reads a kernel and writes down, as the text of a manifest that loads, what it shows of itself; what it cannot
// show is given a usual value and marked. Nothing is written to a file. It returns an *Error as Run does.
func (s *Session) Scaffold(ctx context.Context, req ScaffoldRequest) (*report.Init, error) {
	doc := &report.Init{Schema: report.InitSchema, File: req.File, Out: req.Out, Entries: []string{}, Unknown: []string{}, Notes: []string{}}
	module, source, err := s.readKernel(ctx, req)
	if err != nil {
		err = (&execution{s: s, ctx: ctx}).explain(err)
		if coded, ok := err.(*report.Error); ok && coded.Report != nil {
			doc.Error, coded.Report = coded.Report.Error, nil
			return doc, err
		}
		return nil, err
	}
	w := &scaffolder{Init: doc, module: module}
	if err := w.choose(req.Entry); err != nil {
		return nil, err
	}
	doc.Text = w.manifest(req, source)
	if _, err := configs.ParseManifest(req.Out, []byte(doc.Text)); err != nil {
		return nil, fmt.Errorf("BUG: the manifest made of %s does not load: %w", req.File, err)
	}
	return doc, nil
}

// readKernel parses PTX, or compiles CUDA source; source is its text, "" for PTX.
func (s *Session) readKernel(ctx context.Context, req ScaffoldRequest) (m *ptx.Module, source string, err error) {
	if err := checkArch(req.Arch); err != nil {
		return nil, "", err
	}
	text, err := readText(ctx, req.File, "CUDA source or PTX")
	if err != nil {
		return nil, "", unread("read the kernel:", err)
	}
	switch filepath.Ext(req.File) {
	case ".ptx":
		if len(req.Include)+len(req.Define) > 0 || req.Std != "" {
			return nil, "", report.Usagef("%s: -I, -D and --std are for a source that is compiled", req.File)
		}
		b, err := parseBuild(ctx, req.File, text, "none")
		if err != nil {
			return nil, "", err
		}
		return b.Module, "", nil
	case ".cu":
	default:
		return nil, "", report.Usagef("%s: expected a .ptx or a .cu file", req.File)
	}
	name, c, err := s.compiler(ctx, "auto", string(text))
	if err != nil {
		return nil, "", report.Unavailablef("%s has to be compiled, and cannot be here: %w (tilescope doctor says what to install; a .ptx needs none)", req.File, err)
	}
	if req.Arch == "" {
		req.Arch = defaultArch
	}
	own := &configs.Manifest{Name: filepath.Base(req.File), Source: filepath.Base(req.File), Dir: filepath.Dir(req.File), File: req.File}
	sel := &configs.Selection{Manifest: own}
	if err := sel.AddCompile(configs.Compile{Include: req.Include, Defines: req.Define, Std: req.Std}); err != nil {
		return nil, "", &report.Error{Code: report.CodeUsage, Err: err}
	}
	build, err := ownBuild(own, &sourceSet{text: text}, sel.Compile)
	if err != nil {
		return nil, "", err
	}
	build.Defines, build.Arch = sel.Compile.Defines, req.Arch
	out, err := c.Compile(ctx, build)
	if err != nil {
		return nil, "", compileError(err)
	}
	b, err := parseBuild(ctx, req.File+".ptx", []byte(out.Text), name)
	if err != nil {
		return nil, "", err
	}
	return b.Module, string(text), nil
}

// choose settles the entry: by its name, mangled or not, or the first.
func (d *scaffolder) choose(name string) error {
	for _, e := range d.module.Entries() {
		d.Entries = append(d.Entries, e.Name)
		if d.kernel == nil && (name == "" || e.Name == name || e.Demangled == name) {
			d.kernel = e
		}
	}
	switch {
	case len(d.Entries) == 0:
		return report.Usagef("%s has no kernel (.entry)", d.File)
	case d.kernel == nil:
		return report.Usagef("%s has no entry %q (it has %s)", d.File, name, strings.Join(d.Entries, ", "))
	case name == "" && len(d.Entries) > 1:
		d.Notes = append(d.Notes, fmt.Sprintf("%s has %d entries, this is the first; the others: %s (--entry takes one)", d.File, len(d.Entries), strings.Join(d.Entries[1:], ", ")))
	}
	d.Entry = d.kernel.Name
	return nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.+-]+`)

// manifest writes the text.
func (d *scaffolder) manifest(req ScaffoldRequest, source string) string {
	w := &manifestText{doc: d}
	name := strings.Trim(notInName.ReplaceAllString(strings.TrimSuffix(filepath.Base(d.File), filepath.Ext(d.File)), "_"), ".+-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "kernel_" + name
	}
	w.line("# A manifest of %s, made from the kernel alone. What it could not show has a usual value and is marked with \"# ?\":", text.Line(filepath.Base(d.File)))
	w.line("# hold each of those to your kernel, then remove the mark. Expressions may use the shape (B, H, S, D), constants, flags, and,")
	w.line("# where a block or a kv tile is meant, bx, by, bz and kv.")
	for _, n := range d.Notes {
		w.line("# %s.", text.Line(n))
	}
	kind := "source"
	if source == "" {
		kind = "ptx"
	}
	w.line("schema: %s\nname: %s\ntitle: %q\n%s: %q\nentry: %s", configs.Schema, name, name, kind, d.relative(req, req.File), scalar(d.Entry))
	d.compiledWith(w, req)
	params := parameters(d.kernel, declaredParameters(source, d.kernel.Demangled))
	if n := len(params); n > 0 && d.instrumented() {
		params = params[:n-1]
		w.line("# built with probes: its last parameter is tilescope's own and is not listed below")
	}
	w.constants(d.module)
	w.launch(d.kernel)
	w.args(meanings(params))
	w.work()
	w.shared(d.module.SharedLayout(d.kernel), declaredShared(source))
	w.tail(name)
	return w.String()
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
	return last >= 0 && d.kernel.Params[last].Size == 8 && slices.ContainsFunc(d.module.Files, func(f ptx.File) bool {
		return filepath.Base(f.Name) == probes.HeaderName
	})
}

// compiledWith writes down what a source was compiled with.
func (d *scaffolder) compiledWith(w *manifestText, req ScaffoldRequest) {
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
	if req.Std != "" {
		w.line("std: %s", req.Std)
	}
}

// relative is a path as the manifest must name it.
func (d *scaffolder) relative(req ScaffoldRequest, path string) string {
	from, errFrom := filepath.Abs(filepath.Dir(req.Out))
	to, errTo := filepath.Abs(path)
	if errFrom == nil && errTo == nil {
		if rel, err := filepath.Rel(from, to); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}
