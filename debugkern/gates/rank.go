package gates

import (
	"cmp"
	"math"
	"slices"
)

// summarise sums up times of launches in microseconds. Quantiles are interpolated linearly between order
// statistics; the standard deviation is the sample's (n-1).
func summarise(samples []float64) *Times {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	if n == 0 {
		return nil
	}
	t := &Times{
		Launches: n, P50: quantile(sorted, 0.5), P90: quantile(sorted, 0.9), Min: sorted[0], Max: sorted[n-1],
		Samples: samples,
	}
	for _, x := range samples {
		t.Mean += x / float64(n)
	}
	if n > 1 {
		var sum float64
		for _, x := range samples {
			d := x - t.Mean
			sum += float64(d * d)
		}
		t.Std = math.Sqrt(sum / float64(n-1))
	}
	return t
}

func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// mannWhitney tests whether a and b come from one distribution, two-sided, by the normal approximation with
// the correction for ties and for continuity (Mann and Whitney 1947; the effect size is Glass's rank-biserial
// correlation). Both samples are hundreds of launches, where the approximation is good to many digits; below
// about eight each it is not to be trusted.
func mannWhitney(a, b []float64) Test {
	type ranked struct {
		x     float64
		first bool
	}
	n1, n2 := float64(len(a)), float64(len(b))
	if n1 == 0 || n2 == 0 {
		return Test{P: 1}
	}
	all := make([]ranked, 0, len(a)+len(b))
	for _, x := range a {
		all = append(all, ranked{x, true})
	}
	for _, x := range b {
		all = append(all, ranked{x, false})
	}
	slices.SortFunc(all, func(p, q ranked) int { return cmp.Compare(p.x, q.x) })
	var rankSum, ties float64
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].x == all[i].x {
			j++
		}
		t, mid := float64(j-i), float64(i+j+1)/2 // ranks count from 1
		ties += t*t*t - t
		for _, r := range all[i:j] {
			if r.first {
				rankSum += mid
			}
		}
		i = j
	}
	n := n1 + n2
	u := rankSum - n1*(n1+1)/2
	test := Test{U: u, P: 1, Effect: 1 - 2*u/(n1*n2)}
	variance := n1 * n2 / 12 * (n + 1 - ties/(n*(n-1)))
	if variance <= 0 {
		return test // every launch took the same time
	}
	d := u - n1*n2/2
	d = math.Copysign(max(0, math.Abs(d)-0.5), d)
	test.Z = d / math.Sqrt(variance)
	test.P = math.Erfc(math.Abs(test.Z) / math.Sqrt2)
	return test
}
