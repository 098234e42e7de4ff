package diagnose

import (
	"testing"

	"tilescope/debugkern/repair"
)

// TestRewritten: an edit of the PTX becomes one of the source's line where the line has exactly one place for
// it, and none where it could be meant in two.
func TestRewritten(t *testing.T) {
	less := repair.Cure{Kind: repair.Comparison, From: "gt", To: "ge"}
	log2 := repair.Cure{Kind: repair.Constant, From: "1.44000006", To: "1.44269504"}
	tensor := repair.Cure{Kind: repair.Operand, From: "Y", To: "X"}
	minus := repair.Cure{Kind: repair.Operation, From: "add", To: "sub"}
	swapped := repair.Cure{Kind: repair.Operand, What: repair.Swapped}
	for _, c := range []struct {
		cure      repair.Cure
		line, now string
	}{
		{less, "if (lane <= cols) s = x;", "if (lane < cols) s = x;"},
		{less, "for (int i = 0; i < static_cast<int>(n); i++) {",
			"for (int i = 0; i <= static_cast<int>(n); i++) {"},
		{less, "p->x = row >= rows ? a << 2 : b;  // one < more",
			"p->x = row > rows ? a << 2 : b;  // one < more"},
		{less, "if (a < b && c < d) x = 0;", ""},
		{less, "x = y << 3;", ""},
		{repair.Cure{Kind: repair.Comparison, From: "lt", To: "gt"}, "if (a < b) x = 0;", ""},
		{log2, "y = exp2f(x * 1.44f);", "y = exp2f(x * 1.44269504f);"},
		{log2, "y = exp2f(x * 1.45f);", ""},
		{log2, "y = 1.44f * x + 1.44f;", ""},
		{repair.Cure{Kind: repair.Constant, From: "2", To: "1"}, "y = x * 2.0f;", "y = x * 1.0f;"},
		{repair.Cure{Kind: repair.Constant, From: "1", To: "-Inf"}, "m = 1.0f;", "m = -INFINITY;"},
		{repair.Cure{Kind: repair.Constant, From: "1", To: "+Inf"}, "m = 1.0f;", "m = INFINITY;"},
		{swapped, "const int last = key0 - query;  // - 1", "const int last = query - key0;  // - 1"},
		{swapped, "x = a + b - c;", ""},
		{swapped, "x = a - b * c;", ""},
		{swapped, "if (n - first < last) x = a - b;", ""},
		{minus, "y = __fadd_rn(x, l);", "y = __fsub_rn(x, l);"},
		{minus, "y = __fadd_rn(__fadd_rn(x, a), l);", ""},
		{tensor, "s += Y[at] * Ys;  // of Y", "s += X[at] * Ys;  // of Y"},
		{tensor, "Y[at] = Y[0];", ""},
		{repair.Cure{Kind: repair.Operand}, "Y[at] = 0;", ""},
		{repair.Cure{Kind: repair.Rounding, From: "rz", To: "rn"}, "y = __fmul_rz(x, a);",
			"y = __fmul_rn(x, a);"},
		{repair.Cure{Kind: repair.Superfluous}, "y = __fmul_rn(x, a);", ""},
	} {
		now, ok := rewritten(c.line, &c.cure)
		if ok != (c.now != "") || ok && now != c.now {
			t.Errorf("%s of %q: %q, %t, want %q", c.cure.Kind, c.line, now, ok, c.now)
		}
	}
}

// TestConditionText: what a condition leaves out is what follows a continue, and not the continue.
func TestConditionText(t *testing.T) {
	for _, c := range []struct{ what, line, want string }{
		{repair.Always, "if (kv * N >= end) continue;  // nothing", "without the `continue`"},
		{repair.Never, "} else if (row >= rows) { return; }", "the `return` in every case"},
		{repair.Always, "if (row < rows) sum += x;", repair.Always},
		{"1 in place of 2", "if (row >= 2) break;", "1 in place of 2"},
	} {
		if got := conditionText(c.what, c.line); got != c.want {
			t.Errorf("%q at %q: %q, want %q", c.what, c.line, got, c.want)
		}
	}
}

// TestSigned: the operators of a comparison are named where the line shows which one the edit exchanges.
func TestSigned(t *testing.T) {
	for _, c := range []struct{ was, now, with string }{
		{"if (key > S) s = 0;", "if (key >= S) s = 0;", ">= in place of >"},
		{"if (key < S || r > c) s = 0;", "if (key <= S || r >= c) s = 0;", repair.OneOff},
		{"if (key < S) s = 0;", "if (key < T) s = 0;", repair.OneOff},
	} {
		x := Cause{
			Rewrite: &Rewrite{Was: c.was, Now: c.now},
			Proof:   []string{"with " + repair.OneOff + " at k.cu:7"},
		}
		x.signed()
		if want := "with " + c.with + " at k.cu:7"; x.Proof[0] != want {
			t.Errorf("%s: %s, expected %s", c.now, x.Proof[0], want)
		}
	}
}
