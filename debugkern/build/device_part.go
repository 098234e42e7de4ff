package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/hostrun"
	"tilescope/debugkern/trust"
)

// Outline is what the text of a CUDA source of one's own shows besides its PTX.
type Outline struct {
	Units     []*hostcode.Unit // the source, then the user's headers
	Kernels   []*hostcode.Kernel
	Launches  []hostcode.Launch
	Instances []hostcode.Instance // compiled besides what the source instantiates itself
	Blanked   []hostcode.Blanked  // where the device's part alone was compiled
	// Initial are the variables of the device that were compiled with what the host's code copies to them.
	Initial []hostrun.Symbol
}

// translation is a source in the forms that compilers take: nvcc the whole of it, NVRTC the device's part.
type translation struct {
	outline *Outline
	result  *hostcode.Result
	units   []*hostcode.Unit
	headers map[string]string // the user's own, by path
	options hostcode.Options
	asked   []hostcode.Instance       // by --instantiate or the manifest
	found   []hostcode.Instance       // by the launches of the host's code, of other kernels
	host    bool                      // nvcc compiles more of it than NVRTC
	copied  map[string]hostrun.Symbol // to variables of the device, by the host's code
}

// maxOwnHeaders is of how many headers the host's part is taken out: a library's are left as they are.
const maxOwnHeaders = 64

// translate reads a source and its own headers. A source that asks for NVRTC's own macro hides its host code
// itself.
func translate(b cuda.Build, toolkit, instantiate []string) *translation {
	t := &translation{outline: &Outline{}, units: []*hostcode.Unit{hostcode.Read(b.Name, []byte(b.Source))}}
	for _, name := range instantiate {
		t.asked = append(t.asked, hostcode.Instance{Name: name})
	}
	headers, exact := cuda.OwnHeaders(b, toolkit)
	t.headers = headers
	if exact && len(headers) <= maxOwnHeaders {
		for _, path := range slices.Sorted(maps.Keys(headers)) {
			t.units = append(t.units, hostcode.Read(path, []byte(headers[path])))
		}
	}
	t.outline.Units = t.units
	if strings.Contains(b.Source, "cudaMemcpyToSymbol") {
		t.copied = copied(t.units)
	}
	t.outline.Kernels, t.outline.Launches = hostcode.Kernels(t.units...), hostcode.Launches(t.units...)
	for _, i := range hostcode.Instances(t.units...) {
		if !slices.ContainsFunc(t.asked, func(a hostcode.Instance) bool {
			return templateName(a.Name) == templateName(i.Name)
		}) {
			t.found = append(t.found, i)
		}
	}
	if strings.Contains(b.Source, "__CUDACC_RTC__") {
		t.result = &hostcode.Result{}
		return t
	}
	t.options = hostcode.Options{
		Find: finder(b, toolkit, headers), Shim: cuda.HostShim, Standins: cuda.HostStandins,
	}
	t.extract()
	t.host = t.result.Host
	return t
}

// extract takes the host's part out, for the instances at hand.
func (t *translation) extract() {
	t.options.Instances = slices.Concat(t.asked, t.found)
	t.result = hostcode.Extract(t.options, t.units...)
}

// templateName is the last part of an instance's name, without its arguments.
func templateName(instance string) string {
	name, _, _ := strings.Cut(instance, "<")
	return strings.TrimSpace(name[strings.LastIndexByte(name, ':')+1:])
}

// finder says where an include's text would come from: what is the user's own wins, as it does for the
// compiler. A device or a pipe is there too: reading it is the error that the user has to see.
func finder(b cuda.Build, toolkit []string, headers map[string]string) func(string, bool) hostcode.Origin {
	there := func(dir, name string) bool {
		path := filepath.FromSlash(name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	}
	return func(name string, angled bool) hostcode.Origin {
		suffix := string(filepath.Separator) + filepath.FromSlash(strings.TrimPrefix(name, "./"))
		for path := range headers {
			if strings.HasSuffix(path, suffix) {
				return hostcode.Own
			}
		}
		for _, d := range b.Include {
			if there(d, name) {
				return hostcode.Own
			}
		}
		if !angled && b.File != "" && there(filepath.Dir(b.File), name) {
			return hostcode.Own
		}
		for _, d := range toolkit {
			if there(d, name) {
				return hostcode.Toolkit
			}
		}
		_, ours := b.Builtin[name]
		if _, standin := cuda.Builtin(name); ours || standin {
			return hostcode.Toolkit
		}
		return hostcode.Missing
	}
}

// whole is the build as nvcc takes it: with what is asked to be instantiated.
func (t *translation) whole(b cuda.Build) cuda.Build {
	text := hostcode.Instantiate(t.initialise([]byte(b.Source)), t.asked)
	if len(t.asked) > 0 || len(t.outline.Initial) > 0 {
		b.Source = string(text)
		b.Overlay = overlaid(b.Overlay, map[string]string{b.File: b.Source})
	}
	return b
}

// device is the build as NVRTC takes it.
func (t *translation) device(b cuda.Build) cuda.Build {
	if text, ok := t.result.Texts[b.Name]; ok {
		b.Source = string(text)
	}
	text := t.initialise([]byte(b.Source))
	b.Source = string(hostcode.Instantiate(text, slices.Concat(t.asked, t.found)))
	headers := map[string]string{}
	for name, text := range t.result.Texts {
		if name != b.Name {
			headers[name] = string(text)
		}
	}
	if len(headers) > 0 {
		b.Overlay = overlaid(b.Overlay, headers)
	}
	return b
}

// copied are the variables of the device that the host's code copies something to before a launch, by name.
func copied(units []*hostcode.Unit) map[string]hostrun.Symbol {
	out := map[string]hostrun.Symbol{}
	for _, l := range hostrun.Run(units...) {
		for _, s := range l.Symbols {
			if _, before := out[s.Name]; !before {
				out[s.Name] = s
			}
		}
	}
	return out
}

// initialise gives variables of the device what the host's code copies to them: a kernel is launched without
// that code.
func (t *translation) initialise(source []byte) []byte {
	lists := map[string]string{}
	for name, s := range t.copied {
		lists[name] = s.Initial
	}
	source, names := hostcode.Initialise(source, lists)
	t.outline.Initial = nil
	for _, name := range names {
		t.outline.Initial = append(t.outline.Initial, t.copied[name])
	}
	return source
}

func overlaid(base, over map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}

// wholeCompiler is nvcc with a translation; deviceCompiler NVRTC. Their complaints are about the user's text.
type (
	wholeCompiler struct {
		compiler
		t *translation
	}
	deviceCompiler struct {
		compiler
		t *translation
	}
)

func (c wholeCompiler) Compile(ctx context.Context, b cuda.Build) (*cuda.PTX, error) {
	p, err := c.compiler.Compile(ctx, c.t.whole(b))
	return p, c.t.explain(err, b, c.t.asked, false)
}

// Compile compiles the device's part. An instance that is found by a launch and does not compile is left out:
// the launch may have been misread.
func (c deviceCompiler) Compile(ctx context.Context, b cuda.Build) (*cuda.PTX, error) {
	p, err := c.compiler.Compile(ctx, c.t.device(b))
	if ce := (*cuda.CompileError)(nil); errors.As(err, &ce) && len(c.t.found) > 0 {
		first := hostcode.Lines([]byte(b.Source)) + 1 + len(c.t.asked)
		kept := slices.Clone(c.t.found)
		for _, d := range ce.Diagnostics {
			if n := d.Line - first; d.File == b.Name && d.Severity != "warning" && n >= 0 &&
				n < len(c.t.found) {
				kept = slices.DeleteFunc(kept, func(i hostcode.Instance) bool { return i == c.t.found[n] })
			}
		}
		if len(kept) < len(c.t.found) {
			c.t.found = kept
			c.t.extract()
			p, err = c.compiler.Compile(ctx, c.t.device(b))
		}
	}
	c.t.digests(p)
	if err = c.t.explain(err, b, slices.Concat(c.t.asked, c.t.found), true); c.t.result.Host {
		err = c.t.unbalanced(err, b)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// unbalanced adds the brackets of a source that have no other one to the complaints of a compiler: it has not
// seen those of what was left out, and of others it complains about what stands behind.
func (t *translation) unbalanced(err error, b cuda.Build) error {
	out := &cuda.CompileError{Name: b.Name}
	if ce := (*cuda.CompileError)(nil); errors.As(err, &ce) {
		*out = *ce
		out.Diagnostics = slices.Clone(ce.Diagnostics)
	} else if err != nil {
		return err
	}
	var found []cuda.Diagnostic
	for _, x := range hostcode.Unbalanced(t.units...) {
		if !slices.ContainsFunc(out.Diagnostics, func(d cuda.Diagnostic) bool {
			return d.Line == x.Line && d.File == x.Unit
		}) {
			found = append(found, cuda.Diagnostic{File: x.Unit, Line: x.Line, Col: x.Col, Severity: "error",
				Msg: x.Msg, Text: x.Text})
		}
	}
	if found == nil {
		return err
	}
	out.Diagnostics = append(found, out.Diagnostics...)
	return out
}

// digests gives headers whose host part was left out the digests of their files.
func (t *translation) digests(p *cuda.PTX) {
	if p == nil {
		return
	}
	p.Headers = slices.Clone(p.Headers)
	for i, h := range p.Headers {
		if text, ok := t.headers[h.Path]; ok && h.Origin == cuda.OriginOwn {
			p.Headers[i] = cuda.NewHeader(h.Path, text, h.Origin)
		}
	}
}

// compileOwn compiles a source of one's own with the builder asked for; auto is NVRTC where the source has no
// host code and it is there, else nvcc, else NVRTC for the device's part, which is also tried where nvcc does
// not compile the whole.
func (s *Builder) compileOwn(ctx context.Context, builder string, b cuda.Build, src *SourceSet,
	instantiate []string, ptxName string) (*Build, error) {
	var toolkit []string
	tc, terr := s.Toolchain(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if terr == nil {
		toolkit = tc.IncludeDirs
	}
	t := translate(b, toolkit, instantiate)
	device := func() (*Build, error) {
		out, err := compileWith(ctx, deviceCompiler{tc, t}, "nvrtc", b, src, ptxName)
		return t.finish(out, true), err
	}
	if builder == "nvrtc" || builder == "auto" && !t.host && terr == nil {
		if terr != nil {
			return nil, &noCompilerError{terr}
		}
		return device()
	}
	n, nerr := cuda.FindNVCC(ctx, s.tools.config)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case nerr != nil && builder == "auto" && terr == nil:
		return device()
	case nerr != nil && builder == "auto" && !t.host:
		return nil, &noCompilerError{terr}
	case nerr != nil && t.host:
		if terr != nil {
			nerr = fmt.Errorf("%w; %w", nerr, terr)
		}
		return nil, &noCompilerError{
			fmt.Errorf("the source has host code: nvcc compiles the whole of it, NVRTC the device's part: %w",
				nerr),
		}
	case nerr != nil:
		return nil, &noCompilerError{nerr}
	}
	out, err := compileWith(ctx, wholeCompiler{n, t}, "nvcc", b, src, ptxName)
	if err != nil && builder == "auto" && terr == nil && ctx.Err() == nil {
		if part, perr := device(); perr == nil {
			return part, nil
		}
	}
	return t.finish(out, false), err
}

// Lacks reports whether an error is for want of a compiler, rather than a failure of one that is there.
func Lacks(err error) bool {
	none := (*noCompilerError)(nil)
	return errors.As(err, &none)
}

// Untrusted reports whether an error is for want of consent to a compiler that was found.
func Untrusted(err error) bool {
	refused := (*trust.Refused)(nil)
	return errors.As(err, &refused)
}

// Missing is the error that nothing compiles a source because of err.
func Missing(err error) error { return &noCompilerError{err} }

// noCompilerError says that nothing is there that compiles a source.
type noCompilerError struct{ err error }

func (e *noCompilerError) Error() string { return e.err.Error() }
func (e *noCompilerError) Unwrap() error { return e.err }

// finish gives a build its outline. device: the host's part was left out.
func (t *translation) finish(b *Build, device bool) *Build {
	if b == nil {
		return nil
	}
	b.Outline = t.outline
	t.outline.Instances = t.asked
	if device {
		t.outline.Instances = slices.Concat(t.asked, t.found)
		if t.result.Host {
			t.outline.Blanked = t.result.Blanked
		}
	}
	return b
}
