package configs

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"tilescope/configs/schema"
	"tilescope/probes"
)

// ParseManifest reads a manifest; name is the file's name in messages. Every mistake is reported
// at once, as *Errors.
func ParseManifest(name string, text []byte) (*Manifest, error) {
	return parseManifest(context.Background(), name, text)
}

// parseManifest is ParseManifest for what may be cancelled: the error is then the context's.
func parseManifest(ctx context.Context, name string, text []byte) (*Manifest, error) {
	p := &manifestParser{
		reader: reader{file: name}, m: &Manifest{File: name, scope: newScope(), compiled: &sync.Map{}},
	}
	p.m.Guesses = guesses(text)
	p.m.LaunchGuess = launchGuess(text, p.m.Guesses)
	p.m.extents = extentGuesses(text, p.m.Guesses)
	p.m.OutputGuess = outputGuess(text, p.m.Guesses)
	root := p.document(ctx, text)
	if root != nil {
		p.root(root)
	}
	if len(p.errs) == 0 {
		p.errs = p.m.check(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errorsOf(p.errs); err != nil {
		return nil, err
	}
	return p.m, nil
}

// manifestParser fills m. Names that expressions may use are declared before any expression is read.
type manifestParser struct {
	reader
	m         *Manifest
	overrides map[int]*Work // of work, by the fault's place
	named     []string      // the references that have names, those with mistakes among them
	hostOnly  bool          // in computed: stages need no capture
}

func (p *manifestParser) root(n *yaml.Node) {
	if marked(n) {
		p.fail(n, "schema", "this is a sequence of launches, expected %s: a sequence is checked as a whole, by "+
			"tilescope check %s", Schema, p.file)
		return
	}
	o := p.section(n, "", "manifest")
	if o == nil {
		return
	}
	if o.has("schema") && o.str("schema") != Schema {
		o.fail("schema", "expected %s", Schema)
	}
	m := p.m
	for i := 0; i < len(n.Content); i += 2 {
		m.keyLines = append(m.keyLines, n.Content[i].Line)
	}
	m.Name = o.name("name", dashed, "a name (letters, digits, _ - . +)")
	m.Title, m.Entry = o.str("title"), o.ident("entry")
	p.files(o)
	p.compile(o)
	p.gates(o)
	p.dims(o)
	p.flags(o)
	p.declare(o)
	p.constants(o)
	p.flagRules(o)
	p.requires(o)
	p.launch(o)
	p.namedReferences(o)
	p.args(o)
	m.Scale = o.expr("scale", m.scope, inShape)
	p.quantiser(o)
	p.computed(o)
	p.works(o)
	p.shared(o)
	p.shapes(o)
	p.stages(o)
	p.thresholds(o)
	p.variants(o)
	p.faults(o)
	p.conventionalWork(o)
	p.unusedPositions(o)
	p.references(o)
	p.compileNames(o)
}

func (p *manifestParser) files(o *object) {
	m := p.m
	m.Source, m.PTX = o.str("source"), o.str("ptx")
	switch {
	case o.has("source") && o.has("ptx"):
		o.fail("ptx", "source is given too; keep one of them")
	case !o.has("source") && !o.has("ptx"):
		o.fail("source", "missing; give source: FILE.cu or ptx: FILE.ptx")
	case m.Source != "" && path.Ext(m.Source) == ".ptx":
		o.fail("source", "%s is PTX; write ptx: %s", m.Source, m.Source)
	}
}

// flags reads names and values; what flags require may mention every flag and is read later.
func (p *manifestParser) flags(o *object) {
	for i, n := range o.list("flags") {
		f := p.section(n, fmt.Sprintf("flags[%d]", i), "flag")
		if f == nil {
			continue
		}
		flag := Flag{Name: f.ident("name"), Help: f.str("help"), Values: []int{0, 1}}
		if f.has("values") {
			flag.Values = nil
			for j, v := range f.list("values") {
				x := p.integer(v, fmt.Sprintf("%s[%d]", f.field("values"), j), math.MinInt32,
					math.MaxInt32, 0)
				if slices.Contains(flag.Values, x) {
					p.fail(v, f.field("values"), "%d is listed twice", x)
				}
				flag.Values = append(flag.Values, x)
			}
			if len(flag.Values) < 2 {
				f.fail("values", "expected at least two values, found %d", len(flag.Values))
			}
		}
		if len(flag.Values) > 0 {
			def := flag.Values[0]
			if slices.Contains(flag.Values, 0) {
				def = 0
			}
			if flag.Default = f.integerIn("default", math.MinInt32, math.MaxInt32,
				def); !slices.Contains(flag.Values, flag.Default) {
				f.fail("default", "%d is none of the flag's values %v", flag.Default, flag.Values)
			}
		}
		if flag.Name == "" {
			continue
		}
		if g := conventions().gate(flag.Name); g != nil {
			f.fail("name", "%s is a gate; list it under gates: [%s]", flag.Name, g.Name)
			continue
		}
		if g := p.m.Gate(flag.Name); g != nil {
			f.fail("name", "%s is the gate %s; choose another name", flag.Name, g.Name)
			continue
		}
		if flag.slot = p.name(f.at("name"), f.field("name"), flag.Name, classFlag); flag.slot > 0 {
			p.m.Flags = append(p.m.Flags, flag)
		}
	}
}

// name declares a variable for expressions; 0 where the name is taken.
func (p *manifestParser) name(at *yaml.Node, field, name string, c class) int {
	if _, ok := functions[name]; ok {
		p.fail(at, field, "%s is the name of a function; choose another", name)
		return 0
	}
	if _, ok := p.m.scope.slots[name]; ok {
		p.fail(at, field, "the name %s is already taken; choose another or remove one", name)
		return 0
	}
	return p.m.scope.add(name, c)
}

// declare makes fault and gate symbols known to expressions.
func (p *manifestParser) declare(o *object) {
	for _, g := range conventions().Gates {
		p.m.scope.add(g.Define, classFlag)
	}
	for _, g := range p.m.Gates {
		if _, taken := p.m.scope.slots[g.Define]; g.Define != "" && !taken {
			p.m.scope.add(g.Define, classFlag)
		}
	}
	if n := o.vals["faults"]; n != nil && deref(n).Kind == yaml.SequenceNode {
		for _, f := range deref(n).Content {
			f = deref(f)
			for i := 0; f.Kind == yaml.MappingNode && i+1 < len(f.Content); i += 2 {
				d := deref(f.Content[i+1]).Value
				if _, taken := p.m.scope.slots[d]; f.Content[i].Value == "define" && !taken &&
					identifier.MatchString(d) {
					p.m.scope.add(d, classFlag)
				}
			}
		}
	}
}

func (p *manifestParser) constants(o *object) {
	if !o.has("constants") {
		return
	}
	c := p.object(o.vals["constants"], "constants")
	if c == nil {
		return
	}
	for _, k := range c.keys {
		if !identifier.MatchString(k) {
			c.fail(k, "%q is not an identifier (letters, digits and _)", clip(k))
			continue
		}
		e := c.expr(k, p.m.scope, inConst)
		if slot := p.name(c.at(k), c.field(k), k, classConst); slot > 0 && e != nil {
			p.m.Constants = append(p.m.Constants, Constant{k, e, slot})
		}
	}
}

func (p *manifestParser) flagRules(o *object) {
	for i, n := range o.list("flags") {
		if deref(n).Kind != yaml.MappingNode {
			continue
		}
		quiet := reader{file: p.file} // the mapping itself was judged by flags
		f := quiet.object(n, fmt.Sprintf("flags[%d]", i))
		f.r = &p.reader
		flag := p.m.Flag(deref(f.at("name")).Value)
		if flag == nil {
			continue
		}
		for j, v := range f.list("requires") {
			if e := p.expr(v, fmt.Sprintf("%s[%d]", f.field("requires"), j), p.m.scope, inFlags); e != nil {
				flag.Requires = append(flag.Requires, e)
			}
		}
		for j, v := range f.list("conflicts") {
			if e := p.expr(v, fmt.Sprintf("%s[%d]", f.field("conflicts"), j), p.m.scope, inFlags); e != nil {
				flag.Conflicts = append(flag.Conflicts, e)
			}
		}
	}
}

func (p *manifestParser) requires(o *object) {
	for i, n := range o.list("requires") {
		q := p.section(n, fmt.Sprintf("requires[%d]", i), "requirement")
		if q == nil {
			continue
		}
		if e := q.condition("that", p.m.scope, inShape); e != nil {
			p.m.Requires = append(p.m.Requires, Requirement{e, q.str("say")})
		}
	}
}

func (p *manifestParser) launch(o *object) {
	l := o.within("launch")
	if l == nil {
		return
	}
	copy(p.m.Launch.Grid[:], l.exprs("grid", 3, p.m.scope, inShape))
	copy(p.m.Launch.Block[:], l.exprs("block", 3, p.m.scope, inShape))
	p.m.Launch.Shared = l.expr("shared", p.m.scope, inShape)
	p.m.Launch.Cluster = l.exprs("cluster", 3, p.m.scope, inShape)
	p.m.Launch.Cooperative = l.truth("cooperative")
}

func (p *manifestParser) quantiser(o *object) {
	if !o.has("quantiser") {
		for _, a := range p.m.Args {
			if a.Role == probes.RoleInput && a.Fill == nil && !p.m.isScales(a.Tensor) && a.DType != 0 &&
				!a.DType.Float() {
				o.fail("quantiser",
					"missing; input %s is %s, so the host has to know how to encode it, or what it holds (fill)",
					a.Tensor, a.DType)
				return
			}
		}
		return
	}
	q := o.within("quantiser")
	if q == nil {
		return
	}
	out := &probes.Quantiser{
		Kind: q.oneOf("kind"), Zero: q.integer("zero"), Along: q.integer("along"), Levels: q.number("levels"),
		Max: q.number("max"),
	}
	out.EncodeLevels = out.Levels
	p.m.Quantiser = out
}

func (p *manifestParser) shapes(o *object) {
	if !o.has("shapes") {
		return
	}
	s := p.object(o.vals["shapes"], "shapes")
	if s == nil {
		return
	}
	for _, k := range s.keys {
		if !dashed.MatchString(k) || k[0] >= '0' && k[0] <= '9' {
			s.fail(k, "%q is not a name (a letter, then letters, digits, _ - . +)", clip(k))
		}
		if shape, ok := p.shape(s, k); ok {
			p.m.Shapes = append(p.m.Shapes, NamedShape{k, shape, s.place(k)})
		}
	}
}

// DefaultLimits are the gates where a manifest states none.
func DefaultLimits() probes.Limits {
	output, ptxas := schema.Of("output"), schema.Of("ptxas")
	return probes.Limits{
		MaxAbs: output.Default("max_abs"), MeanAbs: output.Default("mean_abs"),
		BadFraction: output.Default("bad_fraction"), Registers: int(ptxas.Default("registers")),
		SharedBytes: int(ptxas.Default("shared_bytes")), Spills: int(ptxas.Default("spills")),
		MinSpeedup: schema.Of("performance").Default("min_speedup"),
	}
}

func (p *manifestParser) thresholds(o *object) {
	p.m.Thresholds = DefaultLimits()
	t := o.within("thresholds")
	if t == nil {
		return
	}
	l := &p.m.Thresholds
	if x := t.within("output"); x != nil {
		l.MaxAbs, l.MeanAbs, l.BadFraction = x.number("max_abs"), x.number("mean_abs"),
			x.number("bad_fraction")
	}
	if x := t.within("ptxas"); x != nil {
		l.Registers, l.SharedBytes, l.Spills = x.integer("registers"), x.integer("shared_bytes"),
			x.integer("spills")
	}
	p.performance(t)
}

// performance reads {min_speedup: N}, or a list of such with when: conditions, of which the
// first that holds counts.
func (p *manifestParser) performance(t *object) {
	if !t.has("performance") {
		return
	}
	n := deref(t.vals["performance"])
	if n.Kind != yaml.SequenceNode {
		p.speedup(t.vals["performance"], t.field("performance"))
		return
	}
	for i, c := range n.Content {
		field := fmt.Sprintf("%s[%d]", t.field("performance"), i)
		if k := len(p.m.Speedups); k > 0 && p.m.Speedups[k-1].When == nil {
			p.fail(c, field, "is never reached: the entry before has no when:")
		}
		p.speedup(c, field)
	}
}

func (p *manifestParser) speedup(n *yaml.Node, field string) {
	x := p.section(n, field, "performance")
	if x == nil {
		return
	}
	out := Speedup{When: x.condition("when", p.m.scope, inShape), Min: x.number("min_speedup")}
	if !x.has("when") {
		p.m.Thresholds.MinSpeedup = out.Min
	}
	p.m.Speedups = append(p.m.Speedups, out)
}
