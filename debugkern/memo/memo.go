// Package memo keeps computed values by key, for any number of concurrent callers.
//
// The one idea: callers that want the same value at the same time share one computation, and a caller that is
// cancelled costs the others nothing: the next of them computes it.
//
// golang.org/x/sync/singleflight gives every waiter the error of the caller that was cancelled, and keeps no
// values; LRUs keep values and share no computation. Neither waits under a context.
package memo

import (
	"context"
	"sync"

	"tilescope/debugkern/join"
)

// LRU is a single-flight cache: concurrent callers of Get with the same key share one computation, and
// later callers get its value. Errors are returned to the callers that share the computation, and not stored.
// Where more than Limit values are stored (0: no limit), the least recently used ones are removed. The zero
// value is ready to use, by any number of goroutines.
type LRU[K comparable, V any] struct {
	Limit int

	mu    sync.Mutex
	items map[K]*entry[V]
	clock uint64
}

// entry is a stored value, or a computation under way.
type entry[V any] struct {
	made      chan struct{} // closed once v or err is set
	v         V
	err       error
	cancelled bool // the computation failed, and the context of the caller that ran it had ended
	asked     uint64
}

// Get returns the value of a key, computed by fresh where none is stored. A caller that waits for another's
// computation returns ctx's error where ctx ends first; where that computation was cancelled, it computes the
// value itself. The caller that runs fresh waits until fresh returns, so fresh has to observe ctx. A panic in
// fresh is raised in every caller.
func (s *LRU[K, V]) Get(ctx context.Context, key K, fresh func() (V, error)) (V, error) {
	for {
		item, first := s.ask(key)
		if first {
			item.err = join.Try(func() (err error) { item.v, err = fresh(); return err })
			item.cancelled = item.err != nil && ctx.Err() != nil
			s.settle(key, item)
			join.Raise(item.err)
			return item.v, item.err
		}
		select {
		case <-item.made:
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
		join.Raise(item.err)
		if !item.cancelled {
			return item.v, item.err
		}
		if ctx.Err() != nil {
			var none V
			return none, ctx.Err()
		}
		// the caller that computed it was cancelled: try again
	}
}

// ask returns the entry of a key, and true where it is new: the caller has to compute it then.
func (s *LRU[K, V]) ask(key K) (item *entry[V], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	if item = s.items[key]; item != nil {
		item.asked = s.clock
		return item, false
	}
	if s.items == nil {
		s.items = map[K]*entry[V]{}
	}
	item = &entry[V]{made: make(chan struct{}), asked: s.clock}
	s.items[key] = item
	return item, true
}

// settle wakes the callers that wait for an entry, removes it if it failed, and removes the least recently
// used values beyond the limit.
func (s *LRU[K, V]) settle(key K, item *entry[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(item.made)
	if item.err != nil {
		if s.items[key] == item { // not cleared meanwhile
			delete(s.items, key)
		}
		return
	}
	for s.Limit > 0 && len(s.items) > s.Limit {
		var oldest K
		var found *entry[V]
		for k, it := range s.items {
			if isClosed(it.made) && (found == nil || it.asked < found.asked) {
				oldest, found = k, it
			}
		}
		if found == nil {
			return // all of them are still being computed
		}
		delete(s.items, oldest)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Clear removes every value. A computation under way goes on, and its callers get its result.
func (s *LRU[K, V]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
}

// Len returns how many values are stored or being computed.
func (s *LRU[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}
