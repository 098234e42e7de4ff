package theme

import "slices"

// colour is a named colour: one of xterm's 256 by its RGB, and one of the sixteen. Text, borders and bars are
// written as one of 256 on every terminal that has them, which is half the bytes of 24 bits.
type colour struct {
	rgb  uint32
	ansi int // 0-15, -1 for the terminal's own
}

// plain is the terminal's own colour.
var plain = colour{ansi: -1}

// table is the colours of one theme. Colours without a ground of their own stand on the terminal's, which a
// dark theme takes to lie between black and #282c34, a light one between white and #fdf6e3.
type table struct {
	name  string
	light bool
	paper uint32 // ground and text of pictures, where there is no terminal
	ink   uint32

	dim, border, focus, title, accent colour
	ok, wrong, taint, busy            colour

	bar, barText, barDim, barStrong colour // the ground of bars, and what stands on it
	pick, pickText                  colour // a chosen row

	syntax [numClasses]colour // of source code; of what a search found, the ground under black text

	// Errors. Those within the bound have no ground and recede; the ground of those beyond it starts where it
	// stands out from the terminal's and leads the further out, the larger they are.
	near   [2]colour   // text of errors close to their bound, below and above
	beyond [2][]uint32 // anchors of the grounds
	few    [2][]int    // the same among the sixteen
}

// Okabe and Ito's colours (2008) can be told apart with every form of colour blindness; where one of them is
// too close to the ground, its hue is kept and its lightness is not.
var tables = []table{
	{
		name: "dark", paper: 0x0d1117, ink: 0xd6dbe2,
		dim: colour{0x949494, 7}, border: colour{0x949494, 7}, focus: colour{0x5fafff, 14},
		title: colour{0xeeeeee, 15}, accent: colour{0x5fafff, 14}, ok: colour{0x5faf87, 10},
		wrong: colour{0xff875f, 9}, taint: colour{0xd7af5f, 11}, busy: colour{0xd7af5f, 11},
		bar: colour{0x3a3a3a, 4}, barText: colour{0xeeeeee, 15}, barDim: colour{0xb2b2b2, 7},
		barStrong: colour{0x87d7ff, 14}, pick: colour{0x005f87, 4}, pickText: colour{0xffffff, 15},
		syntax: [numClasses]colour{
			Keyword: {0x87afd7, 14}, TypeName: {0x87afaf, 6}, Number: {0xd7af87, 11}, String: {0xafaf87, 10},
			Directive: {0xafafd7, 13}, Builtin: {0x87afaf, 6}, Found: {0xd7af5f, 11},
		},
		near:   [2]colour{{0x87afd7, 7}, {0xd7af87, 7}},
		beyond: [2][]uint32{{0x3a86d4, 0x9fd4ff}, {0xd9651a, 0xffd9a0}},
		few:    [2][]int{{12, 14}, {9, 11}},
	},
	{
		name: "light", light: true, paper: 0xffffff, ink: 0x1f2328,
		dim: colour{0x6c6c6c, -1}, border: colour{0x6c6c6c, 12}, focus: colour{0x005fd7, 4},
		title: colour{0x121212, -1}, accent: colour{0x005fd7, 4}, ok: colour{0x005f5f, 4},
		wrong: colour{0xd70000, 1}, taint: colour{0x875f00, 5}, busy: colour{0x875f00, 5},
		bar: colour{0xdadada, 7}, barText: colour{0x121212, 0}, barDim: colour{0x585858, 0},
		barStrong: colour{0x005f87, 4}, pick: colour{0xafd7ff, 4}, pickText: colour{0x000000, 15},
		syntax: [numClasses]colour{
			Keyword: {0x005faf, 4}, TypeName: {0x005f5f, 12}, Number: {0x875f00, 5}, String: {0x5f5f00, -1},
			Directive: {0x5f5faf, 5}, Builtin: {0x005f5f, 12}, Found: {0xffd787, 11},
		},
		near:   [2]colour{{0x005f87, -1}, {0x875f00, -1}},
		beyond: [2][]uint32{{0x3f86cc, 0x08306b}, {0xc96a10, 0x7a2800}},
		few:    [2][]int{{12, 4}, {9, 1}},
	},
	{
		name: "high-contrast", paper: 0x000000, ink: 0xffffff,
		dim: colour{0xd0d0d0, 7}, border: colour{0xd0d0d0, 7}, focus: colour{0x87ffff, 14},
		title: colour{0xffffff, 15}, accent: colour{0x87ffff, 14}, ok: colour{0x87ff87, 10},
		wrong: colour{0xffaf87, 11}, taint: colour{0xffff87, 13}, busy: colour{0xffff87, 11},
		bar: colour{0xffffff, 15}, barText: colour{0x000000, 0}, barDim: colour{0x303030, 0},
		barStrong: colour{0x00005f, 4}, pick: colour{0xffff5f, 11}, pickText: colour{0x000000, 0},
		syntax: [numClasses]colour{
			Keyword: {0xafd7ff, 14}, TypeName: {0xafffd7, 6}, Number: {0xffd7af, 11}, String: {0xd7ffaf, 10},
			Directive: {0xd7afff, 13}, Builtin: {0xafffd7, 6}, Found: {0xffff5f, 11},
		},
		near:   [2]colour{{0xafd7ff, 7}, {0xffd7af, 7}},
		beyond: [2][]uint32{{0x4da6ff, 0xd6ecff}, {0xff9a3c, 0xffeeb8}},
		few:    [2][]int{{12, 14}, {9, 11}},
	},
	{
		name: "high-contrast-light", light: true, paper: 0xffffff, ink: 0x000000,
		dim: colour{0x444444, -1}, border: colour{0x444444, -1}, focus: colour{0x0000af, 4},
		title: colour{0x000000, 0}, accent: colour{0x0000af, 4}, ok: colour{0x005f00, 4},
		wrong: colour{0x870000, 1}, taint: colour{0x5f0087, 5}, busy: colour{0x5f0087, 5},
		bar: colour{0x000000, 0}, barText: colour{0xffffff, 15}, barDim: colour{0xd0d0d0, 7},
		barStrong: colour{0x87ffff, 14}, pick: colour{0x0000af, 4}, pickText: colour{0xffffff, 15},
		syntax: [numClasses]colour{
			Keyword: {0x0000af, 4}, TypeName: {0x005f00, 12}, Number: {0x5f0000, 5}, String: {0x5f0087, -1},
			Directive: {0x00005f, 5}, Builtin: {0x005f00, 12}, Found: {0xffff5f, 11},
		},
		near:   [2]colour{{0x00005f, -1}, {0x5f0000, -1}},
		beyond: [2][]uint32{{0x0058c0, 0x001a4d}, {0xa84400, 0x401800}},
		few:    [2][]int{{12, 4}, {9, 1}},
	},
	{
		name: "colour-blind", paper: 0x0d1117, ink: 0xd6dbe2,
		dim: colour{0x949494, 7}, border: colour{0x949494, 7}, focus: colour{0x5fafff, 14},
		title: colour{0xeeeeee, 15}, accent: colour{0x5fafff, 14}, ok: colour{0x00af87, 14},
		wrong: colour{0xffaf00, 11}, taint: colour{0xd787af, 13}, busy: colour{0xd7d75f, 15},
		bar: colour{0x3a3a3a, 4}, barText: colour{0xeeeeee, 15}, barDim: colour{0xb2b2b2, 7},
		barStrong: colour{0x87d7ff, 14}, pick: colour{0x005f87, 4}, pickText: colour{0xffffff, 15},
		syntax: [numClasses]colour{
			Keyword: {0x87afd7, 14}, TypeName: {0x87afaf, 6}, Number: {0xd7af87, 11}, String: {0xafaf87, 10},
			Directive: {0xafafd7, 13}, Builtin: {0x87afaf, 6}, Found: {0xd7af5f, 11},
		},
		near:   [2]colour{{0x87afd7, 7}, {0xd7af87, 7}},
		beyond: [2][]uint32{{0x3a86d4, 0x9fd4ff}, {0xd9651a, 0xffd9a0}},
		few:    [2][]int{{12, 14}, {9, 11}},
	},
	{
		name: "colour-blind-light", light: true, paper: 0xffffff, ink: 0x1f2328,
		dim: colour{0x6c6c6c, -1}, border: colour{0x6c6c6c, 12}, focus: colour{0x005faf, 4},
		title: colour{0x121212, -1}, accent: colour{0x005faf, 4}, ok: colour{0x005f5f, 4},
		wrong: colour{0x875f00, 1}, taint: colour{0x87005f, 5}, busy: colour{0x87005f, 5},
		bar: colour{0xdadada, 7}, barText: colour{0x121212, 0}, barDim: colour{0x585858, 0},
		barStrong: colour{0x005f87, 4}, pick: colour{0xafd7ff, 4}, pickText: colour{0x000000, 15},
		syntax: [numClasses]colour{
			Keyword: {0x005faf, 4}, TypeName: {0x005f5f, 12}, Number: {0x875f00, 5}, String: {0x5f5f00, -1},
			Directive: {0x5f5faf, 5}, Builtin: {0x005f5f, 12}, Found: {0xffd787, 11},
		},
		near:   [2]colour{{0x005f87, -1}, {0x875f00, -1}},
		beyond: [2][]uint32{{0x3f86cc, 0x08306b}, {0xc96a10, 0x7a2800}},
		few:    [2][]int{{12, 4}, {9, 1}},
	},
}

// Names lists the themes. Those for light terminals end in light.
func Names() []string {
	var out []string
	for _, t := range tables {
		out = append(out, t.name)
	}
	return out
}

// tableOf is the table of a name, the first for any other text.
func tableOf(name string) *table {
	if i := slices.IndexFunc(tables, func(t table) bool { return t.name == name }); i >= 0 {
		return &tables[i]
	}
	return &tables[0]
}
