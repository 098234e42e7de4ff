package judge

import (
	"math"
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// Tiles that blocks share are compared once, but judged as if each block were alone: in a right kernel, and
// where the tile of one block, or of all but one, is wrong.
func TestSameTilesAreJudgedAsApart(t *testing.T) {
	for name, wrong := range map[string]func(id probes.Dim3) bool{
		"none":   func(probes.Dim3) bool { return false },
		"first":  func(id probes.Dim3) bool { return id[0] == 0 },
		"second": func(id probes.Dim3) bool { return id[0] == 1 },
		"others": func(id probes.Dim3) bool { return id[0] != 2 },
	} {
		p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
		truth := reference(t, p, 0, ref.Options{})
		src := newDouble(truth, func(b *reftest.Block) {
			if wrong(b.ID) {
				b.At("K", 1).Row(3)[5] += 0.5
				b.At("V", 2).Row(1)[2] = math.NaN()
			}
		})
		all, err := Judge(t.Context(), truth.Reference, src, Options{Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		if s := all.Stage("K"); (s.Local.Bad > 0) != (name != "none") {
			t.Fatalf("%s: K has %d bad cells", name, s.Local.Bad)
		}
		sums := make([]Stats, len(p.Stages))
		for n := range p.Grid.Count() {
			id := p.Grid.At(n)
			opt := Options{Blocks: []probes.Dim3{id}, Parallel: 1}
			one, err := Judge(t.Context(), truth.Reference, src, opt)
			if err != nil {
				t.Fatal(err)
			}
			for i := range sums {
				l, s := &one.Stages[i].Local, &sums[i]
				s.Bad, s.Cells, s.Nonfinite = s.Bad+l.Bad, s.Cells+l.Cells, s.Nonfinite+l.Nonfinite
				s.NaN += l.NaN
				s.MaxAbs, s.MaxULP = max(s.MaxAbs, l.MaxAbs), max(s.MaxULP, l.MaxULP)
				per := len(all.tiles[i]) / p.Grid.Count()
				if a, b := all.tiles[i][n*per:(n+1)*per], one.tiles[i][n*per:(n+1)*per]; !slices.Equal(a, b) {
					t.Errorf("%s: %s of block %s is %v, alone %v", name, p.Stages[i].Stage, id, a, b)
				}
			}
		}
		for i := range sums {
			l := all.Stages[i].Local
			if l.Bound, l.Error, l.Derivation = 0, 0, ""; l != sums[i] {
				t.Errorf("%s: %s is %+v, blocks alone %+v", name, p.Stages[i].Stage, l, sums[i])
			}
		}
	}
}
