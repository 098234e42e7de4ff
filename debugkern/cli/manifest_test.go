package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tilescope/kernels"
)

const manifestPath = "../../configs/kernels/sdpa_fp8_stage_c_wmma.yaml"

// ownManifest writes a copy of the family A manifest into a folder of its own, beside a PTX text: what a user
// with a kernel of their own has.
func ownManifest(t *testing.T, ptx []byte, edit func(string) string) string {
	t.Helper()
	text, err := os.ReadFile(manifestPath)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.Replace(string(text), "source: sdpa_fp8_stage_c_wmma.cu", "ptx: own.ptx", 1)
	if edit != nil {
		s = edit(s)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "own.yaml")
	for name, data := range map[string][]byte{path: []byte(s), filepath.Join(dir, "own.ptx"): ptx} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// stage2PTX returns the embedded PTX of stage2, built with more symbols.
func stage2PTX(t *testing.T, more ...string) []byte {
	t.Helper()
	return faultyPTX(t, nil, more...)
}

// faultyPTX is stage2PTX with faults planted.
func faultyPTX(t *testing.T, faults []string, more ...string) []byte {
	t.Helper()
	e, ok, err := kernels.Find(kernels.Key{
		Kernel: "sdpa_fp8_stage_c_wmma", Defines: append(more, "USE_CP_ASYNC=1", "USE_WMMA_PV=1"),
		Faults: faults,
	})
	if err != nil || !ok {
		t.Fatalf("embedded stage2: found %t, %v", ok, err)
	}
	return e.PTX
}

// TestOwnPTX runs the embedded kernel as if it were a user's: instrumented PTX beside a manifest.
func TestOwnPTX(t *testing.T) {
	path := ownManifest(t, stage2PTX(t, "TS_PROBES=1"), nil)
	rep, code, errText := runJSON(t, "run", path)
	if code != 0 || rep.Backend.Builder != "none" {
		t.Fatalf("exit %d, builder %s, %s: %s", code, rep.Backend.Builder, summary(rep), errText)
	}
	want, _, _ := runJSON(t, "run", "stage2")
	if rep.Digest != want.Digest {
		t.Errorf("digest %s, from the archive %s", rep.Digest, want.Digest)
	}
}

// TestMalformedPTX: what cannot be loaded is exit 4 with a document that names the place.
func TestMalformedPTX(t *testing.T) {
	whole := stage2PTX(t, "TS_PROBES=1")
	unmodelled := strings.Replace(string(whole), "bar.sync", "frobnicate.sync", 1)
	for _, c := range []struct{ name, text, want string }{
		{"truncated", string(whole[:len(whole)/2]), "own.ptx:"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\xff\xfe", "own.ptx:1"},
		{"empty", "", "own.ptx"},
		{"unmodelled", unmodelled, "frobnicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, code, errText := runJSON(t, "run", ownManifest(t, []byte(c.text), nil))
			if code != 4 || rep.Verdict != "failed" || rep.Error == nil || rep.Error.Source == nil {
				t.Fatalf("exit %d, error %+v, stderr %s", code, rep.Error, errText)
			}
			if !strings.Contains(rep.Error.Message, c.want) || !strings.Contains(errText, c.want) {
				t.Errorf("message %q does not name %q", rep.Error.Message, c.want)
			}
		})
	}
}

// TestManifestDisagreesWithPTX: a size the manifest has wrong is refused at load, by name.
func TestManifestDisagreesWithPTX(t *testing.T) {
	path := ownManifest(t, stage2PTX(t, "TS_PROBES=1"), func(s string) string {
		return strings.Replace(s, "{name: sS, type: f16,", "{name: sS, type: f32,", 1)
	})
	rep, code, _ := runJSON(t, "run", path)
	if code != 4 || rep.Error == nil || !strings.Contains(rep.Error.Message, "sS has 2048 bytes in the PTX") {
		t.Errorf("exit %d, %+v", code, rep.Error)
	}
}

// TestFiveMistakes: every mistake of a manifest is reported at once, each with file and line.
func TestFiveMistakes(t *testing.T) {
	path := ownManifest(t, nil, func(s string) string {
		for _, r := range [][2]string{
			{"title: fused", "titel: fused"}, {"grid: [ceil_div(S, TILE_M)", "grid: [ceil_dif(S, TILE_M)"},
			{"- {name: Qs, type: \"f32*\"", "- {name: Qs, type: \"f33*\""},
			{"default: stage2", "default: stage7"},
			{"  - name: S\n", "  - name: X\n"},
		} {
			if !strings.Contains(s, r[0]) {
				t.Fatalf("the manifest has no %q", r[0])
			}
			s = strings.Replace(s, r[0], r[1], 1)
		}
		return s
	})
	out, errText, code := call(t, "run", path)
	if code != 2 || out != "" {
		t.Fatalf("exit %d, %s", code, out)
	}
	located := regexp.MustCompile(`own\.yaml:\d+`).FindAllString(errText, -1)
	if len(located) < 5 {
		t.Errorf("%d located mistakes: %s", len(located), errText)
	}
	for _, want := range []string{"titel", "ceil_dif", "f33", "stage7", "X"} {
		if !strings.Contains(errText, want) {
			t.Errorf("%q is not named in: %s", want, errText)
		}
	}
}

// TestCaptureWithoutProbes takes every stage from shared memory, out of the plain build's PTX, and must
// see the same tiles.
func TestCaptureWithoutProbes(t *testing.T) {
	t.Parallel()
	lines := captureLines(t)
	path := ownManifest(t, stage2PTX(t), func(s string) string {
		for array, at := range lines {
			if array == "" {
				continue
			}
			old := fmt.Sprintf("    array: %s\n    capture: probe", array)
			if !strings.Contains(s, old) {
				t.Fatalf("the manifest has no stage in %s captured by a probe", array)
			}
			s = strings.Replace(s, old,
				fmt.Sprintf("    array: %s\n    capture: {shared: %s, at: {line: %d}, tile_at: {line: %d}}",
					array, array, at, lines[""]), 1)
		}
		return s
	})
	for _, shape := range []string{"validation", "partial49"} {
		rep, code, errText := runJSON(t, "run", path, "--shape", shape)
		want, _, _ := runJSON(t, "run", "stage2", "--shape", shape)
		if code != 0 || rep.Digest != want.Digest {
			t.Errorf("%s: exit %d, digest %.12s, by probes %.12s; %s %s", shape, code, rep.Digest,
				want.Digest, summary(rep), errText)
			for _, st := range rep.Stages {
				t.Logf("stage %s (%s): %s, %d tiles", st.Name, st.Probe, st.Verdict, st.Tiles)
			}
		}
	}
}

// captureLines finds, in the source, the barrier after which each array is complete (the line of the probe's
// barrier), and under "" a line that the kernel passes once a kv tile.
func captureLines(t *testing.T) map[string]int {
	t.Helper()
	src, ok := kernels.Source("sdpa_fp8_stage_c_wmma.cu")
	if !ok {
		t.Fatal("no embedded source")
	}
	barrier := map[string]string{
		"sQ": "// A", "sKT": "// A", "sV": "// A", "sS": "// B", "m_smem": "// C", "l_smem": "// C",
		"sP": "// C", "U_smem": "// D",
	}
	at := map[string]int{}
	for i, line := range strings.Split(string(src), "\n") {
		for array, mark := range barrier {
			if strings.HasSuffix(line, "__syncthreads();  "+mark) {
				at[array] = i + 1
			}
		}
		if strings.HasSuffix(line, "__syncthreads();  // A") {
			at[""] = i + 1
		}
	}
	if len(at) != len(barrier)+1 {
		t.Fatalf("barriers found: %v", at)
	}
	return at
}

// TestRenamedKernel gives a copy of a kernel other names throughout (entry, arguments, shared arrays, tile
// constants), beside a manifest that says so: the same tiles, the same line for a fault, and findings in the
// user's names. Nothing depends on a kernel being ours.
func TestRenamedKernel(t *testing.T) {
	t.Parallel()
	arrays := map[string]string{
		"sQ": "tileQuery", "sKT": "tileKey", "sV": "tileValue", "sS": "scores", "sP": "weights",
		"m_smem": "row_max", "l_smem": "row_sum", "U_smem": "acc", "sPV_frag": "patch", "sK_u8": "rawKey",
		"sV_u8": "rawValue",
	}
	symbol := regexp.MustCompile(`_ZZ21sdpa_fp8_stage_c_wmmaE\d+(\w+)`)
	renamed := func(ptx []byte) []byte {
		s := symbol.ReplaceAllStringFunc(string(ptx), func(old string) string {
			name := arrays[symbol.FindStringSubmatch(old)[1]]
			return fmt.Sprintf("_ZZ12my_attentionE%d%s", len(name), name)
		})
		return []byte(strings.ReplaceAll(s, "sdpa_fp8_stage_c_wmma(", "my_attention("))
	}
	manifest := func(s string) string {
		for old, name := range arrays {
			s = regexp.MustCompile(`\b(name|array|within): `+old+`\b`).ReplaceAllString(s, "$1: "+name)
		}
		s = strings.ReplaceAll(strings.ReplaceAll(s, "TILE_M", "BR"), "TILE_N", "BC")
		s = regexp.MustCompile(`name: (Q|K|V|O)(s?), type`).ReplaceAllString(s, "name: ptr_$1$2, type")
		s = strings.ReplaceAll(s, "{output: O}", "{output: ptr_O}")
		return strings.NewReplacer("name: sdpa_fp8_stage_c_wmma", "name: mine",
			"entry: sdpa_fp8_stage_c_wmma", "entry: my_attention",
			"{name: softmax_scale", "{name: factor").Replace(s)
	}
	for _, fault := range []string{"", "kt-ld"} {
		var faults []string
		args, ours := []string{"run"}, []string{"run", "stage2"}
		if fault != "" {
			faults = append(faults, fault)
			ours = append(ours, "--fault", fault)
		}
		path := ownManifest(t, renamed(faultyPTX(t, faults, "TS_PROBES=1")), manifest)
		got, code, errText := runJSON(t, append(args, path)...)
		want, wantCode, _ := runJSON(t, ours...)
		if code != wantCode || got.Digest != want.Digest || got.Verdict != want.Verdict {
			t.Fatalf("exit %d, %s; ours %d, %s: %s", code, summary(got), wantCode, summary(want), errText)
		}
		for i, f := range want.Findings {
			g := got.Findings[i]
			if g.Kind != f.Kind || g.Variable != arrays[f.Variable] || g.Source.Line != f.Source.Line {
				t.Errorf("finding %s on %s at line %d, ours %s on %s at %d", g.Kind, g.Variable,
					g.Source.Line, f.Kind, f.Variable, f.Source.Line)
			}
		}
		if fault != "" && len(got.Findings) == 0 {
			t.Error("an overrun without a finding")
		}
	}
}

// TestOperatorMistakes: what a stage cannot compute is refused when the manifest is read, at its line, before
// anything is built or run.
func TestOperatorMistakes(t *testing.T) {
	dir := filepath.Join("..", "testdata", "open")
	text, err := os.ReadFile(filepath.Join(dir, "linear.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own.yaml")
	for _, x := range []struct{ old, now, line, say string }{
		{"{cast: sum}", "{cost: sum}", "op:", "no operator among the keys cost"},
		{"{cast: sum}", "{cast: A}", "op.cast:", "it is 16×64, but cast makes 16×16"},
		{"{cast: sum}", "{map: x + y, x: sum}", "op.map:", `no operand "y"; it has x`},
		{"over: keys}", "transpose: right, over: keys}", "op.accumulate:", "products on the left"},
		{"at: [batch, head, key, 0], rows: 2, cols: 3, dims: [TILE, D]}]",
			"at: [key, 0], rows: 0, cols: 1, dims: [TILE, D]}]", "matmul[1].load:",
			"position of 2 dimensions, V has 4"},
	} {
		if !strings.Contains(string(text), x.old) {
			t.Fatalf("the manifest has no %s", x.old)
		}
		if err := os.WriteFile(own, []byte(strings.Replace(string(text), x.old, x.now, 1)),
			0o600); err != nil {
			t.Fatal(err)
		}
		out, errText, code := call(t, "run", own)
		if code != 2 || out != "" || !strings.Contains(errText, x.say) ||
			!strings.Contains(errText, x.line) ||
			len(regexp.MustCompile(`own\.yaml:\d+`).FindAllString(errText, -1)) != 1 {
			t.Errorf("%s: exit %d, %s", x.now, code, errText)
		}
	}
}
