// Package gates decides what may be merged: registers, shared memory and spills by ptxas; correctness over
// shapes and seeds; speed against another variant. It returns one document and writes it as four files.
//
// The one idea: a gate is green, red or not run. What could not be measured here (no GPU, no ptxas) is said
// with its reason and changes nothing; it is never replaced by something else: an emulator's counts stand
// there as what they are, and are no time.
//
// It must not know how a kernel is built, run or compared: it asks a Runner, which debugkern.Session is. Nor
// does it know manifests: thresholds and shapes come with a debugkern.Subject.
package gates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
)

// Runner is what gates need of a session.
type Runner interface {
	Shapes(ctx context.Context, target string) ([]string, error)
	Describe(ctx context.Context, req debugkern.Request) (*debugkern.Subject, error)
	Environment(ctx context.Context, req debugkern.Request) (*report.Environment, error)
	BuildInfo(ctx context.Context, req debugkern.Request) (*report.Build, error)
	Resources(
		ctx context.Context, req debugkern.Request, arch string,
	) (doc *report.Resources, reason string, err error)
	Run(ctx context.Context, req debugkern.Request, progress func(debugkern.Progress)) (*debugkern.Run, error)
	Time(
		ctx context.Context, reqs []debugkern.Request, o debugkern.TimeOptions,
	) (t *debugkern.Timing, reason string, err error)
	Count(ctx context.Context, req debugkern.Request) (*report.Counts, error)
}

// ArchsOf are the architectures that ptxas assembles for unless others are named, of a source that is written
// for one, or for any ("").
func ArchsOf(arch string) []string {
	if arch != "" {
		return []string{arch}
	}
	return []string{"sm_80", "sm_86", "sm_89", "sm_90"}
}

// DefaultSeeds are the seeds of the correctness gate.
var DefaultSeeds = []uint64{0, 1, 2}

// longShape is left out of the default shapes: it takes as long as all others together.
const longShape = "long"

// timedShape is what speed is measured on, unless Request.Shape says otherwise.
const timedShape = "mission"

// Options say what is judged.
type Options struct {
	Targets []string
	Against string // what speed is compared with; "" measures without a comparison
	// Request: the rest of every run; Target, Seed and Shape are set for each, but see Shape below
	Request debugkern.Request
	// Shape is what speed is measured on; "" is mission.
	Shape  string
	Shapes []string // of the correctness gate; nil: the manifest's, but long
	Seeds  []uint64 // nil: DefaultSeeds
	Archs  []string // nil: what ArchsOf gives

	Warmups, Launches int
	FlushL2           bool

	Out  string // directory of the artefacts and of what a killed sweep has finished; "" writes nothing
	Tool Tool
	// Files is how artefacts are written; nil is the real file system.
	Files *file.System
	// Ran is called for every run that the correctness gate executed; nothing is taken from an earlier
	// sweep then. May be nil.
	Ran func(*debugkern.Run) error
	// Judged is called for every target once its three gates are decided. May be nil.
	Judged func(TargetDoc)
}

// Progress is reported as a sweep goes on.
type Progress struct {
	Target, Gate, Detail string
	Done, Total          int
	Verdict              string // set once a gate of a target is decided
}

// Run judges every target. The error is a *report.Error where the request is refused or a backend or compiler
// that was asked for is missing (nothing was judged then), or the context's: what was finished is in Out, and
// the same call goes on from there.
func Run(ctx context.Context, r Runner, o Options, progress func(Progress)) (*Doc, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	s := &sweep{r: r, o: o, report: progress, counts: map[string]*report.Counts{}}
	err := s.open(ctx)
	if s.store != nil {
		defer s.store.close()
	}
	if err != nil {
		return nil, err
	}
	for i := range s.subjects {
		t, err := s.judge(ctx, &s.subjects[i])
		if err != nil {
			return nil, err
		}
		s.doc.Targets = append(s.doc.Targets, *t)
		if o.Judged != nil {
			o.Judged(*t)
		}
	}
	s.doc.Verdict = overall(s.doc.Targets)
	s.doc.Resumed, s.doc.Rejected = s.store.reused, append(s.doc.Rejected, s.store.rejected...)
	if o.Out == "" {
		return s.doc, nil
	}
	if err := s.doc.write(o.Files, o.Out); err != nil {
		return nil, report.Usagef("--out %s: %w", o.Out, err)
	}
	return s.doc, s.store.finish()
}

// sweep is one Run under way.
type sweep struct {
	r        Runner
	o        Options
	report   func(Progress)
	doc      *Doc
	subjects []subject
	baseline *subject // nil without Against
	store    *store
	done     int
	total    int
	counts   map[string]*report.Counts // by PTX and shape
}

// subject is a target with everything known before it runs.
type subject struct {
	name   string
	about  *debugkern.Subject
	build  *report.Build
	broken string // why it does not build
	shapes []string
	clean  bool   // flags and faults of the request are not for it: it is what they are compared with
	file   string // digest of the manifest at a path, "" for the catalogue's
}

// reference is what results are compared with, as documents have it.
func (s *subject) reference() string {
	if s.about.Referenced {
		return report.Graph
	}
	return report.NoReference
}

// open checks everything that can be refused, builds every target, and finds what an earlier sweep has left.
func (s *sweep) open(ctx context.Context) error {
	if len(s.o.Targets) == 0 {
		return report.Usagef("gates takes at least one TARGET")
	}
	if s.o.Seeds == nil {
		s.o.Seeds = DefaultSeeds
	}
	if s.o.Request.Inputs != "" {
		s.o.Seeds = s.o.Seeds[:1] // inputs are no seed's
	}
	if s.o.Launches < 2 || s.o.Warmups < 0 {
		return report.Usagef(
			"--launches %d, --warmups %d: at least two launches are needed for a spread, and no fewer than 0 warm-ups",
			s.o.Launches, s.o.Warmups)
	}
	for _, name := range s.o.Targets {
		sub, err := s.subject(ctx, &subject{name: name, shapes: s.o.Shapes})
		if err != nil {
			return err
		}
		s.subjects = append(s.subjects, *sub)
	}
	if s.o.Against != "" {
		sub, err := s.subject(ctx, &subject{name: s.o.Against, clean: true})
		if err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		s.baseline = sub
	}
	var err error
	if s.store, err = openStore(s.o.Files, s.o.Out); err != nil {
		return report.Usagef("--out %s: %w", s.o.Out, err)
	}
	env, err := s.r.Environment(ctx, s.o.Request)
	if err != nil {
		return err
	}
	s.doc = s.document(env)
	return s.build(ctx)
}

// subject describes a target and settles its shapes: those named must all do, of the
// manifest's own those that do.
func (s *sweep) subject(ctx context.Context, sub *subject) (*subject, error) {
	req := s.request(sub)
	var err error
	if len(sub.shapes) > 0 {
		for _, shape := range sub.shapes {
			req.Shape = shape
			if sub.about, err = s.r.Describe(ctx, req); err != nil {
				return nil, err
			}
		}
	} else if err := s.describe(ctx, sub, req); err != nil {
		return nil, err
	}
	if s.o.Request.Inputs != "" {
		sub.shapes = []string{""} // the file's own
	}
	if s.o.Shape != "" {
		req.Shape = s.o.Shape
		if _, err := s.r.Describe(ctx, req); err != nil {
			return nil, err
		}
	}
	sub.file, err = fileDigest(ctx, sub.name)
	return sub, err
}

// DefaultShapes are those of a manifest's shapes that the correctness gate runs unless others are named: all
// but long, where there are others.
func DefaultShapes(names []string) []string {
	if len(names) < 2 {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == longShape })
}

// describe fills in the manifest's shapes; those that the target refuses (a fault that cannot show
// there) are left out.
func (s *sweep) describe(ctx context.Context, sub *subject, req debugkern.Request) error {
	names, err := s.r.Shapes(ctx, sub.name)
	if err != nil {
		return err
	}
	if s.o.Request.Inputs != "" || len(names) == 0 {
		names = append(names, "") // what a request without a shape means
	}
	for _, shape := range DefaultShapes(names) {
		req.Shape = shape
		about, refused := s.r.Describe(ctx, req)
		if refused != nil {
			err = refused
			continue
		}
		if sub.about == nil {
			sub.about = about
		}
		sub.shapes = append(sub.shapes, shape)
	}
	if sub.about == nil {
		return err // of the last shape: none will do
	}
	return nil
}

// build builds every target once, so that a missing compiler is reported before anything ran.
func (s *sweep) build(ctx context.Context) error {
	all := make([]*subject, 0, len(s.subjects)+1)
	for i := range s.subjects {
		all = append(all, &s.subjects[i])
	}
	if s.baseline != nil {
		all = append(all, s.baseline)
	}
	for _, sub := range all {
		s.report(Progress{Target: sub.name, Gate: "build", Total: s.total})
		req := s.request(sub)
		if sub.shapes[0] != "" {
			req.Shape = sub.shapes[0]
		}
		var err error
		if sub.build, err = s.r.BuildInfo(ctx, req); err != nil {
			if !failed(err) {
				return err
			}
			sub.broken = err.Error()
		}
	}
	for i := range s.subjects {
		s.total += len(s.archs(&s.subjects[i])) + len(s.subjects[i].shapes)*len(s.o.Seeds) + 1
	}
	return nil
}

// archs are the architectures that a target is assembled for.
func (s *sweep) archs(sub *subject) []string {
	if s.o.Archs != nil {
		return s.o.Archs
	}
	return ArchsOf(sub.about.Arch)
}

// request is the run of a target on the default shape.
func (s *sweep) request(sub *subject) debugkern.Request {
	req := s.o.Request
	req.Target, req.Shape, req.Plain = sub.name, "", true
	if sub.clean {
		req.Set, req.Faults = nil, nil
	}
	return req
}

// judge runs the three gates of a target.
func (s *sweep) judge(ctx context.Context, sub *subject) (*TargetDoc, error) {
	t := &TargetDoc{
		Target: sub.name, Kernel: sub.about.Kernel, Variant: sub.about.Variant, Flags: sub.about.Flags,
		Faults: sub.about.Faults, Build: sub.build,
	}
	if sub.broken != "" {
		t.PTXAS = PTXASDoc{Verdict: Red, Reason: sub.broken, Archs: []ArchDoc{}}
		t.Correctness = CorrectnessDoc{
			Verdict: Red, Reason: sub.broken, Reference: sub.reference(), Cells: []CellDoc{},
		}
		t.Performance = PerformanceDoc{Verdict: NotRun, Reason: "the kernel does not build"}
		t.settle()
		return t, nil
	}
	for _, gate := range []struct {
		name    string
		run     func(context.Context, *subject, *TargetDoc) error
		verdict *string
	}{
		{"ptxas", s.ptxas, &t.PTXAS.Verdict}, {"correctness", s.correctness, &t.Correctness.Verdict},
		{"performance", s.performance, &t.Performance.Verdict},
	} {
		if err := gate.run(ctx, sub, t); err != nil {
			return nil, err
		}
		s.report(Progress{
			Target: sub.name, Gate: gate.name, Done: s.done, Total: s.total, Verdict: *gate.verdict,
		})
	}
	t.settle()
	return t, nil
}

// step says that one more unit of work begins.
func (s *sweep) step(sub *subject, gate, detail string) {
	s.report(Progress{Target: sub.name, Gate: gate, Detail: detail, Done: s.done, Total: s.total})
	s.done++
}

// failed reports an error that is the kernel's: it does not build, load or run.
func failed(err error) bool {
	var e *report.Error
	return errors.As(err, &e) && e.Code == report.CodeFailed && !debugkern.OutOfMemory(err)
}

// fileDigest is the SHA-256 of a target that is a file, "" for a name of the catalogue.
func fileDigest(ctx context.Context, path string) (string, error) {
	if path == "" || !strings.ContainsAny(path, `./\`) {
		return "", nil
	}
	f, _, err := file.Open(ctx, path, math.MaxInt64, file.Want{What: "a target or inputs"})
	if err != nil {
		return "", unread(ctx, err)
	}
	defer f.Close()
	h := sha256.New()
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(h, f, 1<<20)
		}
	}
	if !errors.Is(err, io.EOF) {
		return "", unread(ctx, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unread is the error of a file that was not read: a usage error, unless ctx ended.
func unread(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &report.Error{Code: report.CodeUsage, Err: err}
}

// document is the frame that verdicts are filled into.
func (s *sweep) document(env *report.Environment) *Doc {
	seeds := slices.Clone(s.o.Seeds)
	return &Doc{
		Schema: Schema, Against: s.o.Against, Targets: []TargetDoc{}, Rejected: []string{},
		Provenance: Provenance{
			Tool: s.o.Tool, Environment: *env, Seeds: seeds, Warmups: s.o.Warmups, Launches: s.o.Launches,
			FlushL2: s.o.FlushL2, Gate: s.o.Request.Gate.String(), Schedule: s.o.Request.Schedule,
			Inputs: s.o.Request.Inputs,
		},
	}
}
