package debugkern

import "testing"

// TestStepHolds: a step is given for an axis only where the index moves as far between all places that were
// compared.
func TestStepHolds(t *testing.T) {
	s := source{stage: -1}
	at := func(by, got, want int) moved {
		return moved{by: by, at: map[source]index{s: {got, want}}}
	}
	for _, c := range []struct {
		name  string
		list  []moved
		holds bool
	}{
		{"one place", []moved{at(1, 64, 320)}, true},
		{"two places", []moved{at(1, 64, 320), at(2, 128, 640)}, true},
		{"both directions", []moved{at(1, 64, 320), at(-1, -64, -320)}, true},
		{"the kernel's index turns back", []moved{at(1, 64, 320), at(2, 0, 640)}, false},
		{"two blocks share a head", []moved{at(1, 64, 320), at(2, 128, 320)}, false},
	} {
		step := Step{By: 1, Got: 64, Want: 320, of: s}
		if got := step.holds(index{}, c.list); got != c.holds {
			t.Errorf("%s: %v, want %v", c.name, got, c.holds)
		}
	}
}
