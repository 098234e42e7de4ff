package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/prompt"
	"tilescope/tui/pane/tile"
	"tilescope/tui/theme"
)

// command is one line of the palette.
type command struct {
	name, arg, help string
	values          func(m *Model) []string // completions of its argument
	do              func(m *Model, arg string) tea.Cmd
}

// oneOf is a command whose argument is one of a few words; any other is refused.
func oneOf(name string, words []string, help string, do func(m *Model, arg string) tea.Cmd) command {
	return command{name, strings.Join(words, "|"), help, func(*Model) []string { return words }, func(m *Model, arg string) tea.Cmd {
		if !slices.Contains(words, arg) {
			m.complain(fmt.Sprintf("%s %q: expected %s", name, arg, strings.Join(words, ", ")))
			return nil
		}
		return do(m, arg)
	}}
}

// commands is the palette, in the order it is offered.
func commands() []command {
	return slices.Concat(placeCommands(), runCommands(), displayCommands(), fragCommands(), programCommands())
}

func placeCommands() []command {
	return []command{
		{"cta", "X,Y,Z", "go to a block", (*Model).blockNames, (*Model).goBlock},
		{"stage", "NAME", "go to a stage", (*Model).stageNames, (*Model).goStage},
		{"kv", "N", "go to a kv tile", nil, (*Model).goKV},
		{"goto", "ROW,COL", "go to a cell of the tile", nil, (*Model).goCell},
		{"seek", "STEP|start|end", "go to a moment of the block in Source", func(*Model) []string { return []string{"start", "end"} }, (*Model).seekWalk},
		{"break", "LINE|STAGE|ARRAY[R][C]|list|clear", "breakpoint in Source", (*Model).breakpoints, (*Model).breakCommand},
		{"unit", "NAME", "what s and < step by in Source", func(*Model) []string { return []string{"line", "instruction", "barrier", "probe"} }, (*Model).setUnit},
		{"array", "NAME", "shared array on screen in Source", (*Model).arrayNames, (*Model).chooseArray},
	}
}

func runCommands() []command {
	return []command{
		{"variant", "NAME", "run another variant", func(m *Model) []string { return m.opt.Engine.Catalogue().Targets() }, (*Model).chooseVariant},
		{"shape", "NAME|B,H,S,D", "run another problem size", (*Model).shapeNames, (*Model).chooseShape},
		{"seed", "N", "run with other inputs", nil, func(m *Model, arg string) tea.Cmd {
			n, err := strconv.ParseUint(arg, 10, 64)
			if err != nil {
				m.complain(fmt.Sprintf("seed %q is not a number from 0 up", arg))
				return nil
			}
			return m.chooseSeed(n)
		}},
		{"fault", "NAME", "plant a fault, or take it out", (*Model).faultNames, (*Model).toggleFault},
		{"set", "FLAG=VALUE", "set a flag", (*Model).flagValues, (*Model).setCommand},
		{"gate", conventionalGates("|"), "run only a part of the kernel", (*Model).gateNames, (*Model).gateCommand},
		oneOf("inject", []string{"reference", "uniform"}, "what gate "+strings.Join(configs.UniformGates(), ", ")+" feeds in", func(m *Model, arg string) tea.Cmd {
			req := m.nextRequest()
			req.Inject = arg
			return m.choose(req, "inject "+arg)
		}),
		oneOf("backend", []string{"auto", "emu", "cuda", "both"}, "what executes", func(m *Model, arg string) tea.Cmd {
			req := m.nextRequest()
			req.Backend = arg
			return m.choose(req, "backend "+arg)
		}),
		oneOf("builder", []string{"auto", "embedded", "nvrtc", "nvcc"}, "what compiles", func(m *Model, arg string) tea.Cmd {
			req := m.nextRequest()
			req.Builder = arg
			return m.choose(req, "builder "+arg)
		}),
		{"schedule", "POLICY:SEED", "the emulator's order of warps", nil, func(m *Model, arg string) tea.Cmd {
			req := m.nextRequest()
			req.Schedule = arg
			return m.choose(req, "schedule "+arg)
		}},
		{"run", "", "run again", nil, func(m *Model, _ string) tea.Cmd { return m.again(m.nextRequest().Backend) }},
		{"revert", "", "back to the request of the last run that ended well", nil, (*Model).revert},
		{"cancel", "", "cancel the run", nil, (*Model).cancel},
		{"pin", "", "pin this run as A", nil, (*Model).pin},
		{"unpin", "", "unpin A", nil, (*Model).unpin},
		{"bisect", "", "smallest set of flags between A and B that turns the verdict", nil, (*Model).bisect},
		{"compare", "", "A with B, kernel against kernel", nil, (*Model).compare},
	}
}

func displayCommands() []command {
	pick := func(kind string, parse func(m *Model, arg string) (func(*tile.Settings), bool)) func(*Model, string) tea.Cmd {
		return func(m *Model, arg string) tea.Cmd {
			change, ok := parse(m, arg)
			if !ok {
				m.complain(fmt.Sprintf("no %s %q", kind, arg))
				return nil
			}
			m.say(kind + ": " + arg)
			return m.set(change)
		}
	}
	list := func(names ...string) func(*Model) []string { return func(*Model) []string { return names } }
	return []command{
		{"view", "NAME", "change the view", list("pipe", "tile", "frag", "flags", "races", "gates", "gpu", "source"), func(m *Model, arg string) tea.Cmd {
			s, ok := keymap.ParseScope(arg)
			if !ok {
				m.complain("no view " + arg)
				return nil
			}
			return m.show(s)
		}},
		{"format", "NAME", "how numbers are written", list("fixed", "sci", "hex", "bits", "ulp"), pick("format", func(_ *Model, a string) (func(*tile.Settings), bool) {
			f, ok := cell.ParseFormat(a)
			return func(s *tile.Settings) { s.Format = f }, ok
		})},
		{"diff", "NAME", "how errors are measured", list("abs", "rel", "ulp", "off"), pick("diff", func(_ *Model, a string) (func(*tile.Settings), bool) {
			d, ok := cell.ParseDiff(a)
			return func(s *tile.Settings) { s.Diff = d }, ok
		})},
		{"ref", "NAME", "which reference: auto, local, global, mirrored", list("auto", "local", "global", "mirrored"), pick("reference", func(_ *Model, a string) (func(*tile.Settings), bool) {
			r, ok := cell.ParseRef(a)
			return func(s *tile.Settings) { s.Ref = r }, ok
		})},
		{"heat", "NAME", "colour of values: tint, map, off", list("tint", "map", "off"), pick("heat", func(_ *Model, a string) (func(*tile.Settings), bool) {
			h, ok := tile.ParseHeat(a)
			return func(s *tile.Settings) { s.Heat = h }, ok
		})},
		{"bound", "derived|ULPS", "where a cell counts as bad on screen", list("derived"), pick("bound", func(_ *Model, a string) (func(*tile.Settings), bool) {
			n, err := strconv.Atoi(a)
			if a == "derived" {
				n, err = 0, nil
			}
			return func(s *tile.Settings) { s.Bound = cell.Bound(n) }, err == nil && n >= 0 && n <= 1<<20
		})},
		{"palette", "NAME", "colours of values", func(*Model) []string { return theme.Palettes() }, func(m *Model, arg string) tea.Cmd {
			if !slices.Contains(theme.Palettes(), arg) {
				m.complain("no palette " + arg)
				return nil
			}
			return m.setPalette(arg)
		}},
		oneOf("mouse", []string{"on", "off"}, "off leaves the mouse to the terminal's own selection", func(m *Model, arg string) tea.Cmd {
			m.mouse = arg != "off"
			m.say("mouse capture " + onOff(m.mouse))
			return nil
		}),
	}
}

func programCommands() []command {
	quit := func(*Model, string) tea.Cmd { return tea.Quit }
	return []command{
		{"edit", "", "open the source line in $EDITOR", nil, (*Model).edit},
		{"yank", "", "copy what is under the cursor (OSC 52)", nil, (*Model).yank},
		{"trust", "", "ask again whether to use the compilers and tools that were found and are not trusted", nil, (*Model).askAgain},
		{"help", "", "the keys of this view", nil, func(m *Model, _ string) tea.Cmd {
			m.help = true
			return nil
		}},
		{"quit", "", "leave", nil, quit},
		{"q", "", "leave", nil, quit},
	}
}

// ask opens a prompt.
func (m *Model) ask(lead, text string) tea.Cmd {
	var complete func(string) []prompt.Candidate
	if lead == ":" {
		complete = m.complete
	}
	m.pane.prompt.Open(lead, text, complete)
	return nil
}

// accept acts on a line typed at a prompt.
func (m *Model) accept(lead, text string) tea.Cmd {
	m.status = status{}
	switch lead {
	case "/":
		return m.startSearch(text)
	case "&":
		return m.startFilter(text)
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	if name == "" {
		return nil
	}
	if c, ok := findCommand(name); ok {
		arg = strings.TrimSpace(arg)
		if arg == "" && c.arg != "" {
			m.complain(fmt.Sprintf(":%s wants %s", c.name, c.arg))
			return nil
		}
		return c.do(m, arg)
	}
	m.complain(fmt.Sprintf("no command %q: Tab lists them", name))
	return nil
}

// findCommand takes a name, or a beginning that only one name has.
func findCommand(name string) (command, bool) {
	var found []command
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
		if strings.HasPrefix(c.name, name) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return found[0], true
	}
	return command{}, false
}

// complete offers commands, then their arguments.
func (m *Model) complete(text string) []prompt.Candidate {
	name, arg, hasArg := strings.Cut(text, " ")
	var out []prompt.Candidate
	if !hasArg {
		for _, c := range commands() {
			if strings.HasPrefix(c.name, name) && c.name != "q" {
				line := c.name
				if c.arg != "" {
					line += " "
				}
				out = append(out, prompt.Candidate{Line: line, Help: strings.TrimSpace(c.arg + "  " + c.help)})
			}
		}
		return out
	}
	c, ok := findCommand(name)
	if !ok || c.values == nil {
		return nil
	}
	for _, v := range c.values(m) {
		value, help, _ := strings.Cut(v, "\t")
		if strings.HasPrefix(value, arg) {
			out = append(out, prompt.Candidate{Line: name + " " + value, Help: help})
		}
	}
	return out
}

func (m *Model) blockNames() []string {
	var out []string
	if m.run != nil {
		for _, b := range m.run.viewer.Blocks() {
			out = append(out, b.String())
		}
	}
	return out
}

func (m *Model) stageNames() []string {
	var out []string
	for _, s := range m.pane.pipe.Stages() {
		out = append(out, s.String()+"\t"+m.formula(s))
	}
	return out
}

func (m *Model) shapeNames() []string {
	man, _ := m.manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, s := range man.Shapes {
		out = append(out, s.Name+"\t"+s.Shape.String())
	}
	return out
}

func (m *Model) faultNames() []string {
	man, _ := m.manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, f := range man.Faults {
		out = append(out, f.Name+"\t"+f.Help)
	}
	return out
}

func (m *Model) flagValues() []string {
	man, _ := m.manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, f := range man.Flags {
		for _, v := range f.Values {
			out = append(out, fmt.Sprintf("%s=%d\t%s", f.Name, v, f.Help))
		}
	}
	return out
}

func (m *Model) setCommand(arg string) tea.Cmd {
	name, value, ok := strings.Cut(arg, "=")
	n := 1
	if ok {
		var err error
		if n, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
			m.complain(fmt.Sprintf("flag %s: %q is not a number", name, value))
			return nil
		}
	}
	if man, _ := m.manifest(); man != nil {
		if g := man.Gate(name); g != nil && g.Name != probes.GateNone {
			gate := g.Name
			if n == 0 {
				gate = probes.GateNone
			}
			return m.gateCommand(gate.String())
		}
	}
	return m.setFlag(name, n)
}

// breakpoints completes break: what it does, and the stages that it stops at.
func (m *Model) breakpoints() []string { return append([]string{"list", "clear"}, m.knownStages()...) }

// gateNames lists the gates of the request's kernel, none first.
func (m *Model) gateNames() []string {
	if man, _ := m.manifest(); man != nil {
		return man.GateNames()
	}
	return []string{probes.GateNone.String()}
}

// conventionalGates lists the gates that kernels usually have, none first.
func conventionalGates(between string) string {
	return strings.Join(append([]string{probes.GateNone.String()}, configs.ConventionalGates()...), between)
}

func (m *Model) gateCommand(arg string) tea.Cmd {
	have := m.gateNames()
	g := probes.GateNamed(arg)
	if man, _ := m.manifest(); man != nil && man.Gate(arg) != nil {
		g = man.Gate(arg).Name
	} else if !slices.Contains(have, arg) {
		m.complain(fmt.Sprintf("no gate %q (gates: %s)", arg, strings.Join(have, " ")))
		return nil
	}
	if g == m.req.Gate {
		m.say("gate " + g.String() + " it is")
		return nil
	}
	return m.chooseGate(g)
}
