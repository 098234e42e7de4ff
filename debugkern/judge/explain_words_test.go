package judge

import "testing"

// TestExplainsText: all wrong cells are said to be all, and a share of them is never rounded to 100 %.
func TestExplainsText(t *testing.T) {
	for _, c := range []struct {
		hits, bad int
		want      string
	}{
		{17472, 17472, "explains all 17472 wrong cells"},
		{16000, 17472, "explains 16000 of 17472 wrong cells (92 %)"},
		{17471, 17472, "explains 17471 of 17472 wrong cells (99 %)"},
		{1, 1, "explains the only wrong cell"},
	} {
		if got := explainsText(c.hits, c.bad); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.hits, c.bad, got, c.want)
		}
	}
}
