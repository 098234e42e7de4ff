package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// ones is an operand of ones.
func ones(rows, cols int) *op.Value {
	v := tile(rows, cols)
	for i := range v.M.Data {
		v.M.Data[i] = 1
	}
	return v
}

// dropping drops cells by the words of a counter, and by more parameters.
func dropping(keep float64, counter [4]string, more ...string) rig {
	g := rig{node: node("dropout", 1, more...)}
	g.node.Params.Number["keep"] = keep
	if g.node.Params.Word["seed"] == "" {
		g.node.Params.Word["seed"] = "0"
	}
	for i, text := range counter {
		if text != "" {
			g.node.Params.Word[fmt.Sprintf("counter.%d", i)] = text
		}
	}
	return g
}

// Which cells are kept follows from the published words of Philox for counter 0 and key 0: 6627e8d5,
// e169c58d, bc57ac4c, 9b00dbd8.
func TestDropoutBits(t *testing.T) {
	zero := [4]string{"0", "0", "0", "0"}
	words := []uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}
	kept := func(g rig) (out []bool) {
		for _, x := range g.estimate(t, nil, ones(1, 16)).M.Data {
			out = append(out, x != 0)
		}
		return out
	}
	for _, keep := range []float64{0.3, 0.5, 0.61, 0.9} {
		whole := kept(dropping(keep, zero, "word", "c % 4"))
		bytes := kept(dropping(keep, zero, "word", "div(c, 4)", "byte", "c % 4"))
		limit := kept(dropping(keep, zero, "word", "c % 4", "below", "3160713292"))
		for c := range 16 {
			if want := float64(words[c%4]) < math.Floor(keep*0x1p32); whole[c] != want {
				t.Errorf("keep %g: word %d is kept: %v", keep, c%4, whole[c])
			}
			if want := float64(words[c/4]>>(8*(c%4))&0xff) < math.Floor(keep*256); bytes[c] != want {
				t.Errorf("keep %g: byte %d of word %d is kept: %v", keep, c%4, c/4, bytes[c])
			}
			if want := words[c%4] < 3160713292; limit[c] != want { // bc57ac4c itself is not below it
				t.Errorf("word %d is below the limit: %v", c%4, limit[c])
			}
		}
	}
	seeded := dropping(0.61, [4]string{"608135816", "2242054355", "320440878", "57701188"}, "word", "c % 4",
		"seed", "698298832 * 4294967296 + 2752067618")
	for c, word := range []uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1} {
		if got := kept(seeded)[c]; got != (float64(word) < 0.61*0x1p32) {
			t.Errorf("with the seed 0x299f31d0a4093822 word %d is kept: %v", c, got)
		}
	}
}

func TestDropout(t *testing.T) {
	rnd := rand.New(rand.NewPCG(19, 1))
	for n := range 200 {
		keep := []float64{0.9, 0.5, 0.83}[n%3]
		g := dropping(keep, [4]string{"c", "r", "7", "0"})
		g.c.Acc, g.dtype = probes.F32, []probes.DType{probes.F32, probes.F16}[n/3%2]
		in := random(rnd, probes.F32, 4, 5)
		mask := g.estimate(t, nil, ones(4, 5)).M
		x := trial{rig: g, in: []*op.Value{in}, moving: 1,
			exact: func(in []op.Matrix, r, c int) float64 {
				if mask.At(r, c) == 0 {
					return 0
				}
				return in[0].At(r, c) / keep
			},
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
				x := float32(in[0].At(r, c))
				switch {
				case mask.At(r, c) == 0:
					return 0
				case rnd.IntN(2) == 0:
					return float64(x * float32(1/keep))
				}
				return float64(x / float32(keep))
			}}
		x.check(t, rnd)
	}
}

// A dropped cell is exactly 0; a kept one is exact where it is not scaled, and has the factor that its row
// shares.
func TestDropoutErrors(t *testing.T) {
	g := dropping(0.5, [4]string{"c", "0", "0", "0"})
	g.node.Params.Number["factor"] = 1
	g.dtypes = []probes.DType{probes.F32}
	v := off(tile(1, 8, 1, 2, 3, 4, 5, 6, 7, 8), 0x1p-10)
	v.Factor, v.Origin = []float64{0.1}, 3
	out := g.estimate(t, nil, v)
	dropped := 0
	for i, x := range out.M.Data {
		want := 0x1p-10
		if x == 0 {
			dropped++
			want = 0
		}
		if out.Err.Data[i] != want {
			t.Errorf("cell %d is %g ± %g, want ± %g", i, x, out.Err.Data[i], want)
		}
	}
	if dropped == 0 || dropped == 8 || !out.Exact || out.Factor == nil || out.Origin != 3 {
		t.Errorf("%d dropped, exact %v, factor %v", dropped, out.Exact, out.Factor)
	}
}

func TestDropoutSuspects(t *testing.T) {
	g := dropping(0.5, [4]string{"c", "r", "0", "0"})
	in := ones(8, 8)
	mask := func(g rig) []float64 { return g.estimate(t, nil, in).M.Data }
	got := predictions(t, g, []*op.Value{in})
	for value, want := range map[string][]float64{
		"the mask of the next column":          mask(dropping(0.5, [4]string{"c + 1", "r", "0", "0"})),
		"the mask of the next row":             mask(dropping(0.5, [4]string{"c", "r + 1", "0", "0"})),
		"the mask of row and column exchanged": mask(dropping(0.5, [4]string{"r", "c", "0", "0"})),
		"the mask of counter word 2 +1":        mask(dropping(0.5, [4]string{"c", "r", "1", "0"})),
		"the mask of counter word 3 -1":        mask(dropping(0.5, [4]string{"c", "r", "0", "-1"})),
		"the mask of Philox's next word": mask(dropping(0.5, [4]string{"c", "r", "0", "0"},
			"word", "1")),
	} {
		if fmt.Sprint(got[value]) != fmt.Sprint(want) {
			t.Errorf("%s: predicted %v, want %v", value, got[value], want)
		}
	}
	right := mask(g)
	for i, x := range right {
		scaled := got["1/keep left out"][i] == x/2 && got["1/keep applied twice"][i] == 2*x
		if !scaled || got["dropout left out"][i] != 1 || got["the mask inverted"][i] != 2-x {
			t.Fatalf("cell %d, %g: predicted otherwise", i, x)
		}
	}
}

func TestDropoutBinds(t *testing.T) {
	full := [4]string{"c", "r", "0", "0"}
	unseeded := dropping(0.5, full)
	delete(unseeded.node.Params.Word, "seed")
	ext := []op.Extent{{2, 3}}
	checkBindErrors(t, []bindError{
		{dropping(0, full).node, ext, "with probability 0; expected a number above 0"},
		{dropping(1.5, full).node, ext, "with probability 1.5"},
		{dropping(0.5, [4]string{"c", "r", "0", ""}).node, ext, "dropout: no counter.3"},
		{unseeded.node, ext, "dropout: no seed"},
		{dropping(0.5, full, "word", "lane").node, ext, `word: "lane": no whole number lane`},
		{node("dropout", 2), []op.Extent{{2, 3}, {2, 3}}, "dropout has 2 operands"},
	})
	checkNeeds(t, dropping(0.5, full), []*op.Value{tile(2, 3)}, op.SameCell)
	checkReads(t, dropping(0.5, full), []*op.Value{tile(2, 3)}, nil, 0, 0, 3, true, false)
}
