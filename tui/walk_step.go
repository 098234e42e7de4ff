package tui

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/tui/keymap"
)

// stepping is what the Source view's own actions do.
func stepping() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Step:       func(m *Model, _ string) tea.Cmd { return m.stepUnit(1) },
		keymap.StepBack:   func(m *Model, _ string) tea.Cmd { return m.stepUnit(-1) },
		keymap.StepOver:   func(m *Model, _ string) tea.Cmd { return m.stepOver(1) },
		keymap.OverBack:   func(m *Model, _ string) tea.Cmd { return m.stepOver(-1) },
		keymap.RunOn:      func(m *Model, _ string) tea.Cmd { return m.runWalk(1) },
		keymap.RunBack:    func(m *Model, _ string) tea.Cmd { return m.runWalk(-1) },
		keymap.Breakpoint: (*Model).toggleBreak,
		keymap.Unit:       (*Model).nextUnit,
		keymap.NextWarp:   func(m *Model, _ string) tea.Cmd { return m.turnWarp(1) },
		keymap.PrevWarp:   func(m *Model, _ string) tea.Cmd { return m.turnWarp(-1) },
	}
}

var unitNames = map[target.Unit]string{
	target.StepInstruction: "instruction", target.StepLine: "line", target.StepBarrier: "barrier", target.StepProbe: "probe",
}

// units in the order of their key; the first is a line.
var units = []target.Unit{target.StepLine, target.StepInstruction, target.StepBarrier, target.StepProbe}

func (m *Model) unit() target.Unit { return units[int(m.walk.unit)%len(units)] }

func (m *Model) nextUnit(string) tea.Cmd {
	m.walk.unit = target.Unit((int(m.walk.unit) + 1) % len(units))
	m.say("s and < step by " + unitNames[m.unit()])
	return nil
}

// setUnit chooses a unit by name.
func (m *Model) setUnit(name string) tea.Cmd {
	for i, u := range units {
		if strings.HasPrefix(unitNames[u], name) {
			m.walk.unit = target.Unit(i)
			m.say("s and < step by " + unitNames[u])
			return nil
		}
	}
	m.complain(fmt.Sprintf("no unit %q (units: line, instruction, barrier, probe)", name))
	return nil
}

// moveWalk is a motion that ends at a position, and says it.
func (m *Model) moveWalk(what string, move func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error)) tea.Cmd {
	return m.motion(what, func(ctx context.Context, w debugkern.Walk) (answer, error) {
		before := w.Position()
		p, err := move(ctx, w)
		return answer{said: standing(before, p), lane: -1}, err
	})
}

// standing words where a motion ended, where that is not what it looked for.
func standing(before, p debugkern.Position) string {
	switch {
	case p.Stop == "end":
		return "the block has ended"
	case p.Stop == "start" && before.Step == 0:
		return "the block's start"
	case p.Stop == "start":
		return "back at the block's start"
	case p.Stop == "deadlock":
		return "no thread can go on: deadlock"
	case p.Stop == "fault":
		return p.Note
	}
	out := "step " + strconv.FormatUint(p.Step, 10)
	if p.Source != nil {
		out += fmt.Sprintf(" · %s:%d", path.Base(p.Source.File), p.Source.Line)
	}
	if p.Note != "" {
		out += " · " + p.Note
	}
	return out
}

func (m *Model) stepUnit(n int) tea.Cmd {
	u := m.unit()
	return m.moveWalk("stepping by "+unitNames[u], func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.Step(ctx, u, n) })
}

func (m *Model) stepOver(n int) tea.Cmd {
	return m.moveWalk("stepping over", func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.StepOver(ctx, n) })
}

func (m *Model) runWalk(n int) tea.Cmd {
	if n < 0 {
		return m.moveWalk("running back", func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.Reverse(ctx) })
	}
	return m.moveWalk("running", func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.Continue(ctx) })
}

// seekWalk goes to a moment by number, or to the start or end.
func (m *Model) seekWalk(arg string) tea.Cmd {
	to := uint64(math.MaxUint64)
	switch arg {
	case "start":
		to = 0
	case "end":
	default:
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			m.complain(fmt.Sprintf("moment %q: expected a number of steps, start or end", arg))
			return nil
		}
		to = n
	}
	return tea.Batch(m.toSource(), m.motion("seeking", func(ctx context.Context, w debugkern.Walk) (answer, error) {
		before := w.Position()
		p, err := w.Seek(ctx, to)
		said := standing(before, p)
		if p.Step < to && to != math.MaxUint64 {
			said = fmt.Sprintf("there is no step %d: the block ends at step %d", to, p.Step)
		}
		return answer{said: said, lane: -1}, err
	}))
}

// toSource shows the Source view.
func (m *Model) toSource() tea.Cmd {
	if m.view == keymap.Source {
		return nil
	}
	return m.show(keymap.Source)
}

// turnWarp makes another warp the current one.
func (m *Model) turnWarp(n int) tea.Cmd {
	all := len(m.walk.shot.warps)
	if all == 0 {
		return m.setWarp(0)
	}
	return m.setWarp(((m.walk.shot.pos.Warp+n)%all + all) % all)
}

func (m *Model) setWarp(warp int) tea.Cmd {
	return m.motion("choosing a warp", func(_ context.Context, w debugkern.Walk) (answer, error) {
		w.SetWarp(warp)
		return answer{said: fmt.Sprintf("warp %d is stepped", warp), lane: -1}, nil
	})
}
