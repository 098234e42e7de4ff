package op

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilescope/probes"
)

// Formula writes what a node computes, in the names of stages and inputs: "exp(S - m)", "U of the tile
// before*exp(m of the previous tile - m) + P*V". It is "" for a node that chooses or permutes elements, and
// for one made of such nodes.
func Formula(n *probes.Node) string {
	text, _ := formulaOf(n)
	for _, name := range slices.Sorted(maps.Keys(composites)) {
		if c := composites[name]; strings.Contains(text, name+"(") {
			text += fmt.Sprintf(", where %s(%s) = %s", name, strings.Join(c.params, ", "), c.body)
		}
	}
	return text
}

// formulaOf is Formula, and whether the text is one thing that needs no brackets.
func formulaOf(n *probes.Node) (text string, alone bool) {
	args := make([]string, len(n.Args))
	for i := range n.Args {
		if args[i] = operandText(&n.Args[i], n.Op); args[i] == "" {
			return "", false
		}
	}
	word := n.Params.Word
	switch {
	case n.Op == "load":
		return args[0], true
	case n.Op == "cast" && len(args) == 1:
		return args[0], false
	case n.Op == "exp_below" && len(args) == 2:
		return "exp(" + args[0] + " - " + args[1] + ")", true
	case n.Op == "divide" && len(args) == 2:
		return args[0] + "/" + args[1], false
	case n.Op == "lse" && len(args) == 2:
		return args[0] + " + log(" + args[1] + ")", false
	case n.Op == "rowmax" && len(args) == 2:
		return "max(" + args[1] + ", maximum of the row of " + args[0] + ")", true
	case n.Op == "rowmax" && len(args) == 1:
		return "maximum of the row of " + args[0], false
	case n.Op == "rowsum" && len(args) == 1:
		return "sum of the row of " + args[0], false
	case n.Op == "reduce" && len(args) == 1:
		line := "row"
		if word["each"] == "column" {
			line = "column"
		}
		return fmt.Sprintf("%s of the %s of %s", word["how"], line, args[0]), false
	case n.Op == "scale" && len(args) == 1:
		return args[0] + "*" + numberText(n, "factor"), false
	case n.Op == "scale" && len(args) == 2:
		return args[0] + "*" + args[1], false
	case n.Op == "matmul" && len(args) == 2:
		for i, side := range []string{"left", "right"} {
			if word["transpose"] == side {
				args[i] += "ᵀ"
			}
		}
		if text = args[0] + "*" + args[1]; word["scale"] != "" || n.Params.Number["scale"] != 0 {
			text += "*" + numberText(n, "scale")
		}
		return text, false
	case n.Op == "map":
		return word["expr"], false
	case n.Op == "accumulate" && len(args) == 2:
		return args[1] + " + " + args[0], false
	case n.Op == "accumulate" && len(args) == 4:
		return fmt.Sprintf("%s*exp(%s - %s) + %s", args[1], args[2], args[3], args[0]), false
	}
	return "", false
}

// operandText writes an operand of an operation: in brackets where it is one itself that needs them.
func operandText(o *probes.Operand, in string) string {
	switch {
	case o.Node == nil && o.Tensor != "":
		return o.Tensor
	case o.Node == nil && o.Before:
		return o.Stage.String() + " of the previous tile"
	case o.Node == nil:
		return o.Stage.String()
	}
	text, alone := formulaOf(o.Node)
	if text == "" || alone || in == "accumulate" || in == "reduce" || strings.HasPrefix(in, "row") {
		return text
	}
	return "(" + text + ")"
}

// numberText is the name of a parameter, else its number.
func numberText(n *probes.Node, name string) string {
	if text := n.Params.Word[name]; text != "" {
		return text
	}
	return fmt.Sprintf("%.6g", n.Params.Number[name])
}
