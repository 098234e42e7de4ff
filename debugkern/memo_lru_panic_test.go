package debugkern

import (
	"context"
	"testing"
	"time"

	"tilescope/debugkern/join"
)

// TestMemoPanics panics in a computation: the callers that wait for it get the panic too, and no caller waits
// for ever.
func TestMemoPanics(t *testing.T) {
	var s memoLRU[string, int]
	making := make(chan struct{})
	first := join.Start(func() *join.Panic {
		return join.Catch(func() {
			_, _ = s.get(context.Background(), "k", func() (int, error) {
				<-making
				panic("BUG: planted")
			})
		})
	})
	for { // until the first one makes it
		s.mu.Lock()
		n := len(s.items)
		s.mu.Unlock()
		if n > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	second := join.Start(func() *join.Panic {
		return join.Catch(func() {
			_, _ = s.get(context.Background(), "k", func() (int, error) { panic("BUG: planted") })
		})
	})
	close(making)
	for i, task := range []*join.Task[*join.Panic]{first, second} {
		select {
		case <-task.Done():
			if p := task.Wait(); p == nil || p.Value != "BUG: planted" {
				t.Errorf("caller %d: panic %v", i, p)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("caller %d still waits", i)
		}
	}
}

// TestCloseEndsWhatIsBuiltAhead closes a session whose Ahead has a context without end.
func TestCloseEndsWhatIsBuiltAhead(t *testing.T) {
	s, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.Ahead(context.Background(), []Request{{Target: "stage2"}, {Target: "stage1"}})
	if n := len(s.builds.items); n > 0 {
		t.Errorf("%d builds were made for a closed session", n)
	}
}
