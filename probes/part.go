package probes

import (
	"fmt"
	"slices"
	"strings"
)

// ArgumentCells is where a tile lies in the argument that it is cut out of.
type ArgumentCells struct {
	First            int // the element of the tile's first cell
	RowStep, ColStep int // elements from one row, and column, to the next
	Rows, Cols       int // of the tile, those that exist: a tile may reach past the argument's end
}

// Element is the argument's element that is cell (row, col).
func (c ArgumentCells) Element(row, col int) int { return c.First + row*c.RowStep + col*c.ColStep }

// InArgument returns where the tile of a block and iteration lies in the argument that the stage is cut out
// of.
func (sp *StagePlan) InArgument(block Dim3, kv int) ArgumentCells {
	c, dims := &sp.Capture, sp.Capture.Dims
	out := ArgumentCells{Rows: sp.Rows, Cols: sp.Cols}
	step := 1
	for d := len(dims) - 1; d >= 0; d-- {
		at := c.At[d].At(block, kv)
		out.First += at * step
		switch d {
		case c.Rows:
			out.RowStep, out.Rows = step, max(0, min(out.Rows, dims[d]-at))
		case c.Cols:
			out.ColStep, out.Cols = step, max(0, min(out.Cols, dims[d]-at))
		}
		step *= dims[d]
	}
	return out
}

// SharedPositions lists the names of the positions that two plans have.
func SharedPositions(a, b *Plan) []string {
	var out []string
	for _, x := range a.Positions {
		if slices.ContainsFunc(b.Positions, func(y Position) bool { return x.Name == y.Name }) {
			out = append(out, x.Name)
		}
	}
	return out
}

// Part says which part of the problem a tile computes, by its positions of some names: two kernels may
// compute the parts in different orders. Positions that depend on the iteration count for a stage that has a
// tile in each; where none does, the iteration itself counts.
func (p *Plan) Part(names []string, sp *StagePlan, block Dim3, kv int) string {
	if sp.OfLaunch() {
		return sp.Stage.String()
	}
	var b strings.Builder
	iterates := false
	for _, x := range p.Positions {
		if slices.Contains(names, x.Name) && (sp.PerTile || x.At.Dims[3] == 1) {
			fmt.Fprintf(&b, "%s=%d ", x.Name, x.At.At(block, kv))
			iterates = iterates || x.At.Dims[3] > 1
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "%s ", block)
	}
	if sp.PerTile && !iterates {
		fmt.Fprintf(&b, "%d", kv)
	}
	return b.String()
}

// Unlike returns why tiles of a stage in two plans, called a and b in words, do not have the same cells; ""
// where they have.
func Unlike(a, b *StagePlan, inA, inB string) string {
	switch {
	case a.Rows != b.Rows || a.Cols != b.Cols:
		return fmt.Sprintf("tiles of %d×%d %s, %d×%d %s", a.Rows, a.Cols, inA, b.Rows, b.Cols, inB)
	case a.PerTile != b.PerTile:
		return "once an iteration in one, once a block in the other"
	case a.Meaning != b.Meaning:
		return "its numbers mean different things (scaled, domain or normalised differ)"
	}
	return ""
}
