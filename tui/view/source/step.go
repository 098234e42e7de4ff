package source

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/tui/view"
)

var unitNames = map[target.Unit]string{
	target.StepInstruction: "instruction", target.StepLine: "line", target.StepBarrier: "barrier",
	target.StepProbe: "probe", walk.StepTurn: "warp", walk.StepRound: "block", walk.StepAsync: "event",
}

// units in the order of their key; the first is a line.
var units = []target.Unit{
	target.StepLine, target.StepInstruction, target.StepBarrier, target.StepProbe, walk.StepTurn,
	walk.StepRound, walk.StepAsync,
}

func (v *Controller) unit() target.Unit { return units[int(v.walk.unit)%len(units)] }

func (v *Controller) nextUnit(string) tea.Cmd {
	v.walk.unit = target.Unit((int(v.walk.unit) + 1) % len(units))
	v.Say("s and < step by " + unitNames[v.unit()])
	return nil
}

// setUnit chooses a unit by name.
func (v *Controller) setUnit(name string) tea.Cmd {
	for i, u := range units {
		if strings.HasPrefix(unitNames[u], name) {
			v.walk.unit = target.Unit(i)
			v.Say("s and < step by " + unitNames[u])
			return nil
		}
	}
	v.Complain(fmt.Sprintf("no unit %q (units: line, instruction, barrier, probe, warp, block, event)", name))
	return nil
}

// moveWalk is a motion that ends at a position, and says it.
func (v *Controller) moveWalk(what string, move func(ctx context.Context,
	w walk.Walk) (walk.Position, error)) tea.Cmd {
	tile := v.LoopTile()
	return v.motion(what, func(ctx context.Context, w walk.Walk) (answer, error) {
		before := w.Position()
		p, err := move(ctx, w)
		return answer{said: view.WordedFor(standing(before, p), tile), lane: -1, runs: true}, err
	})
}

// standing words where a motion ended, where that is not what it looked for.
func standing(before, p walk.Position) string {
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
		if at := fmt.Sprintf("%s:%d", path.Base(p.Source.File), p.Source.Line); !strings.HasPrefix(p.Note,
			at) {
			out += " · " + at
		}
	}
	if p.Note != "" {
		out += " · " + p.Note
	}
	return out
}

func (v *Controller) stepUnit(n int) tea.Cmd {
	u := v.unit()
	return v.moveWalk("stepping by "+unitNames[u],
		func(ctx context.Context, w walk.Walk) (walk.Position, error) { return w.Step(ctx, u, n) })
}

// stepEvent goes to the next moment at which something asynchronous has happened, or to the one before.
func (v *Controller) stepEvent(n int) tea.Cmd {
	return v.moveWalk("stepping to an asynchronous event",
		func(ctx context.Context, w walk.Walk) (walk.Position, error) {
			return w.Step(ctx, walk.StepAsync, n)
		})
}

func (v *Controller) stepOver(n int) tea.Cmd {
	return v.moveWalk("stepping over", func(ctx context.Context, w walk.Walk) (walk.Position,
		error) {
		return w.StepOver(ctx, n)
	})
}

func (v *Controller) stepOut(n int) tea.Cmd {
	return v.moveWalk("stepping out", func(ctx context.Context, w walk.Walk) (walk.Position, error) {
		return w.StepOut(ctx, n)
	})
}

// times is a command that steps some number of times: the argument, else once.
func (v *Controller) times(dir int, move func(n int) tea.Cmd) func(string) tea.Cmd {
	return func(arg string) tea.Cmd {
		n := 1
		if arg != "" {
			var err error
			if n, err = strconv.Atoi(arg); err != nil || n < 1 {
				v.Complain(fmt.Sprintf("%q: expected how many times", arg))
				return nil
			}
		}
		if !v.Movable() {
			return v.NothingYet()
		}
		return tea.Batch(v.toStepping(), v.whenOpen(func() tea.Cmd { return move(dir * n) }))
	}
}

// once is a command without an argument.
func (v *Controller) once(dir int, move func(n int) tea.Cmd) func(string) tea.Cmd {
	return func(string) tea.Cmd { return v.times(dir, move)("") }
}

func (v *Controller) runWalk(n int) tea.Cmd {
	if n < 0 {
		return v.moveWalk("running back", func(ctx context.Context, w walk.Walk) (walk.Position,
			error) {
			return w.Reverse(ctx)
		})
	}
	return v.moveWalk("running", func(ctx context.Context, w walk.Walk) (walk.Position,
		error) {
		return w.Continue(ctx)
	})
}

// seekWalk goes to a moment by number, or to the start or end.
func (v *Controller) seekWalk(arg string) tea.Cmd {
	to := uint64(math.MaxUint64)
	switch arg {
	case "start":
		to = 0
	case "end":
	default:
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			v.Complain(fmt.Sprintf("moment %q: expected a number of steps, start or end", arg))
			return nil
		}
		to = n
	}
	return tea.Batch(v.toStepping(), v.whenOpen(func() tea.Cmd {
		return v.motion("seeking", func(ctx context.Context, w walk.Walk) (answer, error) {
			before := w.Position()
			p, err := w.Seek(ctx, to)
			said := standing(before, p)
			if p.Step < to && to != math.MaxUint64 {
				said = fmt.Sprintf("there is no step %d: the block ends at step %d", to, p.Step)
			}
			return answer{said: said, lane: -1}, err
		})
	}))
}

// toSource shows the Source view.
func (v *Controller) toSource() tea.Cmd {
	if v.shown() {
		return nil
	}
	return v.Root.Open(view.Source)
}

// toStepping shows the Source view, unless a view is on screen that follows the block as well.
func (v *Controller) toStepping() tea.Cmd {
	if v.followed() {
		return nil
	}
	return v.toSource()
}

// turnWarp makes another warp the current one.
func (v *Controller) turnWarp(n int) tea.Cmd {
	all := len(v.walk.shot.warps)
	if all == 0 {
		return v.setWarp(0)
	}
	return v.setWarp(((v.walk.shot.pos.Warp+n)%all + all) % all)
}

// warpCommand is :warp N.
func (v *Controller) warpCommand(arg string) tea.Cmd {
	if !v.Movable() {
		return v.NothingYet()
	}
	return tea.Batch(v.toStepping(), v.whenOpen(func() tea.Cmd {
		n, err := strconv.Atoi(strings.TrimPrefix(arg, "w"))
		if all := len(v.walk.shot.warps); err != nil || n < 0 || n >= all {
			v.Complain(fmt.Sprintf("no warp %q: the block has %d, from 0", arg, all))
			return nil
		}
		return v.setWarp(n)
	}))
}

// lineCommand is :line LINE and :LINE: it shows a line, and leaves the block where it is.
func (v *Controller) lineCommand(arg string) tea.Cmd {
	if !v.Movable() {
		return v.NothingYet()
	}
	return tea.Batch(v.toSource(), v.whenOpen(func() tea.Cmd {
		b, err := v.readBreak(arg)
		if err != nil || b.Line < 1 {
			v.Complain(fmt.Sprintf("line %q: expected LINE or FILE:LINE", arg))
			return nil
		}
		return v.showLine(b.File, b.Line)
	}))
}

func (v *Controller) setWarp(warp int) tea.Cmd {
	return v.motion("choosing a warp", func(_ context.Context, w walk.Walk) (answer, error) {
		w.SetWarp(warp)
		return answer{said: fmt.Sprintf("warp %d is stepped", warp), lane: -1}, nil
	})
}
