// Package probes is the vocabulary shared by kernel, backends and reference: which stages an attention kernel has, what a
// captured tile is, how a probe lays it out in memory, and the Plan, a manifest resolved for one shape.
//
// The one idea: everything here is numbers. An expression over shape and constants has been evaluated before a Plan
// exists, and a slot's address is computed, never allocated, so kernel (tilescope.cuh), emulator, GPU and host agree on
// where a tile lies without talking to each other.
//
// It must not know manifests, PTX, backends or arithmetic beyond widening a bit pattern.
package probes

import (
	"fmt"
	"slices"
)

// Stage identifies one step of the attention computation. The order is the contract's order of stage names.
type Stage uint8

const (
	StageQ Stage = iota // decoded query tile, once a block
	StageK              // decoded key tile, [keys][D]
	StageV              // decoded value tile, [keys][D]
	StageS              // scores of one kv tile, [queries][keys]
	StageM              // running row maximum after a kv tile
	StageL              // running row sum after a kv tile
	StageP              // probabilities of a kv tile, [queries][keys]
	StageU              // unnormalised output after a kv tile, [queries][D]
	StageO              // output, once a block
	NumStages
)

var stageNames = [NumStages]string{"Q", "K", "V", "S", "m", "l", "P", "U", "O"}

func (s Stage) String() string {
	if s < NumStages {
		return stageNames[s]
	}
	return fmt.Sprintf("stage(%d)", uint8(s))
}

// ParseStage returns the stage of that (case-sensitive) name.
func ParseStage(name string) (Stage, bool) {
	i := slices.Index(stageNames[:], name)
	return Stage(max(i, 0)), i >= 0
}

// StageSet is a bit set of stages, bit i for Stage i: the stage mask of the control block.
type StageSet uint32

// StagesOf returns the set of the given stages.
func StagesOf(stages ...Stage) StageSet {
	var set StageSet
	for _, s := range stages {
		set |= 1 << s
	}
	return set
}

// Has reports whether s is in the set.
func (set StageSet) Has(s Stage) bool { return set>>s&1 != 0 }

// operands are the stages that attention computes each stage from. Those that name themselves use their own value after the
// kv tile before; l and U use m's as well.
var operands = [NumStages]StageSet{
	StageS: StagesOf(StageQ, StageK),
	StageM: StagesOf(StageS, StageM),
	StageL: StagesOf(StageS, StageM, StageL),
	StageP: StagesOf(StageS, StageM),
	StageU: StagesOf(StageP, StageV, StageM, StageU),
	StageO: StagesOf(StageU, StageL),
}

// Operands returns the stages that attention computes s from: what a manifest's `from` has to name for s to be judged from the
// kernel's own tiles. It is empty for Q, K and V.
func (s Stage) Operands() StageSet {
	if s >= NumStages {
		return 0
	}
	return operands[s]
}

// Gate is a DEBUG gate: which part of the kernel is compiled in.
type Gate uint8

const (
	GateNone    Gate = iota
	GateQK           // DEBUG_QK_ONLY: stop after S
	GateSoftmax      // DEBUG_SOFTMAX_ONLY: S injected, then m, l, P
	GatePV           // DEBUG_PV_ONLY: P, m and the final l injected
	NumGates
)

var gateNames = [NumGates]string{"none", "qk", "softmax", "pv"}
var gateDefines = [NumGates]string{"", "DEBUG_QK_ONLY", "DEBUG_SOFTMAX_ONLY", "DEBUG_PV_ONLY"}

func (g Gate) String() string { return gateNames[g] }

// Define returns the preprocessor symbol that selects the gate, "" for GateNone.
func (g Gate) Define() string { return gateDefines[g] }

// ParseGate accepts a gate's name ("qk") or its define ("DEBUG_QK_ONLY").
func ParseGate(name string) (Gate, bool) {
	for i := range NumGates {
		if name == gateNames[i] || name != "" && name == gateDefines[i] {
			return i, true
		}
	}
	return GateNone, false
}

// Judged returns the stages that run, and so are judged, under the gate.
func (g Gate) Judged() StageSet {
	switch g {
	case GateQK:
		return StagesOf(StageQ, StageK, StageS)
	case GateSoftmax:
		return StagesOf(StageM, StageL, StageP)
	case GatePV:
		return StagesOf(StageV, StageU, StageO)
	}
	return 1<<NumStages - 1
}

// Injected returns the stages whose values the host feeds in under the gate.
func (g Gate) Injected() StageSet {
	switch g {
	case GateSoftmax:
		return StagesOf(StageS)
	case GatePV:
		return StagesOf(StageM, StageL, StageP)
	}
	return 0
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

// Shape is a problem size: batch, heads, sequence length, head dimension.
type Shape struct{ B, H, S, D int }

func (s Shape) String() string { return fmt.Sprintf("%d,%d,%d,%d", s.B, s.H, s.S, s.D) }

// Elems returns B·H·S·D.
func (s Shape) Elems() int { return s.B * s.H * s.S * s.D }

// At returns the index of [b][h][s][d] in a row-major [B,H,S,D] tensor.
func (s Shape) At(b, h, i, d int) int { return ((b*s.H+h)*s.S+i)*s.D + d }
