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

// TestFormulaWithSharedValues gives what two operations use a letter.
func TestFormulaWithSharedValues(t *testing.T) {
	c := tangent(0.5)
	c.Fold()
	const want = "(a - 1)/(a + 1), where a = exp(1.25*0.4)"
	for i := range c.Values {
		if c.Values[i].Name == "number" {
			c.Values[i].Name = ""
		}
	}
	if got, ok := c.Formula(8); !ok || got != want {
		t.Errorf("got %q, %t, expected %q", got, ok, want)
	}
}
