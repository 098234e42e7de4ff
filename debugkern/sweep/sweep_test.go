package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// kernel is a Runner that computes nothing. Seeds in fail end without a verdict so often; seeds in wrong
// diverge.
type kernel struct {
	mu    sync.Mutex
	ran   map[string]int
	fail  map[uint64]int
	wrong map[uint64]bool
	stop  func(n int) // called before each run with how many there were
	code  string
	bare  int // requests to describe a target alone
}

func (k *kernel) Describe(_ context.Context, req debugkern.Request) (*debugkern.Subject, error) {
	if req.Shape == "" {
		k.bare++
	}
	if req.Target == "unknown" {
		return nil, report.Usagef("unknown target")
	}
	if req.Shape == "tiny" && slices.Contains(req.Faults, "late") {
		return nil, report.Usagef("fault late needs two tiles")
	}
	return &debugkern.Subject{}, nil
}

func (k *kernel) BuildInfo(context.Context, debugkern.Request) (*report.Build, error) {
	return &report.Build{PTXSHA256: k.code}, nil
}

func (k *kernel) Run(
	ctx context.Context, req debugkern.Request, _ func(debugkern.Progress),
) (*debugkern.Run, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, x := range k.ran {
		n += x
	}
	if k.stop != nil {
		k.stop(n)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	name := fmt.Sprint(req.Target, req.Shape, req.Seed, req.Gate, req.Faults, req.Set)
	k.ran[name]++
	if k.ran[name] <= k.fail[req.Seed] {
		return nil, &report.Error{Code: report.CodeFailed, Err: errors.New("the worker died")}
	}
	r := &report.Run{Verdict: report.Agree, Digest: digest(name)}
	if k.wrong[req.Seed] {
		r.Verdict = report.Diverge
		r.Guilty = []report.Guilty{{Stage: "S"}, {Stage: "P"}, {Stage: "S"}}
		r.Findings = []report.Finding{
			{Kind: "race", Severity: "error", Variable: "sP"}, {Kind: "bank-conflict", Severity: "advice"},
			{Kind: "race", Severity: "error", Variable: "sP"},
		}
	}
	return &debugkern.Run{Report: r}, nil
}

func newKernel() *kernel { return &kernel{ran: map[string]int{}, code: "a"} }

func options() *Options {
	o := &Options{
		Targets: []string{"one", "two"}, Shapes: []string{"tiny", "large"}, Gates: []string{"none", "qk"},
		Faults: []string{"none", "each"}, Flags: map[string][]int{"B": {0, 1}, "A": {2}},
		FaultsOf: func(string) ([]string, error) { return []string{"early", "late"}, nil },
	}
	for seed := range uint64(5) {
		o.Seeds = append(o.Seeds, seed)
	}
	return o
}

func made(t *testing.T, k *kernel) *Plan {
	t.Helper()
	p, err := Make(t.Context(), k, options())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// document is sweep.json of a folder.
func document(t *testing.T, dir string) ([]byte, *Doc) {
	t.Helper()
	doc, missing, err := Merge(t.Context(), file.New(), dir)
	if err != nil || missing > 0 {
		t.Fatalf("%v, %d missing", err, missing)
	}
	b, err := os.ReadFile(filepath.Join(dir, DocumentFile))
	if err != nil {
		t.Fatal(err)
	}
	return b, doc
}

// whole is the document of a sweep that runs at once.
func whole(t *testing.T, k *kernel) ([]byte, *Doc) {
	t.Helper()
	dir := t.TempDir()
	w := Work{Dir: dir, Files: file.New(), Jobs: 3}
	if _, err := made(t, k).Execute(t.Context(), k, w); err != nil {
		t.Fatal(err)
	}
	return document(t, dir)
}

// TestPlan: every combination in order, what cannot be with its reason.
func TestPlan(t *testing.T) {
	p := made(t, newKernel())
	// 2 targets × 2 shapes × 2 gates × 2 flags × 3 faults, of which late on tiny cannot be
	if p.Doc.Runs != 5*(48-8) || len(p.Runs) != p.Doc.Runs || len(p.Doc.Skipped) != 8 {
		t.Errorf("%d runs, %d skipped", p.Doc.Runs, len(p.Doc.Skipped))
	}
	if got := p.Runs[1].Name(); got != "one --shape tiny --seed 1 --set A=2 --set B=0" {
		t.Errorf("the second run is %s", got)
	}
	if got := p.Doc.Skipped[0].Reason; got != "fault late needs two tiles" {
		t.Errorf("skipped because %q", got)
	}
	ids := map[string]bool{}
	for i := range p.Runs {
		ids[p.Runs[i].id()] = true
	}
	if len(ids) != len(p.Runs) {
		t.Errorf("%d names for %d runs", len(ids), len(p.Runs))
	}
	o := options()
	o.Targets = []string{"unknown"}
	if _, err := Make(t.Context(), newKernel(), o); err == nil || err.Error() != "unknown target" {
		t.Errorf("an unknown target: %v", err)
	}
}

// TestBase: faults and flags of the request are part of every run, of its name and of the document; a flag
// that the sweep sets has the sweep's values.
func TestBase(t *testing.T) {
	o := options()
	o.Targets, o.Shapes, o.Gates, o.Seeds = o.Targets[:1], []string{"large"}, o.Gates[:1], o.Seeds[:1]
	o.Faults = []string{"none", "early", "late"}
	o.Request.Faults, o.Request.Set = []string{"early"}, map[string]string{"A": "7", "C": "true"}
	p, err := Make(t.Context(), newKernel(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range p.Runs {
		got = append(got, p.Runs[i].Name())
		req := p.request(&p.Runs[i])
		if req.Set["C"] != "1" || req.Set["A"] != "2" || req.Faults[0] != "early" {
			t.Errorf("%s is requested as %v %v", p.Runs[i].Name(), req.Faults, req.Set)
		}
	}
	want := []string{ // fault early alone is none and early: once
		"one --shape large --seed 0 --fault early --set A=2 --set B=0 --set C=1",
		"one --shape large --seed 0 --fault early --fault late --set A=2 --set B=0 --set C=1",
		"one --shape large --seed 0 --fault early --set A=2 --set B=1 --set C=1",
		"one --shape large --seed 0 --fault early --fault late --set A=2 --set B=1 --set C=1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("runs:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if fmt.Sprint(p.Doc.Flags) != "map[A:[2] B:[0 1] C:[1]]" {
		t.Errorf("flags of the plan: %v", p.Doc.Flags)
	}
	o.Request.Set["C"] = "maybe"
	_, err = Make(t.Context(), newKernel(), o)
	if err == nil || !strings.Contains(err.Error(), `found "maybe"`) {
		t.Errorf("a flag that is no number: %v", err)
	}
}

// TestUnknownOnce: whether a target can be opened is tried once, however many combinations are refused.
func TestUnknownOnce(t *testing.T) {
	k := newKernel()
	made(t, k)
	if k.bare != 2 {
		t.Errorf("%d targets were opened without a combination, of 2", k.bare)
	}
}

// TestInterrupted: a sweep that is cancelled at any moment goes on, makes no run twice, and ends with the
// bytes of one that was not.
func TestInterrupted(t *testing.T) {
	want, doc := whole(t, newKernel())
	if agree, differ, failed := doc.Counts(); agree != 200 || differ+failed > 0 || doc.ExitCode(0) != 0 {
		t.Fatalf("%d agree, %d do not, %d failed", agree, differ, failed)
	}
	dir, k := t.TempDir(), newKernel()
	for at := 17; ; at += 41 {
		ctx, cancel := context.WithCancel(t.Context())
		k.stop = func(n int) {
			if n >= at {
				cancel()
			}
		}
		p := made(t, k)
		_, err := p.Execute(ctx, k, Work{Dir: dir, Files: file.New(), Jobs: 2})
		cancel()
		if err == nil {
			break
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s, err := StatusOf(t.Context(), dir)
		if err != nil || s.Done != at || s.Planned != 200 {
			t.Fatalf("after %d runs: %+v, %v", at, s, err)
		}
		// a process that is killed leaves an unfinished line
		f, err := os.OpenFile(filepath.Join(dir, resultsDir, "all.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(`{"run":"`)
		f.Close()
	}
	if got, _ := document(t, dir); !bytes.Equal(got, want) {
		t.Error("the document is another")
	}
	for name, n := range k.ran {
		if n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
	}
}

// TestShards: parts in one folder, one of them twice, give the bytes of the whole.
func TestShards(t *testing.T) {
	want, _ := whole(t, newKernel())
	dir := t.TempDir()
	for _, part := range []int{2, 0, 2, 1} {
		k := newKernel()
		w := Work{Dir: dir, Files: file.New(), Part: part, Of: 3, Jobs: 2}
		at, err := made(t, k).Execute(t.Context(), k, w)
		if err != nil || at.Done != at.Total {
			t.Fatalf("part %d: %+v, %v", part, at, err)
		}
	}
	if got, _ := document(t, dir); !bytes.Equal(got, want) {
		t.Error("the document is another")
	}
}

// TestFailedRuns: a run is tried twice, then recorded as failed, and made again by the next command.
func TestFailedRuns(t *testing.T) {
	dir, k := t.TempDir(), newKernel()
	k.fail, k.wrong = map[uint64]int{1: 1, 3: 2}, map[uint64]bool{4: true}
	if _, err := made(t, k).Execute(t.Context(), k, Work{Dir: dir, Files: file.New(), Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	_, doc := document(t, dir)
	agree, differ, failed := doc.Counts()
	if agree != 120 || differ != 40 || failed != 40 || doc.ExitCode(0) != 4 {
		t.Errorf("%d agree, %d do not, %d failed, exit %d", agree, differ, failed, doc.ExitCode(0))
	}
	if f := doc.Failed[0]; f.Error != "the worker died" || !strings.Contains(f.Run, "--seed 3") {
		t.Errorf("failed: %+v", f)
	}
	wrong := doc.Runs[slices.IndexFunc(doc.Runs, func(r Result) bool { return r.Exit != 0 })]
	if fmt.Sprint(wrong.Guilty, wrong.Findings, wrong.Exit) != "[S P] [race on sP] 1" {
		t.Errorf("a run that diverges: %+v", wrong)
	}
	again := Work{Dir: dir, Files: file.New(), Jobs: 4}
	if at, err := made(t, k).Execute(t.Context(), k, again); err != nil || at.Found != 160 {
		t.Errorf("%+v, %v", at, err)
	}
	if _, doc = document(t, dir); len(doc.Failed) > 0 || doc.ExitCode(0) != 1 {
		t.Errorf("%d failed, exit %d", len(doc.Failed), doc.ExitCode(0))
	}
	table, err := os.ReadFile(filepath.Join(dir, TableFile))
	want := "| one | tiny | none | A=2 B=0 |  | 4 | 1 | S, P | race on sP | one --shape tiny --seed 4"
	if err != nil || !strings.Contains(string(table), want) {
		t.Errorf("%v; the table lacks %q:\n%s", err, want, table)
	}
	page, err := os.ReadFile(filepath.Join(dir, PageFile))
	if err != nil || !strings.Contains(string(page), `<td class="bad">1</td>`) {
		t.Errorf("%v; the page:\n%s", err, page)
	}
}

// TestOtherPlans: a folder takes one plan: another one, other code and forged results are refused or ignored.
func TestOtherPlans(t *testing.T) {
	dir, k := t.TempDir(), newKernel()
	p := made(t, k)
	w := Work{Dir: dir, Files: file.New(), Jobs: 2}
	forged, err := json.Marshal(line{Run: p.Runs[0].id(), Key: "another", Error: "forged"})
	if err != nil {
		t.Fatal(err)
	}
	moved := resultOf(p.Runs[1], &report.Run{Verdict: report.Agree})
	swapped, err := json.Marshal(line{Run: p.Runs[0].id(), Key: p.Key, Result: &moved})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, resultsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, resultsDir, "x.jsonl"),
		[]byte(string(forged)+"\n"+string(swapped)+"\n\x00\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if at, err := p.Execute(t.Context(), k, w); err != nil || at.Found > 0 {
		t.Fatalf("%+v, %v", at, err)
	}
	for what, change := range map[string]func(o *Options, k *kernel){
		"seeds": func(o *Options, _ *kernel) { o.Seeds = o.Seeds[1:] },
		"code":  func(_ *Options, k *kernel) { k.code = "b" },
		"other": func(o *Options, _ *kernel) { o.Request.Schedule = "reverse" },
	} {
		o, k := options(), newKernel()
		change(o, k)
		p, err := Make(t.Context(), k, o)
		if err != nil {
			t.Fatal(err)
		}
		var coded *report.Error
		if _, err := p.Execute(t.Context(), k, w); !errors.As(err, &coded) || coded.Code != report.CodeUsage {
			t.Errorf("other %s: %v", what, err)
		}
	}
	if _, _, err := Merge(t.Context(), file.New(), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "is no folder of tilescope sweep") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestDocument: the document, which is written run by run, has the text of the whole.
func TestDocument(t *testing.T) {
	d := &Doc{Schema: Schema, Failed: []Failed{{"a", "b\u202e"}}, Runs: []Result{}}
	for range 3 {
		path := filepath.Join(t.TempDir(), DocumentFile)
		if err := d.writeJSON(file.New(), path); err != nil {
			t.Fatal(err)
		}
		want, err := json.MarshalIndent(d, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != string(text.JSON(want))+"\n" {
			t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
		}
		d.Runs = append(d.Runs, Result{
			Spec:   Spec{Target: "t\u202e<", Faults: []string{}, Flags: map[string]int{"A": 1}},
			Guilty: []string{"S"}, Findings: []Finding{{"race", "sP"}},
		})
	}
}

// TestCancel: a sweep ends before the next run, and the next one takes no notice of it.
func TestCancel(t *testing.T) {
	dir, k := t.TempDir(), newKernel()
	k.stop = func(n int) {
		if n == 30 {
			if err := Cancel(t.Context(), file.New(), dir); err != nil {
				t.Error(err)
			}
		}
	}
	w := Work{Dir: dir, Files: file.New(), Jobs: 1}
	if at, err := made(t, k).Execute(t.Context(), k, w); !errors.Is(err, ErrCancelled) || at.Done != 31 {
		t.Errorf("%+v, %v", at, err)
	}
	k.stop = nil
	if at, err := made(t, k).Execute(t.Context(), k, w); err != nil || at.Found != 31 || at.Done != 200 {
		t.Errorf("%+v, %v", at, err)
	}
}
