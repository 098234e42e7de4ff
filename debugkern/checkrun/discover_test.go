package checkrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/kernels"
	"tilescope/probes"
)

// discoverCase is a launch of a kernel, as PTX without names.
type discoverCase struct {
	name        string
	archive     string // of the archive, else file
	defines     []string
	file        string
	edit        func(string) string
	grid, block probes.Dim3
	shared      int
	args        []string
}

func half(dims string) []string {
	return []string{
		"randn:f16[" + dims + "]", "randn:f16[" + dims + "]", "randn:f16[" + dims + "]",
		"unwritten:f16[" + dims + "]",
	}
}

func (c *discoverCase) text(t testing.TB) string {
	t.Helper()
	var text string
	if c.archive != "" {
		e, ok, err := kernels.Find(kernels.Key{Kernel: c.archive, Defines: c.defines})
		if err != nil || !ok {
			t.Fatalf("archive: %s: %v, %v", c.archive, ok, err)
		}
		text = string(e.PTX)
	} else {
		b, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	if c.edit == nil {
		return text
	}
	edited := c.edit(text)
	if edited == text {
		t.Fatalf("%s: the edit changes nothing", c.name)
	}
	return edited
}

// discovered writes the kernel's PTX and the manifest of what is discovered in it into a folder.
func (c *discoverCase) discovered(t testing.TB, s *debugkern.Session) (*report.Init, string) {
	t.Helper()
	dir := t.TempDir()
	ptx, out := filepath.Join(dir, c.name+".ptx"), filepath.Join(dir, c.name+".yaml")
	if err := os.WriteFile(ptx, []byte(c.text(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	req := Request{File: ptx, Grid: c.grid, Block: c.block, Cluster: probes.Dim3{1, 1, 1}, Shared: c.shared}
	for i, a := range c.args {
		name, value, named := strings.Cut(a, "=")
		if !named {
			name, value = string(rune('0'+i)), a
		}
		req.Args = append(req.Args, Argument{Name: name, Value: value})
	}
	doc, err := Discover(context.Background(), s, req, scaffold.Request{File: ptx, Out: out})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if err := os.WriteFile(out, []byte(doc.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	return doc, out
}

func discoverSession(t testing.TB) *debugkern.Session {
	t.Helper()
	s, err := debugkern.Open(context.Background(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

const corpusDir = "../cli/corpus/testdata"

var discoverCases = []struct {
	discoverCase
	stages string // that are captured, in order
	text   []string
}{
	{
		discoverCase{
			name: "attention_mma", file: "../testdata/registers/attention_mma.ptx",
			grid: probes.Dim3{2, 2, 1}, block: probes.Dim3{32, 1, 1},
			args: []string{
				"randn:f16[2,32,16]", "randn:f16[2,48,16]", "randn:f16[2,48,16]", "unwritten:f32[2,32,16]",
				"32", "48",
			},
		}, "SmlPUO",
		[]string{"scale: 1 / sqrt(D)", "query: 16 * bx", "key: kv * 16", "tiles: 3", "of: a"},
	},
	{
		discoverCase{
			name: "triton_attention", file: corpusDir + "/triton_attention.ptx", grid: probes.Dim3{2, 2, 1},
			block: probes.Dim3{64, 1, 1}, shared: 6144,
			args: append(half("2,48,32"), "0.17677669", "48", "null", "null"),
		}, "SmlPUO",
		[]string{"role: scale"},
	},
	{
		discoverCase{
			name: "flashcore_vec", archive: "flashcore_vec", grid: probes.Dim3{4, 4, 1},
			block: probes.Dim3{128, 1, 1},
			args:  append(half("1,4,128,64"), "1", "4", "128", "64", "0.125"),
		}, "SmlPUO",
		[]string{"register:"},
	},
	{
		discoverCase{
			name: "flashcore_fused_wmma", archive: "flashcore_fused_wmma", grid: probes.Dim3{4, 4, 1},
			block: probes.Dim3{128, 1, 1},
			args:  append(half("1,4,128,64"), "1", "4", "128", "64", "0.125"),
		}, "SmlPO",
		[]string{"# not found: accumulator: no register holds its values, and nothing else"},
	},
	{
		discoverCase{
			name: "attention_gqa", archive: "attention_gqa", grid: probes.Dim3{2, 6, 2},
			block: probes.Dim3{128, 1, 1},
			args: []string{
				"randn:f16[2,6,64,64]", "randn:f16[2,3,96,64]", "randn:f16[2,3,96,64]",
				"unwritten:f16[2,6,64,64]", "6", "3", "64", "96", "0.125",
			},
		}, "SmlPUO",
		[]string{
			"load: K, at: [bz, \"div(by, 2)\", kv * 32, 0]",
			"validation: {B: 2, H: 6, S: 64, D: 64, Hkv: 3, Skv: 96}",
		},
	},
	{
		discoverCase{
			name: "attention_gqa_causal", archive: "attention_gqa", defines: []string{"USE_CAUSAL=1"},
			grid: probes.Dim3{2, 6, 2}, block: probes.Dim3{128, 1, 1},
			args: []string{
				"randn:f16[2,6,64,64]", "randn:f16[2,3,96,64]", "randn:f16[2,3,96,64]",
				"unwritten:f16[2,6,64,64]", "6", "3", "64", "96", "0.125",
			},
		}, "",
		[]string{"mask: [key + c <= query + r + 32]"},
	},
	{
		discoverCase{
			name: "attention_causal", archive: "attention_causal", grid: probes.Dim3{4, 4, 1},
			block: probes.Dim3{128, 1, 1},
			args:  append(half("1,4,128,64"), "4", "128", "0.125"),
		}, "SlUO",
		[]string{"tiles: 2 * bx + 2", "mask: [key + c <= query + r]", "# not found: maximum: registers hold"},
	},
	{ // operands by tensor copies, products by wgmma
		discoverCase{
			name: "stage5_hopper", archive: "stage5_hopper",
			defines: []string{"PING_PONG=1", "STAGES=2", "SWIZZLE=128"}, grid: probes.Dim3{2, 2, 1},
			block: probes.Dim3{384, 1, 1}, shared: 49224,
			args: []string{
				hopperMap("q", 128), hopperMap("k", 64), hopperMap("v", 64), "unwritten:f16[1,2,200,64]",
				"200", "0.125", "q=randn:f16[2,200,64]", "k=randn:f16[2,200,64]", "v=randn:f16[2,200,64]",
			},
		}, "SmlPUO",
		[]string{"query: 128 * bx", "tiles: 4", "of: a", "block: 16"},
	},
}

// hopperMap is a tensor map of stage5_hopper.
func hopperMap(of string, rows int) string {
	return fmt.Sprintf("tensormap{of: %s, dims: [2, 200, 64], box: [1, %d, 64], swizzle: 128B}", of, rows)
}

// TestDiscover: the stages of kernels that nobody described come out with no line written by hand, and a run
// of the manifest agrees on them.
func TestDiscover(t *testing.T) {
	s := discoverSession(t)
	for _, c := range discoverCases {
		t.Run(c.name, func(t *testing.T) {
			doc, out := c.discovered(t, s)
			for _, want := range c.text {
				if !strings.Contains(doc.Text, want) {
					t.Errorf("the manifest has no %q:\n%s", want, doc.Text)
				}
			}
			run, err := s.Run(context.Background(), debugkern.Request{Target: out, Backend: "emu"}, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, doc.Text)
			}
			if run.Report.Verdict != report.Agree || len(run.Report.Findings) > 0 {
				t.Errorf("verdict %s, guilty %+v, findings %+v", run.Report.Verdict, run.Report.Guilty,
					run.Report.Findings)
			}
			got := ""
			for _, st := range run.Report.Stages {
				if st.Verdict == "ok" && st.NotCaptured == 0 {
					got += st.Name
				}
			}
			if c.stages != "" && got != c.stages {
				t.Errorf("judged %s, want %s\n%s", got, c.stages, doc.Text)
			}
		})
	}
}

// TestDiscoverNothingFalse: what a wrong kernel does not compute is no stage of it, and the reason is there;
// what it computes stays one.
func TestDiscoverNothingFalse(t *testing.T) {
	s := discoverSession(t)
	for _, c := range []struct {
		what, old, by string
		gone          []string // roles that are not found
		stay          string   // stages that still are, and agree
	}{
		{"l is not rescaled", "mul.rn.f32 	%f125, %f108, %f183;", "mov.f32 	%f125, %f183;",
			[]string{"sum:", "result:"}, "SmPU"},
		{"half of U is not rescaled", "mul.rn.f32 	%f181, %f141, %f181;", "",
			[]string{"accumulator:", "result:"}, "SmlP"},
		{"half of the maximum is not exchanged", "max.f32 	%f13, %f104, %f105;",
			"mov.f32 	%f13, %f104;", nil, ""},
		{"weights of two keys are exchanged", "cvt.rn.f16x2.f32 %r81, %f74, %f73;",
			"cvt.rn.f16x2.f32 %r81, %f73, %f74;", nil, ""},
	} {
		k := discoverCases[0].discoverCase
		k.edit = func(text string) string { return strings.Replace(text, c.old, c.by, 1) }
		doc, out := k.discovered(t, s)
		for _, g := range c.gone {
			if !strings.Contains(doc.Text, "# not found: "+g) {
				t.Errorf("%s: found all of %s", c.what, g)
			}
		}
		if c.gone == nil && !strings.Contains(doc.Text, "not found: ") &&
			!strings.Contains(doc.Text, "no stages") {
			run, err := s.Run(context.Background(), debugkern.Request{Target: out, Backend: "emu"}, nil)
			if err != nil || run.Report.Verdict == report.Agree {
				t.Errorf("%s: everything is found, and agrees (%v)\n%s", c.what, err, doc.Text)
			}
			continue
		}
		if c.stay == "" {
			continue
		}
		run, err := s.Run(context.Background(), debugkern.Request{Target: out, Backend: "emu"}, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		for _, name := range c.stay {
			if st := run.Report.Stage(string(name)); st == nil || st.Verdict != "ok" {
				t.Errorf("%s: stage %c is %+v", c.what, name, st)
			}
		}
	}
}

// TestDiscoverOthers: kernels that compute something else have no stage of attention, and a
// manifest that runs.
func TestDiscoverOthers(t *testing.T) {
	s := discoverSession(t)
	for _, c := range []struct {
		discoverCase
		why string
	}{
		{
			discoverCase{
				name: "softmax_row", archive: "softmax_row", defines: []string{"TS_X=9", "TS_Y=10"},
				grid: probes.Dim3{2, 1, 1}, block: probes.Dim3{128, 1, 1},
			}, "no exponential of a product",
		},
		{
			discoverCase{
				name: "gemm_wmma", archive: "gemm_wmma",
				defines: []string{"TS_A=9", "TS_ACC=11", "TS_B=10", "TS_C=13", "TS_PRE=12"},
				grid:    probes.Dim3{2, 2, 1}, block: probes.Dim3{128, 1, 1},
			}, "no exponential of a product",
		},
	} {
		c.args = otherArgs[c.name]
		if c.args == nil {
			t.Fatalf("%s has no arguments", c.name)
		}
		doc, out := c.discovered(t, s)
		if !strings.Contains(doc.Text, "no stages of attention were discovered: "+c.why) ||
			strings.Contains(doc.Text, "stages:") {
			t.Errorf("%s:\n%s", c.name, doc.Text)
		}
		if _, err := s.Run(context.Background(), debugkern.Request{Target: out, Backend: "emu"},
			nil); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, doc.Text)
		}
	}
}

// otherArgs are arguments of kernels that are no attention.
var otherArgs = map[string][]string{
	"softmax_row": {"randn:f32[64,128]", "unwritten:f32[64,128]", "64", "128"},
	"gemm_wmma": {"randn:f16[64,64]", "randn:f16[64,64]", "randn:f32[64]", "unwritten:f16[64,64]",
		"64", "64", "64"},
}

// BenchmarkDiscover is what discovery costs on the shape validation: one launch, one block
// recorded and interpreted.
func BenchmarkDiscover(b *testing.B) {
	s := discoverSession(b)
	c := discoverCases[2].discoverCase
	for b.Loop() {
		c.discovered(b, s)
	}
}
