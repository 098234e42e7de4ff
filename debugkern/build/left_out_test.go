package build

import (
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
)

// TestNotesNameWhatIsLeftOut: every part that no compiler has looked at is named with its line, also one that
// is no declaration.
func TestNotesNameWhatIsLeftOut(t *testing.T) {
	const kernel = "__global__ void k(float* x) {\n    x[threadIdx.x] = 1.0f;\n}\n"
	for source, want := range map[string]string{
		"garbage(":  "left out: garbage (line 4)",
		"int x = ;": "left out: x (line 4)",
		")":         "left out: `)` (line 4)",
		"garbage":   "left out: `garbage` (line 4)",
		"int a;\nint b;\nint c;\nint d;\nint e;\nint f;\nint g;\nint h = ;": "a (line 4), b (line 5), " +
			"c (line 6), d (line 7), e (line 8), f (line 9) and 2 more (lines 10, 11)",
	} {
		x := translate(cuda.Build{Name: "k.cu", Source: kernel + source + "\n"}, nil, nil)
		notes := strings.Join(x.finish(&Build{}, true).Outline.notes(), "\n")
		if !strings.Contains(notes, "the device's part alone was compiled") ||
			!strings.Contains(notes, want) {
			t.Errorf("%q: notes %q, expected %q", source, notes, want)
		}
	}
}
