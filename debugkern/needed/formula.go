package needed

import (
	"fmt"
	"math"
	"strings"
)

// Formula is a cell as a formula of the names and constants that it was computed from: "0.5*pre*(2/(1 +
// 2^(-2.45*pre)))". What several operations use gets a letter: "a/(1 + a), where a = exp(pre)". ok is false
// where more than so many operations make it, or where what one of them is made of is not known.
func (c *Cell) Formula(most int) (text string, ok bool) {
	f := &formula{c: c, left: most, users: c.users(), letters: map[int]string{}}
	text, _ = f.value(0)
	if len(f.where) > 0 {
		text += ", where " + strings.Join(f.where, ", ")
	}
	return text, !f.failed
}

// formula writes values.
type formula struct {
	c       *Cell
	left    int
	failed  bool
	users   []int
	letters map[int]string // of values that several operations use
	where   []string       // what these are, the innermost first
}

// Precedence of what is written: of a sum, a product, a single thing.
const (
	asSum = iota
	asProduct
	alone
)

// value writes a value, and how tightly it holds together.
func (f *formula) value(i int) (string, int) {
	v := &f.c.Values[i]
	switch {
	case f.failed:
		return "", alone
	case v.Immediate > 0 || v.Instr == nil:
		return f.leaf(v), alone
	case v.Func == "" && len(v.Operands) == 1 && (v.Moves() || v.Op() == "cvt"):
		return f.value(v.Operands[0].Value)
	}
	if letter := f.letters[i]; letter != "" {
		return letter, alone
	}
	if f.users[i] > 1 {
		f.users[i] = 0
		text, holds := f.value(i)
		if f.failed || holds == alone && len(text) <= mostRepeated {
			return text, holds
		}
		letter := f.letter()
		f.letters[i] = letter
		f.where = append(f.where, letter+" = "+text)
		return letter, alone
	}
	if f.left--; f.left < 0 || len(v.Operands) == 0 || v.Instr.Kind().Product() {
		f.failed = true
		return "", alone
	}
	arg := func(k, least int) string {
		text, holds := f.value(v.Operands[k].Value)
		if holds < least || least > asSum && strings.HasPrefix(text, "-") {
			text = "(" + text + ")"
		}
		return text
	}
	switch n := len(v.Operands); {
	case v.Op() == "add" && n == 2:
		return arg(0, asSum) + " + " + arg(1, asSum), asSum
	case v.Op() == "sub" && n == 2:
		return arg(0, asSum) + " - " + arg(1, asProduct), asSum
	case v.Op() == "mul" && n == 2:
		return arg(0, asProduct) + "*" + arg(1, asProduct), asProduct
	case v.Op() == "div" && n == 2:
		return arg(0, asProduct) + "/" + arg(1, alone), asProduct
	case (v.Op() == "fma" || v.Op() == "mad") && n == 3:
		return arg(0, asProduct) + "*" + arg(1, asProduct) + " + " + arg(2, asSum), asSum
	case (v.Op() == "max" || v.Op() == "min") && n == 2:
		return fmt.Sprintf("%s(%s, %s)", v.Op(), arg(0, asSum), arg(1, asSum)), alone
	case n == 1 && unary[v.Op()] != "":
		return fmt.Sprintf(unary[v.Op()], arg(0, asSum)), alone
	}
	f.failed = true
	return "", alone
}

// mostRepeated is how long the text of a value is at most that is written again where it is used again.
const mostRepeated = 6

// letter is the next one that no value is named by.
func (f *formula) letter() string {
	for c := 'a'; ; c++ {
		named := false
		for i := range f.c.Values {
			named = named || f.c.Values[i].Name == string(c)
		}
		for _, w := range f.where {
			named = named || strings.HasPrefix(w, string(c)+" =")
		}
		if !named {
			return string(c)
		}
	}
}

// unary are functions of one number as they are written.
var unary = map[string]string{
	"neg": "(-(%s))", "abs": "|%s|", "exp": "exp(%s)", "ex2": "2^(%s)", "lg2": "log2(%s)", "rcp": "(1/(%s))",
	"sqrt": "sqrt(%s)", "rsqrt": "(1/sqrt(%s))", "tanh": "tanh(%s)", "sin": "sin(%s)", "cos": "cos(%s)",
}

// leaf writes what a cell's lineage ends at.
func (f *formula) leaf(v *Value) string {
	switch {
	case v.Name != "":
		return v.Name
	case !math.IsNaN(v.Got):
		return fmt.Sprintf("%.6g", v.Got)
	}
	f.failed = true
	return ""
}
