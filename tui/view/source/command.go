package source

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/view"
)

// Commands implements view.Commander. Their names are those of delve and gdb where these have one.
func (v *Controller) Commands() []view.Command {
	all := append(v.stepping(), v.stopping()...)
	for i := range all {
		all[i].Group = view.PlaceCommands
	}
	return all
}

// also is a command that other words find too.
func also(words string, c view.Command) view.Command {
	c.Also = words
	return c
}

// stepping are the commands that move the block, and say where it stands.
func (v *Controller) stepping() []view.Command {
	step := func(name, short, help string, dir int, move func(n int) tea.Cmd) view.Command {
		return view.Command{Name: name, Short: short, Arg: "[TIMES]", Help: help, Do: v.times(dir, move),
			Fits: func(arg string) bool { _, err := strconv.Atoi(arg); return err == nil }}
	}
	run := func(name, short, help string, dir int) view.Command {
		return view.Command{Name: name, Short: short, Help: help, Do: v.once(dir, v.runWalk)}
	}
	return []view.Command{
		step("step", "s", "one step on, into functions that are called", 1, v.stepUnit),
		step("next", "n", "to the next line of this function, over the functions it calls", 1, v.stepOver),
		also("finish", step("stepout", "so", "out of this function, to its caller", 1, v.stepOut)),
		run("continue", "c", "run to the next breakpoint or the end", 1),
		{Name: "until", Arg: "[LINE|FILE:LINE]", Help: "run to a line, else to the one under the cursor",
			Do: v.until},
		step("reverse-step", "rs", "one step back", -1, v.stepUnit),
		step("reverse-next", "rn", "to the line before of this function", -1, v.stepOver),
		step("reverse-stepout", "rso", "back to before this function was called", -1, v.stepOut),
		run("reverse-continue", "rc", "run back to the breakpoint before or the start", -1),
		step("event", "ev", "to the next asynchronous event", 1, v.stepEvent),
		step("reverse-event", "rev", "to the asynchronous event before", -1, v.stepEvent),
		{Name: "seek", Arg: "STEP|start|end", Help: "go to a moment of the block in Source", Also: "restart",
			Values: view.Words("start", "end"), Do: v.seekWalk},
		{Name: "unit", Arg: "NAME", Help: "what s and < step by in Source",
			Values: view.Words("line", "instruction", "barrier", "probe\ta tile captured",
				"warp\tthe schedule goes on with another warp", "block\tevery warp has begun another line",
				"event\tan asynchronous operation is issued or lands, or a phase of an mbarrier is complete"),
			Do: v.setUnit},
		{Name: "warp", Arg: "N", Help: "which warp is stepped", Do: v.warpCommand},
		{Name: "line", Arg: "LINE|FILE:LINE", Help: "show a line in Source (also :LINE); the block stays",
			Also: "list", Do: v.lineCommand},
		{Name: "stack", Short: "bt", Help: "the calls that lead to where the warp stands",
			Also: "backtrace where frames",
			Do:   func(string) tea.Cmd { return v.openList(listCalls) }},
	}
}

// stopping are the commands of breakpoints and values.
func (v *Controller) stopping() []view.Command {
	return []view.Command{
		{Name: "break", Short: "b", Arg: "LINE|FILE:LINE|STAGE|ARRAY[R][C]|list|clear [if EXPR] [hits OP N]",
			Help: "breakpoint in Source", Values: v.breakpoints, Do: v.breakCommand},
		{Name: "breakpoints", Short: "bp", Help: "list them, with conditions and how often each was hit",
			Also: "info",
			Do:   func(string) tea.Cmd { return v.openList(listBreaks) }},
		{Name: "condition", Short: "cond", Arg: "N [EXPR] [hits OP N]",
			Help:   "when breakpoint N stops, as %f12 > 1.9 && warp == 1, sP[3][lane] != 0; nothing: always",
			Values: v.breakNumbers, Do: v.conditionCommand},
		{Name: "enable", Arg: "[N]", Help: "enable a breakpoint, or all", Values: v.breakNumbers,
			Do: v.enable(true)},
		{Name: "disable", Arg: "[N]", Help: "disable a breakpoint, or all", Values: v.breakNumbers,
			Do: v.enable(false)},
		{Name: "delete", Arg: "N", Help: "delete a breakpoint", Values: v.breakNumbers, Do: v.deleteBreaks},
		{Name: "clear", Arg: "[N]", Help: "delete a breakpoint, or all", Values: v.breakNumbers,
			Do: v.deleteBreaks},
		{Name: "watch", Arg: "EXPR", Help: "show a value at every stop: sP[3][4], %f12@3, m_smem[warp]; q, k: the cell in Tile, row, col: " +
			"in SHARED",
			Values: v.nameable, Do: v.watchCommand},
		{Name: "display", Arg: "EXPR", Help: "as watch", Values: v.nameable, Do: v.watchCommand},
		{Name: "unwatch", Short: "undisplay", Arg: "[N]", Help: "end a watch, or all", Values: v.watchNumbers,
			Do: v.unwatch},
		{Name: "print", Short: "p", Arg: "EXPR", Help: "the value of an expression now", Values: v.nameable,
			Also: "inspect examine evaluate locals",
			Do:   v.printCommand},
		{Name: "array", Arg: "NAME", Help: "shared array on screen in Source", Values: v.arrayNames,
			Do: v.chooseArray},
	}
}
