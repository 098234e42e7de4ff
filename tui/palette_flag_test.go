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
		"flag USE_WMMA_PX on":    `no flag "USE_WMMA_PX": did you mean USE_WMMA_PV?`,
		"fault p-st":             "no fault p-st in stage2: did you mean p-stale-columns or p-stale-m?",
		"fault p-st on":          "no fault p-st in stage2: did you mean p-stale-columns or p-stale-m?",
		"fault p-stale-m x":      `fault p-stale-m: "x" is none of on, off`,
		"fault p-stale-m off":    "p-stale-m is off already",
		"fault none":             "no fault is on",
		"flag USE_WMMA_PV 7":     `flag USE_WMMA_PV: "7" is none of on, off`,
		"flag USE_WMMA_PV on on": `flag USE_WMMA_PV: "on on" is none of on, off`,
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

// TestFaultCommand: a fault is named with what it is to be, as a flag is; none takes all of them out.
func TestFaultCommand(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	for _, x := range []struct{ line, faults, says string }{
		{"fault p-stale-m on", "p-stale-m", "p-stale-m on"},
		{"fault p-stale-m on", "p-stale-m", "p-stale-m is on already"},
		{"fault sync-p", "p-stale-m sync-p", "sync-p on"},
		{"fault p-stale-m off", "sync-p", "p-stale-m off"},
		{"fault p-stale-m", "sync-p p-stale-m", "p-stale-m on"},
		{"fault none", "", "sync-p, p-stale-m off"},
	} {
		d.command(x.line).hasStatus(x.says)
		if got := strings.Join(d.m.Req.Faults, " "); got != x.faults {
			t.Errorf(":%s: faults %q, expected %q", x.line, got, x.faults)
		}
	}
}
