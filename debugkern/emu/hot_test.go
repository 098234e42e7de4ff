package emu

import (
	"math/rand/v2"
	"testing"
)

// laneWords are patterns at the edges of integers and floats of 16 and 32 bits.
var laneWords = []uint32{
	0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x7f800000, 0xff800000, 0x7f800001,
	0xffc12345, 0x7f7fffff, 0x00800000, 0x007fffff, 0x80000001, 0x3f800000, 0xbf800000, 0x477fefff,
	0x477ff000, 0x33000000, 0x33000001, 0x387fffff, 0x38800000, 0x7c00, 0xfc00, 0x7e01, 0x7bff, 0x8000,
	0x0400, 0x03ff, 0xffff7fff,
}

func laneWord(rng *rand.Rand) uint32 {
	if rng.IntN(3) == 0 {
		return laneWords[rng.IntN(len(laneWords))]
	}
	return rng.Uint32() >> (rng.IntN(4) * 8)
}

// TestRowsAreLanes: a function over all lanes, in vectors where the processor has them, gives what the loop
// gives lane by lane, also where the result takes the place of an operand.
func TestRowsAreLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for name, f := range map[string]fn32{
		"add32": add32, "sub32": sub32, "mul32": mul32, "mad32": mad32, "and32": and32, "or32": or32,
		"xor32": xor32, "shl32": shl32, "shrU32": shrU32, "shrS32": shrS32, "minS32": minS32,
		"maxS32": maxS32, "addF32": addF32, "subF32": subF32, "mulF32": mulF32, "fmaF32": fmaF32,
		"maxF32": maxF32, "minF32": minF32, "cvtF32U32": cvtF32U32, "cvtF32S32": cvtF32S32,
		"cvtF16F32": cvtF16F32, "cvtF32F16": cvtF32F16,
	} {
		for range 3000 {
			var a, b, c, want, got row32
			for i := range a {
				a[i], b[i], c[i] = laneWord(rng), laneWord(rng), laneWord(rng)
				var x, y, z, r row32
				x[0], y[0], z[0] = a[i], b[i], c[i]
				f(1, &r, &x, &y, &z)
				want[i] = r[0]
			}
			var loop row32
			if f(31, &loop, &a, &b, &c); [31]uint32(loop[:31]) != [31]uint32(want[:31]) || loop[31] != 0 {
				t.Fatalf("%s of %08x, %08x, %08x: %08x in a loop, lane by lane %08x", name, a, b,
					c, loop, want)
			}
			before := [3]row32{a, b, c}
			switch f(32, &got, &a, &b, &c); {
			case got != want:
				t.Fatalf("%s of %08x, %08x, %08x: %08x, lane by lane %08x", name, a, b, c, got, want)
			case before != [3]row32{a, b, c}:
				t.Fatalf("%s changes an operand", name)
			}
			if f(32, &b, &a, &b, &c); b != want {
				t.Fatalf("%s in the place of b: %08x, lane by lane %08x", name, b, want)
			}
			b = before[1]
			if f(32, &a, &a, &b, &c); a != want {
				t.Fatalf("%s in the place of a: %08x, lane by lane %08x", name, a, want)
			}
		}
	}
}

// TestWideRowsAreLanes is TestRowsAreLanes for results of 64 bits.
func TestWideRowsAreLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	word := func() uint64 { return uint64(laneWord(rng))<<32 | uint64(laneWord(rng)) }
	for range 5000 {
		var a, b row32
		var x, y [32]uint64
		for i := range a {
			a[i], b[i], x[i], y[i] = laneWord(rng), laneWord(rng), word(), word()
		}
		for name, f := range map[string]func(n int, d *row64, at int){
			"add64": func(n int, d *row64, at int) {
				p, q := tail64(&x, at), tail64(&y, at)
				add64(n, d, &p, &q, nil)
			},
			"shl64": func(n int, d *row64, at int) {
				p, q := tail64(&x, at), tail32(&b, at)
				shl64(n, d, &p, &q, nil)
			},
			"mulWideU": func(n int, d *row64, at int) {
				p, q := tail32(&a, at), tail32(&b, at)
				mulWideU(n, d, &p, &q, nil)
			},
			"mulWideS": func(n int, d *row64, at int) {
				p, q := tail32(&a, at), tail32(&b, at)
				mulWideS(n, d, &p, &q, nil)
			},
			"madWideU": func(n int, d *row64, at int) {
				p, q, r := tail32(&a, at), tail32(&b, at), tail64(&x, at)
				madWideU(n, d, &p, &q, &r)
			},
			"madWideS": func(n int, d *row64, at int) {
				p, q, r := tail32(&a, at), tail32(&b, at), tail64(&x, at)
				madWideS(n, d, &p, &q, &r)
			},
		} {
			var got, loop row64
			f(32, &got, 0)
			f(31, &loop, 0)
			for i := range got {
				var want row64
				if f(1, &want, i); got[i] != want[0] || i < 31 && loop[i] != want[0] {
					t.Fatalf("%s of %08x, %08x, %016x, %016x: %016x, in a loop %016x, alone %016x", name,
						a[i], b[i], x[i], y[i], got[i], loop[i], want[0])
				}
			}
		}
	}
}

// tail32 and tail64 are the lanes from at on, as the first ones.
func tail32(r *row32, at int) (out row32) {
	copy(out[:], r[at:])
	return out
}

func tail64(r *row64, at int) (out row64) {
	copy(out[:], r[at:])
	return out
}

// TestComparedRowsAreLanes is TestRowsAreLanes for comparisons.
func TestComparedRowsAreLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for _, op := range []string{"lt", "ge", "eq", "ne"} {
		for _, signed := range []bool{false, true} {
			f, plain := hotCompare(op, signed), intCompare(op, signed)
			if f == nil {
				continue
			}
			for range 3000 {
				var a, b row32
				for i := range a {
					if a[i], b[i] = laneWord(rng), laneWord(rng); rng.IntN(3) == 0 {
						b[i] = a[i]
					}
				}
				want := plain(32, &a, &b)
				if got, loop := f(32, &a, &b), f(31, &a, &b); got != want || loop != want&(1<<31-1) {
					t.Fatalf("%s of %08x and %08x: %08x, in a loop %08x, expected %08x", op, a, b,
						got, loop, want)
				}
			}
		}
	}
}
