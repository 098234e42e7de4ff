package tui

import "testing"

// TestMemoryIsReleasedOnceWorkHasEnded: a run's end starts the wait, another run in between starts it anew,
// and nothing is released while something runs or where nothing ran.
func TestMemoryIsReleasedOnceWorkHasEnded(t *testing.T) {
	r := release{after: 1}
	if r.watch(false) != nil {
		t.Error("it waits although nothing has run")
	}
	if r.watch(true) != nil {
		t.Error("it waits while something runs")
	}
	wait := r.watch(false)
	if wait == nil {
		t.Fatal("the end of work starts no wait")
	}
	first := wait().(releaseDueMsg)
	if r.due(first, true) != nil {
		t.Error("it releases while something runs")
	}
	r.watch(true)
	if r.due(first, false) != nil {
		t.Error("it releases although something ran since")
	}
	second := r.watch(false)().(releaseDueMsg)
	if r.due(first, false) != nil {
		t.Error("an earlier wait releases")
	}
	free := r.due(second, false)
	if free == nil {
		t.Fatal("nothing is released")
	}
	if _, ok := free().(releasedMsg); !ok || r.watch(false) != nil {
		t.Error("a release starts another wait")
	}
}
