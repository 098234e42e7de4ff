// Package budget says whether memory whose size comes from input may be allocated.
//
// The one idea: sizes are added up before anything is allocated. A Sum lists named parts, each a product that
// is computed without overflow; compared with a limit it is accepted or refused as a whole, with its parts
// and what would make it smaller. A Budget is the memory that is left while a program runs: whoever allocates
// by a size from input reserves first. A value that outlives the function which made it keeps its reservation
// until it is collected (Until).
//
// It must not know what the parts are for, and it allocates nothing itself.
package budget

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Huge stands for a product or sum that does not fit: no limit is as large.
const Huge = math.MaxInt64

// Mul returns the product of sizes, Huge where it does not fit or a factor is negative.
func Mul[T ~int | ~int64 | ~uint64](factors ...T) int64 {
	out, huge := uint64(1), false
	for _, f := range factors {
		if f == 0 {
			return 0
		}
		hi, lo := bits.Mul64(out, uint64(f))
		huge = huge || f < 0 || hi != 0 || lo > Huge
		out = lo
	}
	if huge {
		return Huge
	}
	return int64(out)
}

// Add returns the sum of sizes, Huge where it does not fit or one is negative.
func Add(sizes ...int64) int64 {
	out := int64(0)
	for _, n := range sizes {
		if n < 0 || n > Huge-out {
			return Huge
		}
		out += n
	}
	return out
}

// Elements is how many elements a tensor of some extents has.
func Elements(dims []int) int64 {
	n := int64(1)
	for _, d := range dims {
		n = Mul(n, int64(d))
	}
	return n
}

// Part is one thing that memory is needed for.
type Part struct {
	Name  string // "arguments"
	Bytes int64
	Hint  string // what would make it smaller: "--blocks 0,0,0 would make it 1 GiB"; "" where nothing would
}

// Sum is what something needs, by part. The zero value needs nothing.
type Sum struct{ Parts []Part }

// Add adds bytes to the part of that name, which is made where it is new. A hint replaces
// the one that is there.
func (s *Sum) Add(name string, bytes int64, hint string) {
	if bytes < 0 {
		bytes = Huge
	}
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Name == name {
			p.Bytes = Add(p.Bytes, bytes)
			if hint != "" {
				p.Hint = hint
			}
			return
		}
	}
	if bytes > 0 {
		s.Parts = append(s.Parts, Part{name, bytes, hint})
	}
}

// Join adds the parts of another sum.
func (s *Sum) Join(o Sum) {
	for _, p := range o.Parts {
		s.Add(p.Name, p.Bytes, p.Hint)
	}
}

// Total is the sum of all parts.
func (s *Sum) Total() int64 {
	out := int64(0)
	for _, p := range s.Parts {
		out = Add(out, p.Bytes)
	}
	return out
}

// Within returns a *Refused where the sum is over the limit in bytes; limit 0 is none.
func (s *Sum) Within(limit int64) error {
	if limit <= 0 || s.Total() <= limit {
		return nil
	}
	return &Refused{Sum: *s, Limit: limit}
}

// Refused is a sum over the limit. Nothing of it was allocated.
type Refused struct {
	Sum   Sum
	Limit int64
}

// Error lists the parts in the order in which they were added.
func (e *Refused) Error() string {
	list := make([]string, len(e.Sum.Parts))
	for i, p := range e.Sum.Parts {
		list[i] = p.Name + " " + Text(p.Bytes)
		if p.Hint != "" {
			list[i] += " (" + p.Hint + ")"
		}
	}
	return fmt.Sprintf("needs %s of memory: %s; memory.max is %s%s", Text(e.Sum.Total()),
		strings.Join(list, ", "), Text(e.Limit), enough(e.Sum.Total()))
}

// enough names the smallest setting in whole MiB that n bytes fit into; "" where n is no size
// that a machine has.
func enough(n int64) string {
	if n >= 1<<50 {
		return ""
	}
	return fmt.Sprintf(" (--memory-max %dMiB would be enough)", (n+1<<20-1)>>20)
}

// Budget is memory that several may reserve parts of. It is safe for concurrent use; a nil
// Budget has no limit.
type Budget struct {
	limit int64
	used  atomic.Int64
	kept  atomic.Int64 // how many reservations last until a value is collected
	fail  func(part string, bytes int64) bool
}

// New returns a budget of limit bytes; 0 is none.
func New(limit int64) *Budget {
	if limit <= 0 {
		return nil
	}
	return &Budget{limit: limit}
}

// Failing returns a budget of limit bytes, more than 0, in which a reservation fails as if nothing were left
// where fail returns true: for tests. fail is called for every reservation, from any goroutine.
func Failing(limit int64, fail func(part string, bytes int64) bool) *Budget {
	return &Budget{limit: limit, fail: fail}
}

// Limit is the bytes of the budget, 0 without a limit.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Bound is Limit or, without one, Default: what a size that is read from input is compared with.
func (b *Budget) Bound() int64 {
	if n := b.Limit(); n > 0 {
		return n
	}
	return Default()
}

// Used is how many bytes are reserved.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Reserve takes bytes for a part, until release is called (once, or more often without effect). The error is
// *Exhausted; nothing is reserved then, and release does nothing. Where too little is left, the reservations
// of values that cannot be reached any more (Until) are given back first.
func (b *Budget) Reserve(part string, bytes int64) (release func(), err error) {
	if b == nil || bytes == 0 {
		return func() {}, nil
	}
	if b.fail != nil && b.fail(part, bytes) {
		return func() {}, &Exhausted{Part: part, Bytes: bytes, Used: b.limit, Limit: b.limit}
	}
	for collected := false; ; {
		used := b.used.Load()
		switch {
		case bytes >= 0 && bytes <= b.limit-used:
			if b.used.CompareAndSwap(used, used+bytes) {
				var once atomic.Bool
				return func() {
					if once.CompareAndSwap(false, true) {
						b.used.Add(-bytes)
					}
				}, nil
			}
		case bytes >= 0 && bytes <= b.limit && !collected && b.kept.Load() > 0:
			b.Collect()
			collected = true
		default:
			return func() {}, &Exhausted{Part: part, Bytes: bytes, Used: used, Limit: b.limit}
		}
	}
}

// Until has release, of a reservation of b, called once value cannot be reached any more: for memory
// that outlives the call which allocated it and that nobody gives back by hand. Nothing that release
// refers to may lead to value.
func Until[T any](b *Budget, value *T, release func()) {
	if b == nil {
		return
	}
	b.kept.Add(1)
	runtime.AddCleanup(value, func(release func()) { release(); b.kept.Add(-1) }, release)
}

// Reservations are reservations that are given back together.
type Reservations []func()

// Add reserves bytes for a part, as Budget.Reserve does.
func (r *Reservations) Add(b *Budget, part string, bytes int64) error {
	release, err := b.Reserve(part, bytes)
	if err == nil {
		*r = append(*r, release)
	}
	return err
}

// Release gives them back; once more has no effect.
func (r Reservations) Release() {
	for _, release := range r {
		release()
	}
}

// The runtime calls cleanups after a collection, on goroutines of its own.
const (
	collectLimit = 100 * time.Millisecond // how long they are waited for
	collectQuiet = 2 * time.Millisecond   // where nothing was given back for so long, nothing more will be
)

// Collect gives back the reservations of values that cannot be reached any more.
func (b *Budget) Collect() {
	if b == nil || b.kept.Load() == 0 {
		return
	}
	called := make(chan struct{})
	// too large to share its place with others
	runtime.AddCleanup(new([32]byte), func(c chan struct{}) { close(c) }, called)
	runtime.GC()
	end := time.After(collectLimit)
	select {
	case <-called:
	case <-end:
		return
	}
	for {
		before := b.kept.Load()
		select {
		case <-time.After(collectQuiet):
		case <-end:
			return
		}
		if b.kept.Load() == before {
			return
		}
	}
}

// Exhausted is a reservation for which the budget has not enough left.
type Exhausted struct {
	Part        string // what asked
	Bytes       int64  // for how much
	Used, Limit int64
}

func (e *Exhausted) Error() string {
	return fmt.Sprintf(
		"out of memory: %s needs %s more, and %s of memory.max (%s) are in use (--memory-max raises it)",
		e.Part, Text(e.Bytes), Text(e.Used), Text(e.Limit))
}

// Text prints a size in binary units with three digits.
func Text(n int64) string {
	if n >= Huge || n < 0 {
		return "more than 8 EiB"
	}
	const units = "KMGTPE"
	v, u := float64(n), -1
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	switch {
	case u < 0:
		return fmt.Sprintf("%d B", n)
	case v >= 100:
		return fmt.Sprintf("%.0f %ciB", v, units[u])
	}
	return fmt.Sprintf("%.3g %ciB", v, units[u])
}
