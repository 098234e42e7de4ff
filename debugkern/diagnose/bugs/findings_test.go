package bugs

import (
	"regexp"
	"strings"
	"testing"
)

// TestFindings: what a story that begins with a finding says of its cause, and of the change that was tried:
// one bug for each way in which a finding is explained.
func TestFindings(t *testing.T) {
	for _, c := range []struct{ name, says string }{
		{
			"sum-inside-branch", `(?s)lane 0 of warp 0 waits in shfl\.sync.*for lanes 1-31.*they parted at line 72` +
				".*execute warp_sum.*before the branch at .*:72.*the deadlock is gone, nothing is wrong",
		},
		{
			"a-rows-four-apart", "(?s)its row in sA is 4 further from one i to the next, and should be 8, " +
				"THREADS / TILE_K.*write `.*sA\\[buffer\\]\\[i \\* \\(THREADS / TILE_K\\) \\+ t / TILE_K\\].*" +
				"nothing is wrong",
		},
		{
			"b-columns-of-32", "its column in sB does not move with warp % 2, and should by 32: then every store",
		},
		{
			"v-released-as-k", "(?s)one cause.*v_empty\\[0\\], which needs 8 as well, gets none.*write `.*" +
				"mbarrier_arrive\\(&shared.v_empty\\[stage\\]\\);`.*nothing is wrong",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, b := range append(entries(t, third).Bugs, entries(t, open).Bugs...) {
				if b.Name != c.name {
					continue
				}
				d, _ := b.diagnose(t)
				if d == nil {
					return
				}
				if story := strings.Join(d.Story, "\n"); !regexp.MustCompile(c.says).MatchString(story) {
					t.Errorf("the story does not say %q:\n%s", c.says, story)
				}
				return
			}
			t.Fatal("there is no such bug")
		})
	}
}
