package configs

import (
	"context"
	"slices"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

const maxNames = 256 // variants, shapes, faults of one manifest

// references holds names to what they name; run when every list has been read.
func (p *manifestParser) references(o *object) {
	m := p.m
	var present probes.StageSet
	for _, s := range m.Stages {
		present = present.Union(probes.StagesOf(s.Stage))
	}
	for i := range m.Stages {
		s := &m.Stages[i]
		at := &yaml.Node{Line: s.at.line, Column: s.at.col}
		for _, f := range s.From.Without(present) {
			p.fail(at, s.at.field+".from", "stage %s is not among the stages", f)
		}
		if s.Array != "" && !m.hasShared(s.Array) {
			p.fail(at, s.at.field+".array", "no shared array named %s%s", s.Array,
				suggest(s.Array, m.sharedNames()))
		}
		if c := s.Capture.Shared; c != "" && !m.hasShared(c) {
			p.fail(at, s.captureField+".shared", "no shared array named %s%s", c, suggest(c, m.sharedNames()))
		}
		if c := s.Capture.Output; c != "" && !slices.Contains(m.outputNames(), c) {
			p.fail(at, s.captureField+".output", "no output argument named %s%s", c,
				suggest(c, m.outputNames()))
		}
		if s.Capture.Kind == probes.CaptureOutput && s.PerTile && s.output == nil {
			p.fail(at, s.captureField,
				"an output is there once a block; expected per: block, or at: for where each tile of it is")
		}
	}
	p.compared()
	p.slots()
	p.gateStages()
	for _, v := range m.Variants {
		at := &yaml.Node{Line: v.at.line, Column: v.at.col}
		for _, f := range v.Faults {
			switch fault := m.Fault(f); {
			case fault == nil:
				p.fail(at, v.at.field+".faults", "unknown fault %q%s", clip(f), suggest(f, m.faultNames()))
			case m.Variant(fault.Base) != nil:
				if err := m.baseError(fault, m.complete(v.Flags)); err != nil {
					p.fail(at, v.at.field+".faults", "%v", err)
				}
			}
		}
		e := m.flagEnv(v.Flags)
		for _, err := range m.flagErrors(e) {
			p.fail(at, v.at.field, "%s", err)
		}
	}
	for list, n := range map[string]int{
		"variants": len(m.Variants), "shapes": len(m.Shapes), "faults": len(m.Faults),
	} {
		if n > maxNames { // every variant is resolved for every shape
			o.fail(list, "%d of them; at most %d are possible", n, maxNames)
		}
	}
	if len(m.Stages) == 0 && len(m.Gates) > 1 {
		o.fail("gates", "a kernel without stages has no gates")
	}
}

func (m *Manifest) sharedNames() []string {
	return names(m.Shared, func(s Shared) string { return s.Name })
}
func (m *Manifest) hasShared(name string) bool {
	return slices.ContainsFunc(m.Shared, func(s Shared) bool { return s.Name == name })
}

// inputNames lists the tensors that operators may load.
func (m *Manifest) inputNames() []string {
	var out []string
	for _, a := range m.Args {
		if m.isInput(a) {
			out = append(out, a.Tensor)
		}
	}
	return out
}

func (m *Manifest) outputNames() []string {
	var out []string
	for _, a := range m.Args {
		if a.Role == probes.RoleOutput || a.Role == probes.RoleInOut {
			out = append(out, a.Name)
		}
	}
	return out
}

// check resolves what the manifest itself names (every variant on every shape, every fault on its base and
// shape), at the corners of the grid only, so that a mistake in an expression shows when the manifest is
// loaded, not at the first run. It stops where ctx ends.
func (m *Manifest) check(ctx context.Context) []*Error {
	var errs []*Error
	said, steps := map[string]bool{}, new(int64)
	add := func(e *Error) {
		if e != nil && !said[e.Error()] {
			said[e.Error()] = true
			errs = append(errs, e)
		}
	}
	for _, v := range m.Variants {
		sel := &Selection{Manifest: m, Variant: v.Name, Flags: m.complete(v.Flags), Faults: v.Faults}
		for _, s := range m.Shapes {
			if ctx.Err() != nil {
				return errs
			}
			_, err := sel.resolve(ctx, s.Shape, Seeded(0), true, steps)
			switch err := err.(type) {
			case nil:
			case *Error:
				add(err)
			case *ShapeError: // a variant's own fault may need another shape
				if err.Fault == "" {
					add(m.errorAt(s.at, "%v", err))
				}
			default:
				add(m.errorAt(s.at, "%v", err))
			}
		}
	}
	for _, f := range m.Faults {
		if s, ok := m.Shape(f.Shape); ok {
			sel := &Selection{
				Manifest: m, Variant: f.Base, Flags: m.complete(m.Variant(f.Base).Flags),
				Faults: []string{f.Name},
			}
			if _, err := sel.resolve(ctx, s, Seeded(0), true, steps); err != nil {
				if e, ok := err.(*Error); ok {
					add(e)
				} else {
					add(m.errorAt(f.at, "on its own base and shape: %v", err))
				}
			}
		}
	}
	return errs
}
