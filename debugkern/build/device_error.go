package build

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/hostcode"
)

// explain relates a compiler's complaints to the user's text: those about a line that tilescope added are
// about --instantiate, and where a name is missing the complaint names what was left out. instances are the
// lines that were added, in order; device: the host's part was left out.
func (t *translation) explain(err error, b cuda.Build, instances []hostcode.Instance, device bool) error {
	var ce *cuda.CompileError
	if !errors.As(err, &ce) {
		return err
	}
	out := *ce
	out.Diagnostics = slices.Clone(ce.Diagnostics)
	first := hostcode.Lines([]byte(b.Source)) + 1
	for i := range out.Diagnostics {
		d := &out.Diagnostics[i]
		if n := d.Line - first; d.File == b.Name && n >= 0 && n < len(instances) {
			d.File, d.Line, d.Col, d.Text = "", 0, 0, ""
			d.Msg = fmt.Sprintf("--instantiate '%s': %s%s", instances[n].Name, d.Msg,
				t.wanted(instances[n].Name))
			continue
		}
		if device && d.Severity != "warning" {
			if why := t.missing(*d); why != "" {
				d.Msg += " (" + why + ")"
			}
		}
	}
	return &out
}

// wanted says what a template takes, where the source shows it.
func (t *translation) wanted(instance string) string {
	for _, k := range t.outline.Kernels {
		if k.Name == templateName(instance) && k.Template != nil {
			return fmt.Sprintf(" (line %d: %s %s)", k.Line, k.Wanted(), k.Name)
		}
	}
	return ""
}

var (
	undefined = regexp.MustCompile(
		`identifier "([\w:]+)" is undefined|has no member "(\w+)"|"([\w:]+)" has not been declared|"([\w:]+)" is not a template`,
	)
	qualified = regexp.MustCompile(`\b([A-Za-z_]\w*)::`)
)

// missing says where a name that the device's part uses would have come from: host code, or a header that was
// left out.
func (t *translation) missing(d cuda.Diagnostic) string {
	if strings.Contains(d.Msg, "host functions are not allowed") {
		return "mark it __device__, or leave it to nvcc: --builder nvcc"
	}
	name := ""
	if m := undefined.FindStringSubmatch(d.Msg); m != nil {
		name = strings.Join(m[1:], "")
		name = name[strings.LastIndexByte(name, ':')+1:]
	}
	spaces := qualified.FindAllStringSubmatch(d.Text, -1)
	if name == "" && !(strings.Contains(d.Msg, "::") && len(spaces) > 0) &&
		!strings.Contains(d.Msg, "not a class or namespace") {
		return ""
	}
	for _, x := range t.result.Blanked {
		if name != "" && x.Name == name && x.What != "include" {
			fix := "mark it __device__"
			if x.What == "variable" {
				fix = "make it constexpr, or __constant__"
			}
			return fmt.Sprintf("%s:%d: this %s of the host's is left out of the device's part: %s",
				filepath.Base(x.Unit), x.Line, x.What, fix)
		}
	}
	names := []string{name}
	for _, m := range spaces {
		names = append(names, m[1])
	}
	return t.missingHeader(names)
}

// missingHeader names the header that was left out and could have declared one of the names.
func (t *translation) missingHeader(names []string) string {
	var unknown, standard *hostcode.Blanked
	for i, x := range t.result.Blanked {
		if x.What != "include" {
			continue
		}
		l := hostcode.LibraryOf(x.Name)
		switch {
		case l != nil && slices.ContainsFunc(names, l.Declares):
			advice := l.Advice
			if advice == "" {
				advice = "it is for host code: take it out of the kernel"
			}
			return fmt.Sprintf(
				"%s:%d: <%s> of %s is not available: %s",
				filepath.Base(x.Unit),
				x.Line,
				x.Name,
				l.Name,
				advice,
			)
		case l == nil && strings.Contains(x.Name, "."):
			unknown = &t.result.Blanked[i]
		case l == nil:
			standard = &t.result.Blanked[i]
		}
	}
	switch {
	case slices.Contains(names, "std") && standard != nil:
		return fmt.Sprintf("%s:%d: <%s> is for host code; NVRTC has no such header",
			filepath.Base(standard.Unit), standard.Line, standard.Name)
	case unknown != nil:
		return fmt.Sprintf("it may come from %s:%d: %s, which is found nowhere: give its directory with -I",
			filepath.Base(unknown.Unit), unknown.Line, unknown.Name)
	}
	return ""
}

// AllKernels are the source's; nil where there is none.
func (o *Outline) AllKernels() []*hostcode.Kernel {
	if o == nil {
		return nil
	}
	return o.Kernels
}

// AllUnits are the source and the user's headers; nil where there is no source.
func (o *Outline) AllUnits() []*hostcode.Unit {
	if o == nil {
		return nil
	}
	return o.Units
}

// Uninstantiated describes the kernel templates that a build has no instance of, and how to ask for one; ""
// where there is none.
func (o *Outline) Uninstantiated(entry string) string {
	if o == nil {
		return ""
	}
	var out []string
	for _, k := range o.Kernels {
		asked := entry == "" || k.Name == templateName(entry)
		done := slices.ContainsFunc(o.Instances, func(i hostcode.Instance) bool {
			return templateName(i.Name) == k.Name
		})
		if k.Template != nil && k.Defined && asked && !done {
			example := k.Named(o.Units...)
			if example == "" {
				example = k.Example()
			}
			how := fmt.Sprintf("give its arguments, such as --instantiate '%s'", example)
			if line := o.lambda(k); line > 0 {
				how = fmt.Sprintf(
					"line %d launches it with a lambda, which has no name: write it as a struct with a __device__ operator()",
					line,
				)
			}
			out = append(out, fmt.Sprintf("%s:%d: %s %s is not instantiated: %s", filepath.Base(k.Unit),
				k.Line, k.Wanted(), k.Name, how))
		}
	}
	return strings.Join(out, "; ")
}

// lambda is the line of a launch of a kernel that passes a device lambda, 0 where there is none.
func (o *Outline) lambda(k *hostcode.Kernel) int {
	for _, l := range o.Launches {
		if templateName(l.Kernel) == k.Name && slices.ContainsFunc(l.Args,
			func(a string) bool { return strings.HasPrefix(a, "[") }) {
			return l.Line
		}
	}
	return 0
}

// notes describe what of a source was compiled, for documents and people.
func (o *Outline) notes() []string {
	if o == nil {
		return nil
	}
	var out []string
	if len(o.Blanked) > 0 {
		var code, includes, more []string
		for _, x := range o.Blanked {
			switch {
			case x.What == "include":
				includes = append(includes, x.Name)
			case len(code) < mostNamed:
				code = append(code, fmt.Sprintf("%s (line %s)", named(x), o.line(x)))
			default:
				more = append(more, o.line(x))
			}
		}
		note := "the device's part alone was compiled, by NVRTC"
		if len(code) > 0 {
			note += "; left out: " + strings.Join(code, ", ")
			if n := len(more); n > 0 {
				note += fmt.Sprintf(" and %d more (lines %s)", n, strings.Join(slices.Compact(more), ", "))
			}
		}
		if len(includes) > 0 {
			note += "; headers left out: " + some(includes)
		}
		out = append(out, note)
	}
	for _, i := range o.Instances {
		if i.Line > 0 {
			note := fmt.Sprintf("%s is instantiated for the launch on line %d", i.Name, i.Line)
			if i.Guess != "" {
				note += " (assumed: " + i.Guess + ")"
			}
			out = append(out, note)
		}
	}
	for _, s := range o.Initial {
		note := s.Name + " has the numbers that the host's code copies to it"
		if s.Random {
			note += "; those that are not known are random, from -1 to 1"
		}
		out = append(out, note)
	}
	return out
}

// mostNamed is how many parts a note names; of more than these it has the lines.
const mostNamed = 6

// named is what a part that was not compiled declares, or its text where it declares no name.
func named(x hostcode.Blanked) string {
	if x.Name == "" {
		return "`" + x.Text + "`"
	}
	return x.Name
}

// line is where a part begins, with its file where that is not the source.
func (o *Outline) line(x hostcode.Blanked) string {
	if len(o.Units) > 0 && x.Unit != o.Units[0].Name {
		return fmt.Sprintf("%d of %s", x.Line, filepath.Base(x.Unit))
	}
	return fmt.Sprint(x.Line)
}

// some lists at most six words.
func some(words []string) string {
	if n := len(words) - mostNamed; n > 0 {
		return strings.Join(words[:mostNamed], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(words, ", ")
}
