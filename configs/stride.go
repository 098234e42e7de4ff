package configs

import (
	"math"
	"slices"

	"tilescope/probes"
)

// strides resolves how far apart in memory an argument's elements lie, and how many bytes it then takes;
// bytes is what its elements take. Row-major order without gaps has none.
func (r *resolver) strides(a Arg, dims []int, bytes float64) ([]int, float64, error) {
	if a.Strides == nil {
		return nil, bytes, nil
	}
	out, err := r.integers(a.Strides, 1, math.MaxInt64)
	if err != nil {
		return nil, 0, err
	}
	span := 1.0 // a float cannot overflow
	for d, s := range out {
		span += float64(dims[d]-1) * float64(s)
	}
	bytes = span * float64(a.DType.Size())
	if bytes > math.MaxInt64/2 {
		return nil, bytes, nil // refused for its size
	}
	order := make([]int, 0, len(dims))
	for d, n := range dims {
		if n > 1 {
			order = append(order, d)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return out[x] - out[y] })
	reach := 1 // elements that the dimensions so far lie in
	plain := true
	for i, d := range order {
		if out[d] < reach {
			return nil, 0, r.m.errorAt(a.at.sub("strides"),
				"%v of %v (shape %s): elements lie over each other, dimension %d is %d apart and those within it take %d",
				out, dims, r.shape, d, out[d], reach)
		}
		plain = plain && out[d] == reach && (i == 0 || d < order[i-1])
		reach = (dims[d]-1)*out[d] + reach
	}
	if plain && reach == probes.Elems(dims) {
		return nil, bytes, nil
	}
	return out, bytes, nil
}
