package debugkern

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/check"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// recordedSession is a session whose budget notes what is asked for. refuse is asked with the number of the
// reservation, from 1; nil: none is refused.
func recordedSession(t *testing.T, refuse func(n int) bool) (s *Session, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var parts []string
	b := budget.Failing(1<<40, func(part string, _ int64) bool {
		mu.Lock()
		defer mu.Unlock()
		parts = append(parts, part)
		return refuse != nil && refuse(len(parts))
	})
	s, err := Open(t.Context(), Options{Config: &configs.Config{CaptureMax: 1 << 50}, Memory: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(parts) }
}

// TestEveryPartAsksFirst: whatever a session allocates by a size from input is reserved by name.
func TestEveryPartAsksFirst(t *testing.T) {
	small := Request{Target: "stage2", Shape: "single16", Backend: "emu"}
	checked := small
	checked.Check, checked.Plain = check.All, true
	run := func(s *Session, req Request) (*Run, error) { return s.Run(context.Background(), req, nil) }
	for name, c := range map[string]struct {
		do   func(s *Session) error
		want []string
	}{
		"a run": {func(s *Session) error { _, err := run(s, small); return err },
			[]string{"inputs", "the launch of ", "captures and outputs of ", "reference and judging"}},
		"an inputs file": {func(s *Session) error {
			req := small
			req.Inputs = "testdata/h200_validation.npz"
			_, err := run(s, req)
			return err
		}, []string{"array Q"}},
		"injected tiles": {func(s *Session) error {
			req := small
			req.Gate = "pv"
			_, err := run(s, req)
			return err
		}, []string{"arguments"}},
		"checkers": {func(s *Session) error { _, err := run(s, checked); return err }, []string{"checkers"}},
		"a fragment map": {
			func(s *Session) error {
				_, err := s.Lut(context.Background(), small, fragment.Filter{})
				return err
			},
			[]string{"the launch of accum_lut", "captures and outputs of accum_lut"},
		},
		"a kernel's table": {func(s *Session) error {
			r, err := run(s, Request{
				Target: "stage3b", Shape: "small", Backend: "emu", Stages: []probes.Stage{"O"},
			})
			if err == nil {
				_, err = r.Tables(context.Background())
			}
			return err
		}, []string{"the launch of accum_lut"}},
		"a block under a person's hand": {func(s *Session) error {
			r, err := run(s, small)
			if err == nil {
				_, err = r.Walk(context.Background(), r.Blocks()[0])
			}
			return err
		}, []string{"executing block 0,0,0 of "}},
	} {
		s, asked := recordedSession(t, nil)
		if err := c.do(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !slices.ContainsFunc(asked(), func(part string) bool {
				return strings.HasPrefix(part, want)
			}) {
				t.Errorf("%s: nothing was reserved for %q: %q", name, want, asked())
			}
		}
	}
}

// TestEarlierRunsCount: captures, outputs and inputs of a run that somebody keeps are not there for the next
// one, until it is let go.
func TestEarlierRunsCount(t *testing.T) {
	s := limitedSession(t, 1<<30)
	req := Request{Target: "stage2", Shape: "small", Backend: "emu"}
	first, err := s.Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.mem.Collect()
	kept := s.mem.Used()
	if least := inputBytes(first.Plan) + int64(first.state.r.layout.CaptureBytes); kept < least {
		t.Errorf("%d bytes are reserved for a run that has at least %d", kept, least)
	}
	second, err := s.Run(t.Context(), req, nil) // of the same inputs
	if err != nil {
		t.Fatal(err)
	}
	s.mem.Collect()
	if both := s.mem.Used(); both <= kept || both >= 2*kept {
		t.Errorf("%d bytes for one run, %d for two of the same inputs", kept, both)
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	first, second = nil, nil
	s.forgetInputs()
	if s.mem.Collect(); s.mem.Used() != 0 {
		t.Errorf("%d bytes are reserved once nobody has the runs", s.mem.Used())
	}
}

// TestEveryReservationFails refuses each reservation of a run, with checkers and the plain build, in turn:
// the run fails with exit code 4 and what asked, and nothing stays reserved.
func TestEveryReservationFails(t *testing.T) {
	req := Request{Target: "stage2", Shape: "single16", Backend: "emu", Check: check.All, Plain: true}
	for n := 1; n < math.MaxInt; n++ {
		s, asked := recordedSession(t, func(i int) bool { return i == n })
		_, err := s.Run(t.Context(), req, nil)
		if len(asked()) < n {
			if err != nil {
				t.Errorf("nothing refused: %v", err)
			}
			if n < 6 {
				t.Errorf("a run makes %d reservations alone: %q", n-1, asked())
			}
			return
		}
		part := asked()[n-1]
		var coded *report.Error
		var full *budget.Exhausted
		switch {
		case !errors.As(err, &coded) || coded.Code != report.CodeFailed || coded.Report == nil ||
			!errors.As(err, &full):
			t.Errorf("reservation %d, %s: %v", n, part, err)
		case full.Part != part || !strings.Contains(err.Error(), "out of memory: "+part):
			t.Errorf("reservation %d, %s: the error names %s: %v", n, part, full.Part, err)
		}
		s.forgetInputs()
		if s.mem.Collect(); s.mem.Used() != 0 {
			t.Errorf("reservation %d, %s: %d bytes stay reserved", n, part, s.mem.Used())
		}
	}
}
