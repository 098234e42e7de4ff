package debugkern

import (
	"context"
	"errors"

	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Trial is a run's launch with something changed virtually: nothing is compiled again, and it always executes on the
// emulator. It is what a what-if, a schedule, a mutant and a counterfactual have in common.
type Trial struct {
	Plain    bool          // the build without probes: no stage is judged, only output and findings
	Edits    []ptx.Edit    // applied to the module before it is loaded
	Schedule string        // POLICY:SEED; "" as the run's
	Blocks   []probes.Dim3 // executed and judged; nil: those that the run captured. Output is nil unless all are executed
	// Substitute puts the exact reference's tile in place of the kernel's as soon as the block has captured it, for each of
	// these stages and every kv tile, and lets the block go on from there: which later stages become right? Only stages that
	// lie in a shared array (Substitutable).
	Substitute []probes.Stage
	Check      check.Set
}

// Try executes a trial and judges it: a Run like any other, whose findings are the checkers' too. The run must not have
// failed. Safe for concurrent use.
func (r *Run) Try(ctx context.Context, t Trial) (*Run, error) {
	return nil, errors.New("trial: not available")
}

// Substitutable reports whether a trial can replace the stage's tiles.
func (r *Run) Substitutable(s probes.Stage) bool { return false }
