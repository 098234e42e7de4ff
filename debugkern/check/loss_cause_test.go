package check

import (
	"testing"

	"tilescope/debugkern/ptx"
)

// TestLossCause: bits are lost by underflow only where both the result and the exact one are that small. Of
// two numbers that should be equal the difference is none that underflows.
func TestLossCause(t *testing.T) {
	value := func(got, exact float64) operand { return operand{got: got, exact: exact} }
	for _, c := range []struct {
		to   ptx.Type
		op   string
		r    operand
		ops  []operand
		want string
	}{
		{ptx.F32, "sub", value(-0.0009765625, 0),
			[]operand{value(1.8388671875, 1.839), value(1.83984375, 1.839)}, "cancellation"},
		{ptx.F16, "cvt", value(0, 1e-9), []operand{value(1e-9, 1e-9)}, "underflow"},
		{ptx.F16, "cvt", value(0.25, 0.2501), []operand{value(0.2501, 0.2501)}, "rounding"},
	} {
		if got := lossCause(numberType{of: c.to}, &ptx.Instr{Op: c.op}, c.r, c.ops); got != c.want {
			t.Errorf("%s of %v: %q, expected %q", c.op, c.r, got, c.want)
		}
	}
}
