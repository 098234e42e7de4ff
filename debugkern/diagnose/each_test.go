package diagnose

import (
	"context"
	"testing"

	"tilescope/debugkern/join"
)

// A bug in one of several experiments shows where they were started, and the others end.
func TestEachRaisesBugsAgain(t *testing.T) {
	q := &inquiry{ctx: context.Background(), o: Options{OnEvent: func(Event) {}}}
	defer func() {
		if v, ok := recover().(*join.Panic); !ok || v.Value != "BUG: here" {
			t.Errorf("recovered %v", v)
		}
	}()
	err := q.each(8, func(i int) error {
		if i == 3 {
			panic("BUG: here")
		}
		return nil
	}, func() { t.Error("done") })
	t.Errorf("returned %v", err)
}
