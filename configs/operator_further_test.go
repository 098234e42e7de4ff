package configs

import (
	"math"
	"testing"

	"tilescope/probes"
)

// furtherOperators is a manifest of the operators that everyOperator has no room for: a control block has 16
// slots.
const furtherOperators = `schema: tilescope.kernel/1
name: further
source: k.cu
entry: k
constants: {M: 16, N: 8}
launch: {grid: ["ceil_div(S, M)", H, B], block: [32, 1, 1]}
args:
  - {name: Q, type: "f16*", dims: [B, H, S, D], role: input}
  - {name: K, type: "f16*", dims: [B, H, S, D], role: input}
  - {name: V, type: "f16*", dims: [B, H, S, D], role: input}
  - {name: table, type: "i32*", dims: [B, 4], role: input, fill: "randint(0, 3)"}
  - {name: used, type: "i32*", dims: [B], role: input, fill: "randint(1, 31)"}
  - {name: out, type: "f16*", dims: [B, H, S, D], role: output, tensor: O}
  - {name: softmax_scale, type: f32, value: 0.5}
work: {batch: bz, head: by, query: bx * M, key: kv * N, tiles: "ceil_div(S, N)"}
gates: []
stages:
  - {name: Q, axes: [row, d], dtype: f16, dims: [M, D], valid: [M, D], per: block, capture: probe,
     op: {load: Q, at: [batch, head, query, 0], rows: 2, cols: 3}}
  - {name: K, axes: [key, d], dtype: f16, dims: [N, D], valid: [N, D], per: tile, capture: probe,
     op: {load: K, at: [batch, head, key, 0], rows: 2, cols: 3}}
  - {name: V, axes: [key, d], dtype: f16, dims: [N, D], valid: [N, D], per: tile, capture: probe,
     op: {gather: K, at: ["table[batch][div(key + r, 8)]", head, r % 8, 0], cols: 3, limit: "used[batch] - key"}}
  - {name: S, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {matmul: [Q, K], transpose: right, scale: softmax_scale, over: D}}
  - {name: biased, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {map: "softcap(x * softmax_scale, 30) + exp2(-8 * (head + 1) / H) * (key + c - query - r)", x: S},
     compute: {unit: none, acc: f32, tanh: tanh.approx, exp2: exp2f}}
  - {name: hidden, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {mask: biased, where: ["key + c <= query + r + div(S, 4)", key + c < S], fill: -inf}}
  - {name: padded, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {mask: S, where: [key + c < S, "key + c < used[batch] + N"], fill: -1e9}}
  - {name: Ks, axes: [key, d], dtype: f32, dims: [N, D], valid: [N, D], per: tile, capture: probe,
     op: {load: K, at: [batch, head, key, 0], rows: 2, cols: 3,
          scale: {load: V, at: [batch, head, 0, 0], rows: 2, cols: 3, dims: [2, 4]}}}
  - {name: scaled, axes: [row, d], dtype: f32, dims: [M, D], valid: [M, D], per: block, phase: before, capture: probe,
     op: {scale: {scale: [Q, {reduce: Q, how: max, each: column}]}, factor: 1 / sqrt(D)}}
  - {name: half, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {empty: zero, divide: [
       {dropout: S, keep: 1 - 0.1, seed: 7 * D, counter: [key + c, query + r, head, batch], word: c % 4}, S]}}
  - {name: m, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe,
     op: {rowmax: hidden, running: true}}
  - {name: l, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe,
     op: {accumulate: {rowsum: {exp_below: [hidden, m]}}, by: m}}
  - {name: lse, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: block, capture: probe,
     op: {lse: [m, l], empty: -inf}}
  - {name: O, axes: [row, d], dtype: f16, dims: [M, D], valid: [M, D], per: block, phase: after,
     op: {cast: Q}, capture: {output: out}}
shapes: {small: [1, 1, 32, 64]}
`

// TestMapNames: the names of an expression become numbers where they are the same in every block, and else
// positions.
func TestMapNames(t *testing.T) {
	biased := resolveEvery(t, furtherOperators).Stage("biased")
	n := biased.Op.Params
	if n.Number["softmax_scale"] != 0.5 || n.Number["H"] != 1 || len(n.Index) != 3 {
		t.Fatalf("the expression's names are %v and %v", n.Number, n.Index)
	}
	at := func(name string, block, kv int) int { return n.Index[name][0].At(probes.Dim3{block, 0, 0}, kv) }
	if q, k := at("query", 1, 0), at("key", 0, 2); q != 16 || k != 16 {
		t.Errorf("block 1 begins at query %d, kv tile 2 at key %d", q, k)
	}
	by := biased.Compute.By
	if by["tanh"] != "tanh.approx" || by["exp2"] != "exp2f" || biased.Compute.Exp != "" {
		t.Errorf("functions are evaluated by %v and %q", by, biased.Compute.Exp)
	}
}

// TestMaskResolves: the rules of where are those of a mask, and fill is a number, or −inf.
func TestMaskResolves(t *testing.T) {
	p := resolveEvery(t, furtherOperators)
	hidden, padded := p.Stage("hidden").Op.Params, p.Stage("padded").Op.Params
	fills := math.IsInf(hidden.Number["fill"], -1) && padded.Number["fill"] == -1e9
	if !fills || len(hidden.Mask) != 2 || len(padded.Mask) != 1 {
		t.Fatalf("hidden %v, padded %v", hidden, padded)
	}
	m := hidden.Mask
	if !m.Visible(probes.Dim3{1, 0, 0}, 2, 0, 0) || m.Visible(probes.Dim3{0, 0, 0}, 2, 0, 0) {
		t.Error("a query sees keys up to 8 after its own: query 16 sees key 16, query 0 does not")
	}
	if empty := p.Stage("half").Op.Params.Word["empty"]; empty != "zero" {
		t.Errorf("divided by 0: %q", empty)
	}
}

// TestScaleResolves: a load with a scale is a product of two loads, the first of the stage's own extent.
func TestScaleResolves(t *testing.T) {
	p := resolveEvery(t, furtherOperators)
	ks := p.Stage("Ks")
	if ks.Op.Op != "scale" || len(ks.Op.Args) != 2 || !ks.Loaded || ks.Phase != probes.PhaseEach {
		t.Fatalf("Ks is %v", ks.Op)
	}
	tile, scales := ks.Op.Args[0].Node, ks.Op.Args[1].Node
	if tile.Params.Number["height"] != 8 || tile.Params.Number["width"] != 64 ||
		scales.Params.Number["height"] != 2 {
		t.Errorf("a tile of %v by scales of %v", tile.Params.Number, scales.Params.Number)
	}
	if n := p.Stage("scaled").Op.Params; n.Number["factor"] != 0.125 || n.Word["factor"] != "1 / sqrt(D)" {
		t.Errorf("scaled by %v", n)
	}
}

// TestGatherResolves: the expressions of a position are left as they are, and what they name is resolved.
func TestGatherResolves(t *testing.T) {
	p := resolveEvery(t, furtherOperators)
	v := p.Stage("V")
	n := v.Op.Params
	sizes := n.Number["rank"] == 4 && n.Number["cols"] == 3 && n.Number["height"] == 8
	if v.Op.Args[0].Tensor != "K" || !v.Loaded || !sizes {
		t.Fatalf("V is %v", v.Op)
	}
	at := n.Word["at.0"] == "table[batch][div(key + r, 8)]" && n.Word["at.3"] == "0"
	if !at || n.Word["limit"] != "used[batch] - key" {
		t.Errorf("its position is %v", n.Word)
	}
	if len(n.Index["key"]) != 1 || n.Index["key"][0].At(probes.Dim3{}, 3) != 24 || len(n.Index["head"]) != 1 {
		t.Errorf("named are %v", n.Index)
	}
	padded := p.Stage("padded").Op.Params
	dropped := p.Stage("half").Op.Args[0].Node.Params
	words := dropped.Word["counter.1"] == "query + r" && dropped.Word["seed"] == "7 * D" &&
		dropped.Word["word"] == "c % 4"
	if dropped.Number["keep"] != 0.9 || !words || dropped.Number["D"] != 64 ||
		len(dropped.Index["key"]) != 1 {
		t.Errorf("dropped by %v", dropped)
	}
	if len(padded.Mask) != 1 || padded.Word["rule.0"] != "key + c < used[batch] + N" ||
		padded.Number["N"] != 8 {
		t.Errorf("padded is %v", padded)
	}
}

// furtherMistakes are those of furtherOperators.
var furtherMistakes = []mistake{
	{"position outside the loop", "{cast: Q}", "{map: x + key, x: Q}", "op.map", "key may not stand here"},
	{"unknown name", "key + c - query - r", "key + c - query - rr", "op.map", `no operand "rr"; it has x`},
	{"mask without rules", ", where: [key + c < S, \"key + c < used[batch] + N\"]",
		"", "op.mask", "no rules"},
	{"rule that is no comparison", "where: [key + c < S, ", "where: [key, ", "op.where", "comparisons"},
	{"fill that is no number", "fill: -1e9", "fill: inf", "op.fill", "inf"},
	{"parameter of another operator", "fill: -1e9", "running: true", "op.running",
		"no parameter of that name"},
	{"two operators", "{mask: S, where", "{mask: S, rowsum: S, where", "op.rowsum", "after mask"},
	{"scale without a factor", ", factor: 1 / sqrt(D)}", "}", "op.scale", "scale has no factor"},
	{"factor that depends on the block", "factor: 1 / sqrt(D)", "factor: bx", "op.factor", "bx"},
	{"scale of a shape that does not divide", "dims: [2, 4]}}", "dims: [3, 4]}}", "op.scale", "8×64 by 3×4"},
	{"scale in place without dims", ", dims: [2, 4]}}", "}}", "op.scale.load", "needs dims"},
	{
		"scale that is no stage", "scale: {load: V, at: [batch, head, 0, 0], rows: 2, cols: 3, dims: [2, 4]}",
		"scale: ghost",
		"op.scale", "unknown stage",
	},
	{"dropout without a seed", "seed: 7 * D, ",
		"", "op.divide[0].dropout", "no seed"},
	{"counter of three words", "head, batch], word",
		"head], word", "op.divide[0].counter", "expected a list of 4, found 3"},
	{"counter of an unknown name", "[key + c, query",
		"[keys + c, query", "op.divide[0].dropout", "no whole number keys"},
	{"keeps with a probability above 1", "keep: 1 - 0.1",
		"keep: 1 + 0.1", "op.divide[0].dropout", "with probability 1.1"},
	{"position of wrong rank", "head, r % 8, 0]", "head, 0]", "op.gather",
		"position of 3 dimensions, K has 4"},
	{"index of an unknown input", "table[batch][div", "pages[batch][div", "op.gather", "no input pages"},
	{"index of wrong rank", "table[batch][div(key + r, 8)]",
		"table[div(key + r, 8)]", "op.gather", "table has 2 dimensions"},
	{"gather of an unknown input", "{gather: K", "{gather: W", "op.gather", `unknown input "W"`},
	{"position that is no expression", "head, r % 8", "head, r %", "op.gather", "r %"},
	{"limit of an unknown name", "used[batch] - key", "used[batch] - keys", "op.gather",
		"no whole number keys"},
	{"rule of an unknown input", "key + c < used[batch] + N",
		"key + c < lengths[batch]", "op.mask", "no input lengths"},
	{"reduced by what is neither", "each: column",
		"each: tile", "op.scale.scale[1].each", "expected row or column"},
	{"lse of two tiles", "{lse: [m, l], empty: -inf}",
		"{lse: [m, hidden], empty: -inf}", "op.lse", "two columns"},
	{"lse of one operand", "{lse: [m, l], empty: -inf}",
		"{lse: [m], empty: -inf}", "op.lse", "lse has 1 operands"},
	{"lse of nothing that is no infinity", "{lse: [m, l], empty: -inf}",
		"{lse: [m, l], empty: zero}", "op.empty",
		"expected -inf or inf"},
	{"quotient by 0 that is neither", "empty: zero", "empty: one", "op.empty", "expected zero or nan"},
	{"function by an unknown instruction", "tanh: tanh.approx", "tanh: tanhh", "compute.tanh", "tanhh"},
	{"instruction of an unknown function", "tanh: tanh.approx", "sinh: tanhf", "compute.sinh", "unknown key"},
}

func TestFurtherMistakes(t *testing.T) { checkMistakes(t, furtherOperators, furtherMistakes) }
