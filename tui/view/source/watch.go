package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
	"tilescope/tui/view/source/lists"
)

// watch is an expression whose value is shown at every stop.
type watch struct {
	id int // its number; it keeps it
	e  *expr.Expr
}

// cursorNames are the variables of an expression that stand for the cursor, in the order in which they are
// written: row and column of the tile, and of SHARED.
var cursorNames = []string{"q", "k", "row", "col"}

// cursorValues are what cursorNames stand for.
func (v *Controller) cursorValues() map[string]int64 {
	row, col := v.cellHere()
	return map[string]int64{
		"q": int64(v.Cursor.Row), "k": int64(v.Cursor.Col), "row": int64(row), "col": int64(col),
	}
}

// bound puts the cursor into an expression.
func (v *Controller) bound(e *expr.Expr) *expr.Expr { return e.Bind(v.cursorValues()) }

// cursorText says what the cursor's names in an expression stand for: they are no variables of the source.
func (v *Controller) cursorText(e *expr.Expr) string {
	values := v.cursorValues()
	var at []string
	for _, name := range cursorNames {
		if e.Uses(name) {
			at = append(at, fmt.Sprintf("%s=%d", name, values[name]))
		}
	}
	if len(at) == 0 {
		return ""
	}
	return "(" + strings.Join(at, " ") + ")"
}

// notTheKernels says of the cursor's names in an expression that are variables of the source, too, which
// of the two they are: "; row is the cursor's, not the kernel's variable".
func (v *Controller) notTheKernels(e *expr.Expr) string {
	var at target.Source
	if p := v.walk.shot.pos.Source; p != nil {
		at = *p
	}
	var both []string
	for _, name := range cursorNames {
		if e.Uses(name) && v.local(name, at) != "" {
			both = append(both, name)
		}
	}
	switch len(both) {
	case 0:
		return ""
	case 1:
		return "; " + both[0] + " is the cursor's, not the kernel's variable"
	}
	return "; " + strings.Join(both, ", ") + " are the cursor's, not the kernel's variables"
}

// readExpr reads an expression, and looks whether the kernel has what it names.
func (v *Controller) readExpr(text string) (*expr.Expr, error) {
	e, err := expr.Parse(v.spelled(text), cursorNames...)
	if s := v.scope(); err == nil && s != nil {
		err = e.Check(s)
	}
	return e, err
}

// watchCommand is :watch EXPR and :display EXPR.
func (v *Controller) watchCommand(arg string) tea.Cmd {
	e, err := v.readExpr(arg)
	if err != nil {
		v.refuse("watch", target.Source{}, err)
		return nil
	}
	s := &v.walk
	same := func(w watch) bool { return w.e.String() == e.String() }
	if i := slices.IndexFunc(s.watches, same); i >= 0 {
		v.Say(fmt.Sprintf("watched already, as watch %d: %s", s.watches[i].id, v.printed(e)))
		return nil
	}
	s.lastWatch++
	s.watches = append(s.watches, watch{s.lastWatch, e})
	text := fmt.Sprintf("watch %d: %s", s.lastWatch, v.printed(e))
	if array, row, col, ok := v.cellOf(e.String()); ok && oneCell.MatchString(e.String()) &&
		v.noSuchCell(array, row, col) == "" { // gdb's watch stops
		text += fmt.Sprintf("; :break %s stops where it changes", e)
	}
	v.Say(text + v.notTheKernels(e))
	return v.watchesChanged()
}

// oneCell is an expression that is one cell of an array.
var oneCell = regexp.MustCompile(`^[A-Za-z_]\w*(\[\d+\])+$`)

// watchHere watches the register in its lane, or the shared cell, under the cursor.
func (v *Controller) watchHere(string) tea.Cmd {
	if v.at == partList && v.list == listBreaks {
		return v.askCondition()
	}
	if v.at == partWatches {
		if i := v.watches.Current(); i >= 0 {
			return v.unwatch(strconv.Itoa(v.walk.watches[i].id))
		}
	}
	if r, lane, ok := v.regs.Current(); ok && v.at == partRegisters {
		return v.watchCommand(fmt.Sprintf("%s@lane%d", r.Name, lane))
	}
	if array, row, col, ok := v.shared.Current(); ok && v.at == partShared {
		if v.walk.shot.shared.Tile.Cols == 1 && len(v.walk.shot.shared.Array.Dims) == 1 {
			return v.watchCommand(fmt.Sprintf("%s[%d]", array, row))
		}
		return v.watchCommand(fmt.Sprintf("%s[%d][%d]", array, row, col))
	}
	v.Say("no register or shared cell here: Tab goes to REGISTERS or SHARED; :watch EXPR takes any expression")
	return nil
}

// unwatch is :unwatch N; without a number all of them.
func (v *Controller) unwatch(arg string) tea.Cmd {
	s := &v.walk
	if arg == "" {
		switch n := len(s.watches); n {
		case 0:
			v.Say("no watches")
		case 1:
			v.Say("1 watch removed")
		default:
			v.Say(fmt.Sprintf("%d watches removed", n))
		}
		s.watches = nil
		return v.watchesChanged()
	}
	n, err := strconv.Atoi(arg)
	i := slices.IndexFunc(s.watches, func(w watch) bool { return w.id == n })
	if err != nil || i < 0 {
		v.Complain(fmt.Sprintf("no watch %q", arg))
		return nil
	}
	v.Say(fmt.Sprintf("watch %d ended: %s", n, v.exprText(s.watches[i].e)))
	s.watches = slices.Delete(s.watches, i, i+1)
	return v.watchesChanged()
}

// watchesChanged gives the panes their places anew, shows the values, and has the watches remembered.
func (v *Controller) watchesChanged() tea.Cmd {
	v.Root.Layout()
	v.showWalk(false)
	return v.Root.Changed()
}

// watchNumbers completes a watch's number.
func (v *Controller) watchNumbers() (out []string) {
	for _, w := range v.walk.watches {
		out = append(out, fmt.Sprintf("%d\t%s", w.id, v.exprText(w.e)))
	}
	return out
}

// printCommand is :print EXPR.
func (v *Controller) printCommand(arg string) tea.Cmd {
	e, err := v.readExpr(arg)
	switch {
	case err != nil:
		v.refuse("print", target.Source{}, err)
		return nil
	case !v.Movable():
		return v.NothingYet()
	case !v.isOpen():
		return tea.Batch(v.toSource(), v.whenOpen(func() tea.Cmd { return v.print(e) }))
	}
	return v.print(e)
}

// print says the value of an expression.
func (v *Controller) print(e *expr.Expr) tea.Cmd {
	v.Say(v.printed(e) + v.notTheKernels(e))
	return nil
}

// printed is an expression with its value now, and the lane where that is one lane's.
func (v *Controller) printed(e *expr.Expr) string {
	name := strings.TrimSpace(v.exprText(e) + " " + v.cursorText(e))
	if e.PerLane() {
		name += fmt.Sprintf(" (lane %d)", v.regs.Lane())
	}
	value, err := v.value(e, v.walk.shot.values)
	if err != nil {
		return v.loopWords(err.Error())
	}
	return name + " = " + value.String()
}

// value evaluates an expression at a moment, for the lane that REGISTERS shows.
func (v *Controller) value(e *expr.Expr, at walk.Values) (expr.Value, error) {
	if at == nil {
		return expr.Value{}, fmt.Errorf("%s has no value: no block is open", e)
	}
	return v.bound(e).Eval(at, v.regs.Lane())
}

// showWatches gives the pane of watches the values now and at the stop before.
func (v *Controller) showWatches() {
	d := lists.Data{Title: "WATCHES", Note: "now · at the stop before"}
	for _, w := range v.walk.watches {
		if w.e.OfWarp() != "" {
			d.Title = fmt.Sprintf("WATCHES warp %d", v.walk.shot.pos.Warp)
		}
		d.Rows = append(d.Rows, v.watchRow(w))
	}
	v.watches.SetData(d)
}

// watchRow: Δ 1  sP[4][9]  0.7959 f16 0x3a5e  was 0.5
//
// What a warp has is compared with what the same warp had: of a stop before in another warp the value there
// is another's.
func (v *Controller) watchRow(w watch) lists.Row {
	r := v.watchValues(w)
	if at := v.cursorText(w.e); at != "" {
		r.Cols[3] = strings.TrimSpace(r.Cols[3] + " " + at)
	}
	return r
}

// watchValues is a watch's row without what the cursor's names stand for.
func (v *Controller) watchValues(w watch) lists.Row {
	name, ofWarp := v.exprText(w.e), w.e.OfWarp() != ""
	if w.e.PerLane() {
		name += fmt.Sprintf(" @lane%d", v.regs.Lane())
	}
	r := lists.Row{Cols: []string{strconv.Itoa(w.id), name, "", ""}}
	now, err := v.value(w.e, v.walk.shot.values)
	if err != nil {
		r.Tone, r.Mark = lists.Wrong, v.Theme.Glyph.Wrong
		r.Cols[2] = v.loopWords(strings.TrimPrefix(err.Error(), strconv.Quote(w.e.String())+": "))
		return r
	}
	r.Cols[2] = now.String()
	if now.Unwritten {
		r.Tone = lists.Dim
	}
	if v.walk.shot.before == nil {
		return r
	}
	if before := v.walk.shot.beforeWarp; ofWarp && before != v.walk.shot.pos.Warp {
		r.Cols[3] = fmt.Sprintf("before: warp %d", before)
		return r
	}
	was, err := v.value(w.e, v.walk.shot.before)
	switch {
	case err != nil:
	case was.Same(now):
		r.Cols[3] = "unchanged"
	default:
		r.Tone, r.Mark, r.Cols[3] = lists.Changed, "Δ", "was "+was.String()
	}
	return r
}

// nameable completes an expression: registers of the instruction and live ones, arrays, variables.
func (v *Controller) nameable() (out []string) {
	for _, r := range v.walk.shot.regs {
		out = append(out, fmt.Sprintf("%s\t%s", r.Name, r.Type))
	}
	for _, a := range v.walk.shot.arrays {
		out = append(out, fmt.Sprintf("%s[\t%s %v", a.Name, a.DType, a.Dims))
	}
	loop := v.ownLoop()
	for _, n := range expr.Names {
		out = append(out, named(n.Name, loop)+"\t"+n.Help)
	}
	for i, help := range []string{"row of the cell under the tile's cursor", "its column",
		"row of the cell in SHARED", "its column"} {
		if cursorNames[i] != loop { // else it is read as the loop's
			out = append(out, cursorNames[i]+"\t"+help)
		}
	}
	return out
}
