package configs

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/probes"
)

const stageless = `schema: tilescope.kernel/1
name: plain
source: plain.cu
entry: plain
launch: {grid: [4, 1, 1], block: [64, 1, 1]}
args:
  - {name: x, type: "f32*", dims: [1024], role: input}
  - {name: acc, type: "i16*", dims: [8, 3, 20], role: inout, fill: "randint(0, 7)"}
  - {name: in_x, type: "f64*", dims: [1009], role: inout, fill: unwritten}
  - {name: out, type: "bf16*", dims: [48], role: output}
  - {name: n, type: u32, value: 1024}
`

// TestMemory: the pointer arguments of a kernel without stages are tiles of the launch, before it
// where they hold something; a list is folded into rows. Without shapes there are no dimensions, and
// none has to be given.
func TestMemory(t *testing.T) {
	m, err := ParseManifest("plain.yaml", []byte(stageless))
	if err != nil {
		t.Fatal(err)
	}
	shape, err := m.ParseShape("validation")
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sel.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sp := range p.Tiles() {
		got = append(got, fmt.Sprintf("%s %s %d×%d %v", sp.Stage, sp.DType, sp.Rows, sp.Cols,
			sp.Capture.Before))
		if sp.Referenced() || !sp.OfLaunch() || p.Stage(sp.Stage) != sp {
			t.Errorf("%+v", sp)
		}
	}
	want := "in_in_x f32 32×32 true; in_acc i16 24×20 true; x f32 32×32 false; acc i16 24×20 false; in_x f64 32×32 false; out bf16 2×24 false"
	if strings.Join(got, "; ") != want || p.Referenced() || len(p.Stages) > 0 || !p.Work.Once {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	if f := p.Args[1].Fill; f.Kind != probes.FillRandInt || f.Hi != 7 || !p.Args[1].Filled() ||
		p.Args[2].Filled() || p.Args[3].Filled() {
		t.Errorf("%+v", p.Args)
	}
	for text, says := range map[string]string{
		"4,4,4,4": `unknown shape "4,4,4,4": plain has neither shapes nor dimensions`,
		"N=3":     "no dimension N", "nosuch": `unknown shape "nosuch": plain has neither`,
	} {
		if _, err := m.ParseShape(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("--shape %s: %v", text, err)
		}
	}
}

// TestStagelessMistakes: what only a kernel without stages would take is refused at its place.
func TestStagelessMistakes(t *testing.T) {
	for _, c := range [][3]string{
		{"fill: unwritten", "", "plain.yaml:9"},
		{"fill: unwritten", "fill: gauss", `unknown fill "gauss"`},
		{`fill: "randint(0, 7)"`, "fill: nan", "i16 has no value nan"},
		{"dims: [1009]", "dims: [S]", "unknown variable S"},
		{"role: input", "role: input, fill: unwritten", "an input is written before the launch"},
		{"role: inout, fill: unwritten", "role: inout, tensor: T, fill: ones",
			"what a kernel changes or works in is no tensor"},
	} {
		old, now, says := c[0], c[1], c[2]
		if _, err := ParseManifest("plain.yaml",
			[]byte(strings.Replace(stageless, old, now, 1))); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s → %s: %v, want %q", old, now, err, says)
		}
	}
}

// TestFileLaunch: the manifest of a check's options resolves to its launch and arguments, and is opened under
// its file's name alone.
func TestFileLaunch(t *testing.T) {
	b := &FileLaunch{
		File: "dir/a kernel.ptx", Entry: "_Z1k$1", Grid: probes.Dim3{4, 2, 1}, Block: probes.Dim3{32, 1, 1},
		Shared: 64, Args: []probes.Arg{
			{Name: "x", DType: probes.F64, Pointer: true, Dims: []int{3, 5}, Role: probes.RoleInOut,
				Fill: probes.Fill{Kind: probes.FillOnes}},
			{Name: "y", DType: probes.F32, Pointer: true, Dims: []int{7}, Role: probes.RoleInOut,
				Contents: make([]byte, 28)},
			{Name: "p", DType: probes.U8, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		},
	}
	m, err := b.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	c := &Catalogue{}
	c.Adopt(m)
	if _, _, err := c.Lookup(b.File); err == nil {
		t.Error("an adopted manifest is listed")
	}
	got, variant, err := c.Open(t.Context(), b.File)
	if err != nil || got != m || m.SourcePath() != b.File || m.Name != "a_kernel.ptx" {
		t.Fatalf("%v %v %s %s", got, err, m.SourcePath(), m.Name)
	}
	sel, err := m.Select(variant, nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sel.Resolve(probes.Shape{})
	if err != nil || p.Entry != b.Entry || p.Grid != b.Grid || p.Block != b.Block || p.DynShared != 64 ||
		len(p.Memory) != 4 || len(p.Args[2].Data) != 12 {
		t.Errorf("%+v, %v", p, err)
	}
	if p.Args[2].Bytes(8) != 12 || p.Args[0].Bytes(8) != 8 {
		t.Error("sizes of parameters")
	}
}

// TestReferenceKey: reference: none turns a stage's comparison off and leaves its operator to others.
func TestReferenceKey(t *testing.T) {
	text, err := embedded.ReadFile("kernels/gemm_wmma.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest("gemm.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	name := m.Stages[len(m.Stages)-1].Stage.String()
	entry := "- name: " + name + "\n"
	at := strings.LastIndex(string(text), entry)
	if at < 0 {
		t.Fatalf("no stage %q in the manifest's text", entry)
	}
	off := string(text[:at]) + entry + "    reference: none\n" + string(text[at+len(entry):])
	if m, err = ParseManifest("gemm.yaml", []byte(off)); err != nil {
		t.Fatal(err)
	}
	sel, _ := m.Select("", nil, nil, probes.GateNone)
	p, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		t.Fatal(err)
	}
	if sp := p.Stage(probes.Stage(name)); sp.Referenced() || sp.Op == nil || !p.Referenced() {
		t.Errorf("%+v", sp)
	}
	bad := strings.Replace(off, "reference: none", "reference: maybe", 1)
	if _, err := ParseManifest("gemm.yaml", []byte(bad)); err == nil ||
		!strings.Contains(err.Error(), `no reference named "maybe"`) {
		t.Errorf("%v", err)
	}
}
