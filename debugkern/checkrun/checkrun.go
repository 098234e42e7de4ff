// Package checkrun is what `tilescope check` does: it executes one launch of a kernel, or several in stream
// order, under every checker, and writes down what they found and how much of the kernel was executed. A
// kernel needs no manifest: Kernel takes a file with its launch and arguments, Sequence a list of such
// launches over buffers that they share, Target the launch that a manifest describes. Adopt makes a file's
// launch a target of a session, which can then be run, stepped and tried.
//
// The one idea: a check is a row of steps (geometry, backends, build, arguments, limits, execute, compare)
// over one value, a launch, and each way to name a launch replaces the first of them.
//
// It must not know references, stages or tiles: what is compared are the bytes of
// arguments, between backends.
package checkrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Request asks for every checker on one launch of a kernel that has no manifest.
type Request struct {
	File                 string // .ptx, .cu or .tsl: a bundle, which has entry, geometry and arguments in it
	Entry                string // "" where the module has one
	Grid, Block, Cluster probes.Dim3
	Shared               int // dynamic shared bytes
	Cooperative          bool
	Resident             int
	Args                 []Argument
	Seed                 uint64
	Include, Define      []string
	Std, Arch, Builder   string
	Instantiate          []string
	Backend              string // "" and emu: the emulator; cuda, both
	Device, Repeat       int
	Schedule             string
	Timeout              time.Duration
	Blocks               debugkern.Region // executed; the zero Region is the whole grid
	Expect               []string         // what outputs are made of: package expectation
}

// Argument is an argument as a user gives it: Name is a parameter's name in the source, its name in the PTX,
// or its index from 0.
type Argument struct {
	Name, Value string
	buffer      *namedBuffer // of a sequence, whose name the value is
	// of a sequence: the buffers that pointers of a struct lead to, by their offsets in bytes
	within map[int]*namedBuffer
}

// asRun is the part of the request that requests of runs have too.
func (r *Request) asRun() debugkern.Request {
	return debugkern.Request{
		Target: r.File, Seed: r.Seed, Backend: r.Backend, Builder: r.Builder, Arch: r.Arch,
		Include: r.Include, Define: r.Define, Std: r.Std, Instantiate: r.Instantiate, Timeout: r.Timeout,
		Device: r.Device, Repeat: r.Repeat, Schedule: r.Schedule, Resident: r.Resident,
		Cooperative: r.Cooperative, Blocks: r.Blocks,
	}
}

// Result is a finished check.
type Result struct {
	Doc      *report.Check
	args     []*arg
	outputs  map[string][]byte // after the launch, by name
	manifest *configs.Manifest // names the texts that were compiled
	patched  map[string]build.Patched
	launch   *launch // what was launched; of a sequence, nothing that can be launched
}

// Source returns the lines of a source or PTX file by the name that findings have for it; nil
// where it cannot be read.
func (r *Result) Source(file string) []string {
	return build.Text(context.Background(), r.manifest, r.patched, file)
}

// Sanitize runs one of compute-sanitizer's tools on the launch that was checked, not on a sequence. It takes
// a GPU, whatever the check executed on. Errors are those of debugkern.Session.SanitizeLaunch.
func (r *Result) Sanitize(ctx context.Context, tool string) (*debugkern.Sanitized, error) {
	l := r.launch
	return l.s.SanitizeLaunch(ctx, tool, l.req.Device, l.module.Module, l.entry.Name, l.target())
}

// Kernel executes a kernel of a file under every checker. It returns a *report.Error as
// debugkern.Session.Run does; where the kernel did not build, load or run there is a document as well as
// the error. progress may be nil.
func Kernel(
	ctx context.Context, s *debugkern.Session, req Request, progress func(debugkern.Progress),
) (*Result, error) {
	ctx, cancel := debugkern.Limited(ctx, req.Timeout)
	defer cancel()
	l := begin(ctx, s, req, progress)
	l.manifest = build.ManifestOf(req.File)
	return l.through(l.parseExpectations, l.open, l.geometry, l.backends, l.build, l.arguments, l.limits,
		l.bindExpectations, l.execute, l.expectations, l.compare, l.compiled, l.recorded)
}

// Target executes the launch that a manifest describes, of the build without probes, under every checker;
// nothing is compared with a reference. expect is Request.Expect. Errors are Kernel's.
func Target(
	ctx context.Context, s *debugkern.Session, req debugkern.Request, expect []string,
	progress func(debugkern.Progress),
) (*Result, error) {
	ctx, cancel := debugkern.Limited(ctx, req.Timeout)
	defer cancel()
	l := begin(ctx, s, Request{
		File: req.Target, Seed: req.Seed, Cooperative: req.Cooperative, Resident: req.Resident,
		Builder: req.Builder, Arch: req.Arch, Backend: req.Backend, Device: req.Device, Repeat: req.Repeat,
		Schedule: req.Schedule, Timeout: req.Timeout, Blocks: req.Blocks, Expect: expect,
	}, progress)
	t := &planned{launch: l, req: req}
	return l.through(l.parseExpectations, t.describe, l.backends, t.build, l.limits, l.bindExpectations,
		l.execute, l.expectations, l.compare, l.compiled, t.guesses)
}

// begin is a check of which nothing is done yet.
func begin(
	ctx context.Context, s *debugkern.Session, req Request, progress func(debugkern.Progress),
) *launch {
	if progress == nil {
		progress = func(debugkern.Progress) {}
	}
	return &launch{s: s, ctx: ctx, req: req, progress: progress, doc: &report.Check{
		Schema: report.CheckSchema, File: req.File, Seed: req.Seed,
		Launch: report.CheckLaunch{
			Grid: req.Grid, Block: req.Block, Cluster: req.Cluster, Shared: req.Shared,
		},
		Args: []report.CheckArg{}, Findings: []report.Finding{}, Outputs: []report.CheckOutput{},
		Coverage: report.Coverage{NotModelled: []string{}, Unreached: []report.Source{}},
	}}
}

// through takes the steps of a check, one after the other.
func (l *launch) through(steps ...func() error) (*Result, error) {
	for _, step := range steps {
		if err := step(); err != nil {
			return l.failed(err)
		}
	}
	seal(l.doc, l.outputs)
	done := &Result{l.doc, l.args, l.outputs, l.manifest, l.module.Patched, l}
	budget.Until(l.s.Memory(), done, l.reserved.Release)
	return done, nil
}

// failed gives an error its exit code, and makes the document of a kernel that did not build, load or run.
func (l *launch) failed(err error) (*Result, error) {
	l.reserved.Release()
	err = debugkern.Explain(l.ctx, err)
	failure := report.FailureOf(err)
	if failure == nil {
		return nil, err
	}
	l.doc.Verdict, l.doc.Error = report.Failed, failure
	return &Result{Doc: l.doc}, err
}

// seal sets the outputs' digests, the document's, and the verdict.
func seal(d *report.Check, outputs map[string][]byte) {
	all := sha256.New()
	for i := range d.Outputs {
		o := &d.Outputs[i]
		sum := sha256.Sum256(outputs[o.Name])
		o.Digest = hex.EncodeToString(sum[:])
		all.Write(sum[:])
	}
	d.Digest = hex.EncodeToString(all.Sum(nil))
	d.Apply(nil)
}
