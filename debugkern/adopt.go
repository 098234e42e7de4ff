package debugkern

import (
	"context"
	"fmt"

	"tilescope/configs"
	"tilescope/debugkern/build"
	"tilescope/debugkern/check"
	"tilescope/probes"
)

// Adopt makes a launch of a kernel that has no manifest a target, under the name of its file, and returns the request that runs it under
// every checker. It compiles the kernel, whose parameters the arguments are for. Errors are those of CheckKernel that it returns before
// anything is executed.
func (s *Session) Adopt(ctx context.Context, req CheckRequest) (Request, error) {
	b := s.bare(ctx, req, nil)
	for _, step := range []func() error{b.open, b.geometry, b.build, b.arguments, b.limits} {
		if err := step(); err != nil {
			_, err = b.failed(err)
			return Request{}, err
		}
	}
	releaseAll(b.release) // what is generated is made again for each run
	req = b.req
	launch := &configs.Bare{File: req.File, Entry: b.entry.Name, Grid: req.Grid, Block: req.Block, Shared: req.Shared}
	for _, a := range b.args {
		launch.Args = append(launch.Args, a.planned())
	}
	for i := range launch.Args {
		if n := len(launch.Args[i].Contents); n > 0 { // as long as the session has the target
			if _, err := s.mem.Reserve("argument "+launch.Args[i].Name, int64(n)); err != nil {
				return Request{}, overMemory(err)
			}
		}
	}
	m, err := launch.Manifest()
	if err != nil {
		return Request{}, err
	}
	s.catalogue.Adopt(m)
	return Request{
		Target: req.File, Seed: req.Seed, Backend: req.Backend, Builder: req.Builder, Arch: req.Arch, Include: req.Include, Define: req.Define, Std: req.Std, Instantiate: req.Instantiate,
		Timeout: req.Timeout, Device: req.Device, Repeat: req.Repeat, Schedule: req.Schedule, Resident: req.Resident, Cooperative: req.Cooperative,
		Blocks: req.Blocks, Check: EveryChecker, Launch: req.launchWords(),
	}, nil
}

// EveryChecker is the set of all checkers that a run's findings come from.
const EveryChecker = check.All

// launchWords are the options of the command line that give the launch.
func (r CheckRequest) launchWords() []string {
	if build.Bundled(r.File) {
		return nil
	}
	words := []string{"--grid", dimText(r.Grid), "--block", dimText(r.Block)}
	if r.Entry != "" {
		words = append(words, "--entry", r.Entry)
	}
	if r.Shared > 0 {
		words = append(words, "--shared", fmt.Sprint(r.Shared))
	}
	for _, a := range r.Args {
		words = append(words, "--arg", a.Name+"="+a.Value)
	}
	return words
}

// dimText is an extent as options have it: 4 or 4,2,1.
func dimText(d probes.Dim3) string {
	switch {
	case d[2] > 1:
		return fmt.Sprintf("%d,%d,%d", d[0], d[1], d[2])
	case d[1] > 1:
		return fmt.Sprintf("%d,%d", d[0], d[1])
	}
	return fmt.Sprint(d[0])
}

// planned is the argument as a plan has it: a kernel's own text says nothing of what it does with memory.
func (a *bareArg) planned() probes.Arg {
	if !a.buffer() {
		return probes.Arg{Name: a.name, DType: probes.U8, Data: a.scalar}
	}
	out := probes.Arg{Name: a.name, DType: a.dtype, Pointer: true, Dims: a.dims, Role: probes.RoleInOut}
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

// Referenced reports whether a stage of the request's target is compared with a reference. Without one, its verdict is by findings, and it
// should run under the checkers. A target that cannot be opened is left to Run to refuse.
func (s *Session) Referenced(ctx context.Context, req Request) bool {
	r, err := s.resolve(ctx, req, nil)
	return err != nil || r.plan.Referenced()
}
