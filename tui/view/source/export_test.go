package source

import (
	"slices"

	"tilescope/debugkern/walk"
	"tilescope/tui/view"
)

// What tests of the controller look at.

func (v *Controller) Position() walk.Position { return v.walk.shot.pos }
func (v *Controller) Walk() walk.Walk         { return v.walk.walk }
func (v *Controller) Owner() *view.Run        { return v.walk.owner }
func (v *Controller) Array() string           { return v.walk.shot.shared.Array.Name }
func (v *Controller) ArrayName() string       { return v.arrayName() }
func (v *Controller) Focused() view.Part      { return v.at }
func (v *Controller) GoToLine(line int)       { v.code.SetCursor(line) }

// Breaks are the breakpoints.
func (v *Controller) Breaks() (out []walk.Breakpoint) {
	for _, b := range v.walk.breaks {
		out = append(out, b.Breakpoint)
	}
	return out
}

// Lane is the register pane's lane, -1 where it shows no register.
func (v *Controller) Lane() int {
	if _, lane, ok := v.regs.Current(); ok {
		return lane
	}
	return -1
}

// Line is the source line under the cursor.
func (v *Controller) Line() int {
	_, line := v.code.Cursor()
	return line
}

// PTXLine is the source line of the instruction under the cursor, 0 where there is none.
func (v *Controller) PTXLine() int {
	r, _ := v.ptx.Current()
	return r.Line
}

// Place is where a part stands in the view.
func (v *Controller) Place(p view.Part) (x, y int) {
	r := v.layout()[p]
	return r.x, r.y
}

// Chain is how calls are written in some columns: the function, and the lines of its callers.
func (v *Controller) Chain(room int, function string, callers ...int) string {
	v.walk.shot.frames = []walk.Frame{{Function: function}}
	for _, line := range callers {
		v.walk.shot.frames = append(v.walk.shot.frames, walk.Frame{Line: line})
	}
	return v.callChain(room)
}

// LanesText is an active mask in words.
func LanesText(mask uint32) string { return lanesText(mask) }

// Turn makes another kernel the one that breakpoints and watches are of.
func (v *Controller) Turn(kernel string) {
	v.walk.turnTo(kernel)
	v.showLists()
	v.Root.Layout()
}

// SetLine gives a line of the file that the warp stands in another text.
func (v *Controller) SetLine(line int, text string) {
	file := v.walk.shot.pos.Source.File
	lines := slices.Clone(v.codeOf(file))
	lines[line-1] = text
	v.walk.files[file] = lines
}

// Save has the breakpoints follow their statements into another text of the first one's file.
func (v *Controller) Save(change func(code []string) []string) {
	file := v.fullName(v.walk.breaks[0].File)
	code := change(slices.Clone(v.codeOf(file)))
	v.walk.files[file] = code
	v.follow(func(string) []string { return code })
	v.showWalk(false)
}
