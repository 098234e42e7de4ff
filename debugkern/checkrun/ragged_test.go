package checkrun

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// ragged is a launch of testdata/ragged.cu over sequences of a length, as PTX.
func ragged(name string, length int) discoverCase {
	dims := fmt.Sprintf("[2,%d,32]", length)
	return discoverCase{
		name: name, file: "testdata/" + name + ".ptx", grid: probes.Dim3{(length + 31) / 32, 2, 1},
		block: probes.Dim3{64, 1, 1},
		args: []string{
			"randn:f16" + dims, "randn:f16" + dims, "randn:f16" + dims, "unwritten:f32" + dims,
			fmt.Sprint(length),
		},
	}
}

// captured lists the stages of a run that are judged everywhere.
func captured(run *debugkern.Run) (names string) {
	for _, st := range run.Report.Stages {
		if st.Verdict == "ok" && st.NotCaptured == 0 && st.NotReached == 0 {
			names += st.Name
		}
	}
	return names
}

// TestDiscoverRagged: sequences that fill neither the last block of queries nor the last tile of keys. What
// is written agrees with the launch that it was made from, whatever could be found.
func TestDiscoverRagged(t *testing.T) {
	s := discoverSession(t)
	for _, c := range []struct {
		name   string
		length int
		stages string
		text   []string
		notes  []string
	}{
		{"ragged", 33, "SmlPUO", nil, nil},  // one key in the last tile
		{"ragged", 41, "SmlPUO", nil, nil},  // keys of the last tile in both halves of a product
		{"ragged", 31, "SmlPUO", nil, nil},  // one block
		{"ragged", 100, "SmlPUO", nil, nil}, // 4 queries in the last block
		// The first block comes to the copy with the mask alone.
		{"ragged_causal", 40, "SmlPUO", []string{"# So was block 1,0,0, for what only it executes."}, nil},
		// The last block comes to the copy without a mask an iteration earlier than the others.
		{"ragged_causal", 100, "SmlPUO", []string{`- div(query, 16) + n"`}, nil},
		// Half the lanes of the second warp have no row: they have numbers alone.
		{"ragged_causal", 20, "SmlPUO", nil, nil},
		// No values of the second warp exist: where they would lie is not known.
		{
			"ragged", 16, "O", nil, []string{
				"not found: scores: no register holds its values",
				"not found: capture of weights: block 0,0,0: threads hold different values",
			},
		},
	} {
		t.Run(fmt.Sprint(c.name, c.length), func(t *testing.T) {
			k := ragged(c.name, c.length)
			doc, out := k.discovered(t, s)
			for _, want := range c.text {
				if !strings.Contains(doc.Text, want) {
					t.Errorf("the manifest has no %q:\n%s", want, doc.Text)
				}
			}
			for _, want := range c.notes {
				if !strings.Contains(strings.Join(doc.Notes, "\n"), want) {
					t.Errorf("no note %q in %q", want, doc.Notes)
				}
			}
			run, err := s.Run(context.Background(), debugkern.Request{Target: out, Backend: "emu"}, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, doc.Text)
			}
			if run.Report.Verdict != report.Agree || len(run.Report.Findings) > 0 {
				t.Errorf("verdict %s, guilty %+v, findings %+v", run.Report.Verdict, run.Report.Guilty,
					run.Report.Findings)
			}
			if got := captured(run); got != c.stages {
				t.Errorf("judged %s, want %s\n%s", got, c.stages, doc.Text)
			}
		})
	}
}

// TestDiscoverRaggedWrong: a wrong kernel has no stage that it does not compute, and what it leaves
// is found to be wrong.
func TestDiscoverRaggedWrong(t *testing.T) {
	s := discoverSession(t)
	for _, c := range []struct {
		what, name, old, by string
		length              int
		stay                string
	}{
		{"half of l is not rescaled without a mask", "ragged_causal",
			"fma.rn.f32 	%f567, %f440, %f567, %f452;", "add.f32 	%f567, %f567, %f452;", 100, "SmPU"},
		{"a column of U is not rescaled without a mask", "ragged_causal", "mul.f32 	%f564, %f440, %f564;",
			"", 100, "SmlP"},
		{"half of l is not rescaled", "ragged", "fma.rn.f32 	%f567, %f440, %f567, %f452;",
			"add.f32 	%f567, %f567, %f452;", 41, "SmPU"},
	} {
		k := ragged(c.name, c.length)
		k.edit = func(text string) string { return strings.Replace(text, c.old, c.by, 1) }
		doc, out := k.discovered(t, s)
		if !strings.Contains(doc.Text, "# not found: result: ") {
			t.Errorf("%s: the manifest does not have it:\n%s", c.what, doc.Text)
		}
		run, err := s.Run(context.Background(), debugkern.Request{Target: out, Backend: "emu"}, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if got := captured(run); got != c.stay || run.Report.Verdict != report.Diverge ||
			len(run.Report.Guilty) != 1 || run.Report.Guilty[0].Stage != "O" {
			t.Errorf("%s: verdict %s, right are %s, want %s; guilty %+v", c.what, run.Report.Verdict, got,
				c.stay, run.Report.Guilty)
		}
	}
}
