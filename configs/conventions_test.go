package configs

import (
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

// TestConventionalSlots: the ids of the conventional stages are tilescope.cuh's, in the order of the
// convention, and no build defines a symbol for them.
func TestConventionalSlots(t *testing.T) {
	for i, s := range conventions().Stages {
		if slot, ok := headerSlots()[slotSymbol(s.Name)]; !ok || slot != i {
			t.Errorf("stage %s has slot %d (%v), want %d", s.Name, slot, ok, i)
		}
	}
	if n := len(headerSlots()); n != len(conventions().Stages) {
		t.Errorf("tilescope.cuh has %d stage ids", n)
	}
}

const declared = `schema: tilescope.kernel/1
name: gemm
source: k.cu
entry: k
launch: {grid: ["ceil_div(S, 16)", 1, 1], block: [32, 1, 1]}
args: [{name: out, type: "f16*", dims: [B, H, S, D], role: output}]
work: {batch: 0, head: 0, query: bx * 16, key: kv * 16, tiles: 4}
gates: [GATES]
stages:
  - {name: A, dtype: f16, dims: [16, 8], axes: [row, depth], valid: [16, 8], per: tile, of: [], capture: probe}
  - {name: acc, dtype: f32, dims: [16, 64], axes: [row, col], valid: [16, 64], per: tile, of: [A, acc], from: [A, acc], capture: probe}
  - {name: C, dtype: f16, dims: [16, 64], axes: [row, col], valid: [16, 64], per: block, from: [acc], help: C=acc, capture: {output: out}}
shapes: {small: [1, 1, 64, 64]}
`

const stopAfterA = "{name: load, define: LOAD_ONLY, judged: [A], help: stops after A}"

// TestDeclaredStages: a manifest of stages and gates of its own names.
func TestDeclaredStages(t *testing.T) {
	m, err := ParseManifest("gemm.yaml", []byte(strings.Replace(declared, "GATES", stopAfterA, 1)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Select("", map[string]string{"LOAD_ONLY": "1"}, nil, probes.GateNone)
	if err != nil || s.Gate != "load" {
		t.Fatalf("gate %v, %v", s, err)
	}
	if want := []string{"LOAD_ONLY=1", "TS_A=9", "TS_ACC=10", "TS_C=11"}; !slices.Equal(s.Defines(), want) {
		t.Errorf("defines %v, want %v", s.Defines(), want)
	}
	shape, _ := m.Shape("small")
	p, err := s.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	a, acc, c := p.Stage("A"), p.Stage("acc"), p.Stage("C")
	if !a.Loaded || acc.Loaded || a.Slot != 9 || c.Slot != 11 || c.Phase != probes.PhaseAfter ||
		p.Output() != c || c.Help != "C=acc" {
		t.Errorf("stages %+v", p.Stages)
	}
	if !acc.Operands.Has("acc") || !c.Operands.Has("acc") || !p.Ancestors("C").Has("A") ||
		p.Undeclared != nil {
		t.Errorf("C comes from %v, undeclared %v", p.Ancestors("C"), p.Undeclared)
	}
	if g := p.Gate; g.Name != "load" || !g.Judged.Has("A") || g.Judged.Has("C") || g.Injected != nil {
		t.Errorf("gate %+v", g)
	}
}

// TestDeclaredMistakes: what is wrong with such a manifest is reported with its place.
func TestDeclaredMistakes(t *testing.T) {
	for _, c := range [][3]string{
		{
			"of: [A, acc]", "of: [B, acc]",
			`gemm.yaml:11: stages[1].of[0]: unknown stage "B"; expected one of Q K V S m l P U O A`,
		},
		{"name: A, ", "name: a-b, ", "is not an identifier"},
		{"of: [], ", "phase: before, of: [], ", "expected per: block"},
		{"dims: [16, 64], axes: [row, col], valid: [16, 64], per: tile",
			"dims: [8, 64], axes: [row, col], valid: [8, 64], per: tile",
			"which disagrees with the 16 of stage A"},
		{"name: C,", "name: ACC,", "have the same symbol TS_ACC"},
		{"judged: [A]", "judged: [X]", "gate load names stage X, which is not among the stages: A acc C"},
		{"judged: [A]", "judged: [A], inject: [A]", "an injected stage is not judged"},
		{"define: LOAD_ONLY, ", "", "missing; it is required"},
		{stopAfterA, stopAfterA + ", " + stopAfterA, "gate load is listed twice"},
		{stopAfterA, "load", "unknown gate"},
	} {
		text := strings.Replace(declared, "GATES", stopAfterA, 1)
		if !strings.Contains(text, c[0]) {
			t.Fatalf("no %q", c[0])
		}
		_, err := ParseManifest("gemm.yaml", []byte(strings.Replace(text, c[0], c[1], 1)))
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: got %v, want %q", c[1], err, c[2])
		}
	}
}

// TestFullGates: gates of conventional names that the catalogue says in full are the conventional ones.
func TestFullGates(t *testing.T) {
	cat, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range cat.Manifests {
		for _, g := range m.Gates[1:] {
			conventional := conventions().gate(string(g.Name))
			if conventional == nil {
				continue
			}
			n++
			c := conventional.gate(place{})
			if g.Define != c.Define || !slices.Equal(g.Judged, c.Judged) ||
				!slices.Equal(g.Injected, c.Injected) || g.Uniform != c.Uniform || g.Help != c.Help {
				t.Errorf("%s: gate %+v, the convention has %+v", m.Name, g, c)
			}
		}
	}
	if n < 9 {
		t.Errorf("%d conventional gates", n)
	}
}
