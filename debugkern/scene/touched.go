package scene

import (
	"context"
	"sync"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Touched is which places of arguments and of shared memory a launch loads from and stores to, where it may,
// and which threads do.
type Touched struct {
	mu    sync.Mutex
	by    map[touchBy]bool
	names map[uint64]string // of arguments, by the address of their first byte
	all   bool              // nothing is left out
	times map[string]int    // how often threads access something on a line, by its file and number
	lines map[*ptx.Instr]string
}

// touch is an access of a place.
type touch struct {
	of     string      // the argument; "": shared memory
	block  probes.Dim3 // of shared memory
	at     uint64      // byte
	stores bool
}

// touchBy is a thread's access.
type touchBy struct {
	touch
	from       probes.Dim3 // the thread's block
	warp, lane int
}

// mostTouched is how many accesses are kept.
const mostTouched = 1 << 20

// Touches makes a trial of a run and returns what its launch touches, without what lies out of bounds. Errors
// are those of Try.
func Touches(ctx context.Context, r *debugkern.Run, trial debugkern.Trial) (*Touched, error) {
	t := &Touched{
		by: map[touchBy]bool{}, names: map[uint64]string{}, all: true, times: map[string]int{},
		lines: map[*ptx.Instr]string{},
	}
	a, err := r.Attempt(ctx, trial)
	if err != nil {
		return nil, err
	}
	_, err = a.Launch(ctx, func(l *target.Launch) {
		l.Observe = func(probes.Dim3) target.Observer { return &toucher{out: t} }
	})
	if err != nil {
		return nil, a.Explain(err)
	}
	return t, nil
}

// Lacks reports whether another launch does not touch all that this one does; false where that is not known.
func (t *Touched) Lacks(o *Touched) bool {
	if !t.all || !o.all {
		return false
	}
	places := map[touch]bool{}
	for x := range o.by {
		places[x.touch] = true
	}
	for x := range t.by {
		if !places[x.touch] {
			return true
		}
	}
	return false
}

// Adds reports whether threads access places that they do not in another launch; true where that is not
// known.
func (t *Touched) Adds(to *Touched) bool {
	if !t.all || !to.all {
		return true
	}
	for x := range t.by {
		if !to.by[x] {
			return true
		}
	}
	return false
}

// Times is how often threads access something at a line, where they may.
func (t *Touched) Times(at *report.Source) int { return t.times[at.At()] }

// line is the file and number of an instruction's line.
func (t *Touched) line(fn *ptx.Func, in *ptx.Instr) string {
	line, known := t.lines[in]
	if !known {
		if at := report.SourceOf(target.Blame(fn, in.Index)); at != nil {
			line = at.At()
		}
		t.lines[in] = line
	}
	return line
}

// toucher watches the accesses of one block.
type toucher struct {
	view target.View
	out  *Touched
}

// View implements target.Viewer.
func (w *toucher) View(v target.View) { w.view = v }

// Interests implements target.Interested.
func (w *toucher) Interests() target.ClassSet {
	return target.Classes(target.ClassStore, target.ClassAtomic, target.ClassAsync, target.ClassLoad,
		target.ClassBulk)
}

// Event implements target.Observer.
func (w *toucher) Event(e *target.Event) {
	if e.Addr == nil || e.Probe || w.view == nil ||
		e.Space != target.SpaceShared && e.Space != target.SpaceGlobal {
		return
	}
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	if e.Ranges != nil || len(w.out.by) > mostTouched {
		w.out.all = false // of a tensor copy the address is a place in the tensor's map
		return
	}
	for lane := range 32 {
		if e.Mask>>lane&1 == 0 {
			continue
		}
		x := touch{at: e.Addr[lane], stores: e.Class != target.ClassLoad}
		if e.Space == target.SpaceShared {
			if name, _ := w.view.Name(e.Space, x.at); name == "" {
				continue
			}
			x.block = w.view.Block()
		} else {
			lo, hi, _ := w.view.Extent(x.at)
			if hi <= lo {
				continue
			}
			if w.out.names[lo] == "" {
				w.out.names[lo], _ = w.view.Name(e.Space, lo)
			}
			x.of, x.at = w.out.names[lo], x.at-lo
		}
		w.out.by[touchBy{x, w.view.Block(), e.Warp, lane}] = true
		w.out.times[w.out.line(e.Func, e.Instr)]++
	}
}
