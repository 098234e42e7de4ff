package rewrite

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// operators are what an operator may have to be.
var operators = map[string][]string{
	"<": {"<=", ">"}, "<=": {"<", ">="}, ">": {">=", "<"}, ">=": {">", "<="}, "==": {"!="}, "!=": {"=="},
	"+": {"-"}, "-": {"+"},
	"*": {"/"}, "/": {"%", "*", ">>"}, "%": {"/"}, "&&": {"||"}, "||": {"&&"}, "&": {"|", "^"},
	"|": {"&", "^"},
	"^": {"&", "+"}, "<<": {">>"}, ">>": {"<<", "/"}, "+=": {"=", "-="}, "-=": {"+=", "="}, "*=": {"=", "/="},
	"/=": {"*="}, "=": {"+=", "*="},
}

// callees are functions of CUDA that stand in each other's place: in a group each for the next ones.
var callees = [][]string{
	{"fmaxf", "fminf"}, {"max", "min"}, {"__fadd_rn", "__fsub_rn"}, {"__fmul_rn", "__fdiv_rn"},
	{"exp2f", "expf", "__expf"},
	{"log2f", "logf", "__logf", "log1pf", "log10f"}, {"erfcf", "erff"},
	{"__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_sync"},
	{"rsqrtf", "__frcp_rn", "sqrtf", "__fsqrt_rn"}, {"__low2float", "__high2float"},
	{"atomicAdd", "atomicAdd_block"}, {"__any_sync", "__all_sync"}, {"__threadfence", "__threadfence_block"},
	{"__float2half_rn", "__float2half_rz"},
	{"__float2int_rn", "__float2int_rz", "__float2int_rd", "__float2int_ru"},
	{"floorf", "truncf", "rintf", "ceilf"}, {"__fadd_rn", "__fmul_rn"},
	{"__fadd_rn", "__fadd_rz"}, {"__fmul_rn", "__fmul_rz"}, {"fmaxf", "__fadd_rn"},
	{"__fsub_rn", "__fsub_rz"}, {"__fmaf_rn", "__fmaf_rz"}, {"sinf", "cosf"}, {"__sinf", "__cosf"},
	{"atomicAdd", "atomicMax", "atomicExch"}, {"__popc", "__clz", "__ffs"},
	{"__low2half", "__high2half"}, {"__lows2half2", "__highs2half2"}, {"__low2half2", "__high2half2"},
	{"__hadd", "__hsub"}, {"__hadd2", "__hsub2"}, {"__hmul", "__hdiv"}, {"__hmax", "__hmin"},
	{"__hmax2", "__hmin2"}, {"__syncthreads_or", "__syncthreads_and"},
	// the bits of a number, and the number
	{"__ushort_as_half", "__ushort2half_rn"}, {"__short_as_half", "__short2half_rn"},
	{"__half_as_ushort", "__half2ushort_rn"}, {"__half_as_short", "__half2short_rn"},
	{"__int_as_float", "__int2float_rn"}, {"__uint_as_float", "__uint2float_rn"},
	{"__float_as_int", "__float2int_rn"}, {"__float_as_uint", "__float2uint_rn"},
}

// expression lists the edits of one part of an expression.
func (l *lister) expression(e, parent *expr) {
	t := l.t
	text := func(x *expr) string { return t.source(x.from, x.to) }
	switch c := l.class(e); {
	case c == integer && (e.op == "name" || slices.Contains(products, e.op)):
		l.term(e, parent)
		if e.op != "name" && parent != nil {
			l.variableFor(e, parent)
		}
	case c == integer && len(e.kids) == 2 && binding[e.op] >= binding["<<"] && parent != nil:
		l.variableFor(e, parent)
	case c == real && !stored(e, parent) && (e.op == "name" || e.op == "index"):
		l.passed(e)
	}
	l.unused(e, parent)
	if parent == nil || parent.op == "index" && parent.kids[1] == e {
		l.transposed(e)
	}
	switch l.class(e) {
	case integer:
		sum := (e.op == "-" || e.op == "+") && l.t.has(e.from, e.to, "-")
		if sum && parent != nil && parent.op == "group" {
			l.value(rankClamped, e.from, e.to, "max(0, "+text(e)+")")
		}
		l.donated(e, parent)
		l.chained(e, parent)
		l.otherDigits(e, parent)
		l.rounded(e, parent)
		l.otherFactor(e)
		l.stepped(e)
	case real:
		l.arithmetic(e)
		l.likeTheOther(e)
		l.wrapped(e, parent)
	}
	if parent != nil && parent.op == "list" && l.class(e) == real {
		l.extreme(e)
	}
	switch e.op {
	case "name":
		first := parent != nil && parent.kids[0] == e
		if !first || parent.op != "index" && parent.op != "member" && parent.op != "call" {
			l.name(e, e, stored(e, parent))
		}
	case "index":
		l.unusedArray(e, parent)
		l.reread(e, parent)
		l.flat(e)
		if in := e.kids[0]; in.op == "index" {
			a, b := text(in.kids[1]), text(e.kids[1])
			l.put(rankIndices, e.from, e.to, text(in.kids[0])+"["+b+"]["+a+"]")
		}
		inner := parent != nil && parent.op == "index" && parent.kids[0] == e
		if base, _ := e.base(); base.op == "name" && !inner {
			l.name(e, base, stored(e, parent))
		}
	case "member":
		l.member(e)
	case "number":
		l.number(e)
		l.asBits(e, parent)
		if l.class(e) == integer && parent != nil && (parent.op == "index" || parent.op == "call") {
			l.variableFor(e, parent)
		}
	case "call":
		l.call(e)
		l.rest(e)
		l.likeOtherCalls(e)
	case "list":
		l.elementsExchanged(e)
	case "group", "cast", "quoted":
	case "u-":
		if k := e.kids[0]; k.op == "name" && floats[k.text] || k.op == "number" {
			l.extreme(e)
		}
		l.put(rankSign, e.from, e.to, text(e.kids[0]))
	case "u!":
		l.put(rankSign, e.from, e.to, text(e.kids[0]))
	case "p++":
		l.put(rankStep, e.from, e.to, text(e.kids[0])+" += 2")
	case "?":
		a, b, c := text(e.kids[0]), text(e.kids[1]), text(e.kids[2])
		if l.known(e.kids[0]) { // it chooses a build, and which of them is right no run of this one shows
			l.dropping = true
			l.put(rankEither, e.from, e.to, b)
			l.put(rankEither, e.from, e.to, c)
			l.dropping = false
			// What other builds compute shows whether they are exchanged.
			l.put(rankEither+1, e.from, e.to, a+" ? "+c+" : "+b)
			break
		}
		l.put(rankEither, e.from, e.to, b)
		l.put(rankEither, e.from, e.to, c)
		l.put(rankEither+1, e.from, e.to, a+" ? "+c+" : "+b) // where both of them are right it is no exchange
	default:
		l.partly(e)
		l.leaders(e)
		l.numbered(e)
		l.quotient(e, parent)
		if len(e.kids) == 2 {
			l.binary(e)
		}
	}
}

// variableFor lists variables in the place of a term, and constants in that of several.
func (l *lister) variableFor(e, parent *expr) {
	whole := e
	if parent.op == "group" {
		whole = parent // a name needs no brackets
	}
	if len(e.kids) == 2 && !l.known(e) {
		past := l.pastEnd()
		for i, v := range l.nearest(l.constants(e), e, never) {
			rank := rankFixed + i/2
			if past {
				rank = rankPastEnd + i/2
			}
			if past && l.extent(v.name) {
				rank = rankPastEnd - 4
			}
			l.value(rank, whole.from, whole.to, v.name)
		}
	}
	for i, v := range l.nearest(l.numbers(e), e, never) {
		rank := rankVariable + i/2
		if l.computedLike(v, []*expr{e}) {
			rank = rankSameNames
		}
		l.value(rank, whole.from, whole.to, v.name)
	}
}

// pastEnd reports whether the statement at hand is a loop round a line on which something goes past the end
// of an array.
func (l *lister) pastEnd() bool { return l.s != nil && l.goesPast(l.s) }

// goesPast is pastEnd of a statement.
func (l *lister) goesPast(s *statement) bool {
	if !l.wanted.Beyond || s.kind != "for" {
		return false
	}
	from, to := l.t.tokens[s.from].line, l.t.tokens[s.to-1].line
	for line, far := range l.lines[l.t.Name] {
		if far <= 0 && from <= line && line <= to {
			return true
		}
	}
	return false
}

// declaresBound reports whether the statement at hand declares a variable that stands in the header of a loop
// round a line on which something goes past the end of an array.
func (l *lister) declaresBound() bool {
	if !l.wanted.Beyond || l.s == nil || l.s.kind != "declaration" {
		return false
	}
	found := false
	each(l.f.body, func(x *statement) {
		if !found && l.goesPast(x) && len(x.body) > 0 {
			found = slices.ContainsFunc(l.s.declares, func(v *variable) bool {
				return l.t.has(x.from, x.body[0].from, v.name)
			})
		}
	})
	return found
}

// extent reports whether a constant is an extent of an array that is wanted.
func (l *lister) extent(name string) bool {
	found := false
	each(l.f.body, func(s *statement) {
		for _, v := range s.declares {
			if !slices.ContainsFunc(l.wanted.Arrays, func(a string) bool { return sameArray(a, v.name) }) {
				continue
			}
			for _, x := range v.extents {
				found = found || l.t.has(x[0], x[1], name)
			}
		}
	})
	return found
}

// passedTo reports whether a value is one that a function gives, or what it is given: twice it does what the
// function should do once.
func (l *lister) passedTo(e *expr, function string) bool {
	return e.op == "call" && e.kids[0].text == function ||
		l.t.is(e.from-1, "(") && l.t.is(e.from-2, function)
}

// passed lists a number that is passed to one of the kernel's functions of one number, and as what it is only
// under a condition.
func (l *lister) passed(e *expr) {
	text := l.t.source(e.from, e.to)
	for _, t := range l.w.seen(l.t) {
		for _, f := range t.functions {
			if len(f.parameters) == 1 && class(f.result) == real && class(f.parameters[0].typ) == real &&
				f.parameters[0].ranks == 0 && f.name != l.f.name && l.seesFunction(t, f) &&
				!l.passedTo(e, f.name) {
				l.put(rankPassed, e.from, e.to, f.name+"("+text+")")
			}
		}
	}
	if e.op != "index" {
		return
	}
	l.guards = true
	defer func() { l.guards = false }()
	others := append([]string{"0.0f"}, l.numberFunctions()...)
	for i, c := range l.guarding(e, e.from, e.to) {
		for _, o := range others {
			l.put(rankGuarded+i/4, e.from, e.to, "("+c+" ? "+text+" : "+o+")")
		}
	}
}

// bitwise are the operators of bits that bind more weakly than sums and products do.
var bitwise = []string{"&", "^", "|", "<<", ">>"}

// products are the operators of products.
var products = []string{"*", "/", "%"}

// binary lists the edits of an operator and of its terms.
func (l *lister) binary(e *expr) {
	t := l.t
	a, b := t.source(e.kids[0].from, e.kids[0].to), t.source(e.kids[1].from, e.kids[1].to)
	at := e.kids[0].to // the operator
	for i, op := range operators[e.op] {
		rank := rankOperator + 2*i
		if e.op == "==" && b == "0" {
			rank += 4 // what one does, all others would do
		}
		if l.wanted.Beyond && e.op == op+"=" && (op == "<" || op == ">") {
			rank -= stricter
		}
		l.putNear(rank, e, a+" "+op+" "+b, t.tokens[at].text, op)
	}
	if binding[e.op] == assignment || e.op == "," {
		return
	}
	switch e.op {
	case "<", "<=", ">", ">=", "==", "!=":
		l.unconverted(e)
		return
	case "-", "/", "%":
		l.put(rankTurned, e.from, e.to, grouped(b, e.kids[1], e.op)+" "+e.op+" "+grouped(a, e.kids[0], e.op))
		l.put(rankTerm, e.from, e.to, a)
	default:
		fits := func(k *expr) bool { // a pointer or a number
			x, own := l.class(k), l.class(e)
			return x == "" || own == "" || strings.HasSuffix(x, "*") == strings.HasSuffix(own, "*")
		}
		l.dropping = e.op == "&&" || e.op == "||" // a condition too many may be one that a flag chooses
		if fits(e.kids[0]) {
			l.put(rankTerm, e.from, e.to, a)
		}
		if fits(e.kids[1]) {
			l.put(rankSecond, e.from, e.to, b)
		}
		l.dropping = false
	}
	// (a + b) * c in the place of a + b * c, and a * (b + c) in that of a * b + c
	if k := e.kids[1]; (e.op == "+" || e.op == "-") && slices.Contains(products, k.op) {
		x, y := t.source(k.kids[0].from, k.kids[0].to), t.source(k.kids[1].from, k.kids[1].to)
		l.put(rankBrackets, e.from, e.to, "("+a+" "+e.op+" "+x+") "+k.op+" "+y)
	}
	if k := e.kids[0]; (e.op == "+" || e.op == "-") && slices.Contains(products, k.op) {
		x, y := t.source(k.kids[0].from, k.kids[0].to), t.source(k.kids[1].from, k.kids[1].to)
		l.put(rankBrackets, e.from, e.to, x+" "+k.op+" ("+y+" "+e.op+" "+b+")")
	}
	// (a & b) * c in the place of a & b * c, as few mean the latter of a mask
	if k := e.kids[1]; slices.Contains(bitwise, e.op) && len(k.kids) == 2 && binding[k.op] > binding[e.op] &&
		binding[k.op] >= binding["<<"] {
		x, y := t.source(k.kids[0].from, k.kids[0].to), t.source(k.kids[1].from, k.kids[1].to)
		rank := rankBrackets
		if e.op == "&" {
			rank = rankMasked
		}
		l.put(rank, e.from, e.to, "("+a+" "+e.op+" "+x+") "+k.op+" "+y)
	}
	if k := e.kids[0]; slices.Contains(products, e.op) && slices.Contains(products, k.op) {
		x, y := t.source(k.kids[0].from, k.kids[0].to), t.source(k.kids[1].from, k.kids[1].to)
		l.put(rankTurned, e.from, e.to, x+" "+e.op+" "+b+" "+k.op+" "+y) // the two operators exchanged
		l.put(rankTurned, e.from, e.to, x+" "+k.op+" ("+y+" "+e.op+" "+b+")")
	}
}

// unconverted lists a comparison of what is converted, without the conversions, and as two comparisons where
// it is of differences from one number.
func (l *lister) unconverted(e *expr) {
	var args []string
	var differences []*expr
	for _, k := range e.kids {
		if k.op != "call" || len(k.kids) != 2 || !strings.HasPrefix(k.kids[0].text, "static_cast<") {
			return
		}
		args = append(args, grouped(l.t.source(k.kids[1].from, k.kids[1].to), k.kids[1], e.op))
		if k.kids[1].op == "-" {
			differences = append(differences, k.kids[1])
		}
	}
	l.put(rankArgument, e.from, e.to, args[0]+" "+e.op+" "+args[1])
	if len(differences) == 2 { // a range that is tested by one comparison
		text := func(x *expr) string { return l.t.source(x.from, x.to) }
		a, b := differences[0], differences[1]
		if least := text(a.kids[1]); least == text(b.kids[1]) {
			x := text(a.kids[0])
			l.put(rankArgument, e.from, e.to, x+" >= "+least+" && "+x+" "+e.op+" "+text(b.kids[0]))
		}
	}
}

// putNear is put for an edit of an operator or function, which alone its phrase names.
func (l *lister) putNear(rank int, e *expr, now, was, op string) {
	l.add(rank, op+" in place of "+was, l.t.inPlace(e.from, e.to, now))
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
	if v == nil && !l.constant(e.text) && !qualified(e.text) {
		return
	}
	if v == nil {
		v = &variable{name: e.text, typ: "int", fixed: true}
	}
	c := class(v.typ)
	if c == boolean && whole == e && v.ranks == 0 && !stored && !v.fixed {
		l.put(rankTruth, e.from, e.to, "false")
		l.put(rankTruth, e.from, e.to, "true")
	}
	rest := l.t.source(e.to, whole.to)
	others := slices.DeleteFunc(l.visible(e.from), func(o *variable) bool {
		return o.name == e.text || o.ranks != v.ranks || class(o.typ) != c ||
			stored && (o.once && !v.once || o.fixed || o.typ != v.typ) ||
			strings.HasSuffix(o.typ, "*") && l.t.readOnly(o) && !l.t.readOnly(v) && (stored || whole == e) ||
			o.of == l.s && o.line == l.t.tokens[e.from].line && v.of != l.s
	})
	differ := func(o *variable) int {
		n := unlike(e.text, o.name, v.fixed == o.fixed)
		if l.madeOf(o, v.name) || l.madeOf(v, o.name) {
			n -= related
		}
		return n
	}
	bounds := v.fixed && l.declaresBound()
	for i, o := range l.nearest(others, e, differ) {
		if whole == e && v.ranks > 0 {
			first, later := l.sameExtents(o, v)
			if !later {
				continue
			}
			l.doubtful = !first
		}
		put, rank := l.put, rankName+min(i, mostLess)
		if o.typ != v.typ && c == integer || o.fixed {
			put = l.value
		}
		if v.fixed && !o.fixed && l.pastEnd() {
			rank = rankPastEnd + i/2 - farther*l.far
		}
		if v.fixed && o.fixed && bounds && l.extent(o.name) {
			rank = rankPastEnd - 4 - farther*l.far
		}
		put(rank, whole.from, whole.to, o.name+rest)
		l.doubtful = false
	}
	if c == integer && v.fixed && whole == e {
		for i, n := range append([]string{"1"}, l.literals()...) {
			l.value(rankLiteral+i/2, e.from, e.to, n)
		}
	}
}

// readOnly reports a pointer to what nothing is assigned to: const float*.
func (t *Text) readOnly(v *variable) bool {
	pointer := false
	for at := v.at - 1; at > 0 && at < len(t.tokens); at-- {
		switch tok := t.tokens[at].text; tok {
		case "*":
			pointer = true
		case "const":
			if pointer {
				return true
			}
		case "(", ",", ")", ";", "{", "}":
			return false
		}
	}
	return false
}

// sameExtents reports whether two arrays have the same first extent, and the same later ones, as written.
func (l *lister) sameExtents(a, b *variable) (first, later bool) {
	extent := func(v *variable, i int) string {
		if i >= len(v.extents) {
			return ""
		}
		return l.t.source(v.extents[i][0], v.extents[i][1])
	}
	later = true
	for i := 1; i < max(len(a.extents), len(b.extents)); i++ {
		later = later && extent(a, i) == extent(b, i)
	}
	return extent(a, 0) == extent(b, 0), later
}

// related is by how much a variable is nearer to one that it is computed from.
const related = 5

// madeOf reports whether a variable is computed from a name.
func (l *lister) madeOf(v *variable, from string) bool { return v.init.has(from) }

// has reports whether an expression has a name in it.
func (e *expr) has(name string) bool {
	found := false
	e.walk(func(x, _ *expr) bool {
		found = found || x.op == "name" && x.text == name
		return true
	})
	return found
}

// seesFunction reports whether a function is defined before the one at hand.
func (l *lister) seesFunction(t *Text, f *function) bool { return t != l.t || f.from < l.f.from }

// mostNames is how many variables are tried in the place of one, or added to an expression.
const mostNames = 14

// nearest orders variables by how far from an expression they are mentioned and by another measure, and keeps
// the first.
func (l *lister) nearest(list []*variable, e *expr, measure func(*variable) int) []*variable {
	far := map[*variable]int{}
	for _, v := range list {
		far[v] = measure(v) + l.apart(v, e)
	}
	slices.SortStableFunc(list, func(a, b *variable) int { return cmp.Compare(far[a], far[b]) })
	return list[:min(len(list), mostNames)]
}

// apart is how far from an expression a variable is mentioned or declared, 0 to 6: about the logarithm of the
// lines between.
func (l *lister) apart(v *variable, e *expr) int {
	line := l.t.tokens[e.from].line
	least := 1 << 20
	for _, at := range l.mentioned(v.name) {
		least = min(least, max(at-line, line-at))
	}
	n := 0
	for ; least > 0 && n < 6; least /= 2 {
		n++
	}
	return n
}

// mentioned are the lines of the function that have a name.
func (l *lister) mentioned(name string) []int {
	if l.lined == nil || l.linedOf != l.f {
		l.lined, l.linedOf = map[string][]int{}, l.f
		for _, tok := range l.t.tokens[l.f.from:l.f.to] {
			l.lined[tok.text] = append(l.lined[tok.text], tok.line)
		}
	}
	return l.lined[name]
}

// unlike is how little two names have in common, 0 to 9: how they begin and end, or words in them.
func unlike(a, b string, same bool) int {
	prefix, suffix := 0, 0
	for prefix < min(len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	for suffix < min(len(a), len(b))-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	n := 6 - 6*max(prefix+suffix, sharedWords(a, b))/max(len(a), len(b))
	if len(a) == 1 && len(b) == 1 {
		n = 3 // letters say no more than that they are counters
	}
	if !same {
		n += 3
	}
	return n
}

// wordOf matches a word of a name: "first" and "row" of first_row, "row" and "16" of row16.
var wordOf = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// sharedWords is how many letters the words have that two names share, of more than one letter each.
func sharedWords(a, b string) (n int) {
	words := wordOf.FindAllString(b, -1)
	for _, w := range wordOf.FindAllString(a, -1) {
		if len(w) > 1 && slices.ContainsFunc(words, func(o string) bool { return strings.EqualFold(o, w) }) {
			n += len(w)
		}
	}
	return n
}

// scalars are the variables of a class that an expression sees and a compiler does not know the values of,
// without those that its statement declares.
func (l *lister) scalars(e *expr, c string) []*variable {
	return slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
		return class(v.typ) != c || v.ranks > 0 || v.fixed || v.of == l.s
	})
}

// numbers are the integers among them.
func (l *lister) numbers(e *expr) []*variable { return l.scalars(e, integer) }

// constants are the integers that an expression sees whose values a compiler has, without the masks of lanes:
// nothing is counted by these.
func (l *lister) constants(e *expr) []*variable {
	return slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
		return class(v.typ) != integer || v.ranks > 0 || !v.fixed || v.mask
	})
}

// named are the constants that the function mentions, those first that it mentions most.
func (l *lister) named(e *expr) []*variable {
	list := slices.DeleteFunc(l.constants(e), func(v *variable) bool { return l.mentions(v.name) == 0 })
	return l.nearest(list, e, func(v *variable) int { return -l.mentions(v.name) })
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
				l.put(rankAxis, e.from, e.to, of+"."+axis)
			}
		}
		for i, v := range l.nearest(l.numbers(e), e, never) {
			l.value(rankAxis+i/2, e.from, e.to, v.name)
		}
		for _, now := range []string{" / 2", " * 2", " + 1"} {
			l.value(rankStep, e.from, e.to, "("+of+"."+e.text+now+")")
		}
		return
	}
	join := l.t.source(e.kids[0].to, e.kids[0].to+1)
	if i := slices.Index(components, e.text); i >= 0 {
		n := 2 // or all four, where the function uses more of it
		last := l.t.tokens[e.kids[0].to-1].text
		for at := l.f.from; at+2 < l.f.to; at++ {
			if l.t.is(at, last) && l.t.is(at+1, join) && (l.t.is(at+2, "z") || l.t.is(at+2, "w")) {
				n = len(components)
			}
		}
		for k, o := range components[:max(n, i+1)] {
			if k != i {
				l.put(rankComponent, e.from, e.to, of+join+o)
			}
		}
	}
	if own := l.find(of, e.from); own != nil && e.kids[0].op == "name" { // of another variable of its type
		alike := slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
			return v.typ != own.typ || v.ranks != own.ranks || v.name == own.name
		})
		for i, v := range l.nearest(alike, e, never) {
			l.put(rankMember+i, e.from, e.to, v.name+join+e.text)
		}
	}
	for _, t := range l.w.texts {
		for _, list := range t.structs {
			i := slices.IndexFunc(list, func(v *variable) bool { return v.name == e.text })
			if i < 0 {
				continue
			}
			for _, o := range list {
				if o.name != e.text && o.typ == list[i].typ && o.ranks == list[i].ranks {
					l.put(rankMember+unlike(e.text, o.name, true)/2, e.from, e.to, of+join+o.name)
				}
			}
		}
	}
}

// components are the members of CUDA's vectors.
var components = []string{"x", "y", "z", "w"}

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
					l.calledInstead(f.text, o)
				}
			}
		}
	}
	l.otherCast(f)
	if own := l.w.called[f.text]; len(own) > 0 {
		for _, t := range l.w.seen(l.t) {
			for _, o := range t.functions {
				if o.name != f.text && alike(o, own[0]) && l.seesFunction(t, o) {
					l.putNear(rankOwnCallee+unlike(o.name, f.text, true)/2, e, o.name+rest, f.text, o.name)
				}
			}
		}
	}
	args := e.kids[1:]
	if len(args) == 0 && l.class(e) == real {
		l.extreme(e)
	}
	l.templateNumbers(e)
	if c := l.class(e); c != "" {
		for _, a := range args {
			if l.class(a) == c {
				l.put(rankArgument, e.from, e.to, t.source(a.from, a.to))
			}
		}
		if c == real || c == integer {
			for i, v := range l.nearest(l.scalars(e, c), e, never) {
				l.value(rankVariable+i/2, e.from, e.to, v.name)
			}
		}
	}
	if strings.HasPrefix(f.text, "__shfl_") && len(args) == 4 {
		l.put(rankWidth, e.from, e.to, t.source(e.from, args[2].to)+")")
	}
	for i := range args {
		for j := i + 1; j < len(args); j++ {
			a, b := args[i], args[j]
			if x, y := l.class(a), l.class(b); x != y || t.source(a.from, a.to) == t.source(b.from, b.to) {
				continue
			}
			now := t.text[t.tokens[e.from].from:t.tokens[a.from].from] + t.source(b.from, b.to) +
				t.between(a.to, b.from) + t.source(a.from, a.to) +
				t.text[t.tokens[b.to-1].to:t.tokens[e.to-1].to]
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
