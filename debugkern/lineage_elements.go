package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/origin"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// madeOf lists the elements of arguments that a cell is made of, and how often each enters; with Across those
// of an element of an argument over all blocks that made it.
func (x *ancestry) madeOf(ctx context.Context, doc *report.Lineage, g *lineage.Graph) error {
	list := &elementList{x: x}
	doc.MadeOf = []report.LineageElements{}
	if x.ask.Across && x.arg != "" && x.st.launch.Ordered {
		return list.across(ctx, doc)
	}
	for _, n := range g.Elements() {
		if n.Kind != lineage.LeafElement && n.Kind != lineage.LeafElsewhere {
			continue
		}
		kind := slices.IndexFunc(n.Times[:], func(n uint64) bool { return n > 0 })
		if kind >= 0 {
			list.add(lineage.Kind(kind), n.Arg, n.Element, n.Times[kind], n.Kind == lineage.LeafElsewhere)
		}
	}
	list.write(doc)
	return nil
}

// elementList sorts elements by the way in which they enter and by argument.
type elementList struct {
	x     *ancestry
	parts []*elementPart
}

type elementPart struct {
	kind        lineage.Kind
	arg         int
	elsewhere   bool // as another block left them
	at          []int
	least, most uint64
}

func (l *elementList) add(kind lineage.Kind, arg, at int, times uint64, elsewhere bool) {
	i := slices.IndexFunc(l.parts, func(p *elementPart) bool {
		return p.kind == kind && p.arg == arg && p.elsewhere == elsewhere
	})
	if i < 0 {
		i = len(l.parts)
		l.parts = append(l.parts, &elementPart{
			kind: kind, arg: arg, elsewhere: elsewhere, least: times, most: times,
		})
	}
	p := l.parts[i]
	p.at, p.least, p.most = append(p.at, at), min(p.least, times), max(p.most, times)
}

// across follows the element through all blocks.
func (l *elementList) across(ctx context.Context, doc *report.Lineage) error {
	x := l.x
	w, err := x.st.writers(ctx)
	if err != nil {
		return err
	}
	made, ok, err := origin.New(x.kernel, x.st.launch, w).Element(ctx, origin.Element{
		Arg: w.Arg(x.arg), At: x.element,
	})
	if err != nil || !ok {
		return err
	}
	for _, e := range made.Entries {
		l.add(lineage.ByValue, e.Arg, e.At, e.Times, false)
	}
	doc.Truncated = doc.Truncated || made.Incomplete != ""
	l.write(doc)
	return nil
}

func (l *elementList) write(doc *report.Lineage) {
	slices.SortStableFunc(l.parts, func(a, b *elementPart) int { return int(a.kind) - int(b.kind) })
	for _, p := range l.parts {
		a := &l.x.st.launch.Args[p.arg]
		slices.Sort(p.at)
		doc.MadeOf = append(doc.MadeOf, report.LineageElements{
			Name: a.Name, Elements: a.Name + lineage.BoxOf(a.Buffer, p.at), Indices: indicesOf(a.Buffer.Dims,
				a.Buffer.Strides, p.at), Kind: p.kind.String(), Elsewhere: p.elsewhere, Least: p.least,
			Most: p.most,
		})
	}
}

// indicesOf are the flat indices of elements by their places in memory; those in gaps are left out.
func indicesOf(dims, strides, at []int) []int {
	if strides == nil {
		return at
	}
	out := []int{}
	for _, place := range at {
		if index, ok := probes.IndexAt(place, dims, strides); ok {
			flat := 0
			for d, k := range index {
				flat = flat*dims[d] + k
			}
			out = append(out, flat)
		}
	}
	return out
}
