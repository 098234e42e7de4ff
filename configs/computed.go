package configs

import (
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

// An input may follow from others: the output of a forward pass, which its backward pass reads.
// `computed` then says what it is, as stages over a grid of their own say it of the kernel. The host
// computes them before the launch.

// computed reads the graph of the inputs that follow from others: a manifest within the manifest, with the
// same arguments. Its stages are captured nowhere, or are cut out of such an input.
func (p *manifestParser) computed(o *object) {
	wanted := slices.ContainsFunc(p.m.Args, func(a Arg) bool { return a.computed() })
	if !o.has("computed") {
		if wanted {
			o.fail("computed",
				"missing; an argument has fill: computed, so the stages that it follows from stand here")
		}
		return
	}
	c := o.within("computed")
	if c == nil {
		return
	}
	outer, overrides := p.m, p.overrides
	defer func() { p.m, p.overrides, p.hostOnly = outer, overrides, false }()
	p.m = outer.inner()
	p.hostOnly = true
	if c.has("grid") {
		copy(p.m.Launch.Grid[:], c.exprs("grid", 3, p.m.scope, inShape))
	}
	for i := range 3 {
		one := p.number(&yaml.Node{
			Kind: yaml.ScalarNode, Value: "1", Line: c.node.Line, Column: c.node.Column,
		}, "computed.grid", p.m.scope, inShape)
		if p.m.Launch.Block[i] = one; p.m.Launch.Grid[i] == nil {
			p.m.Launch.Grid[i] = one
		}
	}
	p.works(c)
	p.stages(c)
	p.slots()
	for i := range p.m.Stages {
		s := &p.m.Stages[i]
		if out := s.Capture.Output; out != "" && !slices.Contains(p.m.outputNames(), out) {
			p.fail(&yaml.Node{Line: s.at.line, Column: s.at.col}, s.captureField+".output",
				"no input with fill: computed is named %s%s", out, suggest(out, p.m.outputNames()))
		}
	}
	for _, name := range p.m.outputNames() {
		if !slices.ContainsFunc(p.m.Stages, func(s Stage) bool { return s.Capture.Output == name }) {
			c.fail("stages", "no stage is captured as %s, which has fill: computed", name)
		}
	}
	if !wanted {
		o.fail("computed", "no argument has fill: computed")
	}
	outer.Computed, outer.computedText = p.m, nodeText(o.vals["computed"])
}

// innerStage gives a stage of computed what it does not say: numbers in f64, all of them
// valid, axes of its own.
func (p *manifestParser) innerStage(s *object, st *Stage) {
	if !s.has("dtype") {
		st.DType = probes.F64
	}
	if st.Rows != nil && !s.has("valid") {
		st.ValidRows, st.ValidCols = st.Rows, st.Cols
	}
	if !s.has("axes") {
		st.Axes = [2]string{string(st.Stage) + " rows", string(st.Stage) + " columns"}
	}
	if s.has("capture") && !hasKey(s.vals["capture"], "output") {
		s.fail("capture",
			"nothing is launched here; expected {output: ARGUMENT, at: [...], rows: N}, the input that the stage is")
	}
}

// hasKey reports whether a node is a mapping with a key.
func hasKey(n *yaml.Node, key string) bool {
	n = deref(n)
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// inner is a manifest with the arguments of m, of which the computed inputs are outputs and the
// outputs are left out.
func (m *Manifest) inner() *Manifest {
	sub := &Manifest{
		File: m.File, Dir: m.Dir, Name: m.Name, Entry: m.Entry, Constants: m.Constants, Dims: m.Dims,
		Flags: m.Flags, Scale: m.Scale, Quantiser: m.Quantiser, Gates: []Gate{{Name: probes.GateNone}},
		scope: m.scope.clone(), compiled: &sync.Map{}, hostOnly: true,
	}
	for _, a := range m.Args {
		switch {
		case a.computed():
			a.Role, a.Fill, a.Tensor = probes.RoleOutput, nil, ""
		case a.Role != probes.RoleInput && a.Pointer:
			a.Role = probes.RoleNone
		}
		sub.Args = append(sub.Args, a)
	}
	return sub
}

// computed reports whether an argument is an input that follows from others.
func (a *Arg) computed() bool { return a.Fill != nil && a.Fill.Kind == probes.FillComputed }

// nodeText is a part of a document as text; "" where there is none.
func nodeText(n *yaml.Node) string {
	text, err := yaml.Marshal(n)
	if err != nil {
		return ""
	}
	return string(text)
}

// computed resolves what the computed inputs follow from.
func (r *resolver) computed() error {
	if r.m.Computed == nil {
		return nil
	}
	sel := &Selection{Manifest: r.m.Computed, Flags: r.sel.Flags, MaxBytes: r.sel.MaxBytes}
	p, err := sel.resolve(r.ctx, r.shape, r.given, r.corners, r.steps)
	if err != nil {
		return err
	}
	r.plan.Computed = &probes.Computed{Plan: p, Text: r.m.computedText}
	return nil
}
