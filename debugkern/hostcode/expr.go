package hostcode

import (
	"strconv"
	"strings"
)

// Expr is an integer expression of C++: a number, a name, or an operation on others.
type Expr struct {
	Op   string // "" number, "name", "call", or an operator: + - * / % << >>
	Num  int64
	Name string // of a name or a call
	Args []*Expr
}

// ParseExpr reads an integer expression; nil where it is none, or not a plain one. Casts and the suffixes of
// numbers are left out, sizeof is a number for the types of sizes.
func ParseExpr(text string) *Expr {
	u := &Unit{text: []byte(text)}
	for _, t := range scan(u.text) {
		if t.kind != space {
			u.code = append(u.code, t)
		}
	}
	p := &exprParser{u: u}
	e := p.binary(0, 0)
	if e == nil || p.i != len(u.code) {
		return nil
	}
	return e
}

type exprParser struct {
	u *Unit
	i int
}

func (p *exprParser) text(n int) string {
	if p.i+n < len(p.u.code) {
		return p.u.str(p.u.code[p.i+n])
	}
	return ""
}

// precedence of the operators, as C++ has it.
var precedence = map[string]int{"<<": 1, ">>": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}

// operator is the operator at hand, and how many tokens it has.
func (p *exprParser) operator() (string, int) {
	t := p.text(0)
	if (t == "<" || t == ">") && p.text(1) == t {
		return t + t, 2
	}
	return t, 1
}

// maxDepth is how deeply an expression may be nested.
const maxDepth = 50

func (p *exprParser) binary(least, depth int) *Expr {
	left := p.unary(depth)
	for left != nil {
		op, n := p.operator()
		level := precedence[op]
		if level == 0 || level <= least {
			return left
		}
		p.i += n
		right := p.binary(level, depth+1)
		if right == nil {
			return nil
		}
		left = &Expr{Op: op, Args: []*Expr{left, right}}
	}
	return nil
}

// sizes are what sizeof gives, and the names of types in casts.
var sizes = map[string]int64{
	"char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1, "short": 2,
	"half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2,
	"int16_t": 2, "uint16_t": 2, "int": 4, "unsigned": 4, "float": 4, "int32_t": 4, "uint32_t": 4,
	"double": 8, "size_t": 8, "int64_t": 8, "uint64_t": 8,
	"half2": 4, "float2": 8, "float4": 16, "long": 8, "unsigned int": 4, "long long": 8,
	"unsigned long long": 8, "unsigned char": 1,
}

func (p *exprParser) unary(depth int) *Expr {
	if depth > maxDepth || p.i >= len(p.u.code) {
		return nil
	}
	t := p.u.code[p.i]
	w := p.text(0)
	switch {
	case t.kind == number:
		p.i++
		n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimRight(w, "uUlLzZ"), "'", ""), 0, 64)
		if err != nil {
			return nil
		}
		return &Expr{Num: n}
	case w == "(":
		return p.group(depth)
	case t.kind == ident:
		return p.named(depth)
	}
	return nil
}

// group reads what is in parentheses: a cast, which is left out, or an expression.
func (p *exprParser) group(depth int) *Expr {
	words, n := []string{}, 1
	for p.i+n < len(p.u.code) && p.u.code[p.i+n].kind == ident {
		words = append(words, p.text(n))
		n++
	}
	if _, cast := sizes[strings.Join(words, " ")]; cast && p.text(n) == ")" {
		p.i += n + 1
		return p.unary(depth + 1)
	}
	p.i++
	e := p.binary(0, depth+1)
	if e == nil || p.text(0) != ")" {
		return nil
	}
	p.i++
	return e
}

// named reads a name, a call, or sizeof.
func (p *exprParser) named(depth int) *Expr {
	name := p.text(0)
	p.i++
	for p.text(0) == "::" && p.i+1 < len(p.u.code) && p.u.code[p.i+1].kind == ident {
		name += "::" + p.text(1)
		p.i += 2
	}
	if p.text(0) != "(" {
		return &Expr{Op: "name", Name: name}
	}
	p.i++
	if name == "sizeof" {
		var words []string
		for p.i < len(p.u.code) && p.text(0) != ")" {
			words = append(words, p.text(0))
			p.i++
		}
		p.i++
		if n := sizes[strings.Join(words, " ")]; n > 0 {
			return &Expr{Num: n}
		}
		return &Expr{Op: "call", Name: name}
	}
	e := &Expr{Op: "call", Name: name}
	for p.text(0) != ")" {
		a := p.binary(0, depth+1)
		if a == nil {
			return nil
		}
		e.Args = append(e.Args, a)
		if p.text(0) == "," {
			p.i++
		} else if p.text(0) != ")" {
			return nil
		}
	}
	p.i++
	return e
}

// RoundsUp reports a call that divides and rounds up, by its name.
func (e *Expr) RoundsUp() bool {
	n := strings.ToLower(strings.ReplaceAll(e.Name[strings.LastIndexByte(e.Name, ':')+1:], "_", ""))
	return e.Op == "call" && len(e.Args) == 2 && (strings.Contains(n, "ceil") ||
		strings.Contains(n, "cdiv") || strings.Contains(n, "divup") || strings.Contains(n, "div_up"))
}

// maxNames is how many names are followed to their values.
const maxNames = 16

// Eval is the expression's value, with the values of names by value; ok is false where one has none.
func (e *Expr) Eval(value func(name string) *Expr) (n int64, ok bool) { return e.eval(value, 0) }

func (e *Expr) eval(value func(name string) *Expr, depth int) (int64, bool) {
	if e == nil || depth > maxNames+maxDepth {
		return 0, false
	}
	if e.Op == "" {
		return e.Num, true
	}
	if e.Op == "name" {
		v := value(e.Name)
		if v == nil || v.Op == "name" && v.Name == e.Name {
			return 0, false
		}
		return v.eval(value, depth+4)
	}
	var a []int64
	for _, x := range e.Args {
		n, ok := x.eval(value, depth+1)
		if !ok {
			return 0, false
		}
		a = append(a, n)
	}
	if len(a) != 2 {
		return 0, false
	}
	switch {
	case e.Op == "+":
		return a[0] + a[1], true
	case e.Op == "-":
		return a[0] - a[1], true
	case e.Op == "*":
		return a[0] * a[1], true
	case e.Op == "/" && a[1] != 0:
		return a[0] / a[1], true
	case e.Op == "%" && a[1] != 0:
		return a[0] % a[1], true
	case e.Op == "<<" && a[1] >= 0 && a[1] < 32:
		return a[0] << a[1], true
	case e.Op == ">>" && a[1] >= 0 && a[1] < 64:
		return a[0] >> a[1], true
	case e.RoundsUp() && a[1] > 0:
		return (a[0] + a[1] - 1) / a[1], true
	}
	return 0, false
}
