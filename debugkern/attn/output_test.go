package attn_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/attn"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// TestOutput: O of the mirrored reference passes the gate, within what quantising alone costs, and the rules
// of others are evaluated; a spoilt O fails.
func TestOutput(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	r, in := reftest.New(t, p, 5, ref.Options{})
	e4 := configstest.Extents(p.Shape)
	o := make([]float64, e4.Elems())
	for i := range p.Grid.Count() {
		b := reftest.Copy(r, r.Mirror(p.Grid.At(i)))
		copy(o[e4.At(b.Batch, b.Head, b.Query, 0):], b.At("O", 0).Data[:b.Rows*e4.D])
	}
	w, err := attn.NewWhole(context.Background(), p, in)
	if err != nil {
		t.Fatal(err)
	}
	e := w.Output(p, o)
	if !e.OK || e.MaxAbs > 0.04 || e.MeanAbs > 0.006 || e.MaxAbs == 0 || e.Cosine < 0.999 {
		t.Fatalf("%+v", e)
	}
	sum := 0
	for _, n := range e.Histogram {
		sum += n
	}
	if sum != len(o) {
		t.Errorf("the histogram holds %d of %d errors", sum, len(o))
	}
	rules := w.Rules(p, o)
	if !rules.Flash.Holds() || !rules.Triton.Holds() || rules.Flash.Error == 0 {
		t.Errorf("%+v", rules)
	}
	if r := rules.PyTorch; r.Holds() || r.Stored <= r.Limit ||
		!strings.Contains(r.Context(), "stricter than this kernel's dtypes allow") {
		t.Errorf("PyTorch's limits against f16 storage: %+v, %q", r, r.Context())
	}
	if rules.Flash.Context() != "" || rules.Triton.Context() != "" {
		t.Errorf("rules that hold need no reason: %q %q", rules.Flash.Context(), rules.Triton.Context())
	}
	kept := o[77]
	o[77] += 0.5 // not from storage: no excuse
	if r := w.Rules(p, o).Triton; r.Holds() || strings.Contains(r.Context(), "stricter") ||
		!strings.Contains(r.Context(), "made by this kernel") {
		t.Errorf("a spoilt O: %+v, %q", r, r.Context())
	}
	o[77] = kept
	o[77] = math.NaN()
	if e = w.Output(p, o); e.OK || e.Nonfinite != 1 || !math.IsNaN(e.Cosine) ||
		e.NaN != 1 {
		t.Errorf("a NaN in O: %+v", e)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = attn.NewWhole(ctx, p, in); err == nil {
		t.Error("cancelled, yet no error")
	}
	hidden := *p
	hidden.Positions = append(slices.Clone(p.Positions),
		probes.Position{Name: "hidden_rows", At: probes.Fixed(1)}, probes.Position{
			Name: "first_key", At: probes.Fixed(32),
		})
	if attn.WholeKey(p) == attn.WholeKey(&hidden) ||
		attn.WholeKey(p) != attn.WholeKey(configstest.Plan(t, "stage3a", "validation", probes.GateNone)) {
		t.Error("the key has what attention does not depend on, or lacks what it does")
	}
}
