// Package budget says whether memory whose size comes from input may be allocated.
//
// The one idea: sizes are added up before anything is allocated. A Sum lists named parts, each a product that is computed
// without overflow; compared with a limit it is accepted or refused as a whole, with its parts and what would make it smaller.
// A Budget is the memory that is left while a program runs: whoever allocates by a size from input reserves first.
//
// It must not know what the parts are for, and it allocates nothing itself.
package budget

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync/atomic"
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

// Part is one thing that memory is needed for.
type Part struct {
	Name  string // "arguments"
	Bytes int64
	Hint  string // what would make it smaller: "--blocks 0,0,0 would make it 1 GiB"; "" where nothing would
}

// Sum is what something needs, by part. The zero value needs nothing.
type Sum struct{ Parts []Part }

// Add adds bytes to the part of that name, which is made where it is new. A hint replaces the one that is there.
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
	return fmt.Sprintf("needs %s of memory: %s; memory.max is %s", Text(e.Sum.Total()), strings.Join(list, ", "), Text(e.Limit))
}

// Budget is memory that several may reserve parts of. It is safe for concurrent use; a nil Budget has no limit.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// New returns a budget of limit bytes; 0 is none.
func New(limit int64) *Budget {
	if limit <= 0 {
		return nil
	}
	return &Budget{limit: limit}
}

// Limit is the bytes of the budget, 0 without a limit.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Used is how many bytes are reserved.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Reserve takes bytes for a part, until release is called (once, or more often without effect). The error is *Exhausted;
// nothing is reserved then, and release does nothing.
func (b *Budget) Reserve(part string, bytes int64) (release func(), err error) {
	if b == nil || bytes == 0 {
		return func() {}, nil
	}
	for {
		used := b.used.Load()
		if bytes < 0 || bytes > b.limit-used {
			return func() {}, &Exhausted{Part: part, Bytes: bytes, Used: used, Limit: b.limit}
		}
		if b.used.CompareAndSwap(used, used+bytes) {
			var once atomic.Bool
			return func() {
				if once.CompareAndSwap(false, true) {
					b.used.Add(-bytes)
				}
			}, nil
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
	return fmt.Sprintf("out of memory: %s needs %s more, and %s of memory.max (%s) are in use", e.Part, Text(e.Bytes), Text(e.Used), Text(e.Limit))
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
