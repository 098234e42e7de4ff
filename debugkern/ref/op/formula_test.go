package op

import (
	"testing"

	"tilescope/probes"
)

func TestFormula(t *testing.T) {
	stage := func(s string) probes.Operand { return probes.Operand{Stage: probes.Stage(s)} }
	before := func(s string) probes.Operand { return probes.Operand{Stage: probes.Stage(s), Before: true} }
	inner := func(op string, args ...probes.Operand) probes.Operand {
		return probes.Operand{Node: &probes.Node{Op: op, Args: args}}
	}
	words := func(n *probes.Node, w ...string) *probes.Node {
		n.Params.Word = map[string]string{}
		for i := 0; i < len(w); i += 2 {
			n.Params.Word[w[i]] = w[i+1]
		}
		return n
	}
	for _, c := range []struct {
		node *probes.Node
		want string
	}{
		{&probes.Node{Op: "exp_below", Args: []probes.Operand{stage("S"), inner("load",
			probes.Operand{Tensor: "LSE"})}}, "exp(S - LSE)"},
		{words(&probes.Node{Op: "matmul", Args: []probes.Operand{stage("Q"), stage("K")}},
			"transpose", "right", "scale", "softmax_scale"), "Q*Kᵀ*softmax_scale"},
		{&probes.Node{Op: "accumulate", Args: []probes.Operand{inner("matmul", stage("P"), stage("V")),
			before("U"), before("m"), stage("m")}}, "U of the previous tile*exp(m of the previous tile - m) + P*V"},
		{&probes.Node{Op: "accumulate", Args: []probes.Operand{inner("matmul", stage("A"), stage("B")),
			before("C")}}, "C of the previous tile + A*B"},
		{&probes.Node{Op: "divide", Args: []probes.Operand{inner("accumulate", inner("matmul", stage("P"),
			stage("V")), before("U")), stage("l")}}, "(U of the previous tile + P*V)/l"},
		{&probes.Node{Op: "rowmax", Args: []probes.Operand{stage("S"), before("m")}},
			"max(m of the previous tile, maximum of the row of S)"},
		{words(&probes.Node{Op: "reduce", Args: []probes.Operand{stage("X")}}, "how", "mean"),
			"mean of the row of X"},
		{words(&probes.Node{Op: "map", Args: []probes.Operand{stage("x")}}, "expr", "x * x"), "x * x"},
		{words(&probes.Node{Op: "map", Args: []probes.Operand{stage("x")}}, "expr", "2 * silu(x)"),
			"2 * silu(x), where silu(x) = x / (1 + exp(-x))"},
		{&probes.Node{Op: "lse", Args: []probes.Operand{stage("m"), stage("l")}}, "m + log(l)"},
		{&probes.Node{Op: "gather", Args: []probes.Operand{stage("K")}}, ""},
		{&probes.Node{Op: "divide", Args: []probes.Operand{inner("gather", stage("K")), stage("l")}}, ""},
	} {
		if got := Formula(c.node); got != c.want {
			t.Errorf("%s: %q, expected %q", c.node.Op, got, c.want)
		}
	}
}
