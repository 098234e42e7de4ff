package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/request"
	"tilescope/tui/theme"
	"tilescope/tui/view"
	"tilescope/tui/view/flags"
)

// palette is every command that can be typed: the root's, and those that views bring.
type palette struct{ *Model }

func (m *Model) palette() palette { return palette{m} }

// oneOf is a command whose argument is one of a few words; any other is refused.
func (p palette) oneOf(group int, name string, words []string, help string,
	do func(arg string) tea.Cmd) view.Command {
	return view.Command{Group: group, Name: name, Arg: strings.Join(words, "|"), Help: help,
		Also: strings.Join(words, " "), Values: view.Words(words...), Named: true,
		Do: func(arg string) tea.Cmd {
			if !slices.Contains(words, arg) {
				p.Complain(fmt.Sprintf("%s %q: expected %s", name, arg, strings.Join(words, ", ")))
				return nil
			}
			return do(arg)
		}}
}

// commands lists all commands, in the order in which they are offered: by group, the root's before the
// views'.
func (p palette) commands() []view.Command {
	all := slices.Concat(p.place(), p.run(), p.launch(), p.screen(), p.out(), p.program())
	for _, v := range able[view.Commander](p.views) {
		all = append(all, v.Commands()...)
	}
	all = append(all, p.viewCommands(all)...)
	slices.SortStableFunc(all, func(a, b view.Command) int { return a.Group - b.Group })
	return all
}

// viewCommands show a view by its name, or by its tab where no command has that name.
func (p palette) viewCommands(others []view.Command) []view.Command {
	var out []view.Command
	for _, s := range p.Keys.Scopes() {
		c := view.Command{Group: view.DisplayCommands, Name: strings.ToLower(string(s)),
			Help: "show view " + string(s), Do: func(string) tea.Cmd { return p.Open(s) }}
		tab := strings.ToLower(p.Keys.Tab(s))
		if tab != c.Name && !slices.ContainsFunc(others, func(o view.Command) bool { return o.Name == tab }) {
			c.Short = tab
		}
		out = append(out, c)
	}
	return out
}

// unusable is why a command cannot be used with the kernel of the request; "" where it can.
func (p palette) unusable(name string) string {
	man, _ := p.Manifest()
	if man == nil || !p.Stageless() {
		return ""
	}
	kernel, source := request.ShortTarget(p.Req.Target), ": its manifest names none"
	if len(p.Req.Launch) > 0 {
		source = ": a manifest can name them"
	}
	switch {
	case name == "fault" && len(man.Faults) == 0:
		return kernel + " has no faults that could be planted" + source
	case (name == "flag" || name == "set") && len(man.Flags) == 0:
		return kernel + " has no flags" + source
	case name == "gate" && len(p.gateNames()) <= 1:
		return kernel + " has no gates" + source
	case name == "inject" && len(p.gateNames()) <= 1:
		return kernel + " has no gate into which values could be injected"
	case name == "kv":
		return kernel + " has no stages, so no tiles of a loop to go to"
	case (name == "ref" || name == "bound") && p.Unjudged():
		return kernel + " is compared with no reference"
	}
	return ""
}

func (p palette) place() []view.Command {
	g := view.PlaceCommands
	return []view.Command{
		{Group: g, Name: "cta", Arg: "X,Y,Z", Help: "go to a block", Values: p.blockNames, Do: p.goBlock},
		{Group: g, Name: "stage", Arg: "NAME", Help: "go to a stage", Values: p.stageNames, Named: true,
			Do: p.goStage},
		{Group: g, Name: "kv", Arg: "N", Help: p.Worded("go to a kv tile"), Do: p.goKV},
		{Group: g, Name: "goto", Arg: "ROW,COL", Help: "go to a cell of the tile", Do: p.goCell},
	}
}

func (p palette) run() []view.Command {
	g := view.RunCommands
	return []view.Command{
		{
			Group: g, Name: "variant", Arg: "NAME", Help: "run another kernel or variant of the catalogue",
			Values: p.Engine.Catalogue().Targets, Named: true,
			Do: p.ChooseVariant,
		},
		{Group: g, Name: "open", Short: "target", Arg: "TARGET|FILE [OPTIONS]", Complete: p.openable,
			None: p.unopenable,
			Help: "run a kernel of the catalogue, a manifest (FILE.yaml), or a .cu, .ptx, .tsl or .py (of Triton) " +
				"with its --grid, --block and --arg; of a .h, judge its fragment table", Do: p.openTarget},
		{Group: g, Name: "shape", Arg: "NAME|B,H,S,D", Help: "run another problem size", Values: p.shapeNames,
			Named: true, Do: p.ChooseShape},
		{Group: g, Name: "seed", Arg: "N", Help: "run with other inputs", Do: p.seed},
		{Group: g, Name: "fault", Arg: "NAME [on|off]|none",
			Help:   "plant a fault, or take it out; none: all out",
			Values: p.faultNames, Named: true, Then: p.faultWords, Do: p.fault},
		{Group: g, Name: "set", Arg: "NAME=on|off|VALUE", Help: "set a flag", Values: p.flagValues,
			Do: p.set},
		{Group: g, Name: "flag", Arg: "NAME [on|off|VALUE]", Help: "switch a flag, or set it",
			Values: p.flagNames, Named: true, Then: p.flagWords, Do: p.flag},
		{Group: g, Name: "gate", Arg: conventionalGates("|"), Help: "run only a part of the kernel",
			Values: p.gateValues, Named: true, Do: p.gate},
		p.oneOf(g, "inject", []string{"reference", "uniform"},
			"what gate "+strings.Join(configs.UniformGates(), ", ")+" injects",
			p.with("inject", func(r *debugkern.Request, arg string) { r.Inject = arg })),
		p.oneOf(g, "backend", []string{"auto", "emu", "cuda", "both"}, "what executes",
			p.with("backend", func(r *debugkern.Request, arg string) { r.Backend = arg })),
		{Group: g, Name: "host", Arg: "[[USER@]HOST]",
			Help: "the machine that executes, over ssh; none: this one",
			Do:   p.chooseHost},
		p.oneOf(g, "builder", []string{"auto", "embedded", "nvrtc", "nvcc"}, "what compiles",
			p.with("builder", func(r *debugkern.Request, arg string) { r.Builder = arg })),
		{Group: g, Name: "schedule", Arg: "POLICY:SEED", Help: "the emulator's order of warps",
			Values: flags.Policies, Named: true,
			Do: p.with("schedule", func(r *debugkern.Request, arg string) { r.Schedule = arg })},
		{
			Group: g, Name: "run", Help: "run again", Also: "rerun reload",
			Do: func(string) tea.Cmd { return p.again(p.NextRequest().Backend) },
		},
		{Group: g, Name: "undo", Short: "revert", Also: "revert back previous before z",
			Help: "run what ran before: the request of the run before, as often as you like", Do: p.undo},
		{Group: g, Name: "redo", Help: "run again what :undo went back from", Do: p.redo},
		{Group: g, Name: "reset", Also: "defaults normal clean",
			Help: "everything that the top line shows at its default: flags, faults, gate, injected values, shape, seed, " +
				"schedule, backend, builder, host", Do: p.reset},
		{Group: g, Name: "failure", Help: "show again why the last request could not run",
			Do: p.failure.reopen},
		{Group: g, Name: "cancel", Help: "cancel the run", Do: p.cancel},
	}
}

func (p palette) screen() []view.Command {
	names := make([]string, 0, len(p.views))
	for _, s := range p.Keys.Scopes() {
		names = append(names, strings.ToLower(string(s)))
	}
	return []view.Command{
		{Group: view.DisplayCommands, Name: "view", Arg: "NAME", Help: "change the view",
			Values: view.Words(names...), Named: true, Do: p.goView},
		{Group: view.ScreenCommands, Name: "palette", Arg: "NAME", Help: "colours of values", Also: "colors",
			Values: theme.Palettes, Named: true, Do: p.choosePalette},
		p.oneOf(view.ScreenCommands, "theme", themeChoices(),
			"colours; auto follows the terminal's background", p.chooseTheme),
		p.oneOf(view.ScreenCommands, "mouse", []string{"on", "off"},
			"off leaves the mouse to the terminal's own selection", func(arg string) tea.Cmd {
				p.mouse = arg != "off"
				p.Say("mouse capture " + view.OnOff(p.mouse))
				return nil
			}),
	}
}

func (p palette) program() []view.Command {
	g := view.ProgramCommands
	return []view.Command{
		{Group: g, Name: "edit", Help: "open the source line in $EDITOR", Do: p.edit},
		{
			Group: g, Name: "trust",
			Help: "ask again whether to use the compilers and tools that were found and are not trusted",
			Do:   p.consent.askAgain,
		},
		{Group: g, Name: "config", Help: "the settings: the command line shows and changes them",
			Do: func(string) tea.Cmd {
				p.Say("`tilescope config` shows the settings, `config set KEY VALUE` changes one, `config unset KEY` takes it out, `config path` says " +
					"where they are")
				return nil
			}},
		{Group: g, Name: "help", Help: "the keys of this view", Do: p.openHelp},
		{Group: g, Name: "messages", Help: "every message of this session, with its time",
			Do: p.openMessages},
		{Group: g, Name: "tour", Help: "a tutorial of two minutes on a planted fault", Do: p.startTour},
		{Group: g, Name: "quit", Short: "exit", Help: "leave (also :q, :exit)", Do: p.leave},
	}
}

// gateNames lists the gates of the request's kernel, none first.
func (p palette) gateNames() []string {
	if man, _ := p.Manifest(); man != nil {
		return man.GateNames()
	}
	return []string{probes.GateNone.String()}
}

// gateValues are those gates with what each runs.
func (p palette) gateValues() []string {
	man, _ := p.Manifest()
	if man == nil {
		return p.gateNames()
	}
	var out []string
	for _, g := range man.Gates {
		help := g.Help
		if g.Name == probes.GateNone && help == "" {
			help = view.GateNoneHelp
		}
		out = append(out, strings.TrimSuffix(g.Name.String()+"\t"+help, "\t"))
	}
	return out
}

// conventionalGates lists the gates that kernels usually have, none first.
func conventionalGates(between string) string {
	return strings.Join(append([]string{probes.GateNone.String()}, configs.ConventionalGates()...), between)
}
