package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/probes"
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

// access is where a variable is used, and by which instructions where that is known.
type access struct {
	at       *report.Source
	variable string
	instr    []int
}

// likeliest orders the definitions of the index of accesses by how likely each is wrong: first what all of
// them have in common, where they are several, and else by how near they are; before these the head of a
// loop, where elements are left out (short), or where an index is one past an extent (past) and the loop
// includes its bound.
func (q *inquiry) likeliest(all []access, past, short bool) []definition {
	if len(all) == 0 {
		return nil
	}
	out := q.definitions(all[0])
	count := map[report.Source]int{}
	lines := map[report.Source]bool{}
	for _, x := range all {
		own := x.at.Outermost()
		if lines[own] {
			continue
		}
		lines[own] = true
		once := map[report.Source]bool{} // a line may define several names
		for _, d := range q.definitions(x) {
			if !once[d.at] {
				once[d.at] = true
				count[d.at]++
			}
		}
	}
	slices.SortStableFunc(out, func(a, b definition) int {
		head := func(d definition) int {
			if d.loop && (short || past && d.ends) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(head(a), head(b)), cmp.Compare(count[b.at], count[a.at]),
			cmp.Compare(a.level, b.level), cmp.Compare(a.depth, b.depth), cmp.Compare(b.at.Line, a.at.Line))
	})
	return out
}

// indexText says where the names of an index get their values; "" where the source does not show it. What
// these are made of is said only of an index that is one sum.
func (q *inquiry) indexText(list []definition) string {
	nearest := slices.DeleteFunc(slices.Clone(list), func(d definition) bool { return d.depth > 1 })
	if len(nearest) > 1 || len(nearest) == 1 && !nearest[0].sum {
		list = nearest
	}
	var places []report.Source
	names := map[report.Source][]string{}
	for _, d := range list {
		if names[d.at] == nil {
			places = append(places, d.at)
		}
		names[d.at] = append(names[d.at], d.name)
	}
	var parts []string
	for _, at := range places[:min(len(places), mostCited)] {
		parts = append(parts, fmt.Sprintf("%s at %s: %s", strings.Join(names[at], ", "), at.At(),
			quote(q.quoted(&at))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; the index comes from " + strings.Join(parts, ", ")
}

// traced adds to a cause that no edit cures where the names of the index get their values: of accesses that a
// checker finds wrong, and of operands that are taken from elsewhere than they belong.
func (q *inquiry) traced(s *suspect, c *Cause) {
	if s.explained != "" {
		c.why = s.explained
	}
	if s.skew != nil && (s.origin == nil || s.origin.lead == s) {
		c.because(q.skewText(s.skew))
	}
	if s.excess != nil && s.origin != nil && s.origin.lead == s {
		f := &q.doc.Findings[c.Finding]
		c.because(q.because(s.excess, q.definitions(access{at: f.Source, variable: f.Variable})))
	}
	if s.remedy != nil && s.remedy.changes() || c.Rewrite != nil || s.origin != nil || s.across ||
		s.leftover != nil {
		return
	}
	if q.misdeclared(s, c) {
		return
	}
	at, past, short, ok := q.tracedAt(s, c)
	if !ok {
		return
	}
	list := q.likeliest(at, past, short)
	if c.Place.Other == nil && len(list) > 0 {
		c.Place.Other = &list[0].at
	}
	switch {
	case s.strays != nil:
		c.because(q.straysText(s, list))
		c.Advice, s.steps = q.straysAdvice(s), s.strays.Steps
	case s.excess != nil:
		c.because(q.because(s.excess, list))
		if unread := q.neverRead(s); unread != "" {
			c.because(unread)
		}
		list = q.exceeds(s.excess, c, list)
	}
	if len(list) == 0 {
		if len(at) > 0 {
			c.Advice += q.constantText(at[0])
		}
		return
	}
	if short { // the address of what is written is right: what may be wrong is how often it is
		list = slices.DeleteFunc(list, func(d definition) bool { return !d.loop })
	}
	list, lacks := q.incriminated(s, list, at[0])
	c.Advice += q.indexText(list) + lacks
	if s.excess != nil {
		c.Advice += q.countedAt(list)
	}
	if short && len(list) > 0 {
		c.Advice += q.comparesFirst(c.Place.Block, list[0].at, at[0])
	}
}

// countedAt names the head of the loop that counts what a definition of an index is made of, where the
// definitions do not say it: how far it counts decides how far the index goes. "" where no loop does.
func (q *inquiry) countedAt(list []definition) string {
	for i := range list {
		d := &list[i]
		if d.loop {
			return ""
		}
	}
	for i := range list {
		d := &list[i]
		lines := q.run.Source(d.at.File)
		for _, name := range nameOf.FindAllString(called.ReplaceAllString(valueOn(lines, d), " ("), -1) {
			n, _ := valueOf(lines, name, d.at.Line)
			if constants.MatchString(name) || n == 0 || !headed.MatchString(bare(lines[n-1])) {
				continue
			}
			head := report.Source{File: d.at.File, Line: n}
			return fmt.Sprintf("; %s there is counted by the loop at %s: %s", name, head.At(),
				quote(q.quoted(&head)))
		}
	}
	return ""
}

// tracedAt lists the accesses of a cause whose index is traced: past says that it is one past an extent,
// short that what is written is right and what is left out is not; ok is false where nothing is to be traced.
func (q *inquiry) tracedAt(s *suspect, c *Cause) (at []access, past, short, ok bool) {
	switch {
	case slices.Contains(addressKinds, c.Kind):
		at, past = q.accessesLike(c)
	case s.padded: // what is written is right, and what is read is not
		at = []access{{at: c.Place.Source, variable: s.covered.Variable}}
		c.Advice += q.distances(c, at[0])
	case s.covered != nil && s.covered.Writer() != nil:
		at, short = []access{{at: s.covered.Writer(), variable: s.covered.Variable}}, true
		if c.Place.Other != nil && c.Place.Other.At() == at[0].at.At() {
			c.Place.Source, c.Place.Other = c.Place.Other, nil
		}
	case c.Kind == "unwritten" || c.Kind == "uninitialised":
		if w := q.storeOf(c.Place.Variable); w != nil {
			at, short = []access{{at: w, variable: c.Place.Variable}}, true
			r := c.Place.Source
			if c.Kind == "uninitialised" && r != nil && r.File == w.File && r.Line < w.Line {
				of := c.Place.Variable
				c.because(fmt.Sprintf("line %d reads %s before line %d writes it", r.Line, of, w.Line))
				c.Advice = fmt.Sprintf("read %s behind %s, which writes it, or write it before %s", of, w.At(),
					lineText(r, w))
				return nil, false, false, false
			}
			c.Advice += "; the source writes it at " + w.At()
		}
	case c.Kind == kindStage && s.misstored != nil && s.misstored.at == c.Place.Source:
		at = []access{*s.misstored}
	case c.Kind == kindStage && s.contrast != nil && len(s.contrast.Foreign) > 0 && c.Place.Source != nil:
		x := s.contrast
		if x.Foreign[0].Access == nil || x.Carried != nil || x.Stored != nil {
			return nil, false, false, false // it is not known that the address is what is wrong
		}
		at = []access{{c.Place.Source, x.Foreign[0].Of, x.Foreign[0].Access}}
	case c.Kind == kindStage && s.elsewhere != nil:
		at, short = []access{*s.elsewhere}, true
	}
	return at, past, short, true
}

// addressKinds are the kinds of findings that say that an address is wrong.
var addressKinds = []string{"out-of-bounds", "misaligned", "overlap"}

// accessesLike lists the accesses of all findings of a cause's kind, its own first; past says that the index
// of that one is one past an extent.
func (q *inquiry) accessesLike(c *Cause) (all []access, past bool) {
	for _, o := range q.suspects {
		for _, i := range o.cause.Findings {
			f := &q.doc.Findings[i]
			switch x := (access{at: f.Source, variable: f.Variable}); {
			case f.Source == nil || f.Kind != c.Kind:
			case i == c.Finding:
				all, past = slices.Insert(all, 0, x), q.justBeyond(f)
			default:
				all = append(all, x)
			}
		}
	}
	return all, past
}

// oneIndex makes one suspect of those whose addresses are wrong in the same way, where nothing is known to
// put them right and one line is the likeliest to be behind each.
func (q *inquiry) oneIndex() {
	origin := map[string]*suspect{}
	for _, s := range q.suspects {
		if s.gone || s.remedy != nil || s.cause.Finding < 0 ||
			!slices.Contains(addressKinds, s.cause.Kind) {
			continue
		}
		all, past := q.accessesLike(&s.cause)
		list := q.likeliest(all, past, false)
		if len(list) == 0 {
			continue
		}
		key := s.cause.Kind + " " + list[0].at.At()
		lead := origin[key]
		if lead == nil {
			origin[key] = s
			continue
		}
		s.gone = true
		lead.cause.Findings = append(lead.cause.Findings, s.cause.Findings...)
		for _, v := range s.cause.Place.Variables {
			if !slices.Contains(lead.cause.Place.Variables, v) {
				lead.cause.Place.Variables = append(lead.cause.Place.Variables, v)
			}
		}
		q.describe(lead)
	}
}

// storeOf is the first line of the kernel's file that stores to a variable; nil where the source shows none.
func (q *inquiry) storeOf(variable string) *report.Source {
	fn := q.run.Entry()
	if fn == nil || variable == "" {
		return nil
	}
	name := regexp.QuoteMeta(variable)
	store := regexp.MustCompile(`(?:\b` + name + `\s*(?:\[[^\[\]]*\])+\s*=[^=])|(?:store\w*\(\s*&?` + name +
		`\b)|(?:\*reinterpret_cast<[^>]*>\(&` + name + `\b)`)
	for _, in := range fn.Body {
		at := blameOf(in)
		if at == nil {
			continue
		}
		for n, line := range q.run.Source(at.File) {
			if store.MatchString(comment.ReplaceAllString(line, "")) {
				return &report.Source{File: at.File, Line: n + 1}
			}
		}
		return nil
	}
	return nil
}

// blameOf is the kernel's own line of an instruction, nil where it has none.
func blameOf(in *ptx.Instr) *report.Source {
	if l := in.Loc.Outermost(); l != nil && in.Loc != nil && !fromProbe(in.Loc) {
		return &report.Source{File: l.Name, Line: l.Line}
	}
	return nil
}

// writtenElsewhere notes for a stage whose first wrong cell was stored at another line than the right cells
// of its tile are, which line that is: the wrong ones kept what was there before.
func (q *inquiry) writtenElsewhere(s *suspect, st probes.Stage) error {
	doc, sp := q.doc.Stage(st.String()), q.run.Plan.Stage(st)
	if doc == nil || doc.FirstBad == nil || doc.FirstBad.Source == nil || sp.OfLaunch() || sp.Array == "" ||
		s.contrast == nil || !s.contrast.Wholly {
		return nil
	}
	b := doc.FirstBad
	for _, at := range q.rightCells(st, b.Block, b.KVTile) {
		w, err := q.run.Writer(q.ctx, debugkern.Cell{
			Place: debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)},
			Row:   at[0], Col: at[1],
		})
		if err != nil {
			return q.fatal(err)
		}
		if w == nil || w.Source == nil {
			continue
		}
		src := report.SourceOf(w.Source)
		if src.At() == b.Source.At() {
			return nil
		}
		s.elsewhere = &access{at: src, variable: sp.Array}
		s.cause.Place.Source, s.cause.Place.Other = src, b.Source
		s.cause.Advice = q.citing(fmt.Sprintf("look at which cells %s stores: the wrong ones are those that it "+
			"leaves as %s left them", callText(src), lineText(b.Source, src)), ": ", src) + q.seeFirst(st)
		s.cause.why += fmt.Sprintf("; right cells of the tile are stored at %s, and this one is not", callText(src))
		return nil
	}
	return nil
}

// justBeyond reports whether the index of a finding is one past the extent of a dimension.
func (q *inquiry) justBeyond(f *report.Finding) bool {
	var dims []int
	for i := range q.run.Plan.Shared {
		if a := &q.run.Plan.Shared[i]; a.Name == f.Variable {
			dims = a.Dims
		}
	}
	if a := q.run.Plan.Arg(f.Variable); a != nil && dims == nil {
		dims = a.Dims
	}
	for k, n := range f.Index {
		if k < len(dims) && n == dims[k] {
			return true
		}
	}
	return false
}
