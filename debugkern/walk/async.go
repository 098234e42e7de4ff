package walk

import (
	"context"
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/target"
)

// Asynchronous is offered by walks over blocks that can have asynchronous operations.
type Asynchronous interface {
	// Async copies what is under way at the moment at hand. ok is false for a kernel that has nothing
	// asynchronous.
	Async() (s target.AsyncState, ok bool)
	// Record executes the block once, from its start to its end, and returns what was asynchronous in it.
	// The walk is then where it was.
	Record(ctx context.Context) (*Timeline, error)
}

// async is the block as one that says what is asynchronous, nil where it cannot.
func (w *walker) async() target.Asynchronous {
	a, _ := w.block.(target.Asynchronous)
	return a
}

// Async implements Asynchronous.
func (w *walker) Async() (target.AsyncState, bool) {
	if a := w.async(); a != nil {
		return a.Async()
	}
	return target.AsyncState{}, false
}

// listen has what is asynchronous collected in w.happened; the function that it returns ends that.
func (w *walker) listen() (end func()) {
	a := w.async()
	if a == nil {
		return func() {}
	}
	w.happened = nil
	a.OnAsync(func(e target.AsyncEvent) { w.happened = append(w.happened, e) })
	return func() {
		a.OnAsync(nil)
		w.happened = nil
	}
}

// asyncEvents returns the matcher of the moments at which something asynchronous has happened: an operation
// is issued, one has landed, a phase of an mbarrier is complete. All of one moment is one stop.
func (w *walker) asyncEvents() stopMatcher {
	w.happened = nil
	var notes []string
	at := uint64(math.MaxUint64)
	flush := func(report func(hit)) {
		if len(notes) > 0 {
			report(hit{at, -1, "asynchronous event", joined(notes), -1, -1, nil})
		}
		notes = nil
	}
	return func(e *target.Event, report func(hit)) {
		for i := range w.happened {
			h := &w.happened[i]
			note := w.noteOf(h)
			if note == "" {
				continue
			}
			if h.Step != at {
				flush(report)
				at = h.Step
			}
			notes = append(notes, note)
		}
		w.happened = w.happened[:0]
		if e == nil || e.Step > at {
			flush(report)
		}
	}
}

// joined words what happened at one moment: the first two different things, and how many more.
func joined(notes []string) string {
	const shown = 2
	var out []string
	more := 0
	for i := 0; i < len(notes); {
		n := i
		for n < len(notes) && notes[n] == notes[i] {
			n++
		}
		switch note := notes[i]; {
		case len(out) == shown:
			more += n - i
		case n-i > 1:
			out = append(out, fmt.Sprintf("%s ×%d", note, n-i))
		default:
			out = append(out, note)
		}
		i = n
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, "; ")
}

// noteOf words an event that StepAsync stops at, "" for one that it does not.
func (w *walker) noteOf(e *target.AsyncEvent) string {
	switch e.Kind {
	case target.AsyncIssued:
		return w.wordOf(e.Operation) + " issued"
	case target.AsyncLanded:
		return w.wordOf(e.Operation) + " landed"
	case target.AsyncPhase:
		return fmt.Sprintf("phase %d of %s complete", e.Number, w.mbarrierName(e.MBarrier))
	}
	return ""
}

// wordOf names an operation: tensor copy k_map[0, 64, 0] → sK[1] (line 151).
func (w *walker) wordOf(o *target.Operation) string {
	out := string(o.Kind)
	if o.Of != "" {
		out += " " + o.Of
	}
	switch {
	case len(o.Writes) > 0:
		out += " → " + w.bufferAt(o.Writes[0]).name
	case o.Kind == target.OpWgmma:
		out += fmt.Sprintf(" of warpgroup %d", o.Warp/4)
	}
	if at := w.lineOf(o.PC); at != nil && at.Line > 0 {
		out += fmt.Sprintf(" (line %d)", at.Line)
	}
	return out
}

// lineOf is the line of the kernel's own body that an instruction belongs to: mbarriers and asynchronous
// operations are mostly written as functions that are inlined.
func (w *walker) lineOf(pc int) *target.Source {
	if at := w.program.Outer(pc); at != nil {
		return at
	}
	return w.program.Source(pc)
}

// mbarrierName is an mbarrier's name in the source, or its address.
func (w *walker) mbarrierName(addr uint64) string {
	if a := w.async(); a != nil {
		if name := a.SharedName(addr); name != "" {
			return name
		}
	}
	return fmt.Sprintf("mbarrier %#x", addr)
}

// bufferName is a part of shared memory that operations fill as a whole: an array, or one tile of an array of
// tiles.
type bufferName struct {
	name   string
	lo, hi uint64
}

// bufferAt is the buffer that a range of shared memory begins in. Arrays of three dimensions or more are
// rings of tiles; what lies in no named array is the range itself.
func (w *walker) bufferAt(r target.Range) bufferName {
	for _, a := range w.launch.Shared {
		base, ok := w.block.Array(a)
		if !ok {
			continue
		}
		size := uint64(a.DType.Size())
		for _, d := range a.Dims {
			size *= uint64(d)
		}
		at := uint64(base)
		if r.Lo < at || r.Lo >= at+size {
			continue
		}
		if len(a.Dims) < 3 || a.Dims[0] == 0 {
			return bufferName{a.Name, at, at + size}
		}
		one := size / uint64(a.Dims[0])
		i := (r.Lo - at) / one
		return bufferName{fmt.Sprintf("%s[%d]", a.Name, i), at + i*one, at + (i+1)*one}
	}
	name := ""
	if a := w.async(); a != nil {
		name = a.SharedName(r.Lo)
	}
	if name == "" {
		name = fmt.Sprintf("shared+%#x", r.Lo)
	}
	return bufferName{name, r.Lo, r.Hi}
}
