package report

import (
	"fmt"
	"strings"
)

// Cost is what the run took. Counts are one launch of the instrumented build; RunMS all
// launches of all builds.
type Cost struct {
	BuildMS          Number `json:"build_ms"`
	RunMS            Number `json:"run_ms"`
	CompareMS        Number `json:"compare_ms"`
	WarpInstructions uint64 `json:"warp_instructions"`
	MMAOutputs       uint64 `json:"mma_outputs"`
	Launches         int    `json:"launches"`
}

// Plain is the build without probes, executed as well as the instrumented one.
type Plain struct {
	OutputSHA256 string `json:"output_sha256"`
	Counts       Counts `json:"counts"`
}

// Counts is what one launch of a kernel without probes executes, in warp instructions: the emulator's
// figures, zero where a GPU ran it. They are no time.
type Counts struct {
	WarpInstructions uint64 `json:"warp_instructions"`
	MMAOutputs       uint64 `json:"mma_outputs"`
	SharedAccesses   uint64 `json:"shared_accesses"`
	GlobalAccesses   uint64 `json:"global_accesses"`
	Barriers         uint64 `json:"barriers"`
}

// Summary puts the counts on one line.
func (c Counts) Summary() string {
	parts := []string{fmt.Sprintf("%d warp instructions", c.WarpInstructions)}
	if c.MMAOutputs > 0 {
		parts = append(parts, fmt.Sprintf("%d mma outputs", c.MMAOutputs))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d shared accesses, %d global accesses, %d barriers",
		c.SharedAccesses, c.GlobalAccesses, c.Barriers)), ", ")
}
