package checkrun

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/expectation"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/origin"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// difference is an element that is not made of what is expected.
type difference struct {
	*expectation.Difference
	cell  expectation.Cell
	want  *expectation.Set
	made  *origin.Made
	place *origin.Place
	way   string            // what the instruction at the place does
	read  *origin.Place     // reads what is handed on or lost at place; nil: that is where it is read
	owner *expectation.Cell // an element in which the first foreign one is expected
	// misread: the instruction at the place reads what nothing of the block should, or does not read what is
	// missing; no handing on can be to blame
	misread bool
}

// group is the differing elements whose differences have one place: one finding.
type group struct {
	key, read string
	first     *difference // the one with the least index of those that a place was looked for
	least     *difference // of all
	last      int
	count     int
	misread   bool   // proven for one of them
	kinds     [4]int // how many have missing, foreign, repeated elements, elements that enter less often
}

// Limits of what is looked at to say where an element goes wrong, and whose a foreign one is.
const (
	mostLocated = 128     // elements of an expectation
	mostOwned   = 1 << 20 // elements that are expected in those of the block
)

// differs notes an element; others are those that the same block wrote.
func (x *stated) differs(d *difference, others []expectation.Cell) {
	if x.located++; x.located > mostLocated { // most probably it is where those before are
		g := slices.MaxFunc(x.groups, func(a, b *group) int { return a.count - b.count })
		if g.add(d); d.cell.Element < g.least.cell.Element {
			g.least = d
		}
		return
	}
	x.locate(d, others)
	key, read := keyOf(d.place), ""
	if d.read != nil {
		read = keyOf(d.read)
	}
	i := slices.IndexFunc(x.groups, func(g *group) bool { return g.key == key && g.read == read })
	if i < 0 {
		i = len(x.groups)
		x.groups = append(x.groups, &group{key: key, read: read, first: d, least: d, last: d.cell.Element})
	}
	g := x.groups[i]
	g.add(d)
	g.example(d)
	g.misread = g.misread || d.misread
}

// keyOf is what the places of one finding have in common.
func keyOf(p *origin.Place) string {
	if p == nil || p.Source == nil {
		return ""
	}
	return p.Source.Place()
}

// add counts an element.
func (g *group) add(d *difference) {
	g.count++
	g.last = max(g.last, d.cell.Element)
	for k, n := range []int{len(d.Missing), len(d.Foreign), len(d.Repeated), len(d.Fewer)} {
		if n > 0 {
			g.kinds[k]++
		}
	}
}

// example has the group described by the element, if it is the first.
func (g *group) example(d *difference) {
	if d.cell.Element < g.first.cell.Element {
		g.first = d
	}
	if d.cell.Element < g.least.cell.Element {
		g.least = d
	}
}

// merge joins groups that one instruction explains: of elements that were read and then handed on, either may
// be wrong, the reading or the handing on. Where the reading is wrong for others, it is for these.
func (x *stated) merge() {
	for _, sure := range x.groups {
		if !sure.misread || sure.count == 0 {
			continue
		}
		for _, g := range x.groups {
			if g == sure || g.read != sure.key || g.count == 0 {
				continue
			}
			sure.count, sure.last = sure.count+g.count, max(sure.last, g.last)
			for k, n := range g.kinds {
				sure.kinds[k] += n
			}
			d := g.first
			d.blameRead()
			sure.example(d)
			if g.least.cell.Element < sure.least.cell.Element {
				sure.least = g.least
			}
			g.count = 0
		}
	}
	x.groups = slices.DeleteFunc(x.groups, func(g *group) bool { return g.count == 0 })
}

// blameRead places the difference where the element is read.
func (d *difference) blameRead() {
	d.place, d.read, d.way = d.read, nil, "is missing where the others are read"
	if len(d.Foreign) > 0 {
		d.way = "is read"
	}
}

// described is the element that stands for a group: the one with the least index, if its place is the
// group's.
func (x *stated) described(g *group) *difference {
	if d := g.least; d.place == nil {
		others := x.blocks[x.grid.Linear(d.made.Block)]
		if x.locate(d, others); keyOf(d.place) == g.key {
			return d
		}
		if keyOf(d.read) == g.key {
			d.blameRead()
			return d
		}
	}
	return g.first
}

// locate finds the instruction by which an element goes wrong.
func (x *stated) locate(d *difference, others []expectation.Cell) {
	switch {
	case len(d.Foreign) > 0:
		e := origin.Element(d.Foreign[0].Element)
		read := d.made.Enters(e, false)
		d.place, d.way, d.misread = read, "is read", true
		if x.handed(d, others) {
			d.misread = false
			d.place, d.way = d.made.Enters(e, true), "comes in"
			d.read = read
		}
	case len(d.Missing) > 0:
		x.locateMissing(d)
	case len(d.Repeated) > 0:
		e := d.Repeated[0].Element
		usual := e
		for _, m := range d.made.Entries {
			if o := expectation.Element(m.Element); o.Arg == e.Arg && m.Times == d.Usual {
				usual = o
				break
			}
		}
		d.place, d.way = d.made.Again(origin.Element(e), origin.Element(usual)), "enters once more"
	default:
		d.place, d.way = d.made.Enters(origin.Element(d.Fewer[0].Element), true), "enters less often"
	}
	if d.place == nil { // in what another block made, or of no instruction's doing
		d.place, d.way, d.read = d.made.Stores(), "differs in what is stored", nil
		if len(d.Foreign) == 0 && len(d.Missing) > 0 {
			d.way = "is missing in what is stored"
		}
		d.misread = false
	}
	if keyOf(d.read) == keyOf(d.place) {
		if d.read = nil; len(d.Foreign) > 0 {
			d.way = "is read"
		}
	}
}

// locateMissing finds the instruction by which the first missing element is lost: the one that reads its
// neighbour, unless that reads it as well.
func (x *stated) locateMissing(d *difference) {
	present := x.neighbour(d)
	if present == nil || present.Arg != d.Missing[0].Arg {
		return // nothing of its argument that belongs there is read
	}
	lost, near := origin.Element(d.Missing[0]), origin.Element(*present)
	d.place, d.way, d.misread = d.made.Lost(lost, near), "is missing where the others are read", true
	if d.made.Takes(lost) {
		d.misread = false
		d.way, d.read = "is read like the others and then lost", d.made.Enters(near, false)
	}
}

// neighbour is the expected element that is nearest to the first missing one, of the same argument if there
// is one; nil where nothing expected is there.
func (x *stated) neighbour(d *difference) *expectation.Element {
	lost := d.Missing[0]
	var best *expectation.Element
	far := func(e expectation.Element) int {
		if e.Arg != lost.Arg {
			return math.MaxInt
		}
		return max(e.At-lost.At, lost.At-e.At)
	}
	for _, m := range d.made.Entries {
		if e := expectation.Element(m.Element); d.want.Has(e) && (best == nil || far(e) < far(*best)) {
			best = &e
		}
	}
	return best
}

// handed reports whether the instruction that reads the first foreign element may be right to read it:
// another element that the block wrote takes it from there and is expected to, or the missing one is read as
// well. It also notes whose the foreign element is.
func (x *stated) handed(d *difference, others []expectation.Cell) bool {
	e := d.Foreign[0].Element
	if d.owner = x.owner(e, others); d.owner != nil && d.owner.Element != d.cell.Element {
		if m, err := x.made(*d.owner); err == nil && d.made.Shares(m, origin.Element(e)) {
			return true
		}
	}
	return len(d.Missing) > 0 && d.Missing[0].Arg == e.Arg && d.made.Takes(origin.Element(d.Missing[0]))
}

// owner is an element, of those that a block wrote, in which another one is expected; nil where there is
// none.
func (x *stated) owner(e expectation.Element, cells []expectation.Cell) *expectation.Cell {
	if len(cells) == 0 {
		return nil
	}
	if x.ownedBy != &cells[0] {
		x.ownedBy, x.owned = &cells[0], map[expectation.Element]int{}
		for i := range cells {
			want, err := x.b.Want(cells[i])
			if err != nil || len(x.owned) > mostOwned {
				break
			}
			x.f.Work += want.Work
			for e := range want.All() {
				if _, known := x.owned[e]; !known {
					x.owned[e] = i
				}
			}
		}
	}
	if i, known := x.owned[e]; known {
		return &cells[i]
	}
	return nil
}

// unwritten adds the finding that no block writes some of the elements.
func (x *stated) unwritten(never neverWritten) {
	f := x.finding(never.first, never.count)
	f.Message = fmt.Sprintf("no block writes %s, and %s is expected", x.name(x.b.Output(), never.first), x.b)
	if never.count > 1 {
		f.Consequence = fmt.Sprintf("%d elements of %s are not written, %s is the last of them", never.count,
			x.args[x.b.Output()].name, x.name(x.b.Output(), never.last))
	}
	if len(x.entry.Body) > 0 { // no instruction is to blame
		f.Source = target.Blame(x.entry, 0)
	}
	x.add(f)
}

// write adds a finding for each group, the most frequent first.
func (x *stated) write() {
	x.merge()
	slices.SortStableFunc(x.groups, func(a, b *group) int {
		return cmp.Or(b.count-a.count, a.first.cell.Element-b.first.cell.Element)
	})
	for _, g := range x.groups {
		d := x.described(g)
		f := x.finding(d.cell.Element, g.count)
		f.Block = d.made.Block
		if p := d.place; p != nil {
			f.Source, f.Block, f.Warps, f.Lanes = p.Source, p.Block, []int{p.Warp}, []int{p.Lane}
		}
		if d.read != nil {
			f.Other = d.read.Source
		}
		f.Message, f.Consequence = x.message(d), x.extent(g, d)
		x.add(f)
	}
}

// unfollowed adds what could not be checked, as advice.
func (x *stated) unfollowed() {
	if x.doc.NotFollowed == 0 {
		return
	}
	out := x.args[x.b.Output()].name
	text := fmt.Sprintf("%s: %d elements of %s were not checked, since not all that they are made of is known: %s",
		x.b, x.doc.NotFollowed, out, x.doc.Reason)
	x.launch.doc.Findings = append(x.launch.doc.Findings, report.FindingsOf([]target.Finding{{
		Kind: target.NotModelled, Message: text, Variable: out, KVTile: -1, Count: x.doc.NotFollowed,
	}})...)
	x.launch.doc.Coverage.NotModelled = append(x.launch.doc.Coverage.NotModelled, text)
}

// finding is a finding about an element of the output.
func (x *stated) finding(element, count int) target.Finding {
	return target.Finding{
		Kind: target.Expectation, Variable: x.args[x.b.Output()].name, Index: x.index(x.b.Output(), element),
		Space: target.SpaceGlobal.String(), KVTile: -1, Count: count,
	}
}

func (x *stated) add(f target.Finding) {
	x.doc.Differing += f.Count
	x.launch.doc.Findings = append(x.launch.doc.Findings, report.FindingsOf([]target.Finding{f})...)
}

// index is an element's index in each dimension.
func (x *stated) index(arg, element int) []int {
	dims := x.args[arg].dims
	out := make([]int, max(len(dims), 1))
	for d := len(dims) - 1; d >= 0; d-- {
		n := max(dims[d], 1)
		out[d], element = element%n, element/n
	}
	return out
}

// name writes elements of an argument: x[3][0..63].
func (x *stated) name(arg int, at ...int) string {
	return x.args[arg].name + lineage.Box(x.args[arg].dims, at)
}

// message says what the element is made of and what it is not.
func (x *stated) message(d *difference) string {
	self := x.name(x.b.Output(), d.cell.Element)
	var parts []string
	for arg := range x.args {
		if missing := ofArgument(d.Missing, arg); missing != nil {
			parts = append(parts, x.missing(d, arg, missing))
		}
	}
	for arg := range x.args {
		var list []int
		for _, e := range d.Foreign {
			if e.Arg == arg {
				list = append(list, e.At)
			}
		}
		if list != nil {
			parts = append(parts, x.foreign(d, arg, list))
		}
	}
	for _, often := range [][]expectation.Entry{d.Repeated, d.Fewer} {
		if len(often) > 0 {
			parts = append(parts, x.often(d, often))
		}
	}
	text := self + " " + strings.Join(parts, ", and ")
	if p := d.place; p != nil && p.Source != nil {
		text += fmt.Sprintf(": %s %s at %s", x.subject(d), d.way, p.Source.Place())
		if d.read != nil {
			text += fmt.Sprintf(" (read at %s)", d.read.Source.Place())
		}
	}
	return text
}

// subject is the element that the place of a difference is about.
func (x *stated) subject(d *difference) string {
	var e expectation.Element
	switch {
	case len(d.Foreign) > 0:
		e = d.Foreign[0].Element
	case len(d.Missing) > 0:
		e = d.Missing[0]
	case len(d.Repeated) > 0:
		e = d.Repeated[0].Element
	default:
		e = d.Fewer[0].Element
	}
	return x.name(e.Arg, e.At)
}

func (x *stated) missing(d *difference, arg int, missing []int) string {
	var there []int
	for _, at := range d.want.Of(arg) {
		if _, lost := slices.BinarySearch(missing, at); !lost {
			there = append(there, at)
		}
	}
	if there == nil {
		return "is not made of " + x.name(arg, missing...)
	}
	return fmt.Sprintf("is made of %s, not of %s", x.name(arg, there...), x.name(arg, missing...))
}

func (x *stated) foreign(d *difference, arg int, list []int) string {
	text := fmt.Sprintf("is made of %s, which is not expected", x.name(arg, list...))
	switch {
	case arg == x.b.Output() && len(list) == 1 && list[0] == d.cell.Element:
		text = "is made of itself as it was before the launch, which is not expected"
	case d.owner != nil && d.Foreign[0].Arg == arg:
		text += fmt.Sprintf(" (%s is expected in %s)", x.name(arg, d.Foreign[0].At),
			x.name(x.b.Output(), d.owner.Element))
	}
	return text
}

// often says that elements enter more or less often than others.
func (x *stated) often(d *difference, list []expectation.Entry) string {
	var at []int
	for _, e := range list {
		if e.Arg == list[0].Arg {
			at = append(at, e.At)
		}
	}
	return fmt.Sprintf("takes %s %s, where %s is expected", x.name(list[0].Arg, at...), times(list[0].Times),
		times(d.Usual))
}

func times(n uint64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// extent says how many elements of the output differ in this way.
func (x *stated) extent(g *group, d *difference) string {
	out := x.b.Output()
	text := fmt.Sprintf("expected is %s", x.b)
	if g.count > 1 {
		var kinds []string
		for k, what := range []string{"missing", "foreign", "repeated", "less frequent"} {
			if n := g.kinds[k]; n > 0 {
				kinds = append(kinds, fmt.Sprintf("%s elements in %d", what, n))
			}
		}
		text += fmt.Sprintf("; %d of the %d elements of %s that were checked differ here, up to %s: %s", g.count,
			x.doc.Checked, x.args[out].name, x.name(out, g.last), strings.Join(kinds, ", "))
	}
	if len(d.Missing)+len(d.Foreign) == 0 {
		text += "; where elements rightly enter differently often, as under a running maximum, their term is repeated"
	}
	if slices.ContainsFunc(d.Foreign, func(e expectation.Entry) bool {
		return e.Arg == out && e.At == d.cell.Element
	}) {
		text += fmt.Sprintf("; where an operation is to add to what %s had, the output is a term, too",
			x.args[out].name)
	}
	return text
}

func ofArgument(list []expectation.Element, arg int) []int {
	var out []int
	for _, e := range list {
		if e.Arg == arg {
			out = append(out, e.At)
		}
	}
	return out
}
