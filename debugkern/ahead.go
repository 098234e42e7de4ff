package debugkern

import (
	"context"
	"runtime"
	"sync/atomic"

	"tilescope/debugkern/join"
)

// Ahead makes ready what requests would launch, their builds compiled and loaded, so that a Run of one of
// them has only to launch and compare. It works through them in order, on a few processors, and launches none
// of them; what does not build is left for a Run to say. Once ctx ends nothing more is begun; what is under
// way is finished, for a Run that comes meanwhile waits for it, unless the session is closed.
func (s *Session) Ahead(ctx context.Context, reqs []Request) {
	under, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	var next atomic.Int64
	var wg join.Group
	for range max(1, min(4, runtime.GOMAXPROCS(0)/3, len(reqs))) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(reqs) && ctx.Err() == nil &&
				under.Err() == nil; i = int(next.Add(1)) - 1 {
				s.ready(under, reqs[i])
			}
		})
	}
	wg.Wait()
}

// ready builds and loads what a request would launch.
func (s *Session) ready(ctx context.Context, req Request) {
	e := s.begin(ctx, req, nil)
	var err error
	if req.Inputs != "" {
		_, err = e.inputs() // the file defines the shape
	} else {
		e.r, err = s.resolve(ctx, req, nil, nil)
	}
	if err != nil {
		return
	}
	if e.backend, e.st.emulator, err = s.Backends(ctx, req); err != nil || e.build() != nil {
		return
	}
	_ = e.mapFragments() // a Run reports the error, here and below
	if e.plainRuns() && e.twoBuilds() {
		_, _ = e.plainKernel()
	}
}
