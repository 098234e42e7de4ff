package keymap

import (
	"slices"
	"strconv"
)

// common are the actions that more than one view may have. What works in some views only (Some) is used by
// their layers.
func common() []Binding { return slices.Concat(moving(), looking(), acting()) }

func moving() []Binding {
	const g = "Moving"
	return []Binding{
		{Action: Left, Keys: []string{"h", "left"}, Label: "h ←", Help: "left", Group: g, Counts: true},
		{Action: Down, Keys: []string{"j", "down"}, Label: "j ↓", Help: "down", Group: g, Counts: true},
		{Action: Up, Keys: []string{"k", "up"}, Label: "k ↑", Help: "up", Group: g, Counts: true},
		{Action: Right, Keys: []string{"l", "right"}, Label: "l →", Help: "right", Group: g, Counts: true},
		{Action: NextStage, Keys: []string{"J"}, Label: "J", Help: "next stage", Group: g, Counts: true},
		{Action: PrevStage, Keys: []string{"K"}, Label: "K", Help: "previous stage", Group: g, Counts: true},
		{Action: PrevTile, Keys: []string{"H"}, Label: "H", Help: "previous kv tile", Group: g, Counts: true},
		{Action: NextTile, Keys: []string{"L"}, Label: "L", Help: "next kv tile", Group: g, Counts: true},
		{Action: PrevBlock, Keys: []string{"{"}, Label: "{", Help: "previous block", Group: g, Counts: true},
		{Action: NextBlock, Keys: []string{"}"}, Label: "}", Help: "next block", Group: g, Counts: true},
		{Action: NextBad, Keys: []string{"n"}, Label: "n",
			Help: "next bad cell (next match while a search is active)", Group: g, Some: true, Counts: true},
		{Action: PrevBad, Keys: []string{"N"}, Label: "N", Help: "previous bad cell (or match)", Group: g,
			Some: true, Counts: true},
		{Action: Top, Keys: []string{"g g", "home"}, Label: "gg", Help: "first row", Group: g},
		{Action: Bottom, Keys: []string{"G", "end"}, Label: "G", Help: "last row", Group: g},
		{Action: RowStart, Keys: []string{"0"}, Label: "0", Help: "first column", Group: g},
		{Action: RowEnd, Keys: []string{"$"}, Label: "$", Help: "last column", Group: g},
		{Action: PageDown, Keys: []string{"ctrl+f", "pgdown"}, Label: "Ctrl-f",
			Help:  "a page down (also PgDn)",
			Group: g, Counts: true},
		{Action: PageUp, Keys: []string{"ctrl+b", "pgup"}, Label: "Ctrl-b", Help: "a page up (also PgUp)",
			Group: g, Counts: true},
		{Action: HalfDown, Keys: []string{"ctrl+d"}, Label: "Ctrl-d", Help: "half a page down", Group: g,
			Counts: true},
		{Action: HalfUp, Keys: []string{"ctrl+u"}, Label: "Ctrl-u", Help: "half a page up", Group: g,
			Counts: true},
		{Action: Count, Keys: []string{"#"}, Label: "#", Help: "count: #5j is j five times", Group: g},
		{Action: SetMark, Keys: []string{"m *"}, Label: "m a", Help: "set bookmark a", Group: g},
		{Action: GoMark, Keys: []string{"' *"}, Label: "' a", Help: "go to bookmark a", Group: g},
		{Action: Back, Keys: []string{"u"}, Label: "u", Help: "cursor back", Group: g, Counts: true},
		{Action: Forward, Keys: []string{"ctrl+r"}, Label: "Ctrl-r", Help: "cursor forward", Group: g,
			Counts: true},
	}
}

func looking() []Binding {
	const g = "Looking"
	return []Binding{
		{Action: Heat, Keys: []string{"z"}, Label: "z", Help: "heat: tinted numbers, map of the tile, off",
			Group: g, Some: true},
		{Action: Format, Keys: []string{"v"}, Label: "v", Help: "number format: fixed, sci, hex, bits, ulp",
			Group: g, Some: true},
		{Action: Diff, Keys: []string{"d"}, Label: "d", Help: "error as abs, rel, ulp, off",
			Group: g, Some: true},
		{
			Action: BoundUp, Keys: []string{"t"}, Label: "t",
			Help: "wider bound: derived, 1 ulp, 2 ulp, …", Group: g,
			Some: true,
		},
		{Action: BoundDown, Keys: []string{"T"}, Label: "T", Help: "narrower bound", Group: g, Some: true},
		{Action: Follow, Keys: []string{"f"}, Label: "f", Help: "source follows the cell's writer", Group: g,
			Some: true},
		{Action: Who, Keys: []string{"w"}, Label: "w", Help: "who wrote this cell; again: go there", Group: g,
			Some: true},
		{
			Action: How, Keys: []string{"W"}, Label: "W",
			Help: "how this cell came about: its lineage", Group: g,
			Some: true,
		},
		{Action: Columns, Keys: []string{"D"}, Label: "D",
			Help: "columns after --backend both: GPU, emulator, reference, error", Group: g, Some: true},
		{Action: Search, Keys: []string{"/"}, Label: "/", Help: "search: text, nan, inf, bad, >1.5, 0x4140",
			Group: g, Some: true},
		{Action: Filter, Keys: []string{"&"}, Label: "&", Help: "show only what matches",
			Group: g, Some: true},
		{Action: Palette, Keys: []string{"c"}, Label: "c",
			Help: "next colours: cividis, viridis, grey", Group: g},
		{Action: Grow, Keys: []string{"+"}, Label: "+", Help: "focused pane larger", Group: g, Counts: true},
		{Action: Shrink, Keys: []string{"_", "-"}, Label: "_ -", Help: "focused pane smaller", Group: g,
			Counts: true},
		{Action: Zoom, Keys: []string{"Z"}, Label: "Z", Help: "focused pane on the whole screen, and back",
			Group: g},
	}
}

func acting() []Binding {
	const g = "Acting"
	return []Binding{
		{Action: Diagnose, Keys: []string{"d"}, Label: "d",
			Help: "diagnose: every checker, several schedules, causes with proof", Group: g, Some: true},
		{Action: Open, Keys: []string{"enter"}, Label: "Enter",
			Help: "open the cell in Tile; in Flags as space; in GPU run on the device", Group: g, Some: true},
		{Action: Toggle, Keys: []string{"space"}, Label: "Space", Help: "toggle and run again", Group: g,
			Some: true},
		{Action: Again, Keys: []string{"x"}, Label: "x", Help: "run again", Group: g},
		{Action: AgainEmu, Keys: []string{"X"}, Label: "X", Help: "run the same on the emulator", Group: g},
		{Action: Yank, Keys: []string{"y"}, Label: "y",
			Help: "copy what is under the cursor (OSC 52)", Group: g},
		{Action: Edit, Keys: []string{"e"}, Label: "e", Help: "open the source line in $EDITOR", Group: g},
	}
}

func general(layers []Layer) []Binding {
	const g = "General"
	keys, names := []string{}, "view:"
	for i, l := range layers {
		names += " " + string(l.Name)
		if i < 9 { // the others are reached by [ and ], and by their names
			keys = append(keys, strconv.Itoa(i+1))
		}
	}
	return []Binding{
		{Action: NextPane, Keys: []string{"tab"}, Label: "Tab", Help: "next pane", Hint: "pane", Group: g},
		{Action: PrevPane, Keys: []string{"shift+tab"}, Label: "S-Tab", Help: "previous pane", Group: g},
		{Action: View, Keys: keys, Label: "1-" + strconv.Itoa(len(keys)), Help: names, Group: g,
			Fixed: true},
		{Action: PrevView, Keys: []string{"["}, Label: "[", Help: "previous view", Group: g},
		{Action: NextView, Keys: []string{"]"}, Label: "]", Help: "next view", Group: g},
		{
			Action: Command, Keys: []string{":", "ctrl+p"}, Label: ":",
			Help: "palette: every command and action by name (also Ctrl-p)",
			Hint: "command", Group: g,
		},
		{Action: Help, Keys: []string{"?"}, Label: "?", Help: "this help", Hint: "help", Group: g},
		{Action: Messages, Label: ":messages", Help: "every message of this session, with its time",
			Group: g},
		{Action: Tour, Label: ":tour", Help: "a tutorial of two minutes on a planted fault", Group: g},
		{Action: SkipStep, Keys: []string{"ctrl+n"}, Label: "Ctrl-n", Help: "skip a step of the tour",
			Group: g},
		{Action: Cancel, Keys: []string{"esc"}, Label: "Esc",
			Help: "close what is open; cancel a run, a search, a filter; back to the view before", Group: g, Fixed: true},
		{Action: Interrupt, Keys: []string{"ctrl+c"}, Label: "Ctrl-C", Help: "cancel running work, else quit",
			Group: g, Fixed: true},
		{Action: Suspend, Keys: []string{"ctrl+z"}, Label: "Ctrl-Z", Help: "back to the shell; fg resumes",
			Group: g},
		{Action: Quit, Keys: []string{"q"}, Label: "q", Help: "close what is open, else quit", Hint: "quit",
			Group: g},
	}
}
