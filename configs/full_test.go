package configs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

func full(t testing.TB) *Manifest {
	t.Helper()
	m, err := LoadManifest(t.Context(), filepath.Join("testdata", "full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func resolved(t *testing.T, m *Manifest, variant string, faults []string, shape string) *probes.Plan {
	t.Helper()
	s, err := m.Select(variant, nil, faults, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	sh, err := m.ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Resolve(sh)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFullManifest(t *testing.T) {
	m := full(t)
	if got, want := m.SourcePath(), filepath.Join("testdata", "sub", "full.ptx"); got != want {
		t.Errorf("source path %q, want %q", got, want)
	}
	p := resolved(t, m, "", nil, "wide")
	if p.DynShared != 12288 || p.Consts["BUFFERS"] != 2 || p.Consts["KEYS"] != 64 ||
		p.Consts["UNROLL"] != 2 || p.Consts["USE_FUSED"] != 1 {
		t.Errorf("shared %d, constants %v", p.DynShared, p.Consts)
	}
	if want := float64(float32(2 / math.Sqrt(128))); p.Scale != want {
		t.Errorf("scale %v, want %v", p.Scale, want)
	}
	if p.Args[4].Role != probes.RoleNone || p.Args[5].Bits != 0xffffffff ||
		p.Args[6].Bits != math.Float64bits(0.5) {
		t.Errorf("arguments %+v", p.Args[4:])
	}
	if p.Quant != nil {
		t.Errorf("a quantiser: %+v", p.Quant)
	}
	if p.Work.MaxTiles != 3 || p.Work.Tiles.At(probes.Dim3{1, 0, 0}, 0) != 2 {
		t.Errorf("tiles %+v", p.Work.Tiles)
	}
	if l := p.Limits; l.MaxAbs != 0.05 || l.MeanAbs != 0.02 || l.Registers != 128 {
		t.Errorf("limits %+v: 0.05 was given, the rest are defaults", l)
	}
	names := []string{}
	for _, a := range p.Shared {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, []string{"sS", "sK", "m_smem"}) || p.Shared[1].Offset != 4096 ||
		p.Shared[1].Within != "smem" || p.Shared[1].Bytes != 4096 {
		t.Errorf("shared %+v", p.Shared)
	}
	s := p.Stage("S")
	if !reflect.DeepEqual(s.Capture, probes.Capture{
		Kind: probes.CaptureShared, Shared: "sS", AtBarrier: 2, TileLine: 40,
	}) || !s.Transposed || s.Outside != probes.OutsideNegInf {
		t.Errorf("S %+v", s)
	}
	if got := s.ValidCols.At(probes.Dim3{2, 0, 0}, 2); got != 1 {
		t.Errorf("S: %d valid columns on the diagonal's last tile, want 1", got)
	}
	if got := s.ValidCols.At(probes.Dim3{2, 0, 0}, 1); got != 32 {
		t.Errorf("S: %d valid columns below the diagonal, want 32", got)
	}
	mp := p.Stage("m")
	if !mp.Meaning.Log2 || mp.Capture.AtLine != 77 || mp.Compute.Acc != probes.F32 || mp.Compute.Split != 1 {
		t.Errorf("m %+v", mp)
	}
}

func TestConditionalStage(t *testing.T) {
	p := resolved(t, full(t), "three", nil, "tiny")
	s := p.Stage("S")
	if s.DType != probes.F32 || s.Capture.Kind != probes.CaptureFrag || s.Compute.Split != 2 ||
		len(p.Stages) != 3 {
		t.Errorf("S under USE_THREE: %+v of %d stages", s, len(p.Stages))
	}
}

func TestFaultChangesTheWork(t *testing.T) {
	m := full(t)
	p := resolved(t, m, "broken", nil, "tiny")
	if p.Position("hidden_rows").At(probes.Dim3{}, 0) != 1 ||
		p.Position("first_key").At(probes.Dim3{}, 0) != 32 {
		t.Errorf("hidden %+v from %+v", p.Position("hidden_rows"), p.Position("first_key"))
	}
	s, err := m.Select("broken", nil, []string{"skip"}, probes.GateNone)
	if err != nil || !slices.Equal(s.Faults, []string{"skip"}) {
		t.Errorf("faults %v, %v", s.Faults, err)
	}
	if got := s.Defines(); !slices.Equal(got, []string{"FAULT_SKIP=1", "UNROLL=2", "USE_FUSED=1"}) {
		t.Errorf("defines %v", got)
	}
	p = resolved(t, m, "base", []string{"swap"}, "wide")
	if got := p.Position("head").At(probes.Dim3{0, 0, 0}, 0); got != 2 {
		t.Errorf("head of block 0 under swap: %d, want 2", got)
	}
	if p = resolved(t, m, "base", nil, "wide"); p.Position("head").At(probes.Dim3{0, 0, 0}, 0) != 0 {
		t.Error("the fault stayed in the manifest")
	}
}

func TestCombinations(t *testing.T) {
	all := full(t).Combinations()
	// USE_FUSED × UNROLL = 6, and USE_THREE with USE_FUSED and UNROLL 1 or 2.
	if len(all) != 8 {
		t.Errorf("%d combinations, want 8: %v", len(all), all)
	}
	for _, f := range all {
		if f["USE_THREE"] == 1 && (f["USE_FUSED"] == 0 || f["UNROLL"] > 2) {
			t.Errorf("forbidden: %v", f)
		}
	}
	if n := len(stage2(t, nil).Manifest.Combinations()); n < 4 {
		t.Errorf("family A has %d combinations", n)
	}
}

func TestRefusals(t *testing.T) {
	m := full(t)
	for _, x := range []struct {
		name, variant string
		set           map[string]string
		want          string
	}{
		{"requires", "base", map[string]string{"USE_THREE": ""}, "flag USE_THREE requires USE_FUSED"},
		{"conflicts", "three", map[string]string{"UNROLL": "4"}, "flag USE_THREE conflicts with UNROLL > 2"},
		{"gate", "base", map[string]string{"DEBUG_SOFTMAX_ONLY": "1"},
			"no gate softmax (it has: none qk pv)"},
	} {
		if _, err := m.Select(x.variant, x.set, nil, probes.GateNone); err == nil ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
	s, err := m.Select("broken", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		shape probes.Shape
		want  string
	}{
		{
			probes.Listed(1, 1, 32, 64),
			"fault skip can do nothing on shape 1,1,32,64: it needs S > TILE; try --shape tiny",
		},
		{probes.Listed(1, 1, 64, 32), "D is 64 or 128 (it requires D == 64 || D == 128)"},
		{probes.Listed(1, 4096, 1<<30, 64), "its arguments would take 2 PiB, and the limit is 256 GiB"},
		{probes.Listed(math.MaxInt32, math.MaxInt32, math.MaxInt32, 64), "and the limit is 256 GiB"},
		{probes.Listed(1, 0, 64, 64), "every dimension must be at least 1"},
	} {
		_, err := s.Resolve(x.shape)
		var se *ShapeError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.shape, err, x.want)
		}
	}
	if _, err := s.Resolve(probes.Listed(1, 100000, 64, 64)); err == nil ||
		!strings.Contains(err.Error(), `full.yaml:11: launch.grid[1]: "H" is 100000; expected 1 to 65535`) {
		t.Errorf("a grid of 100000 rows: %v", err)
	}
}

func TestParseShape(t *testing.T) {
	m := full(t)
	if s, err := m.ParseShape(" 1, 8,512,64"); err != nil || s != (probes.Listed(1, 8, 512, 64)) {
		t.Errorf("%v, %v", s, err)
	}
	for text, want := range map[string]string{
		"1,8,0,64":                    "S is 0; each must be at least 1",
		"1,-8,1,64":                   "H is -8",
		"1,8,512":                     "expected four numbers B,H,S,D, found 3",
		"1,8,x,64":                    `S = "x" is not a number`,
		"1,8,99999999999999999999,64": "too large",
		"1,8,4294967296,64":           "too large",
		"tyny":                        "did you mean tiny",
		"":                            "unknown shape",
	} {
		if _, err := m.ParseShape(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFiveMistakes(t *testing.T) {
	_, err := LoadManifest(t.Context(), filepath.Join("testdata", "five.yaml"))
	var all *Errors
	if !errors.As(err, &all) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		`five.yaml:7: launch.grid[0]: in the expression "ceil_div(S, TYLE)": unknown variable TYLE: did you mean TILE?`,
		`five.yaml:10: args[0].type: unknown element type "f17"`,
		`five.yaml:14: flags[0].defualt: unknown key: did you mean default?`,
		`five.yaml:17: variants.fast.USE_B: unknown flag USE_B: did you mean USE_A?`,
		`five.yaml:20: stages[1].name: stage K comes after S; the order is Q K V S m l P U O`,
	}
	if len(all.List) != len(want) {
		t.Errorf("%d mistakes, want %d:\n%v", len(all.List), len(want), err)
	}
	for i, e := range all.List {
		if i < len(want) && !strings.Contains(e.Error(), want[i]) {
			t.Errorf("got  %s\nwant %s", e, want[i])
		}
	}
}

// TestMistakes edits the full manifest, one mistake at a time: each must be reported on the
// line that was edited.
func TestMistakes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ old, new, want string }{
		{"schema: tilescope.kernel/1", "schema: tilescope.kernel/9", "schema: expected tilescope.kernel/1"},
		{"schema: tilescope.kernel/1", "schema: tilescope.sequence/1", "a sequence is checked as a whole"},
		{"ptx: sub/full.ptx", "ptx: sub/full.ptx\nsource: a.cu", "source is given too"},
		{"entry: _Z4fullPKhf", "entry: a b", "is not an identifier"},
		{"TILE: 32,", "TILE: ,", "constants.TILE: expected an expression, found nothing"},
		{"TILE: 32,", "TILE: 1.5,", "expected a whole number"},
		{"BUFFERS: 2", "BUFFERS: KEYS", "unknown variable KEYS"},
		{"TILE: 32,", "sqrt: 1, TILE: 32,", "sqrt is the name of a function"},
		{"TILE: 32,", "B: 1, TILE: 32,", "the name B is already taken"},
		{"D == 64 || D", "D == 64 || || D", "cannot read the expression"},
		{"block: [128, 1, 1]", "block: [128, 1]", "launch.block: expected 3 elements, found 2"},
		{"block: [128, 1, 1]", "block: [bx, 1, 1]", "bx may not stand here"},
		{"block: [128, 1, 1]", "block: [1024, 2, 1]", "a block of 2048 threads"},
		{"block: [128, 1, 1]", "block: [128 / 3, 1, 1]", "expected a whole number"},
		{"grid: [ceil_div(S, TILE), H, B]", "grid: [ceil_div(S), H, B]", "ceil_div takes 2 arguments, not 1"},
		{"grid: [ceil_div(S, TILE), H, B]", "grid: [S / 0, H, B]", "division by zero"},
		{"grid: [ceil_div(S, TILE), H, B]", "grid: [S ^ 2, H, B]", "a power is written **"},
		{"grid: [ceil_div(S, TILE), H, B]", "grid: [len(S), H, B]", "unknown function len"},
		{"grid: [ceil_div(S, TILE), H, B]", "grid: ['\"x\"', H, B]", "only numbers, names"},
		{"grid: [ceil_div(S, TILE), H, B]", "grid: seven", "expected a list, found \"seven\""},
		{"output: {max_abs: 0.05}", "performance: [{min_speedup: 1.1}, {when: S > TILE, min_speedup: 1.2}]",
			"performance[1]: is never reached"},
		{"output: {max_abs: 0.05}", "performance: {min_speedup: -1}", "expected a number from 0 on"},
		{"role: scratch", "role: scrtch", "is none of input, output, inout, scratch"},
		{"value: -1}", "dims: [1]}", "value: missing"},
		{"type: i32, value: -1", "type: u8, value: -1", "expected 0 to 255"},
		{"name: K, type", "name: Q, type", "a second argument named Q"},
		{"role: input, tensor: K", "role: input, tensor: Q", "Q is argument Q already"},
		{"  key: kv * TILE", "  keey: kv * TILE", "did you mean key?"},
		{"head: by", "head: by + 1", "expected 0 to 0"},
		{"query: bx * TILE", "query: kv", "kv may not stand here"},
		{"offset: 4096", "offset: 12288", "sK ends at byte 16384, but launch.shared is"},
		{`offset: "2048"`, `offset: "2047"`, "not aligned for f16"},
		{"within: smem, offset: 0", "offset: 0", "an offset needs the symbol"},
		{"name: sK, type", "name: sS, type", "a second array named sS"},
		{"requires: [USE_FUSED]", "requires: [USE_FUSD]", "did you mean USE_FUSED?"},
		{"requires: [USE_FUSED]", "requires: [S > 1]", "S may not stand here"},
		{"values: [1, 2, 4], default: 2", "values: [1, 2, 4], default: 3", "3 is none of the flag's values"},
		{"name: UNROLL, values", "name: USE_FUSED, values", "the name USE_FUSED is already taken"},
		{"name: UNROLL, values", "name: DEBUG_QK_ONLY, values", "is a gate"},
		{"three: {USE_FUSED: 1, USE_THREE: 1}", "three: {USE_THREE: 1}", "flag USE_THREE requires USE_FUSED"},
		{"three: {USE_FUSED: 1, USE_THREE: 1}", "three: {USE_FUSED: 2, USE_THREE: 1}",
			"2 is none of the flag's values"},
		{"  base: {}", "  fused: {}", "given twice"},
		{"faults: [skip], help", "faults: [skp], help", "did you mean skip?"},
		{"{flags: {USE_FUSED: 1}, faults", "{flags: {USE_FUSED: 0}, faults", "needs USE_FUSED=1"},
		{"default: fused", "default: fuse", "did you mean fused?"},
		{"gates: [qk, pv]", "gates: [qk, vp]", "unknown gate"},
		{"  - name: m", "  - name: M", "unknown stage"},
		{"    from: [S, m]", "    from: [P, m]", "stage P is not earlier than m"},
		{"    from: [S, m]", "    from: [Q, m]", "stage Q is not among the stages"},
		{"    domain: log2", "    scaled: true", "only stage S has it"},
		{"    transposed: true", "    transposed: maybe", "expected true or false"},
		{"    outside: neg-inf", "    outside: inf", "is none of zero, neg-inf, unspecified"},
		{"    array: sS", "    array: sT", "no shared array named sT"},
		{"at: {barrier: 2}", "at: {barrier: 0}", "0 is out of range"},
		{"at: {barrier: 2}", "at: {barrier: 2, line: 3}", "one of them"},
		{"at: {barrier: 2}", "at: {barrier: 2, pass: 1}", "goes with line only"},
		{"at: {barrier: 2}", "at: {line: 3, pass: 0}", "0 is out of range"},
		{"at: {barrier: 2}", "at: {line: 3, pass: second}", "expected first, last, or a number from 1 on"},
		{"{output: out}", "{output: uot}", "did you mean out?"},
		{"capture: frag", "capture: fragment", "is none of probe, frag, none"},
		{"acc: f32, block: 16, split", "acc: f32, split", "block: missing"},
		{"acc: f32, block", "acc: u8, block", "cannot hold a sum"},
		{"valid: [min(TILE, S - bx * TILE), TILE]", "valid: [TILE + 1, TILE]", "is 33"},
		{"tiny: [1, 1, 64, 64]", "tiny: [1, 1, 64, 32]", "D is 64 or 128"},
		{"tiny: [1, 1, 64, 64]", "tiny: [1, 1, 64]", "expected [B, H, S, D], found 3"},
		{"tiny: [1, 1, 64, 64]", "tiny: [1, 1, 32, 64]", "it needs S > TILE"},
		{"max_abs: 0.05", "max_abs: lots", "expected a number, found \"lots\""},
		{"base: fused, shape", "base: fussed, shape", "did you mean fused?"},
		{"define: FAULT_SKIP, ", "", "define: missing"},
		{"host: true, base", "host: true, define: X, base", "a host fault has none"},
		{`help: "heads swapped", work: {head: H - 1 - by}`, `help: "heads swapped"`, "it changes nothing"},
		{"define: FAULT_SKIP", "define: USE_FUSED", "already taken"},
	} {
		if strings.Count(string(text), x.old) == 0 {
			t.Errorf("%q is not in the manifest", x.old)
			continue
		}
		_, err := ParseManifest("m.yaml", []byte(strings.Replace(string(text), x.old, x.new, 1)))
		var all *Errors
		if !errors.As(err, &all) {
			t.Errorf("%q → %q: accepted (%v)", x.old, x.new, err)
			continue
		}
		found := false
		for _, e := range all.List {
			found = found || strings.Contains(e.Error(), x.want)
			if e.Line == 0 {
				t.Errorf("%q → %q: no line in %q", x.old, x.new, e)
			}
		}
		if !found {
			t.Errorf("%q → %q: want %q, got\n%v", x.old, x.new, x.want, err)
		}
	}
}

// TestFaultThatNoShapeHelps: where a fault can do nothing because of the flags, the refusal names the flag
// that it needs and the target that it is planted in, not a shape.
func TestFaultThatNoShapeHelps(t *testing.T) {
	cat, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	m, variant, err := cat.Lookup("stage3b")
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Select(variant, nil, []string{"p-stale-m"}, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"validation", "small"} {
		shape, _ := m.Shape(name)
		var se *ShapeError
		_, err := s.Resolve(shape)
		if !errors.As(err, &se) || se.Base != "stage2" || se.Suggest != "" ||
			se.That != "USE_FUSED_SOFTMAX=0" || !strings.Contains(err.Error(),
			"with these flags: it needs USE_FUSED_SOFTMAX=0; try target stage2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
