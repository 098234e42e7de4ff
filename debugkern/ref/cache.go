package ref

import (
	"sync"

	"tilescope/probes"
)

// cache keeps the values of the blocks asked for last. Two callers that miss the same block at once
// share one computation.
type cache[T any] struct {
	mu    sync.Mutex
	room  int
	slots map[probes.Dim3]*slot[T]
	clock uint64
}

type slot[T any] struct {
	once  sync.Once
	value T
	used  uint64
}

func newCache[T any](room int) *cache[T] {
	return &cache[T]{room: room, slots: make(map[probes.Dim3]*slot[T])}
}

func (c *cache[T]) get(id probes.Dim3, compute func() T) T {
	c.mu.Lock()
	s := c.slots[id]
	if s == nil {
		if len(c.slots) >= c.room {
			c.evict()
		}
		s = &slot[T]{}
		c.slots[id] = s
	}
	c.clock++
	s.used = c.clock
	c.mu.Unlock()
	s.once.Do(func() { s.value = compute() })
	return s.value
}

func (c *cache[T]) evict() {
	var oldest probes.Dim3
	first := true
	for id, s := range c.slots {
		if first || s.used < c.slots[oldest].used {
			oldest, first = id, false
		}
	}
	delete(c.slots, oldest)
}
