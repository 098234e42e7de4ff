package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// documentOf runs a command with --json and decodes its document into doc.
func documentOf(t *testing.T, doc any, args ...string) (code int, errText string) {
	t.Helper()
	out, errText, code := call(t, append(args, "--json")...)
	if out != "" {
		if err := json.Unmarshal([]byte(out), doc); err != nil {
			t.Fatalf("%v: standard output is not one document: %v\n%s", args, err, out)
		}
	}
	return code, errText
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		args  string
		code  int
		first string
		same  string // stages that must be equal
	}{
		{"stage2 stage2", 0, "", "Q K V S m l P U O"},
		{"scalar stage1", 0, "", "Q K V S m l P U O"},
		{"stage1 stage2", 1, "U", "Q K V S m l P"},
		{"stage1 stage2 --stages Q,S,P", 0, "", "Q S P"},
		{"stage2 stage2 --fault p-stale-m", 1, "P", "Q K V S m l"},
		{"stage2 stage2 --fault-a p-stale-m", 1, "P", "Q K V S m l"},
		{"stage2 stage2 --fault-a v-midpoint --fault v-midpoint", 0, "", "Q K V S m l P U O"},
		{"stage2 stage2 --set USE_WMMA_PV=0", 1, "U", "S P"},
		{"stage1 stage2 --set-a USE_WMMA_PV", 0, "", "U O"},
		{"stage1 stage2 --gate qk", 0, "", "Q K S"},
		{"stage2 stage2 --gate pv --fault u-no-rescale", 1, "U", "V"},
		{"stage2 stage2 --shape partial49 --fault mask-missing --blocks 0,0,0", 1, "l", "Q K V S"},
		{"scalar stage1 --shape 1,1,40,64 --seed 7 --tiles 1-1", 0, "", "S P"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var doc report.Comparison
			code, errText := documentOf(t, &doc, append([]string{"compare", "--backend", "emu"},
				strings.Fields(c.args)...)...)
			if code != c.code || doc.First != c.first || doc.Schema != report.CompareSchema {
				t.Fatalf("exit %d, first %q, schema %q: %s", code, doc.First, doc.Schema, errText)
			}
			verdicts := map[string]report.StageComparison{}
			for _, s := range doc.Stages {
				verdicts[s.Name] = s
				if s.Tiles == 0 || s.Cells == 0 || (s.Differing > 0) != (s.First != nil) ||
					(s.Differing > 0) != (s.Verdict == report.Differ) {
					t.Errorf("stage %s: %+v", s.Name, s)
				}
			}
			for name := range strings.FieldsSeq(c.same) {
				if verdicts[name].Verdict != report.Equal {
					t.Errorf("stage %s: %+v", name, verdicts[name])
				}
			}
			gated := strings.Contains(c.args, "--gate") || strings.Contains(c.args, "--stages")
			if (doc.Output == nil) != gated {
				t.Errorf("output %+v", doc.Output)
			}
		})
	}
}

// TestCompareOwnManifest: a stage that only one of them has is named, and a kernel that does not load
// is a failed document.
func TestCompareOwnManifest(t *testing.T) {
	t.Parallel()
	ptx := stage2PTX(t, "TS_PROBES=1")
	own := ownManifest(t, ptx, func(s string) string {
		return strings.Replace(s, "    array: sS\n    capture: probe", "    array: sS\n    capture: none", 1)
	})
	var doc report.Comparison
	if code, errText := documentOf(t, &doc, "compare", own, "stage2", "--backend", "emu"); code != 0 ||
		len(doc.OnlyB) != 1 || doc.OnlyB[0] != "S" || len(doc.OnlyA) != 0 {
		t.Errorf("exit %d, only A %v, only B %v: %s", code, doc.OnlyA, doc.OnlyB, errText)
	}
	broken := ownManifest(t, ptx[:len(ptx)/2], nil)
	doc = report.Comparison{}
	code, errText := documentOf(t, &doc, "compare", "stage2", broken, "--backend", "emu")
	if code != 4 || doc.Verdict != report.Failed || doc.Error == nil || doc.Error.Side != "b" ||
		!strings.Contains(errText, "own.ptx:") {
		t.Errorf("exit %d, error %+v: %s", code, doc.Error, errText)
	}
}

func TestCompareText(t *testing.T) {
	out, _, code := call(t, "compare", "stage2", "stage2", "--fault", "kt-ld", "--shape", "small",
		"--backend", "emu")
	for _, want := range []string{
		"stage2 against stage2 with kt-ld", "differ: stage S first", "block 0,0,0 kv tile 0 cell",
		"block 0,0,0 cell (0,0): ", // of O a block has one tile
	} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d; %q is missing in:\n%s", code, want, out)
		}
	}
}

func TestPairBadInput(t *testing.T) {
	own := ownManifest(t, stage2PTX(t, "TS_PROBES=1"), func(s string) string {
		return strings.Replace(s, "  validation: [1, 4, 128, 64]", "  validation: [1, 2, 64, 64]", 1)
	})
	for _, c := range []struct{ name, args, want string }{
		{"one target", "compare stage2", "two targets"},
		{"unknown target", "compare stage2 stage22", "stage2"},
		{"unknown fault of A", "compare stage2 stage2 --fault-a kt-lda", "kt-ld"},
		{"dump", "compare stage1 stage2 --dump x.npz", "tilescope run"},
		{"two gates", "compare stage1 stage2 --set-a DEBUG_QK_ONLY --gate pv", "cannot be combined"},
		{"shape by name", "compare stage2 " + own, "--shape B,H,S,D"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errText, code := call(t, strings.Fields(c.args)...)
			if code != 2 || out != "" || !strings.Contains(errText, c.want) {
				t.Errorf("exit %d, want 2 naming %q: %s%s", code, c.want, out, errText)
			}
		})
	}
}

// TestCompareTolerance: cells that differ in their bits and not by more than a tolerance are within it, which
// is exit code 0; the first cell is the first beyond it.
func TestCompareTolerance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args    string
		code    int
		verdict string
	}{
		{"stage1 stage2", 1, report.Differ}, {"stage1 stage2 --rtol 1e-2 --atol 1e-3", 0, report.Within},
		{"stage1 stage2 --atol 1e-3", 0, report.Within}, {"stage1 stage2 --rtol 1e-5", 1, report.Differ},
		{"stage1 stage2 --rtol 0", 1, report.Differ},
		{"stage1 stage2 --stages Q,S --rtol 0", 0, report.Equal},
		{"gemm_wmma gemm_wmma --atol 1e-9", 0, report.Equal},
	} {
		var doc report.Comparison
		code, errText := documentOf(t, &doc, append([]string{"compare", "--backend", "emu"},
			strings.Fields(c.args)...)...)
		if code != c.code || doc.Verdict != c.verdict ||
			(doc.Tolerance == nil) != !strings.Contains(c.args, "tol") ||
			(doc.First != "") != (c.verdict == report.Differ) {
			t.Errorf("%s: exit %d, %s, first %q: %s", c.args, code, doc.Verdict, doc.First, errText)
		}
		for _, s := range doc.Stages {
			if s.Beyond > s.Differing || (s.First != nil) != (s.Beyond > 0) ||
				(s.Verdict == report.Within) != (s.Differing > 0 && s.Beyond == 0) ||
				doc.Tolerance == nil && s.Beyond != s.Differing {
				t.Errorf("%s: %+v", c.args, s)
			}
		}
	}
	out, _, code := call(t, "compare", "stage1", "stage2", "--atol", "1e-3", "--backend", "emu")
	if code != 0 || !strings.Contains(out, "seed 0: within rtol 0, atol 0.001") ||
		!strings.Contains(out, "beyond") {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, bad := range []string{"-1", "NaN", "Inf", "small", ""} {
		for _, name := range []string{"--rtol", "--atol"} {
			if _, errText, code := call(t, "compare", "stage1", "stage2", name+"="+bad); code != 2 ||
				errText == "" {
				t.Errorf("%s=%s: exit %d: %s", name, bad, code, errText)
			}
		}
	}
}

// TestCompareArguments: of kernels without stages the arguments are compared, and an element is named by its
// index; an output of a kernel whose dimensions are no attention's too.
func TestCompareArguments(t *testing.T) {
	f := newTwice(t)
	f.manifest("a.yaml", "", "", "")
	ptx, err := os.ReadFile(f.path("twice.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	// one ulp above 2
	f.put("other.ptx",
		[]byte(strings.Replace(string(ptx), "add.rn.f32 %f2, %f1, %f1;",
			"mul.rn.f32 %f2, %f1, 0f40000001;", 1)))
	f.put("b.yaml", []byte(strings.Replace(f.text, "twice.ptx", "other.ptx", 1)))
	out, errText, code := call(t, "compare", f.path("a.yaml"), f.path("b.yaml"), "--backend", "emu")
	if code != 1 || !strings.Contains(out, "differ: stage y first") ||
		!strings.Contains(out, "element [0,0]: ") || !strings.Contains(out, "c      equal") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	if out, errText, code = call(t, "compare", f.path("a.yaml"), f.path("b.yaml"), "--backend", "emu",
		"--rtol", "1e-6"); code != 0 || !strings.Contains(out, "within rtol 1e-06") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	f.put("flat.yaml",
		[]byte(strings.Replace(f.text, `"f32*", dims: [4, 16], role: output`,
			`"f32*", dims: [64], role: output`, 1)))
	if out, errText, code = call(t, "compare", f.path("a.yaml"), f.path("flat.yaml"), "--backend",
		"emu"); code != 0 || !strings.Contains(out, "not compared") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	if out, _, code = call(t, "compare", "gemm_wmma", "gemm_wmma", "--fault", "bias-missing", "--backend",
		"emu"); code != 1 || !strings.Contains(out, "element [0,") {
		t.Errorf("exit %d: %s", code, out)
	}
}
