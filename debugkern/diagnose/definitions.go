package diagnose

import (
	"cmp"
	"fmt"
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
}

const (
	deepest         = 3 // how many definitions in a row are followed
	mostDefinitions = 8
	mostCited       = 3 // how many a message has
)

var (
	bracketed = regexp.MustCompile(`\[([^\[\]]*)\]`)
	indexed   = regexp.MustCompile(`^(?:\s*\[[^\[\]]*\])+`)
	called    = regexp.MustCompile(`\b([A-Za-z_]\w*)\s*(?:<[\w:\s*&,]*>)?\s*\(`)
	assigned  = regexp.MustCompile(`\b[A-Za-z_]\w*\s*=[^=]`)
	inclusive = regexp.MustCompile(`<=|>=|!=`)
	nameOf    = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
	constants = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	comment   = regexp.MustCompile(`//.*`)
	headed    = regexp.MustCompile(`\bfor\s*\(`)
	begins    = regexp.MustCompile(`^(?:__global__|__device__|extern|template|static|\})`)
)

// indexNames are the names in the index of a variable on a line: in the brackets behind it, or in what stands
// behind it where it has none. On a line that does not name the variable it is all brackets, and where there
// are none all names that are not called.
func indexNames(line, variable string) []string {
	line = comment.ReplaceAllString(line, "")
	text := ""
	named := regexp.MustCompile(`\b` + regexp.QuoteMeta(variable) + `\b`)
	if at := named.FindStringIndex(line); variable != "" && at != nil {
		line = line[at[1]:]
		if m := indexed.FindString(line); m != "" {
			line = m
		}
	}
	for _, m := range bracketed.FindAllStringSubmatch(line, -1) {
		text += " " + m[1]
	}
	if strings.TrimSpace(text) == "" {
		text = called.ReplaceAllString(assigned.ReplaceAllString(line, "="), " (")
	}
	var out []string
	for _, n := range nameOf.FindAllString(text, -1) {
		if !constants.MatchString(n) && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// definitions lists the lines above an access that its index is made of, those first that come first when one
// reads upwards; of an access in inlined code those of the calls too. A line whose instructions take no part
// in the access's address is of another access by the same names.
func (q *inquiry) definitions(x access) []definition {
	if x.at == nil {
		return nil
	}
	at, variable := x.at, x.variable
	var out []definition
	places := []report.Source{{File: at.File, Line: at.Line}}
	sites := at.Calls.Sites()
	for i := range slices.Backward(sites) {
		places = append(places, report.Source{File: sites[i].File, Line: sites[i].Line})
	}
	for level, p := range places {
		lines := q.run.Source(p.File)
		if p.Line < 1 || p.Line > len(lines) {
			continue
		}
		type open struct {
			name  string
			below int
		}
		now := []open{}
		used := usedAt(lines, p.Line, variable)
		for _, n := range indexNames(lines[used-1], variable) {
			now = append(now, open{n, used})
		}
		for depth := 1; depth <= deepest; depth++ {
			var next []open
			for _, o := range now {
				set := regexp.MustCompile(`\b` + regexp.QuoteMeta(o.name) + `\s*(?:[-+*/%^&|]|<<|>>)?=[^=]`)
				for n := o.below - 1; n > 0 && !begins.MatchString(lines[n-1]); n-- {
					text := comment.ReplaceAllString(lines[n-1], "")
					if !set.MatchString(text) {
						continue
					}
					d := definition{
						at: report.Source{File: p.File, Line: n}, name: o.name, depth: depth, level: level,
						loop: headed.MatchString(text), ends: inclusive.MatchString(text),
					}
					if !slices.ContainsFunc(out, func(x definition) bool { return x.at == d.at }) {
						out = append(out, d)
					}
					_, value, _ := strings.Cut(text[set.FindStringIndex(text)[0]:], "=")
					if !d.loop { // of which the bound counts too
						value = first(value)
					}
					for _, x := range nameOf.FindAllString(called.ReplaceAllString(value, " ("), -1) {
						if !constants.MatchString(x) && x != o.name {
							next = append(next, open{x, n})
						}
					}
					break
				}
			}
			now = next
		}
	}
	if fn := q.run.Entry(); fn != nil {
		parts := q.addressOf(fn, x)
		out = slices.DeleteFunc(out, func(d definition) bool {
			own := instructionsAt(fn, &d.at)
			// of a loop's head the compiler may have nothing left but its end
			return !d.loop && parts != nil && len(own) > 0 &&
				!slices.ContainsFunc(own, func(i int) bool { return parts[i] })
		})
	}
	slices.SortStableFunc(out, func(a, b definition) int { return cmp.Compare(a.depth, b.depth) })
	return out[:min(len(out), mostDefinitions)]
}

// addressOf lists the instructions that compute the address of an access; nil where it has no address in a
// register.
func (q *inquiry) addressOf(fn *ptx.Func, x access) map[int]bool {
	list := x.instr
	if list == nil {
		list = accessesAt(fn, x.at)
	}
	var registers []int32
	for _, i := range list {
		in := fn.Body[i]
		if k := in.Kind(); !k.Reads() && !k.Writes() && !k.Async() || in.Space() == ptx.SpaceParam {
			continue
		}
		for a := range in.Args {
			if in.Args[a].Kind == ptx.OpAddr {
				registers = in.Args[a].Registers(registers)
			}
		}
	}
	if len(registers) == 0 {
		return nil
	}
	if q.slicer == nil {
		q.slicer = newSlicer(fn)
	}
	return q.slicer.from(registers)
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
		own := report.Source{File: x.at.File, Line: x.at.Line}
		if sites := x.at.Calls.Sites(); len(sites) > 0 {
			own = report.Source{File: sites[0].File, Line: sites[0].Line}
		}
		if lines[own] {
			continue
		}
		lines[own] = true
		for _, d := range q.definitions(x) {
			count[d.at]++
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

// indexText says where the names of an index get their values; "" where the source does not show it.
func (q *inquiry) indexText(list []definition) string {
	var parts []string
	for _, d := range list[:min(len(list), mostCited)] {
		parts = append(parts, fmt.Sprintf("%s at %s: %s", d.name, d.at.At(), quote(q.quoted(&d.at))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; the index comes from " + strings.Join(parts, ", ")
}

// traced adds to a cause that no edit cures where the names of the index get their values: of accesses that a
// checker finds wrong, and of operands that are taken from elsewhere than they belong.
func (q *inquiry) traced(s *suspect, c *Cause) {
	if s.remedy != nil && s.remedy.changes() || c.Rewrite != nil || s.origin != nil {
		return
	}
	if q.misdeclared(s, c) {
		return
	}
	var at []access
	past, short := false, false
	switch {
	case slices.Contains(addressKinds, c.Kind):
		at, past = q.accessesLike(c)
	case s.covered != nil && s.covered.Writer() != nil:
		at, short = []access{{at: s.covered.Writer(), variable: s.covered.Variable}}, true
		if c.Place.Other != nil && c.Place.Other.At() == at[0].at.At() {
			c.Place.Source, c.Place.Other = c.Place.Other, nil
		}
	case c.Kind == "unwritten" || c.Kind == "uninitialised":
		if w := q.storeOf(c.Place.Variable); w != nil {
			at, short = []access{{at: w, variable: c.Place.Variable}}, true
			c.Advice += "; the source writes it at " + w.At()
		}
	case c.Kind == kindStage && s.contrast != nil && len(s.contrast.Foreign) > 0 && c.Place.Source != nil:
		x := s.contrast
		if x.Foreign[0].Access == nil || x.Carried != nil || x.Stored != nil {
			return // it is not known that the address is what is wrong
		}
		at = []access{{c.Place.Source, x.Foreign[0].Of, x.Foreign[0].Access}}
	case c.Kind == kindStage && s.elsewhere != nil:
		at, short = []access{*s.elsewhere}, true
	}
	list := q.likeliest(at, past, short)
	if len(list) == 0 {
		return
	}
	if c.Place.Other == nil {
		c.Place.Other = &list[0].at
	}
	if short { // the address of what is written is right: what may be wrong is how often it is
		list = slices.DeleteFunc(list, func(d definition) bool { return !d.loop })
	}
	c.Advice += q.indexText(list)
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
