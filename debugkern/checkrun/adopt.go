package checkrun

import (
	"context"
	"fmt"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Adopt makes a launch of a kernel that has no manifest a target of the session, under the name of its file,
// and returns the request that runs it under every checker. It compiles the kernel, whose parameters the
// arguments are for. Errors are those of Kernel that it returns before anything is executed.
func Adopt(ctx context.Context, s *debugkern.Session, req Request) (debugkern.Request, error) {
	l := begin(ctx, s, req, nil)
	for _, step := range []func() error{
		l.parseExpectations, l.open, l.geometry, l.build, l.arguments, l.limits, l.bindExpectations,
	} {
		if err := step(); err != nil {
			_, err = l.failed(err)
			return debugkern.Request{}, err
		}
	}
	l.reserved.Release() // what is generated is made again for each run
	req = l.req
	m, err := l.asManifest()
	if err != nil {
		return debugkern.Request{}, err
	}
	s.Catalogue().Adopt(m)
	out := req.asRun()
	out.Check, out.Launch = debugkern.EveryChecker, req.launchWords()
	return out, nil
}

// asManifest is the launch as a manifest without stages.
func (l *launch) asManifest() (*configs.Manifest, error) {
	given := &configs.FileLaunch{
		File: l.req.File, Entry: l.entry.Name, Grid: l.req.Grid, Block: l.req.Block, Shared: l.req.Shared,
		Cluster: l.req.Cluster,
	}
	for _, a := range l.args {
		planned := a.planned()
		if n := len(planned.Contents); n > 0 { // as long as the session has the target
			if _, err := l.s.Memory().Reserve("argument "+planned.Name, int64(n)); err != nil {
				return nil, err
			}
		}
		given.Args = append(given.Args, planned)
	}
	return given.Manifest()
}

// launchWords are the options of the command line that give the launch.
func (r *Request) launchWords() []string {
	if build.Bundled(r.File) {
		return nil
	}
	words := []string{"--grid", r.Grid.Short(), "--block", r.Block.Short()}
	if r.Entry != "" {
		words = append(words, "--entry", r.Entry)
	}
	if r.Shared > 0 {
		words = append(words, "--shared", fmt.Sprint(r.Shared))
	}
	if r.Cluster.Count() > 1 {
		words = append(words, "--cluster", r.Cluster.Short())
	}
	for _, a := range r.Args {
		words = append(words, "--arg", a.Name+"="+a.Value)
	}
	for _, x := range r.Expect {
		words = append(words, debugkern.ExpectOption, x)
	}
	return words
}

// Expectations checks what the words of an adopted launch state its outputs to be made of, on the emulator,
// and adds to the document of the launch's run what differs, as findings, and as notes how much was checked.
// It does nothing where they state nothing.
func Expectations(
	ctx context.Context, s *debugkern.Session, req debugkern.Request, rep *report.Run,
	progress func(debugkern.Progress),
) error {
	expect := req.Expectations()
	if len(expect) == 0 {
		return nil
	}
	req.Backend = "emu"
	c, err := Target(ctx, s, req, expect, progress)
	if err != nil {
		return err
	}
	for _, f := range c.Doc.Findings {
		if f.Kind != string(target.Expectation) {
			continue
		}
		if rep.Findings = append(rep.Findings, f); f.Severity == string(target.SeverityError) {
			rep.Verdict = report.Diverge
		}
	}
	for i := range c.Doc.Coverage.Expectations {
		rep.Build.Notes = append(rep.Build.Notes, "expected: "+c.Doc.Coverage.Expectations[i].Text())
	}
	return nil
}

// planned is the argument as a plan has it: a kernel's own text says nothing of what it does with memory.
func (a *arg) planned() probes.Arg {
	if !a.isMemory() {
		out := probes.Arg{Name: a.name, DType: probes.U8, Data: a.scalar}
		if m := a.tensor; m != nil {
			out.Map = &probes.ArgMap{Map: m.Map, Of: m.Of, Skip: m.Skip}
		}
		return out
	}
	out := probes.Arg{Name: a.name, DType: a.dtype, Pointer: true, Dims: a.dims, Role: probes.RoleInOut}
	if a.into != nil {
		out.Into = []probes.ArgPlace{}
	}
	for _, at := range a.into {
		out.Into = append(out.Into, probes.ArgPlace(at))
	}
	switch {
	case a.init != nil && (a.value == nil || a.value.File != nil):
		out.Contents, out.Known = a.init, a.written
	case a.value == nil: // memory of a bundle
		out.Fill = probes.Fill{Kind: probes.FillUnwritten}
	default:
		out.Fill = a.value.Buffer.Fill
	}
	if a.after != nil {
		out.After, out.AfterKnown = a.after.Data, a.after.Known
	}
	return out
}
