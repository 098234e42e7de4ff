package target

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Schedule is a seeded policy for everything the machine leaves open: the order of warps, of lanes between
// sync points, and when a cp.async lands. The same schedule on the same launch executes identically.
type Schedule struct {
	Policy string // "in-order" (default), "reverse", "random", "ahead", "priority"
	Seed   uint64
	Async  string // when a cp.async lands: "latest" (default: at the wait), "earliest", "random"
}

// The orders that a backend must know, and when an asynchronous copy may land.
var (
	schedulePolicies = []string{"in-order", "reverse", "random", "ahead", "priority"}
	asyncTimes       = []string{"latest", "earliest", "random"}
)

// ParseSchedule reads POLICY[:SEED][:ASYNC], as --schedule takes it; "" is the default.
func ParseSchedule(s string) (Schedule, error) {
	sch := Schedule{Policy: "in-order", Async: "latest"}
	if s == "" {
		return sch, nil
	}
	parts := strings.Split(s, ":")
	sch.Policy = parts[0]
	if !slices.Contains(schedulePolicies, sch.Policy) || len(parts) > 3 {
		return sch, fmt.Errorf(
			"--schedule %s: expected POLICY[:SEED][:ASYNC] with a policy of %s and async %s",
			s, strings.Join(schedulePolicies, ", "), strings.Join(asyncTimes, ", "))
	}
	if n := len(parts); n > 1 && slices.Contains(asyncTimes, parts[n-1]) {
		sch.Async, parts = parts[n-1], parts[:n-1]
	}
	if len(parts) == 3 {
		return sch, fmt.Errorf("--schedule %s: async %q: expected %s", s, parts[2],
			strings.Join(asyncTimes, ", "))
	}
	if len(parts) == 2 {
		seed, err := strconv.ParseUint(parts[1], 10, 64)
		if err != nil {
			return sch, fmt.Errorf("--schedule %s: %q is neither a seed nor one of %s", s, parts[1],
				strings.Join(asyncTimes, ", "))
		}
		sch.Seed = seed
	}
	return sch, nil
}

// String is the schedule as ParseSchedule reads it: "random:7", "in-order:0:earliest".
func (s Schedule) String() string {
	text := fmt.Sprintf("%s:%d", s.Policy, s.Seed)
	if s.Async != "" && s.Async != "latest" {
		text += ":" + s.Async
	}
	return text
}

// Others lists n schedules other than this one, in the order of trying: first the policies without a seed,
// with copies that land at their wait and early; then the others by seed and policy, whose time of landing
// changes from seed to seed. Without async, copies land at their wait in all of them.
func (s Schedule) Others(n int, async bool) []Schedule {
	times := asyncTimes[:1]
	if async {
		times = asyncTimes
	}
	var list []Schedule
	add := func(o Schedule) {
		if o.String() != s.String() && len(list) < n {
			list = append(list, o)
		}
	}
	for _, t := range times[:min(2, len(times))] { // random times are for policies with a seed
		for _, p := range []string{"in-order", "reverse"} {
			add(Schedule{Policy: p, Async: t})
		}
	}
	policies := []string{"random", "priority", "ahead"}
	for k := 0; len(list) < n; k++ {
		round := k / len(policies)
		add(Schedule{Policy: policies[k%len(policies)], Seed: uint64(round), Async: times[round%len(times)]})
	}
	return list
}
