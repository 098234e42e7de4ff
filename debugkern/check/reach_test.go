package check_test

import (
	"context"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/target"
)

// TestReach: every entry of testdata/reach.ptx reads memory that was never written, or from a lane that does
// not take part; a comment on the line of the read says what comes of it: "// harm: PART OF THE TEXT", or "//
// harmless".
func TestReach(t *testing.T) {
	m, text := readModule(t, "testdata/reach.ptx")
	entry, line := "", 0
	want := map[string]map[int]string{}
	for _, l := range strings.Split(text, "\n") {
		line++
		if rest, ok := strings.CutPrefix(l, ".visible .entry "); ok {
			entry, _, _ = strings.Cut(rest, "(")
			want[entry] = map[int]string{}
		}
		if _, harm, ok := strings.Cut(l, "// harm: "); ok {
			want[entry][line] = harm
		} else if strings.HasSuffix(l, "// harmless") {
			want[entry][line] = ""
		}
	}
	for entry, lines := range want {
		t.Run(entry, func(t *testing.T) {
			k, err := emu.New(chip.SM90()).Load(context.Background(), m, entry)
			if err != nil {
				t.Fatal(err)
			}
			c := check.New(check.Options{Set: check.Reach})
			r, err := k.Launch(context.Background(), (&valueLitmus{block: 32, grid: 1, out: 512}).launch(c))
			if err != nil {
				t.Fatal(err)
			}
			if len(lines) == 0 || strings.HasSuffix(entry, "_ok") != harmless(lines) {
				t.Fatalf("wants %v", lines)
			}
			for _, x := range c.Reached() {
				w, ok := lines[x.Source.Line]
				if !ok || (w == "") != (x.Harm == "") || !strings.Contains(x.Harm, w) {
					t.Errorf("line %d: %s %s: %q, want %q", x.Source.Line, x.Kind, x.Variable, x.Harm, w)
				}
				delete(lines, x.Source.Line)
				found := false
				for _, f := range r.Findings {
					found = found || f.Kind == x.Kind && *f.Source == x.Source && f.Variable == x.Variable &&
						f.Severity == target.SeverityError
				}
				if !found {
					t.Errorf("line %d: the emulator has no finding %s %s: %+v", x.Source.Line, x.Kind,
						x.Variable, r.Findings)
				}
			}
			for l, w := range lines {
				t.Errorf("line %d: nothing is followed, want %q", l, w)
			}
		})
	}
}

func harmless(lines map[int]string) bool {
	for _, w := range lines {
		if w != "" {
			return false
		}
	}
	return true
}
