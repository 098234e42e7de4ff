package scene

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Covered is which elements of an array some blocks write, and by which lines of the source.
type Covered struct {
	Variable string
	dims     []int
	wrote    map[int]bool
	read     map[int]bool
	by       map[site]int // how many elements each line wrote
	source   map[site]*report.Source
	global   bool
	// instructions of the entry that write and read
	writers, readers map[int]bool
	blocks           map[probes.Dim3]map[int]bool // of an argument: what each block wrote
	mu               sync.Mutex                   // while blocks execute
}

// site is a line of the source, whatever called it.
type site struct {
	file string
	line int
}

// Cover executes blocks of a run once more and returns who writes which elements of a variable: a shared
// array of the plan, or an argument. Of an array, the blocks' reads are noted as well: what nobody reads need
// not be written. It is nil where the plan has no such variable. Errors are those of Try.
func Cover(
	ctx context.Context, r *debugkern.Run, blocks []probes.Dim3, variable string,
) (*Covered, error) {
	if r.Outcome() == nil {
		return nil, nil
	}
	c := &Covered{
		Variable: variable, wrote: map[int]bool{}, read: map[int]bool{}, by: map[site]int{},
		source: map[site]*report.Source{}, writers: map[int]bool{}, readers: map[int]bool{},
		blocks: map[probes.Dim3]map[int]bool{},
	}
	size := 0
	i := slices.IndexFunc(r.Plan.Shared, func(a probes.SharedArray) bool { return a.Name == variable })
	if i >= 0 {
		c.dims, size = r.Plan.Shared[i].Dims, r.Plan.Shared[i].DType.Size()
	} else if a := r.Plan.Arg(variable); a != nil && a.Pointer && a.Strides == nil {
		c.dims, size, c.global = a.Dims, a.DType.Size(), true
	}
	if size == 0 || len(c.dims) == 0 {
		return nil, nil
	}
	a, err := r.Attempt(ctx, debugkern.Trial{Blocks: blocks})
	if err != nil {
		return nil, err
	}
	_, err = a.Launch(ctx, func(l *target.Launch) {
		l.Observe = func(probes.Dim3) target.Observer { return &coverage{out: c, size: size} }
	})
	if err != nil {
		return nil, a.Explain(err)
	}
	return c, nil
}

// coverage watches the accesses of one block.
type coverage struct {
	view target.View
	size int // bytes of an element
	out  *Covered
}

// View implements target.Viewer.
func (w *coverage) View(v target.View) { w.view = v }

// Interests implements target.Interested.
func (w *coverage) Interests() target.ClassSet {
	return target.Classes(target.ClassStore, target.ClassAtomic, target.ClassAsync, target.ClassLoad,
		target.ClassBulk)
}

// Event implements target.Observer.
func (w *coverage) Event(e *target.Event) {
	space := target.SpaceShared
	if w.out.global {
		space = target.SpaceGlobal
	}
	if e.Space != space || e.Addr == nil || e.Probe || w.view == nil {
		return
	}
	load := e.Class == target.ClassLoad
	updates := e.Class == target.ClassAtomic && !w.out.global && !e.Instr.Has("exch")
	if w.out.global && (load || e.Ranges != nil) {
		return // of a tensor copy to global memory Addr is a place in the tensor's map
	}
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	var src *report.Source
	if !load {
		if src = report.SourceOf(target.Blame(e.Func, e.Instr.Index)); src == nil {
			return
		}
	}
	for lane := range 32 {
		if e.Mask>>lane&1 == 0 {
			continue
		}
		for off := 0; off < e.Bytes; off += w.size {
			name, index := w.view.Name(e.Space, e.Addr[lane]+uint64(off))
			cell, ok := linear(index, w.out.dims)
			switch {
			case name != w.out.Variable || !ok:
			case load, updates && !w.out.wrote[cell]:
				w.out.read[cell] = true // an atomic reads first
				w.out.readers[e.Instr.Index] = w.out.readers[e.Instr.Index] || e.Func.Entry
			case updates: // what was written before
			default:
				w.out.wrote[cell] = true
				w.out.ofBlock(w.view.Block(), cell)
				at := site{src.File, src.Line}
				if w.out.by[at]++; w.out.source[at] == nil {
					w.out.source[at] = src
				}
				w.out.writers[e.Instr.Index] = w.out.writers[e.Instr.Index] || e.Func.Entry
			}
		}
	}
}

// ofBlock notes what a block writes of an argument.
func (c *Covered) ofBlock(id probes.Dim3, cell int) {
	if !c.global {
		return
	}
	if c.blocks[id] == nil {
		c.blocks[id] = map[int]bool{}
	}
	c.blocks[id][cell] = true
}

// Never lists the elements that no thread wrote, row-major: of a shared array those that some thread reads.
func (c *Covered) Never() []int {
	total := 1
	for _, d := range c.dims {
		total *= d
	}
	var out []int
	for i := range total {
		if !c.wrote[i] && (c.global || c.read[i]) {
			out = append(out, i)
		}
	}
	return out
}

// NeverText says which elements Never lists, as a sentence: "sA[3][0] is read and never written".
func (c *Covered) NeverText() string {
	list, verb := c.Never(), "are"
	text := c.Text(list)
	if len(list) == 1 || strings.HasPrefix(text, "column ") || strings.HasPrefix(text, "row ") {
		verb = "is"
	}
	if !c.global {
		verb += " read and"
	}
	return text + " " + verb + " never written"
}

// Idle lists the indices of the first dimension of a shared array at which no thread wrote or read anything,
// where there are others: a buffer of several that is never used. nil for anything else.
func (c *Covered) Idle() []int {
	if c.global || len(c.dims) < 2 {
		return nil
	}
	each := 1
	for _, d := range c.dims[1:] {
		each *= d
	}
	used := make([]bool, c.dims[0])
	for _, set := range []map[int]bool{c.wrote, c.read} {
		for cell := range set {
			used[cell/each] = true
		}
	}
	if !slices.Contains(used, true) {
		return nil
	}
	var out []int
	for i, u := range used {
		if !u {
			out = append(out, i)
		}
	}
	return out
}

// Buffers is the extent of the first dimension.
func (c *Covered) Buffers() int { return c.dims[0] }

// Writer is the line that writes most of the variable's elements, nil where none does.
func (c *Covered) Writer() *report.Source {
	var best site
	for s, n := range c.by {
		if b := c.by[best]; n > b ||
			n == b && cmp.Or(cmp.Compare(s.file, best.file), cmp.Compare(s.line, best.line)) < 0 {
			best = s
		}
	}
	return c.source[best]
}

// Wrote is how many elements some thread wrote.
func (c *Covered) Wrote() int { return len(c.wrote) }

// Beside lists the lines of the file of a writer, besides its own, that write the variable too; none where a
// call leads to one of them.
func (c *Covered) Beside(writer *report.Source) (lines []int) {
	for s, src := range c.source {
		switch {
		case src.Calls != "" || writer.Calls != "":
			return nil
		case s.file == writer.File && s.line != writer.Line:
			lines = append(lines, s.line)
		}
	}
	slices.Sort(lines)
	return lines
}

// Accesses lists the instructions of the entry that wrote the variable and those that read it, by body index.
func (c *Covered) Accesses() (writers, readers []int) {
	return entries(c.writers), entries(c.readers)
}

func entries(set map[int]bool) []int {
	var out []int
	for i, own := range set {
		if own {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// Text words elements: "O[0][0][0][1]", "columns 8-15 of every 16 of sS", "17 elements of O".
func (c *Covered) Text(cells []int) string {
	if len(cells) == 1 {
		return c.Variable + c.index(cells[0])
	}
	in, rows := c.split(cells)
	if in == nil {
		return c.count(len(cells))
	}
	text := c.columns(in) + " of " + c.Variable
	if len(c.dims) == 1 {
		text = strings.Replace(text, "column", "element", 1)
	} else if parts := c.parts(in, rows); parts != "" {
		return parts
	}
	height := 1
	for _, d := range c.dims[:len(c.dims)-1] {
		height *= d
	}
	switch {
	case len(rows) == height:
	case len(c.dims) == 2:
		of := make([]bool, height)
		for r := range rows {
			of[r] = true
		}
		text += " in " + ranges("row", of)
	default:
		text += " in " + strconv.Itoa(len(rows)) + " of its rows"
	}
	return text
}

// parts names cells that are all of some indices of the first dimension, of several: "all of sK[1]"; "" for
// any others, and for all cells.
func (c *Covered) parts(in []bool, rows map[int][]int) string {
	if len(c.dims) < 3 || slices.Contains(in, false) {
		return ""
	}
	each := 1
	for _, d := range c.dims[1 : len(c.dims)-1] {
		each *= d
	}
	have := make([]int, c.dims[0])
	for r := range rows {
		have[r/each]++
	}
	var names []string
	for i, n := range have {
		switch n {
		case 0:
		case each:
			names = append(names, fmt.Sprintf("%s[%d]", c.Variable, i))
		default:
			return ""
		}
	}
	if len(names) == len(have) {
		return ""
	}
	return "all of " + strings.Join(names, " and ")
}

// Padding is the width of the variable where it is more than cols, and all elements that are never written
// lie beyond: nothing should read them. Else 0.
func (c *Covered) Padding(cols int) int {
	width := c.dims[len(c.dims)-1]
	if len(c.dims) < 2 || cols <= 0 || cols >= width || slices.ContainsFunc(c.Never(), func(x int) bool {
		return x%width < cols
	}) {
		return 0
	}
	return width
}

// Columns is which columns nobody writes, the same ones in every row that has such, by the shortest period
// that they have; nil where rows differ.
func (c *Covered) Columns() []bool {
	in, _ := c.split(c.Never())
	if in == nil {
		return nil
	}
	return in[:period(in)]
}

// split is which columns cells lie in, and in which rows; nil where rows differ in their columns.
func (c *Covered) split(cells []int) (in []bool, rows map[int][]int) {
	width := c.dims[len(c.dims)-1]
	in, rows = make([]bool, width), map[int][]int{}
	for _, x := range cells {
		rows[x/width] = append(rows[x/width], x%width)
		in[x%width] = true
	}
	for _, cols := range rows {
		for i := range in {
			if in[i] != slices.Contains(cols, i) {
				return nil, nil
			}
		}
	}
	return in, rows
}

// period is the shortest length by which a row repeats.
func period(in []bool) int {
	for p := 1; p < len(in); p++ {
		if len(in)%p == 0 && slices.Equal(in[p:], in[:len(in)-p]) {
			return p
		}
	}
	return len(in)
}

func (c *Covered) count(n int) string { return strconv.Itoa(n) + " elements of " + c.Variable }

func (c *Covered) index(cell int) string {
	text := ""
	for i := len(c.dims) - 1; i >= 0; i-- {
		text = "[" + strconv.Itoa(cell%c.dims[i]) + "]" + text
		cell /= c.dims[i]
	}
	return text
}

// columns words a set of columns, by its period where it has one.
func (c *Covered) columns(in []bool) string {
	if !slices.Contains(in, false) {
		return "all columns"
	}
	switch p := period(in); {
	case p == len(in):
	case p == 2 && in[1]:
		return "the odd columns"
	case p == 2:
		return "the even columns"
	default:
		return ranges("column", in[:p]) + " of every " + strconv.Itoa(p)
	}
	return ranges("column", in)
}

// ranges words the members of a set: "columns 0-3, 8-11".
func ranges(what string, in []bool) string {
	var parts []string
	n := 0
	for i := 0; i < len(in); i++ {
		if !in[i] {
			continue
		}
		from := i
		for i+1 < len(in) && in[i+1] {
			i++
		}
		n += i + 1 - from
		if i == from {
			parts = append(parts, strconv.Itoa(from))
		} else {
			parts = append(parts, strconv.Itoa(from)+"-"+strconv.Itoa(i))
		}
	}
	if n > 1 {
		what += "s"
	}
	return what + " " + strings.Join(parts, ", ")
}
