package configs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

func resolvedMaps(t *testing.T, text string) (*probes.Plan, error) {
	t.Helper()
	m, err := ParseManifest("tensormap.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	shape, _ := m.Shape("small")
	return sel.Resolve(shape)
}

// TestTensorMap: a tensor map is 128 bytes of a tensor in memory that stands behind all parameters.
func TestTensorMap(t *testing.T) {
	text, err := os.ReadFile("testdata/tensormap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := resolvedMaps(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Args) != 4 || len(p.Parameters()) != 3 || p.Args[3].Name != "x" || p.Args[3].Into == nil {
		t.Fatalf("%+v", p.Args)
	}
	if p.Cluster != (probes.Dim3{2, 1, 1}) || !p.Cooperative {
		t.Errorf("cluster %v, cooperative %v", p.Cluster, p.Cooperative)
	}
	for i, want := range map[int]*probes.ArgMap{
		1: {Of: 3, Map: tensormap.Map{
			DType: tensormap.F16, Dims: []uint64{64, 41}, Strides: []uint64{128}, Box: []uint32{64, 32},
			Steps: []uint32{1, 1}, Swizzle: tensormap.Swizzle128B,
		}},
		2: {Of: 3, Skip: 16, Map: tensormap.Map{
			DType: tensormap.BF16, Dims: []uint64{16, 40, 2}, Strides: []uint64{128, 64},
			Box: []uint32{16, 8, 1}, Steps: []uint32{1, 2, 1}, Swizzle: tensormap.Swizzle32B, Promotion: 2,
			Fill: tensormap.FillNaN,
		}},
	} {
		if a := p.Args[i]; !reflect.DeepEqual(a.Map, want) || len(a.Data) != tensormap.Bytes {
			t.Errorf("%s: %+v, want %+v", a.Name, a.Map, want)
		}
	}
	for given, want := range map[string]tensormap.Swizzle{ // N is 64
		"swizzle: N": tensormap.Swizzle64B, "swizzle: 2 * N": tensormap.Swizzle128B,
		"swizzle: N / 4": tensormap.SwizzleNone, "swizzle: N - 64": tensormap.SwizzleNone,
	} {
		p, err := resolvedMaps(t, strings.Replace(string(text), "box: [32, 64], swizzle: 128B",
			"box: [32, 8], "+given, 1))
		if err != nil || p.Args[1].Map.Swizzle != want {
			t.Errorf("%s: %+v, %v, want %v", given, p, err, want)
		}
	}
	for says, c := range map[string][2]string{
		"args[1].map.of: no argument z":  {"of: x, box", "of: z, box"},
		"args[1].map.box: missing":       {"box: [32, 64], ", ""},
		"args[1].map: missing":           {", map: {of: x, box: [32, 64], swizzle: 128B}", ""},
		"args[1].dims: a tensor map has": {"type: tensormap, map", "type: tensormap, dims: [4], map"},
		"args[0].map: only an argument of type": {
			"role: output}", "role: output, map: {of: x, box: [1]}}",
		},
		"args[0].parameter: only memory": {
			`"f16*", dims: [M, N], role: output`, "i32, value: 1, parameter: false",
		},
		"tensor map xmap: the box has 66 bytes":   {"[32, 64]", "[32, 33]"},
		"tensor map heads: the tensor ends at":    {"offset: 16", "offset: 512"},
		"tensor map xmap: a box of 1 extents":     {"[32, 64]", "[64]"},
		`tensor map xmap: swizzle "48B"`:          {"swizzle: 128B", "swizzle: N - 16"},
		"args[2].map.strides[0]":                  {"2 * N / 2", "2 * Z / 2"},
		"tensor map heads: 1 strides for 3 dimen": {"[2 * N / 2, 2 * N]", "[2 * N]"},
	} {
		if _, err := resolvedMaps(t, strings.Replace(string(text), c[0], c[1], 1)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
