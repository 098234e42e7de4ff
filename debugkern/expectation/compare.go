package expectation

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Entry is an element that an element of an output is made of, and in how many ways it enters: as often as an
// operation takes it, or something made of it, on the way there.
type Entry struct {
	Element
	Times uint64
}

// Difference is how what an element is made of differs from what was expected. All lists are sorted.
type Difference struct {
	Missing  []Element // expected, and not there
	Foreign  []Entry   // there, and not expected
	Repeated []Entry   // they enter more often than others of the same terms, or than once where stated
	Fewer    []Entry   // they enter less often than most others of the same terms
	// Usual is how often the others enter where Repeated or Fewer is not empty.
	Usual uint64
}

// Empty reports whether there is no difference.
func (d *Difference) Empty() bool {
	return len(d.Missing)+len(d.Foreign)+len(d.Repeated)+len(d.Fewer) == 0
}

// Of are the elements of an argument that are expected, sorted.
func (s *Set) Of(arg int) []int {
	var out []int
	for e := range s.of {
		if e.Arg == arg {
			out = append(out, e.At)
		}
	}
	slices.Sort(out)
	return out
}

// All goes over the expected elements, in no order.
func (s *Set) All() iter.Seq[Element] { return maps.Keys(s.of) }

// Has reports whether an element is expected.
func (s *Set) Has(e Element) bool { return s.of[e] != 0 }

// Compare compares the set with the elements that the cell is made of, each of which is listed once.
//
// Elements that the same terms name must enter equally often, unless one of these is repeated or optional:
// of a softmax, x[i] enters more often than the rest of x[*], which two terms can say.
func (s *Set) Compare(made []Entry) *Difference {
	d := &Difference{}
	seen := make(map[Element]bool, len(made))
	groups := map[uint32][]Entry{}
	for _, m := range made {
		seen[m.Element] = true
		mask := s.of[m.Element]
		switch {
		case mask != 0:
			groups[mask] = append(groups[mask], m)
		case !s.b.others || s.b.named[m.Arg]:
			d.Foreign = append(d.Foreign, m)
		}
	}
	for e, mask := range s.of {
		if !seen[e] && !s.all(mask, func(t *term) bool { return t.optional }) {
			d.Missing = append(d.Missing, e)
		}
	}
	for mask, list := range groups {
		s.often(d, mask, list)
	}
	slices.SortFunc(d.Missing, compareElements)
	for _, list := range [][]Entry{d.Foreign, d.Repeated, d.Fewer} {
		slices.SortFunc(list, func(a, b Entry) int { return compareElements(a.Element, b.Element) })
	}
	return d
}

// often compares how often elements enter that the same terms name.
func (s *Set) often(d *Difference, mask uint32, list []Entry) {
	if s.any(mask, func(t *term) bool { return t.repeated || t.optional }) {
		return
	}
	usual := uint64(0)
	if mask&(mask-1) == 0 && s.any(mask, func(t *term) bool { return t.once }) {
		usual = 1
	} else {
		usual = mode(list)
	}
	for _, m := range list {
		switch {
		case m.Times > usual:
			d.Repeated = append(d.Repeated, m)
			d.Usual = usual
		case m.Times < usual:
			d.Fewer = append(d.Fewer, m)
			d.Usual = usual
		}
	}
}

// mode is how often most of the elements enter, of several the least.
func mode(list []Entry) uint64 {
	count := map[uint64]int{}
	for _, m := range list {
		count[m.Times]++
	}
	best, most := uint64(0), 0
	for times, n := range count {
		if n > most || n == most && times < best {
			best, most = times, n
		}
	}
	return best
}

func (s *Set) any(mask uint32, is func(*term) bool) bool {
	for i := range s.b.terms {
		if mask>>i&1 != 0 && is(s.b.terms[i].term) {
			return true
		}
	}
	return false
}

func (s *Set) all(mask uint32, are func(*term) bool) bool {
	return !s.any(mask, func(t *term) bool { return !are(t) })
}

func compareElements(a, b Element) int {
	return cmp.Or(cmp.Compare(a.Arg, b.Arg), cmp.Compare(a.At, b.At))
}
