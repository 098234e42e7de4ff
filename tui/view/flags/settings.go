package flags

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern/target"
	"tilescope/tui/request"
)

// Settings of a request that are one of a few words: what a gate injects, and what builds and executes.

// choice is one value of a setting.
type choice struct{ name, help string }

var (
	injections = []choice{
		{"reference", "the values that a right kernel would compute up to there"},
		{"uniform", "every weight equal, so that a wrong row or column of V shows at once"},
	}
	backends = []choice{
		{"auto", "a GPU where there is one, else the emulator"},
		{"emu", "the emulator: executes the kernel's PTX with every lane visible, and sees races"},
		{"cuda", "a GPU"},
		{"both", "a GPU and the emulator, their tiles compared bit by bit"},
	}
	schedules = []choice{
		{"in-order", "warp 0 until it waits, then the next"},
		{"reverse", "the last warp until it waits, then the one before"},
		{"random", "a random warp for a random number of instructions; h l change the seed"},
		{"ahead", "one warp, chosen by the seed, runs whenever it can; h l change the seed"},
		{"priority", "warps by random importance, changed at random moments; h l change the seed"},
	}
	landings = []choice{
		{"latest", "an asynchronous copy lands when the kernel waits for it"},
		{"earliest", "an asynchronous copy lands when it is issued"},
		{"random", "an asynchronous copy lands at a random moment between"},
	}
	builders = []choice{
		{"auto", "prebuilt PTX where there is one, else NVRTC or nvcc"},
		{"embedded", "prebuilt PTX alone"},
		{"nvrtc", "NVRTC: compiles device code as the run asks for it"},
		{"nvcc", "nvcc: compiles the whole source, host code included"},
	}
)

// Policies lists the emulator's orders of warps with what each is, as completions of a command.
func Policies() []string {
	var out []string
	for _, c := range schedules {
		help, _, _ := strings.Cut(c.help, ";")
		out = append(out, c.name+"\t"+help)
	}
	return out
}

// seeded are the schedules that a seed changes.
var seeded = []string{"random", "ahead", "priority"}

// injectItems are what the gates of a kernel may inject: nothing where none of them injects, and values other
// than the reference's only where a gate takes them.
func (v *Controller) injectItems(man *configs.Manifest) []Item {
	if !slices.ContainsFunc(man.Gates, func(g configs.Gate) bool { return len(g.Injected) > 0 }) {
		return nil
	}
	now, gates := request.Normal(v.Req).Inject, takers(man)
	var out []Item
	for _, c := range injections {
		it := Item{Kind: Inject, Name: c.name, On: now == c.name, Help: c.help}
		switch {
		case c.name == "reference" || man.Uniform(v.Req.Gate):
		case gates == "" && !it.On:
			continue
		case gates == "":
			it.Refused = "no gate of this kernel takes " + c.name + " values"
		default:
			it.Refused = fmt.Sprintf("%s values are for gate %s, this is gate %s", c.name, gates, v.Req.Gate)
		}
		out = append(out, it)
	}
	return out
}

// takers lists the gates that values other than the reference's may be fed into, "" where a kernel has none.
func takers(man *configs.Manifest) string {
	var out []string
	for _, g := range man.Gates {
		if g.Uniform {
			out = append(out, g.Name.String())
		}
	}
	return strings.Join(out, " or ")
}

// settingItems are backend, schedule, when copies land, and builder.
func (v *Controller) settingItems() []Item {
	req := request.Normal(v.Req)
	var out []Item
	add := func(kind Kind, list []choice, now string) {
		for _, c := range list {
			out = append(out, Item{Kind: kind, Name: c.name, On: now == c.name, Help: c.help})
		}
	}
	add(Backend, backends, req.Backend)
	sch, err := target.ParseSchedule(req.Schedule)
	if err != nil { // the request could not have run; the view says why
		sch = target.Schedule{}
	}
	add(Schedule, schedules, sch.Policy)
	for i := range out {
		if it := &out[i]; it.Kind == Schedule && slices.Contains(seeded, it.Name) {
			it.Value = "seed 0"
			if it.On {
				it.Value = fmt.Sprintf("seed %d", sch.Seed)
			}
		}
	}
	add(Landing, landings, sch.Async)
	add(Builder, builders, req.Builder)
	return out
}

// chooseSetting runs with the value under the cursor.
func (v *Controller) chooseSetting(it *Item) tea.Cmd {
	if it.Refused != "" {
		v.Complain(it.Refused)
		return nil
	}
	req := v.NextRequest()
	sch, err := target.ParseSchedule(req.Schedule)
	if err != nil {
		sch, _ = target.ParseSchedule("")
	}
	name := ""
	switch it.Kind {
	case Inject:
		name, req.Inject = "inject", it.Name
	case Backend:
		name, req.Backend = "backend", it.Name
	case Builder:
		name, req.Builder = "builder", it.Name
	case Schedule:
		sch.Policy, sch.Seed = it.Name, 0
		name, req.Schedule = "schedule", sch.String()
	case Landing:
		sch.Async = it.Name
		name, req.Schedule = "cp.async lands", sch.String()
	}
	return v.Choose(req, name+" "+it.Name)
}

// stepScheduleSeed runs under the schedule under the cursor with the n-th seed after its own.
func (v *Controller) stepScheduleSeed(it *Item, n int) tea.Cmd {
	req := v.NextRequest()
	sch, err := target.ParseSchedule(req.Schedule)
	if err != nil || sch.Policy != it.Name {
		return v.chooseSetting(it)
	}
	if n < 0 && sch.Seed < uint64(-n) {
		v.Say("seeds count from 0")
		return nil
	}
	sch.Seed += uint64(n)
	req.Schedule = sch.String()
	return v.Choose(req, "schedule "+sch.String())
}
