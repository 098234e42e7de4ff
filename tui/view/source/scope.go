package source

import (
	"fmt"
	"slices"

	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
)

// scope is what names in expressions are looked up in: the block on screen, or, while none is open, the plan
// of the run, which has the shared arrays; nil before the first run.
func (v *Controller) scope() expr.Scope {
	switch {
	case v.walk.shot.values != nil:
		return v.walk.shot.values
	case v.Run == nil || v.Run.Plan == nil:
		return nil
	}
	return planned(v.Run.Plan.Shared)
}

// planned are the shared arrays of a plan. What it does not have, the block may have: it is looked up again
// when that is open.
type planned []probes.SharedArray

// HasRegister implements expr.Scope.
func (planned) HasRegister(string) error { return nil }

// HasArray implements expr.Scope.
func (planned) HasArray(string, int) error { return nil }

// HasIndex implements expr.Scope: n indices are one of each dimension, or row and column.
func (p planned) HasIndex(array string, n, dim int, at int64) error {
	i := slices.IndexFunc(p, func(a probes.SharedArray) bool { return a.Name == array })
	if i < 0 {
		return nil
	}
	dims := p[i].Dims
	if n != len(dims) {
		rows, cols := rowsAndColumns(dims)
		dims = []int{rows, cols}
	}
	if dim < len(dims) && (at < 0 || at >= int64(dims[dim])) {
		return fmt.Errorf("the %s index of %s is %d, expected 0 to %d", expr.Ordinal(dim), array, at,
			dims[dim]-1)
	}
	return nil
}
