package ycsb

import "sync"

// keyCounter hands out the numbers of new keys and knows up to which number all of
// them have been inserted.
type keyCounter struct {
	mu      sync.Mutex
	issued  int64 // the next to hand out
	settled int64 // all below are inserted
	early   map[int64]struct{}
}

func newKeyCounter(first int64) *keyCounter {
	return &keyCounter{issued: first, settled: first, early: map[int64]struct{}{}}
}

// take returns the number of a new key.
func (c *keyCounter) take() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.issued++
	return c.issued - 1
}

// done says that the key's insert has ended.
func (c *keyCounter) done(key int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.early[key] = struct{}{}
	for {
		if _, ok := c.early[c.settled]; !ok {
			return
		}
		delete(c.early, c.settled)
		c.settled++
	}
}

// last returns the greatest number such that it and all below are inserted.
func (c *keyCounter) last() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled - 1
}
