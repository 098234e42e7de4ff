package debugkern

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		in        string
		lo, n     int
		wantError string
	}{
		{"*", 0, 8, ""}, {"3", 3, 1, ""}, {"2-5", 2, 4, ""}, {"8", 0, 0, "outside 0-7"},
		{"5-2", 0, 0, "backwards"}, {"x", 0, 0, "not a number"}, {"1-y", 0, 0, "not a number"},
		{"-1", 0, 0, "not a number"},
	} {
		span, err := ParseSpan(c.in)
		if err == nil {
			span, err = span.within(8)
		}
		if c.wantError != "" {
			if err == nil || !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("%q: error %v, want %q", c.in, err, c.wantError)
			}
			continue
		}
		if err != nil || span != (Span{c.lo, c.n}) {
			t.Errorf("%q: %+v, %v; want %d+%d", c.in, span, err, c.lo, c.n)
		}
	}
}

// TestRegionText: what an option says is read, and written again the same.
func TestRegionText(t *testing.T) {
	for text, want := range map[string]Region{
		"": {}, "1-2,3,0": {{1, 2}, {3, 1}, {0, 1}}, "1,*,0": {{1, 1}, {}, {0, 1}},
		"*,*,4-4": {{}, {}, {4, 1}},
	} {
		r, err := ParseBlocks(text)
		if err != nil || r != want {
			t.Errorf("%q: %v, %v", text, r, err)
		}
		if again, err := ParseBlocks(r.String()); err != nil || again != want {
			t.Errorf("%q is written as %q: %v, %v", text, r, again, err)
		}
	}
	for _, text := range []string{"0,0,0,0", "0,,0", "0;0", "2-1"} {
		if r, err := ParseBlocks(text); err == nil {
			t.Errorf("%q: read as %s", text, r)
		}
	}
	if s := ParseStages("S, U"); StagesText(s) != "S,U" {
		t.Errorf("stages %v", s)
	}
}

func TestScheduleText(t *testing.T) {
	for in, want := range map[string]string{
		"": "in-order:0", "random:7": "random:7", "reverse": "reverse:0",
		"random:3:earliest": "random:3:earliest",
	} {
		s, err := ParseSchedule(in)
		if err != nil || s.String() != want {
			t.Errorf("%q: %q, %v; want %q", in, s.String(), err, want)
		}
	}
	for _, bad := range []string{"sideways", "random:x", "random:1:never", "a:b:c:d"} {
		if _, err := ParseSchedule(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestCaptureLimit: a capture over the limit is refused before anything runs, with a range that
// would fit and does.
func TestCaptureLimit(t *testing.T) {
	s, err := Open(context.Background(), Options{Config: &configs.Config{CaptureMax: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(context.Background(), Request{Target: "stage2", Shape: "mission"}, nil)
	var coded *report.Error
	if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
		!strings.Contains(err.Error(), "capture.max") {
		t.Fatalf("error %v", err)
	}
	_, advice, ok := strings.Cut(err.Error(), "--blocks ")
	if !ok {
		t.Fatalf("no range that would fit: %v", err)
	}
	advised, _, _ := strings.Cut(advice, " ")
	blocks, err := ParseBlocks(advised)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), Request{Target: "stage2", Shape: "mission", Blocks: blocks},
		nil); err != nil {
		t.Errorf("--blocks %s was advised and is refused: %v", blocks, err)
	}
}

// TestPartialCapture: what is captured of a few blocks, tiles and stages is the same as in a full capture.
func TestPartialCapture(t *testing.T) {
	s := openSession(t)
	full, err := s.Run(context.Background(), Request{Target: "stage2"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	part, err := s.Run(context.Background(), Request{
		Target: "stage2", Blocks: Region{{1, 2}, {3, 1}, {0, 1}}, Tiles: Span{2, 2},
		Stages: []probes.Stage{"S", "U"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if part.Report.Verdict != report.Agree {
		t.Errorf("verdict %s", part.Report.Verdict)
	}
	for _, st := range part.Report.Stages {
		if captured := st.Name == "S" || st.Name == "U"; captured != (st.Verdict != report.Off) {
			t.Errorf("stage %s: %s", st.Name, st.Verdict)
		}
	}
	if len(part.Blocks()) != 2 {
		t.Fatalf("blocks %v", part.Blocks())
	}
	for _, b := range part.Blocks() {
		for kv := 2; kv <= 3; kv++ {
			for _, st := range []probes.Stage{"S", "U"} {
				if got, want := part.state.Tile(st, b, kv), full.state.Tile(st, b, kv); !got.Reached() ||
					string(got.Data) != string(want.Data) {
					t.Errorf("%s block %s kv %d differs from the full capture", st, b, kv)
				}
			}
		}
	}
}

// TestNextBad walks the bad cells of a planted fault forwards and comes back to the first; backwards it
// sees them in reverse.
func TestNextBad(t *testing.T) {
	run, err := openSession(t).Run(context.Background(),
		Request{Target: "stage2", Faults: []string{"p-stale-m"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := run.Report.Stage("P").FirstBad
	start := Cell{Place: Place{Stage: "P"}}
	c, ok := run.NextBad(start, 1)
	if !ok || c.KVTile != first.KVTile || c.Block != first.Block || c.Row != first.Row || c.Col != first.Col {
		t.Fatalf("first bad cell %+v, %t; the document says %+v", c, ok, first)
	}
	second, ok := run.NextBad(c, 1)
	if !ok || second == c {
		t.Fatalf("second %+v", second)
	}
	if back, ok := run.NextBad(second, -1); !ok || back != c {
		t.Errorf("back from %+v is %+v, want %+v", second, back, c)
	}
	last, ok := run.NextBad(c, -1)
	if !ok || last.KVTile != 3 {
		t.Errorf("backwards from the first it wraps to the last: %+v", last)
	}
	if again, ok := run.NextBad(last, 1); !ok || again != c {
		t.Errorf("forwards from the last it wraps to the first: %+v", again)
	}
	if _, ok := run.NextBad(Cell{Place: Place{Stage: "S"}}, 1); ok {
		t.Error("stage S has no bad cell")
	}
}
