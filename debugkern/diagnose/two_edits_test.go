package diagnose_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/diagnose"
)

// Two edits that have nothing to do with each other are two causes, each at its own stage, and are called
// independent where an edit that was tried separates them.
func TestTwoEditsAreTwoCauses(t *testing.T) {
	type edit struct{ from, to string } // regular expression in the PTX, and what takes its matches' place
	for i, c := range []struct {
		name, kernel, shape string
		defines             []string
		edits               []edit
		want                []func(*diagnose.Cause) bool
	}{
		{
			"scores without their scale, another base of the exponential", "attention_causal", "small", nil,
			[]edit{
				{`mul\.rn\.f32 \t(%f99), (%f399), %f398;`, "mov.f32 \t$1, $2;"}, {"0f3FB8AA3B", "0f3FB9AA3B"},
			},
			[]func(*diagnose.Cause) bool{spoils("S"), spoils("P")},
		},
		{
			"a fragment read with no __syncwarp, another base of the exponential",
			"sdpa_fp8_stage_c_wmma", "partial49",
			[]string{"USE_CP_ASYNC=1", "USE_WMMA_PV=1"},
			[]edit{{"0f3FB8AA3B", "0f3FB9AA3B"},
				{`(?s)(.*)\tbar\.warp\.sync[^\n]*\n(.*\tbar\.warp\.sync.*)`, "$1$2"}},
			[]func(*diagnose.Cause) bool{
				func(c *diagnose.Cause) bool { return c.Kind == "race" }, spoils("P"),
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn(t, i+1, 2)
			t.Parallel()
			defines := append([]string{"TS_PROBES=1"}, c.defines...)
			d := run(t, plantedPTX(t, c.kernel, defines, func(text string) string {
				for _, e := range c.edits {
					re := regexp.MustCompile(e.from)
					if !re.MatchString(text) {
						t.Fatalf("the PTX has no %s", e.from)
					}
					text = re.ReplaceAllString(text, e.to)
				}
				return text
			}), c.shape)
			story := strings.Join(d.Story, "\n")
			if len(d.Causes) != len(c.want) {
				t.Fatalf("want %d causes:\n%s", len(c.want), story)
			}
			for i, is := range c.want {
				if !slices.ContainsFunc(d.Causes, func(c diagnose.Cause) bool { return is(&c) }) {
					t.Errorf("cause %d of the table is missing:\n%s", i+1, story)
				}
			}
			if !strings.Contains(d.Story[0], "2 independent causes") {
				t.Errorf("edits that were tried separate them:\n%s", story)
			}
			t.Log(story)
		})
	}
}

// spoils returns what holds for a cause that is a stage's arithmetic.
func spoils(stage string) func(*diagnose.Cause) bool {
	return func(c *diagnose.Cause) bool { return c.Kind == "stage" && slices.Contains(c.Stages, stage) }
}
