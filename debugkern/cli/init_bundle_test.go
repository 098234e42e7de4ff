package cli

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tilescope/debugkern/bundle"
	"tilescope/debugkern/report"
)

// reduceBundle is a launch of debugkern/checkrun/testdata/reduce.ptx on 512 numbers, at a path of its own.
func reduceBundle(t *testing.T, change func(m *bundle.Manifest, p *bundle.Parts)) string {
	t.Helper()
	ptx, err := os.ReadFile(filepath.Join("..", "checkrun", "testdata", "reduce.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	var x []byte
	for i := range 512 {
		x = binary.LittleEndian.AppendUint32(x, math.Float32bits(float32(i)))
	}
	address := strings.Repeat("00", 8)
	m := bundle.Manifest{
		Origin: "ptx", Versions: map[string]string{}, Entry: "reduce",
		Launch: bundle.Launch{Grid: [3]int{2, 1, 1}, Block: [3]int{256, 1, 1}, Cluster: [3]int{1, 1, 1}},
		Memory: []bundle.Memory{
			{Name: "x", DType: "f32", Dims: []int{512}, Before: []bundle.Range{{0, 2048}}},
			{Name: "out", DType: "f32", Dims: []int{2}},
		},
		Parameters: []bundle.Parameter{
			{Name: "x", Value: address, Pointers: []bundle.Pointer{{}}},
			{Name: "out", Value: address, Pointers: []bundle.Pointer{{Memory: 1}}},
			{Name: "n", Type: "i32", Value: "00020000"},
		},
	}
	p := bundle.Parts{PTX: ptx, Before: map[string][]byte{"x": x}}
	if change != nil {
		change(&m, &p)
	}
	var out bytes.Buffer
	if err := bundle.Write(&out, m, p); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "reduce.tsl")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInitBundle: the manifest of a bundle has its launch and arguments, loads, and computes with --inputs
// BUNDLE.tsl what the bundle does.
func TestInitBundle(t *testing.T) {
	path := reduceBundle(t, nil)
	var doc report.Init
	if code, errText := documentOf(t, &doc, "init", path); code != 0 || doc.Entry != "reduce" ||
		doc.Check != "tilescope check "+path {
		t.Fatalf("exit %d: %+v: %s", code, doc, errText)
	}
	text, err := os.ReadFile(doc.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ptx: "reduce.tsl"`, "launch: {grid: [2, 1, 1], block: [256, 1, 1], shared: 0}",
		`- {name: x, type: "f32*", dims: [512], role: input, tensor: in_x}`,
		`- {name: out, type: "f32*", dims: [2], role: output}`, "- {name: n, type: i32, value: 512}",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	bundled, code, errText := runJSON(t, "run", path)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	same, code, errText := runJSON(t, "run", doc.Out, "--inputs", path)
	if code != 0 || same.Digest != bundled.Digest {
		t.Errorf("exit %d: digest %s, the bundle's %s: %s", code, same.Digest, bundled.Digest, errText)
	}
	if other, code, _ := runJSON(t, "run", doc.Out); code != 0 || other.Digest == bundled.Digest {
		t.Errorf("exit %d: with generated inputs the digest is the bundle's too", code)
	}
}

// TestBundleAsInputs: the contents of memory of every element type come out of a bundle as they are in it;
// what they are to the kernel is in their bits.
func TestBundleAsInputs(t *testing.T) {
	t.Parallel()
	bytesOf := map[string]int{
		"u8": 1, "i8": 1, "e4m3": 1, "e5m2": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4,
		"i64": 8, "u64": 8, "f64": 8,
	}
	for dtype, size := range bytesOf {
		t.Run(dtype, func(t *testing.T) {
			path := reduceBundle(t, func(m *bundle.Manifest, p *bundle.Parts) {
				m.Memory[0].DType, m.Memory[0].Dims, m.Memory[0].Name, m.Parameters[0].Name = dtype,
					[]int{2048 / size}, "x.0", "x.0"
				var x []byte
				for i := range 512 { // no infinity and no NaN, whatever they are taken for
					x = binary.LittleEndian.AppendUint32(x, math.Float32bits(float32(i%32)))
				}
				p.Before = map[string][]byte{"x.0": x}
			})
			var doc report.Init
			if code, errText := documentOf(t, &doc, "init", path); code != 0 {
				t.Fatalf("exit %d: %s", code, errText)
			}
			bundled, _, _ := runJSON(t, "run", path)
			same, code, errText := runJSON(t, "run", doc.Out, "--inputs", path)
			if code != 0 || same.Digest != bundled.Digest {
				t.Errorf("exit %d: digest %s, the bundle's %s: %s", code, same.Digest,
					bundled.Digest, errText)
			}
		})
	}
}

// TestInitBundleStages: the stages of attention are discovered in a bundle, by the parameters' names, and a
// run on its memory agrees on them.
func TestInitBundleStages(t *testing.T) {
	ptx, err := os.ReadFile(filepath.Join("..", "testdata", "registers", "attention_mma.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	m := bundle.Manifest{
		Origin: "ptx", Versions: map[string]string{},
		Entry:  string(regexp.MustCompile(`\.entry (\w+)`).FindSubmatch(ptx)[1]),
		Launch: bundle.Launch{Grid: [3]int{2, 2, 1}, Block: [3]int{32, 1, 1}, Cluster: [3]int{1, 1, 1}},
	}
	p := bundle.Parts{PTX: ptx, Before: map[string][]byte{}}
	for i, x := range []struct {
		name, dtype string
		rows        int
	}{{"query", "f16", 32}, {"key", "f16", 48}, {"value", "f16", 48}, {"out", "f32", 32}} {
		var content []byte
		for k := range 2 * x.rows * 16 {
			if x.name == "out" { // an allocator's zeros
				content = append(content, 0, 0, 0, 0)
				continue
			}
			content = binary.LittleEndian.AppendUint16(content, uint16(0x3000+(k*389+i*71)%0x0a00|k%2<<15))
		}
		m.Memory = append(m.Memory, bundle.Memory{
			Name: x.name, DType: x.dtype, Dims: []int{2, x.rows, 16},
			Before: []bundle.Range{{0, int64(len(content))}},
		})
		m.Parameters = append(m.Parameters, bundle.Parameter{
			Name: x.name, Value: strings.Repeat("00", 8), Pointers: []bundle.Pointer{{Memory: i}},
		})
		p.Before[x.name] = content
	}
	m.Parameters = append(m.Parameters, bundle.Parameter{Name: "Sq", Type: "i32", Value: "20000000"},
		bundle.Parameter{Name: "Sk", Type: "i32", Value: "30000000"})
	path := filepath.Join(t.TempDir(), "attention.tsl")
	var out bytes.Buffer
	if err := bundle.Write(&out, m, p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var doc report.Init
	if code, errText := documentOf(t, &doc, "init", path); code != 0 || len(doc.Notes) > 0 {
		t.Fatalf("exit %d: %q: %s", code, doc.Notes, errText)
	}
	text, _ := os.ReadFile(doc.Out)
	if !strings.Contains(string(text), "load: query") ||
		!strings.Contains(string(text), "name: out, type: \"f32*\", dims: [H, S, D], role: output}") {
		t.Errorf("it is:\n%s", text)
	}
	for _, more := range [][]string{nil, {"--inputs", path}} {
		run, code, errText := runJSON(t, append([]string{"run", doc.Out}, more...)...)
		judged := ""
		for _, st := range run.Stages {
			if st.Verdict == "ok" && st.NotCaptured == 0 {
				judged += st.Name
			}
		}
		if code != 0 || run.Verdict != report.Agree || judged != "SmlPUO" {
			t.Errorf("%v: exit %d, %s, judged %s: %s", more, code, run.Verdict, judged, errText)
		}
	}
}

// TestInitBundleRoles: what the host does with memory follows from what is in the bundle and from
// what the kernel does.
func TestInitBundleRoles(t *testing.T) {
	filled := reduceBundle(t, func(m *bundle.Manifest, p *bundle.Parts) {
		m.Memory[1].Before, p.Before["out"] = []bundle.Range{{0, 8}}, make([]byte, 8)
		m.Memory[0].Name, m.Parameters[0].Name, m.Parameters[2].Type = "x.1", "x.1", ""
		p.Before["x.1"] = p.Before["x"]
	})
	var doc report.Init
	if code, errText := documentOf(t, &doc, "init", filled); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	text, _ := os.ReadFile(doc.Out)
	for _, want := range []string{
		`role: inout, fill: "zeros"}`, "name: x_1,", "{name: n, type: u32, value: 512}",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// TestInitBundleViews: of memory that a manifest has otherwise than the bundle, the manifest says so; structs
// have the words of their bytes.
func TestInitBundleViews(t *testing.T) {
	packed := func(m *bundle.Manifest, p *bundle.Parts) {
		m.Memory = m.Memory[:1]
		m.Parameters[0].Pointers[0] = bundle.Pointer{Dims: []int{2, 128}, Strides: []int{256, 1}}
		m.Parameters[1].Pointers[0] = bundle.Pointer{Offset: 512, Dims: []int{2}, Strides: []int{256}}
	}
	for name, c := range map[string]struct {
		path string
		want []string
	}{
		"one memory": {reduceBundle(t, packed), []string{
			"# x is memory of several parameters; in the manifest each of them has its own.",
			`{name: x, type: "f32*", dims: [2, 128], role: inout, fill: randn, strides: [256, 1]}`,
			`{name: out, type: "f32*", dims: [2], role: inout, fill: randn, strides: [256]}`,
		}},
		"a struct": {
			rowsumBundle(t), []string{
				"type: struct{16}", `- {at: 0, name: packed, type: "f32*", dims: [2, 64], role: input, `,
				"- {at: 8, type: i32, value: ", "- {at: 12, type: i32, value: ",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var doc report.Init
			if code, errText := documentOf(t, &doc, "init", c.path); code != 0 {
				t.Fatalf("exit %d: %s", code, errText)
			}
			text, _ := os.ReadFile(doc.Out)
			for _, want := range c.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			if _, code, errText := runJSON(t, "run", doc.Out); code > 1 {
				t.Errorf("run: exit %d: %s", code, errText)
			}
		})
	}
}

// TestInitBundleRefusals: what a manifest cannot describe, and options of a launch, are refused,
// and nothing is left.
func TestInitBundleRefusals(t *testing.T) {
	plain := reduceBundle(t, nil)
	for name, c := range map[string]struct {
		path string
		more []string
		want string
	}{
		"no tensor": {
			reduceBundle(t, func(m *bundle.Manifest, _ *bundle.Parts) {
				m.Parameters[0].Pointers[0].Offset = 4
			}), nil,
			"parameter x leads to byte 4 of memory x, as no tensor",
		},
		"entry": {plain, []string{"--entry", "other"},
			"--entry: " + plain + " is a bundle, which has its launch"},
		"grid": {plain, []string{"--grid", "3"}, "--grid: " + plain + " is a bundle"},
		"set":  {plain, []string{"--set", "A"}, "--set: " + plain + " is a bundle"},
		"clusters": {
			reduceBundle(t, func(m *bundle.Manifest, _ *bundle.Parts) {
				m.Launch.Cluster = [3]int{3, 1, 1}
			}), nil,
			"--cluster 3,1,1: x is 3; expected 1 to 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, errText, code := call(t, append([]string{"init", c.path}, c.more...)...)
			if code != 2 || out != "" || !strings.Contains(errText, c.want) {
				t.Errorf("exit %d: %s%s", code, out, errText)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.path), "*.yaml")); left != nil {
				t.Errorf("it left %v", left)
			}
		})
	}
}
