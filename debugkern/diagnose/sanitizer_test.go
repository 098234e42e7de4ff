package diagnose

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// fakeTools are tools of compute-sanitizer: memcheck answers at once, racecheck when it is let go, or never.
type fakeTools struct {
	complaints []debugkern.Complaint // racecheck's
	letGo      chan struct{}
	blocks     chan []probes.Dim3 // that racecheck was to watch
	ended      chan struct{}      // closed when racecheck has been ended
}

func (f *fakeTools) run(
	ctx context.Context, tool string, blocks []probes.Dim3, _ time.Duration,
) (*debugkern.Sanitized, int, error) {
	if tool != "racecheck" {
		return &debugkern.Sanitized{Tool: tool, Version: "1"}, 4, nil
	}
	f.blocks <- blocks
	select {
	case <-f.letGo:
		return &debugkern.Sanitized{Tool: tool, Version: "1", Complaints: f.complaints}, len(blocks), nil
	case <-ctx.Done():
		close(f.ended)
		return nil, 0, ctx.Err()
	}
}

func tools(complaints ...debugkern.Complaint) *fakeTools {
	return &fakeTools{
		complaints: complaints, letGo: make(chan struct{}), blocks: make(chan []probes.Dim3, 1),
		ended: make(chan struct{}),
	}
}

// A tool that does not end holds no story up: the diagnosis is complete without it, and it is ended when
// nobody waits any more.
func TestStoryDoesNotWaitForSanitizer(t *testing.T) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := tools()
	d, err := Diagnose(t.Context(), s, debugkern.Request{
		Target: "stage2", Shape: "small", Faults: []string{"sync-frag"}, Backend: "emu",
	}, Options{Schedules: 1, sanitizer: f.run})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Story) == 0 || len(d.Causes) != 1 || !d.Pending() {
		t.Fatalf("pending: %t, %d causes, story %q", d.Pending(), len(d.Causes), d.Story)
	}
	if b := <-f.blocks; !slices.Equal(b, []probes.Dim3{d.Findings[d.Causes[0].Finding].Block}) {
		t.Errorf("racecheck was to watch %v", b)
	}
	var answers []string
	if err := d.Await(t.Context(), 20*time.Millisecond, func(s *SanitizerDoc) {
		answers = append(answers, s.Says)
	}); err != nil {
		t.Fatal(err)
	}
	<-f.ended
	if len(d.Sanitizer)+len(answers) < 2 || d.Pending() ||
		!slices.ContainsFunc(answers, func(s string) bool {
			return strings.HasPrefix(s, "racecheck: not finished after ")
		}) ||
		!slices.ContainsFunc(d.Sanitizer, func(s SanitizerDoc) bool {
			return s.Tool == "memcheck" && s.NotRun == "" && s.Blocks == 0
		}) {
		t.Errorf("answers %q, document %+v", answers, d.Sanitizer)
	}
}

// What a tool confirms becomes a proof of the cause when it comes; what only it found stays in its own
// section.
func TestSanitizerFolds(t *testing.T) {
	at := func(line int) cuda.SanitizerPlace { return cuda.SanitizerPlace{File: "k.cu", Line: line} }
	f := tools(
		debugkern.Complaint{Kind: "race", At: at(9), Others: []cuda.SanitizerPlace{at(3)}},
		debugkern.Complaint{Kind: "race", At: at(20), Others: []cuda.SanitizerPlace{at(21)}})
	findings := []report.Finding{{
		Kind: "race", Severity: severityError, Space: "shared", Source: &report.Source{File: "k.cu", Line: 3},
		Other: &report.Source{File: "k.cu", Line: 9}, Block: probes.Dim3{1, 0, 0},
	}}
	d := &Diagnosis{Run: report.Run{Findings: findings}, Causes: []Cause{{Kind: "race", Findings: []int{0}}}}
	d.watch = startWatch(t.Context(), f.run, []string{"racecheck"}, findings)
	if err := d.arrived(); err != nil || !d.Pending() {
		t.Fatalf("it has not answered: pending %t, %v", d.Pending(), err)
	}
	close(f.letGo)
	if err := d.Await(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	if len(d.Sanitizer) != 1 {
		t.Fatalf("%+v", d.Sanitizer)
	}
	s := d.Sanitizer[0]
	if len(s.Confirmed) != 1 || len(s.OnlyOurs) != 0 || len(s.OnlyTheirs) != 1 || len(s.Complaints) != 2 ||
		!strings.Contains(s.Says, "1 confirmed") || s.Blocks != 1 {
		t.Errorf("folded to %+v", s)
	}
	if proof := strings.Join(d.Causes[0].Proof, "\n"); !strings.Contains(proof, "racecheck confirms it") {
		t.Errorf("the cause says %q", proof)
	}
}

// Who gives up waiting ends the tools.
func TestAwaitCancelled(t *testing.T) {
	f := tools()
	d := &Diagnosis{}
	d.watch = startWatch(t.Context(), f.run, []string{"racecheck"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Await(ctx, time.Minute, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("returned %v", err)
	}
	<-f.ended
	if b := <-f.blocks; b != nil {
		t.Errorf("nothing is named, and it was to watch %v", b)
	}
}
