package target

import (
	"context"

	"tilescope/debugkern/ptx"
)

// Timer is offered by backends that can time launches.
type Timer interface {
	// Time launches every run o.Warmups times and then o.Launches times, and returns the time of each launch
	// in microseconds, in order: times[i][j] is launch j of runs[i]. Runs are interleaved (A B A B …), so
	// that a drifting clock touches all of them alike. Kernels must be this backend's.
	Time(ctx context.Context, runs []Timed, o TimeOptions) (times [][]float64, err error)
}

// Timed is one kernel and the launch it is timed on.
type Timed struct {
	Kernel Kernel
	Launch *Launch
}

// TimeOptions say how launches are timed.
type TimeOptions struct {
	Warmups, Launches int
	FlushL2           bool // overwrite the second-level cache before each launch, outside the time measured
}

// TimeLaunches times one kernel alone.
func TimeLaunches(ctx context.Context, t Timer, k Kernel, l *Launch, o TimeOptions) ([]float64, error) {
	times, err := t.Time(ctx, []Timed{{k, l}}, o)
	if err != nil {
		return nil, err
	}
	return times[0], nil
}

// Pinner is offered by backends whose compiler may fuse operations: LoadPinned is Load of the module with
// every rounding modifier written out, so that nothing is fused.
type Pinner interface {
	LoadPinned(ctx context.Context, m *ptx.Module, entry string) (Kernel, error)
}
