package diagnose

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
)

// An array whose declaration has its dimensions in another order, or others, than the manifest has is wrong
// at every access and at none of them. The declaration is read from the text of the source.

// declaration is the line that declares a shared array with other dimensions than the manifest has.
type declaration struct {
	at       report.Source
	has, was []int // as declared, and as the manifest has them
}

var dimension = regexp.MustCompile(`\[([^\[\]]*)\]`)

// declarationOf matches the declaration of a shared array on its line: its extents in brackets.
func declarationOf(variable string) *regexp.Regexp {
	return regexp.MustCompile(`__shared__.*\b` + regexp.QuoteMeta(variable) + `\s*((?:\[[^\[\]]*\])+)\s*;`)
}

// declaredOtherwise finds the declaration of a shared array in the files of the kernel; nil where it has the
// dimensions of the manifest, or where its text cannot be evaluated.
func (q *inquiry) declaredOtherwise(variable string, file string) *declaration {
	var dims []int
	for i := range q.run.Plan.Shared {
		if a := &q.run.Plan.Shared[i]; a.Name == variable {
			dims = a.Dims
		}
	}
	if len(dims) < 2 || file == "" {
		return nil
	}
	has, line := q.declaredIn(variable, file)
	if has == nil {
		return nil
	}
	// The manifest may leave out dimensions of one.
	one := func(n int) bool { return n == 1 }
	a, b := slices.DeleteFunc(slices.Clone(has), one), slices.DeleteFunc(slices.Clone(dims), one)
	if slices.Equal(a, b) || len(a) != len(b) {
		return nil
	}
	return &declaration{report.Source{File: file, Line: line}, has, dims}
}

// declaredIn reads the extents of a shared array where a file declares it, and the line of that; nil where it
// does not, or where they cannot be evaluated.
func (q *inquiry) declaredIn(variable, file string) (extents []int, line int) {
	lines := q.run.Source(file)
	array := declarationOf(variable)
	for n, text := range lines {
		m := array.FindStringSubmatch(comment.ReplaceAllString(text, ""))
		if m == nil {
			continue
		}
		for _, d := range dimension.FindAllStringSubmatch(m[1], -1) {
			x, ok := q.evaluate(d[1], lines, 0, map[string]constant.Value{})
			if !ok || x <= 0 {
				return nil, 0
			}
			extents = append(extents, x)
		}
		return extents, n + 1
	}
	return nil, 0
}

// declaredLayout is the layout of a shared array that the plan does not have, by its one declaration in the
// source and the size that the compiler gave it; without extents where these do not fit.
func (q *inquiry) declaredLayout(variable string) (l layout) {
	for _, file := range q.sourceFiles() {
		has, line := q.declaredIn(variable, file)
		switch {
		case has == nil:
		case l.dims != nil:
			return layout{} // two functions have an array of that name
		default:
			l.dims, l.declared = has, report.Source{File: file, Line: line}
		}
	}
	n := int64(1)
	for _, x := range l.dims {
		n *= int64(x)
	}
	if bytes := int64(q.run.SharedBytes(variable)); bytes > 0 && bytes%n == 0 {
		l.size = bytes / n
		return l
	}
	return layout{}
}

// deepestConstant bounds how many constants name others.
const deepestConstant = 6

// evaluate is the value of an integer expression of constants: of the plan, or declared in the source as
// constexpr or by #define. known are those that were looked up; nil: without a value.
func (q *inquiry) evaluate(
	text string, lines []string, depth int, known map[string]constant.Value,
) (int, bool) {
	if depth > deepestConstant {
		return 0, false
	}
	e, err := parser.ParseExpr(strings.TrimSpace(text))
	if err != nil {
		return 0, false
	}
	v := fold(e, func(e ast.Expr) constant.Value {
		switch e := e.(type) {
		case *ast.BasicLit:
			if e.Kind == token.INT {
				return constant.MakeFromLiteral(e.Value, e.Kind, 0)
			}
		case *ast.Ident:
			v, ok := known[e.Name]
			if !ok {
				v = q.constantOf(e.Name, lines, depth, known)
				known[e.Name] = v
			}
			return v
		}
		return nil
	})
	if v == nil {
		return 0, false
	}
	x, ok := constant.Int64Val(v)
	return int(x), ok
}

// fold is the value of an expression of what leaf gives values, with + - * / and %; nil where it has none.
func fold(e ast.Expr, leaf func(ast.Expr) constant.Value) constant.Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return fold(e.X, leaf)
	case *ast.UnaryExpr:
		if x := fold(e.X, leaf); x != nil && e.Op == token.SUB {
			return constant.UnaryOp(e.Op, x, 0)
		}
	case *ast.BinaryExpr:
		x, y, op := fold(e.X, leaf), fold(e.Y, leaf), e.Op
		if x == nil || y == nil {
			return nil
		}
		whole := x.Kind() == constant.Int && y.Kind() == constant.Int
		switch op {
		case token.ADD, token.SUB, token.MUL:
		case token.QUO, token.REM:
			if constant.Sign(y) == 0 || op == token.REM && !whole {
				return nil
			}
			if op == token.QUO && whole {
				op = token.QUO_ASSIGN
			}
		default:
			return nil
		}
		return constant.BinaryOp(x, op, y)
	default:
		return leaf(e)
	}
	return nil
}

// gives reports whether a declaration has the constant that an edit changes, as its one literal of that value
// or as what its expression of literals comes to.
func gives(line string, c *repair.Cure) bool {
	if _, ok := otherLiteral(line, c); ok {
		return true
	}
	_, text, _ := strings.Cut(comment.ReplaceAllString(line, ""), "=")
	x, ok := literalValue(strings.TrimRight(strings.TrimSpace(text), ";"))
	was, err := strconv.ParseFloat(c.From, 64)
	return ok && err == nil && float32(x) == float32(was)
}

var floatSuffix = regexp.MustCompile(`(\d|\.)[fF]\b`)

// literalValue is the value of an expression of floating-point literals.
func literalValue(text string) (x float64, ok bool) {
	e, err := parser.ParseExpr(floatSuffix.ReplaceAllString(text, "$1"))
	if err != nil {
		return 0, false
	}
	v := fold(e, func(e ast.Expr) constant.Value {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.FLOAT {
			return constant.MakeFromLiteral(l.Value, l.Kind, 0)
		}
		return nil
	})
	if v == nil {
		return 0, false
	}
	x, _ = constant.Float64Val(v)
	return x, true
}

// constantOf is the value of a constant by its name; nil where none is found.
func (q *inquiry) constantOf(
	name string, lines []string, depth int, known map[string]constant.Value,
) constant.Value {
	set := regexp.MustCompile(`(?:constexpr.*\b` + name + `\s*=\s*([^;,]+)[;,])|` +
		`(?:#define\s+` + name + `\s+(\S.*))`)
	for _, line := range lines {
		if m := set.FindStringSubmatch(comment.ReplaceAllString(line, "")); m != nil {
			if x, ok := q.evaluate(m[1]+m[2], lines, depth+1, known); ok {
				return constant.MakeInt64(int64(x))
			}
			return nil
		}
	}
	if x, ok := q.run.Plan.Consts[name]; ok {
		return constant.MakeInt64(int64(x))
	}
	return nil
}

// misdeclared says of a cause on shared arrays that one of them is declared with other dimensions.
func (q *inquiry) misdeclared(s *suspect, c *Cause) bool {
	if c.Place.Source == nil || c.Rewrite != nil {
		return false
	}
	files := []string{c.Place.Source.File}
	for _, site := range c.Place.Source.Calls.Sites() {
		files = append(files, site.File)
	}
	for _, v := range c.Place.Variables {
		for _, f := range files {
			d := q.declaredOtherwise(v, f)
			if d == nil {
				continue
			}
			c.Place.Source, c.Place.Other = &d.at, c.Place.Source
			c.why = fmt.Sprintf("%s is declared as %s at %s, and the manifest says %s", v, extent(d.has),
				d.at.At(), extent(d.was))
			c.Title += "; " + v + " is declared at " + d.at.At()
			c.Advice = q.citing("compare the declaration with how the array is indexed: ", "", &d.at)
			return true
		}
	}
	return false
}

// extent is dimensions, or the indices of an element, as the source has them.
func extent(dims []int) string {
	text := ""
	for _, d := range dims {
		text += fmt.Sprintf("[%d]", d)
	}
	return text
}
