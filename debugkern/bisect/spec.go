package bisect

import (
	"fmt"
	"maps"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// spec names a combination by the target that leaves the fewest options; a fault of a variant's own
// cannot be taken away.
func (w *bisector) spec(c combination) (report.TargetSpec, error) {
	best, cost := report.TargetSpec{}, -1
	for _, v := range w.named {
		if slices.ContainsFunc(v.faults, func(f string) bool { return !slices.Contains(c.faults, f) }) {
			continue
		}
		t := report.TargetSpec{Target: v.target, Set: map[string]int{}, Faults: []string{}}
		for name, value := range c.flags {
			if v.flags[name] != value {
				t.Set[name] = value
			}
		}
		for _, f := range c.faults {
			if !slices.Contains(v.faults, f) {
				t.Faults = append(t.Faults, f)
			}
		}
		if n := len(t.Set) + len(t.Faults); cost < 0 || n < cost {
			best, cost = t, n
		}
	}
	if cost < 0 {
		return best, report.Usagef("every target of the manifest carries a fault that this combination lacks")
	}
	return best, nil
}

// requestOf is common with this combination in place of its own.
func requestOf(t report.TargetSpec, common debugkern.Request) debugkern.Request {
	common.Target, common.Faults, common.Set = t.Target, t.Faults, map[string]string{}
	for name, value := range t.Set {
		common.Set[name] = fmt.Sprint(value)
	}
	return common
}

// command is the compare of two combinations under the common options.
func (w *bisector) command(from, to report.TargetSpec) string {
	words := []string{"tilescope", "compare", from.Target, to.Target}
	for _, side := range []struct {
		report.TargetSpec
		suffix string
	}{{from, "-a"}, {to, ""}} {
		for _, name := range slices.Sorted(maps.Keys(side.Set)) {
			words = append(words, "--set"+side.suffix, fmt.Sprintf("%s=%d", name, side.Set[name]))
		}
		for _, f := range side.Faults {
			words = append(words, "--fault"+side.suffix, f)
		}
	}
	return text.CommandLine(append(words, w.request.Options()...))
}
