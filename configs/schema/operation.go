package schema

import (
	"slices"

	"tilescope/debugkern/ref/op"
)

// operation is an operator with its operands and parameters: one of the sections that operations lists.
var operation = Value{Form: Operation, Kind: "an operation, [operators](#operators)"}

// operand is a stage, an input, or an operation in place; operands are one or several.
var (
	operand  = either(identifier, operation)
	operands = either(operand, Value{Form: List, Kind: "a list of operands", Of: []Value{operand}})
)

// rules are those of a mask.
var rules = either(text, texts)

// operators are the operands and parameters of each operator. The operator's own key has its operands; where
// it is missing they are operands.
var operators = map[string][]Key{
	"load": {
		{"load", identifier, need, "", "a tile of an input", "load: Q"},
		{"at", list(expression), free, "", "the position of its first cell, by dimension",
			"at: [batch, head, query, 0]"},
		{
			"rows", expression, free, "",
			"the dimension that rows run along; left out, every row is the same", "rows: 2",
		},
		{"cols", expression, free, "", "the dimension that columns run along", "cols: 3"},
		{"dims", exprs(2), free, "the stage's", "rows and columns, of an operation in place",
			"dims: [TILE_M, D]"},
		{"scale", operand, free, "", "what the tile is multiplied by",
			"scale: {load: Ks, at: [head], dims: [1, 1]}"},
	},
	"matmul": {
		{"transpose", words("right", "left"), free, "", "the operand that is transposed", "transpose: right"},
		{"scale", expression, free, "", "what products are multiplied by", "scale: softmax_scale"},
		{"over", text, free, "", "what the sum runs along, in words", "over: D"},
	},
	"rowmax": {
		{"running", words("true", "false"), free, "", "the maximum of the iterations so far",
			"running: true"},
		{"mask", rules, free, "", "the cells that take part", `mask: ["key + c <= query + r"]`},
	},
	"exp_below": {
		{"mask", rules, free, "", "the cells that are not 0", `mask: ["key + c <= query + r"]`},
	},
	"rowsum":     {{"over", text, free, "columns", "what the sum runs along, in words", "over: keys"}},
	"accumulate": {{"by", identifier, free, "", "the running maximum that the sum is relative to", "by: m"}},
	"divide":     {{"empty", words("zero", "nan"), free, "nan", "what division by 0 gives", "empty: zero"}},
	"mask": {
		{"where", rules, free, "", "the rules, all of which must hold", `where: ["key + c <= query + r"]`},
		{"fill", expression, free, "-inf", "the value of other cells", "fill: -1000"},
	},
	"scale": {
		{"factor", expression, free, "", "the factor, where it is no operand", "factor: softmax_scale"},
	},
	"lse": {{"empty", words("-inf", "inf"), free, "-inf", "the value of a row without keys", "empty: inf"}},
	"gather": {
		{"gather", identifier, need, "", "a tile of an input, row by row", "gather: K"},
		{"at", list(expression), free, "", "the row's position, by dimension; it may read integer inputs",
			`at: ["table[batch][div(key + r, PAGE)]", 0]`},
		{"cols", expression, free, "", "the dimension that columns run along", "cols: 1"},
		{"dims", exprs(2), free, "the stage's", "rows and columns, of an operation in place",
			"dims: [TILE_N, D]"},
		{"limit", expression, free, "", "how many rows there are; 0 beyond them",
			`limit: "used[batch] - key"`},
	},
	"dropout": {
		{"keep", expression, free, "", "the probability that a cell stays", "keep: 0.9"},
		{"seed", expression, free, "", "the key of Philox 4x32-10", "seed: 42"},
		{"counter", exprs(4), free, "", "its counter", "counter: [r, c, head, 0]"},
		{"word", expression, free, "0", "which of its four words", "word: 1"},
		{"byte", expression, free, "", "which byte of the word, where one is enough", "byte: 0"},
		{"below", expression, free, "", "the limit of the random number", "below: 230"},
		{"factor", expression, free, "1 / keep", "what cells that stay are multiplied by", "factor: 1.25"},
	},
	"cast": {
		{
			"to", dtype, free, "the stage's",
			"the type that numbers are rounded to, of an operation in place", "to: f16",
		},
	},
	"map": {
		{"map", text, need, "", "an expression over the operands, cell by cell", `map: "gelu(x + b)"`},
	},
	"reduce": {
		{"how", words("sum", "mean", "max"), free, "", "the reduction", "how: mean"},
		{"each", words("row", "column"), free, "row", "one number for each", "each: column"},
	},
}

// mapped is what the keys of map are but its expression.
var mapped = Key{"NAME", operand, free, "", "an operand of the expression", "x: C"}

// operations has a section for each operator that there is.
var operations = func() []Section {
	var out []Section
	for _, name := range op.Names() {
		s := Section{Name: "op-" + name, At: "an operation", Keys: operators[name]}
		if !slices.Contains(s.Names(), name) {
			own := Key{name, operands, need, "", "the operands", name + ": [A, B]"}
			s.Keys = slices.Concat([]Key{own}, s.Keys)
		}
		if name == "map" {
			s.Others = &mapped
		}
		out = append(out, s)
	}
	return out
}()

// Operator returns an operator's section; the first of its keys is the operator's name, the others
// are its parameters.
func Operator(name string) *Section { return Of("op-" + name) }

// Parameters lists the names of an operator's parameters.
func Parameters(name string) []string { return Operator(name).Names()[1:] }
