package needed

import "testing"

// TestFormula writes (x-y)*k, then 2^ of that, times z.
func TestFormula(t *testing.T) {
	c := row(3, 1, 0.75, 2)
	const want = "2^((x - y)*0.75)*z"
	if got, ok := c.Formula(8); !ok || got != want {
		t.Errorf("got %q, %t, expected %q", got, ok, want)
	}
	if got, ok := c.Formula(3); ok {
		t.Errorf("four operations written although three are allowed: %q", got)
	}
	c.Values[6].Name, c.Values[6].Got = "", -2
	if got, _ := c.Formula(8); got != "2^((-2 - y)*0.75)*z" {
		t.Errorf("got %q", got)
	}
}
