// Package request names and compares requests: what of one differs from the defaults, from another, and how
// it is written at a shell.
//
// The one idea: a request is normalised before it is compared, so that two that run the same thing are equal
// and have one name.
//
// It must not know engines, manifests, models or panes.
package request

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// usualSchedule is the order of warps of a request that names none.
const usualSchedule = "in-order:0"

// usualRepeat is how often a GPU launches where nobody says: the command line's default.
const usualRepeat = 10

// Normal is a request with every default written in one way, so that two requests that run the same thing are
// equal.
func Normal(req debugkern.Request) debugkern.Request {
	req = Clone(req)
	for _, field := range []struct {
		value *string
		usual string
	}{
		{&req.Shape, "validation"}, {&req.Inject, "reference"}, {&req.Backend, "auto"},
		{&req.Builder, "auto"},
		{&req.Schedule, usualSchedule},
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

// Same reports whether two requests run the same thing.
func Same(a, b debugkern.Request) bool { return reflect.DeepEqual(Normal(a), Normal(b)) }

// Deviation is one part of a request that differs from the default.
type Deviation struct {
	Name  string // "schedule"; of a flag its name
	Long  string // "schedule random:7"
	Short string // "random:7": as much as cannot be misread
	usual bool   // it is at its default; only of shape and seed
}

// Deviations are everything that changes what a request runs and differs from the default, most telling
// first; the target is not among them.
func Deviations(req debugkern.Request) []Deviation {
	return slices.DeleteFunc(particulars(req), func(d Deviation) bool { return d.usual })
}

// particulars are the deviations, and shape and seed always.
func particulars(req debugkern.Request) []Deviation {
	req = Normal(req)
	var out []Deviation
	for _, k := range slices.Sorted(maps.Keys(req.Set)) {
		text := k + "=" + req.Set[k]
		out = append(out, Deviation{Name: k, Long: text, Short: text})
	}
	for _, f := range req.Faults {
		out = append(out, Deviation{Name: f, Long: f, Short: f})
	}
	if req.Gate != probes.GateNone {
		out = append(out, Deviation{Name: "gate", Long: "gate " + req.Gate.String(), Short: "gate " +
			req.Gate.String()})
	}
	usual := Normal(debugkern.Request{})
	text := func(name, value, plain string) {
		if value != plain {
			out = append(out, Deviation{Name: name, Long: name + " " + value, Short: value})
		}
	}
	text("inject", req.Inject, usual.Inject)
	seed := "seed " + strconv.FormatUint(req.Seed, 10)
	if len(req.Launch) == 0 { // a file's own launch has no shape
		out = append(out, Deviation{Name: "shape", Long: "shape " + req.Shape, Short: req.Shape,
			usual: req.Shape == usual.Shape})
	}
	out = append(out, Deviation{Name: "seed", Long: seed, Short: seed, usual: req.Seed == 0})
	text("schedule", req.Schedule, usual.Schedule)
	text("backend", req.Backend, usual.Backend)
	text("builder", req.Builder, usual.Builder)
	text("arch", req.Arch, "")
	text("inputs", ShortTarget(req.Inputs), "")
	number := func(name string, value, plain int) {
		if value != plain {
			both := fmt.Sprintf("%s %d", name, value)
			out = append(out, Deviation{Name: name, Long: both, Short: both})
		}
	}
	number("device", req.Device, 0)
	number("repeat", req.Repeat, usual.Repeat)
	text("blocks", req.Blocks.String(), "")
	text("tiles", req.Tiles.String(), "*")
	text("stages", debugkern.StagesText(req.Stages), "")
	if req.Check != usual.Check {
		out = append(out, Deviation{Name: "check", Long: "checked", Short: "checked"})
	}
	if req.Plain {
		out = append(out, Deviation{Name: "plain", Long: "plain", Short: "plain"})
	}
	return out
}

// Title names a run in a few words: stage2 USE_CP_ASYNC=0 gate pv p-stale-m partial49 seed 3. What is at its
// default is left out, but for a shape that was asked for by name.
func Title(req debugkern.Request) string {
	return described(req, func(d Deviation) bool { return !d.usual || d.Name == "shape" && req.Shape != "" })
}

// TargetName names a request's target in a column: a file by its name, without its folders.
func TargetName(req debugkern.Request) string {
	return req.Target[strings.LastIndexAny(req.Target, `/\`)+1:]
}

// Brief is Title with a file named by TargetName, for where the whole path is shown elsewhere.
func Brief(req debugkern.Request) string {
	req.Target = TargetName(req)
	return Title(req)
}

// InFull names a run by everything that two runs may differ in: target, flags, faults, gate, and shape and
// seed always.
func InFull(req debugkern.Request) string {
	return described(req, func(Deviation) bool { return true })
}

func described(req debugkern.Request, said func(Deviation) bool) string {
	out := req.Target
	for _, d := range particulars(req) {
		switch {
		case !said(d):
		case d.Name == "shape":
			out += " " + d.Short
		default:
			out += " " + d.Long
		}
	}
	return strings.TrimSpace(out)
}

// Differences names what differs between two requests, in the words of the second.
func Differences(from, to debugkern.Request) []string {
	var out []string
	if from.Target != to.Target {
		out = append(out, "target "+to.Target)
	}
	was, now := map[string]string{}, map[string]string{}
	for _, d := range Deviations(from) {
		was[d.Name] = d.Long
	}
	for _, d := range Deviations(to) {
		now[d.Name] = d.Long
		if was[d.Name] != d.Long {
			out = append(out, d.Long)
		}
	}
	for _, d := range Deviations(from) {
		if _, still := now[d.Name]; !still {
			out = append(out, "without "+d.Long)
		}
	}
	return out
}

// KernelTitle names a request's kernel without the problem, which two compared runs share.
func KernelTitle(req debugkern.Request) string {
	return Title(debugkern.Request{Target: req.Target, Set: req.Set, Faults: req.Faults})
}

// Clone copies what a request shares with the one it was copied from.
func Clone(req debugkern.Request) debugkern.Request {
	req.Set = maps.Clone(req.Set)
	req.Faults = slices.Clone(req.Faults)
	return req
}

// ShapeName is the name of a request's shape, the default one where it names none.
func ShapeName(req debugkern.Request) string {
	if req.Shape == "" {
		return "validation"
	}
	return req.Shape
}

// ShortTarget is a target's name, of a path its last part.
func ShortTarget(target string) string {
	return target[strings.LastIndexAny(target, `/\`)+1:]
}

// CommandLine is a request as it is typed at a shell.
func CommandLine(req debugkern.Request) string {
	if req.Launch != nil {
		return req.Command("check")
	}
	out := "tilescope run " + text.Shell(req.Target) + " --shape " + text.Shell(ShapeName(req)) + " --seed " +
		strconv.FormatUint(req.Seed, 10)
	for _, k := range slices.Sorted(maps.Keys(req.Set)) {
		out += " --set " + text.Shell(k+"="+req.Set[k])
	}
	for _, f := range req.Faults {
		out += " --fault " + text.Shell(f)
	}
	if g := req.Gate.String(); g != "none" {
		out += " --gate " + g
	}
	return out
}

// SetupOf is what of a request is remembered for the next session.
func SetupOf(req debugkern.Request) configs.Setup {
	return configs.Setup{
		Target: req.Target, Shape: ShapeName(req), Seed: req.Seed, Gate: req.Gate.String(),
		Inject: req.Inject, Backend: req.Backend, Flags: maps.Clone(req.Set),
		Faults: slices.Clone(req.Faults),
	}
}

// With is a request with a setup's choices; its backend stays.
func With(req debugkern.Request, s *configs.Setup) debugkern.Request {
	req.Target, req.Shape, req.Seed, req.Gate, req.Inject = s.Target, s.Shape, s.Seed,
		probes.GateNamed(s.Gate),
		s.Inject
	req.Set, req.Faults = s.Flags, s.Faults
	return Clone(req)
}

// WithSpec is a request with a combination's target, flags and faults.
func WithSpec(req debugkern.Request, t report.TargetSpec) debugkern.Request {
	req.Target, req.Faults, req.Set = t.Target, append([]string{}, t.Faults...), map[string]string{}
	for name, value := range t.Set {
		req.Set[name] = fmt.Sprint(value)
	}
	return req
}

// Plain is a request with everything at its default that Deviations may name; the target, and how its source
// is compiled and launched, stay.
func Plain(req debugkern.Request) debugkern.Request {
	req = Clone(req)
	usual := debugkern.Request{}
	req.Set, req.Faults, req.Gate, req.Inject = nil, nil, usual.Gate, usual.Inject
	req.Shape, req.Seed, req.Inputs = usual.Shape, usual.Seed, usual.Inputs
	req.Schedule, req.Backend, req.Device = usual.Schedule, usual.Backend, usual.Device
	req.Builder, req.Arch, req.Repeat = usual.Builder, usual.Arch, usual.Repeat
	req.Blocks, req.Tiles, req.Stages = usual.Blocks, usual.Tiles, usual.Stages
	req.Check, req.Plain = usual.Check, usual.Plain
	return req
}
