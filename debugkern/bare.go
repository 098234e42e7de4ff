package debugkern

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// CheckRequest asks for every checker on one launch of a kernel that has no manifest.
type CheckRequest struct {
	File                 string // .ptx, .cu or .tsl: a bundle, which has entry, geometry and arguments in it
	Entry                string // "" where the module has one
	Grid, Block, Cluster probes.Dim3
	Shared               int // dynamic shared bytes
	Cooperative          bool
	Resident             int
	Args                 []ArgText
	Seed                 uint64
	Include, Define      []string
	Std, Arch, Builder   string
	Instantiate          []string
	Backend              string // "" and emu: the emulator; cuda, both
	Device, Repeat       int
	Schedule             string
	Timeout              time.Duration
	Blocks               Region // executed; the zero Region is the whole grid
}

// Checked is a finished check.
type Checked struct {
	Doc      *report.Check
	args     []*bareArg
	outputs  map[string][]byte // after the launch, by name
	manifest *configs.Manifest // names the texts that were compiled
	patched  map[string]build.Patched
	bare     *bareLaunch // nil for a sequence
}

// Source returns the lines of a source or PTX file by the name that findings have for it; nil where it cannot be read.
func (c *Checked) Source(file string) []string {
	return build.Text(context.Background(), c.manifest, c.patched, file)
}

// CheckKernel executes a kernel under every checker. It returns an *Error as Run does; where the kernel did not build, load or run there is
// a document as well as the error.
func (s *Session) CheckKernel(ctx context.Context, req CheckRequest, progress func(Progress)) (*Checked, error) {
	ctx, cancel := Limited(ctx, req.Timeout)
	defer cancel()
	b := s.bare(ctx, req, progress)
	b.manifest = build.ManifestOf(req.File)
	return b.through(b.open, b.geometry, b.backends, b.build, b.arguments, b.limits, b.execute, b.compare, b.recorded)
}

// CheckTarget executes the launch that a manifest describes, of the build without probes, under every checker; nothing is compared
// with a reference. Errors are CheckKernel's.
func (s *Session) CheckTarget(ctx context.Context, req Request, progress func(Progress)) (*Checked, error) {
	ctx, cancel := Limited(ctx, req.Timeout)
	defer cancel()
	b := s.bare(ctx, CheckRequest{
		File: req.Target, Seed: req.Seed, Cooperative: req.Cooperative, Resident: req.Resident, Builder: req.Builder, Arch: req.Arch,
		Backend: req.Backend, Device: req.Device, Repeat: req.Repeat, Schedule: req.Schedule, Timeout: req.Timeout, Blocks: req.Blocks,
	}, progress)
	e := s.begin(ctx, req, progress)
	return b.through(
		func() error { return b.describe(e) }, b.backends, func() error { return b.buildOf(e) }, b.limits, b.execute, b.compare)
}

// bare is a check of which nothing is done yet.
func (s *Session) bare(ctx context.Context, req CheckRequest, progress func(Progress)) *bareLaunch {
	b := &bareLaunch{s: s, ctx: ctx, req: req, progress: oneAtATime(progress)}
	b.doc = &report.Check{
		Schema: report.CheckSchema, File: req.File, Launch: report.CheckLaunch{Grid: req.Grid, Block: req.Block, Cluster: req.Cluster, Shared: req.Shared}, Seed: req.Seed,
		Args: []report.CheckArg{}, Findings: []report.Finding{}, Outputs: []report.CheckOutput{},
		Coverage: report.Coverage{NotModelled: []string{}, Unreached: []report.Source{}},
	}
	return b
}

// through takes the steps of a check, one after the other.
func (b *bareLaunch) through(steps ...func() error) (*Checked, error) {
	for _, step := range steps {
		if err := step(); err != nil {
			return b.failed(err)
		}
	}
	seal(b.doc, b.outputs)
	done := &Checked{b.doc, b.args, b.outputs, b.manifest, b.module.Patched, b}
	releases := b.release
	budget.Until(b.s.mem, done, func() { releaseAll(releases) })
	return done, nil
}

// bareLaunch is a check under way.
type bareLaunch struct {
	s        *Session
	ctx      context.Context
	req      CheckRequest
	progress func(Progress)
	doc      *report.Check
	manifest *configs.Manifest

	schedule target.Schedule
	primary  target.Backend // the emulator, or the GPU
	emulator target.Backend // with both: executed first, under the checkers
	module   *build.Build
	source   string
	entry    *ptx.Func
	args     []*bareArg
	shared   []probes.SharedArray // names for shared memory, of a manifest
	budget   uint64
	only     []probes.Dim3 // executed; nil: the whole grid
	outputs  map[string][]byte
	defined  map[string][]byte // of them, target.Result.Written
	covered  check.Covered
	raced    bool // an earlier launch had an error
	release  []func()
	bundle   *bundle.Bundle // that it comes from; nil: another file
}

// failed gives an error its exit code, and makes the document of a kernel that did not build, load or run.
func (b *bareLaunch) failed(err error) (*Checked, error) {
	releaseAll(b.release)
	err = b.s.begin(b.ctx, Request{}, nil).explain(err)
	var coded *report.Error
	if !errors.As(err, &coded) || coded.Report == nil {
		return nil, err
	}
	b.doc.Verdict, b.doc.Error, coded.Report = report.Failed, coded.Report.Error, nil
	return &Checked{Doc: b.doc}, err
}

// geometry checks the launch against what any chip takes.
func (b *bareLaunch) geometry() (err error) {
	most := b.s.chip
	for _, x := range []struct {
		option string
		given  probes.Dim3
		most   [3]int
	}{{"grid", b.req.Grid, most.Grid}, {"block", b.req.Block, most.Block}} {
		for i, n := range x.given {
			if n < 1 || n > x.most[i] {
				return report.Usagef("--%s %s: %c is %d; expected 1 to %d", x.option, x.given, "xyz"[i], n, x.most[i])
			}
		}
	}
	if n := b.req.Block.Count(); n > most.ThreadsPerBlock {
		return report.Usagef("--block %s: %d threads; a block has at most %d", b.req.Block, n, most.ThreadsPerBlock)
	}
	if b.req.Cluster != (probes.Dim3{1, 1, 1}) {
		return report.Usagef("--cluster %s: launches with clusters are not modelled", b.req.Cluster)
	}
	if b.req.Shared < 0 || b.req.Shared > most.SharedPerBlock {
		return report.Usagef("--shared %d: expected 0 to %d bytes, the most of any chip", b.req.Shared, most.SharedPerBlock)
	}
	if err := counts(b.req.Timeout, b.req.Device, b.req.Repeat, b.req.Resident); err != nil {
		return err
	}
	if b.schedule, err = parseSchedule(b.req.Schedule); err != nil {
		return err
	}
	return b.sample()
}

// sample lists the blocks that are executed.
func (b *bareLaunch) sample() error {
	var r probes.Range
	for i, s := range b.req.Blocks {
		s, err := s.within(b.req.Grid[i])
		if err != nil {
			return report.Usagef("--blocks %s: %c: %w", b.req.Blocks, "xyz"[i], err)
		}
		r.Lo[i], r.N[i] = s.Lo, s.N
	}
	if r.N == b.req.Grid {
		return nil
	}
	if be := b.req.Backend; be == "cuda" || be == "both" {
		return report.Usagef("--blocks %s: a GPU executes the whole grid; --backend emu executes a part", b.req.Blocks)
	}
	for i := range r.N.Count() {
		b.only = append(b.only, r.Block(i))
	}
	return nil
}

func (b *bareLaunch) backends() (err error) {
	req := Request{Backend: b.req.Backend, Device: b.req.Device}
	if req.Backend == "" || req.Backend == "auto" {
		req.Backend = "emu" // the checkers are the emulator's
	}
	if b.primary, b.emulator, err = b.s.backend(b.ctx, req); err != nil {
		return err
	}
	info := b.primary.Info()
	b.doc.Backend = report.Backend{Name: req.Backend, Device: info.Device, Arch: info.Arch, Schedule: b.schedule.String()}
	return nil
}

// build parses or compiles the file and chooses the entry.
func (b *bareLaunch) build() (err error) {
	start := time.Now()
	b.progress(Progress{Phase: "build", Detail: filepath.Base(b.req.File)})
	if b.module, b.source, err = b.s.builder.File(b.ctx, b.file()); err != nil {
		return err
	}
	b.built(start)
	m := b.module
	if b.entry, err = b.module.Entry(b.req.File, b.req.Entry); err != nil {
		return err
	}
	b.shared = scaffold.SharedArrays(m.Module, b.entry, b.source, b.req.Shared)
	b.doc.Entry = b.entry.Name
	return nil
}

// built writes down the build.
func (b *bareLaunch) built(start time.Time) {
	b.doc.Backend.Builder = b.module.Builder
	b.doc.Build = build.Document(b.module)
	b.doc.Cost.BuildMS = report.Number(time.Since(start).Seconds() * 1e3)
}

// file is the request's file, and how it is compiled.
func (b *bareLaunch) file() build.File {
	r := &b.req
	return build.File{Path: r.File, Include: r.Include, Define: r.Define, Std: r.Std, Builder: r.Builder, Arch: r.Arch, Instantiate: r.Instantiate}
}

// arguments makes every argument's bytes; memory is asked first, with the sum of its parts.
func (b *bareLaunch) arguments() (err error) {
	b.progress(Progress{Phase: "inputs"})
	if b.bundle != nil {
		return b.bundled()
	}
	if b.args, err = bareArgs(b.entry, b.module.Outline.AllKernels(), b.req.Args); err != nil {
		return err
	}
	var sum budget.Sum
	for _, a := range b.args {
		sum.Add("argument "+a.name, budget.Mul(3, a.bytes()), "") // as given, as the launch has it, and after it
	}
	limit := b.s.mem.Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	if err := sum.Within(limit); err != nil {
		return report.Usagef("%s %w", b.req.File, err)
	}
	for _, a := range b.args {
		if err := b.reserve(a, a.bytes()); err != nil {
			return err
		}
		if err := a.settle(b.ctx, b.s.mem, b.req.Seed); err != nil {
			return err
		}
		for _, x := range append([]*bareArg{a}, a.fields...) {
			if x.value != nil && x.value.File != nil {
				if err := b.reserve(x, int64(len(x.init))); err != nil {
					return err
				}
			}
		}
		b.doc.Args = append(b.doc.Args, a.document())
	}
	b.behind()
	return nil
}

// behind adds the memory that is no parameter of its own: what pointers within structs lead to, and a sequence's.
func (b *bareLaunch) behind() {
	var more []*bareArg
	of := map[*namedMemory]*bareArg{}
	for _, a := range b.args {
		more = append(more, a.fields...)
		m := a.memory
		if m == nil {
			continue
		}
		if of[m] == nil {
			of[m] = &bareArg{name: m.name, dtype: m.dtype, dims: m.dims, init: m.init, written: m.written}
			more = append(more, of[m])
		}
		of[m].into = append(of[m].into, target.Place{Arg: a.index})
	}
	b.args = append(b.args, more...)
}

// reserve reserves what an argument takes, as long as somebody has the result.
func (b *bareLaunch) reserve(a *bareArg, bytes int64) error {
	release, err := b.s.mem.Reserve("argument "+a.name, bytes)
	if err == nil {
		b.release = append(b.release, release)
	}
	return err
}

// limits compares the launch with what the kernel was compiled for.
func (b *bareLaunch) limits() error {
	for _, name := range []string{"reqntid", "maxntid"} {
		d, ok := b.entry.Directive(name)
		if !ok {
			continue
		}
		want := probes.Dim3{1, 1, 1}
		for i, n := range d.Args {
			if i < 3 {
				want[i] = int(n)
			}
		}
		if name == "reqntid" && b.req.Block != want {
			return report.Usagef("--block %s: the kernel was compiled for blocks of %s (.reqntid)", b.req.Block, want)
		}
		if name == "maxntid" && b.req.Block.Count() > want.Count() {
			return report.Usagef("--block %s: %d threads; the kernel was compiled for at most %d (.maxntid)", b.req.Block, b.req.Block.Count(), want.Count())
		}
	}
	static := int64(0)
	for _, v := range b.module.Module.SharedLayout(b.entry) {
		static = budget.Add(static, int64(v.Size))
	}
	if n, most := budget.Add(static, int64(b.req.Shared)), b.s.chip.SharedPerBlock; n > int64(most) {
		return report.Usagef("--shared %d: with the kernel's own %d bytes a block would need %d of shared memory; a chip has at most %d", b.req.Shared, static, n, most)
	}
	return nil
}

// launch is the launch as a backend takes it.
func (b *bareLaunch) launch() *target.Launch {
	l := &target.Launch{
		Grid: b.req.Grid, Block: b.req.Block, DynShared: b.req.Shared, Schedule: b.schedule, Resident: b.req.Resident,
		Cooperative: b.req.Cooperative, Memory: b.s.mem, Repeat: b.req.Repeat, Label: b.doc.Entry, Shared: b.shared, Budget: b.budget, Only: b.only,
	}
	for _, a := range b.args {
		l.Args = append(l.Args, a.target())
	}
	return l
}

// load loads the entry on a backend; where two are compared with every rounding written out.
func (b *bareLaunch) load(be target.Backend) (target.Kernel, error) {
	load := be.Load
	if pinner, ok := be.(target.Pinner); ok && b.emulator != nil {
		load = pinner.LoadPinned // the compiler must not fuse what the emulator does not
	}
	k, err := load(b.ctx, b.module.Module, b.entry.Name)
	if err != nil {
		return nil, build.LoadError(err, b.module.Text)
	}
	return k, nil
}

// execute launches on the emulator under every checker; with backend cuda on the GPU, which cannot be observed.
func (b *bareLaunch) execute() error {
	be := b.primary
	if b.emulator != nil {
		be = b.emulator
	}
	b.progress(Progress{Phase: "load"})
	k, err := b.load(be)
	if err != nil {
		return err
	}
	start := time.Now()
	b.progress(Progress{Phase: "run", Detail: be.Info().Device})
	l := b.launch()
	_, watched := k.(target.Stepper)
	var o check.Options
	if watched {
		o.Set = check.All | check.Coverage
	}
	res, c, err := launchWatched(b.ctx, k, l, o)
	if err != nil {
		return launchError(err)
	}
	b.doc.Cost.RunMS, b.doc.Cost.Launches = report.Number(time.Since(start).Seconds()*1e3), 1
	b.doc.Cost.WarpInstructions, b.doc.Cost.MMAOutputs = res.Counts.WarpInstructions, res.Counts.MMAOutputs
	b.outputs = res.Outputs
	b.doc.Findings = report.FindingsOf(res.Findings)
	for i := range b.doc.Findings {
		b.doc.Findings[i].KVTile = -1
	}
	b.doc.Printed = printedLines(res)
	b.covered, b.defined = c.Covered(), res.Written
	b.cover(b.covered, watched)
	return nil
}

// cover writes down how much of the kernel the result speaks of.
func (b *bareLaunch) cover(c check.Covered, watched bool) {
	d := &b.doc.Coverage
	d.Blocks, d.Schedules = b.req.Grid.Count(), 1
	if watched {
		d.Sampled = d.Blocks
		if b.only != nil {
			d.Sampled = len(b.only)
		}
	}
	d.Instructions = len(c.Executed)
	for _, done := range c.Executed {
		if done {
			d.Executed++
		}
	}
	for _, a := range b.args {
		if !a.buffer() {
			continue
		}
		o := report.CheckOutput{Name: a.name, DType: a.dtype.String(), Dims: a.dims}
		if watched {
			n := c.Written[a.name].Whole(a.dtype.Size())
			o.Written = &n
		}
		b.doc.Outputs = append(b.doc.Outputs, o)
	}
	for _, f := range b.doc.Findings {
		if f.Kind == string(target.NotModelled) && !slices.Contains(d.NotModelled, f.Message) {
			d.NotModelled = append(d.NotModelled, f.Message)
		}
	}
	d.Unreached = b.unreached(c.Executed)
}

// unreached lists the entry's source lines none of whose instructions were executed.
func (b *bareLaunch) unreached(executed []bool) []report.Source {
	type line struct {
		file string
		n    int
	}
	done, order := map[line]bool{}, []line{}
	for i := range b.entry.Body {
		at := target.Blame(b.entry, i)
		if i >= len(executed) || at == nil || at.Line == 0 {
			continue
		}
		l := line{at.File, at.Line}
		if _, seen := done[l]; !seen {
			order = append(order, l)
		}
		done[l] = done[l] || executed[i]
	}
	out := []report.Source{}
	for _, l := range order {
		if !done[l] {
			out = append(out, report.Source{File: l.file, Line: l.n})
		}
	}
	slices.SortFunc(out, func(a, b report.Source) int {
		return strings.Compare(fmt.Sprintf("%s:%09d", a.File, a.Line), fmt.Sprintf("%s:%09d", b.File, b.Line))
	})
	return out
}

// compare executes the kernel on the GPU too, with both, and compares every argument's memory to the bit.
func (b *bareLaunch) compare() error {
	if b.emulator == nil {
		return nil
	}
	k, err := b.load(b.primary)
	if err != nil {
		return err
	}
	b.progress(Progress{Phase: "run", Detail: b.primary.Info().Device})
	res, err := k.Launch(b.ctx, b.launch())
	if err != nil {
		return launchError(err)
	}
	b.doc.Cost.Launches += max(1, b.req.Repeat)
	found := slices.Clone(res.Findings)
	for _, a := range b.args {
		if x, y := b.outputs[a.name], res.Outputs[a.name]; a.buffer() && !bytes.Equal(x, y) {
			found = append(found, a.differs(x, y))
		}
	}
	if found, err = b.excused(found); err != nil {
		return err
	}
	b.doc.Findings = append(b.doc.Findings, report.FindingsOf(found)...)
	b.outputs = res.Outputs
	return nil
}

// differs is the finding that the emulator (x) and the GPU (y) left other bits in an argument.
func (a *bareArg) differs(x, y []byte) target.Finding {
	n, first, size := 0, -1, a.dtype.Size()
	for i := 0; i+size <= min(len(x), len(y)); i += size {
		if !bytes.Equal(x[i:i+size], y[i:i+size]) {
			if n++; first < 0 {
				first = i / size
			}
		}
	}
	return target.Finding{
		Kind: target.BackendDifference, Severity: target.SeverityError, Variable: a.name, Index: probes.Index(first, a.dims), Space: "global", KVTile: -1, Count: n,
		Message: fmt.Sprintf("%d of %d elements of %s differ between the emulator and the GPU", n, a.elems(), a.name),
	}
}

// excused makes advice of what says only that results depend on an order that nobody fixes: where the kernel has errors already, where it
// updates memory by atomics, and where the emulator's own result depends on the order of execution.
func (b *bareLaunch) excused(found []target.Finding) ([]target.Finding, error) {
	orderly := func(f target.Finding) bool { return f.Kind == target.BackendDifference || f.Kind == target.Varies }
	if !slices.ContainsFunc(found, orderly) {
		return found, nil
	}
	why := ""
	switch {
	case b.raced || slices.ContainsFunc(b.doc.Findings, func(f report.Finding) bool { return f.Severity == string(target.SeverityError) }):
		why = "the kernel has errors above, by which its results may differ from run to run"
	case slices.ContainsFunc(b.entry.Body, func(in *ptx.Instr) bool { return in.Kind().Updates() }):
		why = "the kernel updates memory by atomics, in an order that nobody fixes"
	default:
		other, err := b.reordered()
		if err != nil {
			return nil, err
		}
		if other != "" {
			why = "under --schedule " + other + " the emulator's result is another one too: it depends on the order of execution"
		}
	}
	for i := range found {
		if why != "" && orderly(found[i]) {
			found[i].Severity, found[i].Consequence = target.SeverityAdvice, why
		}
	}
	return found, nil
}

// reordered names a schedule under which the emulator's result is another one; "" where none of those tried is, and on a GPU alone.
func (b *bareLaunch) reordered() (string, error) {
	be := b.emulator
	if be == nil {
		be = b.primary
	}
	if !target.Simulated(be) {
		return "", nil
	}
	k, err := b.load(be)
	if err != nil {
		return "", err
	}
	for _, s := range b.schedule.Others(crossSchedules, CopiesAsync(b.entry)) {
		l := b.launch()
		l.Schedule = s
		res, err := k.Launch(b.ctx, l)
		if err != nil {
			return "", launchError(err)
		}
		for name, x := range b.outputs {
			if y, ok := res.Outputs[name]; ok && !bytes.Equal(x, y) {
				return s.String(), nil
			}
		}
	}
	return "", nil
}

// optionComment is a line of a source or PTX file with options of check.
var optionComment = regexp.MustCompile(`(?m)^\s*//\s*tilescope:\s*(.+?)\s*$`)

// OptionComments returns the options that a kernel's text asks to be checked with: lines "// tilescope: --grid 4 --block 256".
func OptionComments(ctx context.Context, path string) ([]string, error) {
	text, err := build.ReadKernel(ctx, path)
	if err != nil {
		return nil, report.Unread("read the kernel:", err)
	}
	var out []string
	for _, m := range optionComment.FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	return out, nil
}

// Dump writes every pointer argument after the launch under its name, and before it as in_NAME, as a NumPy archive.
func (c *Checked) Dump(w io.Writer) error {
	z := &npzWriter{zip: zip.NewWriter(w)}
	for _, a := range c.args {
		if !a.buffer() {
			continue
		}
		t := a.dtype
		if descr(t) == "" {
			t = map[int]probes.DType{1: probes.U8, 2: probes.U16}[t.Size()]
		}
		z.array(a.name, t, a.dims...).Write(c.outputs[a.name])
		before := a.init
		if before == nil {
			before = bytes.Repeat([]byte{0xff}, a.elems()*t.Size())
		}
		z.array("in_"+a.name, t, a.dims...).Write(before)
	}
	if z.err != nil {
		return z.err
	}
	return z.zip.Close()
}
