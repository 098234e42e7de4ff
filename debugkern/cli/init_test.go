package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

func writeKernel(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInitRuns: of a kernel's PTX alone, with and without probes, comes a manifest that loads, runs, and judges the output.
func TestInitRuns(t *testing.T) {
	for name, defines := range map[string][]string{"plain": nil, "with-probes": {"TS_PROBES=1"}} {
		t.Run(name, func(t *testing.T) {
			file := writeKernel(t, name+".ptx", stage2PTX(t, defines...))
			var doc report.Init
			code, errText := documentOf(t, &doc, "init", file)
			if code != 0 || doc.Schema != report.InitSchema || doc.Entry != "sdpa_fp8_stage_c_wmma" {
				t.Fatalf("exit %d, %+v: %s", code, doc, errText)
			}
			text, err := os.ReadFile(doc.Out)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), "# ? "); n != len(doc.Unknown) || n < 10 {
				t.Errorf("%d marks, the document lists %d", n, len(doc.Unknown))
			}
			m, err := configs.LoadManifest(t.Context(), doc.Out)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(m.Args) != 12 || len(m.Shared) != 11 || m.Args[6].Tensor != "O" {
				t.Errorf("%d args, %d shared arrays", len(m.Args), len(m.Shared))
			}
			rep, code, errText := runJSON(t, "run", doc.Out, "--backend", "emu", "--shape", "small")
			if o := rep.Stage("O"); code != 0 || o == nil || o.Verdict != "ok" || o.Local.Cells == 0 || rep.Output == nil || rep.Output.Verdict != "ok" {
				t.Errorf("exit %d, %s: %s", code, summary(rep), errText)
			}
			if _, errText, code := call(t, "init", file); code != 2 || !strings.Contains(errText, "not overwritten") {
				t.Errorf("a second time: exit %d: %s", code, errText)
			}
			if again, _ := os.ReadFile(doc.Out); string(again) != string(text) {
				t.Error("the manifest was changed")
			}
		})
	}
}

// TestInitSource: a .cu has names, so that nothing about the arguments is left open; without a compiler it is exit 3.
func TestInitSource(t *testing.T) {
	src, ok := kernels.Source("sdpa_fp8_stage_c_wmma.cu")
	if !ok {
		t.Fatal("no embedded source")
	}
	var doc report.Init
	file := writeKernel(t, "mine.cu", src)
	copyHeaders(t, filepath.Dir(file))
	code, errText := documentOf(t, &doc, "init", file)
	if code == 3 && strings.Contains(errText, "NVRTC") {
		t.Skip("no NVRTC on this machine; the exit code is right")
	}
	if code != 0 || strings.Contains(strings.Join(doc.Unknown, " "), "args[") {
		t.Fatalf("exit %d, unknown %v: %s", code, doc.Unknown, errText)
	}
	m, err := configs.LoadManifest(t.Context(), doc.Out)
	if err != nil || m.Source != "mine.cu" || m.Args[3].Name != "Qs" {
		t.Errorf("%+v, %v", m, err)
	}
}

const twoEntries = `.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry first(.param .u32 n) { ret; }
.visible .entry _Z6secondPf(.param .u64 x) .reqntid 64, 2, 1 { .reg .b64 %a; mov.u64 %a, room; ret; }
`

func TestInitEntries(t *testing.T) {
	file := writeKernel(t, "two.ptx", []byte(twoEntries))
	out, errText, code := call(t, "init", file)
	if code != 0 || !strings.Contains(out, "2 entries, this is the first; the others: _Z6secondPf") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	other := filepath.Join(filepath.Dir(file), "second.yaml")
	if _, errText, code := call(t, "init", file, "--entry", "second", "--out", other); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	m, err := os.ReadFile(other)
	for _, want := range []string{"entry: _Z6secondPf", "block: [64, 2, 1]\n", "shared: 49152   # ?", "role: scratch}   # ?", `ptx: "two.ptx"`, "No parameter looks like the output"} {
		if err != nil || !strings.Contains(string(m), want) {
			t.Errorf("%q is missing (%v) in:\n%s", want, err, m)
		}
	}
}

func TestInitBadInput(t *testing.T) {
	good := writeKernel(t, "good.ptx", stage2PTX(t))
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no file", []string{"init"}, 2, "one FILE"},
		{"missing", []string{"init", filepath.Join(t.TempDir(), "none.ptx")}, 2, "none.ptx"},
		{"another kind", []string{"init", writeKernel(t, "kernel.txt", []byte("x"))}, 2, ".ptx or a .cu"},
		{"no such entry", []string{"init", good, "--entry", "other"}, 2, "sdpa_fp8_stage_c_wmma"},
		{"no directory", []string{"init", good, "--out", filepath.Join(t.TempDir(), "no", "dir.yaml")}, 2, "no directory"},
		{"no kernel", []string{"init", writeKernel(t, "none.ptx", []byte(".version 7.0\n.target sm_80\n.address_size 64\n"))}, 2, "no kernel"},
		{"malformed", []string{"init", writeKernel(t, "bad.ptx", []byte("not ptx"))}, 4, "bad.ptx:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errText, code := call(t, c.args...)
			if code != c.code || out != "" || !strings.Contains(errText, c.want) {
				t.Errorf("exit %d, want %d naming %q: %s%s", code, c.code, c.want, out, errText)
			}
			if m, _ := filepath.Glob(filepath.Join(filepath.Dir(c.args[len(c.args)-1]), "*.yaml")); len(m) > 0 {
				t.Errorf("a refused init left %v", m)
			}
		})
	}
	var doc report.Init
	if code, _ := documentOf(t, &doc, "init", writeKernel(t, "bad.ptx", []byte("not ptx"))); code != 4 || doc.Error == nil || doc.Error.Source == nil || doc.Error.Source.Line != 1 {
		t.Errorf("exit %d, error %+v", code, doc.Error)
	}
}
