package checked

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestMergedFindings: one cause is one finding, the one that names what is missing.
func TestMergedFindings(t *testing.T) {
	at := func(line int) *target.Source { return &target.Source{File: "k.cu", Line: line} }
	own := []target.Finding{
		{Kind: target.Uninitialised, Severity: target.SeverityError, Variable: "sS", Space: "shared",
			Source: at(20), Count: 7},
		{Kind: target.Uninitialised, Severity: target.SeverityError, Variable: "x", Space: "local",
			Source: at(20)},
		{Kind: target.Barrier, Severity: target.SeverityError, Source: at(30), Message: "backend's"},
	}
	checked := []target.Finding{
		{Kind: target.BankConflict, Source: at(5)},
		{Kind: target.Race, Variable: "sS", Source: at(10), Other: at(20), Missing: "__syncthreads"},
		{Kind: target.Barrier, Source: at(30), Message: "checker's"},
	}
	got := Merge(own, checked, probes.Dim3{1, 1, 1})
	var kinds []string
	for _, f := range got {
		kinds = append(kinds, string(f.Kind)+" "+f.Variable)
	}
	if s := strings.Join(kinds, ", "); s != "uninitialised x, barrier , race sS, bank-conflict " {
		t.Errorf("merged to %s", s)
	}
	if got[1].Message != "backend's" || !strings.Contains(got[2].Consequence, "in 7 reads") ||
		got[3].Severity != target.SeverityAdvice {
		t.Errorf("%+v", got)
	}
}

// TestMergedShuffle: a NaN that a shuffle takes from a lane that does not take part is a consequence of the
// shuffle; one made elsewhere is not.
func TestMergedShuffle(t *testing.T) {
	at := func(line int) *target.Source { return &target.Source{File: "k.cu", Line: line} }
	own := []target.Finding{{Kind: target.Shuffle, Severity: target.SeverityError, Source: at(20)}}
	checked := []target.Finding{
		{Kind: target.NaNOrigin, Variable: "out", Source: at(20), Consequence: "→ out[0]"},
		{Kind: target.NaNOrigin, Variable: "out", Source: at(21), Consequence: "→ out[1]"},
	}
	got := Merge(own, checked, probes.Dim3{1, 1, 1})
	if len(got) != 2 || got[0].Kind != target.Shuffle ||
		!strings.HasSuffix(got[0].Consequence, "reaches out[0]") || got[1].Source.Line != 21 {
		t.Errorf("%+v", got)
	}
}

// TestOneCauseOneFinding: what the emulator and the checkers each report of one thing is one finding, the
// other its consequence.
func TestOneCauseOneFinding(t *testing.T) {
	at := func(line int) *target.Source { return &target.Source{File: "k.cu", Line: line} }
	stuck := func(lines ...int) target.Finding {
		f := target.Finding{
			Kind: target.Deadlock, Severity: target.SeverityError, Message: "no thread can go on",
			Source: at(lines[0]), Count: 1,
		}
		if len(lines) > 1 {
			f.Other = at(lines[1])
		}
		return f
	}
	few := func(line int) target.Finding {
		return target.Finding{Kind: target.Barrier, Message: "only 32 come", Source: at(line), Count: 1}
	}
	unwritten := target.Finding{
		Kind: target.Uninitialised, Severity: target.SeverityError, Message: "sP is read", Variable: "sP",
		Space: "shared", Source: at(9), Count: 3,
	}
	race := target.Finding{
		Kind: target.Race, Message: "sP races", Variable: "sP", Source: at(4), Other: at(9),
		Missing: "__syncthreads()", Count: 1,
	}
	type reported struct{ kind, consequence string }
	for _, c := range []struct {
		name         string
		own, checked []target.Finding
		want         []reported
	}{
		{"a barrier that too few come to", []target.Finding{stuck(7)}, []target.Finding{few(7)},
			[]reported{{"barrier", "deadlock: no thread can go on"}}},
		{"two barriers crossed", []target.Finding{stuck(7, 11)}, []target.Finding{few(7), few(11)},
			[]reported{{"deadlock", "only 32 come; only 32 come"}}},
		{"a barrier elsewhere", []target.Finding{stuck(7)}, []target.Finding{few(20)},
			[]reported{{"deadlock", ""}, {"barrier", ""}}},
		{"nobody watched", []target.Finding{stuck(7)}, nil, []reported{{"deadlock", ""}}},
		{"a write that comes late", []target.Finding{unwritten}, []target.Finding{race},
			[]reported{
				{
					"race", "as executed here, the read comes first and finds bytes that were never written (in 3 reads)",
				},
			}},
	} {
		var got []reported
		for _, f := range Merge(c.own, c.checked, probes.Dim3{1, 1, 1}) {
			got = append(got, reported{string(f.Kind), f.Consequence})
			if f.Severity != target.SeverityError {
				t.Errorf("%s: %s is no error", c.name, f.Kind)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAnotherBuffer: a read before any write is a symptom of a copy that is not waited for in the same
// buffer of a ring alone.
func TestAnotherBuffer(t *testing.T) {
	at := &target.Source{File: "k.cu", Line: 7}
	early := target.Finding{
		Kind: target.CpAsync, Variable: "ring", Index: []int{1, 0, 4}, Source: at, Other: at,
	}
	for _, c := range []struct {
		index []int
		want  bool
	}{{[]int{1, 2, 3}, true}, {[]int{0, 0, 4}, false}, {nil, true}} {
		f := target.Finding{Kind: target.Uninitialised, Space: target.SpaceShared.String(), Variable: "ring",
			Index: c.index, Source: at}
		if got := Symptom(&f, &early); got != c.want {
			t.Errorf("ring%v: %v", c.index, got)
		}
	}
	plane := target.Finding{Kind: target.Uninitialised, Space: target.SpaceShared.String(), Variable: "tile",
		Index: []int{0, 3}, Source: at}
	row := target.Finding{Kind: target.CpAsync, Variable: "tile", Index: []int{4, 3}, Source: at}
	if !Symptom(&plane, &row) {
		t.Error("two rows of one tile count as two buffers")
	}
}
