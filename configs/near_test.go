package configs

import (
	"slices"
	"testing"
)

func TestMistyped(t *testing.T) {
	known := []string{"open", "quit", "break", "breakpoints", "schedule", "s", "seek", "seed"}
	for word, want := range map[string][]string{
		"opne": {"open"}, "quti": {"quit"}, "brek": {"break"}, "scheudel": {"schedule"}, "OPEM": {"open"},
		"seez": {"seek", "seed"}, "x": nil, "regs": nil, "opxy": nil, "breakpiont": {"breakpoints"},
	} {
		if got := Mistyped(word, known); !slices.Equal(got, want) {
			t.Errorf("%s: %v, expected %v", word, got, want)
		}
	}
}
