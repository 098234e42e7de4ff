package lineage

import (
	"context"
	"errors"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Trace is the record of one block's execution. It is not changed by walks, and safe for concurrent use.
type Trace struct {
	id probes.Dim3
}

// Record executes block id of a launch and notes what its warp instructions did. The kernel must be a target.Stepper. A
// block that does not end (a deadlock, a trap) is recorded as far as it came. Errors are those of target.Stepper.Open and Block.Run,
// and *budget.Refused where the trace takes more memory than the launch's budget has.
func Record(ctx context.Context, k target.Kernel, l *target.Launch, id probes.Dim3, opt Options) (*Trace, error) {
	return nil, errors.New("lineage is not built yet")
}

// Len is the number of steps.
func (t *Trace) Len() int { return 0 }

// Step returns step i.
func (t *Trace) Step(i int) Step { return Step{} }

// At returns the index of the first step whose clock is not before clock; Len where there is none.
func (t *Trace) At(clock uint64) int { return 0 }
