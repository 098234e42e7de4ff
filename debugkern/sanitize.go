package debugkern

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/build"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Sanitized is what one of compute-sanitizer's tools reported of a launch; Complaint is one thing that it
// found.
type (
	Sanitized = cuda.Sanitized
	Complaint = cuda.Complaint
)

// SanitizerTools are the tools that Sanitize runs of itself; AllSanitizerTools are those that it can run.
var (
	SanitizerTools    = []string{"memcheck", "racecheck"}
	AllSanitizerTools = []string{"memcheck", "racecheck", "initcheck", "synccheck"}
)

// Second is what one of compute-sanitizer's tools said of a launch, with the findings that
// are about the same.
type Second struct {
	Folded
	Blocks     int         `json:"blocks,omitempty"` // of the launch that it watched; 0: all
	Version    string      `json:"version"`
	Complaints []Complaint `json:"complaints"`
	NotRun     string      `json:"not_run"` // why, "" where it ran
	Says       string      `json:"says"`    // "racecheck: 3 confirmed, 1 only ours, 0 only theirs"
	Seconds    float64     `json:"seconds"`
}

// SecondOpinion folds what a tool said, or why it did not run, with the findings of the same launch. An error
// that is no reason of the tool's (ctx ended, a bug) is returned.
func SecondOpinion(
	ctx context.Context, findings []report.Finding, tool string, run func() (*Sanitized, error),
) (Second, error) {
	start := time.Now()
	out, err := run()
	none := Folded{Tool: tool, Confirmed: []Confirmation{}, OnlyOurs: []int{}, OnlyTheirs: []int{}}
	var coded *report.Error
	switch {
	case err == nil:
		f := Fold(findings, out)
		s := Second{
			Folded: *f, Version: out.Version, Complaints: out.Complaints, Says: f.Summary(),
			Seconds: time.Since(start).Seconds(),
		}
		if s.Complaints == nil {
			s.Complaints = []Complaint{}
		}
		return s, nil
	case ctx.Err() == nil && errors.As(err, &coded) && coded.Code != report.CodeInternal:
		return Second{
			Folded: none, Complaints: []Complaint{}, NotRun: err.Error(),
			Says: tool + ": not run: " + err.Error(),
		}, nil
	}
	return Second{}, err
}

// Sanitize runs one of compute-sanitizer's tools on one launch of a run's kernel: of the build without
// probes, under a gate of the instrumented one, which alone can be fed. It takes a GPU, whatever the run
// executed on; the device is the request's. Without compute-sanitizer or a driver it is a *report.Error with
// CodeUnavailable that names what to install.
func (s *Session) Sanitize(ctx context.Context, r *Run, tool string) (*Sanitized, error) {
	out, _, err := s.SanitizePart(ctx, r, tool, nil, 0)
	return out, err
}

// SanitizePart is Sanitize of as few blocks as the launch can be restricted to that have some blocks among
// them, within a time limit (0: the default); it returns how many blocks were launched. Blocks that read the
// size of the grid, wait for each other or run in clusters need all of it.
func (s *Session) SanitizePart(
	ctx context.Context, r *Run, tool string, blocks []probes.Dim3, limit time.Duration,
) (*Sanitized, int, error) {
	st := r.state
	if st == nil {
		return nil, 0, errors.New("sanitize: this run was not made by a session")
	}
	b, l, err := s.watchedLaunch(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	if st.r.plan.Gate.Name == probes.GateNone { // what a gate captures is laid out over the whole grid
		restrict(b.Module, l, blocks)
	}
	out, err := s.sanitize(ctx, tool, r.Request.Device, limit, b.Module, st.r.plan.Entry, l)
	return out, l.Grid.Count(), err
}

// restrict makes the grid of a launch as small as it can be with some blocks in it, where no code of the
// module can notice.
func restrict(m *ptx.Module, l *target.Launch, blocks []probes.Dim3) {
	if len(blocks) == 0 || l.Cooperative || l.Ordered || readsGrid(m) {
		return
	}
	var hi probes.Dim3
	for _, b := range blocks {
		for i := range hi {
			hi[i] = max(hi[i], min(b[i]+1, l.Grid[i]))
		}
	}
	l.Grid, l.Only = hi, nil
}

// readsGrid reports whether a module's code reads the size of the grid, or runs in clusters of blocks.
func readsGrid(m *ptx.Module) bool {
	for _, f := range m.Funcs {
		if slices.ContainsFunc(f.Directives, func(d ptx.Directive) bool {
			return strings.Contains(d.Name, "cluster")
		}) {
			return true
		}
		for _, in := range f.Body {
			if slices.ContainsFunc(in.Args, func(a ptx.Operand) bool {
				return a.Kind == ptx.OpSpecial &&
					(a.Name == "%nctaid" || a.Name == "%gridid" || strings.Contains(a.Name, "cluster"))
			}) {
				return true
			}
		}
	}
	return false
}

// SanitizeLaunch runs one of compute-sanitizer's tools on a launch of a module's entry on a GPU. Errors are
// Sanitize's; a tool that Sanitize cannot run is one of CodeUsage.
func (s *Session) SanitizeLaunch(
	ctx context.Context, tool string, device int, m *ptx.Module, entry string, l *target.Launch,
) (*Sanitized, error) {
	return s.sanitize(ctx, tool, device, 0, m, entry, l)
}

func (s *Session) sanitize(
	ctx context.Context, tool string, device int, limit time.Duration, m *ptx.Module, entry string,
	l *target.Launch,
) (*Sanitized, error) {
	if !slices.Contains(AllSanitizerTools, tool) {
		return nil, report.Usagef("sanitizer tool %q: expected %s", tool,
			strings.Join(AllSanitizerTools, ", "))
	}
	cfg := cuda.SanitizerConfig{
		Tools: s.builder.Tools(), Command: s.launcher, Device: device, Timeout: limit,
	}
	switch h := s.far(); {
	case h != nil:
		cfg.Worker = h
	case len(s.launcher) == 0:
		return nil, report.Unavailablef("%s: this program cannot start a launch to be watched", tool)
	}
	out, err := cuda.Sanitize(ctx, cfg, tool, m, entry, l)
	var coded *report.Error
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, cuda.ErrNoSanitizer), errors.Is(err, cuda.ErrNoDriver),
		errors.Is(err, cuda.ErrNoDevice):
		return nil, report.Unavailablef("%w", err)
	case errors.As(unreachable(err), &coded):
		return nil, coded
	}
	return nil, &report.Error{Code: report.CodeFailed, Err: err}
}

// watchedLaunch is the launch that a tool watches.
func (s *Session) watchedLaunch(ctx context.Context, r *Run) (*build.Build, *target.Launch, error) {
	st := r.state
	if st.r.plan.Gate.Name != probes.GateNone {
		l := *st.launch
		l.Observe, l.OnLaunch, l.Repeat = nil, nil, 1
		return st.build, &l, nil
	}
	b, err := s.builder.Kernel(ctx, st.r.sel, buildOptions(r.Request, false))
	if err != nil {
		return nil, nil, failedBuild(err)
	}
	l, err := st.r.launch(ctx, st.inputs, st.ref, false)
	if err != nil {
		return nil, nil, err
	}
	l.Probe = nil
	return b, l, nil
}

// Folded is which findings and complaints are about the same: confirmed, only ours, only theirs. Numbers are
// indices.
type Folded struct {
	Tool      string         `json:"tool"`
	Confirmed []Confirmation `json:"confirmed"`
	// OnlyOurs are findings that the tool could have made and did not; what it does not look for (races in
	// global memory, barriers) is neither here nor there.
	OnlyOurs   []int `json:"only_ours"`
	OnlyTheirs []int `json:"only_theirs"`
}

// Confirmation is a finding and a complaint about the same code, or about the same argument where
// either has no line.
type Confirmation struct {
	Finding   int `json:"finding"`
	Complaint int `json:"complaint"`
}

// Fold compares what a tool reported with a run's findings. It depends on its arguments alone.
func Fold(findings []report.Finding, s *Sanitized) *Folded {
	out := &Folded{Tool: s.Tool, Confirmed: []Confirmation{}, OnlyOurs: []int{}, OnlyTheirs: []int{}}
	confirmed := map[int]bool{}
	for j := range s.Complaints {
		c := &s.Complaints[j]
		if c.Kind == "other" || ownProbe(c) {
			continue // no access of the kernel's: a call that failed because of one, or a probe's
		}
		matched := false
		for i := range findings {
			if f := &findings[i]; watchedBy(f, s.Tool) && about(f, c) {
				out.Confirmed = append(out.Confirmed, Confirmation{i, j})
				confirmed[i], matched = true, true
			}
		}
		if !matched {
			out.OnlyTheirs = append(out.OnlyTheirs, j)
		}
	}
	for i := range findings {
		if watchedBy(&findings[i], s.Tool) && !confirmed[i] {
			out.OnlyOurs = append(out.OnlyOurs, i)
		}
	}
	return out
}

// ownProbe reports an access made by tilescope.cuh.
func ownProbe(c *Complaint) bool { return target.IsProbe(c.At.File) }

// watchedBy reports that a tool looks for what the finding is about.
func watchedBy(f *report.Finding, tool string) bool {
	switch tool {
	case "memcheck":
		return f.Kind == string(target.OutOfBounds) || f.Kind == string(target.Misaligned)
	case "racecheck":
		return (f.Kind == string(target.Race) || f.Kind == string(target.CpAsync)) &&
			(f.Space == "shared" || f.Space == "")
	case "initcheck":
		return f.Kind == string(target.Uninitialised) && f.Space == "global"
	case "synccheck":
		return f.Kind == string(target.Barrier) || f.Kind == string(target.Deadlock) ||
			f.Kind == string(target.MBarrier)
	}
	return false
}

// about reports that a finding and a complaint are about the same code. A race has to agree on both sides.
func about(f *report.Finding, c *Complaint) bool {
	if c.Kind == "race" {
		if f.Source == nil || f.Other == nil {
			return false
		}
		for _, o := range c.Others {
			if at(f.Source, c.At) && at(f.Other, o) || at(f.Source, o) && at(f.Other, c.At) {
				return true
			}
		}
		return false
	}
	if f.Kind == string(target.MBarrier) {
		// The tool calls them barriers, and reports one of the two places that the finding has.
		return c.Kind == string(target.Barrier) && (called(f.Source, c) || called(f.Other, c))
	}
	if f.Kind != c.Kind || f.Space != "" && c.Space != "" && f.Space != c.Space {
		return false
	}
	if f.Source != nil && c.At.Line > 0 {
		return at(f.Source, c.At) || slices.ContainsFunc(c.Frames, func(p cuda.SanitizerPlace) bool {
			return at(f.Source, p)
		})
	}
	return c.Argument != "" && f.Variable == c.Argument
}

// called reports that a place of a finding is that of a complaint, by the same calls: every mbarrier of a
// kernel is used in the same few functions, and only their calls differ.
func called(s *report.Source, c *Complaint) bool {
	if s == nil || !at(s, c.At) {
		return false
	}
	calls := s.Calls.Sites()
	if len(calls) != len(c.Frames) {
		return false
	}
	for i, call := range calls { // the outermost call comes first, and last in a complaint
		if !sameLine(call.File, call.Line, c.Frames[len(c.Frames)-1-i]) {
			return false
		}
	}
	return true
}

func at(s *report.Source, p cuda.SanitizerPlace) bool { return sameLine(s.File, s.Line, p) }

func sameLine(file string, line int, p cuda.SanitizerPlace) bool {
	return p.Line > 0 && line == p.Line && path.Base(slashed(file)) == path.Base(slashed(p.File))
}

func slashed(file string) string { return strings.ReplaceAll(file, `\`, "/") }

// Summary puts a folding on one line.
func (f *Folded) Summary() string {
	return fmt.Sprintf("%s: %d confirmed, %d only ours, %d only theirs", f.Tool, len(f.Confirmed),
		len(f.OnlyOurs), len(f.OnlyTheirs))
}
