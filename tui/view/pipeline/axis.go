package pipeline

import (
	"fmt"
	"slices"
	"strconv"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// chart is a timeline as it is drawn: a column is what the block executes from one asynchronous event to the
// next, and a row is warps, a kind of operation, or a buffer of shared memory. It is made once.
type chart struct {
	line *walk.Timeline
	cols []uint64 // the moment at which each column begins; the first is 0
	rows []row
}

// row is one row of the chart.
type row struct {
	label  string
	kind   rowKind
	warps  []int // of rows of warps, and of operations those that issue them
	op     target.OperationKind
	buffer int // of rows of buffers
	cells  []mark
}

type rowKind uint8

const (
	rowWarps rowKind = iota
	rowOperations
	rowBuffer
)

// mark is what a column of a row shows.
type mark uint8

const (
	markNone   mark = iota
	markReady       // a warp that is ready, but not scheduled
	markRun         // it executes
	markWait        // it waits at an mbarrier
	markBlock       // it waits at a barrier of the block
	markIssue       // an operation is issued
	markLand        // one lands
	markFlight      // and the number under way, up to 9
	markOwner  = markFlight + 10
)

// newChart lays a timeline out.
func newChart(line *walk.Timeline) *chart {
	c := &chart{line: line, cols: []uint64{0}}
	for i := range line.Flights {
		c.cols = append(c.cols, line.Flights[i].Issued)
		if line.Flights[i].Landed != walk.Never {
			c.cols = append(c.cols, line.Flights[i].Landed)
		}
	}
	for i := range line.MBarriers {
		c.cols = append(c.cols, line.MBarriers[i].Phases...)
	}
	slices.Sort(c.cols)
	c.cols = slices.Compact(c.cols)
	c.warpRows()
	c.operationRows()
	for i := range line.Buffers {
		c.bufferRow(i)
	}
	return c
}

// column is the column of a moment.
func (c *chart) column(step uint64) int {
	i, ok := slices.BinarySearch(c.cols, step)
	if !ok {
		i--
	}
	return i
}

// within is the moments of a column.
func (c *chart) within(col int) walk.Span {
	to := c.line.Steps + 1
	if col+1 < len(c.cols) {
		to = c.cols[col+1]
	}
	return walk.Span{From: c.cols[col], To: to}
}

// warpgroup is the number of warps that share a row where a kernel has products of several warpgroups, or
// more than mostWarps warps.
const (
	warpgroup = 4
	mostWarps = 8
)

func (c *chart) warpRows() {
	n := len(c.line.Warps)
	size := 1
	if n > mostWarps || n > warpgroup && slices.ContainsFunc(c.line.Flights, func(f walk.Flight) bool {
		return f.Kind == target.OpWgmma
	}) {
		size = warpgroup
	}
	for first := 0; first < n; first += size {
		r := row{kind: rowWarps, cells: make([]mark, len(c.cols))}
		for w := first; w < min(first+size, n); w++ {
			r.warps = append(r.warps, w)
		}
		r.label = warpNames(r.warps)
		for _, w := range r.warps {
			c.warp(&r, w)
		}
		c.rows = append(c.rows, r)
	}
}

// warpNames is w3, or w4-7.
func warpNames(warps []int) string {
	if n := len(warps); n > 1 {
		return fmt.Sprintf("w%d-%d", warps[0], warps[n-1])
	}
	return "w" + strconv.Itoa(warps[0])
}

// warp marks when one warp executed and waited.
func (c *chart) warp(r *row, warp int) {
	w := &c.line.Warps[warp]
	put := func(s walk.Span, m mark) {
		if s.From >= s.To {
			return
		}
		for i := c.column(s.From); i <= c.column(min(s.To-1, c.line.Steps)); i++ {
			if r.cells[i] != markRun && (m == markRun || m == markReady || r.cells[i] <= markReady) {
				r.cells[i] = max(r.cells[i], m)
				if m == markRun {
					r.cells[i] = m
				}
			}
		}
	}
	last := c.line.Steps
	if n := len(w.Runs); w.Ended && n > 0 {
		last = w.Runs[n-1].To - 1
	}
	put(walk.Span{From: 0, To: last + 1}, markReady)
	for _, s := range w.Runs {
		put(s, markRun)
	}
	for i := range w.Waits {
		m := markWait
		if w.Waits[i].MBarrier < 0 {
			m = markBlock
		}
		put(w.Waits[i].Span, m)
	}
}

// operationRows are a row for each kind of operation; products have one for each warpgroup.
func (c *chart) operationRows() {
	for i := range c.line.Flights {
		f := &c.line.Flights[i]
		label := string(f.Kind)
		if f.Kind == target.OpWgmma {
			label = fmt.Sprintf("wgmma %d", f.Warp/warpgroup)
		}
		if f.Kind == target.OpTensorCopy {
			label = "copies"
		}
		k := slices.IndexFunc(c.rows, func(r row) bool { return r.kind == rowOperations && r.label == label })
		if k < 0 {
			k = len(c.rows)
			c.rows = append(c.rows, row{
				label: label, kind: rowOperations, op: f.Kind, warps: []int{f.Warp},
				cells: make([]mark, len(c.cols)),
			})
		}
		r := &c.rows[k]
		if !slices.Contains(r.warps, f.Warp) {
			r.warps = append(r.warps, f.Warp)
		}
		first, end := c.column(f.Issued), len(c.cols)
		if f.Landed != walk.Never {
			end = c.column(f.Landed)
			r.cells[end] = markLand
		}
		for col := first; col < end; col++ {
			switch m := r.cells[col]; {
			case col == first && m != markLand:
				r.cells[col] = markIssue
			case m == markNone:
				r.cells[col] = markFlight + 1
			case m >= markFlight && m < markFlight+9:
				r.cells[col]++
			}
		}
	}
}

// bufferRow marks who has a buffer where a column begins; a clash is marked in every column that has a part
// of it.
func (c *chart) bufferRow(i int) {
	s := &c.line.Buffers[i]
	r := row{label: s.Name, kind: rowBuffer, buffer: i, cells: make([]mark, len(c.cols))}
	for col := range r.cells {
		r.cells[col] = markOwner + mark(s.At(c.cols[col]).Owner)
	}
	for k, o := range s.Owned {
		if o.Owner != walk.Clash {
			continue
		}
		end := c.line.Steps
		if k+1 < len(s.Owned) {
			end = s.Owned[k+1].From - 1
		}
		for col := c.column(o.From); col <= c.column(end); col++ {
			r.cells[col] = markOwner + mark(walk.Clash)
		}
	}
	c.rows = append(c.rows, r)
}

// flying lists the operations of a row that are under way in a column, or land there.
func (c *chart) flying(r *row, col int) (out []*walk.Flight) {
	for i := range c.line.Flights {
		f := &c.line.Flights[i]
		if f.Kind == r.op && slices.Contains(r.warps, f.Warp) && f.Issued <= c.cols[col] &&
			f.Landed >= c.cols[col] {
			out = append(out, f)
		}
	}
	return out
}
