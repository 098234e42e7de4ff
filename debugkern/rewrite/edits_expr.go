package rewrite

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Ranks of edits: the lower the likelier. Those of names also count how little the names have in common.
const (
	rankElsewhere  = 8
	rankName       = 9
	rankOperator   = 12
	rankArguments  = 12
	rankNumber     = 13
	rankCallee     = 14
	rankTerm       = 14
	rankSign       = 17
	rankOtherValue = 19
	rankStatement  = 22
	rankCondition  = 23
	rankGrown      = 26
	rankGuard      = 27
	rankBarrier    = 30
)

// operators are what an operator may have to be.
var operators = map[string][]string{
	"<": {"<="}, "<=": {"<"}, ">": {">="}, ">=": {">"}, "==": {"!="}, "!=": {"=="}, "+": {"-"}, "-": {"+"},
	"*": {"/"}, "/": {"%", "*"}, "%": {"/"}, "&&": {"||"}, "||": {"&&"}, "&": {"|", "^"}, "|": {"&"},
	"^": {"&", "+"}, "<<": {">>"}, ">>": {"<<"}, "+=": {"=", "-="}, "-=": {"+=", "="}, "*=": {"=", "/="},
	"/=": {"*="}, "=": {"+=", "*="},
}

// callees are functions of CUDA that stand in each other's place: in a group each for the next ones.
var callees = [][]string{
	{"fmaxf", "fminf"}, {"max", "min"}, {"__fadd_rn", "__fsub_rn"}, {"__fmul_rn", "__fdiv_rn"},
	{"exp2f", "expf", "__expf"},
	{"log2f", "logf", "__logf"}, {"__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_sync"},
	{"rsqrtf", "__frcp_rn", "sqrtf"}, {"__low2float", "__high2float"},
	{"__float2half_rn", "__float2half_rz"}, {"__float2int_rn", "__float2int_rz"}, {"__fadd_rn", "__fmul_rn"},
	{"__fadd_rn", "__fadd_rz"}, {"__fmul_rn", "__fmul_rz"},
}

// expression lists the edits of one part of an expression.
func (l *lister) expression(e, parent *expr) {
	t := l.t
	text := func(x *expr) string { return t.source(x.from, x.to) }
	switch e.op {
	case "name":
		first := parent != nil && parent.kids[0] == e
		if !first || parent.op != "index" && parent.op != "member" && parent.op != "call" {
			l.name(e, e, stored(e, parent))
		}
	case "index":
		inner := parent != nil && parent.op == "index" && parent.kids[0] == e
		if base, _ := e.base(); base.op == "name" && !inner {
			l.name(e, base, stored(e, parent))
		}
	case "member":
		l.member(e)
	case "number":
		l.number(e)
	case "call":
		l.call(e)
	case "group", "cast", "quoted":
	case "u-":
		if k := e.kids[0]; k.op == "name" && floats[k.text] || k.op == "number" {
			l.extreme(e)
		}
		l.put(rankSign, e.from, e.to, text(e.kids[0]))
	case "u!":
		l.put(rankOperator, e.from, e.to, text(e.kids[0]))
	case "p++":
		l.put(rankNumber, e.from, e.to, text(e.kids[0])+" += 2")
	case "?":
		a, b, c := text(e.kids[0]), text(e.kids[1]), text(e.kids[2])
		l.put(rankSign, e.from, e.to, b)
		l.put(rankSign, e.from, e.to, c)
		l.put(rankSign, e.from, e.to, a+" ? "+c+" : "+b)
	default:
		if len(e.kids) == 2 {
			l.binary(e)
		}
	}
}

// products are the operators of products.
var products = []string{"*", "/", "%"}

// binary lists the edits of an operator and of its terms.
func (l *lister) binary(e *expr) {
	t := l.t
	a, b := t.source(e.kids[0].from, e.kids[0].to), t.source(e.kids[1].from, e.kids[1].to)
	at := e.kids[0].to // the operator
	for _, op := range operators[e.op] {
		l.putNear(rankOperator, e, a+" "+op+" "+b, t.tokens[at].text, op)
	}
	if binding[e.op] == assignment || e.op == "," {
		return
	}
	switch e.op {
	case "<", "<=", ">", ">=", "==", "!=":
		return
	case "-", "/", "%":
		l.put(rankTerm+1, e.from, e.to, grouped(b, e.kids[1], e.op)+" "+e.op+" "+grouped(a, e.kids[0], e.op))
		l.put(rankTerm, e.from, e.to, a)
	default:
		l.put(rankTerm, e.from, e.to, a)
		l.put(rankTerm, e.from, e.to, b)
	}
	// (a + b) * c in the place of a + b * c, and the other way round
	if k := e.kids[1]; (e.op == "+" || e.op == "-") && slices.Contains(products, k.op) {
		x, y := t.source(k.kids[0].from, k.kids[0].to), t.source(k.kids[1].from, k.kids[1].to)
		l.put(rankTerm+1, e.from, e.to, "("+a+" "+e.op+" "+x+") "+k.op+" "+y)
	}
	if k := e.kids[0]; slices.Contains(products, e.op) && slices.Contains(products, k.op) {
		x, y := t.source(k.kids[0].from, k.kids[0].to), t.source(k.kids[1].from, k.kids[1].to)
		l.put(rankTerm+1, e.from, e.to, x+" "+e.op+" "+b+" "+k.op+" "+y) // the two operators exchanged
		l.put(rankTerm+2, e.from, e.to, x+" "+k.op+" ("+y+" "+e.op+" "+b+")")
	}
}

// putNear is put for an edit of an operator or function, which alone its phrase names.
func (l *lister) putNear(rank int, e *expr, now, was, op string) {
	from, to := l.t.tokens[e.from].from, l.t.tokens[e.to-1].to
	l.add(rank, op+" in place of "+was, site{from: from, to: to, now: now})
}

// grouped is the text of an operand of an operator, in brackets where it needs them.
func grouped(text string, e *expr, op string) string {
	if b := binding[e.op]; b > 0 && b <= binding[op] {
		return "(" + text + ")"
	}
	return text
}

// stored reports whether something is assigned to an expression, or its address taken.
func stored(e, parent *expr) bool {
	if parent == nil || parent.kids[0] != e {
		return false
	}
	return binding[parent.op] == assignment ||
		slices.Contains([]string{"u&", "u++", "u--", "p++", "p--"}, parent.op)
}

// name lists other variables in the place of one. whole is it with its indices; stored: something is assigned
// to it.
func (l *lister) name(whole, e *expr, stored bool) {
	v := l.find(e.text, e.from)
	if floats[e.text] {
		l.extreme(e)
		return
	}
	if v == nil && !l.constant(e.text) {
		return
	}
	if v == nil {
		v = &variable{name: e.text, typ: "int", fixed: true}
	}
	c := class(v.typ)
	rest := l.t.source(e.to, whole.to)
	others := slices.DeleteFunc(l.visible(e.from), func(o *variable) bool {
		return o.name == e.text || o.ranks != v.ranks || class(o.typ) != c ||
			stored && (o.once || o.fixed || o.typ != v.typ) ||
			o.of == l.s && o.line == l.t.tokens[e.from].line && v.of != l.s
	})
	differ := func(o *variable) int { return unlike(e.text, o.name, v.fixed == o.fixed) }
	for i, o := range l.nearest(others, e, differ) {
		put := l.put
		if o.typ != v.typ && c == integer || o.fixed {
			put = l.value
		}
		put(rankName+i, whole.from, whole.to, o.name+rest)
	}
}

// floats are names of numbers of the C library.
var floats = map[string]bool{
	"FLT_MIN": true, "FLT_MAX": true, "FLT_EPSILON": true, "INFINITY": true, "CUDART_INF_F": true,
	"NAN": true,
}

// extreme lists what may stand in the place of a number that has a name, or of 0: another one, or what the
// kernel has a function for.
func (l *lister) extreme(e *expr) {
	for _, t := range l.w.seen(l.t) {
		for _, f := range t.functions {
			if len(f.parameters) == 0 && class(f.result) == real {
				l.put(rankNumber, e.from, e.to, f.name+"()")
			}
		}
	}
	for i, now := range []string{"-INFINITY", "0.0f", "-FLT_MAX", "1.0f"} {
		l.put(rankNumber+1+i, e.from, e.to, now)
	}
}

// mostNames is how many variables are tried in the place of one, or added to an expression.
const mostNames = 9

// nearest orders variables by how far from an expression they are declared and by another measure, and keeps
// the first.
func (l *lister) nearest(list []*variable, e *expr, measure func(*variable) int) []*variable {
	line := l.t.tokens[e.from].line
	far := map[*variable]int{}
	for _, v := range list {
		apart := line - v.line
		if v.line == 0 || v.fixed || apart < 0 {
			apart = 40
		}
		far[v] = measure(v) + min(5, apart/8)
	}
	slices.SortStableFunc(list, func(a, b *variable) int { return cmp.Compare(far[a], far[b]) })
	return list[:min(len(list), mostNames)]
}

// unlike is how little two names have in common, 0 to 9.
func unlike(a, b string, same bool) int {
	prefix, suffix := 0, 0
	for prefix < min(len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	for suffix < min(len(a), len(b))-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	n := 6 - 6*(prefix+suffix)/max(len(a), len(b))
	if !same {
		n += 3
	}
	return n
}

// numbers are the integers that an expression sees and a compiler does not know, without those that its
// statement declares.
func (l *lister) numbers(e *expr) []*variable {
	return slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
		return class(v.typ) != integer || v.ranks > 0 || v.fixed || v.of == l.s
	})
}

// never tells nothing apart.
func never(*variable) int { return 0 }

// member lists other members of the same type, and other axes of a number of a thread or block.
func (l *lister) member(e *expr) {
	of := l.t.source(e.kids[0].from, e.kids[0].to)
	switch of {
	case "threadIdx", "blockIdx", "blockDim", "gridDim":
		for _, axis := range []string{"x", "y", "z"} {
			if axis != e.text {
				l.put(rankName+1, e.from, e.to, of+"."+axis)
			}
		}
		for i, v := range l.nearest(l.numbers(e), e, never) {
			l.value(rankName+i/2+2, e.from, e.to, v.name)
		}
		for _, now := range []string{" / 2", " * 2", " + 1"} {
			l.value(rankOtherValue, e.from, e.to, "("+of+"."+e.text+now+")")
		}
		return
	}
	join := l.t.source(e.kids[0].to, e.kids[0].to+1)
	for _, t := range l.w.texts {
		for _, list := range t.structs {
			i := slices.IndexFunc(list, func(v *variable) bool { return v.name == e.text })
			if i < 0 {
				continue
			}
			for _, o := range list {
				if o.name != e.text && o.typ == list[i].typ && o.ranks == list[i].ranks {
					l.put(rankName+unlike(e.text, o.name, true), e.from, e.to, of+join+o.name)
				}
			}
		}
	}
}

// number lists other numbers in the place of a literal.
func (l *lister) number(e *expr) {
	if l.class(e) == real {
		suffix := ""
		if strings.HasSuffix(e.text, "f") {
			suffix = "f"
		}
		l.extreme(e)
		for i, now := range []string{"0.0", "1.0", "-" + strings.TrimSuffix(e.text, "f")} {
			l.put(rankOtherValue+i, e.from, e.to, now+suffix)
		}
		for _, op := range []string{" * 0.69314718f", " * 1.44269504f", " * 2.0f", " * 0.5f"} {
			l.put(rankOtherValue+4, e.from, e.to, "("+e.text+op+")")
		}
		return
	}
	n, err := strconv.ParseInt(strings.TrimRight(e.text, "uUlL"), 0, 64)
	if err != nil {
		return
	}
	suffix := e.text[len(strings.TrimRight(e.text, "uUlL")):]
	put := func(rank int, x int64) {
		if x != n && x >= 0 {
			l.put(rank, e.from, e.to, strconv.FormatInt(x, 10)+suffix)
		}
	}
	others := []int64{n + 1, n - 1, 2 * n, n / 2, 0, 1}
	switch {
	case n > 1 && n&(n-1) == 0:
		others = append(others, 4*n, n/4)
	case n > 1 && n&(n+1) == 0: // a mask
		others = append(others, 2*n+1, n/2)
	}
	for i, x := range others {
		put(rankNumber+i/2, x)
	}
	if n < 2 {
		return
	}
	fixed := slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
		return class(v.typ) != integer || v.ranks > 0 || !v.fixed || l.mentions(v.name) == 0
	})
	for i, v := range l.nearest(fixed, e, func(v *variable) int { return -l.mentions(v.name) }) {
		l.value(rankNumber+2+i/2, e.from, e.to, v.name)
	}
}

// call lists edits of what is called, and of the order of its arguments.
func (l *lister) call(e *expr) {
	t, f := l.t, e.kids[0]
	if f.op != "name" {
		return
	}
	rest := t.source(f.to, e.to)
	for _, group := range callees {
		if slices.Contains(group, f.text) {
			for _, o := range group {
				if o != f.text {
					l.putNear(rankCallee, e, o+rest, f.text, o)
				}
			}
		}
	}
	if own := l.w.called[f.text]; len(own) > 0 {
		for _, t := range l.w.seen(l.t) {
			for _, o := range t.functions {
				if o.name != f.text && alike(o, own[0]) {
					l.putNear(rankCallee+unlike(o.name, f.text, true)/2, e, o.name+rest, f.text, o.name)
				}
			}
		}
	}
	args := e.kids[1:]
	if c := l.class(e); c != "" {
		for _, a := range args {
			if l.class(a) == c {
				l.put(rankTerm+2, e.from, e.to, t.source(a.from, a.to))
			}
		}
		if c == real || c == integer {
			list := slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
				return class(v.typ) != c || v.ranks > 0 || v.fixed || v.of == l.s
			})
			for i, v := range l.nearest(list, e, never) {
				l.value(rankName+3+i, e.from, e.to, v.name)
			}
		}
	}
	for i := range args {
		for j := i + 1; j < len(args); j++ {
			a, b := args[i], args[j]
			if x, y := l.class(a), l.class(b); x != y || t.source(a.from, a.to) == t.source(b.from, b.to) {
				continue
			}
			now := t.source(e.from, a.from) + t.source(b.from, b.to) + t.between(a.to, b.from) +
				t.source(a.from, a.to) + t.source(b.to, e.to)
			l.put(rankArguments+j-i-1, e.from, e.to, now)
		}
	}
}

// between is the text from one token to another, with the blanks around it.
func (t *Text) between(from, to int) string {
	return t.text[t.tokens[from-1].to:t.tokens[to].from]
}

// alike reports whether two functions have parameters and results of the same types.
func alike(a, b *function) bool {
	same := func(x, y *variable) bool { return class(x.typ) == class(y.typ) && x.ranks == y.ranks }
	return class(a.result) == class(b.result) && slices.EqualFunc(a.parameters, b.parameters, same)
}

// elsewhere lists what stands in the same role elsewhere.
func (l *lister) elsewhere(role string, e *expr) {
	own := l.t.source(e.from, e.to)
	n := 0
	for _, s := range l.w.slots[role] {
		if s.s == own || len(s.s) > 200 || role == "for" && n > 6 {
			continue
		}
		own, other := l.class(e), l.classOf(s)
		if own != "" && other != "" && own != other {
			continue
		}
		l.doubtful = own == "" || other == ""
		if n++; l.seesAll(s.t, s.e, e.from) && !(role == "if" && l.known(s.e)) {
			rank := rankElsewhere
			if role == "if" || role == "for" {
				rank = rankCondition
			}
			if l.class(e) == integer {
				l.value(rank+n/3, e.from, e.to, s.s)
			} else {
				l.put(rank+n/3, e.from, e.to, s.s)
			}
		}
	}
	l.doubtful = false
}

// classOf is the class of an expression where it stands.
func (l *lister) classOf(s slot) string {
	o := &lister{w: l.w, t: s.t, f: s.f}
	return o.class(s.e)
}

// grown lists edits that add a term to an index, an argument or what is assigned, or another condition.
func (l *lister) grown(role string, e *expr) {
	text := l.t.source(e.from, e.to)
	switch {
	case role == "if":
		l.put(rankCondition, e.from, e.to, "!("+text+")")
		for i, s := range l.w.slots["if"] {
			if s.s != text && l.seesAll(s.t, s.e, e.from) && !l.known(s.e) {
				l.put(rankGuard+i/8, e.from, e.to, grouped(text, e, "&&")+" && "+grouped(s.s, s.e, "&&"))
			}
		}
	case role == "for":
	case l.class(e) == integer:
		b := grouped(text, e, "*")
		if e.op != "number" { // it becomes another number
			l.value(rankNumber+3, e.from, e.to, grouped(text, e, "+")+" + 1")
			l.value(rankNumber+3, e.from, e.to, grouped(text, e, "+")+" - 1")
			l.value(rankOtherValue, e.from, e.to, b+" / 2")
			l.value(rankOtherValue, e.from, e.to, b+" * 2")
			l.value(rankOtherValue, e.from, e.to, "0")
		}
		for i, v := range l.nearest(l.numbers(e), e, never) {
			l.value(rankGrown+i/4, e.from, e.to, grouped(text, e, "+")+" + "+v.name)
			l.value(rankGrown+1+i/4, e.from, e.to, grouped(text, e, "+")+" - "+v.name)
		}
		fixed := slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
			return class(v.typ) != integer || v.ranks > 0 || !v.fixed || l.mentions(v.name) == 0
		})
		for i, v := range l.nearest(fixed, e, func(v *variable) int { return -l.mentions(v.name) }) {
			for _, op := range []string{" / ", " % ", " * "} {
				l.value(rankGrown+1+i/3, e.from, e.to, b+op+v.name)
			}
		}
	case l.class(e) == real:
		list := slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
			return class(v.typ) != real || v.ranks > 0 || v.of == l.s
		})
		for i, v := range l.nearest(list, e, never) {
			l.put(rankGrown+i/4, e.from, e.to, grouped(text, e, "*")+" * "+v.name)
			l.put(rankGrown+1+i/4, e.from, e.to, grouped(text, e, "*")+" / "+v.name)
			l.put(rankGrown+1+i/4, e.from, e.to, grouped(text, e, "-")+" - "+v.name)
		}
	}
}

// mentions counts a name in the function.
func (l *lister) mentions(name string) int {
	n := 0
	for _, tok := range l.t.tokens[l.f.from:l.f.to] {
		if tok.text == name {
			n++
		}
	}
	return n
}
