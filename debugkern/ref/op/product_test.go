package op

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbers are random, some of them special.
func numbers(rnd *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rnd.NormFloat64() * math.Exp(20*rnd.NormFloat64())
		if rnd.IntN(200) == 0 {
			special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.NaN(), 5e-324, math.MaxFloat64}
			v[i] = special[rnd.IntN(len(special))]
		}
	}
	return v
}

// same compares bits, but for those of NaN.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	})
}

// The loops in use give the bits of those in Go, whatever the sizes.
func TestProductsAreTheSameEverywhere(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		n := rnd.IntN(40)
		x, m := numbers(rnd, n), numbers(rnd, (n+1)*panelWidth)
		var got, want [panelWidth]float64
		copy(got[:], numbers(rnd, panelWidth))
		want = got
		addProducts(&got, x, m)
		addProductsGo(&want, x, m)
		if !same(got[:], want[:]) {
			t.Fatalf("%d products: %v, want %v", n, got, want)
		}

		fours, cols := 1+rnd.IntN(9), 1+rnd.IntN(70)
		stride := cols + rnd.IntN(3)
		p, v, u := numbers(rnd, 4*fours), numbers(rnd, 4*fours*stride), numbers(rnd, cols)
		w := slices.Clone(u)
		addFours(u, p, v, stride)
		addFoursGo(w, p, v, stride)
		if !same(u, w) {
			t.Fatalf("%d fours of %d columns: %v, want %v", fours, cols, u, w)
		}
	}
}

// Scores, dotRow and Accumulate are the sums that they say, in the order that they say.
func TestProducts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		rows, keys, depth, block := 1+rnd.IntN(5), 1+rnd.IntN(40), 1+rnd.IntN(70), 1+rnd.IntN(20)
		q, k := Matrix{rows, depth, numbers(rnd, rows*depth)}, Matrix{keys, depth, numbers(rnd, keys*depth)}
		var panels Panels
		panels.Pack(Matrix{keys, depth, numbers(rnd, keys*depth)}, keys) // leaves nothing behind
		panels.Pack(k, keys)
		blocks := (depth + block - 1) / block
		s, partial := NewMatrix(rows, keys), make([]float64, blocks*keys)
		Scores(s, q, &panels, rows, keys, 0.125)
		for r := range rows {
			dotRow(partial, q.Row(r), &panels, keys, blocks, block)
			for j := range keys {
				sum := 0.0
				for d, x := range q.Row(r) {
					sum += float64(x * k.At(j, d))
					at := partial[d/block*keys+j]
					if (d+1)%block == 0 && !same([]float64{at}, []float64{sum}) {
						t.Fatalf("%d×%d: sum (%d,%d) to %d is %g, want %g", keys, depth, r, j, d, at, sum)
					}
				}
				got, last := s.At(r, j), partial[(blocks-1)*keys+j]
				if !same([]float64{got, last}, []float64{sum * 0.125, sum}) {
					t.Fatalf("%d×%d: score (%d,%d) is %g of %g, want %g", keys, depth, r, j, got, last, sum)
				}
			}
		}
		p, u := Matrix{rows, keys, numbers(rnd, rows*keys)}, Matrix{rows, depth, numbers(rnd, rows*depth)}
		want, lo := slices.Clone(u.Data), rnd.IntN(keys)
		Accumulate(u, p, k, rows, lo, keys)
		for r := range rows {
			for d := range depth {
				sum, j := want[r*depth+d], lo
				for at := func(j int) float64 { return p.At(r, j) * k.At(j, d) }; j < keys; j++ {
					if j+4 <= keys {
						sum += at(j) + at(j+1) + (at(j+2) + at(j+3))
						j += 3
						continue
					}
					sum += at(j)
				}
				if !same([]float64{u.At(r, d)}, []float64{sum}) {
					t.Fatalf("%d keys from %d: (%d,%d) is %g, want %g", keys, lo, r, d, u.At(r, d), sum)
				}
			}
		}
	}
}

// BenchmarkProducts is a 32×32 tile of products over 64, as judging makes them.
func BenchmarkProducts(b *testing.B) {
	rnd := rand.New(rand.NewPCG(7, 8))
	normal := func(rows, cols int) Matrix {
		m := NewMatrix(rows, cols)
		for i := range m.Data {
			m.Data[i] = rnd.NormFloat64()
		}
		return m
	}
	q, k, s := normal(32, 64), normal(32, 64), NewMatrix(32, 32)
	var panels Panels
	panels.Pack(k, 32)
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(32*32*64)*1e3, "ps/product")
		})
	}
	run("dots", func() { Scores(s, q, &panels, 32, 32, 1) })
	run("sums", func() { Accumulate(q, s, k, 32, 0, 32) })
	run("dots in Go", func() {
		for r := range 32 {
			for j := range 2 {
				var sums [panelWidth]float64
				addProductsGo(&sums, q.Row(r), panels.panel(j))
			}
		}
	})
	run("sums in Go", func() {
		for r := range 32 {
			addFoursGo(q.Row(r), s.Row(r), k.Data, 64)
		}
	})
}
