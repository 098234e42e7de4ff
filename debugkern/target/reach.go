package target

import (
	"context"

	"tilescope/probes"
)

// ReachTracer is offered by kernels whose backend can execute a block again and say which of its
// threads came to a probe.
type ReachTracer interface {
	// Reach executes block of l again and returns what its warps did about the bytes [lo, hi) of the capture
	// buffer. A block that does not end is described as far as it came.
	Reach(ctx context.Context, l *Launch, block probes.Dim3, lo, hi uint64) (*Reach, error)
}

// Reach says which threads of a block stored to a slot, and where each left the kernel.
type Reach struct {
	Probe *Source // where threads store to the slot, nil: none does
	Loop  *Source // the branch back of the loop over tiles around the probe, nil: none
	Warps []WarpReach
}

// WarpReach is one warp's part.
type WarpReach struct {
	Exists uint32 // lanes that the launch has
	Stored uint32 // lanes that stored to the slot
	Probed bool   // it executed a part of the probe: it may have given it cells outside of the slot
	Copies bool   // it issued a bulk copy: it may have another part than to compute
	Left   []Left
}

// Left is where lanes of a warp left the kernel.
type Left struct {
	Lanes  uint32
	At     int     // instruction: of the branch straight to the exit, else of the exit
	Source *Source // of that instruction
	Rounds int     // how often they had gone round the loop over tiles around the probe, -1 without one
}

// Add notes where lanes left, with those that left at the same place after as many rounds.
func (w *WarpReach) Add(l Left) {
	for i := range w.Left {
		if o := &w.Left[i]; o.At == l.At && o.Rounds == l.Rounds {
			o.Lanes |= l.Lanes
			return
		}
	}
	w.Left = append(w.Left, l)
}
