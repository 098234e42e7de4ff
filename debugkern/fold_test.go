package debugkern

import (
	"slices"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestOneCauseOneFinding: what the emulator and the checkers each say of one thing is told once, the other as its consequence.
func TestOneCauseOneFinding(t *testing.T) {
	at := func(line int) *target.Source { return &target.Source{File: "k.cu", Line: line} }
	stuck := func(lines ...int) target.Finding {
		f := target.Finding{Kind: target.Deadlock, Severity: target.SeverityError, Message: "no thread can go on", Source: at(lines[0]), Count: 1}
		if len(lines) > 1 {
			f.Other = at(lines[1])
		}
		return f
	}
	few := func(line int) target.Finding {
		return target.Finding{Kind: target.Barrier, Message: "only 32 come", Source: at(line), Count: 1}
	}
	unwritten := target.Finding{Kind: target.Uninitialised, Severity: target.SeverityError, Message: "sP is read", Variable: "sP", Space: "shared", Source: at(9), Count: 3}
	race := target.Finding{Kind: target.Race, Message: "sP races", Variable: "sP", Source: at(4), Other: at(9), Missing: "__syncthreads()", Count: 1}
	type told struct{ kind, consequence string }
	for _, c := range []struct {
		name         string
		own, checked []target.Finding
		want         []told
	}{
		{"a barrier that too few come to", []target.Finding{stuck(7)}, []target.Finding{few(7)}, []told{{"barrier", "deadlock: no thread can go on"}}},
		{"two barriers crossed", []target.Finding{stuck(7, 11)}, []target.Finding{few(7), few(11)}, []told{{"deadlock", "only 32 come; only 32 come"}}},
		{"a barrier elsewhere", []target.Finding{stuck(7)}, []target.Finding{few(20)}, []told{{"deadlock", ""}, {"barrier", ""}}},
		{"nobody watched", []target.Finding{stuck(7)}, nil, []told{{"deadlock", ""}}},
		{"a write that comes late", []target.Finding{unwritten}, []target.Finding{race},
			[]told{{"race", "as executed here, the read comes first and finds bytes that nobody has written (3 times)"}}},
	} {
		var got []told
		for _, f := range mergeFindings(c.own, c.checked, probes.Dim3{1, 1, 1}) {
			got = append(got, told{string(f.Kind), f.Consequence})
			if f.Severity != target.SeverityError {
				t.Errorf("%s: %s is no error", c.name, f.Kind)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
