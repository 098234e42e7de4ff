package debugkern

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// spec names a combination by the target that leaves the fewest options; a fault of a variant's own cannot be taken away.
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
func requestOf(t report.TargetSpec, common Request) Request {
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
	return commandLine(append(words, w.request.options()...))
}

// Command is the command line that asks for the request again: verb is run, diagnose or gates. More words follow as given.
func (r Request) Command(verb string, more ...string) string {
	words := []string{"tilescope", verb, r.Target}
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		words = append(words, "--set", name+"="+r.Set[name])
	}
	for _, f := range r.Faults {
		words = append(words, "--fault", f)
	}
	return commandLine(append(append(words, r.options()...), more...))
}

// options are those besides target, flags and faults, where they are not as usual.
func (r Request) options() []string {
	var words []string
	for _, o := range []struct{ name, value, usual string }{
		{"shape", r.Shape, "validation"}, {"seed", fmt.Sprint(r.Seed), "0"}, {"gate", r.Gate.String(), "none"}, {"inject", r.Inject, "reference"},
		{"backend", r.Backend, "auto"}, {"builder", r.Builder, "auto"}, {"arch", r.Arch, ""}, {"inputs", r.Inputs, ""},
		{"schedule", r.Schedule, "in-order:0"}, {"blocks", r.Blocks, ""}, {"tiles", r.Tiles, ""}, {"stages", r.Stages, ""}, {"device", fmt.Sprint(r.Device), "0"},
		{"resident", fmt.Sprint(r.Resident), "0"},
	} {
		if o.value != "" && o.value != o.usual {
			words = append(words, "--"+o.name, o.value)
		}
	}
	for _, d := range r.Include {
		words = append(words, "-I", d)
	}
	for _, d := range r.Define {
		words = append(words, "-D", d)
	}
	if r.Std != "" {
		words = append(words, "--std", r.Std)
	}
	for _, i := range r.Instantiate {
		words = append(words, "--instantiate", i)
	}
	if r.Cooperative {
		words = append(words, "--cooperative")
	}
	return words
}

// commandLine quotes words as a shell wants them.
func commandLine(words []string) string {
	for i, word := range words {
		words[i] = text.Shell(word)
	}
	return strings.Join(words, " ")
}
