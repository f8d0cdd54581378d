package sleep

import "context"

// Mutex is a mutex that may be held over a wait: for a disk, another node or a timer. It is a channel, so
// that goroutines which wait for it count as blocked in virtual time (testing/synctest); for those that
// wait for a sync.Mutex, virtual time would stand still.
type Mutex chan struct{}

// NewMutex returns an unlocked mutex.
func NewMutex() Mutex { return make(Mutex, 1) }

// Lock locks m, once nobody else holds it.
func (m Mutex) Lock() { m <- struct{}{} }

// LockContext is Lock that gives up when ctx has ended, with its error.
func (m Mutex) LockContext(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock unlocks m, which is locked.
func (m Mutex) Unlock() { <-m }
