package checked

import (
	"context"
	"os"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestPadding: reads of undefined values that come to nothing are advice, with and without checkers; those
// that reach the output, and all where another error makes the order matter, stay errors.
func TestPadding(t *testing.T) {
	text, err := os.ReadFile("../check/testdata/reach.ptx")
	if err != nil {
		t.Fatal(err)
	}
	racing := strings.Replace(string(text), "ldmatrix.sync",
		"st.shared.u32 [%s+1024], %t;\n\tldmatrix.sync", 1)
	racing = strings.Replace(racing, "st.global.f32 [%rd4], %f6;",
		"ld.shared.u32 %r2, [%s+1024];\n\tst.global.f32 [%rd4], %f6;", 1)
	for _, c := range []struct {
		text, entry string
		kind        target.Kind
		severity    target.Severity
	}{
		{string(text), "product_row_ok", target.Uninitialised, target.SeverityAdvice},
		{string(text), "product_row_bad", target.Uninitialised, target.SeverityError},
		{string(text), "product_column_ok", target.Uninitialised, target.SeverityAdvice},
		{string(text), "half_reduction_ok", target.Shuffle, target.SeverityAdvice},
		{string(text), "half_reduction_bad", target.Shuffle, target.SeverityError},
		{string(text), "exchange_of_nothing_bad", target.Shuffle, target.SeverityError},
		{racing, "product_row_ok", target.Uninitialised, target.SeverityError},
	} {
		m, err := ptx.Parse("reach.ptx", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		k, err := emu.New(chip.SM90()).Load(context.Background(), m, c.entry)
		if err != nil {
			t.Fatal(err)
		}
		buffer := func(name string, init []byte) target.Arg {
			return target.Arg{
				Name: name, Buffer: &target.Buffer{
					DType: probes.F32, Dims: []int{512}, Bytes: 2048, Init: init, Output: init == nil,
				},
			}
		}
		l := &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1},
			Args: []target.Arg{buffer("in", make([]byte, 2048)), buffer("out", nil)},
		}
		for _, set := range []check.Set{0, check.Registers | check.Overlap, check.All} {
			r, _, err := Launch(context.Background(), k, l, check.Options{Set: set})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range r.Findings {
				if f.Kind != c.kind {
					continue
				}
				found = true
				if advised := strings.Contains(f.Consequence, "reads padding"); f.Severity != c.severity ||
					advised != (c.severity == target.SeverityAdvice) {
					t.Errorf("%s with checkers %b: %s: %s; %s", c.entry, set, f.Severity, f.Message,
						f.Consequence)
				}
			}
			if !found {
				t.Errorf("%s with checkers %b: %+v", c.entry, set, r.Findings)
			}
		}
	}
}
