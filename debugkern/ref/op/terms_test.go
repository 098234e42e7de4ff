package op

import "testing"

// Every term has a name, a coefficient and what it comes from; names tell terms apart.
func TestTermsAreExplained(t *testing.T) {
	seen := map[string]bool{}
	for x := range NumTerms {
		if i := terms[x]; i.name == "" || i.cause == "" || !(i.coef > 0) || seen[i.name] {
			t.Errorf("term %d: %+v", x, i)
		}
		seen[x.String()] = true
	}
}
