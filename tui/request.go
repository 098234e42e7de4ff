package tui

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/probes"
)

// usualSchedule is the order of warps of a request that names none.
const usualSchedule = "in-order:0"

// usualRepeat is how often a GPU launches where nobody says: the command line's default.
const usualRepeat = 10

// normal is a request with every default written in one way, so that two requests that run the same thing are equal.
func normal(req debugkern.Request) debugkern.Request {
	req = clone(req)
	for _, field := range []struct {
		value *string
		usual string
	}{
		{&req.Shape, "validation"}, {&req.Inject, "reference"}, {&req.Backend, "auto"}, {&req.Builder, "auto"}, {&req.Schedule, usualSchedule},
	} {
		if *field.value == "" {
			*field.value = field.usual
		}
	}
	if req.Schedule == "in-order" {
		req.Schedule = usualSchedule
	}
	if len(req.Set) == 0 {
		req.Set = nil
	}
	if len(req.Faults) == 0 {
		req.Faults = nil
	}
	if req.Repeat == 0 {
		req.Repeat = usualRepeat
	}
	req.Timeout = 0 // it does not change what runs
	return req
}

// same reports whether two requests run the same thing.
func same(a, b debugkern.Request) bool { return reflect.DeepEqual(normal(a), normal(b)) }

// deviation is one part of a request that differs from the default.
type deviation struct {
	name  string // "schedule"; of a flag its name
	long  string // "schedule random:7"
	short string // "random:7": as much as cannot be misread
	usual bool   // it is at its default; only of shape and seed
}

// deviations are everything that changes what a request runs and differs from the default, most telling first; the target is not
// among them.
func deviations(req debugkern.Request) []deviation {
	return slices.DeleteFunc(particulars(req), func(d deviation) bool { return d.usual })
}

// particulars are the deviations, and shape and seed always.
func particulars(req debugkern.Request) []deviation {
	req = normal(req)
	var out []deviation
	for _, k := range slices.Sorted(maps.Keys(req.Set)) {
		text := k + "=" + req.Set[k]
		out = append(out, deviation{name: k, long: text, short: text})
	}
	for _, f := range req.Faults {
		out = append(out, deviation{name: f, long: f, short: f})
	}
	if req.Gate != probes.GateNone {
		out = append(out, deviation{name: "gate", long: "gate " + req.Gate.String(), short: "gate " + req.Gate.String()})
	}
	usual := normal(debugkern.Request{})
	text := func(name, value, plain string) {
		if value != plain {
			out = append(out, deviation{name: name, long: name + " " + value, short: value})
		}
	}
	text("inject", req.Inject, usual.Inject)
	seed := "seed " + strconv.FormatUint(req.Seed, 10)
	out = append(out, deviation{name: "shape", long: "shape " + req.Shape, short: req.Shape, usual: req.Shape == usual.Shape},
		deviation{name: "seed", long: seed, short: seed, usual: req.Seed == 0})
	text("schedule", req.Schedule, usual.Schedule)
	text("backend", req.Backend, usual.Backend)
	text("builder", req.Builder, usual.Builder)
	text("arch", req.Arch, "")
	text("inputs", shortTarget(req.Inputs), "")
	number := func(name string, value, plain int) {
		if value != plain {
			both := fmt.Sprintf("%s %d", name, value)
			out = append(out, deviation{name: name, long: both, short: both})
		}
	}
	number("device", req.Device, 0)
	number("repeat", req.Repeat, usual.Repeat)
	text("blocks", req.Blocks, "")
	text("tiles", req.Tiles, "")
	text("stages", req.Stages, "")
	if req.Check != usual.Check {
		out = append(out, deviation{name: "check", long: fmt.Sprintf("check %v", req.Check), short: "checked"})
	}
	if req.Plain {
		out = append(out, deviation{name: "plain", long: "plain", short: "plain"})
	}
	return out
}

// title names a run in a few words: stage2 USE_CP_ASYNC=0 gate pv p-stale-m partial49 seed 3. What is at its
// default is left out, but for a shape that was asked for by name.
func title(req debugkern.Request) string {
	return described(req, func(d deviation) bool { return !d.usual || d.name == "shape" && req.Shape != "" })
}

// inFull names a run by everything that two runs may differ in: target, flags, faults, gate, and shape and seed always.
func inFull(req debugkern.Request) string {
	return described(req, func(deviation) bool { return true })
}

func described(req debugkern.Request, said func(deviation) bool) string {
	out := req.Target
	for _, d := range particulars(req) {
		switch {
		case !said(d):
		case d.name == "shape":
			out += " " + d.short
		default:
			out += " " + d.long
		}
	}
	return strings.TrimSpace(out)
}

// differences names what differs between two requests, in the words of the second.
func differences(from, to debugkern.Request) []string {
	var out []string
	if from.Target != to.Target {
		out = append(out, "target "+to.Target)
	}
	was, now := map[string]string{}, map[string]string{}
	for _, d := range deviations(from) {
		was[d.name] = d.long
	}
	for _, d := range deviations(to) {
		now[d.name] = d.long
		if was[d.name] != d.long {
			out = append(out, d.long)
		}
	}
	for _, d := range deviations(from) {
		if _, still := now[d.name]; !still {
			out = append(out, "without "+d.long)
		}
	}
	return out
}

// replay is a request that stands for one run only: what the run after it goes back to.
type replay struct {
	on                bool
	schedule, backend string
}

// nextRequest is the request that the next run is made from: the one on screen, without what was asked for one run only.
func (m *Model) nextRequest() debugkern.Request {
	req := clone(m.req)
	if m.replaying.on {
		req.Schedule, req.Backend = m.replaying.schedule, m.replaying.backend
	}
	return req
}
