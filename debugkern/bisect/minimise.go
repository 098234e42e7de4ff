package bisect

import "math/bits"

// minimise is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
// 2002): from a set of bits that fulfils test it takes parts away until none of the bits that are left can be
// left out. What test cannot decide it answers with false. The empty set does not fulfil it.
func minimise(set uint64, test func(uint64) (bool, error)) (uint64, error) {
	for n := 2; bits.OnesCount64(set) > 1; {
		smaller, from, err := reduce(set, n, test)
		switch {
		case err != nil:
			return 0, err
		case smaller != 0 && from == fromPart:
			set, n = smaller, 2
		case smaller != 0:
			set, n = smaller, max(n-1, 2)
		case n >= bits.OnesCount64(set):
			return set, nil
		default:
			n = min(2*n, bits.OnesCount64(set))
		}
	}
	return set, nil
}

const (
	fromPart = iota
	fromRest
)

// reduce tries the n parts of a set, then what is left without each.
func reduce(set uint64, n int, test func(uint64) (bool, error)) (smaller uint64, from int, err error) {
	parts := split(set, n)
	for _, p := range parts {
		if ok, err := test(p); ok || err != nil {
			return p, fromPart, err
		}
	}
	for _, p := range parts {
		if ok, err := test(set &^ p); ok || err != nil {
			return set &^ p, fromRest, err
		}
	}
	return 0, 0, nil
}

// split deals a set's bits, in order, into n parts of nearly equal size; n is at most their number.
func split(set uint64, n int) []uint64 {
	parts, total := make([]uint64, n), bits.OnesCount64(set)
	for i := range total {
		low := set & -set
		parts[i*n/total] |= low
		set &^= low
	}
	return parts
}

// maxSmaller is how many smaller sets smallest looks at.
const maxSmaller = 128

// smallest looks for a set that fulfils test and is smaller than the one found. proved is true if every
// smaller one was tried; where there are too many, found is returned as it is.
func smallest(all, found uint64, test func(uint64) (bool, error)) (set uint64, proved bool, err error) {
	size := bits.OnesCount64(found)
	var sets []uint64
	for k := 1; k < size; k++ {
		if sets = subsets(sets, all, k); len(sets) > maxSmaller {
			return found, false, nil
		}
	}
	for _, s := range sets {
		if ok, err := test(s); ok || err != nil {
			return s, true, err
		}
	}
	return found, true, nil
}

// subsets appends the subsets of k bits, in order of their bits, until there are more than maxSmaller.
func subsets(list []uint64, all uint64, k int) []uint64 {
	var pick func(rest, chosen uint64, k int)
	pick = func(rest, chosen uint64, k int) {
		if k == 0 {
			list = append(list, chosen)
			return
		}
		for ; bits.OnesCount64(rest) >= k && len(list) <= maxSmaller; rest &= rest - 1 {
			pick(rest&(rest-1), chosen|rest&-rest, k-1)
		}
	}
	pick(all, 0, k)
	return list
}
