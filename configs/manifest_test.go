package configs

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

func stage2(t testing.TB, set map[string]string, faults ...string) *Selection {
	t.Helper()
	c, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	m, v, err := c.Lookup("stage2")
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Select(v, set, faults, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestKernelsWithoutALoop: only those whose work says so have one iteration whatever the problem.
func TestKernelsWithoutALoop(t *testing.T) {
	c, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{"layernorm": true, "softmax_row": false, "stage2": false} {
		m, v, err := c.Lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Select(v, nil, nil, probes.GateNone)
		if err != nil {
			t.Fatal(err)
		}
		shape, err := s.ParseShape("small")
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Resolve(shape)
		if err != nil {
			t.Fatal(err)
		}
		if p.Work.Once != want {
			t.Errorf("%s: %+v", target, p.Work)
		}
	}
}

func TestResolveStage2(t *testing.T) {
	s := stage2(t, nil)
	shape, err := s.ParseShape("partial49")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	if p.Grid != (probes.Dim3{2, 2, 1}) || p.Block != (probes.Dim3{128, 1, 1}) || p.DynShared != 0 {
		t.Errorf("geometry %v %v %d", p.Grid, p.Block, p.DynShared)
	}
	if p.Scale != 0.125 || p.Args[11].Bits != uint64(math.Float32bits(0.125)) || p.Args[9].Bits != 49 {
		t.Errorf("scale %v, args %+v", p.Scale, p.Args[7:])
	}
	if got := p.Args[0]; !got.Pointer || got.Role != probes.RoleInput || got.Tensor != "Q" ||
		!slices.Equal(got.Dims, []int{1, 2, 49, 64}) {
		t.Errorf("argument Q: %+v", got)
	}
	total := 0
	for _, a := range p.Shared {
		total += a.Bytes
	}
	if total != 37120 { // the sum that the original effort reported
		t.Errorf("shared arrays take %d bytes, want 37120", total)
	}
	if p.Work.MaxTiles != 2 || p.Position("key").At(probes.Dim3{1, 1, 0}, 1) != 32 ||
		p.Position("head").At(probes.Dim3{1, 1, 0}, 0) != 1 {
		t.Errorf("work %+v, positions %+v", p.Work, p.Positions)
	}
	sc := p.Stage("S")
	for _, x := range []struct{ bx, kv, rows, cols int }{
		{0, 0, 32, 32}, {1, 0, 17, 32}, {0, 1, 32, 17}, {1, 1, 17, 17},
	} {
		b := probes.Dim3{x.bx, 1, 0}
		if r, c := sc.ValidRows.At(b, x.kv), sc.ValidCols.At(b, x.kv); r != x.rows || c != x.cols {
			t.Errorf("S valid at bx %d kv %d: %d×%d, want %d×%d", x.bx, x.kv, r, c, x.rows, x.cols)
		}
	}
	if !sc.Meaning.Scaled || sc.Compute.Block != 16 || sc.Compute.Acc != probes.F16 ||
		!slices.Equal(sc.From, probes.StagesOf("Q", "K")) {
		t.Errorf("S: %+v", sc)
	}
	if u := p.Stage("U"); u.Compute.Unit != probes.UnitTensor || !u.From.Has("U") {
		t.Errorf("U: %+v", u.Compute)
	}
	if *p.Quant != (probes.Quantiser{
		Kind: "sim-fp8", Levels: 127, Zero: 128, Max: 448, EncodeLevels: 127, Along: 1,
	}) {
		t.Errorf("quantiser %+v", p.Quant)
	}
	if p.Limits.MaxAbs != 0.06 || p.Limits.Registers != 128 || p.Limits.MinSpeedup != 1.1 {
		t.Errorf("limits %+v", p.Limits)
	}
	if o := p.Stage("O"); o.Capture.Kind != probes.CaptureOutput || o.Capture.Output != "O" || o.PerTile {
		t.Errorf("O: %+v", o)
	}
}

func TestFlagsChangeThePlan(t *testing.T) {
	s := stage2(t, map[string]string{"USE_WMMA_PV": "0", "USE_CP_ASYNC": "off"})
	p, err := s.Resolve(probes.Listed(1, 1, 32, 64))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Shared {
		if a.Name == "sPV_frag" || a.Name == "sK_u8" {
			t.Errorf("%s is there without its flag", a.Name)
		}
	}
	if u := p.Stage("U").Compute; u.Unit != probes.UnitFMA {
		t.Errorf("U without USE_WMMA_PV: %+v", u)
	}
	if len(s.Defines()) != 0 {
		t.Errorf("defines %v", s.Defines())
	}
	if p, err = stage2(t, map[string]string{"USE_FUSED_SOFTMAX": "1"}).Resolve(p.Shape); err != nil ||
		p.Limits.MinSpeedup != 1.15 {
		t.Errorf("USE_FUSED_SOFTMAX asks for a speed of %v, %v", p.Limits.MinSpeedup, err)
	}
}

func TestSelect(t *testing.T) {
	m := stage2(t, nil).Manifest
	s, err := m.Select("", map[string]string{"DEBUG_QK_ONLY": ""}, []string{"quant-127.5", "kt-ld"},
		probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"DEBUG_QK_ONLY=1", "USE_CP_ASYNC=1", "USE_WMMA_PV=1"}
	if got := s.Defines(); !slices.Equal(got, want) || s.Gate != "qk" {
		t.Errorf("defines %v, want %v", got, want)
	}
	if got := s.Patches(); len(got) != 1 ||
		got[0] != (Patch{"kt-ld", "faults/sdpa_fp8_stage_c_wmma/kt-ld.patch"}) {
		t.Errorf("patches %v", got)
	}
	p, err := s.Resolve(probes.Listed(1, 1, 32, 64))
	if err != nil || p.Quant.EncodeLevels != 127.5 || p.Quant.Levels != 127 {
		t.Errorf("quantiser under quant-127.5: %+v, %v", p.Quant, err)
	}
	for _, x := range []struct {
		name    string
		variant string
		set     map[string]string
		faults  []string
		gate    probes.Gate
		want    []string
	}{
		{"variant", "stage9", nil, nil, probes.GateNone, []string{`unknown variant "stage9"`, "stage1"}},
		{"flag", "stage2", map[string]string{"USE_WMA_PV": ""}, nil, probes.GateNone,
			[]string{"USE_WMA_PV", "did you mean USE_WMMA_PV"}},
		{"value", "stage2", map[string]string{"USE_WMMA_PV": "7"}, nil, probes.GateNone,
			[]string{"[0 1]", `"7"`}},
		{"fault", "stage2", nil, []string{"kt-lod"}, probes.GateNone, []string{"did you mean kt-ld"}},
		{"base", "scalar", nil, []string{"kt-ld"}, probes.GateNone,
			[]string{"planted in stage2", "USE_CP_ASYNC=1 USE_WMMA_PV=1"}},
		{"gates", "stage2", map[string]string{"DEBUG_QK_ONLY": ""}, nil, "pv",
			[]string{"cannot be combined"}},
		{"two", "stage2", map[string]string{"NOPE": ""}, []string{"nope"}, probes.GateNone,
			[]string{"NOPE", "nope"}},
	} {
		_, err := m.Select(x.variant, x.set, x.faults, x.gate)
		if err == nil {
			t.Errorf("%s: accepted", x.name)
			continue
		}
		for _, w := range x.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", x.name, err, w)
			}
		}
	}
}

// TestCapturePass: which pass of a line a tile is taken at, in words or as a number.
func TestCapturePass(t *testing.T) {
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]int{
		"{line: 3}": 0, "{line: 3, pass: first}": 1, "{line: 3, pass: 4}": 4,
		"{line: 3, pass: last}": probes.PassLast,
	} {
		m, err := ParseManifest("full.yaml",
			[]byte(strings.Replace(string(text), "at: {barrier: 2}", "at: "+at, 1)))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, s := range m.Stages {
			if s.Capture.AtLine == 3 {
				if found = true; s.Capture.Pass != want {
					t.Errorf("%s: pass %d, want %d", at, s.Capture.Pass, want)
				}
			}
		}
		if !found {
			t.Errorf("%s: no stage is captured at line 3", at)
		}
	}
}
