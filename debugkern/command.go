package debugkern

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tilescope/configs"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// Command is the command line that asks for the request again: verb is run, diagnose or gates; of a file that
// no manifest describes check stands for those that take none. More words follow as given.
func (r Request) Command(verb string, more ...string) string {
	switch {
	case r.Launch != nil && verb == "diagnose": // which explains findings, and checks no expectation
		r.Launch = r.withoutExpectations()
	case r.Launch != nil:
		verb = "check"
	}
	return text.CommandLine(slices.Concat([]string{"tilescope", verb}, r.Opening(), more))
}

// ExpectOption is the word of Launch before what an output is stated to be made of.
const ExpectOption = "--expect"

// Expectations are what the launch of a file states its outputs to be made of, nil where it states nothing.
func (r Request) Expectations() (list []string) {
	for i := 1; i < len(r.Launch); i++ {
		if r.Launch[i-1] == ExpectOption {
			list = append(list, r.Launch[i])
		}
	}
	return list
}

// withoutExpectations are the words of the launch without its expectations, which come last.
func (r Request) withoutExpectations() []string {
	if i := slices.Index(r.Launch, ExpectOption); i >= 0 {
		return r.Launch[:i:i]
	}
	return r.Launch
}

// Opening is the words that open the request again, of a target or of a file: its name, then options.
func (r Request) Opening() []string {
	words := append([]string{r.Target}, r.Launch...)
	if r.Launch != nil {
		r.Shape = ""
		return append(words, r.Options()...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		words = append(words, "--set", name+"="+r.Set[name])
	}
	for _, f := range r.Faults {
		words = append(words, "--fault", f)
	}
	return append(words, r.Options()...)
}

// Options are the options of the command line besides target, flags and faults, where they are not as
// usual, one word each.
func (r Request) Options() []string {
	var words []string
	for _, o := range []struct{ name, value, usual string }{
		{"shape", r.Shape, DefaultShape}, {"seed", fmt.Sprint(r.Seed), "0"},
		{"gate", r.Gate.String(), "none"}, {"inject", r.Inject, "reference"}, {"backend", r.Backend, "auto"},
		{"builder", r.Builder, "auto"}, {"arch", r.Arch, ""}, {"inputs", r.Inputs, ""},
		{"schedule", r.Schedule, "in-order:0"}, {"blocks", r.Blocks.String(), ""},
		{"tiles", r.Tiles.String(), "*"}, {"stages", StagesText(r.Stages), ""},
		{"device", fmt.Sprint(r.Device), "0"}, {"resident", fmt.Sprint(r.Resident), "0"},
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

// CommandLine is the command line that makes the same request under a configuration (nil: the built-in
// defaults), each word quoted as a shell needs it: `run`, or of a file that no manifest describes `check`.
// What the configuration sets and the request lacks is undone: faults and flags by variables in front of
// the command.
func (r Request) CommandLine(c *configs.Config) string {
	if c == nil || r.Launch != nil { // check takes its launch from the command line alone
		c = &configs.Config{}
	}
	verb, prefix := []string{"tilescope", "run", r.Target}, ""
	if r.Launch != nil {
		verb = append([]string{"tilescope", "check", r.Target}, r.Launch...)
	} else {
		if len(c.Faults) > 0 {
			prefix += configs.Variable("faults") + "=, "
		}
		if len(c.Flags) > 0 {
			prefix += configs.Variable("flags") + "=, "
		}
		for _, name := range slices.Sorted(maps.Keys(r.Set)) {
			verb = append(verb, "--set", name+"="+r.Set[name])
		}
		for _, f := range r.Faults {
			verb = append(verb, "--fault", f)
		}
	}
	words := r.configured(c)
	plain := r // what no configuration sets
	plain.Shape, plain.Seed, plain.Gate, plain.Backend, plain.Builder, plain.Arch = "", 0, probes.GateNone,
		"", "", ""
	plain.Schedule, plain.Device = "", 0
	words = append(words, plain.Options()...)
	if r.Check != 0 && r.Launch == nil {
		words = append(words, "--check")
	}
	return prefix + text.CommandLine(append(verb, words...))
}

// configured are the options that a configuration has a say in, where they differ from the built-in
// defaults or from the configuration.
func (r Request) configured(c *configs.Config) []string {
	var words []string
	for _, o := range []struct{ name, value, usual, set string }{
		{"shape", r.Shape, DefaultShape, c.Shape},
		{"seed", fmt.Sprint(r.Seed), "0", fmt.Sprint(c.Seed)},
		{"gate", r.Gate.String(), "none", c.Gate},
		{"backend", r.Backend, "auto", c.Backend},
		{"builder", r.Builder, "auto", c.Builder},
		{"arch", r.Arch, "", c.Arch},
		{"schedule", r.Schedule, "in-order:0", c.Schedule},
		{"device", fmt.Sprint(r.Device), "0", fmt.Sprint(c.Device)},
		{"repeat", fmt.Sprint(cmp.Or(r.Repeat, 10)), "10", fmt.Sprint(cmp.Or(c.Repeat, 10))},
	} {
		value, set := cmp.Or(o.value, o.usual), cmp.Or(o.set, o.usual)
		if value == o.usual && set == o.usual || r.Launch != nil && (o.name == "shape" || o.name == "gate") {
			continue
		}
		words = append(words, "--"+o.name, value)
	}
	return words
}
