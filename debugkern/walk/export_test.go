package walk

import (
	"context"
	"math"

	"tilescope/debugkern/target"
)

// MaxMarks is how many snapshots a walk stores.
const MaxMarks = maxMarks

// Over reports whether the block cannot continue.
func Over(w Walk) bool { return w.(*walker).over() }

// Lines is how many instructions have the number of a source line.
func Lines(w Walk) int { return len(w.(*walker).lines) }

// MarkAlways lets a snapshot be taken at every barrier.
func MarkAlways(w Walk) { w.(*walker).gap = 1 }

// Mark takes a snapshot at the current step, and returns how many there are.
func Mark(w Walk) int {
	w.(*walker).mark()
	return len(w.(*walker).marks)
}

// RunToEnd is a motion to the end of the block that calls event for every event.
func RunToEnd(ctx context.Context, w Walk, event func()) error {
	k := w.(*walker)
	_, err := k.moving(ctx, func(mark) error {
		_, err := k.run(ctx, math.MaxUint64, func(*target.Event) bool {
			event()
			return false
		})
		return err
	})
	return err
}
