package target

import "testing"

// TestShortName: what a message calls a function.
func TestShortName(t *testing.T) {
	for name, want := range map[string]string{
		"copy16(void *, const void *)": "copy16", "void multiply<(int)16>(const float *)": "multiply",
		"ns::f": "f", "k::{lambda(int)#1}::operator()(int) const": "a lambda",
		"{lambda(int, int, int)#1}": "a lambda",
	} {
		if got := ShortName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
