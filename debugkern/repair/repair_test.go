package repair

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// question is about the first stage that is wrong in a run.
func question(t *testing.T, run *debugkern.Run) Question {
	t.Helper()
	for i := range run.Report.Stages {
		if st := &run.Report.Stages[i]; st.Verdict == report.Wrong && st.FirstBad != nil {
			b := st.FirstBad
			return Question{
				Stage: probes.Stage(st.Name), Block: b.Block, KVTile: max(b.KVTile, 0),
				Cells: [][2]int{{b.Row, b.Col}},
			}
		}
	}
	t.Fatal("no stage is wrong")
	return Question{}
}

// TestSkipped: a store under a condition that leaves stale cells is no part of what made these; without the
// condition the stage is right.
func TestSkipped(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{
		Target: "stage2", Shape: "partial49", Faults: []string{"p-stale-columns"}, Backend: "emu",
	})
	q := question(t, run)
	q.Skipped = true
	r, err := Search(t.Context(), run, q)
	if err != nil || len(r.Cures) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if c := r.Cures[0]; c.Kind != Comparison || c.What != Always {
		t.Errorf("got %q (%s), expected the condition to be left out", c.What, c.Kind)
	}
}

// TestSearch: one wrong operation is found, at its line, by an edit that puts it right. One in three is
// searched for, a number and a superfluous operation; with TILESCOPE_LONG (make test-long) all.
func TestSearch(t *testing.T) {
	for i, c := range []struct {
		target, shape, fault string
		kind                 Kind
		what                 string
		line                 string // a part of the source's line
	}{
		{"stage2", "validation", "kt-ld", Number, "64 (HEAD_DIM) in place of 72", "load_matrix_sync(k_frag"},
		{"stage2", "validation", "kt-rowmajor", Operation, "column-major in place of row-major",
			"load_matrix_sync(k_frag"},
		{"stage2", "validation", "k-scale-head", Number, "0 in place of 1", "Ks["},
		{"stage2", "validation", "scale-twice", Superfluous, "without the multiplication (*)", "scale"},
		{"stage2", "validation", "reduce-lane0", Operation,
			"__shfl_xor_sync in place of __shfl_down_sync", "__shfl"},
		{"gemm_wmma", "ragged", "b-colmajor", Operation, "row-major in place of column-major",
			"load_matrix_sync(b"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			if i%3 != 0 && os.Getenv("TILESCOPE_LONG") == "" {
				t.Skip("two of six are searched for without TILESCOPE_LONG: make test-long has all")
			}
			run := debugtest.Run(t, debugkern.Request{
				Target: c.target, Shape: c.shape, Faults: []string{c.fault}, Backend: "emu",
			})
			r, err := Search(t.Context(), run, question(t, run))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Cures) == 0 || r.Tried == 0 || r.Tried > r.Candidates {
				t.Fatalf("%+v", r)
			}
			x := &r.Cures[0]
			if x.Kind != c.kind || !strings.Contains(x.What, c.what) {
				t.Errorf("%s: %s: %s, want %s: %s", c.fault, x.Kind, x.What, c.kind, c.what)
			}
			text := run.Source(x.Source.File)
			if x.Source.Line < 1 || x.Source.Line > len(text) ||
				!strings.Contains(text[x.Source.Line-1], c.line) {
				t.Errorf("%s:%d is not the line with %q", x.Source.File, x.Source.Line, c.line)
			}
			for _, e := range x.Edits {
				if b := target.Blame(run.Entry(), e.At); b.Line != x.Source.Line {
					t.Errorf("it edits %s:%d, too", b.File, b.Line)
				}
			}
		})
	}
}

// TestSearchOfRightKernel: where nothing is wrong there is nothing to try.
func TestSearchOfRightKernel(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: "small", Backend: "emu"})
	r, err := Search(t.Context(), run, Question{Stage: "S", Cells: [][2]int{{0, 0}}})
	if err != nil || r.Tried != 0 || len(r.Cures) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSearchIsRepeatable: the same candidates are tried in the same order, however many cores there are.
func TestSearchIsRepeatable(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{
		Target: "stage2", Shape: "small", Faults: []string{"p-normalised"}, Backend: "emu",
	})
	var first *Result
	for range 2 {
		r, err := Search(t.Context(), run, question(t, run))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
			continue
		}
		if r.Tried != first.Tried || len(r.Cures) != len(first.Cures) ||
			len(r.Cures) > 0 && r.Cures[0].What != first.Cures[0].What {
			t.Errorf("%+v, then %+v", first, r)
		}
	}
}

// TestOtherMasks: of a remainder other powers of two come first, of any mask those with one bit less.
func TestOtherMasks(t *testing.T) {
	for _, c := range []struct {
		v    int64
		want []int64
	}{
		{7, []int64{3, 15, 1, 31}}, {24, []int64{16, 8}},
	} {
		if got := otherMasks(c.v); len(got) < len(c.want) || !slices.Equal(got[:len(c.want)], c.want) {
			t.Errorf("otherMasks(%d) = %v, want %v first", c.v, got, c.want)
		}
	}
}

// TestJoins: a lane's mask with a warp's bits is the lane's mask joined; a longer remainder is another.
func TestJoins(t *testing.T) {
	for _, c := range []struct {
		mask, v uint64
		want    bool
	}{{39, 7, true}, {7, 7, true}, {31, 7, false}, {35, 7, false}} {
		if got := joins(c.mask, c.v); got != c.want {
			t.Errorf("joins(%d, %d) = %t", c.mask, c.v, got)
		}
	}
}

// TestBitsOfFloat: a constant without a type is a float where its bits are those of one that a kernel may
// have.
func TestBitsOfFloat(t *testing.T) {
	for _, c := range []struct {
		op, mod string
		v       uint32
		x       float64
		may     bool
	}{
		{"mov", "b32", 0x3f800000, 1, true},
		{"st", "u32", 0xff800000, math.Inf(-1), true},
		{"mov", "b32", 0, 0, true},
		{"mov", "b32", 4096, 0, false},
		{"mov", "b32", 0x3c003c00, 0, false}, // two 16-bit floats
		{"mov", "b32", 0xffffffff, 0, false},
		{"add", "u32", 0x3f800000, 0, false},
	} {
		in := &ptx.Instr{Op: c.op, Mods: []string{c.mod}, Args: []ptx.Operand{{}, ptx.IntegerOf(int64(c.v))}}
		if x, may := bitsOfFloat(in, 1); may != c.may || may && x != c.x {
			t.Errorf("%s.%s %#x: %v, %t", c.op, c.mod, c.v, x, may)
		}
	}
}
