package memo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestMemoComputesOnce(t *testing.T) {
	var s LRU[string, int]
	var mu sync.Mutex
	var wg sync.WaitGroup
	made := 0
	for range 8 {
		wg.Go(func() {
			v, err := s.Get(t.Context(), "k", func() (int, error) {
				mu.Lock()
				defer mu.Unlock()
				made++
				return 7, nil
			})
			if v != 7 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
}

// Every waiting caller gets the error, and a later call computes again. A cancelled computation is repeated
// by a caller that waited for it.
func TestMemoErrors(t *testing.T) {
	var s LRU[string, int]
	broken := errors.New("broken")
	for range 2 {
		if _, err := s.Get(t.Context(), "k", func() (int, error) {
			return 0, broken
		}); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	entered, first := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.Get(ctx, "k", func() (int, error) {
			close(entered)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		first <- err
	}()
	<-entered
	second := make(chan error, 1)
	go func() {
		v, err := s.Get(t.Context(), "k", func() (int, error) { return 3, nil })
		if v != 3 {
			err = fmt.Errorf("got %d, %w", v, err)
		}
		second <- err
	}()
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Get(gone, "k", func() (int, error) {
		return 0, broken
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not wait: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the second: %v", err)
	}
}

// A computation that ended by its own caller's time limit, whatever error it returns, is repeated by a
// waiting caller.
func TestMemoTimeLimit(t *testing.T) {
	var s LRU[string, int]
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond,
		errors.New("no result within the time limit of 1ms"))
	defer cancel()
	entered := make(chan struct{})
	go s.Get(ctx, "k", func() (int, error) {
		close(entered)
		<-ctx.Done()
		return 0, context.Cause(ctx) // as nvcc's answers
	})
	<-entered
	if v, err := s.Get(t.Context(), "k", func() (int, error) { return 3, nil }); v != 3 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
}

func TestMemoRemovesLeastRecentlyUsed(t *testing.T) {
	s := LRU[int, int]{Limit: 3}
	made := 0
	get := func(k int) {
		if v, err := s.Get(t.Context(), k, func() (int, error) {
			made++
			return 10 * k, nil
		}); v != 10*k || err != nil {
			t.Errorf("%d: got %d, %v", k, v, err)
		}
	}
	for _, k := range []int{1, 2, 3, 1, 4} { // 2 is the least recently used
		get(k)
	}
	if made != 4 {
		t.Fatalf("made %d", made)
	}
	get(1)
	get(3)
	get(4)
	if made != 4 {
		t.Errorf("one of 1, 3, 4 was dropped")
	}
	get(2)
	if made != 5 {
		t.Errorf("2 was not removed")
	}
}
