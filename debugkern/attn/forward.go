package attn

import (
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Matrix is op.Matrix.
type Matrix = op.Matrix

// The arithmetic of tiles is op's.
var (
	NewMatrix  = op.NewMatrix
	Scores     = op.Scores
	Accumulate = op.Accumulate
	Round      = op.Round
	RoundTo    = op.RoundTo
	Widen      = op.Widen
	HalfULP    = op.HalfULP
	Below      = op.Below
	halfValue  = op.HalfValue
	widenHalf  = op.WidenHalf
)

// at is Extent.At where an extent that was never set counts as 0.
func at(e probes.Extent, id probes.Dim3, kv int) int {
	if len(e.Values) == 0 {
		return 0
	}
	return e.At(id, kv)
}
