package debugkern

import (
	"context"

	"tilescope/debugkern/origin"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// An argument belongs to no block. Who wrote one of its elements is found in two steps: the launch is
// executed once more to note which block stored to each element, and that block again to find the thread.

// writers returns the index of the run, which the first call makes by executing the launch again.
func (st *runState) writers(ctx context.Context) (*origin.Writers, error) {
	return st.indexed.Get(ctx, struct{}{}, func() (*origin.Writers, error) {
		k, err := st.stepper(ctx)
		if err != nil {
			return nil, err
		}
		return origin.IndexWriters(ctx, k, st.launch)
	})
}

// lastWriter is the last block, in launch order, that stored to an element of an argument, by its place in
// memory; ok is false where none did.
func (st *runState) lastWriter(
	ctx context.Context, arg string, element int,
) (block probes.Dim3, ok bool, err error) {
	index, err := st.writers(ctx)
	if err != nil {
		return block, false, err
	}
	n, ok := index.Last(origin.Element{Arg: index.Arg(arg), At: element})
	if !ok {
		return block, false, nil
	}
	return st.r.plan.Grid.At(n), true, nil
}

// memoryWriter finds who wrote a cell of an argument last; nil for one that holds what was
// there before the launch.
func (r *Run) memoryWriter(
	ctx context.Context, tracer target.CellTracer, sp *probes.StagePlan, c Cell,
) (*target.WriteSite, error) {
	element := c.Row*sp.Cols + c.Col
	if sp.Capture.Before || element >= probes.Elems(sp.Capture.Dims) {
		return nil, nil
	}
	element = probes.Place(element, sp.Capture.Dims, sp.Capture.Strides)
	block, ok, err := r.state.lastWriter(ctx, sp.Capture.Output, element)
	if err != nil || !ok {
		return nil, err
	}
	size := sp.DType.Size()
	w, err := tracer.WhoWrote(ctx, r.state.launch, block, target.TracedCell{
		Arg: sp.Capture.Output, Offset: uint64(element * size), Size: size,
	})
	if w != nil {
		w.Block = &block
	}
	return w, err
}
