package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tilescope/configs/schema"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// everyOperator is a manifest that no kernel has to run: a stage for each operator and parameter.
const everyOperator = `schema: tilescope.kernel/1
name: every
source: k.cu
entry: k
constants: {M: 16, N: 8}
launch: {grid: ["ceil_div(S, M)", H, B], block: [32, 1, 1]}
args: [{name: Q, type: "f16*", dims: [B, H, S, D], role: input}, {name: K, type: "f16*", dims: [B, H, S, D], role: input},
  {name: V, type: "f16*", dims: [B, H, S, D], role: input}, {name: out, type: "f16*", dims: [B, H, S, D], role: output, tensor: O}, {name: softmax_scale, type: f32, value: 0.5}]
work: {batch: bz, head: by, query: bx * M, key: kv * N, tiles: "ceil_div(S, N)"}
gates: []
stages:
  - {name: Q, axes: [row, d], dtype: f16, dims: [M, D], valid: [M, D], per: block, capture: probe,
     op: {load: Q, at: [batch, head, query, 0], rows: 2, cols: 3}}
  - {name: K, axes: [key, d], dtype: f16, dims: [N, D], valid: [N, D], per: tile, capture: probe,
     op: {load: K, at: [batch, head, key, 0], rows: 2, cols: 3}}
  - {name: S, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {matmul: [Q, K], transpose: right, scale: softmax_scale, over: D}}
  - {name: half, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {matmul: [Q, K], transpose: right, scale: 1 / sqrt(D)}}
  - {name: m, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe,
     op: {rowmax: S, running: true, mask: [key + c <= query + r, r > 0 || c < 3]}}
  - {name: tiletop, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe, op: {rowmax: S, running: false}}
  - {name: P, axes: [row, key], dtype: f16, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {exp_below: [S, m], mask: key + c <= query + r}}
  - {name: tilesum, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe, op: {rowsum: P}}
  - {name: l, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: tile, capture: probe,
     op: {accumulate: {rowsum: {exp_below: [S, m]}}, by: m}}
  - {name: U, axes: [row, d], dtype: f32, dims: [M, D], valid: [M, D], per: tile, capture: probe, from: [],
     op: {accumulate: {matmul: [P, {load: V, at: [batch, head, key, 0], rows: 2, cols: 3, dims: [N, D]}], over: keys}}}
  - {name: mean, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: block, phase: before, capture: probe, op: {reduce: Q, how: mean}}
  - {name: sum, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: block, phase: before, capture: probe, op: {reduce: Q, how: sum}}
  - {name: max, axes: [row], dtype: f32, dims: [M, 1], valid: [M, 1], per: block, phase: before, capture: probe,
     op: {reduce: {map: "gelu(x) + max(y, 1)", x: Q, y: mean}, how: max}}
  - {name: quot, axes: [row, d], dtype: f32, dims: [M, D], valid: [M, D], per: block, capture: probe, op: {divide: [U, l]}}
  - {name: O, axes: [row, d], dtype: f16, dims: [M, D], valid: [M, D], per: block, capture: {output: out}, op: {cast: quot}}
shapes: {small: [1, 1, 32, 64]}
`

func resolveEvery(t *testing.T, text string) *probes.Plan {
	t.Helper()
	return resolveWith(t, text, nil)
}

// resolveWith is the plan of a manifest with flags set, for its shape small. (configstest, which imports
// configs, cannot serve here.)
func resolveWith(t *testing.T, text string, set map[string]string) *probes.Plan {
	t.Helper()
	m, err := ParseManifest("every.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Select("", set, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	shape, _ := m.Shape("small")
	p, err := s.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryOperatorResolves: each operator and parameter of a manifest becomes a node, with what it is
// computed from and when.
func TestEveryOperatorResolves(t *testing.T) {
	p := resolveEvery(t, everyOperator)
	seen := whatArrives(p, resolveEvery(t, furtherOperators))
	for _, name := range op.Names() {
		if !seen[name] {
			t.Errorf("no stage of the manifests has operator %s", name)
		}
	}
	for _, want := range []string{
		"load.at", "load.rows", "load.cols", "load.height", "load.width", "matmul.scale", "matmul.transpose",
		"matmul.over",
		"rowmax.mask", "rowmax before 1", "exp_below.mask", "accumulate before 1", "accumulate before 2",
		"map.expr", "map.names", "reduce.how",
	} {
		if !seen[want] {
			t.Errorf("%s did not arrive: %v", want, seen)
		}
	}
	for stage, want := range map[probes.Stage]struct {
		of    string
		phase probes.Phase
	}{
		"Q": {"", probes.PhaseBefore}, "S": {"K Q", probes.PhaseEach}, "m": {"S m", probes.PhaseEach},
		"tiletop": {"S", probes.PhaseEach}, "l": {"S l m", probes.PhaseEach}, "U": {"P U", probes.PhaseEach},
		"mean": {"Q", probes.PhaseBefore}, "max": {"Q mean", probes.PhaseBefore},
		"quot": {"U l", probes.PhaseAfter}, "O": {"quot", probes.PhaseAfter},
	} {
		sp := p.Stage(stage)
		of := names(sp.Operands, probes.Stage.String)
		slices.Sort(of)
		if strings.Join(of, " ") != want.of || sp.Phase != want.phase {
			t.Errorf("stage %s is computed from %v in phase %d, want %s in %d", stage, of, sp.Phase,
				want.of, want.phase)
		}
		if named := stage != "U"; p.Named(stage) != named { // U says from: []
			t.Errorf("stage %s may be judged from the kernel's own tiles: %v", stage, !named)
		}
	}
	if p.Stage("S").Unit != 0 || p.Conventional || p.Stage("P").Compute.Acc != probes.F32 {
		t.Errorf("conventional %v, P computes in %s", p.Conventional, p.Stage("P").Compute.Acc)
	}
	mask := p.Stage("m").Op.Params.Mask
	for _, c := range []struct {
		block      int
		iter, r, c int
		want       bool
	}{
		{0, 0, 0, 0, true}, {0, 0, 0, 1, false}, {0, 1, 7, 0, false}, {0, 1, 8, 0, true}, {1, 0, 0, 3, false},
		{1, 0, 1, 7, true},
	} {
		if got := mask.Visible(probes.Dim3{c.block, 0, 0}, c.iter, c.r, c.c); got != c.want {
			t.Errorf("mask at block %d, iteration %d, cell (%d, %d): %v", c.block, c.iter, c.r, c.c, got)
		}
	}
}

// whatArrives lists the operators of plans, and their parameters: OPERATOR.PARAMETER.
func whatArrives(plans ...*probes.Plan) map[string]bool {
	seen := map[string]bool{}
	var visit func(n *probes.Node)
	visit = func(n *probes.Node) {
		seen[n.Op] = true
		for k := range n.Params.Number {
			seen[n.Op+"."+k] = true
		}
		for k := range n.Params.Word {
			seen[n.Op+"."+k] = true
		}
		for k := range n.Params.Index {
			seen[n.Op+"."+k] = true
		}
		for i, a := range n.Args {
			if a.Node != nil {
				visit(a.Node)
			}
			if a.Before {
				seen[fmt.Sprintf("%s before %d", n.Op, i)] = true
			}
		}
		if len(n.Params.Mask) > 0 {
			seen[n.Op+".mask"] = true
		}
	}
	for _, p := range plans {
		for i := range p.Stages {
			visit(p.Stages[i].Op)
		}
	}
	return seen
}

// TestOperatorsDocumented: docs/operators.md has a row for each operator, with its parameters, and every
// function of map; and no others.
func TestOperatorsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "operators.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([a-z_0-9]+)`")
	var rows []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		if len(cells) != 4 {
			t.Fatalf("a row of %d cells: %s", len(cells), line)
		}
		name := code.FindStringSubmatch(cells[0])[1]
		rows = append(rows, name)
		var params []string
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			params = append(params, m[1])
		}
		if want := schema.Parameters(name); !slices.Equal(params, want) && len(params)+len(want) > 0 {
			t.Errorf("%s is documented with parameters %v; it has %v", name, params, want)
		}
		if name != "map" {
			continue
		}
		var functions []string
		for _, m := range code.FindAllStringSubmatch(cells[3], -1) {
			functions = append(functions, m[1])
		}
		if !slices.Equal(functions, op.Functions()) {
			t.Errorf("map is documented with functions %v; it has %v", functions, op.Functions())
		}
	}
	slices.Sort(rows)
	if !slices.Equal(rows, op.Names()) {
		t.Errorf("documented are %v; there are %v", rows, op.Names())
	}
}

// operatorMistakes are those of everyOperator.
var operatorMistakes = []mistake{
	{"unknown operator", "{rowsum: P}", "{rowsumm: p}", "op", "no operator among the keys rowsumm"},
	{"two operators", "{rowsum: P}", "{rowsum: P, cast: P}", "op.cast", "a second operator"},
	{"unknown parameter", "how: mean}", "hwo: mean}", "op.hwo", "no parameter of that name"},
	{"unknown word", "how: mean}", "how: median}", "op.how", `no how "median"; expected sum, mean or max`},
	{"unknown transpose", "transpose: right, scale: softmax_scale", "transpose: both, scale: softmax_scale",
		"op.transpose", "expected right or left"},
	{"operand that is no stage", "{rowsum: P}", "{rowsum: ghost}", "op.rowsum", `unknown stage "ghost"`},
	{"operand that comes later", "{reduce: Q, how: sum}", "{reduce: max, how: sum}", "op.reduce",
		`unknown stage "max"`},
	{"by that is no stage", "by: m}", "by: ghost}", "op.by", `unknown stage "ghost"`},
	{"cycle", "{rowsum: P}", "{reduce: tilesum, how: sum}", "op.reduce", "computed from itself"},
	{"wrong extents", "{matmul: [Q, K], transpose: right, scale: 1 / sqrt(D)}", "{matmul: [Q, K]}",
		"op.matmul", "64 products on the left, 8 on the right"},
	{"another extent", "{rowsum: P}", "{cast: P}", "op.cast", "it is 16×1, but cast makes 16×8"},
	{"number of operands", "{divide: [U, l]}", "{divide: [U]}", "op.divide", "divide has 1 operands"},
	{"mask not linear", "mask: key + c <= query + r}", "mask: r * c <= 3}", "op.mask", "linear in r and c"},
	{"mask no comparison", "mask: key + c <= query + r}", "mask: causal}", "op.mask", "expected comparisons"},
	{"mask of an unknown name", "mask: key + c <= query + r}", "mask: col <= query + r}", "op.mask", "col"},
	{"map of an unknown name", "gelu(x) + max(y, 1)", "gelu(x) + max(z, 1)", "op.reduce.map",
		`no operand "z"; it has x, y`},
	{"map of an unknown function", "gelu(x) + max(y, 1)", "glue(x) + max(y, 1)", "op.reduce.map",
		"no function glue"},
	{"map that is no expression", "gelu(x) + max(y, 1)", "gelu(x) +", "op.reduce.map", "map"},
	{"load without at", "{load: K, at: [batch, head, key, 0], rows: 2, cols: 3}",
		"{load: K, rows: 2, cols: 3}", "op.load", "position of 0 dimensions, K has 4"},
	{"at of wrong rank", "{load: K, at: [batch, head, key, 0], rows: 2, cols: 3}",
		"{load: K, at: [key, 0], rows: 0, cols: 1}", "op.load", "position of 2 dimensions, K has 4"},
	{"at that is no list", "{load: K, at: [batch, head, key, 0], rows: 2, cols: 3}",
		"{load: K, at: key, rows: 2, cols: 3}", "op.at", "expected a list"},
	{"rows beyond the rank", "{load: K, at: [batch, head, key, 0], rows: 2, cols: 3}",
		"{load: K, at: [batch, head, key, 0], rows: 4, cols: 3}", "op.load", "along dimension 4, K has 4"},
	{"rows that are no number", "{load: K, at: [batch, head, key, 0], rows: 2, cols: 3}",
		"{load: K, at: [batch, head, key, 0], rows: S, cols: 3}", "op.rows", "expected a dimension"},
	{"unknown input", "{load: K, at", "{load: W, at", "op.load", `unknown input "W"`},
	{"load in place without dims", ", dims: [N, D]}]", "}]", "op.accumulate.matmul[1].load", "needs dims"},
	{"dims of wrong length", "dims: [N, D]}]", "dims: [N]}]", "op.accumulate.matmul[1].dims",
		"expected a list of 2"},
	{"kv tile outside the loop", "{load: Q, at: [batch, head, query, 0]",
		"{load: Q, at: [batch, head, key, 0]", "op.at", "key may not stand here"},
	{"accumulate outside the loop", "{reduce: Q, how: sum}", "{accumulate: {rowsum: Q}}", "op.accumulate",
		"of the iteration before, but is computed once"},
	{"computed before what it is computed from", "{reduce: Q, how: sum}", "{reduce: P, how: sum}",
		"op.reduce", "computed before the loop, from P"},
	{"accumulate of what does not add up", "{accumulate: {rowsum: {exp_below: [S, m]}}, by: m}",
		"{accumulate: {cast: tilesum}}", "op.accumulate", "cannot add up cast"},
	{"of that contradicts", "op: {rowsum: P}}", "of: [S], op: {rowsum: P}}", "of", "op is computed from P"},
}

// TestOperatorMistakes: each gives one error, at its line and field, when the manifest is loaded.
func TestOperatorMistakes(t *testing.T) { checkMistakes(t, everyOperator, operatorMistakes) }

// mistake is a text of a manifest, what is written in its place, and the one error that comes of it: its
// field and a part of its message.
type mistake struct{ what, old, now, field, say string }

func checkMistakes(t *testing.T, manifest string, all []mistake) {
	t.Helper()
	for _, x := range all {
		if strings.Count(manifest, x.old) == 0 {
			t.Fatalf("%s: the manifest has no %s", x.what, x.old)
		}
		text := strings.Replace(manifest, x.old, x.now, 1)
		at := strings.Index(manifest, x.old)
		_, err := ParseManifest("every.yaml", []byte(text))
		var list *Errors
		if !errors.As(err, &list) || len(list.List) != 1 {
			t.Errorf("%s: %v", x.what, err)
			continue
		}
		e := list.List[0]
		line := 1 + strings.Count(manifest[:at], "\n")
		if e.Line < line || e.Line > line+strings.Count(x.old, "\n") {
			t.Errorf("%s: line %d, expected %d: %v", x.what, e.Line, line, err)
		}
		if !strings.HasSuffix(e.Field, "."+x.field) || !strings.Contains(e.Msg, x.say) {
			t.Errorf("%s: %v, expected field %s and %q", x.what, err, x.field, x.say)
		}
	}
}

// TestOperatorOfTheEntry: of several entries for a stage the one that the build has says what is
// computed, and from what.
func TestOperatorOfTheEntry(t *testing.T) {
	const entry = `  - {name: half, `
	text := strings.Replace(everyOperator, "gates: []", "flags: [{name: TWICE}]\ngates: []", 1)
	text = strings.Replace(text, entry, `  - {name: half, when: TWICE, axes: [row, key], dtype: f32, dims: [M, N], valid: [M, N], per: tile, capture: probe,
     op: {map: 2 * s, s: S}}
`+entry, 1)
	for _, c := range []struct {
		set      map[string]string
		op       string
		operands []probes.Stage
	}{
		{nil, "matmul", []probes.Stage{"Q", "K"}}, {map[string]string{"TWICE": "1"}, "map",
			[]probes.Stage{"S"}},
	} {
		sp := resolveWith(t, text, c.set).Stage("half")
		if sp.Op.Op != c.op || !slices.Equal(sp.Operands, c.operands) {
			t.Errorf("%v: %s of %v, want %s of %v", c.set, sp.Op.Op, sp.Operands, c.op, c.operands)
		}
	}
}
