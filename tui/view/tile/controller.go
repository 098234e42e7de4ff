package tile

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/minimap"
	listing "tilescope/tui/pane/source"
	"tilescope/tui/theme"
	"tilescope/tui/view"
	"tilescope/tui/view/tile/ancestry"
	"tilescope/tui/view/tile/rail"
)

// Parts of the view.
const (
	partKernel    view.Part = "kernel"
	partReference view.Part = "reference"
	partError     view.Part = "error"
	partEmulator  view.Part = "emulator"
	partSource    view.Part = "source"
	partRail      view.Part = "stages"
)

// columns names the tile's columns.
var columns = [numColumns]view.Part{Kernel: partKernel, Reference: partReference, Error: partError,
	Emulator: partEmulator}

// Others are what the view needs of other views.
type Others struct {
	// Stepper goes to the moment of a write in the block of the cursor.
	Stepper interface {
		ToWrite(w *target.WriteSite) tea.Cmd
		// ToStep goes to the moment before a lane executes an operation, which what names.
		ToStep(block probes.Dim3, step uint64, warp, lane int, what string) tea.Cmd
	}
	// Gates words what was decided of the variant that a request runs, "" where nothing was.
	Gates interface {
		Judged(req debugkern.Request) string
	}
	// Device is the device's figures, by name.
	Device interface{ Facts() [][2]string }
	// Lanes draws the lane at the cursor.
	Lanes interface{ Lane(w, h int) []string }
}

// Controller is the Tile view.
type Controller struct {
	*view.Context
	w      int
	frame  layout
	zoomed bool
	whole  layout // frame, as it is where no part is drawn alone
	sizes  sizes
	at     view.Part
	others Others

	pane   *Pane
	rail   *rail.Pane
	source *listing.Pane
	mini   *minimap.Pane
	lane   []string // the lane at the cursor, next to a very wide tile
	tree   *ancestry.Pane

	loading loading
	who     writer
	how     how
	match   *cell.Match // the search
}

// New returns the Tile view. Before it is used it has to be connected with others.
func New(c *view.Context) *Controller {
	return &Controller{
		Context: c, pane: NewPane(c.Theme), rail: rail.New(c.Theme), source: listing.New(c.Theme),
		mini: minimap.New(c.Theme), tree: ancestry.New(c.Theme),
	}
}

// Connect says what other views do for this one.
func (v *Controller) Connect(o Others) { v.others = o }

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	return keymap.Layer{Name: view.Tile, Uses: []keymap.Use{
		{Action: keymap.NextBad, Hint: "next bad"}, {Action: keymap.PrevBad},
		{Action: keymap.Heat, Hint: "heat"}, {Action: keymap.Format, Hint: "format"},
		{Action: keymap.Diff, Hint: "diff"},
		{Action: keymap.BoundUp}, {Action: keymap.BoundDown}, {Action: keymap.Follow}, {Action: keymap.Who},
		{Action: keymap.How, Hint: "lineage"},
		{Action: keymap.Columns},
		{Action: keymap.Search}, {Action: keymap.Filter},
		{Action: keymap.Open, Help: "in the lineage of a cell: go to the operation in Source"},
	}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{
		keymap.NextBad: func(string) tea.Cmd { return v.next(1) },
		keymap.PrevBad: func(string) tea.Cmd { return v.next(-1) },
		keymap.Heat:    v.onTile(v.nextHeat),
		keymap.Format:  v.onTile(v.nextFormat),
		keymap.Diff:    v.onTile(v.nextDiff),
		keymap.BoundUp: v.onTile(func(string) tea.Cmd { return v.bound(v.pane.Settings().Bound.Wider()) }),
		keymap.BoundDown: v.onTile(func(string) tea.Cmd {
			return v.bound(v.pane.Settings().Bound.Narrower())
		}),
		keymap.Follow:  v.toggleFollow,
		keymap.Who:     v.AskWho,
		keymap.Columns: v.onTile(v.nextColumns),
		keymap.Open:    v.openOperation,
		keymap.How:     v.AskHow,
	}
}

// SetTheme implements view.View.
func (v *Controller) SetTheme(th *theme.Theme) {
	v.pane.SetTheme(th)
	v.rail.SetTheme(th)
	v.source.SetTheme(th)
	v.mini.SetTheme(th)
	v.tree.SetTheme(th)
}

// Parts implements view.View.
func (v *Controller) Parts() []view.Part {
	out := []view.Part{}
	if v.how.open {
		out = append(out, partAncestry)
	} else {
		for _, c := range v.pane.Columns() {
			out = append(out, columns[c])
		}
	}
	if v.whole.source > 0 {
		out = append(out, partSource)
	}
	if v.whole.rail > 0 {
		out = append(out, partRail)
	}
	return out
}

// SetFocus implements view.View.
func (v *Controller) SetFocus(p view.Part) {
	v.at = p
	v.pane.SetFocus(slices.Index(columns[:], p))
	v.rail.SetFocus(p == partRail)
	v.source.SetFocus(p == partSource)
	v.tree.SetFocus(p == partAncestry)
	if v.zoomed && v.whole.body > 0 {
		v.SetSize(v.w, v.whole.body)
	}
}

// Zoom implements view.Zoomer.
func (v *Controller) Zoom(on bool) {
	v.zoomed = on
	v.pane.SetZoom(on)
}

// OfRun implements view.Dependent.
func (v *Controller) OfRun() (whole, fails bool) { return true, true }

// inTile reports whether one of the tile's columns has the focus.
func (v *Controller) inTile() bool { return slices.Contains(columns[:], v.at) }

// Move moves the cursor, goes through stages, or scrolls the source.
func (v *Controller) Move(rows, cols int) tea.Cmd {
	switch v.at {
	case partAncestry:
		v.tree.Move(rows, cols)
		v.followTree()
		return nil
	case partSource:
		return v.Scrolled(v.source.Scroll(rows + cols))
	case partRail:
		return v.StepStage(rows + cols)
	}
	return v.Nudge(rows, cols)
}

// Edge goes to the first or last row or column of the tile, or line of the source.
func (v *Controller) Edge(rows, cols int) tea.Cmd {
	const far = 1 << 20
	switch v.at {
	case partRail:
		return v.NothingHere()
	case partAncestry:
		return v.Move(far*rows, far*cols)
	case partSource:
		return v.Move(far*(rows+cols), 0)
	}
	c := v.Cursor
	if rows != 0 {
		c.Row = far * rows
	}
	if cols != 0 {
		c.Col = far * cols
	}
	return v.GoTo(c)
}

// Page goes half a page down or up.
func (v *Controller) Page(dir int) tea.Cmd {
	switch {
	case v.inTile():
		return v.Nudge(dir*max(1, v.pane.Page()/2), 0)
	case v.at == partAncestry:
		return v.Move(dir*max(1, v.tree.Page()/2), 0)
	}
	return v.Move(dir*max(1, v.frame.body/2), 0)
}

// Grow implements view.Grower. A column's width is a setting, which says itself what it came to.
func (v *Controller) Grow(n int) (tea.Cmd, bool) {
	switch v.at {
	case partRail:
		v.sizes.rail = max(-6, min(16, v.sizes.rail+2*n))
		return nil, true
	case partSource:
		v.sizes.source = max(-6, min(20, v.sizes.source+2*n))
		return nil, true
	}
	i := slices.Index(columns[:], v.at)
	if i < 0 { // the lineage has the place of all columns
		v.Say(string(v.at) + " has the whole place of the tile: its width is fixed")
		return nil, false
	}
	return v.set(func(s *Settings) {
		w := s.Weight[i]
		if w == 0 {
			w = 10
		}
		s.Weight[i] = max(5, min(30, w+2*n))
		v.Say(fmt.Sprintf("%s: width %d", v.at, s.Weight[i]))
	}), false
}

// Click goes to the cell or stage under the mouse.
func (v *Controller) Click(x, y int) tea.Cmd {
	f := v.frame
	switch {
	case x < f.rail:
		v.Root.Focus(partRail)
		if s, ok := v.rail.Hit(y); ok {
			c := v.Cursor
			c.Stage = s
			return v.GoTo(c)
		}
		return nil
	case x >= f.rail+f.tile:
		if row, col, ok := v.mini.Hit(x-f.rail-f.tile, y); ok {
			return v.goToCell(row, col)
		}
		return nil
	case y >= f.tileH:
		v.Root.Focus(partSource)
		return nil
	case v.how.open:
		v.Root.Focus(partAncestry)
		v.tree.Hit(y)
		v.followTree()
		return nil
	}
	row, col, column, ok := v.pane.Hit(x-f.rail, y)
	if column >= 0 && column < len(columns) {
		v.Root.Focus(columns[column])
	}
	if ok {
		return v.goToCell(row, col)
	}
	return nil
}

func (v *Controller) goToCell(row, col int) tea.Cmd {
	c := v.Cursor
	c.Row, c.Col = row, col
	return v.GoTo(c)
}

// Wheel scrolls the source, or moves the cursor.
func (v *Controller) Wheel(x, y, rows, cols int) tea.Cmd {
	f := v.frame
	if y >= f.tileH && f.source > 0 && x >= f.rail && x < f.rail+f.tile {
		v.source.Scroll(rows)
		return nil
	}
	if v.how.open && x >= f.rail && x < f.rail+f.tile {
		v.tree.Move(rows, cols)
		v.followTree()
		return nil
	}
	return v.Quietly(func() tea.Cmd { return v.Nudge(rows, cols) })
}

// Search implements view.Searcher.
func (v *Controller) Search(text string) (err error) {
	var m *cell.Match
	if text != "" {
		if m, err = cell.ParseMatch(text); err != nil {
			return err
		}
	}
	v.match = m
	return nil
}

// Filter implements view.Filterer.
func (v *Controller) Filter(text string) (err error) {
	var m *cell.Match
	if text != "" {
		if m, err = cell.ParseMatch(text); err != nil {
			return err
		}
	}
	v.set(func(s *Settings) { s.Filter = m })
	return nil
}

// Matching implements view.Counter: the cells of the tile under the cursor.
func (v *Controller) Matching() int {
	f, t := v.pane.Settings().Filter, v.Tiles.Views[v.At()]
	if f == nil || t == nil {
		return -1
	}
	n := 0
	judge := cell.NewJudge(t, v.Numbers.Ref, v.Numbers.Bound)
	for row := range t.ValidRows {
		for col := range t.ValidCols {
			if judge.Known() && t.Got.Captured(row, col) && f.Hit(judge.At(row, col)) {
				n++
			}
		}
	}
	return n
}

// next goes to a match while a search is active, to a cell that two backends computed differently where both
// are shown, else to a bad cell.
func (v *Controller) next(dir int) tea.Cmd {
	switch {
	case v.match != nil:
		return v.SearchCells(v.match, dir)
	case v.crossing() && !v.Root.Failing():
		return v.NextDiffering(dir)
	}
	return v.NextBad(dir)
}

// OnBad reports whether the cursor is on a cell that counts as bad on screen.
func (v *Controller) OnBad() bool { return v.pane.OnBad() }

// Text implements view.Copier.
func (v *Controller) Text() string {
	if v.Run == nil {
		return ""
	}
	if v.how.open {
		return v.tree.Text()
	}
	c := v.PlaceOf(v.Cursor)
	t := v.pane.Shown()
	if t != nil && t.Plan.OfLaunch() {
		return fmt.Sprintf("%s, %s = %s", cell.Name(t.Plan, c.Row, c.Col), t.Plan.Help, v.pane.CellText())
	}
	if t == nil || !t.Got.Reached() {
		return v.Where(c)
	}
	return fmt.Sprintf("%s %s = %s", v.Where(c), cell.Name(v.Run.Plan.Stage(c.Stage), c.Row, c.Col),
		v.pane.CellText())
}

// EditLine implements view.Editable.
func (v *Controller) EditLine() (file string, line int, ok bool) {
	if n, chosen := v.tree.Chosen(); v.how.open && v.at == partAncestry && chosen && n.Source != nil {
		return n.Source.File, n.Source.Line, true
	}
	if v.at != partSource {
		return "", 0, false
	}
	file, line = v.source.Pointed()
	return file, line, file != "" && line > 0
}

// Close implements view.Closer.
func (v *Controller) Close() {
	v.who.stop()
	v.how.stop()
}

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case view.Drawn:
		v.showRail()
		v.showTile()
		v.showSource()
	case view.RequestChanged:
		v.showRail()
	case view.NewRun:
		v.forget()
		v.resetWriter()
		if v.how.open {
			v.closeHow()
		}
	case view.Paired:
		v.forget()
		if v.Run.Pair != nil {
			v.set(func(s *Settings) { s.Choice = Crosswise })
		}
		return v.loadTile()
	case view.Shown:
		return v.askWriter()
	case view.Moved:
		return v.moved()
	case view.NumbersChanged:
		v.numbersChanged()
	case view.FragmentsRead:
		v.showLane()
	case tileMsg:
		v.tileLoaded(msg)
	case writerDueMsg:
		return v.writerDue(msg)
	case writerMsg:
		v.writerFound(msg)
	case howMsg:
		v.howFound(msg)
	}
	return nil
}

// moved follows the cursor.
func (v *Controller) moved() tea.Cmd {
	v.rail.SetStage(v.Cursor.Stage)
	load := v.loadTile()
	v.pane.SetCursor(v.Cursor.Row, v.Cursor.Col)
	v.mini.SetCursor(v.Cursor.Row, v.Cursor.Col)
	return tea.Batch(load, v.askWriter())
}

// showSource opens the kernel's source where no writer points into it yet.
func (v *Controller) showSource() {
	if v.Run == nil {
		return
	}
	file, line := v.Root.SourcePlace()
	v.source.Show(file, v.SourceOf(file), line, v.BuiltNote())
	v.source.SetPatch(v.PatchOf(file))
}

// AskWho is the key that asks who wrote the cell: the answer in full, and in the Tile view, asked again, a
// way there.
func (v *Controller) AskWho(string) tea.Cmd {
	if !v.Movable() {
		return v.NothingYet()
	}
	if w := v.Writers.Known[v.PlaceOf(v.Cursor)]; w != nil && v.who.shown && v.Root.Showing() == view.Tile {
		return v.others.Stepper.ToWrite(w)
	}
	if v.showWriter() {
		v.sayWriter()
		return nil
	}
	v.who.seq++
	v.who.loud = true
	what := "block " + v.Cursor.Block.String()
	if sp := v.Run.Plan.Stage(v.Cursor.Stage); sp != nil && sp.OfLaunch() {
		what = "the launch"
	}
	v.Say("executing " + what + " again to see who wrote this cell")
	return v.fetchWriter()
}
