package join

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func explode() { panic("BUG: planted") }

// raised returns what f panics with.
func raised(t *testing.T, f func()) *Panic {
	t.Helper()
	var got any
	func() {
		defer func() { got = recover() }()
		f()
	}()
	p, ok := got.(*Panic)
	if !ok {
		t.Fatalf("raised %T %v, want a *Panic", got, got)
	}
	if p.Error() != "BUG: planted" || !strings.Contains(string(p.Stack), "join.explode") {
		t.Fatalf("raised %q with the stack\n%s\nwant the goroutine's own panic and stack", p, p.Stack)
	}
	return p
}

// TestPanicReachesWhoWaits raises the panic of a goroutine in the one that waits, through any number
// of groups, as it was.
func TestPanicReachesWhoWaits(t *testing.T) {
	raised(t, func() { Run(explode).Wait() })
	raised(t, func() { Raise(fmt.Errorf("worker: %w", Try(func() error { explode(); return nil }))) })
	raised(t, func() {
		var outer Group
		outer.Go(func() {
			var inner Group
			inner.Go(explode)
			inner.Wait()
		})
		outer.Wait()
	})
}

// TestGroupStops ends the other goroutines of a group at the first panic.
func TestGroupStops(t *testing.T) {
	stop := make(chan struct{})
	g := Group{Stop: func() { close(stop) }}
	for range 3 {
		g.Go(func() {
			select {
			case <-stop:
			case <-time.After(10 * time.Second):
				t.Error("not stopped")
			}
		})
	}
	g.Go(explode)
	g.Go(explode)
	raised(t, g.Wait)
}

// TestResults are what goroutines without a panic return.
func TestResults(t *testing.T) {
	if n := Start(func() int { return 7 }).Wait(); n != 7 {
		t.Errorf("result %d, want 7", n)
	}
	sad := errors.New("sad")
	if err := Try(func() error { return sad }); err != sad {
		t.Errorf("error %v, want %v", err, sad)
	}
	Raise(nil)
	Raise(sad)
	var g Group
	g.Wait()
}
