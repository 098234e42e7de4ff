package debugkern

import (
	"context"
	"errors"
	"fmt"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// Walk opens a block for stepping, at its start. It executes on the emulator, whatever the run was on: what
// the run itself launched, probes and injected tiles included. The block must be one of the launch's.
func (r *Run) Walk(ctx context.Context, block probes.Dim3) (walk.Walk, error) {
	st := r.state
	if st == nil || st.launch == nil {
		return nil, errors.New("walk: this run was not made by a session")
	}
	k, err := st.stepper(ctx)
	if err != nil {
		return nil, err
	}
	return walk.Open(k, st.launch, block)
}

// stepper is the run's kernel where it can be stepped, or else the same build on the emulator.
func (st *runState) stepper(ctx context.Context) (target.Kernel, error) {
	for _, k := range []target.Kernel{st.kernel, st.tracer} {
		if _, ok := k.(target.Stepper); ok {
			return k, nil
		}
	}
	k, err := st.session.localEmulator().Load(ctx, st.build.Module, st.r.plan.Entry)
	if err != nil {
		return nil, fmt.Errorf("walk: %w", err)
	}
	return k, nil
}
