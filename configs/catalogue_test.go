package configs

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCatalogueLookup(t *testing.T) {
	c, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	for target, variant := range map[string]string{
		"stage2": "stage2", "scalar": "scalar", "sdpa_fp8_stage_c_wmma": "stage2",
	} {
		if m, v, err := c.Lookup(target); err != nil || v != variant || m.Name != "sdpa_fp8_stage_c_wmma" {
			t.Errorf("%s: %v %s, %v", target, m, v, err)
		}
	}
	if _, _, err := c.Open(t.Context(), "stgae2"); err == nil ||
		!strings.Contains(err.Error(), `unknown target "stgae2": did you mean stage2?`) {
		t.Errorf("stgae2: %v", err)
	}
	if m, v, err := c.Open(t.Context(), "testdata/full.yaml"); err != nil || v != "fused" ||
		m.Dir != "testdata" {
		t.Errorf("a path: %s, %v", v, err)
	}
	for _, path := range []string{"testdata/none.yaml", "testdata"} {
		if _, err := LoadManifest(t.Context(), path); err == nil {
			t.Errorf("%s was loaded", path)
		}
	}
}

func TestCatalogueClash(t *testing.T) {
	one := "schema: tilescope.kernel/1\nname: NAME\nptx: a.ptx\nentry: e\nlaunch: {grid: [1, 1, 1], block: [1, 1, 1]}\nargs: []\nvariants: {v: {}}\n"
	_, err := LoadCatalogue(fstest.MapFS{
		"a.yaml": {Data: []byte(strings.Replace(one, "NAME", "one", 1))},
		"b.yaml": {Data: []byte(strings.Replace(one, "NAME", "two", 1))},
		"c.yaml": {Data: []byte("schema: 3\n")},
	})
	if err == nil || !strings.Contains(err.Error(), "b.yaml:7: variants.v: the name v is taken by a.yaml") ||
		!strings.Contains(err.Error(), "c.yaml:1: schema: expected") {
		t.Errorf("got %v", err)
	}
}

func TestDocument(t *testing.T) {
	c, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Doc())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"schema":"tilescope.kernels/1"`, `{"name":"stage1","flags":{"DEBUG_PRINT":0,"USE_CP_ASYNC":1,`,
		`"USE_WMMA_PV":0},"faults":[]}`, `{"name":"partial49","shape":{"B":1,"H":2,"S":49,"D":64}}`,
		`"gates":["none","qk","softmax","pv"]`, `"stages":["Q","K","V","S","m","l","P","U","O"]`,
		`"min_speedup":1.1`, `"needs":"S \u003e TILE_N`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("a null in %s", text)
	}
}
