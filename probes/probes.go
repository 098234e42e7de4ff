// Package probes is the vocabulary shared by kernel, backends and reference: what a stage and a
// gate are, what a captured tile is, how a probe lays it out in memory, and the Plan, a manifest
// resolved for one shape.
//
// The one idea: everything here is numbers. An expression over shape and constants has been evaluated before
// a Plan exists, and a slot's address is computed, never allocated, so kernel (tilescope.cuh), emulator, GPU
// and host agree on where a tile lies without talking to each other.
//
// It must not know manifests, PTX, backends or arithmetic beyond widening a bit pattern.
package probes

import (
	"fmt"
	"slices"
)

// Stage is the name of a stage, as the manifest declares it: one step of what the kernel computes. It is an
// index into Plan.Stages, by Plan.Stage.
type Stage string

func (s Stage) String() string { return string(s) }

// StageSet is a small set of stages, without duplicates, in no particular order; empty is nil. Sets are
// values: nothing changes one in place.
type StageSet []Stage

// StagesOf returns the set of the given stages.
func StagesOf(stages ...Stage) StageSet { return StageSet(nil).Union(stages) }

// Has reports whether s is in the set.
func (set StageSet) Has(s Stage) bool { return slices.Contains(set, s) }

// Union returns the stages of both sets: those of set first, the others in their own order.
func (set StageSet) Union(other StageSet) StageSet {
	out := set[:len(set):len(set)]
	for _, s := range other {
		if !out.Has(s) {
			out = append(out, s)
		}
	}
	return out
}

// Meets reports whether the sets have a stage in common.
func (set StageSet) Meets(other StageSet) bool { return slices.ContainsFunc(set, other.Has) }

// Intersect returns the stages of set that are in other as well.
func (set StageSet) Intersect(other StageSet) StageSet { return set.Without(set.Without(other)) }

// Without returns the stages of set that are not in other.
func (set StageSet) Without(other StageSet) StageSet {
	var out StageSet
	for _, s := range set {
		if !other.Has(s) {
			out = append(out, s)
		}
	}
	return out
}

// Gate is the name of a DEBUG gate of the kernel: which part of it is compiled in.
type Gate string

// GateNone is no gate: the whole kernel.
const GateNone Gate = ""

func (g Gate) String() string {
	if g == GateNone {
		return "none"
	}
	return string(g)
}

// GateNamed is the inverse of String: "none" and "" are GateNone.
func GateNamed(name string) Gate {
	if name == GateNone.String() {
		return GateNone
	}
	return Gate(name)
}

// GatePlan is a gate, resolved: what it changes in a build and in what a run judges.
type GatePlan struct {
	Name     Gate
	Define   string   // the preprocessor symbol that selects it; "" for GateNone
	Judged   StageSet // the stages that run, and so are judged
	Injected StageSet // the stages whose values the host feeds in
	Uniform  bool     // the injected values may be the uniform ones in place of the reference's
}

// Dim3 is a CUDA extent or index, (x, y, z).
type Dim3 [3]int

// Count returns x·y·z.
func (d Dim3) Count() int { return d[0] * d[1] * d[2] }

// Linear returns the index of i in an extent d, x fastest.
func (d Dim3) Linear(i Dim3) int { return (i[2]*d[1]+i[1])*d[0] + i[0] }

// At is the inverse of Linear.
func (d Dim3) At(linear int) Dim3 {
	return Dim3{linear % d[0], linear / d[0] % d[1], linear / (d[0] * d[1])}
}

func (d Dim3) String() string { return fmt.Sprintf("%d,%d,%d", d[0], d[1], d[2]) }

// Short is an extent without ones at its end, as people write options: 4, or 4,2.
func (d Dim3) Short() string {
	switch {
	case d[2] > 1:
		return d.String()
	case d[1] > 1:
		return fmt.Sprintf("%d,%d", d[0], d[1])
	}
	return fmt.Sprint(d[0])
}
