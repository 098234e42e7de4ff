package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// numbers reads n comma-separated numbers.
func numbers(text string, n int) ([]int, bool) {
	parts := strings.Split(text, ",")
	if len(parts) != n {
		return nil, false
	}
	out := make([]int, n)
	for i, p := range parts {
		v, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || v < 0 {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

func (p palette) goBlock(arg string) tea.Cmd {
	for strings.Count(arg, ",") < 2 {
		arg += ",0"
	}
	n, ok := numbers(arg, 3)
	if !ok {
		p.Complain(fmt.Sprintf("block %q: expected X,Y,Z", arg))
		return nil
	}
	if !p.Movable() {
		return p.NothingYet()
	}
	b := probes.Dim3{n[0], n[1], n[2]}
	if !slices.Contains(p.Run.Viewer.Blocks(), b) {
		p.Complain(fmt.Sprintf("block %s was not captured; the grid is %s", b, p.Run.Plan.Grid))
		return nil
	}
	c := p.Cursor
	c.Block = b
	return p.GoTo(c)
}

func (p palette) goStage(arg string) tea.Cmd {
	s, have := probes.Stage(arg), p.StageNames()
	if !slices.Contains(have, arg) {
		p.Complain(fmt.Sprintf("no stage %q (stages: %s)", arg, strings.Join(have, " ")))
		return nil
	}
	c := p.Cursor
	c.Stage = s
	return p.GoTo(c)
}

func (p palette) goKV(arg string) tea.Cmd {
	n, ok := numbers(arg, 1)
	if !ok {
		p.Complain(fmt.Sprintf("%s %q is not a number", p.LoopTile(), arg))
		return nil
	}
	if p.Movable() {
		if lo, count := p.Run.Viewer.Tiles(p.Cursor.Block); n[0] < lo || n[0] >= lo+count {
			p.Complain(fmt.Sprintf("there is no %[1]s %[2]d: block %[3]s has %[1]ss %[4]d to %[5]d",
				p.Run.Plan.Work.TileName(), n[0], p.Cursor.Block, lo, lo+count-1))
			return nil
		}
	}
	return p.StepTile(n[0] - p.Cursor.KVTile)
}

func (p palette) goCell(arg string) tea.Cmd {
	n, ok := numbers(arg, 2)
	if !ok {
		p.Complain(fmt.Sprintf("cell %q: expected ROW,COL", arg))
		return nil
	}
	if !p.Movable() {
		return p.NothingYet()
	}
	c := p.Cursor
	if sp := p.Run.Plan.Stage(c.Stage); sp != nil && (n[0] >= sp.Rows || n[1] >= sp.Cols) {
		p.Complain(fmt.Sprintf("%s has no cell %d,%d: its rows are 0 to %d, its columns 0 to %d",
			c.Stage, n[0],
			n[1], sp.Rows-1, sp.Cols-1))
		return nil
	}
	c.Row, c.Col = n[0], n[1]
	return p.GoTo(c)
}

func (p palette) blockNames() []string {
	var out []string
	if p.Run != nil {
		for _, b := range p.Run.Viewer.Blocks() {
			out = append(out, b.String())
		}
	}
	return out
}

func (p palette) stageNames() []string {
	var out []string
	for _, s := range p.Stages() {
		out = append(out, s.String()+"\t"+p.Formula(s))
	}
	return out
}

func (p palette) shapeNames() []string {
	man, _ := p.Manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, s := range man.Shapes {
		out = append(out, s.Name+"\t"+s.Shape.String())
	}
	return out
}

func (p palette) faultNames() []string {
	man, _ := p.Manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, f := range man.Faults {
		out = append(out, f.Name+"\t"+f.Help)
	}
	if out != nil && man.Fault(noFault) == nil {
		out = append(out, noFault+"\tevery fault is taken out")
	}
	return out
}

// faultWords are what a fault is set to.
func (p palette) faultWords(name string) []string {
	if man, _ := p.Manifest(); man == nil || man.Fault(name) == nil {
		return nil
	}
	return []string{"on", "off"}
}

// noFault takes every fault out, as the gate of that name runs the whole kernel.
const noFault = "none"

// fault is :fault NAME, which switches it as space in view Flags does, :fault NAME on|off, and :fault none.
func (p palette) fault(arg string) tea.Cmd {
	man, _ := p.Manifest()
	if arg == noFault && man != nil && man.Fault(arg) == nil {
		return p.NoFaults()
	}
	name, word, given := strings.Cut(arg, " ")
	if !given || man == nil || man.Fault(name) == nil {
		return p.ToggleFault(name)
	}
	switch n, ok := switched(strings.TrimSpace(word)); {
	case !ok:
		p.Complain(fmt.Sprintf("fault %s: %q is none of on, off", name, word))
		return nil
	case slices.Contains(p.FaultsOn(p.Req), name) == (n == 1):
		p.Say(name + " is " + view.OnOff(n == 1) + " already")
		return nil
	}
	return p.ToggleFault(name)
}

func (p palette) gate(arg string) tea.Cmd {
	have := p.gateNames()
	g := probes.GateNamed(arg)
	if man, _ := p.Manifest(); man != nil && man.Gate(arg) != nil {
		g = man.Gate(arg).Name
	} else if !slices.Contains(have, arg) {
		p.Complain(fmt.Sprintf("no gate %q (gates: %s)", arg, strings.Join(have, " ")))
		return nil
	}
	if g == p.Req.Gate {
		p.Say("gate " + g.String() + " it is")
		return nil
	}
	return p.ChooseGate(g)
}

func (p palette) goView(arg string) tea.Cmd {
	s, ok := p.Keys.ParseScope(arg)
	if !ok {
		p.Complain("no view " + arg)
		return nil
	}
	return p.Open(s)
}

func (p palette) choosePalette(arg string) tea.Cmd {
	if !slices.Contains(theme.Palettes(), arg) {
		p.Complain(fmt.Sprintf("palette %q: expected %s", arg, strings.Join(theme.Palettes(), ", ")))
		return nil
	}
	return p.setPalette(arg)
}

func (p palette) seed(arg string) tea.Cmd {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil {
		p.Complain(fmt.Sprintf("seed %q is not a number from 0 up", arg))
		return nil
	}
	return p.ChooseSeed(n)
}

// with runs the request with its argument in one field.
func (p palette) with(name string, set func(req *debugkern.Request, arg string)) func(string) tea.Cmd {
	return func(arg string) tea.Cmd {
		req := p.NextRequest()
		set(&req, arg)
		return p.Choose(req, name+" "+arg)
	}
}
