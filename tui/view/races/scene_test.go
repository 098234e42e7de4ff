package races

import (
	"testing"

	"tilescope/debugkern/scene"
	"tilescope/tui/theme"
)

// TestMeeting: below the strip of warps nothing is said of a variable where the finding has none.
func TestMeeting(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	for name, want := range map[string]string{
		"":   "the whole block",
		"sP": "the whole block; nothing of sP is touched from this line",
	} {
		sc := &scene.Scene{Pair: [2]int{-1, -1}}
		sc.Request.Variable = name
		if got := p.meeting(sc); got != want {
			t.Errorf("variable %q: %q", name, got)
		}
	}
	sc := &scene.Scene{Pair: [2]int{-1, -1}, Accesses: make([]scene.Access, 2)}
	if got := p.meeting(sc); got != "the two sides do not meet in this execution" {
		t.Errorf("two accesses: %q", got)
	}
}
