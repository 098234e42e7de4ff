package op

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tilescope/probes"
)

func TestSubvalues(t *testing.T) {
	values := map[string]float64{"x": 3, "mean": 1, "var": 4, "S": 2, "m": 5, "l": 4}
	leaf := func(o *probes.Operand) (float64, bool) {
		x, ok := values[o.Stage.String()]
		return x, ok
	}
	stage := func(s string) probes.Operand { return probes.Operand{Stage: probes.Stage(s)} }
	mapped := func(expr, names string, args ...probes.Operand) *probes.Node {
		return &probes.Node{Op: "map", Args: args, Params: probes.Params{
			Word:   map[string]string{"expr": expr, "names": names},
			Number: map[string]float64{"eps": 0.5},
		}}
	}
	for _, c := range []struct {
		node *probes.Node
		want []string
	}{
		{mapped("(x - mean) * rsqrt(var + eps)", "x,mean,var", stage("x"), stage("mean"), stage("var")),
			[]string{"x - mean = 2", "var + eps = 4.5",
				fmt.Sprintf("rsqrt(var + eps) = %.4g", 1/math.Sqrt(4.5))}},
		{mapped("sigmoid(x) * 2", "x", stage("x")),
			[]string{"-x = -3", fmt.Sprintf("exp(-x) = %.4g", math.Exp(-3)),
				fmt.Sprintf("1 + exp(-x) = %.4g", 1+math.Exp(-3)),
				fmt.Sprintf("1 / (1 + exp(-x)) = %.4g", 1/(1+math.Exp(-3)))}},
		{&probes.Node{Op: "divide", Args: []probes.Operand{{Node: &probes.Node{Op: "exp_below",
			Args: []probes.Operand{stage("S"), stage("m")}}}, stage("l")}},
			[]string{"S - m = -3", fmt.Sprintf("exp(S - m) = %.4g", math.Exp(-3))}},
		{mapped("x * y", "x,y", stage("x"), stage("unknown")), nil},
		{&probes.Node{Op: "matmul", Args: []probes.Operand{stage("x"), stage("m")}}, nil},
	} {
		var got []string
		for _, v := range Subvalues(c.node, leaf) {
			got = append(got, fmt.Sprintf("%s = %.4g", v.Text, v.X))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, expected %q", Formula(c.node), got, c.want)
		}
	}
}
