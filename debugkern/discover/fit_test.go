package discover

import "testing"

func TestFit(t *testing.T) {
	for _, c := range []struct {
		want string
		vars []variable
		f    func(at []int) int
	}{
		{"16 * warp + r", []variable{{"warp", 4}, {"r", 16}}, func(a []int) int { return 16*a[0] + a[1] }},
		{"div(lane, 4) + 8", []variable{{"lane", 32}}, func(a []int) int { return a[0]/4 + 8 }},
		{"16 * div(warp, 2) + 8 * (i % 2) + c", []variable{{"warp", 4}, {"i", 4}, {"c", 8}},
			func(a []int) int { return a[0]/2*16 + a[1]%2*8 + a[2] }},
		{"3 - n", []variable{{"n", 4}}, func(a []int) int { return 3 - a[0] }},
		{"5", []variable{{"n", 1}}, func(a []int) int { return 5 }},
		{"48 * warp", []variable{{"warp", 3}}, func(a []int) int { return 48 * a[0] }},
		{"4 * (c % 2) + div(c, 2)", []variable{{"c", 8}}, func(a []int) int { return a[0]%2*4 + a[0]/2 }},
		{"", []variable{{"c", 8}}, func(a []int) int { return a[0] * a[0] }},
	} {
		var samples []sample
		at := make([]int, len(c.vars))
		for {
			samples = append(samples, sample{append([]int(nil), at...), c.f(at)})
			i := 0
			for ; i < len(at); i++ {
				if at[i]++; at[i] < c.vars[i].size {
					break
				}
				at[i] = 0
			}
			if i == len(at) {
				break
			}
		}
		f, ok := fit(c.vars, samples)
		got := ""
		if ok {
			got = f.text()
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.vars, got, c.want)
		}
	}
}
