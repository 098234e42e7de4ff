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

// What a wrong access or a wrong cell is traced to: the definitions of the names in its index.

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
// these are made of is added only where the index is one sum.
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
		for _, m := range called.FindAllStringSubmatch(bare(q.quoted(&at)), -1) {
			if src := q.shortFunction(m[1]); src != nil {
				parts = append(parts, fmt.Sprintf("%s at %s: %s", m[1], src.At(), quote(q.quoted(src))))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; the index comes from " + strings.Join(parts, ", ")
}

// shortFunction is where a function of the kernel's texts stands that has one line; nil where there is none
// of that name.
func (q *inquiry) shortFunction(name string) *report.Source {
	is := regexp.MustCompile(`^(?:static|inline|constexpr|__device__|__forceinline__|template).*\b` +
		regexp.QuoteMeta(name) + `\s*\(.*\)\s*\{.*\}`)
	for _, file := range q.sourceFiles() {
		for i, line := range q.run.Source(file) {
			if is.MatchString(line) {
				return &report.Source{File: file, Line: i + 1}
			}
		}
	}
	return nil
}

// sourceFiles lists the files that the entry was compiled from, in the order in which its instructions name
// them.
func (q *inquiry) sourceFiles() (out []string) {
	for _, in := range q.run.Entry().Body {
		for l := in.Loc; l != nil; l = l.InlinedAt {
			if !slices.Contains(out, l.Name) {
				out = append(out, l.Name)
			}
		}
	}
	return out
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
	case c.Finding >= 0 && unsetRegister(&q.doc.Findings[c.Finding]): // it is in no array
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
			stores := func(in *ptx.Instr) bool { return outward(in.Kind()) }
			if !q.anyAt(w, stores) {
				c.because("of the store at " + w.At() + " the compiler has left nothing: what it stores is " +
					"never set, or it is never reached")
				c.Advice = q.citing(fmt.Sprintf("look at where the value that %s stores is set, and whether that "+
					"is what it stores, or a copy", w.At()), ": ", w)
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
