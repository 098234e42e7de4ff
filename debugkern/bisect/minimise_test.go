package bisect

import (
	"errors"
	"math/bits"
	"testing"
)

// TestMinimise: every wanted set of up to three of seven bits is found, exactly, when any superset of
// it fulfils the test.
func TestMinimise(t *testing.T) {
	const all = uint64(1<<7 - 1)
	for want := uint64(1); want <= all; want++ {
		if bits.OnesCount64(want) > 3 {
			continue
		}
		got, err := minimise(all, func(s uint64) (bool, error) { return s&want == want, nil })
		if err != nil || got != want {
			t.Errorf("want %07b, got %07b, %v", want, got, err)
		}
	}
}

// TestMinimiseUnresolved: bit 2 needs bit 0, as a flag requires another; what breaks that decides nothing,
// and yet no bit of the result can be left out.
func TestMinimiseUnresolved(t *testing.T) {
	test := func(s uint64) (bool, error) {
		if s&4 != 0 && s&1 == 0 {
			return false, nil
		}
		return s&4 != 0, nil
	}
	if got, err := minimise(0b11111, test); err != nil || got != 0b101 {
		t.Errorf("got %05b, %v", got, err)
	}
}

// TestSmallest: delta debugging stops at a set none of whose bits can be left out though another is
// smaller; smallest finds it.
func TestSmallest(t *testing.T) {
	test := func(s uint64) (bool, error) { return s&0b0111 == 0b0111 || s == 0b1000, nil }
	if got, proved, err := smallest(0b1111, 0b0111, test); err != nil || !proved || got != 0b1000 {
		t.Errorf("got %04b, proved %v, %v", got, proved, err)
	}
	never := func(uint64) (bool, error) { return false, nil }
	if got, proved, err := smallest(0b1111, 0b0111, never); err != nil || !proved || got != 0b0111 {
		t.Errorf("none smaller: got %04b, proved %v, %v", got, proved, err)
	}
	many := uint64(1<<40 - 1)
	if got, proved, err := smallest(many, 0b1111, never); err != nil || proved || got != 0b1111 {
		t.Errorf("too many: got %b, proved %v, %v", got, proved, err)
	}
	stop := errors.New("cancelled")
	if _, err := minimise(many, func(uint64) (bool, error) { return false, stop }); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestSplit(t *testing.T) {
	for n := 1; n <= 5; n++ {
		together := uint64(0)
		for _, p := range split(0b1101101, n) {
			if p == 0 || together&p != 0 {
				t.Errorf("%d parts: %b", n, split(0b1101101, n))
			}
			together |= p
		}
		if together != 0b1101101 {
			t.Errorf("%d parts make %b", n, together)
		}
	}
}
