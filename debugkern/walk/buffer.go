package walk

import (
	"cmp"
	"slices"
	"sort"

	"tilescope/debugkern/target"
)

// Owner says who has a buffer of shared memory.
type Owner uint8

// The owners. A buffer is empty before it is filled, and again once it has been released.
const (
	Empty   Owner = iota // whoever fills it may
	Filling              // operations that write it are under way
	Full                 // it has been written, and nobody has read it since
	InUse                // it has been read since, and may be again
	Clash                // it is read while it is filled
)

func (o Owner) String() string {
	return [...]string{"empty", "filling", "full", "in use", "read while filled"}[o]
}

// Buffer is a part of shared memory that asynchronous operations fill: a tile of a ring, or an array.
type Buffer struct {
	Name   string
	Lo, Hi uint64
	Full   string // the mbarrier that says that it is filled, "" where there is none
	// Empty is the mbarrier that says that it may be filled again: what those who fill it wait for; "" where
	// nobody has waited. It is then in use up to the last read before it is filled again.
	Empty  string
	Owned  []Owned // by moment; before the first it is empty
	Layout *target.TileLayout
	Reader *target.TileLayout // of a product that reads it, nil where none does

	waits map[string]int // how often those who fill it had waited at an mbarrier last
}

// Owned is who has a buffer from a moment on.
type Owned struct {
	From  uint64
	Owner Owner
}

// At is who has the buffer at a moment.
func (s *Buffer) At(step uint64) Owned {
	i := sort.Search(len(s.Owned), func(i int) bool { return s.Owned[i].From > step })
	if i == 0 {
		return Owned{}
	}
	return s.Owned[i-1]
}

// waited notes at which mbarrier the one who fills the buffer has waited last.
func (s *Buffer) waited(name string) {
	if s.waits == nil {
		s.waits = map[string]int{}
	}
	s.waits[name]++
}

// buffer is the index of a buffer, which is made where there is none.
func (r *recording) buffer(n bufferName) int {
	t := r.t
	i := slices.IndexFunc(t.Buffers, func(s Buffer) bool { return s.Lo <= n.lo && n.lo < s.Hi })
	if i >= 0 {
		t.Buffers[i].Hi = max(t.Buffers[i].Hi, n.hi)
		return i
	}
	t.Buffers = append(t.Buffers, Buffer{Name: n.name, Lo: n.lo, Hi: n.hi})
	return len(t.Buffers) - 1
}

// own finds who had each buffer when.
func (r *recording) own() {
	t := r.t
	full := map[string]bool{}
	for i := range t.Buffers {
		full[t.Buffers[i].Full] = true
	}
	for i := range t.Buffers {
		s := &t.Buffers[i]
		for name, n := range s.waits {
			if full[name] { // it consumes another buffer
				continue
			}
			if best := s.waits[s.Empty]; s.Empty == "" || n > best || n == best && name < s.Empty {
				s.Empty = name
			}
		}
		s.Owned = r.owned(i)
	}
	order := make([]int, len(t.Buffers))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(t.Buffers[a].Lo, t.Buffers[b].Lo) })
	sorted, place := make([]Buffer, len(order)), make([]int, len(order))
	for to, from := range order {
		sorted[to], place[from] = t.Buffers[from], to
	}
	t.Buffers = sorted
	for i := range t.Flights {
		if f := &t.Flights[i]; f.Buffer >= 0 {
			f.Buffer = place[f.Buffer]
		}
	}
}

// round is one filling of a buffer: operations that write different bytes of it.
type round struct {
	flights []int
	from    uint64 // the first is issued
	landed  uint64 // the last has landed
	next    uint64 // the next round begins
}

// rounds divides the operations that fill buffer i. A round ends where bytes are written that it has written.
func (t *Timeline) rounds(i int) (out []round) {
	var written []target.Range
	for k := range t.Flights {
		f := &t.Flights[k]
		if f.Buffer != i {
			continue
		}
		n := len(out) - 1
		again := func(r target.Range) bool { return overlap(f.Writes, r.Lo, r.Hi) }
		if n < 0 || slices.ContainsFunc(written, again) {
			if n >= 0 {
				out[n].next = f.Issued
			}
			out, written = append(out, round{from: f.Issued, next: Never}), written[:0]
			n++
		}
		out[n].flights = append(out[n].flights, k)
		out[n].landed = max(out[n].landed, f.Landed)
		written = append(written, f.Writes...)
	}
	return out
}

// overlap reports whether some of the ranges has a byte of [lo, hi).
func overlap(rs []target.Range, lo, hi uint64) bool {
	return slices.ContainsFunc(rs, func(r target.Range) bool { return r.Lo < hi && r.Hi > lo })
}

// readsOf lists the reads of buffer i, by their beginning: by instructions, and by operations from issue to
// landing.
func (r *recording) readsOf(i int) []sharedRead {
	t, s := r.t, &r.t.Buffers[i]
	var out []sharedRead
	for _, x := range r.reads {
		if overlap(x.ranges, s.Lo, s.Hi) {
			out = append(out, x)
		}
	}
	for k := range t.Flights {
		f := &t.Flights[k]
		n := slices.IndexFunc(f.Reads, func(x target.Range) bool { return x.Lo < s.Hi && x.Hi > s.Lo })
		if n < 0 {
			continue
		}
		out = append(out, sharedRead{Span{f.Issued, f.Landed}, f.Reads})
		if s.Reader == nil && n < len(f.Layouts) {
			s.Reader = &f.Layouts[n]
		}
	}
	slices.SortStableFunc(out, func(a, b sharedRead) int { return cmp.Compare(a.From, b.From) })
	return out
}

// owned is who has buffer i, from moment to moment.
func (r *recording) owned(i int) (out []Owned) {
	t, s := r.t, &r.t.Buffers[i]
	var releases []uint64
	for k := range t.MBarriers {
		if m := &t.MBarriers[k]; s.Empty != "" && m.Name == s.Empty {
			releases = m.Phases
		}
	}
	reads := r.readsOf(i)
	for _, x := range t.rounds(i) {
		out = append(out, Owned{x.from, Filling})
		if x.landed == Never {
			break
		}
		out = append(out, Owned{x.landed, Full})
		last := uint64(0)
		for _, read := range reads {
			if read.From < x.next && read.To > x.landed {
				if last == 0 {
					out = append(out, Owned{max(read.From, x.landed), InUse})
				}
				last = max(last, read.To)
			}
		}
		if s.Empty != "" {
			k := slices.IndexFunc(releases, func(step uint64) bool { return step >= x.landed })
			if last = 0; k >= 0 {
				last = releases[k]
			}
		}
		if last > 0 && last < x.next {
			out = append(out, Owned{last, Empty})
		}
	}
	return t.clashes(i, reads, distinct(out))
}

// distinct leaves of those of one moment the last, and of equal ones that follow each other the first.
func distinct(in []Owned) (out []Owned) {
	for _, o := range in {
		if n := len(out); n > 0 && out[n-1].From == o.From {
			out[n-1] = o
			if n > 1 && out[n-2].Owner == o.Owner {
				out = out[:n-1]
			}
		} else if n == 0 || out[n-1].Owner != o.Owner {
			out = append(out, o)
		}
	}
	return out
}

// clashes adds the stretches in which bytes are read that an operation under way writes.
func (t *Timeline) clashes(i int, reads []sharedRead, owned []Owned) []Owned {
	s := &Buffer{Owned: owned}
	for k := range t.Flights {
		f := &t.Flights[k]
		if f.Buffer != i {
			continue
		}
		for _, x := range reads {
			if x.From >= f.Landed {
				break
			}
			from, to := max(x.From, f.Issued), min(x.To, f.Landed)
			if from >= to || !slices.ContainsFunc(x.ranges, func(r target.Range) bool {
				return overlap(f.Writes, r.Lo, r.Hi)
			}) {
				continue
			}
			after := s.At(to).Owner
			s.Owned = slices.DeleteFunc(s.Owned, func(o Owned) bool { return o.From >= from && o.From <= to })
			s.Owned = append(s.Owned, Owned{from, Clash}, Owned{to, after})
			slices.SortStableFunc(s.Owned, func(a, b Owned) int { return cmp.Compare(a.From, b.From) })
		}
	}
	return distinct(s.Owned)
}
