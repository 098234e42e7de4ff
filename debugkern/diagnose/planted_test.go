package diagnose_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// sound fails where a diagnosis of a kernel with one wrong edit says something that is not so: more than one
// cause, a cause of nothing, or an advised change that a what-if at the same place does not confirm.
func sound(t *testing.T, d *diagnose.Diagnosis) {
	t.Helper()
	story := strings.Join(d.Story, "\n")
	if len(d.Causes) != 1 || d.ExitCode() != 1 {
		t.Errorf("%d causes, exit %d:\n%s", len(d.Causes), d.ExitCode(), story)
	}
	for i := range d.Causes {
		c := &d.Causes[i]
		explains := len(c.Findings) > 0 || c.Kind == "table"
		for _, name := range c.Stages {
			st := d.Stage(name)
			explains = explains || st != nil && st.Local.Bad+st.Local.Nonfinite > 0
		}
		if !explains || strings.Contains(strings.Join(c.Proof, "\n"), ": 0 of ") {
			t.Errorf("the cause of nothing: %s\n%s", c.Title, strings.Join(c.Proof, "\n"))
		}
		confirmed(t, d, c)
	}
}

// advised are the first words of an advice that is a change of synchronisation.
var advised = regexp.MustCompile(`^(put|wait for|move) `)

// confirmed fails unless a what-if of a cause's finding does what the cause advises, in the same words,
// with the same outcome.
func confirmed(t *testing.T, d *diagnose.Diagnosis, c *diagnose.Cause) {
	t.Helper()
	if !advised.MatchString(c.Advice) {
		return
	}
	a, err := diagnose.WhatIf(t.Context(), d.Executed, &d.Findings[c.Finding])
	if err != nil {
		t.Errorf("%s: advised, and no what-if: %v", c.Advice, err)
		return
	}
	proof := strings.Join(c.Proof, "\n")
	put, isPut := strings.CutPrefix(c.Advice, "put ")
	put, _, _ = strings.Cut(put, ": the barrier of line ") // the barrier that stands there under a condition
	put = regexp.MustCompile(` of \S+\.cuh?$`).ReplaceAllString(put, "")
	if !a.Gone || !strings.Contains(proof, a.What) || isPut && a.What != "with "+put {
		t.Errorf("advised %q, what-if tried %q (gone: %v)\n%s", c.Advice, a.What, a.Gone, proof)
	}
	before, after := a.Outcome.Before.Report, a.Outcome.After.Report
	if right := strings.HasSuffix(c.Alone, "nothing is wrong"); right !=
		(after.Verdict == report.Agree && len(a.Outcome.Left)+len(a.Outcome.New) == 0) {
		t.Errorf("the story says %q, the what-if:\n%s", c.Alone, strings.Join(a.Lines(), "\n"))
	}
	was, now := before.Stage("O"), after.Stage("O")
	if was != nil && now != nil && now.Global.Bad > was.Global.Bad {
		t.Errorf("advised, and O gets worse: %s\n%s", c.Advice, strings.Join(a.Lines(), "\n"))
	}
}

// One wrong instruction is one cause, whatever it shows at; what is advised is what a what-if confirms.
func TestPlantedInstructionIsOneCause(t *testing.T) {
	stage2 := []string{"TS_PROBES=1", "USE_CP_ASYNC=1", "USE_WMMA_PV=1"}
	for i, c := range []struct {
		name, kernel string
		defines      []string
		shape        string
		from, to     string // regular expression in the PTX, and what takes the place of its first match
		says         string // somewhere in the story
	}{
		{"the first rows of every warp initialised", "sdpa_fp8_stage_c_wmma", stage2, "small",
			`add\.s32 \t(%r\d+), %r\d+, (%r\d+);(\n\tmul\.wide\.u32 \t%rd\d+, %r\d+, 4;\n\tmov\.u64 \t%rd\d+, \w+6m_smem;)`,
			"mov.u32 \t$1, $2;$3", "uninitialised on m_smem"},
		{"the store of S too narrow", "sdpa_fp8_stage_c_wmma", stage2, "small",
			`(wmma\.store\.d\.sync\.aligned\.row\.m16n16k16\.shared\.f16 \t[^;]*), %r\d+;`, "$1, 24;",
			"a leading dimension of 32 in place of 24"},
		{"no barrier before the probes of P", "flashcore_vec", []string{"TS_PROBES=1"}, "partial49", "", "",
			"put __syncthreads()"},
		{"two rows of S stored as one", "flashcore_vec", []string{"TS_PROBES=1"}, "small",
			`(st\.shared\.f32 \t\[%rd\d+)\+128\]`, "$1]", "uninitialised on sS"},
		{"K read one row further", "flashcore_vec", []string{"TS_PROBES=1"}, "small",
			`(ld\.shared\.v4\.u32 \t[^;]*)\+-16\]`, "$1+4480]", "out-of-bounds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn(t, i, 5)
			t.Parallel()
			edit := func(text string) string {
				if c.from == "" {
					bars := regexp.MustCompile(`\tbar\.sync[^\n]*\n`).FindAllStringIndex(text, -1)
					at := bars[len(bars)-2] // C: that of P
					return text[:at[0]] + text[at[1]:]
				}
				re := regexp.MustCompile(c.from)
				m := re.FindStringSubmatchIndex(text)
				if m == nil {
					t.Fatalf("the PTX has no %s", c.from)
				}
				return text[:m[0]] + string(re.ExpandString(nil, c.to, text, m)) + text[m[1]:]
			}
			d := run(t, plantedPTX(t, c.kernel, c.defines, edit), c.shape)
			sound(t, d)
			if story := strings.Join(d.Story, "\n"); !strings.Contains(story, c.says) {
				t.Errorf("the story does not say %q:\n%s", c.says, story)
			}
		})
	}
}

// plantedPTX writes an embedded kernel as somebody's own, its PTX edited, and returns the manifest's path.
func plantedPTX(t *testing.T, kernel string, defines []string, edit func(string) string) string {
	t.Helper()
	manifest, err := os.ReadFile("../../configs/kernels/" + kernel + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, ok, err := kernels.Find(kernels.Key{Kernel: kernel, Defines: defines})
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "own.yaml")
	manifest = regexp.MustCompile(`(?m)^source: .*$`).ReplaceAll(manifest, []byte("ptx: own.ptx"))
	if err := errors.Join(os.WriteFile(path, manifest, 0o600),
		os.WriteFile(filepath.Join(dir, "own.ptx"), []byte(edit(string(e.PTX))), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a diagnosis advises and what a what-if of the same finding tries are one change, for every fault
// whose cause advises one.
func TestWhatIfConfirmsAdvice(t *testing.T) {
	for _, c := range []struct{ target, fault, shape string }{
		{"stage2", "sync-s", "small"}, {"stage2", "sync-p", "small"}, {"stage2", "sync-kv", "partial49"},
		{"stage2", "sync-frag", "small"}, {"stage2", "cp-async-wait", "partial49"},
		{"stage2", "barrier-divergent", "partial"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			d := run(t, c.target, c.shape, c.fault)
			if len(d.Causes) != 1 || !advised.MatchString(d.Causes[0].Advice) {
				t.Fatalf("no change is advised:\n%s", strings.Join(d.Story, "\n"))
			}
			confirmed(t, d, &d.Causes[0])
		})
	}
}

// A remedy that leaves the NaN where it was does not take its origin away: the origin is
// followed in trials too.
func TestRemedyDoesNotCureNaN(t *testing.T) {
	d := run(t, withoutFragmentSync(t, "nan-first-tile"), "partial49")
	story := strings.Join(d.Story, "\n")
	if len(d.Causes) != 2 || d.Causes[0].Kind != "nan-origin" || d.Causes[1].Kind != "race" ||
		!d.Causes[1].AlsoFound {
		t.Fatalf("want the origin of NaN, and a race that explains nothing:\n%s", story)
	}
	nan, race := &d.Causes[0], &d.Causes[1]
	if nan.ShareText() != "100 %" || !slices.Contains(nan.Stages, "U") {
		t.Errorf("%s: %s of the error, spoils %v", nan.Title, nan.ShareText(), nan.Stages)
	}
	for _, i := range race.Findings {
		if d.Findings[i].Kind == "nan-origin" {
			t.Errorf("the race's remedy is said to take the NaN away:\n%s", strings.Join(race.Proof, "\n"))
		}
	}
	if !strings.Contains(race.Alone, "still found: nan-origin") &&
		!strings.Contains(race.Alone, "still wrong") {
		t.Errorf("alone: %s", race.Alone)
	}
}

// A stage that is wrong only because the reference stands in for one before it that was not captured is
// no cause of its own.
func TestNotCapturedIsNoCause(t *testing.T) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for stages, want := range map[string]string{
		"S,U,O": "arithmetic of stage S", "V,U": "arithmetic up to stage U", "S": "arithmetic up to stage S",
	} {
		req := debugkern.Request{
			Target: "stage2", Shape: "small", Faults: []string{"kt-rowmajor"},
			Stages: debugkern.ParseStages(stages), Backend: "emu",
		}
		if strings.HasPrefix(want, "arithmetic of") {
			req.Stages = debugkern.ParseStages("Q,K," + stages)
		}
		d, err := diagnose.Diagnose(t.Context(), s, req, diagnose.Options{Schedules: 2})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Causes) != 1 || !strings.HasPrefix(d.Causes[0].Title, want) {
			t.Errorf("of stages %v: want one cause, %s\n%s", req.Stages, want, strings.Join(d.Story, "\n"))
		}
	}
}

// One wrong line of source is one cause, for the edits of testdata/planted.txt. Long: set TILESCOPE_LONG.
func TestPlantedLineIsOneCause(t *testing.T) {
	if os.Getenv("TILESCOPE_LONG") == "" {
		t.Skip("some minutes, and NVRTC: set TILESCOPE_LONG")
	}
	s := compiler(t)
	text, err := os.ReadFile("testdata/planted.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(block, "\n")
		head := strings.Fields(lines[0])
		cut := slices.Index(lines, "=>")
		if len(head) < 4 || cut < 0 {
			t.Fatalf("not an edit: %s", block)
		}
		t.Run(head[0], func(t *testing.T) {
			from, to := strings.Join(lines[1:cut], "\n"), strings.Join(lines[cut+1:], "\n")
			req := debugkern.Request{
				Target: plantedSource(t, head[1], from, to), Shape: head[3], Backend: "emu", Builder: "nvrtc",
				Set: map[string]string{},
			}
			if head[2] != "-" {
				req.Set[head[2]] = "1"
			}
			d, err := diagnose.Diagnose(t.Context(), s, req, diagnose.Options{Schedules: 20})
			if err != nil {
				t.Fatal(err)
			}
			sound(t, d)
		})
	}
}

// compiler opens a session with NVRTC, or skips.
func compiler(t *testing.T) *debugkern.Session {
	t.Helper()
	tools, err := filepath.Abs("../../.toolchain")
	if err != nil {
		t.Fatal(err)
	}
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: tools})
	if err != nil {
		t.Skipf("no NVRTC on this machine: %v", err)
	}
	tc.Close()
	s, err := debugkern.Open(context.Background(), debugkern.Options{
		Config: &configs.Config{
			CaptureMax: 1 << 30, CacheDir: t.TempDir(), CacheMax: 1 << 26, Toolchain: tools,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// plantedSource writes an embedded kernel as somebody's own, with one edit of its source, and returns
// the manifest's path.
func plantedSource(t *testing.T, kernel, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob("../../kernels/*.*h")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "../../kernels/"+kernel+".cu", "../../configs/kernels/"+kernel+".yaml") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(b); strings.HasSuffix(f, ".cu") {
			if !strings.Contains(text, from) {
				t.Fatalf("%s has no\n%s", f, from)
			}
			b = []byte(strings.Replace(text, from, to, 1))
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, kernel+".yaml")
}
