package debugkern

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// likeGPU is the emulator by a GPU's name. Its instrumented builds fail to load, once the plain one is being
// loaded; that one takes longer.
type likeGPU struct {
	target.Backend
	plan  *probes.Plan
	began chan struct{}
	under atomic.Int32
}

func (g *likeGPU) Info() target.Info { return target.Info{Name: "cuda", Device: "like", Arch: "sm_80"} }

func (g *likeGPU) Load(ctx context.Context, m *ptx.Module, entry string) (target.Kernel, error) {
	if len(m.Func(entry).Params) > len(g.plan.Args) {
		<-g.began
		return nil, errors.New("does not load")
	}
	g.under.Add(1)
	defer g.under.Add(-1)
	close(g.began)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(20 * time.Millisecond):
	}
	return g.Backend.Load(ctx, m, entry)
}

// A run that fails leaves nothing going on: not the plain build that was being made ready beside it.
func TestNothingGoesOnAfterARun(t *testing.T) {
	s := openSession(t)
	req := Request{Target: "stage2", Shape: "small", Backend: "cuda"}
	r, err := s.resolve(t.Context(), req, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &likeGPU{Backend: s.localEmulator(), plan: r.plan, began: make(chan struct{})}
	s.worker = []string{"none"}
	s.gpus[0] = g
	defer delete(s.gpus, 0) // it has nothing to close
	if _, err := s.Run(t.Context(), req, nil); err == nil {
		t.Fatal("it ran")
	}
	if n := g.under.Load(); n != 0 {
		t.Errorf("%d loads go on", n)
	}
}
