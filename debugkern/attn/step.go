package attn

import (
	"fmt"
	"slices"

	"tilescope/probes"
)

// Step is a stage of attention as this package and diff compute it: an index into their arrays, in the order of computation.
type Step uint8

const (
	StepQ Step = iota // decoded query tile, once a block
	StepK             // decoded key tile, [keys][D]
	StepV             // decoded value tile, [keys][D]
	StepS             // scores of one kv tile, [queries][keys]
	StepM             // running row maximum after a kv tile
	StepL             // running row sum after a kv tile
	StepP             // probabilities of a kv tile, [queries][keys]
	StepU             // unnormalised output after a kv tile, [queries][D]
	StepO             // output, once a block
	NumSteps
)

var stepNames = [NumSteps]probes.Stage{"Q", "K", "V", "S", "m", "l", "P", "U", "O"}

// Stage returns the name of the stage that the step computes.
func (s Step) Stage() probes.Stage { return stepNames[s] }

func (s Step) String() string { return stepNames[s].String() }

// StepOf returns the step that computes a stage; ok is false for a stage that is none of attention's.
func StepOf(s probes.Stage) (step Step, ok bool) {
	i := slices.Index(stepNames[:], s)
	return Step(max(i, 0)), i >= 0
}

// Gate says which part of attention a gate leaves, by the stages that it judges and injects.
type Gate uint8

const (
	GateNone    Gate = iota // all of it
	GateQK                  // up to S
	GateSoftmax             // S injected, then m, l, P
	GatePV                  // P, m and l injected, then U, O
)

// GateOf tells which part of attention the plan's gate leaves. A gate that cuts elsewhere is an error.
func GateOf(p *probes.Plan) (Gate, error) {
	within := func(set probes.StageSet, steps ...Step) bool {
		for _, s := range steps {
			set = set.Without(probes.StagesOf(s.Stage()))
		}
		return len(set) == 0
	}
	g := &p.Gate
	same := func(steps ...Step) bool { return len(g.Injected) == len(steps) && within(g.Injected, steps...) }
	switch {
	case g.Name == probes.GateNone:
		return GateNone, nil
	case same() && within(g.Judged, StepQ, StepK, StepS):
		return GateQK, nil
	case same(StepS) && within(g.Judged, StepM, StepL, StepP):
		return GateSoftmax, nil
	case same(StepM, StepL, StepP) && within(g.Judged, StepV, StepU, StepO):
		return GatePV, nil
	}
	return GateNone, fmt.Errorf("kernel %s: the reference cannot be cut where gate %s cuts (judged %v, injected %v)", p.Kernel, g.Name, g.Judged, g.Injected)
}
