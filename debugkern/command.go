package debugkern

import (
	"fmt"
	"maps"
	"slices"
	"tilescope/debugkern/text"
)

// Command is the command line that asks for the request again: verb is run, diagnose or gates; of a file that
// no manifest describes it is check. More words follow as given.
func (r Request) Command(verb string, more ...string) string {
	if r.Launch != nil {
		r.Shape = ""
		words := append([]string{"tilescope", "check", r.Target}, r.Launch...)
		return text.CommandLine(append(append(words, r.Options()...), more...))
	}
	words := []string{"tilescope", verb, r.Target}
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		words = append(words, "--set", name+"="+r.Set[name])
	}
	for _, f := range r.Faults {
		words = append(words, "--fault", f)
	}
	return text.CommandLine(append(append(words, r.Options()...), more...))
}

// Options are the options of the command line besides target, flags and faults, where they are not as
// usual, one word each.
func (r Request) Options() []string {
	var words []string
	for _, o := range []struct{ name, value, usual string }{
		{"shape", r.Shape, "validation"}, {"seed", fmt.Sprint(r.Seed), "0"},
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
