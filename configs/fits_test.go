package configs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// usesManifest is a kernel whose stages are captured in every way, each line a place that a case changes.
const usesManifest = `schema: tilescope.kernel/1
name: mine
ptx: k.ptx
entry: k
constants: {BR: 32, BC: 16}
launch: {grid: [ceil_div(S, BR), H, B], block: [128, 1, 1]}
args:
  - {name: Q, type: "f16*", dims: [B, H, S, D], role: input, tensor: Q}
  - {name: K, type: "f16*", dims: [B, H, S, D], role: input, tensor: K}
  - {name: V, type: "f16*", dims: [B, H, S, D], role: input, tensor: V}
  - {name: O, type: "f16*", dims: [B, H, S, D], role: output, tensor: O}
work: {batch: bz, head: by, query: bx * BR, key: kv * BC, tiles: ceil_div(S, BC)}
shared:
  - {name: sS, type: f32, dims: [BR, BC + 4]}
stages:
  - {name: S, dtype: f32, dims: [BR, BC], valid: [BR, BC], per: tile, capture: {shared: sS, at: {line: 8}, tile_at: {line: 5}}}
  - {name: m, dtype: f32, dims: [BR, 1], valid: [BR, 1], per: tile, capture: probe}
  - {name: O, dtype: f16, dims: [BR, D], valid: [BR, D], per: block, capture: {output: O}}
shapes: {validation: [1, 2, 64, 64]}
`

// Every extent is checked against its uses when a manifest is loaded: line and field of
// the mistake are named.
func TestExtentsAreHeldToTheirUses(t *testing.T) {
	if _, err := ParseManifest("k.yaml", []byte(usesManifest)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line     int
		old, new string
		field    string
		says     string
	}{
		{11, "dims: [B, H, S, D]", "dims: [B, H, S - 1, D]", "args[3].dims", "8064 elements"},
		{11, "dims: [B, H, S, D]", "dims: [B, H, S, 2 * D]", "args[3].dims",
			"16384 elements; tensor O is [1 2 64 64], 8192"},
		{11, "dims: [B, H, S, D]", "dims: [B, S, H * D]", "args[3].dims", "tensor O is [1 2 64 64]"},
		{8, "dims: [B, H, S, D]", "dims: [B, S, D, H]", "", ""},
		{8, "dims: [B, H, S, D]", "dims: [B * H, S, D]", "", ""},
		{8, "dims: [B, H, S, D]", "dims: [B, H, D, D]", "", ""},
		{8, "dims: [B, H, S, D]", "dims: [B, H, D, S]", "", ""},
		{8, "dims: [B, H, S, D]", "dims: [B, H, S, D], strides: [H * S * D, S * D, D, 0]",
			"args[0].strides[3]", "expected 1 to"},
		{8, "dims: [B, H, S, D]", "dims: [B, H, S, D], strides: [H * S * D, S * D, D - 1, 1]",
			"args[0].strides",
			"elements lie over each other, dimension 2 is 63 apart and those within it take 64"},
		{8, "dims: [B, H, S, D]", "dims: [B, H, S, D], strides: [1, 1]", "args[0].strides",
			"expected 4 elements, found 2"},
		{11, "dims: [B, H, S, D]", "dims: [1]", "args[3].dims", "1 elements"},
		{11, `type: "f16*"`, `type: "i32*"`, "args[3].type", "floating-point"},
		{8, "dims: [B, H, S, D]", "dims: [B, H, S]", "args[0].dims", "128 elements"},
		{9, `type: "f16*", dims: [B, H, S, D], role: input`,
			`type: "i32*", dims: [B, H, S, D], fill: ones, role: output`, "args[1].fill", "only role: input"},
		{9, "tensor: K", "tensor: Ks", "args[1].type", "f32*"},
		{18, "dtype: f16", "dtype: f32", "stages[2].dtype", "O is f32, but argument O"},
		{18, "dims: [BR, D]", "dims: [BR, 65]", "stages[2].dims",
			"65 columns, which disagrees with the 64 of the shape's D"},
		{18, "dims: [BR, D]", "dims: [16, D]", "stages[2].", "expected"},
		{17, "dims: [BR, 1]", "dims: [BR, 2]", "stages[1].dims", "2 columns"},
		{17, "dims: [BR, 1], valid: [BR", "dims: [8, 1], valid: [8", "stages[1].dims",
			"disagrees with the 32 of stage S"},
		{17, "capture: probe", "capture: {output: O}", "stages[1].capture", "once a block"},
		{16, "dims: [BR, BC], valid: [BR, BC]", "dims: [BR, 21], valid: [BR, 21]", "stages[0]", "array sS"},
		{16, "dtype: f32", "dtype: f16", "stages[0].dtype", "its array sS is f32"},
		{16, "dtype: f32", "dtype: i32", "stages[0].dtype", "integer"},
		{14, "dims: [BR, BC + 4]", "dims: [BR, 8]", "stages[0]", "array sS"},
		{12, "tiles: ceil_div(S, BC)", "tiles: 2000000000", "work.tiles", "kv tiles are possible"},
		{12, "tiles: ceil_div(S, BC)", "tiles: 1000000", "work.tiles", "the reference of a block would take"},
		{12, "query: bx * BR", "query: bx * BR + 40", "work.query", "expected 0 to 63"},
		{6, "grid: [ceil_div(S, BR), H, B]", "grid: [2000000000, 1, 1]", "", ""},
	} {
		lines := strings.Split(usesManifest, "\n")
		if !strings.Contains(lines[c.line-1], c.old) {
			t.Fatalf("line %d lacks %q", c.line, c.old)
		}
		lines[c.line-1] = strings.Replace(lines[c.line-1], c.old, c.new, 1)
		_, err := ParseManifest("k.yaml", []byte(strings.Join(lines, "\n")))
		if c.says == "" && err == nil {
			continue
		}
		var all *Errors
		if !errors.As(err, &all) {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		first := all.List[0]
		at := c.line
		if c.line == 14 {
			at = 16 // the array is too small for the stage
		}
		if c.field != "" &&
			(first.Line != at || !strings.HasPrefix(first.Field, c.field) ||
				!strings.Contains(fmt.Sprint(err), c.says)) {
			t.Errorf("%s:\n  got  %v\n  want line %d, %s, %q", c.new, err, at, c.field, c.says)
		}
	}
}
