package rewrite

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
)

// Edits of the digits of a number: what of a lane's or an element's number is its row, and what its column.

// digits is x / Over % Under; Under is 0 where no remainder is taken.
type digits struct {
	x           *expr
	over, under int
}

// digitsOf reads an expression as digits of a number, ok false where it is none, or of numbers with names.
func digitsOf(e *expr) (d digits, ok bool) {
	number := func(e *expr) int {
		n, err := strconv.Atoi(e.text)
		if e.op != "number" || err != nil || n < 1 || n > mostDigit || n&(n-1) != 0 {
			return 0
		}
		return n
	}
	d = digits{x: e, over: 1}
	if d.x.op == "%" {
		if d.under = number(d.x.kids[1]); d.under == 0 {
			return d, false
		}
		d.x = d.x.kids[0]
	}
	if d.x.op == "/" {
		if d.over = number(d.x.kids[1]); d.over == 0 {
			return d, false
		}
		d.x = d.x.kids[0]
	}
	return d, d.x != e && (d.x.op == "name" || d.x.op == "member" || d.x.op == "group")
}

// mostDigit is the largest divisor and remainder of digits.
const mostDigit = 64

// digitsText is digits as they are written.
func (l *lister) digitsText(d digits) string {
	out := l.t.source(d.x.from, d.x.to)
	if d.over > 1 {
		out += " / " + strconv.Itoa(d.over)
	}
	if d.under > 0 {
		out += " % " + strconv.Itoa(d.under)
	}
	return out
}

// between is how many steps lie between two choices of digits.
func (d digits) between(o digits) int {
	log := func(n int) int { return bits.Len(uint(n)) }
	n := max(log(d.over)-log(o.over), log(o.over)-log(d.over))
	if (d.under == 0) != (o.under == 0) {
		return n + 1
	}
	return n + max(log(d.under)-log(o.under), log(o.under)-log(d.under))
}

// otherDigits lists other digits of the same number.
func (l *lister) otherDigits(e, parent *expr) {
	d, ok := digitsOf(e)
	if !ok || parent != nil && (parent.op == "%" || parent.op == "/") && parent.kids[0] == e {
		return
	}
	var list []digits
	for over := 1; over <= 32; over *= 2 {
		for _, under := range []int{0, 2, 4, 8, 16, 32} {
			if o := (digits{d.x, over, under}); o != d && (over > 1 || under > 0) {
				list = append(list, o)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b digits) int { return cmp.Compare(d.between(a), d.between(b)) })
	for i, o := range list[:min(len(list), mostDigits)] {
		now := l.digitsText(o)
		if parent != nil && slices.Contains(products, parent.op) && parent.kids[1] == e {
			now = "(" + now + ")"
		}
		l.value(rankDigits+i/2, e.from, e.to, now)
	}
}

// mostDigits is how many other digits are tried in the place of some.
const mostDigits = 15

// splitOtherwise lists, of quotients and remainders of one number by the same divisor in a statement, another
// divisor, and each in the other's place.
func (l *lister) splitOtherwise(s *statement) {
	l.otherDivisors(s)
	for _, list := range l.splits(s, func(e, parent *expr) string {
		within := parent != nil && (parent.op == "%" || parent.op == "/") && parent.kids[0] == e
		d, ok := digitsOf(e)
		if !ok || (d.over > 1) == (d.under > 0) || within {
			return ""
		}
		return l.t.source(d.x.from, d.x.to) + " " + strconv.Itoa(max(d.over, d.under))
	}) {
		own, _ := digitsOf(list[0])
		for _, turned := range []bool{false, true} {
			for by := 2; by <= 32; by *= 2 {
				if turned || by != max(own.over, own.under) {
					l.of = integer
					l.splitAs(rankSplit, list, strconv.Itoa(by), turned)
				}
			}
		}
	}
}

// splitByNames lists, of a quotient and a remainder of one number by the same constant in a statement, both
// by another constant, and each in the other's place: r = i / COLS, c = i % COLS in that of r = i % ROWS,
// c = i / ROWS.
func (l *lister) splitByNames(s *statement) {
	for _, list := range l.splits(s, func(e, _ *expr) string {
		if e.op != "/" && e.op != "%" || e.kids[0].op != "name" || !l.known(e.kids[1]) {
			return ""
		}
		return e.kids[0].text + " " + l.t.source(e.kids[1].from, e.kids[1].to)
	}) {
		own := l.t.source(list[0].kids[1].from, list[0].kids[1].to)
		names := []string{own}
		often := func(v *variable) int { return -l.mentions(v.name) }
		for _, v := range l.nearest(l.constants(list[0]), list[0], often) {
			if !l.flag(v.name) && v.name != own && len(names) < mostExtents {
				names = append(names, v.name)
			}
		}
		for i, by := range names {
			for _, turned := range []bool{true, false} {
				l.of = integer
				l.splitAs(rankSplit+i/2, list, by, turned)
			}
		}
	}
}

// splits groups the quotients and remainders of a statement by a key, "" for what is none, and lists the
// groups that have both, in the order of the text.
func (l *lister) splits(s *statement, key func(e, parent *expr) string) (out [][]*expr) {
	found := map[string][]*expr{}
	var keys []string
	for _, top := range s.top() {
		top.walk(func(e, parent *expr) bool {
			if k := key(e, parent); k != "" {
				if found[k] == nil {
					keys = append(keys, k)
				}
				found[k] = append(found[k], e)
			}
			return true
		})
	}
	for _, k := range keys {
		list := found[k]
		has := func(op string) bool {
			return slices.ContainsFunc(list, func(e *expr) bool { return e.op == op })
		}
		if has("/") && has("%") && l.near(list[0].from) {
			out = append(out, list)
		}
	}
	return out
}

// splitAs lists quotients and remainders of one number by another divisor, turned: each in the other's place.
func (l *lister) splitAs(rank int, list []*expr, by string, turned bool) {
	var sites []site
	x := l.t.source(list[0].kids[0].from, list[0].kids[0].to)
	for _, e := range list {
		op := e.op
		if turned {
			op = map[string]string{"/": "%", "%": "/"}[op]
		}
		at := l.t.inPlace(e.from, e.to, x+" "+op+" "+by)
		at.cast = true
		sites = append(sites, at)
	}
	slices.SortFunc(sites, func(a, b site) int { return a.from - b.from })
	what := "quotients and remainders of " + x + " by " + by
	if turned {
		what += ", each in the other's place"
	}
	l.add(rank, what, sites...)
}

// otherDivisors lists, of a quotient or remainder, both by what the statement divides the same number by
// elsewhere: a row and a column by the same remainder.
func (l *lister) otherDivisors(s *statement) {
	type part struct {
		e      *expr
		x, div string
	}
	var list []part
	for _, top := range s.top() {
		top.walk(func(e, _ *expr) bool {
			if e.op == "/" || e.op == "%" {
				x, d := e.kids[0], e.kids[1]
				list = append(list, part{e, l.t.source(x.from, x.to), l.t.source(d.from, d.to)})
			}
			return true
		})
	}
	for _, p := range list {
		for _, o := range list {
			if o.x != p.x || o.div == p.div || !l.near(p.e.from) {
				continue
			}
			l.of = integer
			for _, op := range []string{" / ", " % "} {
				l.value(rankDivisor, p.e.from, p.e.to, p.x+op+o.div)
			}
		}
	}
}

// stepped lists, of a step's number and a thread's row that are added, as many rows a step as the threads
// have: i * 2 + lane / 16 in the place of i + lane / 16, i * (THREADS / COLS) + t / COLS in that of
// i + t / COLS.
func (l *lister) stepped(e *expr) {
	if e.op != "+" || e.kids[1].op != "/" || len(e.kids) != 2 {
		return
	}
	step, divisor := e.kids[0], e.kids[1].kids[1]
	if step.op == "*" { // it has another factor
		step = step.kids[0]
	}
	if step.op != "name" || l.class(step) != integer || l.known(step) || !l.known(divisor) {
		return
	}
	name, row := l.t.source(step.from, step.to), l.t.source(e.kids[1].from, e.kids[1].to)
	put := func(rows string) { l.value(rankStepped, e.from, e.to, name+" * "+rows+" + "+row) }
	if n, err := strconv.Atoi(divisor.text); divisor.op == "number" && err == nil && n > 0 {
		for threads := 32; threads <= mostThreads; threads *= 2 {
			if rows := threads / n; rows > 1 {
				put(strconv.Itoa(rows))
			}
		}
		return
	}
	for i, v := range l.nearest(l.constants(e), e, func(v *variable) int { return -l.mentions(v.name) }) {
		if text := l.t.source(divisor.from, divisor.to); i < mostExtents && v.name != text {
			put("(" + v.name + " / " + text + ")")
		}
	}
}

// mostThreads is how many threads may share the rows of a step.
const mostThreads = 256
