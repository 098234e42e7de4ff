package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// The values of most keys.
var (
	text       = Value{Form: Text, Kind: "text"}
	identifier = Value{Form: Text, Kind: "an identifier", Pattern: Identifier}
	label      = Value{Form: Text, Kind: "a name", Pattern: Label}
	path       = Value{Form: Text, Kind: "a path, relative to the manifest's folder"}
	scalar     = Value{Form: Scalar, Kind: "a value"}
	truth      = Value{Form: Truth, Kind: "true or false"}
	expression = Value{Form: Expression, Kind: "an expression"}
	condition  = Value{Form: Expression, Kind: "a condition"}
	number     = Value{Form: Number, Kind: "a number from 0 on"}
	positive   = Value{Form: Number, Kind: "a number above 0", Above: true}
	texts      = list(text)
	conditions = list(condition)
	stages     = Value{Form: List, Kind: "a list of stages", Of: []Value{identifier}}
	dtype      = words(dtypes()...)
	extents    = Value{Form: List, Kind: "a list of expressions", Of: []Value{expression}}
)

// MaxStruct is the most bytes a struct may have: more than all parameters of a kernel take together (PTX ISA
// 8.1, kernel parameters).
const MaxStruct = 32 << 10

// structs are the types of structs that are passed by value.
var structs = Value{
	Form: Text, Kind: "`struct{BYTES}` for a struct by value", Pattern: `^struct\{[1-9][0-9]*\}$`,
}

// exprs is a list of so many expressions.
func exprs(n int) Value {
	return Value{
		Form: List, Kind: fmt.Sprintf("a list of %d expressions", n), Of: []Value{expression}, Length: n,
	}
}

func list(of Value) Value { return Value{Form: List, Kind: "a list: " + of.Kind, Of: []Value{of}} }

// listOf is a list of mappings.
func listOf(section string) Value { return list(sub(section)) }

// sub is a mapping with keys of its own.
func sub(section string) Value {
	return Value{Form: Mapping, Kind: "a mapping, [" + section + "](#" + section + ")", Section: section}
}

// names is a mapping of names to values.
func names(pattern string, of Value) Value {
	return Value{Form: Names, Kind: "a mapping of names to: " + of.Kind, Pattern: pattern, Of: []Value{of}}
}

func words(list ...string) Value {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = "`" + w + "`"
	}
	return Value{Form: Word, Kind: strings.Join(quoted, " "), Words: list}
}

func whole(lo, hi int) Value {
	kind := fmt.Sprintf("a whole number from %d to %d", lo, hi)
	switch {
	case lo == math.MinInt32 && hi == math.MaxInt32:
		kind = "a whole number"
	case hi == math.MaxInt32:
		kind = fmt.Sprintf("a whole number from %d on", lo)
	}
	return Value{Form: Whole, Kind: kind, Lo: lo, Hi: hi}
}

func either(of ...Value) Value {
	kinds := make([]string, len(of))
	for i, v := range of {
		kinds[i] = v.Kind
	}
	return Value{Form: Either, Kind: strings.Join(kinds, "; or "), Of: of}
}

// dtypes are the names of element types.
func dtypes() []string {
	var out []string
	for t := probes.U8; t <= probes.I16; t++ {
		out = append(out, t.String())
	}
	return out
}

// argumentTypes are those of arguments: a scalar's, and, with a star, a pointer's.
func argumentTypes() Value {
	v := words(dtypes()...)
	v.Kind += ", with `*` for a pointer"
	for _, t := range dtypes() {
		v.Words = append(v.Words, t+"*")
	}
	return v
}

// instructionKeys are the functions that a stage's compute may name an instruction for.
func instructionKeys() []Key {
	by := op.Instructions()
	var out []Key
	for _, f := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Key{
			f, words(by[f]...), free, "", "the instruction by which the kernel takes " + f,
			f + ": " + by[f][0],
		})
	}
	return out
}
