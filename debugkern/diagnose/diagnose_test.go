package diagnose_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// diagnoses keeps what several tests look at; nobody changes it.
var diagnoses sync.Map

// run diagnoses one kernel on the emulator, once for all tests.
func run(t *testing.T, target, shape string, faults ...string) *diagnose.Diagnosis {
	t.Helper()
	once, _ := diagnoses.LoadOrStore(fmt.Sprint(target, shape, faults),
		sync.OnceValue(func() *diagnose.Diagnosis { return fresh(t, target, shape, faults...) }))
	d := once.(func() *diagnose.Diagnosis)()
	if d == nil {
		t.FailNow()
	}
	return d
}

// fresh is a diagnosis of its own.
func fresh(t *testing.T, target, shape string, faults ...string) *diagnose.Diagnosis {
	t.Helper()
	s, err := debugkern.Open(context.Background(), debugkern.Options{})
	if err != nil {
		t.Error(err)
		return nil
	}
	d, err := diagnose.Diagnose(context.Background(), s,
		debugkern.Request{Target: target, Shape: shape, Faults: faults, Backend: "emu"}, diagnose.Options{
			Schedules: 20,
		})
	if err != nil {
		t.Error(err)
		return nil
	}
	return d
}

// turn skips the i-th of many diagnoses, unless it is one of n or TILESCOPE_LONG is set.
func turn(t *testing.T, i, n int) {
	t.Helper()
	if i%n != 0 && os.Getenv("TILESCOPE_LONG") == "" {
		t.Skipf("one case of %d is diagnosed without TILESCOPE_LONG: make test-long has all", n)
	}
}

// An arithmetic fault is one cause, at its stage and tile, with all of the error, proven by the
// reference in its place.
func TestArithmeticIsOneCause(t *testing.T) {
	for i, c := range []struct {
		target, fault, shape string
		stages               string // any of these first
		kv                   int
	}{
		{"stage2", "kt-rowmajor", "small", "S", 0}, {"stage2", "u-no-rescale", "partial49", "U", 1},
		{"stage2", "l-no-rescale", "partial49", "l", 1}, {"stage2", "p-normalised", "small", "P", 0},
		{"stage2", "reduce-lane0", "small", "mlP", 0}, {"stage2", "v-midpoint", "small", "V", 0},
		{"flashcore_fused_wmma", "merge-double", "small", "U", 0}, {"gemm_wmma", "k-half", "small", "acc", 0},
		{"layernorm", "divisor", "small", "var", 1},
	} {
		t.Run(c.fault, func(t *testing.T) {
			turn(t, i, 4)
			t.Parallel()
			d := run(t, c.target, c.shape, c.fault)
			if len(d.Causes) != 1 {
				t.Fatalf("%d causes:\n%s", len(d.Causes), strings.Join(d.Story, "\n"))
			}
			got := d.Causes[0]
			if got.Kind != "stage" || !strings.Contains(c.stages, got.Stage) || got.Place.KVTile != c.kv ||
				got.Place.Source == nil {
				t.Errorf("%s %s at kv tile %d, source %v; want a stage of %q at kv tile %d", got.Kind,
					got.Stage, got.Place.KVTile, got.Place.Source, c.stages, c.kv)
			}
			if got.Share == nil || *got.Share != 1 ||
				!strings.Contains(got.Alone, "nothing is wrong") &&
					!strings.Contains(got.Alone, "every later stage is right") {
				t.Errorf("share %v: %s", got.Share, got.Alone)
			}
			if d.ExitCode() != 1 || len(d.Story) > 12 || d.Schema != diagnose.Schema {
				t.Errorf("exit %d, %d lines of story, %s", d.ExitCode(), len(d.Story), d.Schema)
			}
		})
	}
}

// Stages with one pattern, or one sum of what another is made of, are one cause though they first go
// wrong in different blocks.
func TestOnePatternIsOneCause(t *testing.T) {
	d := run(t, "attention_causal", "partial49", "mask-late")
	if len(d.Causes) != 1 ||
		!strings.HasPrefix(d.Causes[0].Title, "arithmetic of stage m, l, P, first at kv tile 0") {
		t.Errorf("%d causes:\n%s", len(d.Causes), strings.Join(d.Story, "\n"))
	}
	for _, s := range d.Stages {
		if (s.Name == "m" || s.Name == "l") && s.FirstBad != nil &&
			(s.FirstBad.Block == [3]int{0, 0, 0}) != (s.Name == "l") {
			t.Errorf("%s is first wrong in block %v: the two go wrong in the same block", s.Name,
				s.FirstBad.Block)
		}
	}
}

// What a person reads last, word for word.
func TestStories(t *testing.T) {
	for i, c := range []struct{ name, target, shape, fault string }{
		{"two causes", "stage3b-reported", "validation", ""},
		{"missing barrier", "stage2", "small", "sync-s"},
		{"wait too short", "stage2", "partial49", "cp-async-wait"},
		{"barrier under a condition", "stage2", "partial", "barrier-divergent"},
		{"arithmetic", "stage2", "partial49", "u-no-rescale"},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn(t, i, 2)
			t.Parallel()
			var faults []string
			if c.fault != "" {
				faults = []string{c.fault}
			}
			d := run(t, c.target, c.shape, faults...)
			if len(d.Story) > 12 {
				t.Errorf("%d lines", len(d.Story))
			}
			golden.RequireEqual(t, strings.Join(append(d.Story, ""), "\n"))
		})
	}
}

// What explains the error is told first; a race that explains none of it is found too, says so, and is no
// witness of what another race does to the output.
func TestWhatExplainsNothing(t *testing.T) {
	for i, c := range []struct{ fault, kind string }{{"u-no-rescale", "stage"}, {"sync-s", "race"}} {
		t.Run(c.fault, func(t *testing.T) {
			turn(t, i, 2)
			t.Parallel()
			d := run(t, withoutFragmentSync(t, c.fault), "partial49")
			story := strings.Join(d.Story, "\n")
			if len(d.Causes) != 2 {
				t.Fatalf("%d causes:\n%s", len(d.Causes), story)
			}
			all, none := d.Causes[0], d.Causes[1]
			if all.Kind != c.kind || all.AlsoFound || all.ShareText() != "100 %" || none.Kind != "race" ||
				none.Place.Variable != "sPV_frag" || !none.AlsoFound || none.ShareText() != "none" {
				t.Errorf("%s: %s; %s: %s", all.Title, all.ShareText(), none.Title, none.ShareText())
			}
			for _, want := range []string{
				"one cause; also found: one thing that explains none of it",
				"\n2. also found: race on sPV_frag", "(none of the error)",
				"O is the same in 20 schedules",
			} {
				if !strings.Contains(story, want) {
					t.Errorf("the story lacks %q:\n%s", want, story)
				}
			}
			if f := d.Findings[none.Finding]; strings.Contains(f.Consequence, "changes") {
				t.Errorf("%s: %s", f.Message, f.Consequence)
			}
			if c.kind == "race" &&
				!strings.Contains(strings.Join(all.Proof, "\n"), "schedules with the other one fixed") {
				t.Errorf("not explored apart from the other: %q", all.Proof)
			}
		})
	}
}

// TestToldOnce: a read that comes before the write which a race lets come late is the race's consequence in
// every build that was executed, and no finding of its own beside it.
func TestToldOnce(t *testing.T) {
	d := run(t, "stage2", "small", "sync-s")
	for _, f := range d.Findings {
		switch {
		case f.Kind == "uninitialised":
			t.Errorf("told beside the race: %s", f.Message)
		case f.Kind == "race" &&
			(!strings.Contains(f.Consequence, "that were never written") ||
				!strings.Contains(f.Consequence, "schedules")):
			t.Errorf("%s: its consequences are %q", f.Message, f.Consequence)
		}
	}
}

// withoutFragmentSync writes stage2 with a fault as somebody's own kernel, and without the __syncwarp
// between storing a fragment and reading it: two faults that no build of the archive has together. It
// returns the manifest's path.
func withoutFragmentSync(t *testing.T, fault string) string {
	t.Helper()
	manifest, err := os.ReadFile("../../configs/kernels/sdpa_fp8_stage_c_wmma.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, ok, err := kernels.Find(kernels.Key{
		Kernel: "sdpa_fp8_stage_c_wmma", Defines: []string{"TS_PROBES=1", "USE_CP_ASYNC=1", "USE_WMMA_PV=1"},
		Faults: []string{fault},
	})
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	stored := regexp.MustCompile(`(\twmma\.store[^\n]*\n\t\.loc[^\n]*\n)\tbar\.warp\.sync[^\n]*\n`)
	dir := t.TempDir()
	path := filepath.Join(dir, "own.yaml")
	if err := errors.Join(os.WriteFile(path, bytes.Replace(manifest,
		[]byte("source: sdpa_fp8_stage_c_wmma.cu"), []byte("ptx: own.ptx"), 1), 0o600),
		os.WriteFile(filepath.Join(dir, "own.ptx"), stored.ReplaceAll(e.PTX, []byte("$1")),
			0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// With one cause put right the other's error stands: both are named, and neither is called the cause.
func TestTwoCauses(t *testing.T) {
	d := run(t, "stage3b-reported", "validation")
	if len(d.Causes) != 2 || d.Causes[0].Kind != "table" || d.Causes[1].Kind != "race" {
		t.Fatalf("%d causes:\n%s", len(d.Causes), strings.Join(d.Story, "\n"))
	}
	for _, v := range []string{"m_smem", "l_smem", "U_smem"} {
		if !slices.Contains(d.Causes[1].Place.Variables, v) {
			t.Errorf("the race is on %v, want %s among them", d.Causes[1].Place.Variables, v)
		}
	}
	for _, c := range d.Causes {
		if c.Share == nil || *c.Share > 0.9 || !strings.Contains(c.Alone, "still wrong") {
			t.Errorf("%s: share %v, alone %q", c.Title, c.Share, c.Alone)
		}
	}
	if !strings.Contains(strings.Join(d.Story, "\n"), "none of them is the cause alone") {
		t.Errorf("the story does not say that neither is the cause:\n%s", strings.Join(d.Story, "\n"))
	}
}

// Every synchronisation that is taken away is found on the variable that it ordered, and what is advised
// removes the finding.
func TestAdviceIsProven(t *testing.T) {
	for _, c := range []struct{ fault, shape, kind, variable, advice string }{
		{"sync-s", "small", "race", "sS", "put __syncthreads()"},
		{"sync-p", "small", "race", "sP", "put __syncthreads()"},
		{"sync-kv", "partial49", "race", "sV", "put __syncthreads()"},
		{"sync-frag", "small", "race", "sPV_frag", "put __syncwarp()"},
		{"cp-async-wait", "partial49", "cp-async", "sK_u8", "wait for all but 0 groups"},
		{"barrier-divergent", "partial", "barrier", "", "out of the condition"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			d := run(t, "stage2", c.shape, c.fault)
			if len(d.Causes) != 1 {
				t.Fatalf("%d causes:\n%s", len(d.Causes), strings.Join(d.Story, "\n"))
			}
			got := d.Causes[0]
			if got.Kind != c.kind || c.variable != "" && !slices.Contains(got.Place.Variables, c.variable) ||
				!strings.Contains(got.Advice, c.advice) {
				t.Errorf("%s on %v: %s; want %s on %s: %s", got.Kind, got.Place.Variables, got.Advice, c.kind,
					c.variable, c.advice)
			}
			if proof := strings.Join(got.Proof, "\n"); !strings.Contains(proof, "is gone") ||
				!strings.Contains(got.Alone, "nothing is wrong") {
				t.Errorf("the advice is not proven: %s\n%s", got.Alone, proof)
			}
		})
	}
}

// What each synchronisation of a clean kernel is for is known, and names the variable.
func TestBarriersAreNeeded(t *testing.T) {
	d := run(t, "stage2", "partial49")
	for _, want := range []struct{ instr, variable string }{
		{"bar.sync", "sS"}, {"bar.sync", "sP"}, {"bar.sync", "sV"}, {"bar.warp.sync", "sPV_frag"},
		{"cp.async.wait_group", "sK_u8"},
	} {
		if !slices.ContainsFunc(d.Barriers, func(b diagnose.BarrierDoc) bool {
			return b.Instr == want.instr && b.Needed && slices.Contains(b.Variables, want.variable) &&
				b.Source != nil && strings.HasPrefix(b.Because, "without it")
		}) {
			t.Errorf("no %s is needed for %s: %+v", want.instr, want.variable, d.Barriers)
		}
	}
}

// A table that is wrong by content is a cause, told by what it holds, and proven by the
// right one in its place.
func TestWrongTableIsACause(t *testing.T) {
	for fault, explains := range map[string]string{
		"lut-order": "order wrong: sorted by row", "lut-hole": "does not cover every cell",
	} {
		d := run(t, "stage3b", "small", fault)
		i := slices.IndexFunc(d.Causes, func(c diagnose.Cause) bool { return c.Kind == "table" })
		if i < 0 {
			t.Fatalf("%s: no table among %d causes:\n%s", fault, len(d.Causes), strings.Join(d.Story, "\n"))
		}
		c := d.Causes[i]
		if !strings.Contains(c.Title, explains) || c.Place.Variable != "WMMA_ACCUM_LUT" ||
			c.Place.Source == nil || len(d.Causes) != 1 {
			t.Errorf("%s: %d causes: %s at %v", fault, len(d.Causes), c.Title, c.Place.Source)
		}
		if c.Share == nil || *c.Share != 1 {
			t.Errorf("%s: share %v: %s", fault, c.Share, c.Alone)
		}
	}
}

// A clean kernel has no cause, and one or two lines of story.
func TestSilence(t *testing.T) {
	for _, target := range []string{"stage2", "stage3b", "flashcore_vec"} {
		d := run(t, target, "small")
		if len(d.Causes) != 0 || d.ExitCode() != 0 || len(d.Story) == 0 || len(d.Story) > 2 ||
			!strings.Contains(d.Story[0], "agrees") {
			t.Errorf("%s: exit %d, %d causes:\n%s", target, d.ExitCode(), len(d.Causes),
				strings.Join(d.Story, "\n"))
		}
	}
}

// The SARIF log has what the 2.1.0 schema requires, rules by kind, and relative places.
func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := run(t, "stage2", "small", "s-overrun").WriteSARIF(&b, "1.2"); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct{ ID string }
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 ||
		log.Runs[0].Tool.Driver.Name != "tilescope" {
		t.Fatalf("not a SARIF log of tilescope: %s", b.Bytes()[:200])
	}
	run := log.Runs[0]
	if len(run.Results) == 0 || run.Results[0].Level != "error" || run.Results[0].RuleID != "out-of-bounds" {
		t.Fatalf("results %+v, want the out-of-bounds access first", run.Results)
	}
	for _, r := range run.Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(run.Tool.Driver.Rules) ||
			run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("result %s points at rule %d of %v", r.RuleID, r.RuleIndex, run.Tool.Driver.Rules)
		}
		if r.Message.Text == "" || !slices.Contains([]string{"error", "note"}, r.Level) {
			t.Errorf("result %s: level %q, text %q", r.RuleID, r.Level, r.Message.Text)
		}
		for _, l := range r.Locations {
			if uri := l.PhysicalLocation.ArtifactLocation.URI; uri == "" || strings.HasPrefix(uri, "/") ||
				strings.Contains(uri, ":") || l.PhysicalLocation.Region.StartLine < 1 {
				t.Errorf("result %s is at %q line %d", r.RuleID, uri, l.PhysicalLocation.Region.StartLine)
			}
		}
	}
}

var (
	fetched = regexp.MustCompile(`(?i)(src|href|url\()\s*=?\s*["']?\s*(https?:|//|[a-z]+\.(js|css|png))`)
	pngData = regexp.MustCompile(`src="data:image/png;base64,[A-Za-z0-9+/=&#;]+"`)
)

// The page holds everything itself: pictures as data, no script, nothing to fetch; the guilty line is marked.
func TestPageIsSelfContained(t *testing.T) {
	d := run(t, "stage2", "small", "p-normalised")
	var b bytes.Buffer
	if err := d.WriteHTML(&b, "1.2"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if m := fetched.FindString(page); m != "" || strings.Contains(page, "<script") ||
		strings.Contains(page, "<link") || strings.Contains(page, "ZgotmplZ") {
		t.Errorf("the page fetches %q, or has a script, a link or text that was filtered out", m)
	}
	if n := len(pngData.FindAllString(page, -1)); n < 3 {
		t.Errorf("%d pictures, want kernel, reference and error of the wrong stage", n)
	}
	for _, want := range []string{`class="guilty"`, "prefers-color-scheme", html.EscapeString(d.Story[0]),
		"P, wrong"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// What is found does not depend on how often it is asked for.
func TestSameEveryTime(t *testing.T) {
	var first []byte
	for range 3 {
		d := fresh(t, "stage2", "small", "score-uninit")
		d.Cost = report.Cost{}
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if !bytes.Equal(first, b) {
			t.Fatalf("two diagnoses of one kernel differ:\n%s\n%s", first, b)
		}
	}
}

// Every planted fault of the catalogue, on its base and shape, is exactly one cause: what else is seen
// follows from it. Long: set TILESCOPE_LONG or TILESCOPE_FAULT_SEEDS.
func TestEveryFaultIsOneCause(t *testing.T) {
	if os.Getenv("TILESCOPE_LONG") == "" && os.Getenv("TILESCOPE_FAULT_SEEDS") == "" {
		t.Skip("half a minute: set TILESCOPE_LONG")
	}
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range s.Catalogue().Doc().Kernels {
		for _, f := range k.Faults {
			t.Run(f.Name, func(t *testing.T) {
				d := fresh(t, f.Base, f.Shape, f.Name)
				if len(d.Causes) != 1 || d.ExitCode() != 1 {
					t.Errorf("%d causes, exit %d:\n%s", len(d.Causes), d.ExitCode(),
						strings.Join(d.Story, "\n"))
				}
			})
		}
	}
}

// TestUnknownBackend: the backend of the request is refused, though the checkers run on the
// emulator whatever it is.
func TestUnknownBackend(t *testing.T) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var coded *report.Error
	_, err = diagnose.Diagnose(t.Context(), s, debugkern.Request{
		Target: "flashcore_vec", Shape: "small", Backend: "nosuch",
	}, diagnose.Options{})
	if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
		!strings.Contains(err.Error(), "auto, emu, cuda, both") {
		t.Errorf("got %v", err)
	}
}
