package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// dropout keeps a cell of its operand, times 1/keep, where a random number is below a limit, and is 0
// elsewhere. The number is a word of Philox 4x32-10 for a key, the seed, and a counter of four expressions
// over the cell's row and column: which cells are kept is exact. With byte it is one byte of that word. below
// is the limit, keep·2^32 (keep·2^8) rounded down where it is left out. A kept cell costs the rounding of the
// factor and of the product.
//
//	{dropout: P, keep: 0.9, seed: 42, counter: [key + c, query + r, head, batch]}
type dropout struct{ apart }

// invertedDropout is the value of a suspect that says that every cell is wrong.
const invertedDropout = "the mask inverted"

type dropoutKernel struct {
	sameValid
	sameCell
	env     *Env
	keep    float64
	factor  float64
	off     float64 // of the factor, as a kernel holds it or the number that it divides by
	round   float64 // of the product, before the stage's own rounding
	unit    float64
	exact   bool
	seed    indexFunc
	counter [4]indexFunc
	word    indexFunc
	byteOf  indexFunc // nil: the whole word
	below   indexFunc // nil: by keep
	limit   uint64    // by keep
}

func (dropout) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 1); err != nil {
		return nil, Extent{}, err
	}
	k := &dropoutKernel{env: env, keep: number(n, "keep", 0), unit: env.Units[0] / env.Unit}
	if !(k.keep > 0 && k.keep <= 1) {
		const say = "dropout keeps a cell with probability %g; expected a number above 0, up to 1"
		return nil, Extent{}, fmt.Errorf(say, k.keep)
	}
	if err := k.random(n, env); err != nil {
		return nil, Extent{}, fmt.Errorf("dropout: %w", err)
	}
	values := 0x1p32
	if k.byteOf != nil {
		values = 0x1p8
	}
	k.limit = uint64(k.keep * values)
	k.scale(number(n, "factor", 1/k.keep))
	return k, in[0], nil
}

// random compiles what the random number of a cell is made of.
func (k *dropoutKernel) random(n *probes.Node, env *Env) (err error) {
	x := newIndexer(n, env)
	type part struct {
		name, def string // "": needed; "-": none
		to        *indexFunc
	}
	parts := []part{{"seed", "", &k.seed}, {"word", "0", &k.word}, {"byte", "-", &k.byteOf},
		{"below", "-", &k.below}}
	for i := range k.counter {
		parts = append(parts, part{fmt.Sprintf("counter.%d", i), "", &k.counter[i]})
	}
	for _, p := range parts {
		text := n.Params.Word[p.name]
		if text == "" {
			text = p.def
		}
		switch text {
		case "":
			return fmt.Errorf("no %s; it takes seed, and a counter of four expressions", p.name)
		case "-":
			continue
		}
		if *p.to, err = x.compile(text); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// scale resolves the product with what a kept cell is multiplied by.
func (k *dropoutKernel) scale(factor float64) {
	acc, c := accOf(k.env.Compute), k.env.Coefs
	k.factor = factor
	if factor == 1 {
		k.exact = k.unit == 1 && holds(k.env.DType, k.env.dtype(0))
		return
	}
	multiplied := math.Abs(RoundTo(acc, factor) - factor)
	divided := math.Abs(RoundTo(acc, k.keep)/k.keep-1) * math.Abs(factor)
	k.off = max(multiplied, divided) * c[TermScale]
	if acc != k.env.DType {
		k.round = UnitRoundoff(acc) * c[TermProduct]
	}
}

// kept reports whether a cell is kept.
func (k *dropoutKernel) kept(p spot) bool { return k.keptBy(&p, k.counterOf(&p), 0) }

// counterOf is a cell's counter.
func (k *dropoutKernel) counterOf(p *spot) (counter [4]uint32) {
	for i, f := range k.counter {
		counter[i] = uint32(f(p))
	}
	return counter
}

// keptBy is kept for a counter, and another word of its random numbers.
func (k *dropoutKernel) keptBy(p *spot, counter [4]uint32, next int) bool {
	seed := uint64(k.seed(p))
	words := philox(counter, [2]uint32{uint32(seed), uint32(seed >> 32)})
	x := uint64(words[(k.word(p)+next)&3])
	if k.byteOf != nil {
		x = x >> (8 * (k.byteOf(p) & 3)) & 0xff
	}
	if k.below != nil {
		return int64(x) < int64(k.below(p))
	}
	return x < k.limit
}

func (k *dropoutKernel) Exact(t *Tile, in []*Value, out *Value) {
	for r := range t.Rows {
		for c := range t.Cols {
			out.M.Row(r)[c] = 0
			if k.kept(spot{t: t, r: r, c: c}) {
				out.M.Row(r)[c] = in[0].M.At(r, c) * k.factor * k.unit
			}
		}
	}
}

func (k *dropoutKernel) Estimate(t *Tile, in []*Value, out *Value) {
	x := in[0]
	k.Exact(t, in, out)
	for r := range t.Rows {
		for c, v := range out.M.Row(r)[:t.Cols] {
			out.Err.Row(r)[c] = 0
			if y := x.M.At(r, c); v != 0 || y == 0 && k.kept(spot{t: t, r: r, c: c}) {
				dy := x.err(r*x.M.Cols + c)
				e := (dy*(math.Abs(k.factor)+k.off) + math.Abs(y)*k.off) * k.unit
				out.Err.Row(r)[c] = e + (math.Abs(v)+e)*k.round
			}
		}
	}
	out.Factor, out.Origin, out.Exact = x.Factor, x.Origin, k.exact
}

func (k *dropoutKernel) Mirror(t *Tile, in []*Value, out *Value) {
	acc := accOf(k.env.Compute)
	for r := range t.Rows {
		for c := range t.Cols {
			out.M.Row(r)[c] = 0
			if k.kept(spot{t: t, r: r, c: c}) {
				out.M.Row(r)[c] = RoundTo(acc, in[0].M.At(r, c)*RoundTo(acc, k.factor)*k.unit)
			}
		}
	}
}

func (k *dropoutKernel) Reason() string {
	if k.factor == 1 {
		return "a copy, or 0 where the random bits drop the cell"
	}
	const say = "times %.6g, or 0 where the random bits drop the cell: the factor and the product rounded to %s"
	return fmt.Sprintf(say, k.factor, accOf(k.env.Compute))
}

// Suspects are the random numbers of another counter or word, rows and columns exchanged, the mask inverted
// or left out, and 1/keep.
func (k *dropoutKernel) Suspects([]Constant) []Suspect {
	var out []Suspect
	add := func(name, value string, factor float64, kept func(k *dropoutKernel, p spot) bool) {
		predict := func(sc *Scene, v, pre []float64) bool {
			if value == invertedDropout && !sc.mostBad() {
				return false
			}
			k, x := sc.Kernel.(*dropoutKernel), sc.In[0]
			for n, i := range sc.Cells {
				r, c := i/sc.Stride, i%sc.Stride
				if v[n], pre[n] = 0, 0; kept(k, spot{t: &sc.Tile, r: r, c: c}) {
					v[n] = x.M.At(r, c) * factor * k.unit
					pre[n] = math.Abs(v[n]) * 2 * OpRel
				}
			}
			return true
		}
		out = append(out, Suspect{Name: name, Value: value, Own: true, Predict: predict})
	}
	right := (*dropoutKernel).kept
	add(factorName, "1/keep left out", 1, right)
	add(factorName, "1/keep applied twice", k.factor/k.keep, right)
	add(termName, "dropout left out", 1, func(*dropoutKernel, spot) bool { return true })
	add(termName, invertedDropout, k.factor, func(k *dropoutKernel, p spot) bool { return !k.kept(p) })
	add(shiftedName, "the mask of the next column", k.factor, func(k *dropoutKernel, p spot) bool {
		p.c++
		return k.kept(p)
	})
	add(shiftedName, "the mask of the next row", k.factor, func(k *dropoutKernel, p spot) bool {
		p.r++
		return k.kept(p)
	})
	add(permutedName, "the mask of row and column exchanged", k.factor, func(k *dropoutKernel, p spot) bool {
		p.r, p.c = p.c, p.r
		return k.kept(p)
	})
	for word := range 4 {
		for _, by := range []int{1, -1} {
			value := fmt.Sprintf("the mask of counter word %d %+d", word, by)
			add(shiftedName, value, k.factor, func(k *dropoutKernel, p spot) bool {
				counter := k.counterOf(&p)
				counter[word] += uint32(by)
				return k.keptBy(&p, counter, 0)
			})
		}
	}
	add(shiftedName, "the mask of Philox's next word", k.factor, func(k *dropoutKernel, p spot) bool {
		return k.keptBy(&p, k.counterOf(&p), 1)
	})
	return out
}

// Selective: cells are left out by the operator's rule.
func (k *dropoutKernel) Selective() {}
