package debugkern

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

func plainDoc(res *target.Result, out []byte) *report.Plain {
	sum := sha256.Sum256(out)
	return &report.Plain{OutputSHA256: hex.EncodeToString(sum[:]), Counts: report.Counts(res.Counts)}
}

// TimeOptions say how launches are timed.
type TimeOptions struct {
	Warmups, Launches int
	FlushL2           bool // overwrite the second-level cache before each launch, outside the time measured
}

// Timing is the time of every launch: Micros[i][j] is launch j of request i. Requests were interleaved.
type Timing struct {
	Micros      [][]float64
	Environment report.Environment // clocks before
	ClocksAfter *report.Clocks
}

// Time launches the plain builds of the requests on the GPU of the first, interleaved. reason is why nothing
// was timed: there is no GPU, or the emulator was asked for; then there is no timing and no error. With
// --backend cuda a missing GPU is a *report.Error with CodeUnavailable; a kernel that faults
// one with CodeFailed.
func (s *Session) Time(
	ctx context.Context, reqs []Request, o TimeOptions,
) (t *Timing, reason string, err error) {
	if len(reqs) == 0 {
		return nil, "", errors.New("nothing to time")
	}
	be, reason, err := s.timed(ctx, reqs[0])
	if err != nil || reason != "" {
		return nil, reason, err
	}
	timer, ok := be.(target.Timer)
	if !ok {
		return nil, be.Info().Device + " cannot time launches", nil
	}
	var runs []target.Timed
	for _, req := range reqs {
		run, err := s.prepare(ctx, req, be)
		if err != nil {
			return nil, "", failedBuild(err)
		}
		runs = append(runs, run)
	}
	info := be.Info()
	t = &Timing{Environment: report.Environment{Backend: info.Name, Device: info.Device, Arch: info.Arch}}
	d, real := be.(device)
	if real {
		t.Environment.Driver, t.Environment.Clocks = d.Driver(), s.clocks(d.Device())
	}
	if t.Micros, err = timer.Time(ctx, runs, target.TimeOptions(o)); err != nil {
		return nil, "", timingError(ctx, err)
	}
	if real {
		t.ClocksAfter = s.clocks(d.Device())
	}
	return t, "", nil
}

// timed is the backend to time on, or why there is none.
func (s *Session) timed(ctx context.Context, req Request) (target.Backend, string, error) {
	switch req.Backend {
	case "emu":
		return nil, "the emulator was chosen, and it measures no time", nil
	case "", "auto":
		be, err := s.gpu(ctx, req)
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if err != nil {
			return nil, "no GPU: " + err.Error(), nil
		}
		return be, "", nil
	}
	be, _, err := s.Backends(ctx, req)
	return be, "", err
}

func timingError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &report.Error{Code: report.CodeFailed, Err: fmt.Errorf("time: %w", err)}
}

// prepare loads the plain build of a request and makes its launch, capturing nothing.
func (s *Session) prepare(ctx context.Context, req Request, be target.Backend) (target.Timed, error) {
	e := s.begin(ctx, req, nil)
	in, err := e.inputs()
	if err != nil {
		return target.Timed{}, err
	}
	b, err := s.builder.Kernel(ctx, e.r.sel, buildOptions(req, false))
	if err != nil {
		return target.Timed{}, err
	}
	k, err := e.load(be, b)
	if err != nil {
		return target.Timed{}, err
	}
	l, err := e.r.launch(e.ctx, in, nil, false)
	if err != nil {
		return target.Timed{}, err
	}
	l.Probe, l.Label = nil, e.r.label()+", plain build"
	return target.Timed{Kernel: k, Launch: l}, nil
}

// Count launches the plain build of a request once on the emulator and returns what it executed.
func (s *Session) Count(ctx context.Context, req Request) (*report.Counts, error) {
	run, err := s.prepare(ctx, req, s.localEmulator())
	if err != nil {
		return nil, failedBuild(err)
	}
	res, err := run.Kernel.Launch(ctx, run.Launch)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &report.Error{Code: report.CodeFailed, Err: report.LaunchError(err)}
	}
	counts := report.Counts(res.Counts)
	return &counts, nil
}
