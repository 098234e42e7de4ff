package fp

import (
	"encoding/csv"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// checksums holds, for every approximation, the sum over all 2^32 inputs of
// mix64(x<<32 | f(x)) measured on an H200, and the same sum over 2^18 multiples
// of stride, recorded from the code whose full sums agreed.
var checksums = []struct {
	name          string
	op            func(m *Model) func(uint32) uint32
	full, strided uint64
}{
	{"ex2.approx.ftz.f32", func(m *Model) func(uint32) uint32 { return approx(m.Ex232, true) },
		0x1d1556d350d539a8, 0xfb3b811bc302cbe5},
	{"rcp.approx.ftz.f32", func(m *Model) func(uint32) uint32 { return approx(m.Rcp32, true) },
		0x35d36c4288d43917, 0xc6142d529cc8df67},
	{"ex2.approx.f32", func(m *Model) func(uint32) uint32 { return approx(m.Ex232, false) },
		0xb7a2a06dad9e0e76, 0x738e9880c6edb0bc},
	{"rsqrt.approx.ftz.f32", func(m *Model) func(uint32) uint32 { return approx(m.Rsqrt32, true) },
		0x3ea18cd0b81b4a79, 0x70129668a6047456},
	{"sqrt.approx.ftz.f32", func(m *Model) func(uint32) uint32 { return approx(m.Sqrt32, true) },
		0xc852b1922498e7b8, 0x525761be093d7252},
	{"lg2.approx.ftz.f32", func(m *Model) func(uint32) uint32 { return approx(m.Lg232, true) },
		0x53f137d4cc010e6a, 0x3bf0906047277dec},
	{"sin.approx.f32", func(m *Model) func(uint32) uint32 { return m.Sin32 }, 0x7300159050ecc442,
		0x9fd4cc7a4765f96c},
	{"cos.approx.f32", func(m *Model) func(uint32) uint32 { return m.Cos32 }, 0xad55be0040afe73e,
		0x2e8045fd9ca4c849},
	{"tanh.approx.f32", func(m *Model) func(uint32) uint32 { return m.Tanh32 }, 0x7b3d8084ead5bfdf,
		0x93bfca00ec6fc73b},
	{"rcp.approx.f32", func(m *Model) func(uint32) uint32 { return approx(m.Rcp32, false) },
		0xad74bac43e8ae00c, 0x95222f9d37de4ddd},
	{"rsqrt.approx.f32", func(m *Model) func(uint32) uint32 { return approx(m.Rsqrt32, false) },
		0x4b21108f6f9efc73, 0x8dee7f11f9f55429},
	{"sqrt.approx.f32", func(m *Model) func(uint32) uint32 { return approx(m.Sqrt32, false) },
		0x61613748506b974f, 0x720574bc3cbf41b0},
	{"lg2.approx.f32", func(m *Model) func(uint32) uint32 { return approx(m.Lg232, false) },
		0x765fc04c907d90f8, 0x6a96d16a04d6f28f},
}

// mix64 is the finaliser of splitmix64.
func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// stride is odd and near 2^32/2^18, so that 2^18 steps cover every exponent.
const stride = 16411

func TestApproximationsStrided(t *testing.T) {
	for _, c := range checksums {
		f := c.op(SM90())
		var sum uint64
		for k := range uint32(1 << 18) {
			x := k * stride
			sum += mix64(uint64(x)<<32 | uint64(f(x)))
		}
		if sum != c.strided {
			t.Errorf("%s: strided sum %#016x, want %#016x", c.name, sum, c.strided)
		}
	}
}

// TestApproximationsExhaustive runs all 2^32 inputs of every approximation.
func TestApproximationsExhaustive(t *testing.T) {
	if os.Getenv("TILESCOPE_LONG") != "1" {
		t.Skip("13 times 2^32 inputs take several minutes: set TILESCOPE_LONG=1 (make test-long)")
	}
	for _, c := range checksums {
		t.Run(c.name, func(t *testing.T) {
			if sum := sumAll(c.op(SM90())); sum != c.full {
				t.Errorf("sum %#016x, hardware %#016x", sum, c.full)
			}
		})
	}
}

func sumAll(f func(uint32) uint32) uint64 {
	var wg sync.WaitGroup
	parts := make([]uint64, runtime.GOMAXPROCS(0))
	for p := range parts {
		wg.Go(func() {
			var sum uint64
			for x := uint64(p); x < 1<<32; x += uint64(len(parts)) {
				sum += mix64(x<<32 | uint64(f(uint32(x))))
			}
			parts[p] = sum
		})
	}
	wg.Wait()
	var sum uint64
	for _, s := range parts {
		sum += s
	}
	return sum
}

// TestTablesMatchSource holds the generated tables against the measured data.
func TestTablesMatchSource(t *testing.T) {
	f, err := os.Open("tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]segment{
		"ex2": ex2Table[:], "rcp": rcpTable[:], "rsq": rsqTable[:], "sqrt": sqrtTable[:],
		"lg2": lg2Table[:], "sin": sinTable[:], "tanh": tanhTable[:],
	}
	total := 0
	for _, s := range tables {
		total += len(s)
	}
	if total != 627 || len(rows) != total+1 {
		t.Fatalf("%d entries generated, %d rows in the source", total, len(rows)-1)
	}
	for _, r := range rows[1:] {
		i, err := strconv.Atoi(r[1])
		if err != nil {
			t.Fatal(err)
		}
		s := tables[r[0]][i]
		if got := fmt.Sprint(s.c0, s.c1, s.c2); got != fmt.Sprint(r[2], " ", r[3], " ", r[4]) {
			t.Errorf("%s[%d] = %s, source %v", r[0], i, got, r[2:])
		}
	}
}

// TestSquare compares the split squarer with its definition, bit by bit.
func TestSquare(t *testing.T) {
	for x := range uint32(1 << 17) {
		var sum uint64
		for i := range 17 {
			for j := i + 1; j < 17; j++ {
				if i+j >= 18 {
					sum += uint64(x>>i&1) * uint64(x>>j&1) << (i + j + 1)
				}
			}
			if i >= 10 {
				sum += uint64(x>>i&1) << (2 * i)
			}
		}
		if got := square(x); got != int64(sum>>19) {
			t.Fatalf("square(%#x) = %d, want %d", x, got, sum>>19)
		}
	}
}

func BenchmarkEx2(b *testing.B) {
	m := SM90()
	var x, r uint32 = 0xc0000000, 0
	for b.Loop() {
		r ^= m.Ex232(x, true)
		x += 12345
	}
	sink = r
}

var sink uint32
