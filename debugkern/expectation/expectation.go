// Package expectation reads what a user states of a kernel's outputs, such as
//
//	out[i] <- x[256*i .. 256*i+255]
//
// "element i of out is made of these 256 elements of x", and compares it with what it is made of.
//
// The one idea: an expectation is bound to arguments once, and then is two functions: from a number to an
// element of the output, and from that to the set of elements that it is expected to be made of. Both are
// evaluated one element at a time, so that a sample costs what it has.
//
//	expectation = output "<-" ( "none" | term { "," term } [ "," "..." ] ) [ "for" clause { "," clause } ]
//	output      = name { "[" place { "," place } "]" }        place = variable | expr | "*"
//	term        = name { "[" index { "," index } "]" } { "once" | "repeated" | "optional" }
//	index       = "*" | expr [ ( ".." | "..<" ) expr [ "by" expr ] ]
//	clause      = variable "in" expr ( ".." | "..<" ) expr [ "by" expr ] | expr compare expr
//	expr        = numbers, variables, parameters, + - * / %, min(…), max(…), parentheses
//
// It must not know how a kernel is executed or what its elements are made of.
package expectation

import (
	"fmt"
	"strings"
)

// Error is a mistake in an expectation's text.
type Error struct {
	Text string // the expectation
	Col  int    // from 1, in characters
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Col, e.Msg) }

// Caret is the expectation with a mark below the column of the mistake, two lines.
func (e *Error) Caret() string {
	return e.Text + "\n" + strings.Repeat(" ", max(e.Col-1, 0)) + "^"
}

// Expectation is a parsed expectation that no arguments are bound to yet. It is immutable.
type Expectation struct {
	Text    string
	output  reference
	terms   []term
	others  bool // "...": other arguments may enter
	clauses []clause
}

func (x *Expectation) String() string { return x.Text }

// reference is an argument with indices.
type reference struct {
	name  string
	col   int
	index []index
}

// index is one index: all of a dimension, an expression, or a range of them.
type index struct {
	col      int
	all      bool
	from, to *expr // to: nil of a single index
	open     bool  // to is left out
	by       *expr // nil: 1
}

// term is elements of one argument.
type term struct {
	reference
	once, repeated, optional bool
}

// clause is a variable with its range, or a comparison.
type clause struct {
	col      int
	variable string // "": a comparison
	span     index
	left     *expr
	compare  string
	right    *expr
}

// expr is a node of an expression.
type expr struct {
	col  int
	op   string // "number", "name", "min", "max", "neg", or the operator
	n    int64
	name string
	args []*expr
}

// Limits of an expectation's text: far above a real one.
const (
	maxText  = 4096 // bytes
	maxDepth = 64   // nested parentheses
	maxTerms = 32
)
