package configs

import (
	"context"
	"errors"
	"testing"

	"tilescope/probes"
)

// ending is a context that ends when it is looked at for the n-th time.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestResolveEndsWithTheContext cancels the evaluation of a manifest over a large grid: it ends with the context's error.
func TestResolveEndsWithTheContext(t *testing.T) {
	cat, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	m, variant, err := cat.Lookup("stage2")
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select(variant, nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	shape := probes.Shape{B: 1, H: 4, S: 200_000, D: 64}
	const plenty = 1 << 30
	whole := &ending{t.Context(), plenty}
	if _, err := sel.ResolveContext(whole, shape); err != nil {
		t.Fatal(err)
	}
	looks := plenty - whole.left
	if looks < 3 {
		t.Fatalf("%d looks at the context: the shape is too small for this test", looks)
	}
	for _, n := range []int{0, looks / 2, looks - 1} {
		if _, err := sel.ResolveContext(&ending{t.Context(), n}, shape); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at look %d of %d: %v", n, looks, err)
		}
	}
}
