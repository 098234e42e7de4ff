package checkrun

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/check"
	"tilescope/debugkern/checked"
	"tilescope/debugkern/expectation"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// launch is the check of one launch, under way. Of a sequence it has the document of all
// launches, and no entry.
type launch struct {
	s        *debugkern.Session
	ctx      context.Context
	req      Request
	progress func(debugkern.Progress)
	doc      *report.Check
	manifest *configs.Manifest

	schedule target.Schedule
	primary  target.Backend // the emulator, or the GPU
	emulator target.Backend // with both: executed first, under the checkers
	module   *build.Build
	entry    *ptx.Func
	args     []*arg
	shared   []probes.SharedArray // names for shared memory, of a manifest
	budget   uint64               // warp instructions a block may execute; 0: the emulator's default
	only     []probes.Dim3        // executed; nil: the whole grid
	outputs  map[string][]byte
	defined  map[string][]byte // of them, target.Result.Written
	covered  check.Covered
	orders   int  // other schedules under which it was executed
	raced    bool // an earlier launch had an error
	reserved budget.Reservations
	bundle   *bundle.Bundle    // that it comes from; nil: another file
	kernel   target.Kernel     // that was executed under the checkers
	ordered  bool              // its blocks share memory
	loaded   *target.Resources // of the kernel as a GPU loaded it; nil: none did
	stated   []*expectation.Expectation
	bound    []*expectation.Bound // to the arguments
}

// geometry checks the launch against what any chip takes.
func (l *launch) geometry() (err error) {
	most := l.s.Chip()
	for _, x := range []struct {
		option string
		given  probes.Dim3
		most   [3]int
	}{
		{"grid", l.req.Grid, most.Grid}, {"block", l.req.Block, most.Block},
		{"cluster", l.req.Cluster, l.req.Grid},
	} {
		for i, n := range x.given {
			if n < 1 || n > x.most[i] {
				return report.Usagef("--%s %s: %c is %d; expected 1 to %d", x.option, x.given, "xyz"[i],
					n, x.most[i])
			}
		}
	}
	if n := l.req.Block.Count(); n > most.ThreadsPerBlock {
		return report.Usagef("--block %s: %d threads; a block has at most %d", l.req.Block, n,
			most.ThreadsPerBlock)
	}
	for i, n := range l.req.Cluster {
		if l.req.Grid[i]%n != 0 {
			return report.Usagef("--cluster %s: a grid of %s blocks is no multiple of it", l.req.Cluster,
				l.req.Grid)
		}
	}
	if l.req.Shared < 0 || l.req.Shared > most.SharedPerBlock {
		return report.Usagef("--shared %d: expected 0 to %d bytes, the most of any chip", l.req.Shared,
			most.SharedPerBlock)
	}
	if err := l.req.asRun().CheckCounts(); err != nil {
		return err
	}
	if l.schedule, err = debugkern.ParseSchedule(l.req.Schedule); err != nil {
		return err
	}
	return l.sample()
}

// sample lists the blocks that are executed.
func (l *launch) sample() error {
	r, err := l.req.Blocks.Within(l.req.Grid)
	if err != nil {
		return err
	}
	if r.N == l.req.Grid {
		return nil
	}
	if be := l.req.Backend; be == "cuda" || be == "both" {
		return report.Usagef("--blocks %s: a GPU executes the whole grid; --backend emu executes a part",
			l.req.Blocks)
	}
	for i := range r.N.Count() {
		l.only = append(l.only, r.Block(i))
	}
	return nil
}

func (l *launch) backends() (err error) {
	req := debugkern.Request{Backend: l.req.Backend, Device: l.req.Device}
	if req.Backend == "" || req.Backend == "auto" {
		req.Backend = "emu" // the checkers are the emulator's
	}
	if l.primary, l.emulator, err = l.s.Backends(l.ctx, req); err != nil {
		return err
	}
	info := l.primary.Info()
	l.doc.Backend = report.Backend{
		Name: req.Backend, Device: info.Device, Arch: info.Arch, Schedule: l.schedule.String(),
	}
	return nil
}

// build parses or compiles the file and chooses the entry.
func (l *launch) build() (err error) {
	start := time.Now()
	l.progress(debugkern.Progress{Phase: "build", Detail: filepath.Base(l.req.File)})
	r := &l.req
	if l.module, err = l.s.Builder().File(l.ctx, build.File{
		Path: r.File, Include: r.Include, Define: r.Define, Std: r.Std, Builder: r.Builder, Arch: r.Arch,
		Instantiate: r.Instantiate,
	}); err != nil {
		return err
	}
	l.built(start)
	if l.entry, err = l.module.Entry(l.req.File, l.req.Entry); err != nil {
		return err
	}
	l.shared = scaffold.SharedArrays(l.module.Module, l.entry,
		scaffold.SourceOf(l.module.Outline.AllUnits()...), l.req.Shared)
	l.doc.Entry = l.entry.Name
	return nil
}

// built writes down the build.
func (l *launch) built(start time.Time) {
	l.doc.Backend.Builder = l.module.Builder
	l.doc.Build = build.Document(l.module)
	l.doc.Cost.BuildMS = report.Number(time.Since(start).Seconds() * 1e3)
}

// arguments makes every argument's bytes; memory is asked first, with the sum of its parts.
func (l *launch) arguments() (err error) {
	l.progress(debugkern.Progress{Phase: "inputs"})
	if l.bundle != nil {
		return l.bundled()
	}
	text := scaffold.SourceOf(l.module.Outline.AllUnits()...)
	l.args, err = matchArgs(l.entry, text, l.req.Args, l.req.Grid, l.req.Block)
	if err != nil {
		return err
	}
	memory, given := l.s.Memory(), l.args
	var sum budget.Sum
	for _, a := range l.args {
		// as given, as the launch has it, and after it
		sum.Add("argument "+a.name, budget.Mul(3, a.bytes()), "")
	}
	if err := sum.Within(memory.Bound()); err != nil {
		return report.Usagef("%s %w", l.req.File, err)
	}
	for _, a := range l.args {
		if err := l.reserve(a, a.bytes()); err != nil {
			return err
		}
		if err := a.settle(l.ctx, memory, l.req.Seed); err != nil {
			return err
		}
		if err := a.asDeclared(); err != nil {
			return err
		}
		for _, x := range append([]*arg{a}, a.fields...) {
			if x.value != nil && x.value.File != nil {
				if err := l.reserve(x, int64(len(x.init))); err != nil {
					return err
				}
			}
		}
	}
	l.indirect()
	if err := l.tensorMaps(given); err != nil {
		return err
	}
	for _, a := range given {
		l.doc.Args = append(l.doc.Args, a.document())
	}
	return nil
}

// indirect adds the memory that is no parameter of its own: what pointers within structs lead
// to, and a sequence's.
func (l *launch) indirect() {
	var more []*arg
	of := map[*namedBuffer]*arg{}
	for _, a := range l.args {
		more = append(more, a.fields...)
		lead := func(b *namedBuffer, offset int) {
			if of[b] == nil {
				of[b] = &arg{name: b.name, dtype: b.dtype, dims: b.dims, init: b.init, written: b.written}
				more = append(more, of[b])
			}
			of[b].into = append(of[b].into, target.Place{Arg: a.index, Offset: offset})
		}
		if a.buffer != nil {
			lead(a.buffer, 0)
		}
		for _, offset := range slices.Sorted(maps.Keys(a.within)) {
			lead(a.within[offset], offset)
		}
	}
	l.args = append(l.args, more...)
}

// reserve reserves what an argument takes, as long as somebody has the result.
func (l *launch) reserve(a *arg, bytes int64) error {
	return l.reserved.Add(l.s.Memory(), "argument "+a.name, bytes)
}

// limits compares the launch with what the kernel was compiled for.
func (l *launch) limits() error {
	bound, exact, ok := l.entry.BlockBound()
	want, given := probes.Dim3{int(bound[0]), int(bound[1]), int(bound[2])}, l.req.Block
	switch {
	case exact && given != want:
		return report.Usagef("--block %s: the kernel was compiled for blocks of %s (.reqntid)", given, want)
	case ok && given.Count() > want.Count():
		return report.Usagef("--block %s: %d threads; the kernel was compiled for at most %d (.maxntid)",
			given, given.Count(), want.Count())
	}
	static := int64(0)
	for _, v := range l.module.Module.SharedLayout(l.entry) {
		static = budget.Add(static, int64(v.Size))
	}
	if n, most := budget.Add(static, int64(l.req.Shared)), l.s.Chip().SharedPerBlock; n > int64(most) {
		return report.Usagef(
			"--shared %d: with the kernel's own %d bytes a block would need %d of shared memory; a chip has at most %d",
			l.req.Shared, static, n, most)
	}
	return nil
}

// target is the launch as a backend takes it.
func (l *launch) target() *target.Launch {
	out := &target.Launch{
		Grid: l.req.Grid, Block: l.req.Block, DynShared: l.req.Shared, Schedule: l.schedule,
		Resident:    l.req.Resident,
		Cooperative: l.req.Cooperative, Memory: l.s.Memory(), Repeat: l.req.Repeat, Label: l.doc.Entry,
		Shared: l.shared,
		Budget: l.budget, Only: l.only,
	}
	if l.req.Cluster.Count() > 1 {
		out.Cluster = l.req.Cluster
	}
	for _, a := range l.args {
		out.Args = append(out.Args, a.target())
	}
	return out
}

// load loads the entry on a backend; where two are compared with every rounding written out.
func (l *launch) load(be target.Backend) (target.Kernel, error) {
	load := be.Load
	if pinner, ok := be.(target.Pinner); ok && l.emulator != nil {
		load = pinner.LoadPinned // the compiler must not fuse what the emulator does not
	}
	k, err := load(l.ctx, l.module.Module, l.entry.Name)
	if err != nil {
		return nil, build.LoadError(err, l.module.Text)
	}
	return k, nil
}

// lacksShared is the dynamic shared memory that the entry uses and the launch does not have; nil where it has
// some, or the entry uses none.
func (l *launch) lacksShared() *ptx.Var {
	if l.req.Shared > 0 {
		return nil
	}
	for _, v := range l.module.Module.Vars {
		if v.Space != ptx.SpaceShared || v.Linkage != ptx.LinkExtern || v.Size > 0 {
			continue
		}
		if slices.ContainsFunc(l.entry.Body, func(in *ptx.Instr) bool {
			return slices.ContainsFunc(in.Args, func(o ptx.Operand) bool { return o.Var == v })
		}) {
			return v
		}
	}
	return nil
}

// execute launches on the emulator under every checker; with backend cuda on the GPU, which
// cannot be observed.
func (l *launch) execute() error {
	be := l.primary
	if l.emulator != nil {
		be = l.emulator
	}
	l.progress(debugkern.Progress{Phase: "load"})
	k, err := l.load(be)
	if err != nil {
		return err
	}
	start := time.Now()
	l.progress(debugkern.Progress{Phase: "run", Detail: be.Info().Device})
	_, watched := k.(target.Stepper)
	var o check.Options
	if watched {
		o.Set = check.All | check.Coverage
	}
	if v := l.lacksShared(); v != nil {
		o.Set &^= check.Redundant // what an access orders that is left out is not seen
		l.doc.Build.Notes = append(l.doc.Build.Notes, fmt.Sprintf("%s is dynamic shared memory (extern "+
			"__shared__), and the launch has none: pass its bytes with --shared", v.Demangled))
	}
	l.doc.Build.Notes = append(l.doc.Build.Notes, debugkern.UnsetConstants(l.module.Module, l.entry)...)
	res, c, err := checked.Launch(l.ctx, k, l.target(), o)
	if err != nil {
		return report.LaunchError(err)
	}
	cost := &l.doc.Cost
	cost.RunMS, cost.Launches = report.Number(time.Since(start).Seconds()*1e3), 1
	cost.WarpInstructions, cost.MMAOutputs = res.Counts.WarpInstructions, res.Counts.MMAOutputs
	l.outputs = res.Outputs
	l.kernel, l.ordered, l.loaded = k, res.Ordered, k.Resources()
	l.doc.Findings = debugkern.NamePlaced(report.FindingsOf(res.Findings), l.entry, l.text)
	for i := range l.doc.Findings {
		l.doc.Findings[i].KVTile = -1
	}
	l.doc.Printed = report.PrintedLines(res)
	l.covered, l.defined = c.Covered(), res.Written
	if watched {
		if err := l.otherOrders(k, o); err != nil {
			return err
		}
	}
	l.cover(watched)
	l.noteRandom()
	return nil
}

// noteRandom says which arguments have random integers, where an access is wrong that may be led by them: in
// a program they are indices that fit.
func (l *launch) noteRandom() {
	led := []target.Kind{
		target.OutOfBounds, target.Race, target.Uninitialised, target.Misaligned, target.Hang,
	}
	if !slices.ContainsFunc(l.doc.Findings, func(f report.Finding) bool {
		return f.Severity == string(target.SeverityError) && slices.Contains(led, target.Kind(f.Kind))
	}) {
		return
	}
	var names []string
	for _, a := range l.args {
		if v := a.value; a.inferred.Pointer && a.inferred.Read && v != nil && v.Buffer != nil &&
			v.Buffer.Fill.Kind == probes.FillRandInt {
			names = append(names, a.name)
		}
	}
	if names != nil {
		l.doc.Build.Notes = append(l.doc.Build.Notes, strings.Join(names, ", ")+
			": random integers in this launch; where the program has indices there, a finding may come of them alone")
	}
}

// text returns the lines of a file by the name that the PTX has for it; nil where it cannot be read.
func (l *launch) text(file string) []string {
	m := l.manifest
	if m == nil { // of a sequence
		m = build.ManifestOf(l.req.File)
	}
	return build.Text(l.ctx, m, l.module.Patched, file)
}
