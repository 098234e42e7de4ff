package judge

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// pagedAttention is attention over paged keys with scales by group, a causal mask of its own, dropout and an
// LSE.
const pagedAttention = `schema: tilescope.kernel/1
name: paged
source: k.cu
entry: k
constants: {M: 16, N: 8, PAGES: 9}
launch: {grid: ["ceil_div(S, M)", H, B], block: [32, 1, 1]}
args:
  - {name: X, type: "f16*", dims: [S, D], role: input}
  - {name: pool, type: "f16*", dims: [PAGES, 4, D], role: input}
  - {name: scales, type: "f32*", dims: [S, 3], role: input}
  - {name: table, type: "i32*", dims: [PAGES], role: input, fill: "randint(0, 8)"}
  - {name: out, type: "f16*", dims: [S, D], role: output}
work: {query: bx * M, key: kv * N, tiles: "ceil_div(S, N)"}
gates: []
stages:
  - {name: Q, axes: [row, d], dtype: f16, dims: [M, D], valid: [M, D], per: block, capture: probe,
     op: {load: X, at: [query, 0], rows: 0, cols: 1}}
  - {name: K, axes: [key, d], dtype: f16, dims: [N, D], valid: [N, D], per: tile, capture: probe,
     op: {gather: pool, at: ["table[div(key + r, 4)]", r % 4, 0], cols: 2}}
  - {name: decoded, axes: [key, d], dtype: f32, dims: [N, D], valid: [N, D], per: tile, capture: probe,
     op: {scale: [K, {load: scales, at: [2 * kv, 0], rows: 0, cols: 1, dims: [2, 3]}]}}
  - {name: S, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {matmul: [Q, decoded], transpose: right, scale: 0.125}, compute: {unit: fma, acc: f32}}
  - {name: hidden, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {mask: S, where: [key + c <= query + r]}}
  - {name: m, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe,
     op: {rowmax: hidden, running: true}}
  - {name: P, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {exp_below: [hidden, m]}}
  - {name: dropped, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {dropout: P, keep: 0.75, seed: 5, counter: [key + c, query + r, 0, 0]}}
  - {name: l, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe,
     op: {accumulate: {rowsum: {exp_below: [hidden, m]}}, by: m}}
  - {name: lse, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: block, capture: probe,
     op: {lse: [m, l]}}
shapes: {small: [1, 1, 32, 24]}
`

// pagedReference is the reference of pagedAttention with a text replaced.
func pagedReference(t *testing.T, old, now string) *ref.Reference {
	t.Helper()
	if strings.Count(pagedAttention, old) == 0 {
		t.Fatalf("the manifest has no %s", old)
	}
	p := configstest.Parse(t, "paged.yaml", strings.Replace(pagedAttention, old, now, 1), "small")
	rnd, inputs := rand.New(rand.NewPCG(21, 1)), map[string]op.Tensor{}
	for _, name := range []string{"X", "pool", "scales", "table"} {
		inputs[name] = reftest.NewNumbers(p.Input(name).Dims, func(i int) float64 {
			v := op.RoundTo(probes.F16, rnd.NormFloat64())
			if name == "table" {
				v = float64([]int{3, 1, 7, 0, 5, 2, 8, 4, 6}[i])
			}
			return v
		})
	}
	r, err := ref.New(p, func(name string) op.Tensor { return inputs[name] }, ref.Options{Chip: fp.SM90()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mirroring is a kernel that leaves behind what a reference mirrors.
type mirroring struct{ *ref.Reference }

func (k mirroring) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	sp := k.Plan().Stage(s)
	t := probes.NewTile(sp.DType, sp.Rows, sp.Cols)
	m, _ := k.Mirror(block).Values(s, kv)
	for r := range m.Rows {
		for c := range m.Cols {
			t.SetBits(r, c, op.Round(sp.DType, m.At(r, c)))
		}
	}
	return t
}

// TestOperatorsFindMistakes: a kernel that makes a mistake in one operation is wrong at that stage alone,
// with the fingerprint of the mistake; without one it is clean.
func TestOperatorsFindMistakes(t *testing.T) {
	for _, c := range []struct {
		old, now string
		stage    probes.Stage // the one that is wrong; "": none
		value    string
	}{
		{"K, axes", "K, axes", "", ""},
		{"table[div(key + r, 4)]", "table[div(key + r, 4) + 1]", "K",
			"pool through the next entry of the index"},
		{"table[div(key + r, 4)]", "div(key + r, 4)", "K", "pool without the index: entry i taken as i"},
		{
			"{scale: [K, {load: scales, at: [2 * kv, 0], rows: 0, cols: 1, dims: [2, 3]}]}",
			"{cast: K}", "decoded",
			"the scale left out",
		},
		{"[key + c <= query + r]", "[key + c <= query + r + 1]", "hidden",
			"moved by one column to the right"},
		{"[key + c <= query + r]", "[key + c > query + r]", "hidden", "inverted"},
		{"[key + c <= query + r]", "[c <= r]", "hidden", "without the tile's position"},
		{"[key + c <= query + r]}", "[key + c <= query + r], fill: 0}", "hidden",
			"0 in hidden cells instead of -Inf"},
		{"keep: 0.75", "keep: 0.75, factor: 1", "dropped", "1/keep left out"},
		{"[key + c, query + r, 0, 0]", "[key + c, query + r, 1, 0]", "dropped",
			"the mask of counter word 2 +1"},
		{"{lse: [m, l]}", "{map: m + log2(l), m: m, l: l}", "lse", "log2 e on log l: log2 instead of log"},
	} {
		truth := pagedReference(t, "K, axes", "K, axes")
		j, err := Judge(t.Context(), truth, mirroring{pagedReference(t, c.old, c.now)}, Options{})
		if err == nil {
			err = j.Explain(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range j.Stages {
			s := &j.Stages[i]
			if (s.Verdict == Wrong) != (s.Stage == c.stage) || c.stage == "" && s.Verdict != OK {
				t.Errorf("%s: stage %s is %s", c.now, s.Stage, s.Verdict)
			}
			if s.Stage == c.stage && (len(s.Fingerprints) == 0 || s.Fingerprints[0].Value != c.value) {
				t.Errorf("%s: stage %s has fingerprints %v, want %q", c.now, s.Stage, s.Fingerprints, c.value)
			}
		}
	}
}
