package check

import "tilescope/debugkern/target"

// stored is what the global stores of one instruction wrote in one block, as long as that is one value:
// blocks that write the same to one cell do so with a constant. What a cell holds when its block ends would
// not do, others write it meanwhile.
type stored struct {
	value [16]byte
	size  int  // of one lane's store, 0: none yet
	mixed bool // not one value
}

// same reports whether both wrote one and the same value.
func (s *stored) same(o *stored) bool {
	return s != nil && o != nil && s.one() && o.one() && s.value == o.value && s.size == o.size
}

func (s *stored) one() bool { return s.size > 0 && !s.mixed }

// add takes in what one lane writes.
func (s *stored) add(b []byte) {
	var v [16]byte
	copy(v[:], b)
	if s.size > 0 && (s.size != len(b) || s.value != v) {
		s.mixed = true
	}
	s.value, s.size = v, len(b)
}

// remember notes what a lane's store to global memory writes, and returns what is known of the instruction's
// stores; nil where that is nothing.
func (u *races) remember(lane int) *stored {
	if u.e.Class != target.ClassStore || u.s.whole || u.s.reads || u.e.Bytes > 16 {
		return nil
	}
	s := u.values[u.e.PC]
	if s == nil {
		if u.values == nil {
			u.values = map[int]*stored{}
		}
		s = &stored{}
		u.values[u.e.PC] = s
	}
	if !s.mixed {
		var b [16]byte
		if n := u.b.view.Stored(lane, b[:]); n > 0 {
			s.add(b[:n])
		} else {
			s.mixed = true
		}
	}
	return s
}
