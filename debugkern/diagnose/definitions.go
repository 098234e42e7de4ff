package diagnose

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// Where an index is wrong, the line of the access shows the names that it is made of, and seldom what is
// wrong about them. The lines that give them their values are read from the text of the source, as somebody
// who debugs would: upwards from the access, within its function.

// definition is a line that gives a name of an index its value.
type definition struct {
	at    report.Source
	name  string
	depth int  // 1: the name stands in the index itself
	level int  // 0: of the access's own line, else of that of a call
	loop  bool // the line is the head of a loop
	ends  bool // of one whose bound takes part, or is not ordered: <=, >=, !=
	sum   bool // the value has several summands
	sure  bool // the index of the very variable has the name
}

const (
	deepest         = 3 // how many definitions in a row are followed
	mostDefinitions = 8
	mostCited       = 3 // how many a message has
)

var (
	bracketed = regexp.MustCompile(`\[([^\[\]]*)\]`)
	called    = regexp.MustCompile(`\b([A-Za-z_]\w*)\s*(?:<[\w:\s*&,]*>)?\s*\(`)
	assigned  = regexp.MustCompile(`\b[A-Za-z_]\w*\s*=[^=]`)
	inclusive = regexp.MustCompile(`<=|>=|!=`)
	nameOf    = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
	constants = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	comment   = regexp.MustCompile(`//.*`)
	headed    = regexp.MustCompile(`\bfor\s*\(`)
	begins    = regexp.MustCompile(`^(?:__global__|__device__|extern|template|static|\})`)
)

// indexNames are the names in the index of a variable on a line: in the brackets behind it, or in what is
// added to it where it has none. Of a variable that the line has several times, it is where it is assigned
// to (written), or the others. On a line that does not name the variable it is all brackets, and where there
// are none all names that are not called and in no condition.
func indexNames(line, variable string, written bool) []string {
	line = bare(line)
	text := ""
	named := regexp.MustCompile(`\b` + regexp.QuoteMeta(variable) + `\b`)
	var places [][]int
	if variable != "" {
		places = named.FindAllStringIndex(line, -1)
	}
	for i, at := range places {
		own := subscript(line[at[1]:])
		stored := isStored.MatchString(line[at[1]+len(own):])
		if len(places) > 1 && stored != written && (stored || i > 0 || written) {
			continue
		}
		text += " " + own
	}
	if len(places) == 0 {
		for _, m := range bracketed.FindAllStringSubmatch(line, -1) {
			text += " " + m[1]
		}
		if strings.TrimSpace(text) == "" {
			text = called.ReplaceAllString(assigned.ReplaceAllString(unconditional(line), "="), " (")
		}
	}
	var out []string
	for _, n := range nameOf.FindAllString(called.ReplaceAllString(text, " ("), -1) {
		if !constants.MatchString(n) && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// isStored matches what stands behind a variable that a statement assigns to.
var isStored = regexp.MustCompile(`^\s*(?:[-+*/%^&|]|<<|>>)?=[^=]`)

// subscript is what a text behind a variable's name takes of it: the brackets, or what is added.
func subscript(text string) string {
	end := 0
	for {
		rest := strings.TrimLeft(text[end:], " ")
		if !strings.HasPrefix(rest, "[") {
			break
		}
		inner := upTo(rest[1:])
		end = len(text) - len(rest) + min(len(rest), len(inner)+2)
	}
	if end > 0 {
		return text[:end]
	}
	return first(upTo(text))
}

// unconditional is a line without the condition that it begins with.
func unconditional(line string) string {
	if at := condition.FindStringIndex(line); at != nil {
		return line[at[1]+len(upTo(line[at[1]:])):]
	}
	return line
}

var condition = regexp.MustCompile(`^\s*(?:\}\s*)?(?:else\s+)?if\s*\(`)

// definitions lists the lines above an access that its index is made of, those first that come first when one
// reads upwards; of an access in inlined code those of the calls too. A line whose instructions take no part
// in the access's address is of another access by the same names.
func (q *inquiry) definitions(x access) []definition {
	if x.at == nil {
		return nil
	}
	fn := q.run.Entry()
	r := resolver{variables: []string{x.variable}, written: q.writes(x)}
	var parts map[int]bool
	if fn != nil {
		list := q.accessed(fn, x)
		parts = q.addressOf(fn, list)
		r.variables = append(q.basesOf(fn, list, parts), x.variable)
	}
	places := []report.Source{{File: x.at.File, Line: x.at.Line}}
	sites := x.at.Calls.Sites()
	for i := range slices.Backward(sites) {
		places = append(places, report.Source{File: sites[i].File, Line: sites[i].Line})
	}
	for level, p := range places {
		lines := q.run.Source(p.File)
		if p.Line < 1 || p.Line > len(lines) {
			break
		}
		r.level(lines, p, level)
	}
	out := r.out
	if fn != nil {
		out = slices.DeleteFunc(out, func(d definition) bool {
			own := instructionsAt(fn, &d.at)
			// of a loop's head the compiler may have nothing left but its end
			return !d.loop && !d.sure && parts != nil && len(own) > 0 &&
				!slices.ContainsFunc(own, func(i int) bool { return parts[i] })
		})
	}
	slices.SortStableFunc(out, func(a, b definition) int { return cmp.Compare(a.depth, b.depth) })
	return out[:min(len(out), mostDefinitions)]
}

// resolver follows the names of an index from line to line, and from a function to its call.
type resolver struct {
	variables []string // by which a line may name what is accessed
	written   bool
	out       []definition
	open      []string // names that the level's function does not define
	function  string   // that the level lies in; "" where the text does not show it
	params    []string
}

// level follows the names of one line: of the access, or of a call that it was inlined through.
func (r *resolver) level(lines []string, p report.Source, level int) {
	used, sure := p.Line, false
	var names []string
	args := []string(nil)
	if level > 0 && r.function != "" {
		args = passed(lines, p.Line, r.function)
	}
	variable := ""
	switch {
	case len(args) > 0:
		for i, param := range r.params {
			if i < len(args) && slices.Contains(r.open, param) {
				variable = r.variables[indexedIn(args[i], r.variables)]
				names = append(names, indexNames(args[i], variable, false)...)
			}
		}
	default:
		variable, used = indexedOn(lines, p.Line, r.variables)
		sure = hasName(lines[used-1], variable)
		names = indexNames(lines[used-1], variable, r.written)
	}
	r.open = nil
	r.function, r.params = enclosing(lines, used)
	type open struct {
		name  string
		below int
	}
	var now []open
	for _, n := range names {
		now = append(now, open{n, used})
	}
	if level == 0 {
		r.open = append(r.open, variable)
	}
	for depth := 1; depth <= deepest; depth++ {
		var next []open
		for _, o := range now {
			n, value := valueOf(lines, o.name, o.below)
			if n == 0 {
				r.open = append(r.open, o.name)
				continue
			}
			text := bare(lines[n-1])
			d := definition{
				at: report.Source{File: p.File, Line: n}, name: o.name, depth: depth, level: level,
				loop: headed.MatchString(text), ends: inclusive.MatchString(text),
				sure: sure && depth == 1,
			}
			if !d.loop { // of which the bound counts too
				value = first(value)
				d.sum = strings.ContainsAny(value, "+-")
			}
			if !slices.ContainsFunc(r.out, func(x definition) bool {
				return x.at == d.at && x.name == d.name
			}) {
				r.out = append(r.out, d)
			}
			for _, x := range nameOf.FindAllString(called.ReplaceAllString(value, " ("), -1) {
				if !constants.MatchString(x) && x != o.name {
					next = append(next, open{x, n})
				}
			}
		}
		now = next
	}
}

// hasName reports whether a line names a variable.
func hasName(line, variable string) bool {
	return variable != "" && regexp.MustCompile(`\b`+regexp.QuoteMeta(variable)+`\b`).MatchString(bare(line))
}

// indexedIn is the first of some variables that a text has; the last where it has none of them.
func indexedIn(text string, variables []string) int {
	for i, v := range variables {
		if hasName(text, v) {
			return i
		}
	}
	return len(variables) - 1
}

// indexedOn is the first of some variables that a line, or one shortly behind it, has, and that line; the
// last variable where it has none of them.
func indexedOn(lines []string, line int, variables []string) (variable string, used int) {
	for _, v := range variables {
		if used := usedAt(lines, line, v); hasName(lines[used-1], v) {
			return v, used
		}
	}
	return variables[len(variables)-1], line
}

// basesOf names the variables that the addresses of accesses begin with, as the source has them: shared
// arrays, and the arguments that are passed as parameters. parts are the instructions that compute the
// addresses.
func (q *inquiry) basesOf(fn *ptx.Func, accesses []int, parts map[int]bool) []string {
	var out []string
	for _, i := range slices.Concat(accesses, slices.Sorted(maps.Keys(parts))) {
		for _, a := range fn.Body[i].Args {
			v := a.Var
			own := func(v *ptx.Var) bool { return isOf(&a, v) }
			if n := slices.IndexFunc(fn.Params, own); n >= 0 {
				v = fn.Params[n]
			}
			if v == nil {
				continue
			}
			name := v.Demangled
			if slices.Contains(fn.Params, v) {
				name = q.passedAs(v)
			}
			if name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// passedAs is the pointer argument of the launch that a parameter is; "" where it is none.
func (q *inquiry) passedAs(v *ptx.Var) string {
	for i := range q.run.Plan.Args {
		if a := &q.run.Plan.Args[i]; len(a.Dims) > 0 && q.parameter(a.Name) == v {
			return a.Name
		}
	}
	return ""
}

// writes reports whether an access is known to be a store.
func (q *inquiry) writes(x access) bool {
	fn := q.run.Entry()
	if fn == nil {
		return false
	}
	list := q.accessed(fn, x)
	reads := func(i int) bool { return !fn.Body[i].Kind().Writes() }
	return len(list) > 0 && !slices.ContainsFunc(list, reads)
}

// accessed lists the instructions of an access: of those of its line that access memory those of its
// variable, where there are some.
func (q *inquiry) accessed(fn *ptx.Func, x access) []int {
	list := x.instr
	if list == nil {
		list = accessesAt(fn, x.at)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(i int) bool {
		k := fn.Body[i].Kind()
		return !k.Reads() && !k.Writes() && !k.Async() || fn.Body[i].Space() == ptx.SpaceParam
	})
	of := slices.DeleteFunc(slices.Clone(list), func(i int) bool {
		own := []int{i}
		return !slices.Contains(q.basesOf(fn, own, q.addressOf(fn, own)), x.variable)
	})
	if x.instr == nil && len(of) > 0 {
		return of
	}
	return list
}

// addressOf lists the instructions that compute the addresses of accesses; nil where they are in no register.
func (q *inquiry) addressOf(fn *ptx.Func, list []int) map[int]bool {
	var registers []int32
	for _, i := range list {
		for a := range fn.Body[i].Args {
			if fn.Body[i].Args[a].Kind == ptx.OpAddr {
				registers = fn.Body[i].Args[a].Registers(registers)
			}
		}
	}
	if len(registers) == 0 {
		return nil
	}
	return q.sliced().from(registers)
}

// sliced follows addresses in the entry, which there is.
func (q *inquiry) sliced() *slicer {
	if q.slicer == nil {
		q.slicer = newSlicer(q.run.Entry())
	}
	return q.slicer
}

// first is a text up to the comma or semicolon behind the first expression.
func first(text string) string {
	depth := 0
	for i, c := range text {
		switch {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth == 0 && (c == ',' || c == ';'):
			return text[:i]
		}
	}
	return text
}

// hoistedBy is how many lines above its use a compiler's debug lines may have an access.
const hoistedBy = 4

// usedAt is the line of an access that names the variable: the line itself, or one shortly behind it where a
// compiler has moved the access; the line itself where none does.
func usedAt(lines []string, line int, variable string) int {
	if variable == "" {
		return line
	}
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(variable) + `\s*\[`)
	for n := line; n <= min(line+hoistedBy, len(lines)); n++ {
		if name.MatchString(comment.ReplaceAllString(lines[n-1], "")) {
			return n
		}
	}
	return line
}
