package scene

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Asynchronous copies fill the buffers of an array, and threads read them later: which buffer a line uses in
// which iteration, and which thread reads what another has copied.

// Buffers is how one block fills and reads a shared array.
type Buffers struct {
	Variable string
	Rounds   []Round
	// Copied and Read say in which row and column of a buffer thread t begins what it copies and reads, ""
	// where that is no sum of parts of its number. Of Reads reads at what a copy began with, Strange were of
	// another thread than the copy.
	Copied, Read   string
	Strange, Reads int
	// Early is a copy to a buffer that its own thread has still to read; nil: there is none
	Early *Early

	dims         []int
	copied, read map[int]int // by thread: the first element of its first copy, and of its first read
	by           map[int]int // by element that begins a copy: the thread that copied it last
	tile         []int       // by round: the iteration of the last use
	turns        map[int]*turns
}

// Round is the buffers, indices of the array's first dimension, that a line uses one after the other.
type Round struct {
	Source *report.Source
	Fills  bool  // by asynchronous copies; else it reads
	Order  []int // of one thread
	Instr  []int // in the entry's body
	thread int
}

// Fill executes a block of a run again and returns how asynchronous copies fill a shared array and how it is
// read; nil where the plan has no such array. Errors are those of Try.
func Fill(ctx context.Context, r *debugkern.Run, block probes.Dim3, variable string) (*Buffers, error) {
	i := slices.IndexFunc(r.Plan.Shared, func(a probes.SharedArray) bool { return a.Name == variable })
	if i < 0 || r.Outcome() == nil || len(r.Plan.Shared[i].Dims) < 2 {
		return nil, nil
	}
	a, err := r.Attempt(ctx, debugkern.Trial{Blocks: []probes.Dim3{block}})
	if err != nil {
		return nil, err
	}
	b := &Buffers{
		Variable: variable, dims: r.Plan.Shared[i].Dims, copied: map[int]int{}, read: map[int]int{},
		by: map[int]int{}, turns: map[int]*turns{},
	}
	if err := a.Observe(ctx, &filling{out: b}); err != nil {
		return nil, err
	}
	b.Early = b.early()
	b.Copied, b.Read = b.begins(b.copied), b.begins(b.read)
	return b, nil
}

// filling watches the accesses of one block.
type filling struct {
	view target.View
	out  *Buffers
}

// View implements target.Viewer.
func (w *filling) View(v target.View) { w.view = v }

// Interests implements target.Interested.
func (w *filling) Interests() target.ClassSet {
	return target.Classes(target.ClassAsync, target.ClassLoad)
}

// Event implements target.Observer.
func (w *filling) Event(e *target.Event) {
	if e.Space != target.SpaceShared || e.Addr == nil || e.Probe || w.view == nil {
		return
	}
	for lane := range 32 {
		if e.Mask>>lane&1 == 0 {
			continue
		}
		name, index := w.view.Name(e.Space, e.Addr[lane])
		cell, ok := linear(index, w.out.dims)
		if name != w.out.Variable || !ok {
			continue
		}
		w.out.use(e, cell, index[0], 32*e.Warp+lane)
	}
}

// use notes that a thread copies or reads elements from one on.
func (b *Buffers) use(e *target.Event, cell, buffer, thread int) {
	fills := e.Class == target.ClassAsync
	if fills {
		b.by[cell] = thread
		if _, ok := b.copied[thread]; !ok {
			b.copied[thread] = cell
		}
	} else {
		if by, ok := b.by[cell]; ok {
			if b.Reads++; by != thread {
				b.Strange++
			}
		}
		if _, ok := b.read[thread]; !ok {
			b.read[thread] = cell
		}
	}
	src := report.SourceOf(target.Blame(e.Func, e.Instr.Index))
	if src == nil {
		return
	}
	b.turn(thread).use(buffer, fills, src)
	i := slices.IndexFunc(b.Rounds, func(r Round) bool {
		return r.Fills == fills && r.Source.File == src.File && r.Source.Line == src.Line
	})
	if i < 0 {
		i = len(b.Rounds)
		b.Rounds = append(b.Rounds, Round{Source: src, Fills: fills, thread: thread})
		b.tile = append(b.tile, -2)
	}
	r := &b.Rounds[i]
	if e.Func.Entry && !slices.Contains(r.Instr, e.Instr.Index) {
		r.Instr = append(r.Instr, e.Instr.Index)
	}
	if n := len(r.Order); r.thread == thread && (n == 0 || r.Order[n-1] != buffer || b.tile[i] != e.KVTile) {
		r.Order, b.tile[i] = append(r.Order, buffer), e.KVTile
	}
}

// Period is the length after which the buffers of a round repeat, where it is seen to; 0 where not.
func (r *Round) Period() int {
	for p := 1; p < len(r.Order); p++ {
		if slices.Equal(r.Order[p:], r.Order[:len(r.Order)-p]) {
			return p
		}
	}
	return 0
}

// begins words where each thread begins, as a sum of parts of its number t: "row t % 32, column 16·(t / 32)".
func (b *Buffers) begins(at map[int]int) string {
	n := 0
	for t := range at {
		n = max(n, t+1)
	}
	w := Contested{dims: b.dims}
	base, ok := at[0]
	if !ok || n < 2 {
		return ""
	}
	var by [][]int
	for bit := range bits.Len(uint(n - 1)) {
		cell, ok := at[1<<bit]
		if !ok {
			return ""
		}
		step := w.indexOf(cell)
		for d, x := range w.indexOf(base) {
			step[d] -= x
		}
		by = append(by, step)
	}
	for t, cell := range at {
		index := w.indexOf(base)
		for bit, step := range by {
			for d := range step {
				index[d] += t >> bit & 1 * step[d]
			}
		}
		if !slices.Equal(index, w.indexOf(cell)) {
			return ""
		}
	}
	d := len(b.dims) - 1
	return "row " + partsOf(by, d-1, n) + ", column " + partsOf(by, d, n)
}

// partsOf words an index as a sum of parts of a thread's number below n, by the step of each of its bits.
func partsOf(by [][]int, d, n int) string {
	var parts []string
	for lo := 0; lo < len(by); {
		hi := lo + 1
		for hi < len(by) && by[hi][d] == 2*by[hi-1][d] {
			hi++
		}
		if step := by[lo][d]; step != 0 {
			text := "t"
			if lo > 0 {
				text += fmt.Sprintf(" / %d", 1<<lo)
			}
			if 1<<hi < n {
				text += fmt.Sprintf(" %% %d", 1<<(hi-lo))
			}
			switch {
			case step != 1 && text != "t":
				text = fmt.Sprintf("%d·(%s)", step, text)
			case step != 1:
				text = fmt.Sprintf("%d·t", step)
			}
			parts = append(parts, text)
		}
		lo = hi
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, " + ")
}
