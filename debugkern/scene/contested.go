package scene

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Contested is who wrote which cells of a shared array in one block, the first time that a line wrote to it.
type Contested struct {
	Variable string
	dims     []int
	by       [2]map[int]bool // cells of each of two parties, by linear index
	here     map[int]bool    // cells that any thread wrote at the line, in that kv tile
	all      map[int]bool    // cells that anything wrote, until the block ended
}

// Contest executes the block of a race finding once more and returns which cells of its shared array the
// finding's two warps (or, where they are one, its two lanes) wrote at the finding's line. It is nil where
// the array is not one of the plan's. Errors are those of Try.
func Contest(ctx context.Context, r *debugkern.Run, f *report.Finding) (*Contested, error) {
	if r.Outcome() == nil || f.Source == nil || len(f.Warps) == 0 {
		return nil, nil
	}
	i := slices.IndexFunc(r.Plan.Shared, func(a probes.SharedArray) bool { return a.Name == f.Variable })
	if i < 0 {
		return nil, nil
	}
	a, err := r.Attempt(ctx, debugkern.Trial{Blocks: []probes.Dim3{f.Block}})
	if err != nil {
		return nil, err
	}
	array := r.Plan.Shared[i]
	w := &writes{finding: f, size: array.DType.Size(), tile: -2}
	w.out = &Contested{
		Variable: f.Variable, dims: array.Dims, by: [2]map[int]bool{{}, {}}, here: map[int]bool{},
		all: map[int]bool{},
	}
	if err := a.Observe(ctx, w); err != nil {
		return nil, err
	}
	return w.out, nil
}

// writes watches the stores of one block.
type writes struct {
	mu      sync.Mutex
	view    target.View
	finding *report.Finding
	size    int // bytes of an element
	tile    int // the kv tile of the line's first write; -2: none yet
	out     *Contested
}

// View implements target.Viewer.
func (w *writes) View(v target.View) { w.view = v }

// Interests implements target.Interested.
func (w *writes) Interests() target.ClassSet {
	return target.Classes(target.ClassStore, target.ClassAtomic, target.ClassAsync)
}

// Event implements target.Observer.
func (w *writes) Event(e *target.Event) {
	if e.Space != target.SpaceShared || e.Addr == nil || e.Probe || w.view == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	src := target.Blame(e.Func, e.Instr.Index)
	here := src != nil && src.Line == w.finding.Source.Line && src.File == w.finding.Source.File
	if here && w.tile == -2 {
		w.tile = e.KVTile
	}
	party := slices.Index(w.finding.Warps, e.Warp)
	for lane := range 32 {
		if e.Mask>>lane&1 == 0 {
			continue
		}
		if len(w.finding.Warps) == 1 {
			if party = -1; e.Warp == w.finding.Warps[0] {
				party = slices.Index(w.finding.Lanes, lane)
			}
		}
		for off := 0; off < e.Bytes; off += w.size {
			name, index := w.view.Name(e.Space, e.Addr[lane]+uint64(off))
			cell, ok := linear(index, w.out.dims)
			if name != w.out.Variable || !ok {
				continue
			}
			w.out.all[cell] = true
			if !here || e.KVTile != w.tile {
				continue
			}
			if w.out.here[cell] = true; party >= 0 && party < 2 {
				w.out.by[party][cell] = true
			}
		}
	}
}

// Both words the cells that both parties wrote, "" where there are none: "sS[0:16][0:16]".
func (w *Contested) Both() string { return w.box(w.both()) }

func (w *Contested) both() []int {
	var cells []int
	for c := range w.by[0] {
		if w.by[1][c] {
			cells = append(cells, c)
		}
	}
	return cells
}

// Nobody words the cells that nothing in the block wrote; where there are none, those that no thread wrote at
// the line, if they are as many as both parties wrote. "" where there are none of those either.
func (w *Contested) Nobody() (cells string, here bool) {
	never, notHere := w.without(w.all), w.without(w.here)
	switch {
	case len(never) > 0:
		return w.box(never), false
	case len(notHere) >= len(w.both()):
		return w.box(notHere), true
	}
	return "", false
}

// without lists the cells of the array that are not in a set.
func (w *Contested) without(set map[int]bool) []int {
	total := 1
	for _, d := range w.dims {
		total *= d
	}
	var cells []int
	for c := range total {
		if !set[c] {
			cells = append(cells, c)
		}
	}
	return cells
}

// box is the smallest range of indices around cells, and how many of it they are where not all.
func (w *Contested) box(cells []int) string {
	if len(cells) == 0 {
		return ""
	}
	lo, hi := slices.Clone(w.dims), make([]int, len(w.dims))
	for _, c := range cells {
		for i := len(w.dims) - 1; i >= 0; i-- {
			x := c % w.dims[i]
			c /= w.dims[i]
			lo[i], hi[i] = min(lo[i], x), max(hi[i], x+1)
		}
	}
	var s strings.Builder
	s.WriteString(w.Variable)
	full := 1
	for i := range lo {
		full *= hi[i] - lo[i]
		if hi[i] == lo[i]+1 {
			fmt.Fprintf(&s, "[%d]", lo[i])
		} else {
			fmt.Fprintf(&s, "[%d:%d]", lo[i], hi[i])
		}
	}
	if full != len(cells) {
		return fmt.Sprintf("%d cells within %s", len(cells), s.String())
	}
	return s.String()
}
