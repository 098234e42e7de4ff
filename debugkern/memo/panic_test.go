package memo

import (
	"context"
	"testing"
	"time"

	"tilescope/debugkern/join"
)

// TestMemoPanics panics in a computation: the callers that wait for it get the panic too, and no caller waits
// for ever.
func TestMemoPanics(t *testing.T) {
	var s LRU[string, int]
	making := make(chan struct{})
	first := join.Start(func() *join.Panic {
		return join.Catch(func() {
			_, _ = s.Get(context.Background(), "k", func() (int, error) {
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
			_, _ = s.Get(context.Background(), "k", func() (int, error) { panic("BUG: planted") })
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
