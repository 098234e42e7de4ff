package fragment_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// The checked-in table is what introspection finds: `tilescope lut --header` writes it.
func TestAccumulatorHeaderIsCurrent(t *testing.T) {
	maps, err := debugtest.Open(t).FragmentMaps(t.Context(), debugkern.Request{Backend: "emu"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := maps.AccumulatorHeader()
	if err != nil {
		t.Fatal(err)
	}
	if have, ok := kernels.Source("wmma16x16_accum_lut.h"); !ok || string(have) != text {
		t.Errorf("kernels/wmma16x16_accum_lut.h is not what the emulator gives:\n%s", text)
	}
}

// TestGPUFragmentMaps: a GPU's introspection gives the checked-in table, and every other
// map as the emulator's.
func TestGPUFragmentMaps(t *testing.T) {
	bin := os.Getenv("TILESCOPE_BIN")
	if os.Getenv("TILESCOPE_GPU") == "" || bin == "" {
		t.Skip("needs an NVIDIA GPU and a built program: set TILESCOPE_GPU=1 and TILESCOPE_BIN")
	}
	s, err := debugkern.Open(t.Context(), debugkern.Options{Worker: []string{bin, "__worker"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.FragmentMaps(t.Context(), debugkern.Request{Backend: "cuda"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.FragmentMaps(t.Context(), debugkern.Request{Backend: "emu"})
	if err != nil || len(want.Lanes) == 0 {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Lanes, want.Lanes) {
		t.Errorf("maps of the GPU %v, of the emulator %v", got.Lanes, want.Lanes)
	}
	text, err := got.AccumulatorHeader()
	if have, _ := kernels.Source("wmma16x16_accum_lut.h"); err != nil || string(have) != text {
		t.Errorf("kernels/wmma16x16_accum_lut.h is not what the GPU gives (%v):\n%s", err, text)
	}
}

// Every map that introspection makes is as it was read back on an H200: lane 1, which tells rows from
// columns, and how often a cell occurs.
func TestFragmentMaps(t *testing.T) {
	maps, err := debugtest.Open(t).FragmentMaps(t.Context(), debugkern.Request{Backend: "emu"})
	if err != nil {
		t.Fatal(err)
	}
	acc := []int{2, 3, 130, 131, 10, 11, 138, 139}
	b := []int{32, 48, 160, 176, 40, 56, 168, 184}
	for name, want := range map[string][]int{
		"acc_f32": acc, "acc_f16": acc, "a_row": acc, "a_col": acc, "b_row": b, "b_col": b,
	} {
		lanes := maps.Lanes[name]
		if len(lanes) != 32 || !slices.Equal(lanes[1][:8], want) {
			t.Errorf("%s: lane 1 of %d is %v, want %v", name, len(lanes), lanes[1], want)
			continue
		}
		count := map[int]int{}
		for _, cells := range lanes {
			for _, c := range cells {
				count[c]++
			}
		}
		for c := range 256 {
			if count[c] != len(lanes[0])/8 {
				t.Fatalf("%s: cell %d occurs %d times", name, c, count[c])
			}
		}
	}
}

func TestJudgeLut(t *testing.T) {
	s := debugtest.Open(t)
	right, _ := kernels.Source("wmma16x16_accum_lut.h")
	dir := t.TempDir()
	for _, c := range []struct {
		name, text       string
		covered, ordered bool
		wrong            int
		explanation      string
	}{
		{"right", string(right), true, true, 0, "right"},
		{"sorted", wrongTable(t, "lut-order"), true, false, 128,
			"covers every cell, order wrong: sorted by row"},
		{"hole", wrongTable(t, "lut-hole"), false, false, 1, "never (10,10); more than once (2,10)"},
		{"outside", strings.Replace(string(right), "{0, 0}", "{16, 0}", 1), false, false, 1,
			"never (0,0); outside of the 16×16 tile (16,0); 1 entry is wrong: lane 0 element 0 (16,0) for (0,0)"},
		{
			"plain C", strings.ReplaceAll(strings.Replace(string(right),
				"static __device__ const unsigned char", "static const int", 1), "{8, ", "{0x8u, "), true,
			true, 0, "right",
		},
		{"two lanes exchanged", exchange(string(right)), true, false, 16,
			"order wrong: lanes 0 and 1 exchanged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.name+".h")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			doc, err := s.JudgeLut(t.Context(), debugkern.Request{}, path, fragment.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			if *doc.Covered != c.covered || *doc.Ordered != c.ordered || len(doc.Wrong) != c.wrong ||
				!strings.Contains(doc.Explanation, c.explanation) {
				t.Errorf("covered %v, ordered %v, %d wrong: %s", *doc.Covered, *doc.Ordered, len(doc.Wrong),
					doc.Explanation)
			}
		})
	}
}

// wrongTable is the header as a fault leaves it.
func wrongTable(t *testing.T, fault string) string {
	t.Helper()
	texts, err := kernels.Patched("faults/sdpa_fp8_stage_c_wmma/" + fault + ".patch")
	if err != nil || texts["wmma16x16_accum_lut.h"] == "" {
		t.Fatal(len(texts), err)
	}
	return texts["wmma16x16_accum_lut.h"]
}

// exchange swaps the first two lanes of a table.
func exchange(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasSuffix(l, "// lane 0") {
			lines[i], lines[i+1] = lines[i+1], l
			break
		}
	}
	return strings.Join(lines, "\n")
}

// What has no full table is refused, with the file's name: that is exit 2.
func TestMalformedLut(t *testing.T) {
	s := debugtest.Open(t)
	header, ok := kernels.Source("wmma16x16_accum_lut.h")
	if !ok {
		t.Fatal("no table among the kernels' headers")
	}
	right := string(header)
	last := strings.LastIndex(right, "    {")
	for name, text := range map[string]string{
		"empty": "", "other": "int x[3];", "short lane": strings.Replace(right, "{0, 0}, ", "", 1),
		"missing lane": right[:last] + "};", "words": strings.Replace(right, "{0, 0}", "{a, b}", 1),
		"cut": right[:last], "triple": strings.Replace(right, "{0, 0}", "{0, 0, 0}", 1),
	} {
		path := filepath.Join(t.TempDir(), "broken.h")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.JudgeLut(t.Context(), debugkern.Request{}, path, fragment.Filter{})
		if e, ok := err.(*report.Error); !ok || e.Code != report.CodeUsage ||
			!strings.Contains(err.Error(), "broken.h") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
