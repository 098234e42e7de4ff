package check_test

import (
	"context"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// benchmark launches stage2 with a set of checkers.
func benchmark(b *testing.B, shape string, set check.Set) {
	a := prepare(b, "stage2", shape, nil, probes.GateNone, false)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		c := check.New(check.Options{Set: set})
		l := *a.launch
		l.Observe, l.Discard = c.Observer, c.Discard
		if _, err := a.kernel.Launch(context.Background(), &l); err != nil {
			b.Fatal(err)
		}
		for _, f := range c.Findings() {
			if f.Severity == target.SeverityError {
				b.Fatalf("%+v", f)
			}
		}
	}
}

func BenchmarkMissionUnchecked(b *testing.B) { benchmark(b, "mission", 0) }
func BenchmarkMissionRaces(b *testing.B) {
	benchmark(b, "mission", check.Races|check.Async|check.Redundant)
}
func BenchmarkMissionChecked(b *testing.B) { benchmark(b, "mission", check.All) }
func BenchmarkSmallUnchecked(b *testing.B) { benchmark(b, "small", 0) }
func BenchmarkSmallChecked(b *testing.B)   { benchmark(b, "small", check.All) }
