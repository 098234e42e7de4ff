package bugs

import (
	"slices"
	"strings"
	"testing"
)

// One edit is one cause, whatever it shows at; for each rule by which suspects are one, a bug that needs it,
// and what its story has to say then.
func TestOneEditIsOneCause(t *testing.T) {
	list := developing(t)
	for name, says := range map[string]string{
		"log2e-short":           "also seen of it: arithmetic of stage Y",            // the same cure
		"chunk-half-twice":      "taken at own_flashcore.cuh:92",                     // one load
		"row-128-apart":         "the address that mean, var share is computed at ",  // moved in a trial
		"padded-head":           "the address that Q, K, V, O share is computed at ", // found out of bounds
		"y-rows-past":           "out-of-bounds on X, Y",                             // one loop
		"one-row-too-many":      "out-of-bounds on Q, dO, K, V",                      // one line
		"store-left-half-twice": "columns 8-15 of every 16 of sS are read and never", // one address
		"odd-columns-unwritten": "the odd columns of O are never written",            // not arithmetic
		"exit-without-rows":     "also seen of it: uninitialised on sKT",             // a warp left
		"gradients-start-anew":  "also seen of it: arithmetic of stage dK",           // one line, one rule
		"maximum-not-stored":    "in the loop and never written there",

		// an access that reads nothing, a function
		"logarithms-read-four-at-a-time": "also seen of it: nan-origin",
		"exponential-as-a-limit":         "what is wrong in Y takes part in l too",

		"gradients-stored-to-a-quarter": "also seen of it: unwritten on dV", // stores in one loop
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn(t, name)
			i := slices.IndexFunc(list, func(b *bug) bool { return b.Name == name })
			if i < 0 {
				t.Fatal("no such bug")
			}
			d := list[i].answer(t)
			if d == nil {
				t.FailNow()
			}
			story := strings.Join(d.Story, "\n")
			if len(d.Causes) != 1 || !strings.Contains(story, says) || len(d.Story) > 12 {
				t.Errorf("%d causes, want one that says %q:\n%s", len(d.Causes), says, story)
			}
		})
	}
}
