package diagnose_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was not captured leads: a warp that left, or a loop that ended early, is the first cause, and what
// other warps then compute without it is none.
func TestUncapturedLeads(t *testing.T) {
	for fault, title := range map[string]string{
		"warp_exit":   "not captured: warp 3 exited at line ",
		"warp_short":  "warp 3 left the kv loop after 3 of 4 tiles",
		"short":       "the kv loop ended after 3 of 4 tiles",
		"block_short": "the kv loop ended after 3 of 4 tiles in 2 of 8 blocks",
	} {
		dir := t.TempDir()
		for from, to := range map[string]string{"walk.yaml": "walk.yaml", fault + ".ptx": "walk.ptx"} {
			text, err := os.ReadFile(filepath.Join("../testdata/walk", from))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		d := fresh(t, filepath.Join(dir, "walk.yaml"), "validation")
		if d == nil {
			t.FailNow()
		}
		if len(d.Causes) != 1 || !strings.HasPrefix(d.Causes[0].Title, title) {
			for _, c := range d.Causes {
				t.Errorf("%s: %s", fault, c.Title)
			}
		}
	}
}
