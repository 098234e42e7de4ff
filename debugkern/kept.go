package debugkern

import (
	"context"
	"sync"

	"tilescope/debugkern/join"
)

// kept holds values that take long to make: whoever asks for one first makes it, those who ask meanwhile wait for it, and later
// ones find it. Errors are not kept. Of more than limit values (0: any number) those asked for longest ago are dropped.
type kept[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	items map[K]*keptItem[V]
	clock uint64
}

// keptItem is a value, or one in the making.
type keptItem[V any] struct {
	made      chan struct{} // closed once v or err is there
	v         V
	err       error
	calledOff bool // err is of its maker's context having ended, in whatever words
	asked     uint64
}

// get returns the value of a key, made by fresh if need be. It returns ctx's error where ctx ends first, unless it is the one that
// makes the value: fresh then has to end by itself.
func (s *kept[K, V]) get(ctx context.Context, key K, fresh func() (V, error)) (V, error) {
	for {
		item, first := s.ask(key)
		if first {
			item.err = join.Try(func() (err error) { item.v, err = fresh(); return err })
			item.calledOff = item.err != nil && ctx.Err() != nil
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
		if !item.calledOff {
			return item.v, item.err
		}
		if ctx.Err() != nil {
			var none V
			return none, ctx.Err()
		}
		// somebody else's turn
	}
}

// ask finds an item, or enters one that the caller has to make.
func (s *kept[K, V]) ask(key K) (item *keptItem[V], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	if item = s.items[key]; item != nil {
		item.asked = s.clock
		return item, false
	}
	if s.items == nil {
		s.items = map[K]*keptItem[V]{}
	}
	item = &keptItem[V]{made: make(chan struct{}), asked: s.clock}
	s.items[key] = item
	return item, true
}

// settle tells those who wait, and drops what has become too much.
func (s *kept[K, V]) settle(key K, item *keptItem[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(item.made)
	if item.err != nil {
		if s.items[key] == item { // else they were cleared meanwhile
			delete(s.items, key)
		}
		return
	}
	for s.limit > 0 && len(s.items) > s.limit {
		var oldest K
		var found *keptItem[V]
		for k, it := range s.items {
			if isClosed(it.made) && (found == nil || it.asked < found.asked) {
				oldest, found = k, it
			}
		}
		if found == nil {
			return // all of them are in the making
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

// clear forgets every value.
func (s *kept[K, V]) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
}
