package hostcode

import (
	"slices"
	"strconv"
	"strings"
)

// presence is whether a compiler of the host's code sees a token.
type presence uint8

const (
	present presence = iota
	absent
	uncertain // a condition decides it whose value is not known
)

// Names that compilers define, or do not define, for the host's code on Linux.
var (
	definedNames   = []string{"__CUDACC__", "__NVCC__", "__cplusplus", "__linux__", "__GNUC__", "__x86_64__"}
	undefinedNames = []string{"__CUDA_ARCH__", "__CUDACC_RTC__", "_WIN32", "_WIN64", "WIN32", "_MSC_VER",
		"__APPLE__", "__clang__", "__HIP__", "__HIPCC__", "__HIP_PLATFORM_AMD__", "USE_ROCM"}
)

// conditions walks the preprocessor lines of a unit in order.
type conditions struct {
	u       *Unit
	defined map[string]string // what a name stands for, by #define lines so far
	open    []branch
}

// branch is a condition that is open: the presence of what is around it, of the branch at hand, and whether
// one before it was taken.
type branch struct {
	outer, now presence
	taken      presence // present: one was, absent: none was
}

// presences are, for each token of a unit's code, whether the host's compiler sees it. others has the macros
// of headers.
func (u *Unit) presences(others map[string]string) []presence {
	c := &conditions{u: u, defined: map[string]string{}}
	for name, text := range others {
		c.defined[name] = text
	}
	out := make([]presence, len(u.code))
	k := 0
	for _, t := range u.tokens {
		if t.kind == directive {
			c.line(u.words(t))
			continue
		}
		for k < len(u.code) && u.code[k].start < t.start {
			k++
		}
		if k < len(u.code) && u.code[k].start == t.start {
			out[k] = c.now()
		}
	}
	return out
}

func (c *conditions) now() presence {
	if n := len(c.open); n > 0 {
		return c.open[n-1].now
	}
	return present
}

func (c *conditions) line(words []string) {
	if len(words) == 0 {
		return
	}
	n := len(c.open)
	switch words[0] {
	case "if", "ifdef", "ifndef":
		b := branch{outer: c.now(), taken: absent}
		b.enter(c.holds(words))
		c.open = append(c.open, b)
	case "elif":
		if n > 0 {
			c.open[n-1].enter(c.holds(words))
		}
	case "else":
		if n > 0 {
			c.open[n-1].enter(present)
		}
	case "endif":
		c.open = c.open[:max(0, n-1)]
	case "define":
		if len(words) > 1 && c.now() == present {
			c.defined[words[1]] = strings.Join(words[2:], " ")
		}
	case "undef":
		if len(words) > 1 {
			delete(c.defined, words[1])
		}
	}
}

// enter begins the next branch, whose own condition holds or not.
func (b *branch) enter(holds presence) {
	switch {
	case b.outer == absent || b.taken == present:
		b.now = absent
	case b.taken == uncertain && holds == present:
		b.now = uncertain
	default:
		b.now = holds
	}
	if b.now == present && b.outer == uncertain {
		b.now = uncertain
	}
	if b.taken != present && holds != absent {
		b.taken = holds
	}
}

// holds is whether a condition is true: present for true.
func (c *conditions) holds(words []string) presence {
	switch {
	case words[0] == "ifdef" && len(words) > 1:
		return c.isDefined(words[1])
	case words[0] == "ifndef" && len(words) > 1:
		return negated(c.isDefined(words[1]))
	}
	e := &conditionParser{c: c, words: words[1:]}
	v, ok := e.binary(0)
	switch {
	case !ok || e.i < len(e.words):
		return uncertain
	case v != 0:
		return present
	}
	return absent
}

func negated(p presence) presence {
	switch p {
	case present:
		return absent
	case absent:
		return present
	}
	return uncertain
}

func (c *conditions) isDefined(name string) presence {
	_, ok := c.defined[name]
	switch {
	case ok || slices.Contains(definedNames, name):
		return present
	case slices.Contains(undefinedNames, name):
		return absent
	case strings.HasPrefix(name, "_") || strings.Contains(name, "CUDA") || strings.Contains(name, "VERSION"):
		return uncertain // of headers
	}
	return absent
}

// conditionParser evaluates the expression of an #if.
type conditionParser struct {
	c     *conditions
	words []string
	i     int
	depth int
}

func (p *conditionParser) at(n int) string {
	if p.i+n < len(p.words) {
		return p.words[p.i+n]
	}
	return ""
}

var conditionLevels = map[string]int{"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4,
	"+": 5, "-": 5, "*": 6, "/": 6}

func (p *conditionParser) operator() (string, int) {
	if two := p.at(0) + p.at(1); conditionLevels[two] > 0 && p.at(1) != "" {
		return two, 2
	}
	return p.at(0), 1
}

func (p *conditionParser) binary(least int) (int64, bool) {
	a, ok := p.unary()
	for {
		op, n := p.operator()
		level := conditionLevels[op]
		if level == 0 || level <= least {
			return a, ok
		}
		p.i += n
		b, okB := p.binary(level)
		switch {
		case op == "&&" && (ok && a == 0 || okB && b == 0):
			a, ok = 0, true
			continue
		case op == "||" && (ok && a != 0 || okB && b != 0):
			a, ok = 1, true
			continue
		case !ok || !okB:
			a, ok = 0, false
			continue
		}
		a, ok = operated(op, a, b)
	}
}

func operated(op string, a, b int64) (int64, bool) {
	truth := func(yes bool) (int64, bool) {
		if yes {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case "||":
		return truth(a != 0 || b != 0)
	case "&&":
		return truth(a != 0 && b != 0)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<":
		return truth(a < b)
	case ">":
		return truth(a > b)
	case "<=":
		return truth(a <= b)
	case ">=":
		return truth(a >= b)
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/":
		if b != 0 {
			return a / b, true
		}
	}
	return 0, false
}

func (p *conditionParser) unary() (int64, bool) {
	if p.depth++; p.depth > maxDepth || p.i >= len(p.words) {
		return 0, false
	}
	defer func() { p.depth-- }()
	w := p.at(0)
	p.i++
	switch {
	case w == "!":
		v, ok := p.unary()
		if v != 0 {
			return 0, ok
		}
		return 1, ok
	case w == "-":
		v, ok := p.unary()
		return -v, ok
	case w == "(":
		v, ok := p.binary(0)
		if p.at(0) != ")" {
			return 0, false
		}
		p.i++
		return v, ok
	case w == "defined":
		name := p.at(0)
		p.i++
		if name == "(" {
			name = p.at(0)
			p.i += 2
		}
		switch p.c.isDefined(name) {
		case present:
			return 1, true
		case absent:
			return 0, true
		}
		return 0, false
	}
	if n, err := strconv.ParseInt(strings.TrimRight(w, "uUlL"), 0, 64); err == nil {
		return n, true
	}
	if text, ok := p.c.defined[w]; ok {
		n, err := strconv.ParseInt(strings.TrimRight(text, "uUlL"), 0, 64)
		return n, err == nil
	}
	return 0, p.c.isDefined(w) == absent && p.at(0) != "(" // an identifier that is none of a macro's is 0
}
