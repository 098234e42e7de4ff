package diagnose

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
)

// lineWith is the line of a run's source that has a text.
func lineWith(t *testing.T, run *debugkern.Run, text string) *report.Source {
	t.Helper()
	fn := run.Entry()
	for i := range fn.Body {
		at := blame(fn, i)
		lines := run.Source(at.File)
		if at.Line >= 1 && at.Line <= len(lines) && strings.Contains(lines[at.Line-1], text) {
			return &report.Source{File: at.File, Line: at.Line}
		}
	}
	t.Fatalf("no instruction is of a line with %q", text)
	return nil
}

func TestLoopBound(t *testing.T) {
	for _, c := range []struct{ target, loop, bound string }{
		{"attention_causal", "for (int kv = 0;", "const int tiles ="},
		{"softmax_row", "for (int tile = 0;", "const int tiles ="},
		{"stage2", "for (int kv = 0;", "const int tiles ="},
	} {
		run := debugtest.Run(t, debugkern.Request{Target: c.target, Shape: "small", Backend: "emu"})
		q := &inquiry{run: run}
		at := q.loopBound(lineWith(t, run, c.loop))
		if at == nil || !strings.Contains(q.quoted(at), c.bound) {
			t.Errorf("%s: %v, expected the line with %q", c.target, at, c.bound)
		}
	}
}

func TestCondition(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "gemm_wmma", Shape: "small", Backend: "emu"})
	q := &inquiry{run: run}
	at := q.condition(lineWith(t, run, "TS_OWN(TS_PRE"))
	if at == nil || !strings.Contains(q.quoted(at), "continue;") {
		t.Errorf("%v, expected the line that leaves cells past the edges out", at)
	}
	if at := q.condition(lineWith(t, run, "const int tiles =")); at != nil {
		t.Errorf("%v decides about what every thread executes", at)
	}
}
