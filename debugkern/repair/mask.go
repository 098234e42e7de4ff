package repair

import (
	"context"
	"math"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// MaskedAt finds where the scores are masked that cells of a stage are made of: the place of the instruction
// nearest to the cells that chooses between a score and minus infinity, or a number that stands for it; nil
// where there is none. Errors are those of debugkern.Run.Slice.
func MaskedAt(
	ctx context.Context, run *debugkern.Run, stage probes.Stage, block probes.Dim3, kv int, cells [][2]int,
) (*target.Source, error) {
	ops, err := run.Slice(ctx, stage, block, kv, cells)
	if err != nil {
		return nil, err
	}
	fn := run.Entry()
	at := slices.IndexFunc(ops, func(o debugkern.Operation) bool { return hides(fn.Body[o.At]) })
	if at < 0 {
		return nil, nil
	}
	return target.Blame(fn, ops[at].At), nil
}

// lowest is above what kernels take for minus infinity where they mask: -1e4 in half, -1e9, -FLT_MAX.
const lowest = -9e3

// hides reports whether an instruction chooses between a value and minus infinity.
func hides(in *ptx.Instr) bool {
	return in.Kind() == isa.Select && slices.ContainsFunc(in.Args, func(o ptx.Operand) bool {
		switch o.Kind {
		case ptx.OpF32:
			return math.Float32frombits(uint32(o.Imm)) <= lowest
		case ptx.OpF64:
			return math.Float64frombits(o.Imm) <= lowest
		}
		return false
	})
}
