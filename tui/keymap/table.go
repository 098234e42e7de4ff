package keymap

// Default is the table of UI.md.
func Default() *Map {
	var all []Binding
	for _, part := range [][]Binding{moving(), looking(), acting(), fragment(), flags(), stepping(), racing(), general()} {
		all = append(all, part...)
	}
	return New(all)
}

func moving() []Binding {
	const g = "Moving"
	return []Binding{
		{Action: Left, Keys: []string{"h", "left"}, Label: "h ←", Help: "left", Group: g},
		{Action: Down, Keys: []string{"j", "down"}, Label: "j ↓", Help: "down", Group: g},
		{Action: Up, Keys: []string{"k", "up"}, Label: "k ↑", Help: "up", Group: g},
		{Action: Right, Keys: []string{"l", "right"}, Label: "l →", Help: "right", Group: g},
		{Action: NextStage, Keys: []string{"J"}, Label: "J", Help: "next stage", Group: g},
		{Action: PrevStage, Keys: []string{"K"}, Label: "K", Help: "previous stage", Group: g},
		{Action: PrevTile, Keys: []string{"H"}, Label: "H", Help: "previous kv tile", Group: g},
		{Action: NextTile, Keys: []string{"L"}, Label: "L", Help: "next kv tile", Group: g},
		{Action: PrevBlock, Keys: []string{"{"}, Label: "{", Help: "previous block", Group: g},
		{Action: NextBlock, Keys: []string{"}"}, Label: "}", Help: "next block", Group: g},
		{Action: NextBad, Keys: []string{"n"}, Label: "n", Help: "next bad cell (next match while a search is active)", Here: map[Scope]string{Races: "next finding", Frag: "next entry that the table has wrong, else bad cell", Gates: "next red variant or case"}, Hint: "next bad", HintIn: []Scope{Pipe, Tile}, Group: g, In: []Scope{Pipe, Tile, Frag, Flags, Races, Gates}},
		{Action: PrevBad, Keys: []string{"N"}, Label: "N", Help: "previous bad cell (or match)", Here: map[Scope]string{Races: "previous finding", Frag: "the one before", Gates: "the one before"}, Group: g, In: []Scope{Pipe, Tile, Frag, Flags, Races, Gates}},
		{Action: Top, Keys: []string{"g g", "home"}, Label: "gg", Help: "first row", Group: g},
		{Action: Bottom, Keys: []string{"G", "end"}, Label: "G", Help: "last row", Group: g},
		{Action: RowStart, Keys: []string{"0"}, Label: "0", Help: "first column", Group: g},
		{Action: RowEnd, Keys: []string{"$"}, Label: "$", Help: "last column", Group: g},
		{Action: PageDown, Keys: []string{"ctrl+d", "pgdown"}, Label: "Ctrl-d", Help: "half a page down", Group: g},
		{Action: PageUp, Keys: []string{"ctrl+u", "pgup"}, Label: "Ctrl-u", Help: "half a page up", Group: g},
		{Action: SetMark, Keys: []string{"m *"}, Label: "m a", Help: "set bookmark a", Group: g},
		{Action: GoMark, Keys: []string{"' *"}, Label: "' a", Help: "go to bookmark a", Group: g},
		{Action: Back, Keys: []string{"u"}, Label: "u", Help: "cursor back", Group: g},
		{Action: Forward, Keys: []string{"ctrl+r"}, Label: "Ctrl-r", Help: "cursor forward", Group: g},
	}
}

func looking() []Binding {
	const g = "Looking"
	tile := []Scope{Tile}
	return []Binding{
		{Action: Heat, Keys: []string{"z"}, Label: "z", Help: "heat: tinted numbers, map of the tile, off", Hint: "heat", Group: g, In: tile},
		{Action: Format, Keys: []string{"v"}, Label: "v", Help: "number format: fixed, sci, hex, bits, ulp", Here: map[Scope]string{Frag: "the tile shows lane, element, value, error", Source: "registers: by type, hexadecimal, signed, pairs of f16"}, Hint: "format", HintIn: tile, Group: g, In: []Scope{Tile, Frag, Source}},
		{Action: Diff, Keys: []string{"d"}, Label: "d", Help: "error as abs, rel, ulp, off", Here: map[Scope]string{Races: "diagnose: every checker, several schedules, causes with proof", Frag: "grid shows the kernel's own table, or the hardware's map"}, Hint: "diff", HintIn: tile, HintHere: map[Scope]string{Races: "diagnose"}, Group: g, In: []Scope{Tile, Frag, Races}},
		{Action: BoundUp, Keys: []string{"t"}, Label: "t", Help: "wider bound: derived, 1 ulp, 2 ulp, …", Here: map[Scope]string{Races: "open the finding in Tile"}, Group: g, In: []Scope{Tile, Races}},
		{Action: BoundDown, Keys: []string{"T"}, Label: "T", Help: "narrower bound", Group: g, In: tile},
		{Action: Follow, Keys: []string{"f"}, Label: "f", Help: "source follows the cell's writer", Here: map[Scope]string{Source: "source, PTX and kv tile follow the warp and each other"}, Group: g, In: []Scope{Tile, Source}},
		{Action: Who, Keys: []string{"w"}, Label: "w", Help: "who wrote this cell; again: go there", Here: map[Scope]string{Source: "who wrote this register or shared cell: go to the last write, then the one before"}, Hint: "who", HintIn: []Scope{Source}, Group: g, In: []Scope{Tile, Frag, Source}},
		{Action: Columns, Keys: []string{"D"}, Label: "D", Help: "columns after --backend both: GPU, emulator, reference, error", Group: g, In: tile},
		{Action: Search, Keys: []string{"/"}, Label: "/", Help: "search: text, nan, inf, bad, >1.5, 0x4140", Group: g, In: []Scope{Pipe, Tile, Flags}},
		{Action: Filter, Keys: []string{"&"}, Label: "&", Help: "show only what matches", Here: map[Scope]string{Races: "show only what matches: race, error, advice, a variable"}, Group: g, In: []Scope{Pipe, Tile, Flags, Races}},
		{Action: Palette, Keys: []string{"c"}, Label: "c", Help: "next palette: cividis, viridis, grey", Group: g},
		{Action: Grow, Keys: []string{"+"}, Label: "+", Help: "focused pane larger", Here: map[Scope]string{Frag: "leading dimension up"}, Group: g},
		{Action: Shrink, Keys: []string{"_", "-"}, Label: "_ -", Help: "focused pane smaller", Here: map[Scope]string{Frag: "leading dimension down"}, Group: g},
	}
}

func fragment() []Binding {
	const g = "Fragment"
	in := []Scope{Frag}
	return []Binding{
		{Action: NextFrag, Keys: []string{"o"}, Label: "o", Help: "next fragment: acc a b, type, row or col in memory", Hint: "fragment", Group: g, In: in},
		{Action: PrevFrag, Keys: []string{"O"}, Label: "O", Help: "previous fragment", Group: g, In: in},
		{Action: Introspect, Keys: []string{"I"}, Label: "I", Help: "introspect on the other backend: emulator, GPU", Group: g, In: in},
		{Action: Swizzle, Keys: []string{"W"}, Label: "W", Help: "XOR swizzle of the bank strip: none, n&1, n&3, n&7", Hint: "swizzle", Group: g, In: in},
		{Action: Matrix, Keys: []string{"M"}, Label: "M", Help: "moved by each lane, or as ldmatrix", Group: g, In: in},
	}
}

func acting() []Binding {
	const g = "Acting"
	return []Binding{
		{Action: Open, Keys: []string{"enter"}, Label: "Enter", Help: "open the cell in Tile; in Flags as space; in GPU run on the device", Here: map[Scope]string{Races: "the line in Source", Gates: "open the variant, or the case under the cursor, in Pipe", Source: "run to this line; step this warp; open this cell in Tile"}, Hint: "open", HintIn: []Scope{Pipe, Gates, GPU}, HintHere: map[Scope]string{Races: "source"}, Group: g, In: []Scope{Pipe, Flags, Races, Gates, GPU, Source}},
		{Action: Toggle, Keys: []string{"space"}, Label: "Space", Help: "toggle and run again", Here: map[Scope]string{Races: "fold or unfold advice", Gates: "judge this variant"}, Hint: "toggle", HintIn: []Scope{Flags}, Group: g, In: []Scope{Flags, Races, Gates}},
		{Action: Again, Keys: []string{"x"}, Label: "x", Help: "run again", Here: map[Scope]string{Gates: "judge every variant, or go on where it was cancelled"}, Hint: "judge", HintIn: []Scope{Gates}, Group: g},
		{Action: AgainEmu, Keys: []string{"X"}, Label: "X", Help: "run the same on the emulator", Here: map[Scope]string{Gates: "judge every variant on the emulator"}, Group: g},
		{Action: Yank, Keys: []string{"y"}, Label: "y", Help: "copy what is under the cursor (OSC 52)", Group: g},
		{Action: Edit, Keys: []string{"e"}, Label: "e", Help: "open the source line in $EDITOR", Group: g},
	}
}

func flags() []Binding {
	const g = "Comparing"
	in := []Scope{Flags}
	return []Binding{
		{Action: Pin, Keys: []string{"a"}, Label: "a", Help: "pin this run as A; every later run is B beside it", Hint: "pin A", Group: g, In: in},
		{Action: Unpin, Keys: []string{"A"}, Label: "A", Help: "unpin A", Group: g, In: in},
		{Action: Bisect, Keys: []string{"B"}, Label: "B", Help: "bisect: smallest set of flags and faults between A and B that turns the verdict", Hint: "bisect", Group: g, In: in},
		{Action: Versus, Keys: []string{"C"}, Label: "C", Help: "compare A with B, kernel against kernel, tile by tile", Hint: "compare", Group: g, In: in},
	}
}

func stepping() []Binding {
	const g = "Stepping"
	in := []Scope{Source}
	return []Binding{
		{Action: Step, Keys: []string{"s", ">"}, Label: "s >", Help: "step a unit", Hint: "step", Group: g, In: in},
		{Action: StepBack, Keys: []string{"<", "backspace"}, Label: "<", Help: "step a unit back (also Backspace)", Hint: "back", Group: g, In: in},
		{Action: StepOver, Keys: []string{"S", ")"}, Label: "S )", Help: "step over: to the next line of the kernel's own body", Group: g, In: in},
		{Action: OverBack, Keys: []string{"("}, Label: "(", Help: "step over, backwards", Group: g, In: in},
		{Action: Unit, Keys: []string{"U"}, Label: "U", Help: "unit of s and <: line, instruction, barrier, probe", Hint: "unit", Group: g, In: in},
		{Action: RunOn, Keys: []string{"r"}, Label: "r", Help: "run to the next breakpoint or the end", Hint: "run", Group: g, In: in},
		{Action: RunBack, Keys: []string{"R"}, Label: "R", Help: "run back to the breakpoint before or the start", Hint: "reverse", Group: g, In: in},
		{Action: Breakpoint, Keys: []string{"b"}, Label: "b", Help: "breakpoint on this line; in SHARED on a change of this cell (:break for stages)", Hint: "break", Group: g, In: in},
		{Action: PrevWarp, Keys: []string{","}, Label: ",", Help: "step the warp before", Group: g, In: in},
		{Action: NextWarp, Keys: []string{"."}, Label: ".", Help: "step the next warp", Group: g, In: in},
	}
}

func racing() []Binding {
	races := []Scope{Races}
	return []Binding{
		{Action: WhatIf, Keys: []string{"i"}, Label: "i", Help: "what if it were put right, or this synchronisation away: virtually, nothing is compiled", Hint: "what if", Group: "Races", In: races},
		{Action: Replay, Keys: []string{"p"}, Label: "p", Help: "replay the schedule that changes most", Hint: "replay", Group: "Races", In: races},
	}
}

func general() []Binding {
	const g = "General"
	return []Binding{
		{Action: NextPane, Keys: []string{"tab"}, Label: "Tab", Help: "next pane", Hint: "pane", Group: g},
		{Action: PrevPane, Keys: []string{"shift+tab"}, Label: "S-Tab", Help: "previous pane", Group: g},
		{Action: View, Keys: []string{"1", "2", "3", "4", "5", "6", "7", "8"}, Label: "1-8", Help: "view: Pipe Tile Frag Flags Races Gates GPU Source", Group: g},
		{Action: PrevView, Keys: []string{"["}, Label: "[", Help: "previous view", Group: g},
		{Action: NextView, Keys: []string{"]"}, Label: "]", Help: "next view", Group: g},
		{Action: Command, Keys: []string{":", "ctrl+p"}, Label: ":", Help: "command (also Ctrl-p); Tab completes", Hint: "command", Group: g},
		{Action: Help, Keys: []string{"?"}, Label: "?", Help: "this help", Hint: "help", Group: g},
		{Action: Cancel, Keys: []string{"esc"}, Label: "Esc", Help: "cancel a run, a search, a filter; back", Group: g},
		{Action: Interrupt, Keys: []string{"ctrl+c"}, Label: "Ctrl-C", Help: "cancel running work, else quit", Group: g},
		{Action: Suspend, Keys: []string{"ctrl+z"}, Label: "Ctrl-Z", Help: "back to the shell; fg resumes", Group: g},
		{Action: Quit, Keys: []string{"q"}, Label: "q", Help: "quit", Hint: "quit", Group: g},
	}
}
