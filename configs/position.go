package configs

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

// Dimension is a dimension of the problem. Shapes give its extent; expressions use its name.
type Dimension struct {
	Name string
	slot int
}

// Loop is a loop of the kernel: iterations count through the innermost, the last, first.
type Loop struct {
	Name  string
	Count *Expr
}

// Work is where blocks and iterations are in the problem, by name, and how many iterations there are.
// Expressions may use the names.
type Work struct {
	At    map[string]*Expr
	Tiles *Expr // nil: one iteration
}

// hiddenNames are the positions that `hidden:` gives: rows of a block that do not see the first keys, and the
// first key they see.
var hiddenNames = [2]string{"hidden_rows", "first_key"}

// dims declares the dimensions: those of the first shape that is a mapping, else probes.ListedDims.
func (p *manifestParser) dims(o *object) {
	dims := probes.Listed(0, 0, 0, 0).Names()
	if !o.has("shapes") && !o.has("stages") {
		dims = nil // numbers alone
	}
	if n := o.vals["shapes"]; n != nil && deref(n).Kind == yaml.MappingNode {
		s := deref(n)
		for i := 1; i < len(s.Content); i += 2 {
			if m := deref(s.Content[i]); m.Kind == yaml.MappingNode {
				dims = nil
				// more are refused where the shape is read
				for k := 0; k < len(m.Content) && len(dims) < probes.MaxDims; k += 2 {
					dims = append(dims, m.Content[k].Value)
				}
				break
			}
		}
	}
	for _, name := range dims {
		if !identifier.MatchString(name) || slices.ContainsFunc(p.m.Dims, func(d Dimension) bool {
			return d.Name == name
		}) {
			continue // reported where the shape is read
		}
		if slot := p.name(o.at("shapes"), "shapes", name, classShape); slot > 0 {
			p.m.Dims = append(p.m.Dims, Dimension{name, slot})
		}
	}
	p.m.scope.dims = p.m.DimNames()
}

// DimNames lists the dimensions of the kernel's shapes.
func (m *Manifest) DimNames() []string {
	return names(m.Dims, func(d Dimension) string { return d.Name })
}

// shape reads one problem size: a list of numbers for probes.ListedDims, or extents by name.
func (p *manifestParser) shape(s *object, k string) (probes.Shape, bool) {
	n := deref(s.vals[k])
	if n.Kind == yaml.MappingNode {
		return p.namedShape(s, k)
	}
	list := s.list(k)
	if want := probes.Listed(0, 0, 0, 0).Names(); !slices.Equal(want, p.m.DimNames()) ||
		len(list) != len(want) {
		if n.Kind == yaml.SequenceNode {
			s.fail(k, "expected %s, found %d elements", p.m.dimsText(), len(list))
		}
		return probes.Shape{}, false
	}
	v := make([]int, len(list))
	for i, n := range list {
		v[i] = p.integer(n, fmt.Sprintf("%s[%d]", s.field(k), i), 1, math.MaxInt32, 1)
	}
	return probes.Listed(v...), true
}

// namedShape reads extents by name, of all dimensions.
func (p *manifestParser) namedShape(s *object, k string) (probes.Shape, bool) {
	if n := len(deref(s.vals[k]).Content) / 2; n == 0 || n > probes.MaxDims {
		s.fail(k, "%d dimensions; expected 1 to %d", n, probes.MaxDims)
		return probes.Shape{}, false
	}
	for i := 0; i < len(deref(s.vals[k]).Content); i += 2 {
		if name := deref(s.vals[k]).Content[i]; !identifier.MatchString(name.Value) {
			p.fail(name, s.field(k), "%q is not an identifier (letters, digits and _)", clip(name.Value))
			return probes.Shape{}, false
		}
	}
	names := p.m.DimNames()
	d := p.object(s.vals[k], s.field(k), names...)
	if d == nil {
		return probes.Shape{}, false
	}
	d.need(names...)
	v := make([]int, len(names))
	for i, name := range names {
		v[i] = d.integerIn(name, 1, math.MaxInt32, 1)
	}
	return probes.ShapeOf(names, v...), true
}

// dimsText is how a shape is written in the manifest: [B, H, S, D], or {M: …, N: …}.
func (m *Manifest) dimsText() string {
	if s := probes.ShapeOf(m.DimNames(), make([]int, len(m.Dims))...); s.IsListed() {
		return "[" + strings.Join(m.DimNames(), ", ") + "]"
	}
	return "{" + strings.Join(names(m.Dims, func(d Dimension) string { return d.Name + ": NUMBER" }), ", ") +
		"}"
}

// work reads the work mapping. Every key but tiles and hidden names a position, which those after it may use.
func (p *manifestParser) work(o *object) *Work {
	w := &Work{At: map[string]*Expr{}}
	for _, k := range o.keys {
		switch {
		case k == "tiles": // below: it may use positions of the block
		case k == "hidden":
			p.hidden(o, w, p.m.scope)
		case !identifier.MatchString(k):
			o.fail(k, "%q is not an identifier (letters, digits and _)", clip(k))
		default:
			w.At[k] = o.expr(k, p.m.scope, positionClass(k))
			p.declarePosition(o.at(k), o.field(k), k, w.At[k])
		}
	}
	w.Tiles = o.expr("tiles", p.m.scope, inBlock)
	return w
}

// positionClass is what a position's expression may use: those that the conventions bound are a block's.
func positionClass(name string) class {
	if conventions().Positions[name] != "" {
		return inBlock
	}
	return inTile
}

// override reads what a fault changes of work. It may use no position, so that none can depend on itself.
func (p *manifestParser) override(n *yaml.Node, field string, sc *scope) *Work {
	o := p.object(n, field, append([]string{"tiles", "hidden"}, p.m.positions...)...)
	if o == nil {
		return nil
	}
	w := &Work{At: map[string]*Expr{}, Tiles: o.expr("tiles", sc, inBlock)}
	for _, k := range o.keys {
		switch k {
		case "tiles":
		case "hidden":
			p.hidden(o, w, sc)
		default:
			w.At[k] = o.expr(k, sc, positionClass(k))
		}
	}
	return w
}

// hidden reads which rows of a block do not see the first keys.
func (p *manifestParser) hidden(o *object, w *Work, sc *scope) {
	h := p.section(o.vals["hidden"], o.field("hidden"), "hidden")
	if h == nil {
		return
	}
	w.At[hiddenNames[0]] = h.expr("rows", sc, inBlock)
	w.At[hiddenNames[1]] = h.expr("first_key", sc, inBlock)
}

// declarePosition makes a position a name for expressions. x is work's expression of it; nil: it
// is 0 but under a fault.
func (p *manifestParser) declarePosition(at *yaml.Node, field, name string, x *Expr) {
	slot := p.name(at, field, name, classBlock)
	if slot == 0 {
		return
	}
	i := len(p.m.positions)
	p.m.positions = append(p.m.positions, name)
	p.m.scope.derived[slot] = &derived{eval: func(e *env) value {
		if e.work == nil || e.work[i] == nil {
			return value{}
		}
		return e.work[i].eval(e)
	}}
	if x != nil {
		p.m.scope.depend(slot, x)
	}
}

// works reads loops, work, and the faults' overrides of it, and with them what each position depends on.
func (p *manifestParser) works(o *object) {
	m := p.m
	p.loops(o)
	plain := m.scope.clone()
	if w := o.within("work"); w != nil {
		m.Work = p.work(w)
	}
	for _, name := range hiddenNames {
		var x *Expr
		if m.Work != nil {
			x = m.Work.At[name]
		}
		p.declarePosition(o.node, "work", name, x)
	}
	p.overrides = map[int]*Work{}
	for i, n := range p.faultEntries(o) {
		if n == nil {
			continue
		}
		if w := p.override(n, fmt.Sprintf("faults[%d].work", i), plain); w != nil {
			p.overrides[i] = w
			for name, x := range w.At {
				if x != nil {
					m.scope.depend(m.scope.slots[name], x)
				}
			}
		}
	}
	p.iterations(o)
}

// faultEntries are the faults' overrides of work, nil for a fault that has none.
func (p *manifestParser) faultEntries(o *object) []*yaml.Node {
	n := o.vals["faults"]
	if n == nil || deref(n).Kind != yaml.SequenceNode {
		return nil
	}
	var out []*yaml.Node
	for _, f := range deref(n).Content {
		var work *yaml.Node
		for f, k := deref(f), 0; f.Kind == yaml.MappingNode && k+1 < len(f.Content); k += 2 {
			if f.Content[k].Value == "work" {
				work = f.Content[k+1]
			}
		}
		out = append(out, work)
	}
	return out
}

// loops reads the loops by name: their product is the number of iterations.
func (p *manifestParser) loops(o *object) {
	m := p.m
	for i, n := range o.list("loops") {
		l := p.section(n, fmt.Sprintf("%s[%d]", o.field("loops"), i), "loop")
		if l == nil {
			continue
		}
		loop := Loop{l.ident("name"), l.expr("count", m.scope, inBlock)}
		if loop.Name != "" && loop.Count != nil {
			m.Loops = append(m.Loops, loop)
		}
	}
	for i, loop := range m.Loops {
		slot := p.name(o.at("loops"), fmt.Sprintf("loops[%d].name", i), loop.Name, classTile)
		if slot == 0 {
			continue
		}
		inner := m.Loops[i+1:]
		m.scope.derived[slot] = &derived{uses: uses{3: true}, eval: func(e *env) value {
			v := e.vars[slotKV].i
			for _, l := range inner {
				v /= l.iterations(e)
			}
			return intValue(v % loop.iterations(e))
		}}
		for _, l := range m.Loops[i:] {
			m.scope.depend(slot, l.Count)
		}
	}
}

// iterations is how many iterations the loop has, at least 1: fewer are refused where the plan is made.
func (l *Loop) iterations(e *env) int64 {
	n, _ := l.Count.eval(e).whole()
	return max(1, n)
}

// iterations settles how many iterations there are: work.tiles, or the loops' product.
func (p *manifestParser) iterations(o *object) {
	m := p.m
	if len(m.Loops) == 0 {
		return
	}
	if m.Work == nil {
		m.Work = &Work{At: map[string]*Expr{}}
	}
	if m.Work.Tiles != nil {
		o.fail("loops", "work.tiles says how many iterations there are already; keep one of them")
	}
	m.Work.Tiles = product(m.Loops)
}

// product is the number of iterations of nested loops.
func product(loops []Loop) *Expr {
	if len(loops) == 1 {
		return loops[0].Count
	}
	first := loops[0].Count
	out := &Expr{File: first.File, Line: first.Line, Col: first.Col, Field: first.Field}
	out.Text = strings.Join(names(loops, func(l Loop) string { return "(" + l.Count.Text + ")" }), " * ")
	for _, l := range loops {
		out.steps += l.Count.steps
		out.uses.add(l.Count.uses)
		out.reads = out.reads || l.Count.reads
	}
	out.eval = func(e *env) value {
		v := intValue(1)
		for _, l := range loops {
			v = e.arith("*", v, l.Count.eval(e))
		}
		return v
	}
	return out
}

// positionsOf is what the environment evaluates positions by, in the order of the manifest's.
func (m *Manifest) positionsOf(w *Work) []*Expr {
	out := make([]*Expr, len(m.positions))
	if w != nil {
		for i, name := range m.positions {
			out[i] = w.At[name]
		}
	}
	return out
}

// unusedPositions refuses positions that no text of the manifest names: mistyped keys. Those of the
// conventions may be there without use.
func (p *manifestParser) unusedPositions(o *object) {
	var own []string
	for _, name := range p.m.positions {
		if !slices.Contains(conventions().positions(), name) && !slices.Contains(hiddenNames[:], name) {
			own = append(own, name)
		}
	}
	if own == nil {
		return
	}
	used := map[string]bool{}
	namesIn(o.node, used)
	for _, name := range own {
		if !used[name] {
			n := deref(o.vals["work"])
			for i := 0; i < len(n.Content); i += 2 {
				if n.Content[i].Value == name {
					p.fail(n.Content[i], "work."+name,
						"no expression uses this position; use it or remove it")
				}
			}
		}
	}
}

var namePattern = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// namesIn adds the names in the texts below a node, keys left out.
func namesIn(n *yaml.Node, to map[string]bool) {
	if n.Kind == yaml.ScalarNode {
		for _, name := range namePattern.FindAllString(n.Value, -1) {
			to[name] = true
		}
	}
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			namesIn(c, to)
		}
	}
}

// conventionalWork asks for the positions that conventional stages are computed by.
func (p *manifestParser) conventionalWork(o *object) {
	if len(p.m.Stages) == 0 {
		return
	}
	o.need("shapes")
	if !slices.ContainsFunc(p.m.Stages, func(s Stage) bool {
		return s.op == nil && conventions().stage(s.Stage) != nil
	}) {
		return
	}
	o.need("work")
	quiet := reader{file: p.file} // the mapping itself was judged by works
	w := quiet.object(o.at("work"), "work")
	if w == nil || !o.has("work") {
		return
	}
	w.r = &p.reader
	needed := conventions().positions()
	if !o.has("loops") {
		needed = append(needed, "tiles")
	}
	for _, name := range needed {
		typo := ""
		for _, k := range w.keys {
			if !slices.Contains(needed, k) && len(near(k, []string{name})) > 0 {
				typo = k
			}
		}
		if !w.has(name) && typo != "" {
			w.fail(typo, "no conventional stage uses it%s", suggest(typo, []string{name}))
		} else {
			w.need(name)
		}
	}
}
