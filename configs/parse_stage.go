package configs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

func (p *manifestParser) stages(o *object) {
	section := "stage"
	if p.hostOnly {
		section = "computed-stage"
	}
	for i, n := range o.list("stages") {
		if s := p.section(n, fmt.Sprintf("%s[%d]", o.field("stages"), i), section); s != nil {
			p.stage(s)
		}
	}
}

// stage reads one entry of stages.
func (p *manifestParser) stage(s *object) {
	st := Stage{
		When: s.condition("when", p.m.scope, inShape), DType: s.dtype("dtype"),
		PerTile: s.oneOf("per") == "tile", Array: s.ident("array"), Transposed: s.truth("transposed"),
		at: s.here(), captureField: s.field("capture"),
	}
	p.stageReference(s, &st)
	known := p.stageName(s, &st)
	if d := s.exprs("dims", 2, p.m.scope, inShape); d != nil {
		st.Rows, st.Cols = d[0], d[1]
	}
	allowed := inTile
	if !st.PerTile {
		allowed = inBlock
	}
	if v := s.exprs("valid", 2, p.m.scope, allowed); v != nil {
		st.ValidRows, st.ValidCols = v[0], v[1]
	}
	switch s.oneOf("outside") {
	case "zero":
		st.Outside = probes.OutsideZero
	case "neg-inf":
		st.Outside = probes.OutsideNegInf
	}
	if s.has("op") {
		if st.op = p.operation(s.vals["op"], s.field("op")); st.op != nil {
			p.operandStages(st.op, &st, known)
		}
	}
	p.definition(s, &st, known)
	if p.hostOnly {
		p.innerStage(s, &st)
	}
	p.meaning(s, &st, known)
	if s.has("unit") {
		st.unit = s.str("unit")
	}
	p.compute(s, &st)
	p.capture(s, &st)
	if st.Phase == probes.PhaseBefore && st.Capture.Kind == probes.CaptureOutput && !s.has("phase") &&
		st.op == nil {
		// nothing says what it is computed from, and an output is complete at the end
		st.Phase = probes.PhaseAfter
	}
	p.index(s, &st)
	if known {
		p.m.Stages = append(p.m.Stages, st)
	}
}

// stageName reads the name and holds entries of conventional stages to their order.
func (p *manifestParser) stageName(s *object, st *Stage) bool {
	name := s.str("name")
	if name == "" {
		return false
	}
	conv := conventions()
	order := conv.order(probes.Stage(name))
	if order < 0 && !s.has("axes") && !p.hostOnly {
		s.fail("name", "unknown stage %q; expected one of %s, or axes: and of: for a stage of another name",
			clip(name), conv.stageNames())
		return false
	}
	if !identifier.MatchString(name) {
		s.fail("name", "%q is not an identifier (letters, digits and _)", clip(name))
		return false
	}
	st.Stage, st.ordered = probes.Stage(name), order >= 0 && !s.has("of") && !s.has("op")
	if len(p.m.Stages) == 0 {
		return true
	}
	last := p.m.Stages[len(p.m.Stages)-1]
	switch {
	case st.ordered && last.ordered && conv.order(last.Stage) > order:
		s.fail("name", "stage %s comes after %s; the order is %s", name, last.Stage, conv.stageNames())
	case last.Stage == st.Stage && last.When == nil:
		s.fail("name", "a second entry for stage %s, and the first has no when:; give it one, or remove this",
			name)
	case last.Stage != st.Stage && p.m.hasStage(st.Stage):
		s.fail("name",
			"a second entry for stage %s does not follow the first; entries for one stage stand together",
			name)
	}
	return true
}

// definition reads what the stage is: its axes, when it is computed, and from what. The convention of its
// name says what the entry does not; for another name, a stage is computed from what it may be judged from,
// and after the loop where it has one tile a block.
func (p *manifestParser) definition(s *object, st *Stage, known bool) {
	c := conventions().stage(st.Stage)
	if c != nil {
		st.Definition = c.definition()
	}
	if s.has("help") {
		st.Help = s.str("help")
	}
	if s.has("axes") {
		p.axes(s, st)
	}
	switch {
	case s.has("of"):
		st.Of = p.earlierStages(s, "of", st, known)
		if st.op != nil && len(p.errs) == 0 &&
			(st.Of.Without(st.op.of(st.Stage)) != nil || st.op.of(st.Stage).Without(st.Of) != nil) {
			s.fail("of", "%s, but op is computed from %s; remove of", stageList(st.Of),
				stageList(st.op.of(st.Stage)))
		}
	case st.op != nil:
		st.Of = st.op.of(st.Stage)
	}
	st.From = p.earlierStages(s, "from", st, known)
	st.fromOp = st.op != nil && !s.has("from")
	switch {
	case c == nil && !s.has("of") && st.op == nil:
		st.Of = st.From
	case known && st.From.Has(st.Stage) && !st.Of.Has(st.Stage):
		s.fail("from", "stage %s does not carry over from tile to tile; only %s do", st.Stage,
			and(p.m.carried()))
	}
	switch {
	case s.has("phase"):
		st.Phase = phases[s.oneOf("phase")]
	case c != nil && st.op == nil || st.PerTile:
		if st.PerTile && st.op != nil {
			st.Phase = probes.PhaseEach
		}
	case len(st.Of) == 0:
		st.Phase = probes.PhaseBefore
	default:
		st.Phase = probes.PhaseAfter
	}
	if st.PerTile && st.Phase != probes.PhaseEach && s.has("per") {
		s.fail("per", "stage %s is computed before or after the loop, once; expected per: block", st.Stage)
	}
}

// stageList names stages in a message.
func stageList(set probes.StageSet) string {
	if len(set) == 0 {
		return "no stage"
	}
	return and(names(set, probes.Stage.String))
}

func (p *manifestParser) axes(s *object, st *Stage) {
	st.Axes = [2]string{}
	list := s.strs("axes")
	if len(list) == 0 || len(list) > 2 {
		s.fail("axes",
			"expected what rows and columns are, such as [q, k]; one name for a stage of one column")
		return
	}
	for _, a := range list {
		if !identifier.MatchString(a) {
			s.fail("axes", "%q is not an identifier (letters, digits and _)", clip(a))
		}
	}
	copy(st.Axes[:], list)
}

// earlierStages reads a list of stages that come before st, st itself among them where it carries over.
func (p *manifestParser) earlierStages(s *object, key string, st *Stage, known bool) probes.StageSet {
	var out probes.StageSet
	for i, n := range s.list(key) {
		if f, ok := p.earlier(n, fmt.Sprintf("%s[%d]", s.field(key), i), st, known); ok {
			out = out.Union(probes.StagesOf(f))
		}
	}
	return out
}

// earlier reads the name of a stage that comes before st, or st itself.
func (p *manifestParser) earlier(n *yaml.Node, field string, st *Stage, known bool) (probes.Stage, bool) {
	name := p.str(n, field)
	if name == "" {
		return "", false
	}
	conv, f := conventions(), probes.Stage(name)
	switch order := conv.order(f); {
	case known && f == st.Stage, p.m.hasStage(f):
	case order < 0:
		p.fail(n, field, "unknown stage %q; expected one of %s", clip(name), p.m.knownStages())
		return "", false
	case known && conv.order(st.Stage) >= 0 && order > conv.order(st.Stage):
		p.fail(n, field, "stage %s is not earlier than %s", f, st.Stage)
		return "", false
	}
	return f, true
}

// meaning reads the keys that only one stage has.
func (p *manifestParser) meaning(s *object, st *Stage, known bool) {
	st.Meaning.Scaled, st.Meaning.Normalised = s.truth("scaled"), s.truth("normalised")
	st.Meaning.Log2 = s.oneOf("domain") == "log2"
	for _, of := range conventions().Stages {
		for _, key := range of.Keys {
			if known && s.has(key) && st.Stage != of.Name {
				s.fail(key, "only stage %s has it; remove it from %s", of.Name, st.Stage)
			}
		}
	}
}

// and joins words: "m, l and U".
func and(words []string) string { return enumerate(words, " and ") }

// or joins words: "qk, softmax or pv".
func or(words []string) string { return enumerate(words, " or ") }

func enumerate(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + last + words[n]
}

func (p *manifestParser) compute(s *object, st *Stage) {
	if !s.has("compute") {
		return
	}
	n := deref(s.vals["compute"])
	if n.Kind != yaml.SequenceNode {
		p.computeOne(s.vals["compute"], s.field("compute"), st)
		return
	}
	for i, c := range n.Content {
		p.computeOne(c, fmt.Sprintf("%s[%d]", s.field("compute"), i), st)
		if k := len(st.Compute); k > 1 && st.Compute[k-2].When == nil {
			p.fail(c, fmt.Sprintf("%s[%d]", s.field("compute"), i),
				"is never reached: the entry before has no when:")
		}
	}
}

var units = map[string]probes.Unit{
	"none": probes.UnitNone, "fma": probes.UnitFMA, "mul-add": probes.UnitMulAdd, "tensor": probes.UnitTensor,
	"shuffle": probes.UnitShuffle,
}

func (p *manifestParser) computeOne(n *yaml.Node, field string, st *Stage) {
	c := p.section(n, field, "compute")
	if c == nil {
		return
	}
	unit := c.oneOf("unit")
	out := Compute{When: c.condition("when", p.m.scope, inShape)}
	out.Unit, out.Acc = units[unit], c.dtype("acc")
	for _, f := range slices.Sorted(maps.Keys(op.Instructions())) {
		switch name := c.oneOf(f); {
		case f == "exp":
			out.Exp = name
		case name != "":
			if out.By == nil {
				out.By = map[string]string{}
			}
			out.By[f] = name
		}
	}
	out.Split, out.Block = c.expr("split", p.m.scope, inShape), c.integer("block")
	switch {
	case unit == "tensor" && !c.has("block"):
		c.fail("block", "missing; say how many products one tensor-core instruction sums (16)")
	case unit != "" && unit != "tensor" && c.has("block"):
		c.fail("block", "only unit tensor has it; remove it")
	}
	if out.Acc != 0 && !out.Acc.Float() {
		c.fail("acc", "%s cannot hold a sum of products; expected a floating-point type", out.Acc)
	}
	st.Compute = append(st.Compute, out)
}

func (p *manifestParser) capture(s *object, st *Stage) {
	if !s.has("capture") {
		return
	}
	n := deref(s.vals["capture"])
	if n.Kind == yaml.ScalarNode {
		switch s.oneOf("capture") {
		case "probe":
			st.Capture.Kind = probes.CaptureProbe
		case "frag":
			st.Capture.Kind = probes.CaptureFrag
		}
		return
	}
	c := s.within("capture")
	if c == nil {
		return
	}
	registers := c.has("mma") || c.has("register")
	for _, k := range []string{"shared", "at", "output", "rows", "cols"} {
		if registers && c.has(k) {
			c.fail(k, "does not go with mma or register; remove it")
			return
		}
	}
	switch {
	case c.has("mma") && c.has("register"):
		c.fail("register", "mma is given too; keep one of them")
	case c.has("mma"):
		p.captureRegisters(c, st, "mma")
	case c.has("register"):
		p.captureRegisters(c, st, "register")
	case c.has("combine"):
		c.fail("combine", "goes with mma or register only")
	case c.has("output") && c.has("shared"):
		c.fail("output", "shared is given too; keep one of them")
	case c.has("output"):
		p.captureOutput(c, st)
	case c.has("shared"):
		p.captureShared(c, st)
	default:
		s.fail("capture",
			"expected probe, frag, none, {shared: ARRAY, at: ..., tile_at: ...}, {mma: ...}, {register: ...} or {output: ARGUMENT, at: ...}")
	}
}

// placement is where a tile lies in an argument: the position of its first cell, by dimension, and the
// dimensions that its rows and columns run along, -1 for one row or column.
type placement struct {
	at         []*Expr
	rows, cols int
}

// captureOutput reads which argument a tile is cut out of, and where the tile lies in it.
func (p *manifestParser) captureOutput(c *object, st *Stage) {
	st.Capture.Kind, st.Capture.Output = probes.CaptureOutput, c.ident("output")
	if c.has("tile_at") {
		c.fail("tile_at", "goes with shared only; an output is read after the launch")
	}
	if !c.has("at") {
		for _, k := range []string{"rows", "cols"} {
			if c.has(k) {
				c.fail(k, "goes with at: [...], the position of the tile's first cell")
			}
		}
		return
	}
	allowed := inTile
	if !st.PerTile {
		allowed = inBlock
	}
	c.need("rows")
	out := &placement{at: c.exprs("at", -1, p.m.scope, allowed)}
	out.rows = c.integer("rows")
	if out.cols = -1; c.has("cols") {
		out.cols = c.integer("cols")
	}
	if out.cols == out.rows {
		c.fail("cols", "rows run along dimension %d already", out.rows)
	}
	st.output = out
}

func (p *manifestParser) captureShared(c *object, st *Stage) {
	k := &st.Capture
	k.Kind, k.Shared = probes.CaptureShared, c.ident("shared")
	c.need("at")
	if at := c.within("at"); at != nil {
		switch {
		case at.has("barrier") == at.has("line"):
			c.fail("at", "expected {barrier: N} or {line: L}, one of them")
		case at.has("barrier"):
			if k.AtBarrier = at.integer("barrier"); at.has("pass") {
				at.fail("pass", "goes with line only; a barrier is counted already")
			}
		default:
			k.AtLine = at.integer("line")
			k.Pass = p.pass(at)
		}
	}
	if st.PerTile {
		c.need("tile_at")
	}
	if t := c.within("tile_at"); t != nil {
		t.need("line")
		if t.has("ptx") {
			t.fail("ptx", "goes with mma and register only; expected line")
		}
		k.TileLine = t.integer("line")
	}
}

// pass reads which pass of a line is meant: first, last, or its number from 1; absent gives 0.
func (p *manifestParser) pass(at *object) int {
	if !at.has("pass") {
		return 0
	}
	switch n := deref(at.vals["pass"]); {
	case n.Kind == yaml.ScalarNode && n.Value == "first":
		return 1
	case n.Kind == yaml.ScalarNode && n.Value == "last":
		return probes.PassLast
	case n.Kind != yaml.ScalarNode || n.Tag != "!!int":
		at.fail("pass", "expected first, last, or a number from 1 on, found %s", kindOf(n))
		return 0
	}
	return at.integerIn("pass", 1, math.MaxUint16, 1)
}

// variants reads flag sets: {FLAG: VALUE, ...}, or {flags: {...}, faults: [...], help: TEXT}.
func (p *manifestParser) variants(o *object) {
	if o.has("variants") {
		if v := p.object(o.vals["variants"], "variants"); v != nil {
			for _, k := range v.keys {
				p.variant(v, k)
			}
			if len(v.keys) == 0 {
				o.fail("variants", "empty; name at least one, or leave it out")
			}
		}
	} else {
		p.m.Variants = []Variant{
			{Name: p.m.Name, Flags: map[string]int{}, at: place{o.node.Line, o.node.Column, "variants"}},
		}
	}
	if p.m.Default = o.str("default"); p.m.Default == "" && len(p.m.Variants) > 0 {
		p.m.Default = p.m.Variants[0].Name
	}
	if o.has("default") && p.m.Default != "" && p.m.Variant(p.m.Default) == nil {
		o.fail("default", "unknown variant %q%s", clip(p.m.Default), suggest(p.m.Default, p.m.variantNames()))
	}
}

func (p *manifestParser) variant(v *object, name string) {
	if !dashed.MatchString(name) {
		v.fail(name, "%q is not a name (letters, digits, _ - . +)", clip(name))
		return
	}
	set := p.object(v.vals[name], v.field(name))
	if set == nil {
		return
	}
	out := Variant{Name: name, Flags: map[string]int{}, at: v.place(name)}
	if set.has("flags") || set.has("faults") || set.has("help") {
		whole := p.section(v.vals[name], v.field(name), "variant")
		out.Help, out.Faults = whole.str("help"), whole.strs("faults")
		set = whole.sub("flags")
	}
	if set != nil {
		for _, k := range set.keys {
			p.variantFlag(set, k, &out)
		}
	}
	p.m.Variants = append(p.m.Variants, out)
}

func (p *manifestParser) variantFlag(set *object, k string, out *Variant) {
	flag := p.m.Flag(k)
	if flag == nil {
		set.fail(k, "unknown flag %s%s", clip(k), suggest(k, p.m.flagNames()))
		return
	}
	value := 1
	if deref(set.vals[k]).Tag != "!!bool" {
		value = set.integerIn(k, math.MinInt32, math.MaxInt32, flag.Default)
	} else if !set.truth(k) {
		value = 0
	}
	if !slices.Contains(flag.Values, value) {
		set.fail(k, "%d is none of the flag's values %v", value, flag.Values)
		return
	}
	out.Flags[k] = value
}

func (p *manifestParser) faults(o *object) {
	for i, n := range o.list("faults") {
		f := p.section(n, fmt.Sprintf("faults[%d]", i), "fault")
		if f == nil {
			continue
		}
		if len(p.m.Shapes) > 0 {
			f.need("shape")
		}
		fault := Fault{
			Name: f.name("name", dashed, "a name (letters, digits, _ - . +)"), Patch: f.str("patch"),
			Define: f.ident("define"), Base: f.str("base"), Shape: f.str("shape"),
			Needs: f.condition("needs", p.m.scope, inShape), Help: f.str("help"), Host: f.truth("host"),
			at: f.here(),
		}
		p.faultKind(f, &fault)
		fault.Work = p.overrides[i]
		if fault.Name != "" && p.m.Fault(fault.Name) != nil {
			f.fail("name", "a second fault named %s", fault.Name)
		}
		if fault.Base != "" && p.m.Variant(fault.Base) == nil {
			f.fail("base", "unknown variant %q%s", clip(fault.Base), suggest(fault.Base, p.m.variantNames()))
		}
		if _, ok := p.m.Shape(fault.Shape); fault.Shape != "" && !ok {
			f.fail("shape", "unknown shape %q%s", clip(fault.Shape), suggest(fault.Shape, p.m.shapeNames()))
		}
		p.m.Faults = append(p.m.Faults, fault)
	}
}

// faultKind reads what the fault changes: the kernel by a patch or a symbol, or the host's side.
func (p *manifestParser) faultKind(f *object, fault *Fault) {
	switch {
	case fault.Host && f.has("define"):
		f.fail("define", "a host fault has none; remove host: true or this")
	case fault.Host && f.has("patch"):
		f.fail("patch", "a host fault has none; remove host: true or this")
	case !fault.Host && !f.has("define") && !f.has("patch"):
		f.fail("define",
			"missing; name the source's preprocessor symbol, give patch: FILE, or say host: true")
	case fault.Host && !f.has("quantiser") && !f.has("work"):
		f.fail("host", "a host fault needs quantiser: or work:, else it changes nothing")
	}
	if fault.Define != "" {
		fault.slot = p.m.scope.slots[fault.Define]
		taken := p.m.scope.classes[fault.slot] != classFlag || p.m.Flag(fault.Define) != nil
		for _, other := range p.m.Faults {
			taken = taken || other.Define == fault.Define
		}
		if taken {
			f.fail("define", "the symbol %s is already taken", fault.Define)
		}
	}
	if q := f.within("quantiser"); q != nil {
		if fault.EncodeLevels = q.number("encode_levels"); p.m.Quantiser == nil {
			f.fail("quantiser", "the kernel has no quantiser to change")
		}
	}
}
