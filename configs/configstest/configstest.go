// Package configstest gives tests the catalogue's kernels, and manifests of their own, as a session would
// see them: selected, and resolved for a shape.
//
// The one idea: a test names a target as a person does; what does not resolve fails it there.
//
// No package of the program imports it.
package configstest

import (
	"testing"

	"tilescope/configs"
	"tilescope/probes"
)

// Select is a target of the embedded catalogue with planted faults under a gate.
func Select(t testing.TB, target string, faults []string, gate probes.Gate) *configs.Selection {
	t.Helper()
	c, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	m, variant, err := c.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select(variant, nil, faults, gate)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// Resolve is a selection's plan for a shape, by its name or as B,H,S,D.
func Resolve(t testing.TB, sel *configs.Selection, shape string) *probes.Plan {
	t.Helper()
	s, err := sel.ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sel.Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Plan is the plan of a target without faults for a shape.
func Plan(t testing.TB, target, shape string, gate probes.Gate) *probes.Plan {
	t.Helper()
	return Resolve(t, Select(t, target, nil, gate), shape)
}

// Parse is the plan of a manifest that is given as text, without flags or faults, for a shape.
func Parse(t testing.TB, file, text, shape string) *probes.Plan {
	t.Helper()
	m, err := configs.ParseManifest(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	return Resolve(t, sel, shape)
}

// BHSD are the extents of a shape whose dimensions are probes.ListedDims, and of a tensor [B,H,S,D].
type BHSD struct{ B, H, S, D int }

// Extents returns the extents of a listed shape.
func Extents(s probes.Shape) BHSD {
	e := s.Extents()
	return BHSD{e[0], e[1], e[2], e[3]}
}

// Elems is the number of elements of a tensor.
func (e BHSD) Elems() int { return e.B * e.H * e.S * e.D }

// At is the place of element [b][h][i][d] of a row-major tensor.
func (e BHSD) At(b, h, i, d int) int { return ((b*e.H+h)*e.S+i)*e.D + d }
