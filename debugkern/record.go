package debugkern

import (
	"context"
	"errors"

	"tilescope/debugkern/lineage"
	"tilescope/probes"
)

// Record executes a block of the run again, on the emulator, and returns the record that lineage is
// read from. The block must be one of the launch's. What was launched is recorded: probes and
// injected tiles included.
func (r *Run) Record(ctx context.Context, block probes.Dim3, opt lineage.Options) (*lineage.Trace, error) {
	st := r.state
	if st == nil || st.launch == nil {
		return nil, errors.New("record: this run was not made by a session")
	}
	k, err := st.stepper(ctx)
	if err != nil {
		return nil, err
	}
	return lineage.Record(ctx, k, st.launch, block, opt)
}
