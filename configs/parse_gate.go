package configs

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

// gates reads the gates: the name of a conventional one, or a mapping. Keys that a mapping does not have are
// those of the conventional gate of its name, where there is one.
func (p *manifestParser) gates(o *object) {
	p.m.Gates = []Gate{{}}
	for i, n := range o.list("gates") {
		field := fmt.Sprintf("gates[%d]", i)
		if deref(n).Kind == yaml.MappingNode {
			p.gateWhole(n, field)
		} else {
			p.gateNamed(n, field)
		}
	}
}

func (p *manifestParser) gateNamed(n *yaml.Node, field string) {
	s := p.str(n, field)
	if s == "" || s == probes.GateNone.String() {
		return
	}
	g := conventions().gate(s)
	if g == nil {
		p.fail(n, field,
			"unknown gate %q; expected %s, %s, or {name: NAME, define: SYMBOL, judged: [STAGE, ...]}",
			clip(s), probes.GateNone,
			or(ConventionalGates()))
		return
	}
	p.addGate(n, field, g.gate(place{n.Line, n.Column, field}))
}

func (p *manifestParser) gateWhole(n *yaml.Node, field string) {
	o := p.section(n, field, "gate")
	if o == nil {
		return
	}
	g := Gate{Name: probes.Gate(o.name("name", dashed, "a name (letters, digits, _ - . +)"))}
	switch c := conventions().gate(string(g.Name)); {
	case g.Name == "":
		return
	case g.Name == probes.Gate(probes.GateNone.String()):
		o.fail("name", "%s is no gate at all and always there; choose another name", g.Name)
		return
	case c != nil && c.Name == g.Name:
		g = c.gate(place{})
	default:
		o.need("define", "judged")
	}
	g.at, g.whole = o.here(), true
	if o.has("define") {
		g.Define = o.ident("define")
	}
	for key, set := range map[string]*probes.StageSet{"judged": &g.Judged, "inject": &g.Injected} {
		if !o.has(key) {
			continue
		}
		*set = nil
		for _, s := range o.strs(key) {
			*set = set.Union(probes.StagesOf(probes.Stage(s)))
		}
	}
	if o.has("uniform") {
		g.Uniform = o.truth("uniform")
	}
	if o.has("help") {
		g.Help = o.str("help")
	}
	p.addGate(n, field, g)
}

// gate is the convention as a manifest's gate.
func (c *conventionalGate) gate(at place) Gate {
	return Gate{
		Name: c.Name, Define: c.Define, Judged: probes.StagesOf(c.Judged...),
		Injected: probes.StagesOf(c.Inject...), Uniform: c.Uniform, Help: c.Help, at: at,
	}
}

func (p *manifestParser) addGate(n *yaml.Node, field string, g Gate) {
	switch other := p.m.Gate(g.Define); {
	case p.m.gate(g.Name) != nil:
		p.fail(n, field, "gate %s is listed twice", g.Name)
	case g.Define != "" && other != nil:
		p.fail(n, field, "gate %s has the symbol %s, as gate %s has", g.Name, g.Define, other.Name)
	default:
		p.m.Gates = append(p.m.Gates, g)
	}
}

// gateStages looks up what the gates name; run when the stages have been read.
func (p *manifestParser) gateStages() {
	for _, g := range p.m.Gates {
		if !g.whole || len(p.m.Stages) == 0 {
			continue
		}
		at := &yaml.Node{Line: g.at.line, Column: g.at.col}
		for _, s := range g.Judged.Union(g.Injected) {
			if !p.m.hasStage(s) && conventions().stage(s) == nil {
				p.fail(at, g.at.field, "gate %s names stage %s, which is not among the stages: %s", g.Name,
					clip(string(s)), strings.Join(p.m.StageNames(), " "))
			}
			if g.Judged.Has(s) && g.Injected.Has(s) {
				p.fail(at, g.at.field, "gate %s injects stage %s; an injected stage is not judged", g.Name,
					clip(string(s)))
			}
		}
	}
}
