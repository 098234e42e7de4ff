package tui

import (
	"maps"
	"strings"
	"testing"
)

// TestFlagCommand: :flag sets a flag by on, off or a value, and without one takes the next value as view
// Flags does.
func TestFlagCommand(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	for _, x := range []struct{ line, set string }{
		{"flag USE_WMMA_PV off", "0"},
		{"flag USE_WMMA_PV on", ""}, // the variant's own value
		{"flag USE_WMMA_PV", "0"},
		{"flag USE_WMMA_PV 1", ""},
	} {
		want := map[string]string{}
		if x.set != "" {
			want["USE_WMMA_PV"] = x.set
		}
		if got := d.command(x.line).last().Set; !maps.Equal(got, want) {
			t.Errorf(":%s: set %v, expected %v", x.line, got, want)
		}
	}
	n := len(d.e.Asked())
	for line, want := range map[string]string{
		"flag USE_NOTHING on":    `no flag "USE_NOTHING" (known: USE_CP_ASYNC `,
		"flag USE_WMMA on":       `no flag "USE_WMMA": did you mean USE_WMMA_PV?`,
		"fault p-st":             "no fault p-st in stage2: did you mean p-stale-columns or p-stale-m?",
		"flag USE_WMMA_PV 7":     `flag USE_WMMA_PV: "7" is none of on, off`,
		"flag USE_WMMA_PV on on": `flag USE_WMMA_PV: "on on" is none of on, off`,
		"flag":                   ":flag wants NAME [on|off|VALUE]",
	} {
		d.command(line).hasStatus(want)
	}
	if len(d.e.Asked()) != n {
		t.Error("a refused flag ran")
	}
	for typed, offered := range map[string][]string{
		"flag USE_WMMA_PV o": {"flag USE_WMMA_PV on", "flag USE_WMMA_PV off"},
		"set USE_WMMA_PV":    {"set USE_WMMA_PV=on", "set USE_WMMA_PV=off"},
		"set":                {"NAME=on|off|VALUE"},
	} {
		d.press(":").typed(typed)
		for _, want := range offered {
			if !strings.Contains(d.text(), want) {
				t.Errorf("%q is not offered for %q:\n%s", want, typed, d.text())
			}
		}
		d.press("esc")
	}
}
