package diagnose

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// A mask that is off is best said in cells: which columns of a row take part, which should, and what was
// compared for the first of those that should not, or should and do not.

// maskOff is a mask that is off in a stage, seen in the tile in which it first went wrong.
type maskOff struct {
	stage    probes.Stage
	block    probes.Dim3
	kv       int
	row, col int             // the first cell that takes part and should not, or the other way round
	other    *[2]int         // the nearest cell that the kernel treats the other way; nil: there is none
	shown    bool            // the cell takes part
	text     string          // which columns of its row take part, and which should
	at       *report.Source  // the comparison that decided about the cell; nil: not known
	test     int             // its instruction, where at is known
	compared string          // what was compared there
	rows     map[int]maskRow // those with cells that are wrong
	alike    int             // how many wrong cells take part and all have the same value; 0: they differ
	value    float64         // that value
}

// maskOf is the mask that is off in a suspect's stages; nil where their wrong cells have another reason.
func (q *inquiry) maskOf(s *suspect) (*maskOff, error) {
	for _, st := range s.stages {
		m := q.maskedIn(st)
		if m == nil {
			continue
		}
		if m.alike > 0 { // what takes part depends on its score
			s.because(fmt.Sprintf("all %d wrong cells of %s in that tile are %.6g where 0 belongs, whatever their "+
				"scores are: look at what a 0 becomes there, and not at which columns take part", m.alike, st, m.value))
			continue
		}
		if err := q.decidedBy(m); err != nil || m.at != nil {
			return m, err
		}
		return m, q.chosenBy(m)
	}
	return nil, nil
}

// maskRow is a row of a tile: which of its columns take part, and which should.
type maskRow struct{ are, should []int }

// maskedIn is how the mask of a stage departs in the tile in which it first went wrong.
func (q *inquiry) maskedIn(st probes.Stage) *maskOff {
	sp, doc := q.run.Plan.Stage(st), q.base.Report.Stage(st.String())
	if sp == nil || sp.Cols == 1 || sp.OfLaunch() || sums(sp.Op) || doc == nil || doc.FirstBad == nil {
		return nil
	}
	if stale(doc) {
		return nil // nothing chose among the cells here
	}
	b := doc.FirstBad
	v, err := q.base.View(debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return nil
	}
	rows, zeros, any := map[int]maskRow{}, false, false
	values, wrong := map[float64]bool{}, 0 // of wrong cells
	m := &maskOff{stage: st, block: b.Block, kv: max(b.KVTile, 0), row: -1}
	for r := range v.ValidRows {
		var row maskRow
		departs := false
		for c := range v.ValidCols {
			if !v.Judged(r, c, true) {
				return nil
			}
			is, should := v.Got.At(r, c) != 0, v.Local[r*v.Plan.Cols+c] != 0
			if v.Global != nil { // a maximum that is wrong leaves what is visible as it is
				should = v.Global[r*v.Plan.Cols+c] != 0
			}
			if is {
				row.are = append(row.are, c)
			}
			if should {
				row.should = append(row.should, c)
			}
			zeros, any = zeros || !is || !should, any || is
			if !isBad(v, r, c) {
				continue
			}
			if is == should || math.IsNaN(v.Got.At(r, c)) || math.IsInf(v.Got.At(r, c), 0) {
				return nil // it is wrong in another way
			}
			wrong++
			values[v.Got.At(r, c)] = true
			if departs = true; m.row < 0 {
				m.row, m.col, m.shown = r, c, is
			}
		}
		if departs {
			rows[r] = row
		}
	}
	if m.row < 0 || !zeros || !any {
		return nil // where all cells are 0, nothing chose among them
	}
	if m.shown && wrong >= fewestAlike && len(values) == 1 {
		m.alike, m.value = wrong, v.Got.At(m.row, m.col)
	}
	m.other = m.opposite(v)
	m.text, m.rows = maskText(v, q.run.Plan.Work.TileName(), m.row, rows), rows
	return m
}

// fewestAlike is how many wrong cells have to have one value, for that not to be chance.
const fewestAlike = 8

// sums reports whether the cells of a stage are sums or copies: a mask hides terms of these, and no cells.
func sums(n *probes.Node) bool {
	return n == nil || slices.Contains([]string{"matmul", "accumulate", "load", "cast", "divide"}, n.Op)
}

// opposite is the cell nearest to the first, in its row if there is one, that takes part where that does
// not, or the other way round.
func (m *maskOff) opposite(v *debugkern.TileView) *[2]int {
	var out *[2]int
	far := func(c [2]int) int { return v.Plan.Cols*max(c[0]-m.row, m.row-c[0]) + max(c[1]-m.col, m.col-c[1]) }
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			if at := [2]int{r, c}; (v.Got.At(r, c) != 0) != m.shown && (out == nil || far(at) < far(*out)) {
				out = &at
			}
		}
	}
	return out
}

// maskText words how the first wrong row's mask departs, and what all wrong rows have in common.
func maskText(v *debugkern.TileView, tileName string, first int, rows map[int]maskRow) string {
	row := rows[first]
	tile := report.AtTile(" of ", v.Plan.Phase, tileName, v.KVTile)
	out := fmt.Sprintf("in row %d of %s%s %s", first, v.Stage, tile,
		takePart(row.are, v.ValidCols, row.should))
	last := func(list []int) int {
		if len(list) == 0 {
			return -1
		}
		return list[len(list)-1]
	}
	whole, far, same := true, last(row.are)-last(row.should), true
	for _, x := range rows {
		whole = whole && len(x.are) == v.ValidCols
		same = same && last(x.are)-last(x.should) == far
	}
	switch {
	case len(rows) == 1:
	case whole:
		out += fmt.Sprintf("; so do all in each of its %d wrong rows", len(rows))
	case same && far > 0:
		out += fmt.Sprintf("; in each of its %d wrong rows the last that takes part is %d too far",
			len(rows), far)
	case same && far < 0:
		out += fmt.Sprintf("; in each of its %d wrong rows the last that takes part is %d short",
			len(rows), -far)
	}
	return out
}

// takePart says which of a row's columns take part, and which should.
func takePart(are []int, cols int, should []int) string {
	name := func(list []int) string {
		switch len(list) {
		case 0:
			return "no column"
		case cols:
			return "all columns"
		case 1:
			return "column " + text.Spans(list)
		}
		return "columns " + text.Spans(list)
	}
	verb := "take part"
	if len(are) < 2 {
		verb = "takes part"
	}
	return fmt.Sprintf("%s %s, where %s should", name(are), verb, name(should))
}

// decidedBy finds the comparison that decided about the first cell of a mask that is off: the nearest whose
// outcome is another for a cell that is treated the other way; where there is no such cell, that of the
// choice between a score and minus infinity.
func (q *inquiry) decidedBy(m *maskOff) error {
	cells := [][2]int{{m.row, m.col}}
	if m.other != nil {
		cells = append(cells, *m.other)
	}
	list, err := q.base.Comparisons(q.ctx, m.stage, m.block, m.kv, cells)
	if err != nil {
		return q.fatal(err)
	}
	fn := q.run.Entry()
	bounds := repair.LoopBounds(fn)
	if m.other == nil {
		src, selects, err := repair.MaskedAt(q.ctx, q.base, m.stage, m.block, m.kv, cells)
		if err != nil {
			return q.fatal(err)
		}
		if src == nil || !selects || !q.compares(report.SourceOf(src)) {
			return q.aside(m, list[0])
		}
		m.at = report.SourceOf(src)
	}
	for _, c := range list[0] {
		at := q.comparedAtLine(c.At)
		if bounds[c.At] || at == nil || m.at != nil && at.At() != m.at.At() {
			continue
		}
		a, b := q.asWritten(c, at, m.col)
		says := fmt.Sprintf("for column %d line %d compares %.9g with %.9g", m.col, at.Line, a, b)
		if m.other != nil {
			o := sameComparison(fn, list[1], c.At)
			if o == nil || o.Holds == c.Holds {
				continue
			}
			cell := fmt.Sprintf("column %d", m.other[1])
			if m.other[0] != m.row {
				cell += fmt.Sprintf(" of row %d", m.other[0])
			}
			a, b = q.asWritten(*o, at, m.other[1])
			says += fmt.Sprintf(", and for %s %.9g with %.9g", cell, a, b)
		}
		m.at, m.test = at, c.At
		right, choice, err := q.rightlyCompared(m)
		if err != nil {
			return err
		}
		if choice != nil {
			m.compared = fmt.Sprintf("%s; the same comparison decides about %s, which is right, and what is chosen by "+
				"it at %s is not", says, right, lineText(choice, at))
			m.at = choice
			return nil
		}
		if m.compared, err = q.fitted(m, c, says); err != nil {
			return err
		}
		return q.limits(m, c.At)
	}
	if m.other == nil {
		m.at = nil // where nothing is compared that decides about the cell
	}
	return nil
}

// rightlyCompared finds a stage that is right, whose cells are decided by the comparison of a mask that is
// off as well, and the choice that is made by it for the mask's first cell: a compiler compares once what
// two lines compare. nil where there are none.
func (q *inquiry) rightlyCompared(m *maskOff) (right probes.Stage, choice *report.Source, err error) {
	fn, own := q.run.Entry(), q.run.Plan.Stage(m.stage)
	for i := range q.run.Plan.Stages {
		sp := &q.run.Plan.Stages[i]
		doc := q.base.Report.Stage(sp.Stage.String())
		if sp.Stage == m.stage || sp.Rows != own.Rows || sp.PerTile != own.PerTile || sp.OfLaunch() ||
			sp.Capture.Kind == probes.CaptureNone || doc == nil || doc.Verdict != report.OK {
			continue
		}
		list, err := q.base.Comparisons(q.ctx, sp.Stage, m.block, m.kv, [][2]int{{m.row, 0}})
		if err != nil {
			return "", nil, q.fatal(err)
		}
		if sameComparison(fn, list[0], m.test) != nil {
			right = sp.Stage
			break
		}
	}
	if right == "" {
		return "", nil, nil
	}
	ops, err := q.base.Slice(q.ctx, m.stage, m.block, m.kv, [][2]int{{m.row, m.col}})
	if err != nil {
		return "", nil, q.fatal(err)
	}
	for _, o := range ops {
		at := blame(fn, o.At)
		if at == nil || !slices.Contains(testsOf(fn, o.At), m.test) {
			continue
		}
		if out := at.Outermost(); out.At() != m.at.At() {
			return right, &out, nil
		}
	}
	return "", nil, nil
}

// testsOf lists the comparisons by which an instruction chooses between two values, or by which it is decided
// whether one that computes or loads is executed; none of a probe's.
func testsOf(fn *ptx.Func, at int) (tests []int) {
	in := fn.Body[at]
	if len(in.Args) == 0 || in.Loc.Within(target.IsProbe) {
		return nil
	}
	switch p := in.Args[len(in.Args)-1]; {
	case in.Op == "selp" && p.Kind == ptx.OpReg:
		tests = comparing(fn, p.Reg, at)
	case computes(in) || in.Kind() == isa.Load:
		for _, branch := range deciding(fn, at) {
			tests = append(tests, comparing(fn, fn.Body[branch].Guard.Reg, branch)...)
		}
	}
	return tests
}

// aside finds the comparison of the number of a column, that takes part and should not, with where the
// columns end: its thread executes it, and the cell takes part whatever is chosen there, or does not depend
// on it. own are the comparisons that the cell depends on.
func (q *inquiry) aside(m *maskOff, own []debugkern.Compared) error {
	should := m.rows[m.row].should
	if !m.shown || len(should) == 0 || should[len(should)-1] != len(should)-1 {
		return nil
	}
	list, err := q.base.ThreadCompared(q.ctx, m.stage, m.block, m.kv, [2]int{m.row, m.col})
	if err != nil {
		return q.fatal(err)
	}
	bounds := repair.LoopBounds(q.run.Entry())
	first := m.kv * q.run.Plan.Stage(m.stage).Cols // the number of the tile's first column
	for _, from := range []int{first, 0} {
		column, end := float64(from+m.col), float64(from+len(should))
		for _, c := range list {
			at := q.comparedAtLine(c.At)
			if bounds[c.At] || at == nil || !(c.A == column && c.B == end || c.A == end && c.B == column) ||
				headed.MatchString(bare(q.quoted(at))) {
				continue
			}
			if at = q.comparesBelow(at, m.stage); at == nil {
				continue
			}
			m.at, m.test = at, c.At
			then := fmt.Sprintf("%s does not depend on that", m.stage)
			if sameComparison(q.run.Entry(), own, c.At) != nil {
				then = "what is chosen there takes part all the same: it has to be -infinity"
			}
			m.compared = fmt.Sprintf("line %d compares %.9g with %.9g for column %d, and %s", at.Line, c.A,
				c.B, m.col, then)
			return nil
		}
	}
	return nil
}

// asWritten is what a comparison of a column's number compares as its line has it: of n >= x a compiler makes
// x < n + 1 where n, the column, is a constant.
func (q *inquiry) asWritten(c debugkern.Compared, at *report.Source, col int) (a, b float64) {
	in := q.run.Entry().Body[c.At]
	a, b = c.A, c.B
	strict := in.Has("lt") || in.Has("gt") || in.Has("lo") || in.Has("hi")
	if line := bare(q.quoted(at)); !strict || !orEqual.MatchString(line) || len(in.Args) < 3 {
		return a, b
	}
	if in.Args[1].Kind == ptx.OpInt && a == float64(col+1) {
		a--
	}
	if in.Args[2].Kind == ptx.OpInt && b == float64(col+1) {
		b--
	}
	return a, b
}

// orEqual matches a comparison that holds of equal numbers too.
var orEqual = regexp.MustCompile(`<=|>=`)

// hasComparison reports whether a line's text has a comparison, and is no head of a loop.
func hasComparison(line string) bool {
	line = notComparisons.ReplaceAllString(line, " ")
	return comparison.MatchString(line) && !headed.MatchString(line)
}

// comparesBelow is the line itself where it compares, or the last one, up to where the stage is stored, that
// compares the variable which it declares; nil where there is none.
func (q *inquiry) comparesBelow(at *report.Source, st probes.Stage) *report.Source {
	lines := q.run.Source(at.File)
	if at.Line > len(lines) {
		return nil
	}
	compares := func(n int) bool { return hasComparison(bare(lines[n-1])) }
	if compares(at.Line) {
		return at
	}
	m := declared.FindStringSubmatch(strings.TrimSpace(bare(lines[at.Line-1])))
	doc := q.base.Report.Stage(st.String())
	if m == nil || doc == nil || doc.FirstBad == nil || doc.FirstBad.Source == nil {
		return nil
	}
	stored := doc.FirstBad.Source.Outermost()
	for n := min(stored.Line, len(lines)); n > at.Line && stored.File == at.File; n-- {
		if compares(n) && hasName(bare(lines[n-1]), m[1]) {
			return &report.Source{File: at.File, Line: n, Function: at.Function}
		}
	}
	return nil
}

// chosenBy makes the line of the comparisons the place by which a choice between two values is made, or a
// branch taken, on the way to the first cell of a mask, where no comparison tells that cell from others: of
// several the last of the few lines before that which stores the cell.
func (q *inquiry) chosenBy(m *maskOff) error {
	ops, err := q.base.Slice(q.ctx, m.stage, m.block, m.kv, [][2]int{{m.row, m.col}})
	if err != nil || len(ops) == 0 {
		return q.fatal(err)
	}
	fn := q.run.Entry()
	var last *report.Source
	own := func(o debugkern.Operation) bool { return !fromProbe(fn.Body[o.At].Loc) }
	if i := slices.IndexFunc(ops, own); i >= 0 {
		last = blame(fn, ops[i].At)
	}
	if doc := q.base.Report.Stage(m.stage.String()); doc != nil && doc.FirstBad != nil &&
		doc.FirstBad.Source != nil {
		last = doc.FirstBad.Source
	}
	if last == nil {
		return nil
	}
	stored := last.Outermost()
	bounds := repair.LoopBounds(fn)
	for _, o := range ops {
		for _, test := range testsOf(fn, o.At) {
			at := q.comparedAtLine(test)
			if bounds[test] || at == nil || fn.Body[test].Type().Float() {
				continue
			}
			if !hasComparison(bare(q.quoted(at))) {
				continue
			}
			out := at.Outermost()
			before := stored.Line - out.Line
			if out.File == stored.File && before >= 0 && before <= mostBefore &&
				(m.at == nil || out.Line > m.at.Outermost().Line) {
				m.at, m.test = at, test
			}
		}
	}
	if m.at == nil {
		return nil
	}
	return q.chosenFor(m)
}

// chosenFor says what the comparison by which a mask chooses compares for its first cell, and what its limit
// would have to be. A limit that grows with the column hides all columns of a row or none.
func (q *inquiry) chosenFor(m *maskOff) error {
	cells := [][2]int{{m.row, m.col}}
	if next := m.col + 1; next < q.run.Plan.Stage(m.stage).Cols {
		cells = append(cells, [2]int{m.row, next})
	}
	list, err := q.base.Comparisons(q.ctx, m.stage, m.block, m.kv, cells)
	if err != nil {
		return q.fatal(err)
	}
	fn := q.run.Entry()
	c := sameComparison(fn, list[0], m.test)
	if c == nil {
		return nil
	}
	m.compared = fmt.Sprintf("for column %d line %d compares %.9g with %.9g", m.col, m.at.Line, c.A, c.B)
	if len(cells) == 2 {
		if o := sameComparison(fn, list[1], m.test); o != nil && o.A == c.A+1 && o.B == c.B+1 {
			m.compared += fmt.Sprintf(", and for column %d %.9g with %.9g: both go on with the column, where one of "+
				"them belongs to the row", cells[1][1], o.A, o.B)
			return nil
		}
	}
	return q.limits(m, m.test)
}

// sameMaskOff reports whether a mask is off in two stages for the same cells, by the same comparison.
func sameMaskOff(a, b *suspect) bool {
	m, o := a.mask, b.mask
	return m != nil && o != nil && m.at != nil && o.at != nil && m.at.At() == o.at.At() && m.row == o.row &&
		m.col == o.col && m.shown == o.shown && m.kv == o.kv
}

// fitted adds to what was compared for the first cell of a mask that is off what belongs there, where the
// number compared goes with the column in most of its row and not in that cell.
func (q *inquiry) fitted(m *maskOff, first debugkern.Compared, says string) (string, error) {
	sp := q.run.Plan.Stage(m.stage)
	var cells [][2]int
	for c := range min(sp.Cols, mostCompared) {
		cells = append(cells, [2]int{m.row, c})
	}
	if m.col >= len(cells) {
		return says, nil
	}
	list, err := q.base.Comparisons(q.ctx, m.stage, m.block, m.kv, cells)
	if err != nil {
		return "", q.fatal(err)
	}
	fn := q.run.Entry()
	count := map[float64]int{} // by how far the number is from the column
	for c, own := range list {
		if o := sameComparison(fn, own, first.At); o != nil {
			count[o.A-float64(c)]++
		}
	}
	for _, far := range slices.Sorted(maps.Keys(count)) {
		n := count[far]
		if is := first.A - float64(m.col); 2*n >= len(cells) && n > 2 && is != far {
			return fmt.Sprintf("%s; in %d of its columns the first number is the column and %.9g, so that %.9g "+
				"belongs in the place of %.9g", says, n, far, far+float64(m.col), first.A), nil
		}
	}
	return says, nil
}

// mostLimits is of how many rows of a mask that is off the limit is asked.
const mostLimits = 6

// limits adds to what was compared by a mask that is off what its limit would have to be: in every wrong row
// whose columns should take part up to one, the number that the column's own is compared with. Where all
// columns of all these rows should, it would have to be at least that. Where the columns begin in the wrong
// place and end where they should, it is the number that they begin at: at most that, where they should begin
// with the first of the tile.
func (q *inquiry) limits(m *maskOff, at int) error {
	sp := q.run.Plan.Stage(m.stage)
	if m.endsRight() {
		return q.lowLimits(m, at)
	}
	var rows, whole []int
	for _, r := range slices.Sorted(maps.Keys(m.rows)) {
		switch n := len(m.rows[r].should); {
		case n < 2 || m.rows[r].should[n-1] != n-1:
		case n == sp.Cols:
			whole = append(whole, r)
		default:
			rows = append(rows, r)
		}
	}
	least := ""
	if len(rows) == 0 {
		rows, least = whole, "at least "
	}
	rows = rows[:min(len(rows), mostLimits)]
	var cells [][2]int
	for _, r := range rows {
		n := len(m.rows[r].should)
		cells = append(cells, [2]int{r, n - 2}, [2]int{r, n - 1}) // the last two that should take part
	}
	list, err := q.base.Comparisons(q.ctx, m.stage, m.block, m.kv, cells)
	if err != nil {
		return q.fatal(err)
	}
	fn := q.run.Entry()
	in := fn.Body[at]
	has := func(mods ...string) bool { return slices.ContainsFunc(mods, in.Has) }
	var are, need []string
	var far []float64
	for i := range rows {
		before, last := sameComparison(fn, list[2*i], at), sameComparison(fn, list[2*i+1], at)
		if before == nil || last == nil {
			return nil
		}
		var is, limit float64
		switch {
		case last.A == before.A+1 && last.B == before.B:
			if is, limit = last.B, last.A; !has("le", "gt", "ls", "hi") {
				limit++
			}
		case last.B == before.B+1 && last.A == before.A:
			if is, limit = last.A, last.B; !has("ge", "lt", "hs", "lo") {
				limit++
			}
		default:
			return nil
		}
		if !slices.Contains(far, limit-is) {
			far = append(far, limit-is)
		}
		are, need = append(are, fmt.Sprintf("%.9g", is)), append(need, fmt.Sprintf("%.9g", limit))
	}
	if len(rows) == 0 || slices.Contains(far, 0) || least != "" && slices.Min(far) < 0 {
		return nil
	}
	m.compared += limitText(are, need, rows, least)
	if len(far) == 1 && len(rows) > 1 && least == "" {
		more := "more"
		if far[0] < 0 {
			more = "less"
		}
		m.compared += fmt.Sprintf(", %.9g %s in each", math.Abs(far[0]), more)
	}
	return nil
}

// limitText says what the number is that columns are compared with, and what it would have to be.
func limitText(are, need []string, rows []int, bound string) string {
	in := "row " + text.Spans(rows)
	if len(rows) > 1 {
		in = "rows " + text.Spans(rows)
	}
	return fmt.Sprintf("; what the column's number is compared with is %s in %s, and would have to be %s",
		strings.Join(slices.Compact(are), ", "), in, bound+strings.Join(slices.Compact(need), ", "))
}

// endsRight reports whether the columns that take part end in every wrong row where they should, and begin
// elsewhere.
func (m *maskOff) endsRight() bool {
	for _, r := range m.rows {
		if len(r.are) == 0 || len(r.should) == 0 || r.are[0] == r.should[0] ||
			r.are[len(r.are)-1] != r.should[len(r.should)-1] {
			return false
		}
	}
	return true
}

// lowLimits is limits for columns that begin in the wrong place.
func (q *inquiry) lowLimits(m *maskOff, at int) error {
	rows := slices.Sorted(maps.Keys(m.rows))
	rows = slices.DeleteFunc(rows, func(r int) bool {
		s := m.rows[r].should
		return len(s) < 2 || s[1] != s[0]+1
	})
	rows = rows[:min(len(rows), mostLimits)]
	if len(rows) == 0 {
		return nil
	}
	var cells [][2]int
	most := ""
	for _, r := range rows {
		first := m.rows[r].should[0]
		cells = append(cells, [2]int{r, first}, [2]int{r, first + 1})
		if first == 0 {
			most = "at most "
		}
	}
	list, err := q.base.Comparisons(q.ctx, m.stage, m.block, m.kv, cells)
	if err != nil {
		return q.fatal(err)
	}
	fn := q.run.Entry()
	has := func(mods ...string) bool { return slices.ContainsFunc(mods, fn.Body[at].Has) }
	var are, need []string
	for i := range rows {
		first, next := sameComparison(fn, list[2*i], at), sameComparison(fn, list[2*i+1], at)
		if first == nil || next == nil {
			return nil
		}
		var is, limit float64
		switch {
		case next.A == first.A+1 && next.B == first.B:
			if is, limit = first.B, first.A; !has("ge", "lt", "hs", "lo") {
				limit--
			}
		case next.B == first.B+1 && next.A == first.A:
			if is, limit = first.A, first.B; !has("le", "gt", "ls", "hi") {
				limit--
			}
		default:
			return nil
		}
		if is == limit || most != "" && is < limit {
			return nil
		}
		are, need = append(are, fmt.Sprintf("%.9g", is)), append(need, fmt.Sprintf("%.9g", limit))
	}
	m.compared += limitText(are, need, rows, most)
	return nil
}

// sameComparison is the comparison of a list that stands at the same place of the source as an instruction;
// nil where none does. A compiler has one for every column.
func sameComparison(fn *ptx.Func, list []debugkern.Compared, at int) *debugkern.Compared {
	src := blame(fn, at)
	i := slices.IndexFunc(list, func(o debugkern.Compared) bool {
		to := blame(fn, o.At)
		return to != nil && *to == *src && fn.Body[o.At].Opcode() == fn.Body[at].Opcode()
	})
	if i < 0 {
		return nil
	}
	return &list[i]
}

// mostCompared is of how many columns of a row it is asked what was compared.
const mostCompared = 64

// because adds to the reason of a suspect, and to its proof.
func (s *suspect) because(says string) {
	s.cause.Proof = append(s.cause.Proof, says)
	s.cause.because(says)
}

// blameMask makes a mask that is off the reason of a suspect. What its cells are made of then says nothing:
// what a mask hides need not be there. With an edit that was proven, place and advice are those of the
// edit.
func (q *inquiry) blameMask(s *suspect, proven bool) {
	m := s.mask
	if x := s.contrast; x != nil && len(x.Foreign) == 0 {
		d := q.departure(x)
		s.cause.Proof = slices.DeleteFunc(s.cause.Proof, func(line string) bool { return line == d.text })
		if s.cause.why == d.text {
			s.cause.why = ""
		}
	}
	says := m.text
	if m.compared != "" {
		says += "; " + m.compared
	}
	looks := fmt.Sprintf("%s %s", s.cause.Stage, looksLike(q.doc.Stage(s.cause.Stage)))
	if !proven || q.looksMasked(probes.Stage(s.cause.Stage)) && s.cause.why == looks {
		s.cause.why = "" // the cells say it better
	}
	s.because(says)
	if proven || m.at == nil {
		return
	}
	s.cause.Place.Source, s.cause.Place.Other = m.at, nil
	s.compares = []int{m.test}
	should := "should not take part"
	if !m.shown {
		should = "should take part"
	}
	look := fmt.Sprintf("look at the comparison at %s, and at what is compared there: column %d of row %d %s",
		callText(m.at), m.col, m.row, should)
	s.cause.Advice = q.citing(look, "; the line is ", m.at) + q.madeOf(m.at)
}
