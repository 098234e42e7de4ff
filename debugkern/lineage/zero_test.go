package lineage_test

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// words is a Domain of texts: what a value is made of.
type words struct{}

func (words) Leaf(_, e int) string              { return fmt.Sprintf("x%d", e) }
func (words) Scalar(_, _, _ int) string         { return "" }
func (words) Const(b uint64, _ ptx.Type) string { return fmt.Sprintf("#%x", b) }
func (words) Index() string                     { return "?" }
func (words) Op(op *lineage.Op, in []string) string {
	return op.Form.Name + "(" + strings.Join(in, " ") + ")"
}
func (words) Dot(*lineage.Op, string, []string, []string) string { return "dot" }
func (words) Join(_ *lineage.Op, ps []lineage.Piece[string]) string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%s[%d]@%d", p.Of, p.From, p.At))
	}
	return "join(" + strings.Join(out, " ") + ")"
}

// TestZeros: zeros that a copy of no bytes leaves, whatever its address, are zeros in each half of a word,
// and so are those of a constant; a word that or makes of two halves is these.
func TestZeros(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
	}{
		{"copy of no bytes", `
	mov.u32 %r13, 0;
	mov.u64 %rd7, 64;
	cp.async.ca.shared.global [%r4], [%rd7], 4, %r13;
	cp.async.wait_all;
	bar.sync 0;
	ld.shared.b32 %r20, [%r4];
	mov.b32 {%h1, %h2}, %r20;
	ld.global.b16 %h3, [%rd4];
	add.f16 %h4, %h3, %h2;
	st.global.b16 [%rd5], %h4;`, "add(x0 #0)"},
		{"constant", `
	mov.u32 %r20, 0;
	mov.b32 {%h1, %h2}, %r20;
	ld.global.b16 %h3, [%rd4];
	add.f16 %h4, %h3, %h1;
	st.global.b16 [%rd5], %h4;`, "add(x0 #0)"},
		{"halves", `
	ld.global.u16 %r20, [%rd4];
	ld.global.u16 %r21, [%rd4+2];
	shl.b32 %r21, %r21, 16;
	or.b32 %r22, %r20, %r21;
	mov.b32 {%h1, %h2}, %r22;
	add.f16 %h4, %h1, %h2;
	st.global.b16 [%rd5], %h4;`, "add(x0 x1)"},
	} {
		p := &program{name: "zeros", body: c.body, in: 64, out: 64, dtype: probes.F16, threads: 1}
		k := p.load(t)
		trace, err := lineage.Record(t.Context(), k, p.launch(p.input()), probes.Dim3{}, lineage.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := ""
		err = lineage.Interpret(t.Context(), trace, lineage.Domain[string](words{}), nil,
			func(_ *lineage.Store, v string) { got = v })
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}
