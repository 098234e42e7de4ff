// Package tile is the Tile view's pane: the kernel's tile, its reference and the error side by side under one
// linked cursor, and what is known of the cell below.
//
// The one idea: three columns are three renderings of one window onto the tile. The window (first row, first
// column, how many of each) is computed once for all of them, so the cursor cannot come apart.
//
// It must not know runs, sessions or keys: it is given a tile and a cursor, and draws.
package tile

import (
	"slices"
	"strconv"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// Heat is how the tile's values are coloured.
type Heat uint8

// The heat modes, in the order of their key.
const (
	HeatTint Heat = iota // numbers on a coloured ground
	HeatMap              // one column a cell: the tile's shape at a glance
	HeatOff
	numHeats
)

var heatNames = [numHeats]string{"tint", "map", "off"}

func (h Heat) String() string { return heatNames[h] }

// Next is the mode after h.
func (h Heat) Next() Heat { return (h + 1) % numHeats }

// ParseHeat reads a mode's name.
func ParseHeat(name string) (Heat, bool) {
	i := slices.Index(heatNames[:], name)
	return Heat(max(i, 0)), i >= 0
}

// Columns of the pane, as focus counts them.
const (
	Kernel = iota
	Reference
	Error
	Emulator
	numColumns
)

// Choice is which columns stand side by side. Those with the emulator are there where two backends executed.
type Choice uint8

// The choices, in the order of their key.
const (
	Usual     Choice = iota // kernel, reference, error
	All                     // GPU, emulator, reference, error
	Crosswise               // GPU, emulator, difference between them
	numChoices
)

// Next is the choice after c.
func (c Choice) Next() Choice { return (c + 1) % numChoices }

// Name is the choice in words, of two kernels laid over each other or of two backends.
func (c Choice) Name(kernels bool) string {
	if kernels {
		return [numChoices]string{"kernel, reference, error", "kernel B, kernel A, reference, error",
			"kernel A, kernel B, difference"}[c]
	}
	return [numChoices]string{"kernel, reference, error", "GPU, emulator, reference, error",
		"GPU, emulator, difference"}[c]
}

// Settings are what a person can change about the drawing.
type Settings struct {
	Format cell.Format
	Diff   cell.Diff
	Ref    cell.Ref
	Bound  cell.Bound
	Heat   Heat
	Filter *cell.Match
	Choice Choice
	Weight [numColumns]int // relative widths; 0 counts as 10
}

// Data is what is shown.
type Data struct {
	Place   debugkern.Place
	Plan    *probes.StagePlan   // of the place's stage; nil: View's
	View    *debugkern.TileView // nil while it is being computed
	Stage   *report.Stage       // nil where the report has none
	Message string              // instead of a tile: loading, off, an error
	// A, B: names of two kernels laid over each other: the tile is B's, the one compared with it A's; else ""
	A, B string
}

// plan is the plan of the stage that the tile belongs to; nil where there is none.
func (p *Pane) plan() *probes.StagePlan {
	if p.data.Plan == nil && p.data.View != nil {
		return p.data.View.Plan
	}
	return p.data.Plan
}

// Pane draws one tile.
type Pane struct {
	theme.Frame[int] // focus -1: elsewhere
	data             Data
	set              Settings
	row, col         int
	top              int               // first row shown
	left             int               // first column shown
	wrote            *target.WriteSite // the cell under the cursor; nil: not known
	note             string            // why it is not known

	judge  cell.Judge
	stats  cell.Stats
	kinded []int // the columns, also where one is drawn alone
	zones  []zone
	nrows  int
	ncols  int
	labels int  // width of row labels
	bare   bool // rows are named by their index alone
}

// zone is one of the columns on screen.
type zone struct {
	kind int
	x, w int // inside the borders
	cell int // columns a cell takes, separator included
}

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, -1)} }

// SetSize gives the pane its place, borders included.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.layout()
	}
}

// SetData shows another tile. The window moves only where the cursor needs it.
func (p *Pane) SetData(d Data) {
	if d == p.data {
		return
	}
	p.data = d
	p.rejudge()
}

// Settings returns what is set.
func (p *Pane) Settings() Settings { return p.set }

// Set changes the drawing.
func (p *Pane) Set(s Settings) {
	p.set = s
	p.rejudge()
}

// SetCursor moves the cursor; it is clamped to the tile.
func (p *Pane) SetCursor(row, col int) {
	if row == p.row && col == p.col {
		return
	}
	p.row, p.col = row, col
	p.scroll()
	p.Changed = true
}

// SetWriter says who wrote the cell; nil where that is not known, and note why.
func (p *Pane) SetWriter(x *target.WriteSite, note string) {
	if p.wrote != x || p.note != note {
		p.wrote, p.note, p.Changed = x, note, true
	}
}

// Shown is the tile on screen, or nil.
func (p *Pane) Shown() *debugkern.TileView { return p.data.View }

// Page is how many rows are visible.
func (p *Pane) Page() int { return max(1, p.nrows) }

// Columns lists which of Kernel, Reference, Error are on screen, where none is drawn alone.
func (p *Pane) Columns() []int {
	return p.kinded
}

// SetFocus says which column has the focus, -1 for none.
func (p *Pane) SetFocus(column int) {
	p.Frame.SetFocus(column)
	if p.Zoomed {
		p.layout()
	}
}

// SetZoom has the column that has the focus drawn alone, or all columns.
func (p *Pane) SetZoom(on bool) {
	p.Frame.SetZoom(on)
	p.layout()
}

// OnBad reports whether the cell under the cursor is bad.
func (p *Pane) OnBad() bool { return p.judge.Known() && p.judge.At(p.row, p.col).Bad }

func (p *Pane) rejudge() {
	p.judge, p.stats = cell.Judge{}, cell.Stats{}
	if p.data.View != nil {
		p.judge = cell.NewJudge(p.data.View, p.set.Ref, p.set.Bound)
		if p.judge.Known() {
			p.stats = p.judge.Stats()
		}
	}
	p.layout()
}

// detailLines is the height of the part below the tile: a rule and three lines.
const detailLines = 4

// layout computes zones and window from size and settings.
func (p *Pane) layout() {
	p.Changed = true
	p.labels = 3
	kinds := p.kinds()
	p.kinded = kinds
	if p.Zoomed && slices.Contains(kinds, p.Focus) {
		kinds = []int{p.Focus}
	}
	inner := p.W - 1 - len(kinds)
	total := 0
	for _, k := range kinds {
		total += p.weight(k)
	}
	p.labelRows(kinds, inner/max(1, len(kinds)))
	p.zones = p.zones[:0]
	x, used := 1, 0
	for i, k := range kinds {
		w := inner * p.weight(k) / total
		if i == len(kinds)-1 {
			w = inner - used
		}
		p.zones = append(p.zones, zone{kind: k, x: x, w: w, cell: p.cellWidth(k, w)})
		x, used = x+w+1, used+w
	}
	p.nrows = max(0, p.H-3-detailLines) // top border, column heads, bottom border
	p.window()
	p.scroll()
}

// labelRows decides how rows are named: by name and index (row7) where zones of w columns have room for that
// and at least three cells, else by the index alone. Either has as many columns as its longest needs, so that
// no two rows look alike.
func (p *Pane) labelRows(kinds []int, w int) {
	p.bare = false
	v := p.data.View
	if v == nil || v.Got.Rows == 0 {
		return
	}
	last := cell.RowName(p.plan(), v.Got.Rows-1)
	if v.Plan.OfLaunch() {
		p.labels = max(p.labels, p.Theme.Width(last)+1)
		return
	}
	number := len(strconv.Itoa(v.Got.Rows - 1))
	full := p.Theme.Width(last)
	widest := 0
	for _, k := range kinds {
		widest = max(widest, p.cellWidth(k, w))
	}
	p.bare = full > number+1 && w-full-2 < min(3, v.Got.Cols)*widest
	if p.bare {
		full = number
	}
	p.labels = max(p.labels, full)
}

// rowName is the label of a row.
func (p *Pane) rowName(row int) string {
	if p.bare {
		return strconv.Itoa(row)
	}
	return cell.RowName(p.plan(), row)
}

// unreferenced reports whether the tile, or the stage whose tile is being read, has no reference.
func (p *Pane) unreferenced() bool {
	if p.data.View != nil {
		return !p.data.View.Referenced()
	}
	return p.data.Plan != nil && p.data.Plan.Unreferenced()
}

// kinds are the columns that are shown: without a reference the tile alone, or next to it what it
// was before the launch.
func (p *Pane) kinds() []int {
	if p.unreferenced() && !p.judge.Crossed() {
		switch {
		case p.data.View == nil || !p.data.View.Previous.Reached() || p.set.Choice == Usual:
			return []int{Kernel}
		case p.set.Diff == cell.DiffOff || p.set.Choice == Crosswise:
			return []int{Kernel, Reference}
		}
		return []int{Kernel, Reference, Error}
	}
	kinds := map[Choice][]int{
		Usual: {Kernel, Reference, Error}, All: {Kernel, Emulator, Reference, Error},
		Crosswise: {Kernel, Emulator, Error},
	}[p.choice()]
	if p.choice() == Usual && p.unreferenced() {
		return []int{Kernel}
	}
	if p.choice() == Crosswise && p.data.A != "" {
		kinds = []int{Emulator, Kernel, Error}
	}
	if p.set.Diff == cell.DiffOff {
		kinds = kinds[:len(kinds)-1]
	}
	return kinds
}

// choice is which columns are shown: the usual ones where only one backend executed.
func (p *Pane) choice() Choice {
	switch {
	case !p.judge.Crossed():
		return Usual
	case p.set.Choice != Usual && p.unreferenced():
		return Crosswise
	}
	return p.set.Choice
}

func (p *Pane) weight(k int) int {
	if w := p.set.Weight[k]; w > 0 {
		return w
	}
	return 10
}

// cellWidth is a cell's columns in a zone of w columns.
func (p *Pane) cellWidth(kind, w int) int {
	if p.set.Heat == HeatMap {
		return 1
	}
	wide := w >= 56
	if kind == Error {
		if wide {
			return 8
		}
		return 5
	}
	t := probes.F16
	if v := p.data.View; v != nil {
		t = v.Got.DType
	}
	return min(p.set.Format.Width(t, wide)+1, max(4, w-p.labels-2))
}

// window is how many rows and columns of the tile all zones can show.
func (p *Pane) window() {
	p.ncols = 1 << 20
	for _, z := range p.zones {
		p.ncols = min(p.ncols, (z.w-p.labels-2)/z.cell)
	}
	p.ncols = max(p.ncols, 1)
	if v := p.data.View; v != nil {
		p.nrows = min(p.nrows, v.Got.Rows)
		p.ncols = min(p.ncols, v.Got.Cols)
	}
}

// scroll moves the window so that the cursor is in it.
func (p *Pane) scroll() {
	v := p.data.View
	if v == nil {
		return
	}
	p.row = min(max(p.row, 0), v.Got.Rows-1)
	p.col = min(max(p.col, 0), v.Got.Cols-1)
	p.top = theme.Into(p.top, p.row, p.nrows, v.Got.Rows)
	p.left = theme.Into(p.left, p.col, p.ncols, v.Got.Cols)
}

// Hit maps a place on the pane to the cell drawn there; column is which of Kernel, Reference, Error it lies
// in, -1 for the lines below. ok is false where no cell is.
func (p *Pane) Hit(x, y int) (row, col, column int, ok bool) {
	column = -1
	if y >= p.H-1-detailLines {
		return 0, 0, column, false
	}
	for _, z := range p.zones {
		if x < z.x || x >= z.x+z.w {
			continue
		}
		column = z.kind
		row, col = p.top+y-2, p.left+(x-z.x-p.labels-1)/z.cell
		v := p.data.View
		ok = v != nil && y >= 2 && y < 2+p.nrows && x >= z.x+p.labels+1 && col < p.left+p.ncols
		return row, col, column, ok
	}
	return 0, 0, column, false
}
